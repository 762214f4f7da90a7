//! Pointers: what stands in a reader's inbox for a task, and what has become of that.
//!
//! `ID.txt` waits for its reader, `ID.accepted` has been accepted; one rename makes the one the other,
//! so of two who accept, one does. What a pointer holds is never read.

use rustix::fs::FileType;

use super::dir::{Dir, Moved};
use super::layout::{Folder, Root, TaskId, unknown};
use super::tasks::Tasks;
use crate::admit::Stat;
use crate::error::{Error, Result};
use crate::record::{Task, TaskState};
use crate::visible::quote;

/// What a pointer says by its name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// It waits for its reader: `ID.txt`.
    Waiting,
    /// It has been accepted: `ID.accepted`.
    Accepted,
}

impl Form {
    /// Both.
    pub(super) const ALL: [Form; 2] = [Form::Waiting, Form::Accepted];

    /// The end of its name.
    fn end(self) -> &'static str {
        match self {
            Form::Waiting => ".txt",
            Form::Accepted => ".accepted",
        }
    }

    /// The name of a task's pointer.
    pub(super) fn name(self, id: &TaskId) -> String {
        format!("{id}{}", self.end())
    }
}

/// Which file a pointer is, and since when it is as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    dev: u64,
    ino: u64,
    ctime_ns: i64,
}

/// A pointer in an inbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pointer {
    /// The task.
    pub id: TaskId,
    /// Whether it has been accepted.
    pub form: Form,
    /// Nanoseconds since 1970: when it was put there.
    pub since_ns: i64,
    /// Which file it is.
    pub stamp: Stamp,
}

impl Pointer {
    /// The pointer of a task in a reader's inbox, as it is now; `None` when there is none of this form.
    ///
    /// # Errors
    /// When the inbox cannot be looked at.
    pub fn find(root: &Root, reader: &str, id: &TaskId, form: Form) -> Result<Option<Pointer>> {
        let Some(inbox) = root.find(Folder::Inbox(reader))? else { return Ok(None) };
        Pointer::at(&inbox, id.clone(), form)
    }

    /// The same in an open inbox.
    pub(super) fn at(inbox: &Dir, id: TaskId, form: Form) -> Result<Option<Pointer>> {
        let stat = inbox.stat(&form.name(&id))?.filter(is_file);
        Ok(stat.map(|stat| Pointer::of(id, form, &stat)))
    }

    /// The one that this is.
    pub(super) fn of(id: TaskId, form: Form, stat: &Stat) -> Pointer {
        let stamp = Stamp { dev: stat.dev, ino: stat.ino, ctime_ns: stat.ctime_ns };
        Pointer { id, form, since_ns: stat.mtime_ns, stamp }
    }

    /// Every pointer in an inbox, in no order, and the names that look like one and are none.
    pub(super) fn all(inbox: &Dir) -> Result<(Vec<Pointer>, Vec<Vec<u8>>)> {
        let (mut pointers, mut odd) = (Vec::new(), Vec::new());
        for (name, _) in inbox.list()?.iter() {
            let form = Form::ALL.into_iter().find(|form| name.ends_with(form.end().as_bytes()));
            // What is not whole yet begins with a dot.
            let Some(form) = form.filter(|_| !name.starts_with(b".")) else { continue };
            let Some(id) = TaskId::with_end(name, form.end().as_bytes()) else {
                odd.push(name.to_vec());
                continue;
            };
            // It may have gone meanwhile.
            match inbox.stat(&form.name(&id))? {
                Some(stat) if is_file(&stat) => pointers.push(Pointer::of(id, form, &stat)),
                Some(_) => odd.push(name.to_vec()),
                None => {}
            }
        }
        Ok((pointers, odd))
    }

