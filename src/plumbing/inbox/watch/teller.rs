//! The one output: what has been told, so that nothing is told twice for nothing, and each line in one
//! `write()`.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::{Error, Result};
use crate::inbox::{self, Due, Inbox, Listed, Mark, Pointer, Root, Stamp, TaskId};
use crate::record::{self, Retired, Task};
use crate::relay::{Ended, write_line};

/// What a line is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Format {
    /// A `task` record
    Jsonl,
    /// The task's id
    Id,
}

/// Why a task is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// Something has happened to it, or may have.
    Came,
    /// A sweep for what has not been told yet has found it.
    New,
    /// The sweep of this number, which tells all, has found it.
    Swept(u64),
}

/// An inbox and its output, shared by those who tell.
pub struct Teller {
    root: Root,
    reader: String,
    mark: Option<Mark>,
    format: Format,
    told: Mutex<Told>,
}

/// What has been told of pointers that are there, and which sweep was asked for last then.
#[derive(Debug, Default)]
struct Told {
    pointers: HashMap<TaskId, (Stamp, u64)>,
    sweep: u64,
}

impl Told {
    fn knows(&self, pointer: &Pointer, when: When) -> bool {
        let told = self.pointers.get(&pointer.id).filter(|(stamp, _)| *stamp == pointer.stamp);
        match when {
            When::Came | When::New => told.is_some(),
            When::Swept(number) => told.is_some_and(|(_, sweep)| *sweep >= number),
        }
    }

    fn note(&mut self, pointer: &Pointer) {
        self.pointers.insert(pointer.id.clone(), (pointer.stamp, self.sweep));
    }
}

impl Teller {
    /// For a reader's inbox.
    pub fn new(root: Root, reader: String, mark: Option<Mark>, format: Format) -> Teller {
        Teller { root, reader, mark, format, told: Mutex::default() }
    }

    /// The reader.
    pub fn reader(&self) -> &str {
        &self.reader
    }

    fn told(&self) -> MutexGuard<'_, Told> {
        self.told.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The number of a sweep that is asked for now: what is told from now on it need not tell.
    pub fn next_sweep(&self) -> u64 {
        let mut told = self.told();
        told.sweep += 1;
        told.sweep
    }

    /// The migration of the root.
    ///
    /// # Errors
    /// As [`inbox::retire_archived`].
    pub fn retire_archived(&self) -> Result<Retired> {
        inbox::retire_archived(&self.root, self.mark.as_ref(), false, &mut super::super::waiting)
    }

    /// What waits, in the order of a sweep. What is not there any more is forgotten.
    ///
    /// # Errors
    /// When the inbox cannot be listed.
    pub fn plan(&self) -> Result<Listed<Due>> {
        let listed = inbox::plan(&self.root, &self.reader)?;
        let there: BTreeSet<&TaskId> = listed.all.iter().map(|due| &due.pointer.id).collect();
        self.told().pointers.retain(|id, _| there.contains(id));
        Ok(listed)
    }

    /// Whether a pointer need not be told.
    pub fn has_told(&self, pointer: &Pointer, when: When) -> bool {
        self.told().knows(pointer, when)
    }

    /// The task, if it is pending now.
    ///
    /// # Errors
    /// When the files cannot be looked at.
    pub fn pending(&self, id: &TaskId) -> Result<Option<(Pointer, Task)>> {
        self.open()?.pending(id)
    }

    /// The folders of the inbox, for many questions.
    ///
    /// # Errors
    /// When they cannot be opened.
    pub fn open(&self) -> Result<Inbox> {
        Inbox::open(&self.root, &self.reader, self.mark.clone())
    }

    /// Tells a pending task, unless that was done.
    ///
    /// # Errors
    /// When the output cannot be written; `closed` when its reader has gone.
    pub fn tell(&self, (pointer, task): &(Pointer, Task), when: When) -> Result<()> {
        let mut line = Vec::new();
        match self.format {
            Format::Jsonl => record::write(&mut line, task)?,
            Format::Id => line.extend_from_slice(format!("{}\n", pointer.id).as_bytes()),
        }
        let mut told = self.told();
        if told.knows(pointer, when) {
            return Ok(());
        }
        match write_line(rustix::stdio::stdout(), &line)? {
            Ended::ReaderGone => Err(Error::closed()),
            Ended::AllOut => {
                told.note(pointer);
                Ok(())
            }
        }
    }
}
