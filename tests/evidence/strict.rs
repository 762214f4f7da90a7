//! `auwai verify --strict`, `--reader`, and `auwai waive`.

use std::fs;
use std::os::unix::fs::symlink;

use super::{HISTORY, PLAN, lines, read_all, records, repository};
use crate::support::site::{Site, Told, is_root, skipped};

/// All text of `r` is read by the command of a run; git tracks one path of every other fate.
fn run_through() -> Site {
    let site = repository();
    site.write("r/logo.png", b"\x89PNG\0\0");
    site.write("r/src/vendor/lib.txt", lines("vendor", 3));
    site.write("r/.auwai-ignore", "/src/vendor/\n");
    site.write("r/gone.txt", "x\n");
    symlink("a.txt", site.work("r/link")).unwrap();
    site.sh("git init -q sub && cd sub && git commit -q --allow-empty -m x").expect_code(0);
    site.sh("cd r && git -c protocol.file.allow=always submodule --quiet add ../sub sub")
        .expect_code(0);
    site.sh("cd r && git add -A && git commit -qm second && rm gone.txt").expect_code(0);
    site.write("r/untracked.bin", b"\0");
    site.write("r/build/out.o", b"\0");
    fs::write(site.work("r/.git/info/exclude"), "/build/\n").unwrap();
    site.sh(&format!("cd r && {PLAN} && auwai run -- sh -c 'cat >/dev/null'")).expect_code(0);
    site
}

fn strictly(site: &Site, options: &str) -> Told {
    site.sh(&format!("cd r && auwai verify --strict --json {options}"))
}

/// The paths of rows, each with its reason.
fn reasons(told: &Told) -> Vec<String> {
    let rows = records(told.text()).into_iter().filter(|row| row["type"] == "unread");
    let word = |row: &serde_json::Value, key: &str| row[key].as_str().unwrap().to_string();
    let mut all: Vec<String> =
        rows.map(|row| format!("{} {}", word(&row, "path"), word(&row, "why"))).collect();
    all.dedup();
    all
}

#[test]
fn nothing_that_git_tracks_is_left_out_without_a_waiver() {
    let site = run_through();
    site.sh("cd r && auwai verify").expect_code(0);
    let told = strictly(&site, "").expect_code(1);
    let due = [
        "gone.txt absent",
        "link symlink",
        "logo.png binary",
        "src/vendor/lib.txt ignored",
        "sub repository",
    ];
    assert_eq!(reasons(&told), due);
    // Git is the judge of what is tracked, and is text to us.
    let tracked = site.sh("cd r && git ls-files | wc -l").text().trim().parse::<usize>().unwrap();
    assert_eq!(tracked, due.len() + 5, ".auwai-ignore, .gitmodules, a.txt, src/b.txt, src/c.txt");
    let told = site.sh("cd r && auwai verify --strict").expect_code(1);
    assert!(told.text().contains("r:logo.png: binary, not waived\n"), "{}", told.text());
    assert!(told.err.contains("5 parts are unread\nhint: say what need not be read, and why: `auwai waive GLOB --reason TEXT`"), "{}", told.err);
    for (glob, left) in [
        ("*.png", 4),
        ("/src/vendor/", 3),
        ("r:sub", 2),
        ("other:gone.txt", 2),
        ("/gone.*", 1),
        ("link", 0),
    ] {
        site.sh(&format!("cd r && AUWAI_READER=ann auwai waive '{glob}' --reason 'looked at'"))
            .expect_code(0);
        let told = strictly(&site, "");
        assert_eq!(reasons(&told).len(), left, "{glob}: {:?}", reasons(&told));
        assert_eq!(told.code(), i32::from(left > 0), "{glob}");
    }
    let told = site.sh("cd r && auwai verify --strict").expect_code(0);
    assert_eq!(told.err, "auwai-ledger: the waiver 'other:gone.txt' names nothing that needs it\n");
    site.sh("cd r && auwai waive --remove '*.png'").expect_code(0);
    assert_eq!(reasons(&strictly(&site, "")), ["logo.png binary"]);
    let dirt = site.sh("cd r && git status --porcelain").text().to_string();
    assert!(!dirt.contains("waive") && !dirt.contains(".auwai/"), "{dirt}");
}

