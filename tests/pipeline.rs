//! Porcelain is plumbing joined by pipes: the printed lines do the same in a shell, and a stage that
//! dies changes nothing.

use std::fs;

use crate::support::site::{Site, tell};

const COVERAGE: &str = ".auwai/fullread/coverage.sqlite";

fn tree() -> Site {
    let site = Site::new();
    for (name, file) in [("alpha", "alpha.rs"), ("beta", "it's a \u{1b}[1m \"name\".rs")] {
        let lines = (1..=200).map(|n| format!("let {name} = {n};\n"));
        site.write(format!("dir/{file}"), lines.collect::<String>());
    }
    site
}

/// The pipelines that a command prints, on one line each.
fn traced(site: &Site, args: &[&str]) -> (Vec<String>, Vec<u8>) {
    let mut command = site.auwai(args);
    command.env("AUWAI_TRACE", "1");
    let told = tell(command).expect_code(0);
    let is_pipeline = |line: &&str| line.starts_with("auwai-") || line.starts_with("{ auwai-");
    (told.err.lines().filter(is_pipeline).map(str::to_string).collect(), told.out)
}

fn rows(site: &Site) -> String {
    let chunks = "SELECT repo, chunk_id, path, complete, read_at IS NULL FROM chunks ORDER BY 1, 2";
    let segments = "SELECT segment_id, status, tokens FROM segments ORDER BY 1";
    site.ask(COVERAGE, chunks) + &site.ask(COVERAGE, segments)
}

#[test]
fn printed_lines_do_the_same_in_a_shell() {
    let site = tree();
    let mut outs = Vec::new();
    let mut lines = Vec::new();
    for verb in
        [&["plan", "--json"][..], &["next", "--json"], &["read"], &["done", "-m", "it's\nso"]]
    {
        let (printed, out) = traced(&site, verb);
        lines.push(printed);
        outs.push((out, rows(&site)));
    }
    let verdict = site.run(&["verify", "--json", "--planned"]);
    fs::remove_dir_all(site.work(".auwai")).unwrap();
    // The same lines in the same place, with what porcelain adds left away.
    for (verb, (printed, (out, after))) in lines.iter().zip(&outs).enumerate() {
        assert!(!printed.is_empty());
        let mut last = Vec::new();
        for line in printed {
            let told = site.sh(line);
            assert_eq!(told.code(), 0, "{line}: {}", told.err);
            if !told.out.is_empty() {
                last = told.out;
            }
        }
        let own: Vec<&[u8]> = out.split(|b| *b == b'\n').collect();
        let theirs: Vec<&[u8]> = last.split(|b| *b == b'\n').collect();
        match verb {
            // Porcelain's `plan --json` is adopt's first record; `next --json` is all of claim's.
            0 | 1 => assert_eq!(theirs[0], own[0], "{printed:?}"),
            2 => assert_eq!(&last, out, "{printed:?}"),
            _ => {}
        }
        assert_eq!(&rows(&site), after, "{printed:?}");
    }
    let theirs = site.run(&["verify", "--json", "--planned"]);
    assert_eq!((theirs.code(), theirs.text()), (verdict.code(), verdict.text()));
    assert!(
        lines[0].iter().any(|l| l.contains("auwai-ledger chunks") && l.contains(" | auwai-plan"))
    );
    assert!(
        lines[2].iter().any(|l| l.starts_with("{ auwai-ledger show") && l.contains("3>&1 >&4"))
    );
}

#[test]
fn verify_is_one_stage_that_looks_at_the_tree() {
    let site = tree();
    site.ok(&["run", "--", "cat"]);
    let (lines, _) = traced(&site, &["verify"]);
    assert_eq!(lines, [format!("auwai-ledger verify --workspace {}", site.path("w").display())]);
    site.write("dir/alpha.rs", "other text\n");
    for (options, code) in [("--no-scan", 0), ("--planned", 0), ("", 1), ("--no-scan", 1)] {
        site.sh(&format!("auwai-ledger verify --workspace . {options}")).expect_code(code);
    }
}

#[test]
fn a_producer_that_dies_changes_nothing() {
    let site = tree();
    site.ok(&["plan"]);
    site.ok(&["next"]);
    site.ok(&["read"]);
    let before = rows(&site);
    let whole = site.sh("auwai-ledger chunks --workspace . | wc -l").text().trim().to_string();
    for lines in 0..whole.parse::<usize>().unwrap() {
        // A producer that was killed looks like one that ended: its stream is short.
        let script = format!(
            "set -o pipefail; auwai-ledger chunks --workspace . | head -{lines} \
             | auwai-plan | auwai-ledger adopt --workspace . --force"
        );
        let told = site.sh(&script);
        assert_eq!(told.code(), 3, "after {lines} lines: {}", told.err);
        assert!(told.err.contains("auwai-plan: -:"), "{}", told.err);
        assert_eq!(rows(&site), before, "after {lines} lines");
    }
    let cut = "auwai-ledger chunks --workspace . | auwai-plan | head -c -1 \
        | auwai-ledger adopt --workspace . --force";
    assert_eq!(site.sh(cut).code(), 3);
    assert_eq!(rows(&site), before);
}

#[test]
fn a_producer_that_is_killed_changes_nothing() {
    let site = tree();
    site.ok(&["plan"]);
    site.ok(&["next"]);
    site.ok(&["read"]);
    let before = rows(&site);
    let script = "{ auwai-ledger chunks --workspace . | head -4; kill -9 $BASHPID; } \
        | auwai-plan | auwai-ledger adopt --workspace . --force; exit ${PIPESTATUS[2]}";
    let told = site.sh(script);
    assert_eq!(told.code(), 3, "{}", told.err);
    assert_eq!(rows(&site), before);
}

#[test]
fn the_first_stage_that_fails_is_the_one_that_is_told() {
    let site = tree();
    site.ok(&["plan"]);
    site.ok(&["next"]);
    fs::write(site.work(".auwai/ledger.sqlite"), "no database").unwrap();
    let _ = fs::remove_file(site.work(".auwai/ledger.sqlite-wal"));
    let told = site.run(&["read"]).expect_code(3);
    assert!(told.err.starts_with("auwai: the ledger '"), "{}", told.err);
    assert_eq!(told.err.matches("auwai: ").count(), 1, "{}", told.err);
}

/// `print` cannot acknowledge when `mark` has failed; why that failed is what matters.
#[test]
fn a_mark_that_fails_is_told_and_not_the_print_before_it() {
    let site = Site::new();
    let lines = (1..=9000).map(|n| format!("let quite_a_long_name_{n} = \"{n}\";\n"));
    site.write("a.rs", lines.collect::<String>());
    site.ok(&["plan", "--context-window", "1m", "--fixed-prompt", "60k"]);
    site.ok(&["next"]);
    let full = "CREATE TRIGGER full BEFORE INSERT ON reads \
        BEGIN SELECT RAISE(ABORT, 'no room'); END";
    site.ask(COVERAGE, full);
    let reader = "import os,time\nfor n in range(30):\n os.read(0,9000); time.sleep(.1)";
    let told = site
        .sh(&format!("auwai read --drain 10s | python3 -c '{reader}'; exit ${{PIPESTATUS[0]}}"));
    assert_eq!(told.code(), 3, "{}", told.err);
    assert!(told.err.contains("no room"), "{}", told.err);
    assert!(!told.err.contains("cannot send acknowledgements"), "{}", told.err);
}
