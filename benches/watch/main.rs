//! Watchers side by side, in one run: what each misses, how fast it tells, how fast it stands, and
//! what it costs.
//!
//! ```sh
//! AUWAI_BENCH_TREE=linux-source-6.1 cargo bench --bench watch [-- PART...]
//! ```
//!
//! The parts are those of [`PARTS`]; without a name, all of them. Scenes are made in the folder for
//! temporary files. The tree, a git repository with everything added, is for latency and for the
//! idle watch: its `Makefile` is put back as it was, its `.auwai` is made anew. Rivals that are not
//! installed are left out, and said to be.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::print_stdout, reason = "a measurement")]

mod directories;
mod flood;
mod idle;
mod latency;
mod process;
mod relay;
mod rivals;
mod scenes;
mod watcher;

use std::path::{Path, PathBuf};

/// The program of the whole suite.
const AUWAI: &str = env!("CARGO_BIN_EXE_auwai");

/// What a part needs.
enum Part {
    /// An empty folder.
    Folder(fn(&Path)),
    /// The large tree.
    Tree(fn(&Path)),
}

const PARTS: &[(&str, Part)] = &[
    ("scenes", Part::Folder(scenes::run)),
    ("directories", Part::Folder(directories::run)),
    ("flood", Part::Folder(flood::run)),
    ("relay", Part::Folder(relay::run)),
    ("latency", Part::Tree(latency::run)),
    ("idle", Part::Tree(idle::run)),
];

fn main() {
    // Cargo's own options come with the names.
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let wanted = |name: &str| asked.is_empty() || asked.iter().any(|asked| asked == name);
    assert!(asked.iter().all(|asked| PARTS.iter().any(|(name, _)| name == asked)), "{asked:?}");
    let tree = std::env::var_os("AUWAI_BENCH_TREE").map(PathBuf::from);
    let tree = tree.map(|tree| tree.canonicalize().expect("the tree is there"));
    for (name, part) in PARTS.iter().filter(|(name, _)| wanted(name)) {
        println!("\n## {name}\n");
        match (part, &tree) {
            (Part::Folder(run), _) => run(tempfile::tempdir().unwrap().path()),
            (Part::Tree(run), Some(tree)) => run(tree),
            (Part::Tree(_), None) => println!("set AUWAI_BENCH_TREE to a large git repository"),
        }
    }
}

/// Tells a table's head.
fn head(columns: &[&str]) {
    println!("| {} |\n|{}", columns.join(" | "), "---|".repeat(columns.len()));
}