#[test]
fn a_waiver_is_kept_with_its_reason_its_reader_and_its_end() {
    let site = repository();
    let waive = |args: &str| site.sh(&format!("cd r && auwai waive {args}"));
    assert_eq!(waive("--list").expect_code(0).text(), "");
    assert!(!site.work("r/.auwai").exists(), "a question leaves nothing behind");
    waive("--remove x").expect_code(3);
    waive("'*.png' --reason 'pictures' --reader ann").expect_code(0);
    waive("'*.png' --reason 'pictures' --reader bob").expect_code(0);
    let list = waive("--list").expect_code(0).text().to_string();
    assert!(list.starts_with("*.png  pictures  (ann, 20") && list.lines().count() == 1, "{list}");
    waive("'*.png' --reason 'seen\n\x1b[2J' --reader bob").expect_code(0);
    let list = waive("--list").expect_code(0).text().to_string();
    assert!(list.contains(r"seen\x0a\x1b[2J") && !list.contains('\x1b'), "{list}");
    let rows = "SELECT glob, reader, removed_by FROM waivers ORDER BY id";
    assert_eq!(site.ask(format!("r/{HISTORY}"), rows), "*.png ann bob\n*.png bob None\n");
    let told = waive("--remove nothing").expect_code(3);
    assert!(told.err.contains(
        "no waiver stands for 'nothing'\nhint: see which there are: `auwai waive --list`"
    ));
    for bad in [
        "",
        "'!x' --reason y",
        "'#x' --reason y",
        "x --reason ' '",
        "x",
        "--reason y",
        "x --list",
        "a --reason b --remove c",
    ] {
        let told = waive(bad);
        assert_eq!(told.code(), 2, "{bad}: {}", told.err);
    }
}

#[test]
fn waivers_travel_with_the_export_and_stay_removed() {
    let site = run_through();
    site.sh("cd r && auwai waive '*.png' --reason pictures && auwai waive sub --reason 'its own' && auwai waive --remove sub")
        .expect_code(0);
    site.sh("cd r && auwai-ledger export > ../evidence.jsonl && git clone -q . ../x")
        .expect_code(0);
    let import = "cd x && auwai-ledger import --rename r=x < ../evidence.jsonl";
    site.sh(import).expect_code(0);
    let list = site.sh("cd x && auwai waive --list").text().to_string();
    assert!(list.starts_with("*.png  pictures  ") && list.lines().count() == 1, "{list}");
    // Removed here, the old export does not bring it back.
    site.sh("cd x && auwai waive --remove '*.png'").expect_code(0);
    site.sh(import).expect_code(0);
    assert_eq!(site.sh("cd x && auwai waive --list").text(), "");
}

#[test]
fn what_was_only_shown_does_not_count_strictly() {
    let site = repository();
    site.sh(&format!("cd r && {PLAN}")).expect_code(0);
    read_all(&site, "r", "ann");
    site.sh("cd r && auwai verify").expect_code(0);
    let told = strictly(&site, "").expect_code(1);
    assert_eq!(reasons(&told), ["a.txt shown", "src/b.txt shown", "src/c.txt shown"]);
    let status = records(told.text()).into_iter().find(|row| row["type"] == "status").unwrap();
    assert_eq!(status["chunks"]["complete"], 0);
    let told = site.sh("cd r && auwai verify --strict").expect_code(1);
    assert!(
        told.text().contains(": only shown, ") && told.err.contains("`auwai run -- CMD`"),
        "{}",
        told.err
    );
    // The reader confirms one file; a command takes another.
    let mark = |how: &str, path: &str| {
        let script =
            format!("cd r && auwai log --json {path} | auwai-ledger mark --reader ann --how {how}");
        site.sh(&script).expect_code(0);
    };
    mark("confirmed", "a.txt");
    mark("run", "src/b.txt");
    assert_eq!(reasons(&strictly(&site, "").expect_code(1)), ["src/c.txt shown"]);
    // What moves is worth what it was.
    site.sh("cd r && git mv a.txt moved.txt && git mv src/c.txt c.txt && auwai replan")
        .expect_code(0);
    assert_eq!(reasons(&strictly(&site, "").expect_code(1)), ["c.txt shown"]);
    // And so is what is imported.
    site.sh("cd r && git commit -qam moved && auwai-ledger export > ../evidence.jsonl && git clone -q . ../x/r").expect_code(0);
    site.sh("cd x/r && auwai-ledger import < ../../evidence.jsonl").expect_code(0);
    site.sh(&format!("cd x/r && {PLAN} && auwai verify")).expect_code(0);
    let told = site.sh("cd x/r && auwai verify --strict --json").expect_code(1);
    assert_eq!(reasons(&told), ["c.txt shown"]);
}

