//! The rule that says whether a task is answered: the only one.
//!
//! A file is ready when it is a regular one, UTF-8, and not only white space. The result must be there
//! (one in the archive alone answered an earlier question); when it is not ready, the newest ready one
//! in the archive counts, of exactly this id. What counts is an answer, unless its first line begins with
//! the mark of refusals. The first line ends at `\n`, and has no `\r` at its end.

use std::fs::File;
use std::io::{self, Read};
use std::str::FromStr;

use super::dir::{Dir, cannot};
use super::layout::{Folder, Root, TaskId};
use crate::error::Result;
use crate::record::{Verdict, VerdictReason};
use crate::regular;

/// The most that is read at once.
const BLOCK: usize = 1 << 16;

/// The longest mark, so that it is in the first block.
const LONGEST_MARK: usize = 1000;

/// What the first line of a refusal begins with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mark(String);

impl FromStr for Mark {
    type Err = String;

    fn from_str(text: &str) -> std::result::Result<Mark, String> {
        let plain = !text.is_empty() && !text.contains(['\n', '\r']) && text.len() <= LONGEST_MARK;
        match plain {
            true => Ok(Mark(text.to_string())),
            false => Err("a mark is the beginning of a line, of 1 to 1000 bytes".to_string()),
        }
    }
}

impl Mark {
    /// Whether a text is a refusal.
    fn begins(&self, text: &str) -> bool {
        let line = text.split('\n').next().unwrap_or_default();
        line.strip_suffix('\r').unwrap_or(line).starts_with(&self.0)
    }
}

/// What is at the name of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Found {
    Nothing,
    NoFile,
    Blank,
    NotUtf8,
    Answer,
    Refusal,
}

/// Whether a task is answered, and why. Without a mark nothing is a refusal.
///
/// # Errors
/// When the files cannot be read: then nobody knows.
pub fn answered(root: &Root, id: &TaskId, mark: Option<&Mark>) -> Result<Verdict> {
    Results::open(root)?.answered(id, mark)
}

/// The folders of results, held open for many questions.
pub(super) struct Results {
    live: Option<Dir>,
    archive: Option<Dir>,
}

impl Results {
    pub(super) fn open(root: &Root) -> Result<Results> {
        let (live, archive) = (root.find(Folder::Results)?, root.find(Folder::ResultArchive)?);
        Ok(Results { live, archive })
    }

    /// As [`answered`].
    pub(super) fn answered(&self, id: &TaskId, mark: Option<&Mark>) -> Result<Verdict> {
        let live = look(self.live.as_ref(), &id.file(), mark)?;
        let earlier = match live {
            Found::Blank | Found::NotUtf8 => self.newest_ready(id, mark)?,
            _ => None,
        };
        let reason = match (&earlier, live) {
            (Some((_, Found::Refusal)), _) => VerdictReason::ArchivedRefusal,
            (Some(_), _) => VerdictReason::ArchivedAnswer,
            (None, Found::Nothing) => VerdictReason::None,
            (None, Found::NoFile) => VerdictReason::NotRegular,
            (None, Found::Blank) => VerdictReason::Blank,
            (None, Found::NotUtf8) => VerdictReason::NotUtf8,
            (None, Found::Refusal) => VerdictReason::Refusal,
            (None, Found::Answer) => VerdictReason::Answer,
        };
        let yes = matches!(reason, VerdictReason::Answer | VerdictReason::ArchivedAnswer);
        let own = (live != Found::Nothing).then(|| (Folder::Results, id.file()));
        let path = earlier.map(|(name, _)| (Folder::ResultArchive, name)).or(own);
        let path = path.map(|(folder, name)| format!("{}/{name}", folder.path()));
        Ok(Verdict { id: id.to_string(), answered: yes, reason, path })
    }

    /// The newest file of this id in the archive that is ready.
    fn newest_ready(&self, id: &TaskId, mark: Option<&Mark>) -> Result<Option<(String, Found)>> {
        let Some(archive) = &self.archive else { return Ok(None) };
        let listing = archive.list()?;
        let epochs = listing.iter().filter_map(|(name, _)| epoch_of(name, id));
        let mut epochs: Vec<(u64, String)> = epochs.collect();
        epochs.sort_unstable();
        for (_, name) in epochs.into_iter().rev() {
            let found = look(Some(archive), &name, mark)?;
            if matches!(found, Found::Answer | Found::Refusal) {
                return Ok(Some((name, found)));
            }
        }
        Ok(None)
    }
}

