//! What is known of tasks: whether they are open, archived or answered, and how urgent they are.

use super::answered::{Mark, Results};
use super::dir::Dir;
use super::layout::{Folder, Root, TaskId};
use super::pointer::Form;
use crate::error::Result;
use crate::record::TaskState;

/// A priority is looked for in so many bytes of a task.
const LOOKED_AT: u64 = 1 << 16;

/// The folders of tasks and results, held open for many questions.
pub(super) struct Tasks {
    live: Option<Dir>,
    archive: Option<Dir>,
    results: Results,
}

impl Tasks {
    pub(super) fn open(root: &Root) -> Result<Tasks> {
        let (live, archive) = (root.find(Folder::Tasks)?, root.find(Folder::TaskArchive)?);
        Ok(Tasks { live, archive, results: Results::open(root)? })
    }

    pub(super) fn is_live(&self, id: &TaskId) -> Result<bool> {
        self.live.as_ref().map_or(Ok(false), |live| live.has_file(&id.file()))
    }

    pub(super) fn is_archived(&self, id: &TaskId) -> Result<bool> {
        self.archive.as_ref().map_or(Ok(false), |archive| archive.has_file(&id.file()))
    }

    /// What has become of a pointer's task.
    pub(super) fn state(&self, id: &TaskId, form: Form, mark: Option<&Mark>) -> Result<TaskState> {
        if !self.is_live(id)? {
            let archived = self.is_archived(id)?;
            return Ok(if archived { TaskState::Archived } else { TaskState::Missing });
        }
        let answered = self.results.answered(id, mark)?.answered;
        Ok(match (answered, form) {
            (true, _) => TaskState::Answered,
            (false, Form::Waiting) => TaskState::Pending,
            (false, Form::Accepted) => TaskState::Accepted,
        })
    }

    /// The priority that a task names; one that is not open, or cannot be read, has none.
    pub(super) fn priority(&self, id: &TaskId) -> u32 {
        let text = self.live.as_ref().and_then(|live| live.read(&id.file(), LOOKED_AT).ok());
        text.map_or(0, |text| named_in(&text))
    }
}

/// What the first line `priority: N` of a text says; 0 when there is none.
fn named_in(text: &[u8]) -> u32 {
    text.split(|b| *b == b'\n').find_map(number_of).unwrap_or(0)
}

fn number_of(line: &[u8]) -> Option<u32> {
    let number = line.strip_prefix(b"priority:")?.trim_ascii();
    let digits = number.iter().all(u8::is_ascii_digit);
    std::str::from_utf8(number).ok().filter(|_| digits)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_a_line_of_its_own() {
        for (text, priority) in [
            ("priority: 7", 7),
            ("read this\npriority: 12\nand that", 12),
            ("priority:3\r\n", 3),
            ("priority: 1\npriority: 2", 1),
            ("priority: high\npriority: 2", 2),
            ("its priority: 4", 0),
            (" priority: 4", 0),
            ("priority: -4", 0),
            ("priority: +4", 0),
            ("priority: 99999999999", 0),
            ("priority:", 0),
            ("", 0),
        ] {
            assert_eq!(named_in(text.as_bytes()), priority, "{text:?}");
        }
        assert_eq!(named_in(b"\xff\npriority: 5\n"), 5);
    }
}
