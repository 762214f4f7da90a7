//! `auwai-inbox`: tasks and answers as files, as processes. The judges: the files themselves, the
//! kernel's locks and lists of processes, and shells that take part.

mod answered;
mod archive;
mod crash;
mod migration;
mod odd;
mod script;
mod verbs;
mod watch;
mod watcher;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::support::site::{Site, Told, tell};

/// A root of inboxes, in a place of its own.
pub struct Place {
    pub site: Site,
}

impl Place {
    pub fn new() -> Place {
        Place { site: Site::new() }
    }

    /// A path below the root.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.site.work(name)
    }

    /// Writes a file below the root.
    pub fn write(&self, name: impl AsRef<Path>, text: impl AsRef<[u8]>) {
        self.site.write(name, text);
    }

    /// Puts a task and its pointer there without the program, as a shell would.
    pub fn put(&self, reader: &str, id: &str) {
        self.write(format!("tasks/{id}.txt"), format!("do {id}\n"));
        self.write(format!("deliveries/{reader}/{id}.txt"), "");
    }

    /// Answers a task without the program.
    pub fn answer(&self, id: &str) {
        self.write(format!("results/{id}.txt"), "done\n");
    }

    /// `auwai-inbox ARGS`, ready to be run at the root.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = self.site.command(env!("CARGO_BIN_EXE_auwai-inbox"));
        command.args(args).env("XDG_RUNTIME_DIR", self.site.path("home"));
        command
    }

    pub fn run(&self, args: &[&str]) -> Told {
        tell(self.command(args))
    }

    /// Runs it to success; its records.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> Vec<Value> {
        records(self.run(args).expect_code(0).text())
    }

    /// Every file below the root with its text, but for locks and markers, by path.
    pub fn files(&self) -> Vec<(String, String)> {
        let root = self.path("");
        let all = walkdir::WalkDir::new(&root).sort_by_file_name().into_iter().map(Result::unwrap);
        let files = all.filter(|entry| entry.file_type().is_file());
        let named = files.map(|file| {
            let path = file.path().strip_prefix(&root).unwrap().to_str().unwrap().to_string();
            (path, fs::read_to_string(file.path()).unwrap())
        });
        named.filter(|(path, _)| !path.ends_with(".lock") && !path.starts_with("state/")).collect()
    }

    /// The names of those files.
    pub fn names(&self) -> Vec<String> {
        self.files().into_iter().map(|(path, _)| path).collect()
    }
}

pub fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The ids of `task` records.
pub fn ids(records: &[Value]) -> Vec<&str> {
    records.iter().filter_map(|record| record.get("id")?.as_str()).collect()
}