/// The name in the archive of a result of this time.
pub(super) fn archived_name(id: &TaskId, epoch: u64) -> String {
    format!("{id}-{epoch}.txt")
}

/// The time in the name of an archived result, if it is one of this id.
fn epoch_of(name: &[u8], id: &TaskId) -> Option<(u64, String)> {
    let name = std::str::from_utf8(name).ok()?;
    let digits = name.strip_prefix(&format!("{id}-"))?.strip_suffix(".txt")?;
    let digits = Some(digits).filter(|digits| digits.bytes().all(|b| b.is_ascii_digit()))?;
    Some((digits.parse().ok()?, name.to_string()))
}

fn look(folder: Option<&Dir>, name: &str, mark: Option<&Mark>) -> Result<Found> {
    let Some(folder) = folder else { return Ok(Found::Nothing) };
    let found = folder.open(name).and_then(|file| judge(file, mark));
    match found {
        Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(Found::Nothing),
        Err(e) if regular::is_other(&e) => Ok(Found::NoFile),
        other => other.map_err(|e| cannot("read", &folder.at(name), &e)),
    }
}

/// Reads a file to its end, a block at a time.
fn judge(mut file: File, mark: Option<&Mark>) -> io::Result<Found> {
    let size = usize::try_from(file.metadata()?.len()).unwrap_or(BLOCK);
    let mut block = vec![0; size.saturating_add(1).clamp(LONGEST_MARK + 3, BLOCK)];
    let (mut kept, mut blank, mut refusal) = (0, true, None);
    loop {
        let filled = kept + fill(&mut file, &mut block[kept..])?;
        let is_last = filled < block.len();
        let Some(text) = whole_characters(&block[..filled], is_last) else {
            return Ok(Found::NotUtf8);
        };
        blank = blank && text.trim().is_empty();
        refusal.get_or_insert_with(|| mark.is_some_and(|mark| mark.begins(text)));
        if is_last {
            break;
        }
        let done = text.len();
        block.copy_within(done..filled, 0);
        kept = filled - done;
    }
    Ok(match (blank, refusal) {
        (true, _) => Found::Blank,
        (false, Some(true)) => Found::Refusal,
        (false, _) => Found::Answer,
    })
}

/// Reads until the block is full or the file has ended.
fn fill(file: &mut File, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match file.read(&mut block[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    Ok(filled)
}

/// The text of a block, but for a character that its end cuts; `None` when it is not UTF-8.
fn whole_characters(block: &[u8], is_last: bool) -> Option<&str> {
    match std::str::from_utf8(block) {
        Ok(text) => Some(text),
        Err(e) if e.error_len().is_none() && !is_last => {
            std::str::from_utf8(&block[..e.valid_up_to()]).ok()
        }
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file that is longer than a block, with characters across its ends.
    #[test]
    fn a_long_file_is_read_to_its_end() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x");
        let judged = |text: &[u8], mark: Option<&Mark>| {
            std::fs::write(&path, text).unwrap();
            judge(File::open(&path).unwrap(), mark).unwrap()
        };
        for shift in 0..4 {
            let text = " ".repeat(shift) + &"\u{2003}".repeat(BLOCK);
            assert_eq!(judged(text.as_bytes(), None), Found::Blank, "{shift}");
            assert_eq!(judged((text.clone() + "x").as_bytes(), None), Found::Answer, "{shift}");
            let bad = [text.as_bytes(), b"\xe2\x80"].concat();
            assert_eq!(judged(&bad, None), Found::NotUtf8, "{shift}");
            let mark = "NO".parse().unwrap();
            let refusal = format!("NO{text}");
            assert_eq!(judged(refusal.as_bytes(), Some(&mark)), Found::Refusal, "{shift}");
        }
    }

    #[test]
    fn the_archive_holds_results_of_other_ids_too() {
        let id: TaskId = "task-a".parse().unwrap();
        let epoch = |name: &str| epoch_of(name.as_bytes(), &id).map(|(epoch, _)| epoch);
        assert_eq!(epoch("task-a-1700000000.txt"), Some(1_700_000_000));
        for other in [
            "task-a-1-other-5.txt",
            "task-a-1-other.txt",
            "task-a-1-2.txt",
            "task-a.txt",
            "task-a-.txt",
            "task-a-+1.txt",
            "task-a--1.txt",
            "task-ab-1.txt",
            "task-a-1.txt.new",
            "task-a-99999999999999999999.txt",
        ] {
            assert_eq!(epoch(other), None, "{other}");
        }
        assert_eq!(epoch(&archived_name(&id, 7)), Some(7));
    }
}
