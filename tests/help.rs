//! What `-h`, `--help` and `help` print, of every tool and verb.

use std::collections::BTreeSet;
use std::path::Path;

use auwai::cli::man::subcommands;
use auwai::porcelain::man::{auwai, inbox, ledger};

use super::support::program;

fn cmd() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cmd")
}

#[test]
fn help_is_as_it_was() {
    let cases = trycmd::TestCases::new();
    cases.env("COLUMNS", "100").case("tests/cmd/*.trycmd");
}

/// Every command line of the snapshots.
fn snapshots() -> BTreeSet<String> {
    let files = std::fs::read_dir(cmd()).unwrap().map(|entry| entry.unwrap().path());
    let texts: Vec<String> = files.map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let lines = texts.iter().flat_map(|text| text.lines());
    lines.filter_map(|line| line.strip_prefix("$ ").map(str::to_string)).collect()
}

#[test]
fn every_command_has_its_help_in_a_snapshot() {
    let snapshots = snapshots();
    let mut names: Vec<String> =
        ["auwai", "auwai-inbox", "auwai-ledger", "auwai-plan", "auwai-relay", "auwai-wait-events"]
            .map(String::from)
            .into();
    for verb in subcommands(&auwai()) {
        names.push(format!("auwai {}", verb.get_name()));
        let below = subcommands(verb).map(|below| below.get_name());
        names.extend(below.map(|below| format!("auwai {} {below}", verb.get_name())));
    }
    names.extend(subcommands(&ledger()).map(|verb| format!("auwai-ledger {}", verb.get_name())));
    names.extend(subcommands(&inbox()).map(|verb| format!("auwai-inbox {}", verb.get_name())));
    for name in names {
        for help in ["-h", "--help"] {
            let line = format!("{name} {help}");
            assert!(snapshots.contains(&line), "no file in tests/cmd has `$ {line}`");
        }
    }
}

#[test]
fn help_opens_the_page_of_a_command() {
    let dir = tempfile::tempdir().unwrap();
    for (topic, head) in [
        (&[][..], "AUWAI(1)"),
        (&["read"], "AUWAI-FULLREAD(1)"),
        (&["workspace", "add"], "AUWAI-WORKSPACE(1)"),
        (&["auwai-ledger"], "AUWAI-LEDGER(1)"),
        (&["ledger"], "AUWAI-LEDGER(1)"),
        (&["auwai-inbox", "watch"], "AUWAI-INBOX(1)"),
        (&["auwai-workspace.7"], "AUWAI-WORKSPACE(7)"),
        (&["watching"], "AUWAI-WATCHING(7)"),
    ] {
        let out = program("auwai", dir.path()).arg("help").args(topic).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        assert!(out.status.success() && text.starts_with(head), "{topic:?}: {text}");
        assert!(text.contains("\nSEE ALSO\n") && !text.contains('\u{8}'), "{topic:?}");
    }
}

#[test]
fn without_man_and_mandoc_help_is_the_long_help() {
    let dir = tempfile::tempdir().unwrap();
    let run = |args: &[&str]| {
        let program =
            program(env!("CARGO_BIN_EXE_auwai"), dir.path()).env("PATH", "").args(args).output();
        let out = program.unwrap();
        (out.status.code(), String::from_utf8(out.stdout).unwrap())
    };
    assert_eq!(run(&["help", "workspace", "add"]), run(&["workspace", "add", "--help"]));
    assert_eq!(run(&["help"]), run(&["--help"]));
    assert_eq!(run(&["help", "records"]).0, Some(3));
}
