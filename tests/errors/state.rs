//! State that cannot be written, or is not what it should be.

use std::fs;
use std::path::Path;

use snapbox::{assert_data_eq, str};

use super::told;
use crate::support::site::{Site, is_root, skipped};

/// A repository alone, planned, with some of it read.
fn read_in_part() -> Site {
    let site = Site::new();
    site.write("a.rs", (1..=300).map(|n| format!("let x = {n};\n")).collect::<String>());
    site.ok(&["plan"]);
    site.ok(&["next"]);
    site.ok(&["read"]);
    site
}

const LEDGERS: [&str; 2] = [".auwai/ledger.sqlite", ".auwai/fullread/coverage.sqlite"];

/// The two ledgers without their logs: what is in the logs is in the files then.
fn settle(site: &Site) {
    for ledger in LEDGERS {
        site.ask(ledger, "PRAGMA wal_checkpoint(TRUNCATE)");
    }
}

fn overwrite(path: &Path, at: usize, bytes: &[u8]) {
    let mut content = fs::read(path).unwrap();
    content[at..at + bytes.len()].copy_from_slice(bytes);
    fs::write(path, content).unwrap();
}

/// A way to damage a file.
type Damage = (&'static str, fn(&Path));

const DAMAGES: [Damage; 4] = [
    ("cut in the middle", |path| {
        let size = fs::metadata(path).unwrap().len();
        fs::File::options().write(true).open(path).unwrap().set_len(size / 2).unwrap();
    }),
    ("a bit of its header", |path| {
        let first = fs::read(path).unwrap()[3];
        overwrite(path, 3, &[first ^ 4]);
    }),
    ("a text", |path| fs::write(path, "remember the milk\n".repeat(500)).unwrap()),
    ("its pages", |path| overwrite(path, 4096, &[0x55; 4096])),
];

#[test]
fn a_damaged_ledger_is_named_and_left_alone() {
    let site = read_in_part();
    settle(&site);
    fs::rename(site.work(".auwai"), site.path("whole")).unwrap();
    for ledger in LEDGERS {
        for (what, damage) in DAMAGES {
            site.sh("rm -rf .auwai && cp -r ../whole .auwai").expect_code(0);
            site.ok(&["--trust-state", "status"]);
            damage(&site.work(ledger));
            let before = fs::read(site.work(ledger)).unwrap();
            let mut refused = 0;
            for verb in [&["plan"][..], &["next"], &["verify"], &["plan", "--force"]] {
                let told = site.run(verb);
                assert!(!told.err.contains("panicked"), "{}", told.err);
                // A command that does not need what was damaged may not notice.
                if told.code() == 3 {
                    let said = &told.err;
                    assert!(said.contains("is damaged"), "{ledger}, {what}: {verb:?}: {said}");
                    assert!(said.contains("hint: "), "{said}");
                    refused += 1;
                }
            }
            assert!(refused > 1 || what == "its pages", "{ledger}, {what}: {refused}");
            if what != "its pages" {
                assert_eq!(fs::read(site.work(ledger)).unwrap(), before, "{ledger}, {what}");
            }
        }
    }
}

#[test]
fn a_ledger_without_one_of_its_tables_is_damaged() {
    for (ledger, table) in LEDGERS.into_iter().zip(["files", "counters"]) {
        let site = read_in_part();
        site.ask(ledger, &format!("DROP TABLE {table}"));
        let told = site.run(&["verify"]).expect_code(3);
        assert!(told.err.contains("is damaged"), "{}", told.err);
        assert!(told.err.contains("hint: it is never rebuilt"), "{}", told.err);
    }
}

#[test]
fn a_damaged_ledger_says_what_to_do() {
    let damages = LEDGERS.map(|ledger| {
        let site = read_in_part();
        settle(&site);
        fs::write(site.work(ledger), "remember the milk\n".repeat(500)).unwrap();
        told(&site, &site.run(&["verify"]))
    });
    assert_data_eq!(
        damages.concat(),
        str![[r#"
exit 3
auwai: the ledger '[W]/.auwai/ledger.sqlite' is damaged: file is not a database
hint: it is never rebuilt over reads: restore it from a backup, or move it away (`mv [W]/.auwai/ledger.sqlite [W]/.auwai/ledger.sqlite.damaged`) and start anew
exit 3
auwai: the coverage ledger '[W]/.auwai/fullread/coverage.sqlite' is damaged: file is not a database
hint: it is never rebuilt over reads: restore it from a backup, or move it away (`mv [W]/.auwai/fullread/coverage.sqlite [W]/.auwai/fullread/coverage.sqlite.damaged`) and start anew

"#]]
    );
}

#[test]
fn a_ledger_of_a_newer_version_is_refused() {
    let refused = LEDGERS.map(|ledger| {
        let site = read_in_part();
        site.ask(ledger, "PRAGMA user_version = 99");
        told(&site, &site.run(&["verify"]))
    });
    assert_data_eq!(
        refused.concat(),
        str![[r#"
exit 3
auwai: the ledger '[W]/.auwai/ledger.sqlite' has schema 99, this auwai knows 5
hint: it was written by a newer auwai: use that one, or `--state-dir` for a state of its own
exit 3
auwai: the coverage ledger '[W]/.auwai/fullread/coverage.sqlite' has schema 99, this auwai knows 6
hint: it was written by a newer auwai: use that one, or `--state-dir` for a state of its own

"#]]
    );
}

#[test]
fn a_database_of_another_program_is_refused() {
    let refused = LEDGERS.map(|ledger| {
        let site = read_in_part();
        site.ask(ledger, "PRAGMA application_id = 12345");
        told(&site, &site.run(&["verify"]))
    });
    assert_data_eq!(
        refused.concat(),
        str![[r#"
exit 3
auwai: '[W]/.auwai/ledger.sqlite' is not a ledger of auwai
hint: move that file away, then run the command again
exit 3
auwai: '[W]/.auwai/fullread/coverage.sqlite' is not a coverage ledger of auwai
hint: move that file away, then run the command again

"#]]
    );
}

#[test]
fn a_workspace_file_that_is_no_json_is_named() {
    let site = Site::new();
    site.write("r/a.rs", "x\n");
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "r"]);
    site.write(".auwai/workspace/workspace.json", "{\"v\":1,");
    assert_data_eq!(
        told(&site, &site.run(&["plan"])),
        str![[r#"
exit 3
auwai: '[W]/.auwai/workspace/workspace.json' cannot be understood: EOF while parsing a value at line 1 column 7
hint: mend it, or move it away and make it again: `mv [W]/.auwai/workspace/workspace.json [W]/.auwai/workspace/workspace.json.damaged`

"#]]
    );
}

#[test]
fn state_that_cannot_be_written_and_the_way_out() {
    if !is_root() {
        skipped("state_that_cannot_be_written: only root can become somebody else");
        return;
    }
    let site = Site::new();
    site.write("a.rs", "x\n");
    // Nobody may look, and has no folder that it may write but one.
    use std::os::unix::fs::PermissionsExt;
    fs::create_dir(site.path("free")).unwrap();
    fs::set_permissions(site.path("free"), fs::Permissions::from_mode(0o777)).unwrap();
    let refused = told(&site, &site.run_as_nobody(&["index"]));
    assert_data_eq!(
        &refused,
        str![[r#"
exit 3
auwai: cannot write the state folder '[W]/.auwai': Permission denied
hint: keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)

"#]]
    );
    for verb in ["plan", "verify", "run"] {
        let args = [verb, "--", "true"];
        let count = if verb == "run" { 3 } else { 1 };
        assert_eq!(told(&site, &site.run_as_nobody(&args[..count])), refused, "{verb}");
    }
    let free = site.path("free").display().to_string();
    let elsewhere = |verb: &'static str| ["--state-dir", &free, verb].map(str::to_string);
    for verb in ["plan", "next", "read", "done", "next", "done", "verify"] {
        let args = elsewhere(verb);
        let done = site.run_as_nobody(&args.each_ref().map(String::as_str));
        assert_eq!(done.code(), 0, "{verb}: {}", done.err);
    }
    assert!(!site.work(".auwai").exists());
    // A ledger that is there and cannot be written.
    site.ok(&["plan"]);
    assert_data_eq!(
        told(&site, &site.run_as_nobody(&["--trust-state", "next"])),
        str![[r#"
exit 3
auwai: cannot write the coverage ledger '[W]/.auwai/fullread/coverage.sqlite': Permission denied
hint: keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)

"#]]
    );
}

#[test]
fn a_plan_is_not_broken_by_another_tokenizer() {
    let site = read_in_part();
    let before = site.ask(LEDGERS[0], "SELECT * FROM meta WHERE key = 'tokenizer'");
    for args in
        [&["plan"][..], &["workspace", "survey"], &["run", "--jobs", "1"]].map(|verb| verb.to_vec())
    {
        let command = match args[0] {
            "run" => &["--", "wc"][..],
            _ => &[],
        };
        let told = site.run(&[&args, &["--tokenizer", "bytes/4"][..], command].concat());
        let told = told.expect_code(1);
        let first = "auwai: there is a plan that is counted with o200k_base\nhint: ";
        assert!(told.err.starts_with(first), "{}", told.err);
        assert_eq!(site.ask(LEDGERS[0], "SELECT * FROM meta WHERE key = 'tokenizer'"), before);
    }
    site.run(&["verify"]).expect_code(0);
    site.ok(&["plan", "--tokenizer", "o200k_base"]);
    site.ok(&["plan", "--tokenizer", "bytes/4", "--force"]);
}

#[test]
fn a_damaged_index_is_not_passed_over() {
    let site = read_in_part();
    settle(&site);
    fs::write(site.work(LEDGERS[0]), "remember the milk\n".repeat(500)).unwrap();
    for args in [&["status"][..], &["why", "a.rs"]] {
        let told = site.run(args).expect_code(3);
        assert!(told.err.contains("damaged") || told.err.contains("not a ledger"), "{}", told.err);
    }
    let told = site.sh("auwai-ledger close --workspace .").expect_code(0);
    assert_eq!(told.err, "");
    assert!(told.text().contains("\"done\":1"), "{}", told.text());
}
