//! Posting: the task first, then the pointer, so that whoever sees the pointer finds the task.

use super::dir::{Dir, cannot};
use super::layout::{Folder, Root, TaskId};
use super::lock::{Held, Waiting};
use super::pointer::{Form, Pointer};
use super::retire;
use crate::error::{Error, Result};

/// A task for a reader.
#[derive(Debug, Clone, Copy)]
pub struct Posting<'a> {
    /// The task's id.
    pub id: &'a TaskId,
    /// Whose inbox it goes into.
    pub reader: &'a str,
    /// What its file says.
    pub text: &'a [u8],
}

/// Puts a task into a reader's inbox. Twice is once: the same text again changes nothing, also when it
/// has been accepted. The inbox's lock is held while the pointer is put, so that nobody who takes
/// stale pointers out takes this one.
///
/// # Errors
/// `exists` (a no) when the task is there with another text; `answered` (a no) when a result is there
/// and no task.
pub fn post(root: &Root, posting: &Posting<'_>, waiting: Waiting<'_>) -> Result<Pointer> {
    let inbox = root.make(Folder::Inbox(posting.reader))?;
    root.make(Folder::Results)?;
    let is_new = put_task(root, posting)?;
    let held = Held::take(inbox, waiting)?;
    if is_new {
        return deliver_anew(root, &held, posting);
    }
    for form in Form::ALL {
        if let Some(there) = Pointer::at(held.dir(), posting.id.clone(), form)? {
            return Ok(there);
        }
    }
    deliver(held.dir(), posting)
}

/// Whether the task was not there before.
fn put_task(root: &Root, posting: &Posting<'_>) -> Result<bool> {
    let (tasks, name) = (root.make(Folder::Tasks)?, posting.id.file());
    loop {
        match tasks.open(&name) {
            Ok(_) => return is_same(&tasks, &name, posting).map(|()| false),
            Err(e) if e.kind() == std::io::ErrorKind::NotFound => {}
            Err(e) => return Err(cannot("open", &tasks.at(&name), &e)),
        }
        refuse_answered(root, posting.id)?;
        if tasks.put(&name, posting.text, false)?.is_some() {
            return Ok(true);
        }
    }
}

fn is_same(tasks: &Dir, name: &str, posting: &Posting<'_>) -> Result<()> {
    let most = posting.text.len() as u64 + 1;
    let there = tasks.read(name, most).map_err(|e| cannot("read", &tasks.at(name), &e))?;
    if there == posting.text {
        return Ok(());
    }
    let id = posting.id;
    Err(Error::no("exists", format!("there is a task '{id}' that says something else"))
        .hint(format!("give yours another id, or archive that one: `auwai-inbox archive {id}`")))
}

/// A result without a task is that of an earlier question, and would be taken for an answer to this.
fn refuse_answered(root: &Root, id: &TaskId) -> Result<()> {
    let results = root.find(Folder::Results)?;
    let there = results.map_or(Ok(None), |results| results.stat(&id.file()))?;
    match there {
        None => Ok(()),
        Some(_) => {
            Err(Error::no("answered", format!("there is a result of an earlier task '{id}'"))
                .hint(format!("move it to the archive: `auwai-inbox archive {id}`")))
        }
    }
}

/// Pointers that are there are of an earlier task of this name.
fn deliver_anew(root: &Root, held: &Held, posting: &Posting<'_>) -> Result<Pointer> {
    if Pointer::at(held.dir(), posting.id.clone(), Form::Accepted)?.is_some() {
        let archive = root.make(Folder::InboxArchive(posting.reader))?;
        retire::retire(held, &archive, posting.id)?;
    }
    deliver(held.dir(), posting)
}

fn deliver(inbox: &Dir, posting: &Posting<'_>) -> Result<Pointer> {
    let name = Form::Waiting.name(posting.id);
    let says = format!("{}/{}\n", Folder::Tasks.path(), posting.id.file());
    let stat = inbox.put(&name, says.as_bytes(), true)?;
    let stat =
        stat.ok_or_else(|| Error::failed("bug", "what goes over anything was in the way"))?;
    Ok(Pointer::of(posting.id.clone(), Form::Waiting, &stat))
}