#[test]
fn of_one_reader_only_its_own_reads_count() {
    let site = repository();
    site.sh(&format!("cd r && {PLAN}")).expect_code(0);
    site.sh("cd r && auwai next --reader ann && auwai read --reader ann >/dev/null && auwai done --reader ann")
        .expect_code(0);
    read_all(&site, "r", "bob");
    let ask = |reader: &str| site.sh(&format!("cd r && auwai verify --json --reader {reader}"));
    let paths = |told: &Told| -> Vec<String> { reasons(told) };
    assert_eq!(paths(&ask("ann").expect_code(1)), ["src/b.txt others", "src/c.txt others"]);
    assert_eq!(paths(&ask("bob").expect_code(1)), ["a.txt others"]);
    assert_eq!(paths(&ask("eve").expect_code(1)).len(), 3);
    let told = strictly(&site, "--reader ann").expect_code(1);
    assert_eq!(paths(&told), ["a.txt shown", "src/b.txt others", "src/c.txt others"]);
    // Who has read what has moved, has read it where it is now.
    site.sh("cd r && git mv a.txt z.txt && auwai replan").expect_code(0);
    assert_eq!(paths(&ask("bob").expect_code(1)), ["z.txt others"]);
    site.sh("cd r && auwai read z.txt --reader bob > /dev/null && auwai verify --reader bob")
        .expect_code(0);
    site.sh("cd r && auwai-ledger verify --repo . --reader bob").expect_code(2);
    site.sh("cd r && auwai verify --planned --strict").expect_code(2);
}

#[test]
fn outside_git_what_no_rule_leaves_out_is_asked_for() {
    let site = Site::new();
    site.write("r/a.txt", "x\n");
    site.write("r/logo.png", b"\0");
    site.write("r/out.o", b"\0");
    site.write("r/.auwai-ignore", "*.o\n");
    symlink("a.txt", site.work("r/link")).unwrap();
    site.sh(&format!("cd r && {PLAN} && auwai run -- sh -c 'cat >/dev/null'")).expect_code(0);
    assert_eq!(reasons(&strictly(&site, "").expect_code(1)), ["link symlink", "logo.png binary"]);
}

#[test]
fn what_a_workspace_is_bounded_to_stays_its_bound() {
    let site = run_through();
    site.sh("auwai workspace init both && auwai workspace add r --only src").expect_code(0);
    site.sh(&format!("{PLAN} && auwai run -- sh -c 'cat >/dev/null'")).expect_code(0);
    let told = site.sh("auwai verify --strict --json").expect_code(1);
    assert_eq!(reasons(&told), ["src/vendor/lib.txt ignored"]);
}

#[test]
fn what_cannot_be_read_may_be_waived_strictly() {
    if !is_root() {
        return skipped("to be another user needs root");
    }
    let site = repository();
    site.sh("chown -R 65534:65534 r && chmod 0 r/src/c.txt").expect_code(0);
    let plan: Vec<&str> = PLAN.split(' ').skip(1).collect();
    let run = |args: &[&str]| site.run_as_nobody(&[&["-C", "r"][..], args].concat());
    run(&plan).expect_code(0);
    run(&["run", "--", "sh", "-c", "cat >/dev/null"]).expect_code(1);
    assert_eq!(
        reasons(&run(&["verify", "--strict", "--json"]).expect_code(1)),
        ["src/c.txt unreadable"]
    );
    run(&["waive", "/src/c.txt", "--reason", "a secret"]).expect_code(0);
    run(&["verify", "--strict"]).expect_code(0);
    run(&["verify"]).expect_code(1);
}