    /// The record that tells it.
    pub fn task(&self, reader: &str, state: TaskState, priority: u32) -> Task {
        let archived = state == TaskState::Archived;
        let folder = if archived { Folder::TaskArchive } else { Folder::Tasks };
        let path = format!("{}/{}", folder.path(), self.id.file());
        Task {
            id: self.id.to_string(),
            reader: Some(reader.to_string()),
            state: Some(state),
            priority,
            path: (state != TaskState::Missing).then_some(path),
            posted: Some(timestamp(self.since_ns)),
            text: None,
        }
    }
}

fn is_file(stat: &Stat) -> bool {
    stat.file_type() == FileType::RegularFile
}

/// Whole seconds, RFC 3339 in UTC; a time that cannot be is 1970.
pub(super) fn timestamp(ns: i64) -> String {
    let since = std::time::Duration::from_nanos(u64::try_from(ns).unwrap_or(0));
    humantime::format_rfc3339_seconds(std::time::SystemTime::UNIX_EPOCH + since).to_string()
}

/// Accepts a task: its pointer is not pending any more. Of two who do, one does.
///
/// # Errors
/// `not-pending` (a no) when it is not; `unknown-task`.
pub fn accept(root: &Root, reader: &str, id: &TaskId) -> Result<Pointer> {
    turn(root, reader, id, Form::Waiting, Form::Accepted)
}

/// Gives a task back that was accepted. One that is pending stays so.
///
/// # Errors
/// `not-accepted` (a no) when it is neither; `unknown-task`.
pub fn release(root: &Root, reader: &str, id: &TaskId) -> Result<Pointer> {
    match Pointer::find(root, reader, id, Form::Waiting)? {
        Some(pending) => Ok(pending),
        None => turn(root, reader, id, Form::Accepted, Form::Waiting),
    }
}

fn turn(root: &Root, reader: &str, id: &TaskId, from: Form, to: Form) -> Result<Pointer> {
    let Some(inbox) = root.find(Folder::Inbox(reader))? else {
        return Err(refusal(root, reader, id, from));
    };
    let stat = match inbox.stat(&from.name(id))? {
        None => return Err(refusal(root, reader, id, from)),
        Some(odd) if !is_file(&odd) => return Err(no_pointer(&inbox, &from.name(id))),
        Some(stat) => stat,
    };
    match inbox.rename_to_free(&from.name(id), &inbox, &to.name(id))? {
        // It may have another form again by now: what was done is what counts.
        Moved::Done => Ok(Pointer::of(id.clone(), to, &stat)),
        Moved::Taken | Moved::NothingThere => Err(refusal(root, reader, id, from)),
    }
}

fn no_pointer(inbox: &Dir, name: &str) -> Error {
    let path = quote(&inbox.at(name));
    Error::failed("not-regular", format!("'{path}' is no pointer: it is not a regular file"))
        .hint(format!("move it out of the way: `mv {path} {path}.odd`"))
}

/// Why there is no pointer of this form: by what else is known of the task.
fn refusal(root: &Root, reader: &str, id: &TaskId, wanted: Form) -> Error {
    let tasks = Tasks::open(root);
    let known = tasks.and_then(|tasks| Ok(tasks.is_live(id)? || tasks.is_archived(id)?));
    let other = Form::ALL.into_iter().find(|form| *form != wanted).unwrap_or(wanted);
    let there = Pointer::find(root, reader, id, other).map(|found| found.is_some());
    match (there, known) {
        (Err(e), _) | (_, Err(e)) => e,
        (Ok(false), Ok(false)) => unknown(id),
        (Ok(true), _) if wanted == Form::Waiting => {
            Error::no("not-pending", format!("'{id}' is accepted already by {reader}"))
                .hint(format!("give it back with `auwai-inbox release {id} --reader {reader}`"))
        }
        _ => {
            let (code, what) = match wanted {
                Form::Waiting => ("not-pending", "is not pending for"),
                Form::Accepted => ("not-accepted", "is not accepted by"),
            };
            Error::no(code, format!("'{id}' {what} {reader}"))
                .hint(format!("see what is: `auwai-inbox list --reader {reader}`"))
        }
    }
}
