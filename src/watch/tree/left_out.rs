//! Directories without a watch, and why: each reason is told once.

use std::os::fd::BorrowedFd;

use super::{Changes, Id, Tree};
use crate::counted::{agree, count};
use crate::record::RepoPath;
use crate::watch::limit::Limit;

/// Directories of one kind, until they are told of.
#[derive(Debug, Default)]
struct Named {
    number: u64,
    first: Vec<String>,
    told: bool,
}

/// So many are named.
const NAMED: usize = 3;

impl Named {
    fn add(&mut self, path: Option<&RepoPath>) {
        if self.told {
            return;
        }
        self.number += 1;
        if self.first.len() < NAMED {
            self.first.push(shown(path));
        }
    }

    /// How many they are and the first few, when they are to be told of.
    fn take(&mut self) -> Option<(u64, String)> {
        let Named { number, first, .. } = std::mem::take(self);
        self.told = number > 0;
        let more = if number > NAMED as u64 { ", …" } else { "" };
        self.told.then(|| (number, format!("{}{more}", first.join(", "))))
    }
}

fn shown(path: Option<&RepoPath>) -> String {
    path.map_or(".".into(), |path| path.display().into_owned())
}

/// What got no watch.
#[derive(Debug, Default)]
pub(super) struct LeftOut {
    /// The user has too many.
    no_room: Named,
    /// They may not be read.
    unreadable: Named,
    /// A file system was told of that does not tell of all changes.
    told_remote: bool,
}

impl LeftOut {
    /// Notes one for which there was no room.
    pub(super) fn no_room(&mut self, path: Option<&RepoPath>) {
        self.no_room.add(path);
    }

    /// Notes one that may not be read.
    pub(super) fn unreadable(&mut self, path: Option<&RepoPath>) {
        self.unreadable.add(path);
    }

    /// There is room for all again: should there be none later, that is news.
    pub(super) fn forget_no_room(&mut self) {
        self.no_room.told = false;
    }

    /// One warning for each reason, the first time; `limit` is the system's.
    pub(super) fn tell(&mut self, limit: fn() -> Option<Limit>, out: &mut Changes) {
        if let Some((number, first)) = self.no_room.take() {
            tell_no_room(number, &first, limit(), out);
        }
        if let Some((number, first)) = self.unreadable.take() {
            let message = format!(
                "{} cannot be read ({first}): until {} can, only what git tracks there is told",
                count(number, "directory"),
                agree(number, "it", "they"),
            );
            let hint = "to leave one out: `echo DIR/ >> .auwai-ignore`";
            out.warn(message, Some(hint.to_string()));
        }
    }
}

fn tell_no_room(number: u64, first: &str, limit: Option<Limit>, out: &mut Changes) {
    let limit = limit.unwrap_or(Limit { sysctl: "fs.inotify.max_user_watches", value: 8_192 });
    let message = format!(
        "{} {} polled instead of watched ({first}): {limit} is reached",
        count(number, "directory"),
        agree(number, "is", "are"),
    );
    out.warn(message, Some(limit.hint(524_288)));
}

impl Tree {
    /// Whether an open directory is on a file system that does not tell of all changes. It is asked
    /// where another one begins.
    pub(super) fn is_remote(
        &mut self,
        parent: Option<Id>,
        device: u64,
        dir: BorrowedFd<'_>,
        path: &Option<RepoPath>,
        out: &mut Changes,
    ) -> bool {
        let Some(watches) = &self.watches else { return false };
        let parent = parent.and_then(|parent| self.nodes.get(&parent));
        if let Some(parent) = parent.filter(|parent| parent.inode.0 == device && !parent.blind) {
            return parent.barred;
        }
        let Some(name) = watches.file_system(dir).and_then(self.site.remote) else { return false };
        if !std::mem::replace(&mut self.left_out.told_remote, true) {
            let message = format!(
                "'{}' is on a file system ({name}) that does not tell of what is changed \
                 elsewhere: it is polled instead of watched",
                shown(path.as_ref())
            );
            let hint =
                "trust it when nothing else changes it: `auwai-wait-events --backend inotify`";
            out.warn(message, Some(hint.to_string()));
        }
        true
    }
}
