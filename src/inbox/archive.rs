//! The one owner of "done": a task and its result go to the archive, its pointers out of every inbox.

use super::answered::archived_name;
use super::dir::{Dir, Moved};
use super::layout::{Folder, Root, TaskId, unknown};
use super::lock::{Held, Waiting};
use super::pointer::Form;
use super::retire::retire;
use super::tasks::Tasks;
use crate::error::Result;

/// Archives a task: the task itself, then its result, under the first free name from `epoch` (seconds
/// since 1970) on, then its pointers, each inbox's under its lock. Returns how many pointers there were.
/// What was begun and stopped is finished by another call; what is done already is no error.
///
/// # Errors
/// `unknown-task`; when something cannot be moved. All folders and locks are made first, and a task whose
/// result cannot be moved is put back, so that a full disk leaves all as it was.
pub fn archive(root: &Root, id: &TaskId, epoch: u64, waiting: Waiting<'_>) -> Result<u64> {
    let readers = with_pointers(root, id)?;
    let known = is_known(root, id)? || !readers.is_empty();
    if !known {
        return Err(unknown(id));
    }
    let tasks = (root.make(Folder::Tasks)?, root.make(Folder::TaskArchive)?);
    let results = (root.make(Folder::Results)?, root.make(Folder::ResultArchive)?);
    for reader in &readers {
        root.make(Folder::InboxArchive(reader))?;
        Held::prepare(&root.make(Folder::Inbox(reader))?)?;
    }
    let moved = tasks.0.rename(&id.file(), &tasks.1, &id.file())?;
    if let Err(error) = move_result(&results.0, &results.1, id, epoch) {
        if moved {
            // Why the result cannot be moved is what is told.
            let _ = tasks.1.rename_to_free(&id.file(), &tasks.0, &id.file());
        }
        return Err(error);
    }
    let mut retired = 0;
    for reader in &readers {
        retired += in_inbox(root, reader, id, waiting)?;
    }
    Ok(retired)
}

/// The readers whose inboxes have a pointer of this id.
fn with_pointers(root: &Root, id: &TaskId) -> Result<Vec<String>> {
    let mut found = Vec::new();
    for reader in root.readers()? {
        let Some(inbox) = root.find(Folder::Inbox(&reader))? else { continue };
        let there = Form::ALL.map(|form| inbox.stat(&form.name(id)));
        if there.into_iter().collect::<Result<Vec<_>>>()?.iter().any(Option::is_some) {
            found.push(reader);
        }
    }
    Ok(found)
}

fn is_known(root: &Root, id: &TaskId) -> Result<bool> {
    for folder in [Folder::Tasks, Folder::TaskArchive, Folder::Results] {
        let Some(folder) = root.find(folder)? else { continue };
        if folder.stat(&id.file())?.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Earlier results of this id keep their names.
fn move_result(results: &Dir, archive: &Dir, id: &TaskId, mut epoch: u64) -> Result<()> {
    while results.rename_to_free(&id.file(), archive, &archived_name(id, epoch))? == Moved::Taken {
        epoch += 1;
    }
    Ok(())
}

/// A task of this name that was posted meanwhile keeps its pointer.
fn in_inbox(root: &Root, reader: &str, id: &TaskId, waiting: Waiting<'_>) -> Result<u64> {
    let Some(inbox) = root.find(Folder::Inbox(reader))? else { return Ok(0) };
    let held = Held::take(inbox, waiting)?;
    match Tasks::open(root)?.is_live(id)? {
        true => Ok(0),
        false => retire(&held, &root.make(Folder::InboxArchive(reader))?, id),
    }
}
