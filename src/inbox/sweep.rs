//! The order of a sweep: priority, the larger first, then age, the older first.

use std::cmp::Reverse;

use super::answered::Mark;
use super::dir::Dir;
use super::layout::{Folder, Root, TaskId};
use super::pointer::{Form, Pointer};
use super::tasks::Tasks;
use crate::error::Result;
use crate::record::{Task, TaskState};

/// A pointer in its place in a sweep.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Due {
    /// The pointer as it was when the sweep was planned.
    pub pointer: Pointer,
    /// The priority that its task names.
    pub priority: u32,
}

/// An inbox in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listed<T> {
    /// What is there, in the order of a sweep.
    pub all: Vec<T>,
    /// Names that look like a pointer's and are none: no id, or no regular file.
    pub odd: Vec<Vec<u8>>,
}

/// The pointers that wait for their reader, in the order of a sweep. Which of them are pending is to be
/// asked ([`Inbox::pending`]) when each is told, since a sweep may take long.
///
/// # Errors
/// When the inbox cannot be listed.
pub fn plan(root: &Root, reader: &str) -> Result<Listed<Due>> {
    in_order(root, reader, &[Form::Waiting])
}

/// The folders that a reader's pending tasks are in, held open for many questions.
pub struct Inbox {
    reader: String,
    mark: Option<Mark>,
    pointers: Option<Dir>,
    tasks: Tasks,
}

impl Inbox {
    /// Opens those that are there.
    ///
    /// # Errors
    /// When one cannot be opened.
    pub fn open(root: &Root, reader: &str, mark: Option<Mark>) -> Result<Inbox> {
        let (pointers, tasks) = (root.find(Folder::Inbox(reader))?, Tasks::open(root)?);
        Ok(Inbox { reader: reader.to_string(), mark, pointers, tasks })
    }

    /// A pointer that is pending now, and its record; `None` when it is not, or not any more.
    ///
    /// # Errors
    /// When the files cannot be looked at.
    pub fn pending(&self, id: &TaskId) -> Result<Option<(Pointer, Task)>> {
        let Some(pointers) = &self.pointers else { return Ok(None) };
        let Some(pointer) = Pointer::at(pointers, id.clone(), Form::Waiting)? else {
            return Ok(None);
        };
        let task = record(&self.tasks, &self.reader, &pointer, self.mark.as_ref())?;
        Ok((task.state == Some(TaskState::Pending)).then_some((pointer, task)))
    }
}

/// The record of a pointer.
///
/// # Errors
/// When the files cannot be looked at.
pub fn told(root: &Root, reader: &str, pointer: &Pointer, mark: Option<&Mark>) -> Result<Task> {
    record(&Tasks::open(root)?, reader, pointer, mark)
}

fn record(tasks: &Tasks, reader: &str, pointer: &Pointer, mark: Option<&Mark>) -> Result<Task> {
    let state = tasks.state(&pointer.id, pointer.form, mark)?;
    Ok(pointer.task(reader, state, tasks.priority(&pointer.id)))
}

/// Every pointer in an inbox as a record, in the order of a sweep.
///
/// # Errors
/// When the files cannot be looked at.
pub fn listed(root: &Root, reader: &str, mark: Option<&Mark>) -> Result<Listed<Task>> {
    let (Listed { all, odd }, tasks) = (in_order(root, reader, &Form::ALL)?, Tasks::open(root)?);
    let told = |Due { pointer, priority }: Due| {
        let state = tasks.state(&pointer.id, pointer.form, mark)?;
        Ok(pointer.task(reader, state, priority))
    };
    Ok(Listed { all: all.into_iter().map(told).collect::<Result<_>>()?, odd })
}

fn in_order(root: &Root, reader: &str, forms: &[Form]) -> Result<Listed<Due>> {
    let Some(inbox) = root.find(Folder::Inbox(reader))? else {
        return Ok(Listed { all: Vec::new(), odd: Vec::new() });
    };
    let (mut pointers, odd) = Pointer::all(&inbox)?;
    pointers.retain(|pointer| forms.contains(&pointer.form));
    let tasks = Tasks::open(root)?;
    let due = |pointer: Pointer| Due { priority: tasks.priority(&pointer.id), pointer };
    let mut all: Vec<Due> = pointers.into_iter().map(due).collect();
    all.sort_unstable_by(|a, b| order(a).cmp(&order(b)));
    Ok(Listed { all, odd })
}

fn order(due: &Due) -> (Reverse<u32>, i64, &TaskId) {
    (Reverse(due.priority), due.pointer.since_ns, &due.pointer.id)
}
