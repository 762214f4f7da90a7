//! inotify where there is none: it cannot be started, so there is never a [`Source`] to ask.

use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Instant;

use super::pending::Pending;
use super::tree::Watches;
use crate::error::{Error, Result};

/// An inotify instance; there are none.
#[derive(Debug)]
pub enum Source {}

impl Source {
    /// Fails.
    ///
    /// # Errors
    /// Always.
    pub fn open() -> Result<Source> {
        Err(Error::failed("no-inotify", "this system has no inotify"))
    }

    /// Never.
    pub fn hears(&self) -> bool {
        match *self {}
    }

    /// Rung when something has come.
    pub fn ear(&self) -> BorrowedFd<'_> {
        match *self {}
    }

    /// Reads all that the system has by now.
    pub fn drain(&self) {
        match *self {}
    }

    /// When the first and the last event came that have not been taken.
    pub fn span(&self) -> Option<(Instant, Instant)> {
        match *self {}
    }

    /// Takes what has come.
    pub fn take(&self) -> Pending {
        match *self {}
    }

    /// The watches, for the tree.
    pub fn watches(&self) -> Arc<dyn Watches> {
        match *self {}
    }
}

/// How many watches the user may have: not known here.
pub fn limit_of_watches() -> Option<super::limit::Limit> {
    None
}
