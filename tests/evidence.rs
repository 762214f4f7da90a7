//! Evidence: the history of reads, its export and import, waivers and the strict question.

mod carried;
mod log;
mod recipes;
mod room;
mod strict;

use std::fs;

use serde_json::Value;

use crate::support::site::Site;

/// Small segments, and no vocabulary for each process to load.
const PLAN: &str =
    "auwai plan --context-window 8k --fixed-prompt 2500 --reserve 1000 --tokenizer bytes/4";

/// Lines that no other text has.
fn lines(name: &str, count: u64) -> String {
    (1..=count).map(|n| format!("line {n} of {name} has some more words to say\n")).collect()
}

/// A place whose git works, with a repository `r` of some files.
fn repository() -> Site {
    let site = Site::new();
    let identity = "[user]\nname = t\nemail = t@example.org\n[init]\ndefaultBranch = main\n";
    fs::write(site.path("home/.gitconfig"), identity).unwrap();
    site.write("r/a.txt", lines("a", 300));
    site.write("r/src/b.txt", lines("b", 200));
    site.write("r/src/c.txt", lines("c", 30));
    site.sh("cd r && git init -q && git add -A && git commit -qm first").expect_code(0);
    site
}

/// Reads and closes what is left, as this reader.
fn read_all(site: &Site, folder: &str, reader: &str) {
    let script = format!(
        "cd {folder} && export AUWAI_READER={reader} && while auwai next >/dev/null 2>&1; do
            auwai read >/dev/null && auwai done >/dev/null || exit 9; done"
    );
    site.sh(&script).expect_code(0);
}

/// The records of a text.
fn records(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The exact history, as another SQLite has it.
const HISTORY: &str = ".auwai/fullread/coverage.sqlite";
