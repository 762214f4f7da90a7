//! The house rules that a compiler does not hold: which layer may use which, and who may touch the
//! outside world.

use std::path::{Path, PathBuf};

/// The layers, lowest first. Modules of one layer do not use each other.
const LAYERS: &[&[&str]] = &[
    &["counted", "doubling", "error", "hangup", "visible"],
    &["record", "regular", "moves"],
    &["admit", "text", "plan", "store", "beneath"],
    &["listing"],
    &["walk", "watch", "workspace", "delivery", "relay", "inbox"],
    &["index"],
    &["cli"],
    &["plumbing"],
    &["porcelain"],
];

/// What porcelain must not see: it knows records only.
const HIDDEN_FROM_PORCELAIN: &[&str] = &["store", "index", "walk", "text", "plan", "admit"];

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

fn sources(dir: &Path) -> Vec<PathBuf> {
    walkdir::WalkDir::new(dir)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.unwrap().into_path())
        .filter(|path| path.extension().is_some_and(|e| e == "rs"))
        .collect()
}

/// The module of the top level that a file belongs to; `None` for lib.rs.
fn module(path: &Path) -> Option<String> {
    let inside = path.strip_prefix(root().join("src")).ok()?;
    let first = inside.components().next()?.as_os_str().to_str()?;
    let name = first.strip_suffix(".rs").unwrap_or(first);
    (name != "lib").then(|| name.to_string())
}

fn layer(module: &str) -> usize {
    let found = LAYERS.iter().position(|layer| layer.contains(&module));
    found.unwrap_or_else(|| panic!("module '{module}' stands on no layer: add it to LAYERS"))
}

/// The code of a file without its tests and comments; nothing of one that is all tests.
fn code(path: &Path) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    if text.starts_with("#![cfg(test)]") || text.contains("\n#![cfg(test)]") {
        return String::new();
    }
    // What is for tests alone may stand in the middle too; their module is at the end.
    let end = text.find("#[cfg(test)]\nmod tests {").unwrap_or(text.len());
    let code = &text[..end];
    code.lines().filter(|l| !l.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n")
}

#[test]
fn what_stands_behind_a_thing_for_tests_is_seen_too() {
    let seen = uses(&code(&root().join("src/store/coverage/mod.rs")));
    assert!(seen.contains(&"record".to_string()), "{seen:?}");
}

/// Every `crate::x` in a file.
fn uses(code: &str) -> Vec<String> {
    let names = code.split("crate::").skip(1);
    let word = |rest: &str| {
        rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>()
    };
    names.map(word).filter(|name| !name.is_empty()).collect()
}

#[test]
fn each_layer_uses_only_what_stands_below_it() {
    let mut faults = Vec::new();
    for path in sources(&root().join("src")) {
        let Some(own) = module(&path) else { continue };
        // Names in braces would not be seen below.
        if code(&path).contains("crate::{") {
            faults.push(format!("{}: one `use crate::` for each module", path.display()));
        }
        for used in uses(&code(&path)).into_iter().filter(|used| *used != own) {
            let hidden = own == "porcelain" && HIDDEN_FROM_PORCELAIN.contains(&used.as_str());
            if hidden || layer(&used) >= layer(&own) {
                faults.push(format!("{}: {own} uses {used}", path.display()));
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

/// A word that only some modules may say.
fn only(word: &str, allowed: &[&str]) {
    let mut faults = Vec::new();
    for path in sources(&root().join("src")) {
        let own = module(&path).unwrap_or_default();
        if !allowed.contains(&own.as_str()) && code(&path).contains(word) {
            faults.push(format!("{}: {word}", path.display()));
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}

#[test]
fn only_the_store_names_the_database() {
    only("rusqlite", &["store"]);
}

#[test]
fn only_the_command_line_reads_the_environment() {
    only("env::var", &["cli"]);
    only("process::exit", &["cli"]);
    only("SystemTime::now", &["cli"]);
}

#[test]
fn text_and_plan_are_pure() {
    for path in sources(&root().join("src")) {
        let pure = matches!(module(&path).as_deref(), Some("text" | "plan"));
        for word in ["std::fs", "std::env", "std::time", "std::process", "rustix"] {
            let found = pure && code(&path).contains(word);
            assert!(!found, "{}: {word}", path.display());
        }
    }
}

#[test]
fn a_plumbing_tool_uses_no_other() {
    for path in sources(&root().join("src/plumbing")) {
        let inside = path.strip_prefix(root().join("src/plumbing")).unwrap();
        let tool = inside.components().next().unwrap().as_os_str().to_str().unwrap();
        let tool = tool.trim_end_matches(".rs").to_string();
        for used in code(&path).split("crate::plumbing::").skip(1) {
            let used = used.split(|c: char| !c.is_alphanumeric() && c != '_').next().unwrap();
            assert!(tool == "mod" || used == tool, "{}: uses {used}", path.display());
        }
    }
}

/// Numbers of things are told by `counted`, which knows the form for one of them. A noun that is
/// followed by another number ("line 3 bytes 1-9") is no count.
#[test]
fn no_message_counts_by_hand() {
    let nouns = ["bytes", "chunks", "files", "pages", "parts", "paths", "records", "segments"];
    let more = ["lines", "readers", "repositories", "tokens", "workspaces"];
    let by_hand = |line: &str| {
        nouns.iter().chain(&more).any(|noun| {
            let count = format!("}} {noun}");
            let rest = line.split(&count).skip(1);
            rest.into_iter().any(|rest| !rest.starts_with(" {") && !rest.starts_with(['_', ':']))
        })
    };
    let mut faults = Vec::new();
    for path in sources(&root().join("src")) {
        let code = code(&path);
        let told = |line: &&str| line.contains('"');
        let lines = code.lines().filter(told).filter(|line| by_hand(line));
        faults.extend(lines.map(|line| format!("{}: {}", path.display(), line.trim())));
    }
    assert!(faults.is_empty(), "say it with counted::count:\n{}", faults.join("\n"));
}
