//! Retiring pointers: those of a task that is archived move to their inbox's archive, each under the
//! lock of its inbox. And the migration that does so once for a whole root, since pointers of tasks
//! that were archived otherwise stay behind.

use super::answered::Mark;
use super::dir::Dir;
use super::layout::{Folder, Root, TaskId};
use super::lock::{Held, Waiting};
use super::pointer::{Form, Pointer, timestamp};
use super::tasks::Tasks;
use crate::error::Result;
use crate::record::{self, Retired, TaskState};

/// What says that the migration has been made.
const MARKER: &str = "retire-archived.v1.done";

/// Takes a task's pointers out of an inbox; returns how many there were.
pub(super) fn retire(held: &Held, archive: &Dir, id: &TaskId) -> Result<u64> {
    let names = Form::ALL.map(|form| form.name(id));
    names.iter().try_fold(0, |retired, name| Ok(retired + take_out(held, archive, name)?))
}

/// The rename that retires a pointer; 0 when it has gone already.
fn take_out(held: &Held, archive: &Dir, name: &str) -> Result<u64> {
    held.dir().rename(name, archive, name).map(u64::from)
}

/// Retires every pointer whose task is archived, once for a root: when the marker is there, nothing is
/// looked at unless it is wanted `again`. A pending one is never retired. Processes that come at once do
/// it one after the other.
///
/// # Errors
/// The first of what went wrong; all other inboxes are done, there is no marker, and the next call
/// tries again.
pub fn retire_archived(
    root: &Root,
    mark: Option<&Mark>,
    again: bool,
    waiting: Waiting<'_>,
) -> Result<Retired> {
    if let Some(done) = done_before(root, again)? {
        return Ok(done);
    }
    let migrations = Held::take(root.make(Folder::Migrations)?, waiting)?;
    if let Some(done) = done_before(root, again)? {
        return Ok(done);
    }
    let (mut sum, mut failed) = (Retired::default(), None);
    for reader in root.readers()? {
        if let Err(error) = in_inbox(root, &reader, mark, &mut sum, waiting) {
            failed.get_or_insert(error);
        }
    }
    match failed {
        Some(error) => Err(error),
        None => finish(migrations.dir(), sum),
    }
}

/// When it was done, if the marker is there and counts: whatever it holds, and whoever made it.
fn done_before(root: &Root, again: bool) -> Result<Option<Retired>> {
    let migrations = root.find(Folder::Migrations)?.filter(|_| !again);
    let marker = migrations.map_or(Ok(None), |migrations| migrations.stat(MARKER))?;
    let done = marker.map(|marker| timestamp(marker.mtime_ns));
    Ok(done.map(|done| Retired { done: Some(done), ..Retired::default() }))
}

/// Leaves the marker, which says what was done.
fn finish(migrations: &Dir, sum: Retired) -> Result<Retired> {
    let mut line = Vec::new();
    record::write(&mut line, &sum)?;
    migrations.put(MARKER, &line, true)?;
    Ok(sum)
}

fn in_inbox(
    root: &Root,
    reader: &str,
    mark: Option<&Mark>,
    sum: &mut Retired,
    waiting: Waiting<'_>,
) -> Result<()> {
    let Some(inbox) = root.find(Folder::Inbox(reader))? else { return Ok(()) };
    let held = Held::take(inbox, waiting)?;
    let tasks = Tasks::open(root)?;
    let mut archive = None;
    for pointer in Pointer::all(held.dir())?.0 {
        match tasks.state(&pointer.id, pointer.form, mark)? {
            TaskState::Archived => {
                let archive = match &archive {
                    Some(archive) => archive,
                    None => archive.insert(root.make(Folder::InboxArchive(reader))?),
                };
                sum.retired += take_out(&held, archive, &pointer.form.name(&pointer.id))?;
            }
            TaskState::Pending | TaskState::Accepted => sum.kept_pending += 1,
            TaskState::Answered | TaskState::Missing => sum.kept_unarchived += 1,
        }
    }
    Ok(())
}
