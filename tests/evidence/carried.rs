//! `auwai-ledger export` and `import`: what was read is read elsewhere too.

use std::fs;

use serde_json::{Value, json};

use super::{HISTORY, PLAN, lines, read_all, records, repository};
use crate::support::site::{Site, Told};

/// A repository `r` that is read to its end, and its export beside it.
fn exported() -> Site {
    let site = repository();
    site.sh(&format!("cd r && {PLAN}")).expect_code(0);
    site.sh("cd r && auwai next --reader ann && auwai read --reader ann >/dev/null && auwai done --reader ann -m 'it leaks'")
        .expect_code(0);
    read_all(&site, "r", "bob");
    site.sh("cd r && auwai verify && auwai-ledger export > ../evidence.jsonl").expect_code(0);
    site
}

fn export(site: &Site, folder: &str) -> String {
    site.sh(&format!("cd {folder} && auwai-ledger export")).expect_code(0).text().to_string()
}

fn import(site: &Site, folder: &str, options: &str) -> Told {
    site.sh(&format!("cd {folder} && auwai-ledger import {options} < ../evidence.jsonl"))
}

/// What the history says of who read which text: without the ledgers that it came through.
fn essence(text: &str) -> Vec<Value> {
    let mut all: Vec<Value> = records(text)
        .into_iter()
        .filter(|record| record["type"] == "read")
        .map(|mut record| {
            let made = match record["origin"].clone() {
                Value::Null => record["how"].clone(),
                origin => origin,
            };
            let object = record.as_object_mut().unwrap();
            object.remove("origin");
            object.insert("how".into(), made);
            record
        })
        .collect();
    all.sort_by_key(Value::to_string);
    all
}

#[test]
fn what_was_read_survives_a_clean_and_a_new_clone() {
    let site = exported();
    let before = export(&site, "r");
    site.sh("cd r && git clean -fdxq && test ! -e .auwai").expect_code(0);
    import(&site, "r", "").expect_code(0);
    site.sh(&format!("cd r && {PLAN} && auwai verify")).expect_code(0);
    site.sh("git clone -q r c && mkdir d && mv c d/r").expect_code(0);
    site.sh(&format!("cd d/r && {PLAN}")).expect_code(0);
    site.sh("cd d/r && auwai verify").expect_code(1);
    let told = import(&site, "d/r", "").code();
    assert_ne!(told, 0, "there is no such file");
    site.sh("cd d/r && auwai-ledger import < ../../evidence.jsonl && auwai verify").expect_code(0);
    for folder in ["r", "d/r"] {
        assert_eq!(essence(&export(&site, folder)), essence(&before), "{folder}");
        let unread = "SELECT count(*) FROM chunks WHERE complete = 0 OR read_at IS NULL";
        assert_eq!(site.ask(format!("{folder}/{HISTORY}"), unread), "0\n");
        let findings = fs::read_to_string(site.work(folder).join(".auwai/fullread/findings.md"));
        assert_eq!(findings.unwrap().matches("    it leaks\n").count(), 1, "{folder}");
    }
    // And back where it came from.
    let there = export(&site, "d/r");
    fs::write(site.work("evidence.jsonl"), &there).unwrap();
    let kept = export(&site, "r");
    import(&site, "r", "").expect_code(0);
    assert_eq!(export(&site, "r"), kept);
}

#[test]
fn an_import_twice_changes_nothing() {
    let site = exported();
    let own = export(&site, "r");
    let told = import(&site, "r", "").expect_code(0);
    assert!(told.err.contains(", 0 new; 0 chunks are now complete"), "{}", told.err);
    assert_eq!(export(&site, "r"), own, "into the ledger that it is of");
    site.sh("git clone -q r x && cd x && git mv a.txt moved.txt && git rm -q src/c.txt")
        .expect_code(0);
    site.sh(&format!("cd x && {PLAN}")).expect_code(0);
    import(&site, "x", "--rename r=x").expect_code(0);
    site.sh("cd x && auwai verify").expect_code(0);
    let once = export(&site, "x");
    let state = site.ask(format!("x/{HISTORY}"), "SELECT * FROM chunks ORDER BY 1, 2");
    for _ in 0..2 {
        import(&site, "x", "--rename r=x").expect_code(0);
        assert_eq!(export(&site, "x"), once);
        assert_eq!(site.ask(format!("x/{HISTORY}"), "SELECT * FROM chunks ORDER BY 1, 2"), state);
    }
}

/// Imported, a read is for the text that was read: not for other text at its path, and for one
/// chunk alone.
#[test]
fn a_read_counts_for_its_text_and_once() {
    let site = exported();
    site.sh("git clone -q r x").expect_code(0);
    site.write("x/src/b.txt", lines("other", 200));
    site.sh("cd x && cp a.txt copy.txt && cp src/c.txt one.txt && mv src/c.txt two.txt")
        .expect_code(0);
    site.sh(&format!("cd x && {PLAN}")).expect_code(0);
    import(&site, "x", "--rename r=x").expect_code(0);
    let told = records(site.sh("cd x && auwai unread --json").text());
    let mut unread: Vec<&str> = told.iter().map(|row| row["path"].as_str().unwrap()).collect();
    unread.sort_unstable();
    unread.dedup();
    // `c.txt` went to the first of its copies; what was read of `b.txt` is in the history alone.
    assert_eq!(unread, ["copy.txt", "src/b.txt", "two.txt"]);
    let log = site.ok(&["-C", "x", "log", "src/b.txt"]);
    assert!(log.contains("  bob  imported (shown)  "), "{log}");
    // It comes back: then it is read.
    site.sh("cd x && git checkout -q src/b.txt && auwai replan").expect_code(0);
    import(&site, "x", "--rename r=x").expect_code(0);
    let told = site.sh("cd x && auwai unread").expect_code(0);
    assert!(!told.text().contains("src/b.txt"), "{}", told.text());
    // `c.txt` comes back as well, and its read has moved on.
    site.sh("cd x && git checkout -q src/c.txt && auwai replan").expect_code(0);
    import(&site, "x", "--rename r=x").expect_code(0);
    let told = site.sh("cd x && auwai unread").expect_code(0);
    assert!(told.text().contains("src/c.txt"), "{}", told.text());
}

#[test]
fn names_that_mean_nothing_here_are_told() {
    let site = exported();
    site.sh("git clone -q r x").expect_code(0);
    site.sh(&format!("cd x && {PLAN}")).expect_code(0);
    let told = import(&site, "x", "").expect_code(0);
    assert!(told.err.contains("no repository here is called 'r': what was read"), "{}", told.err);
    assert!(
        told.err
            .contains("hint: if it is 'x', import it again so: `auwai-ledger import --rename r=x`")
    );
    site.sh("cd x && auwai verify").expect_code(1);
    import(&site, "x", "--rename r=x").expect_code(0);
    site.sh("cd x && auwai verify").expect_code(0);
    import(&site, "x", "--rename r=../x").expect_code(2);
}

/// The line of the first read with one value changed, or taken away.
fn changed(export: &str, key: &str, value: Value) -> (String, usize) {
    let mut all: Vec<String> = export.lines().map(str::to_string).collect();
    let at = all.iter().position(|line| line.contains(r#""type":"read""#)).unwrap();
    let mut record: Value = serde_json::from_str(&all[at]).unwrap();
    match value {
        Value::Null => drop(record.as_object_mut().unwrap().remove(key)),
        value => record[key] = value,
    }
    all[at] = record.to_string();
    (all.join("\n") + "\n", at + 1)
}

/// What is wrong, the export, and the line that is named.
fn malformed(export: &str) -> Vec<(String, String, usize)> {
    let hash = "a".repeat(63);
    let mut all = Vec::new();
    for (key, value) in [
        ("body", json!(hash)),
        ("body", json!("A".repeat(64))),
        ("file", json!(hash)),
        ("head", json!("main")),
        ("plan", json!("x")),
        ("plan", Value::Null),
        ("bytes", json!([9, 3])),
        ("bytes", json!([3, 3])),
        ("bytes", json!([0, u64::MAX])),
        ("bytes", json!([-1, 3])),
        ("how", json!("dreamt")),
        ("how", Value::Null),
        ("origin", json!("run")),
        ("reader", json!("a b")),
        ("reader", json!("../x")),
        ("reader", Value::Null),
        ("at", json!("yesterday")),
        ("at", json!("2026-12-01T08:00:00.5Z")),
        ("at", json!("2026-12-01T08:00:00+01:00")),
        ("at", Value::Null),
        ("segment", json!("read-0")),
        ("segment", json!("../read-1")),
        ("segment", Value::Null),
        ("id", json!("00ff")),
        ("path", json!("/etc/passwd")),
        ("path", json!("a/../../b")),
        ("path_b64", json!("Li4v")),
        ("repo", json!("stranger")),
        ("v", json!(2)),
    ] {
        let (text, line) = changed(export, key, value.clone());
        all.push((format!("{key}: {value}"), text, line));
    }
    let lines: Vec<&str> = export.lines().collect();
    let (last, body) = lines.split_last().unwrap();
    let count = lines.len();
    let body = body.join("\n");
    let finding = body.lines().find(|line| line.contains(r#""type":"finding""#)).unwrap();
    let blank = finding.replace("it leaks", " ");
    let read = lines.iter().find(|line| line.contains(r#""type":"read""#)).unwrap();
    let waiver = r#"{"v":1,"type":"waiver","glob":"x","reason":"","reader":"ann","at":"2026-12-01T08:00:00Z"}"#;
    let removed =
        waiver.replace(r#""reason":"""#, r#""reason":"r","removed_at":"2026-12-01T08:00:00Z""#);
    let chunk = r#"{"v":1,"type":"end","of":"chunk","count":3}"#;
    for (what, text, line) in [
        ("no end", format!("{body}\n"), count - 1),
        ("a torn line", body.clone(), count - 1),
        ("an end of another stream", format!("{body}\n{chunk}\n"), count),
        ("an end that counts wrong", format!("{body}\n{read}\n{last}\n"), count + 1),
        ("a line after the end", format!("{export}{read}\n"), count + 1),
        ("no header", export.split_once('\n').unwrap().1.to_string(), 1),
        ("no JSON", format!("{body}\nnonsense\n"), count),
        ("not UTF-8 is no JSON", format!("{body}\n\u{1}\n"), count),
        ("an empty finding", format!("{body}\n{blank}\n{last}\n"), count),
        ("a waiver without a reason", format!("{body}\n{waiver}\n{last}\n"), count),
        ("a waiver removed by nobody", format!("{body}\n{removed}\n{last}\n"), count),
        (
            "an event",
            format!(
                "{body}\n{{\"v\":1,\"type\":\"event\",\"op\":\"create\",\"kind\":\"file\",\"path\":\"a\"}}\n{last}\n"
            ),
            count,
        ),
        ("a line without end", format!("{body}\n{}\n", "x".repeat(9 << 20)), count),
        ("nothing", String::new(), 0),
    ] {
        all.push((what.to_string(), text, line));
    }
    all
}

#[test]
fn a_line_that_is_malformed_is_named_and_nothing_is_imported() {
    let site = exported();
    let good = export(&site, "r");
    site.sh("git clone -q r c && mkdir d && mv c d/r").expect_code(0);
    site.sh(&format!("cd d/r && {PLAN}")).expect_code(0);
    let before = export(&site, "d/r");
    let cases = malformed(&good);
    for (what, text, line) in &cases {
        fs::write(site.work("bad.jsonl"), text).unwrap();
        let told = site.sh("cd d/r && auwai-ledger import < ../../bad.jsonl");
        assert_eq!(told.code(), 3, "{what}: {}", told.err);
        assert!(told.err.starts_with(&format!("auwai-ledger: -:{line}: ")), "{what}: {}", told.err);
        assert!(told.err.len() < 600 && !told.err.contains("panicked"), "{what}: {}", told.err);
        assert_eq!(export(&site, "d/r"), before, "{what}");
    }
    assert!(cases.len() > 40);
}

#[test]
fn what_is_not_known_is_passed_over_and_a_torn_stream_taken_when_asked() {
    let site = exported();
    let good = export(&site, "r");
    let later = good.replace(r#""reader":"#, r#""later":{"x":null},"reader":"#);
    let unknown = format!("{{\"v\":1,\"type\":\"later\"}}\n{later}");
    site.sh("git clone -q r c && mkdir d && mv c d/r").expect_code(0);
    fs::write(site.work("d/evidence.jsonl"), unknown).unwrap();
    import(&site, "d/r", "").expect_code(0);
    assert_eq!(essence(&export(&site, "d/r")), essence(&good));
    fs::remove_dir_all(site.work("d/r/.auwai")).unwrap();
    let torn: String = good.lines().take(6).map(|line| format!("{line}\n")).collect();
    fs::write(site.work("d/evidence.jsonl"), torn + "{\"v\":1,\"ty").unwrap();
    let told = import(&site, "d/r", "").expect_code(3);
    assert!(
        told.err.contains("hint: or take what came of it: `auwai-ledger import --partial`"),
        "{}",
        told.err
    );
    import(&site, "d/r", "--partial").expect_code(0);
    assert_eq!(essence(&export(&site, "d/r")).len(), 5);
}

#[test]
fn several_repositories_and_paths_of_any_bytes_come_back() {
    let site = repository();
    site.sh(r"git clone -q r s && cd s && printf 'caf\351 au lait, d\351j\340 vu\n' > $'caf\351.txt' && echo x > $'new\nline'")
        .expect_code(0);
    site.sh("auwai workspace init both && auwai workspace add r && auwai workspace add s")
        .expect_code(0);
    site.sh(PLAN).expect_code(0);
    read_all(&site, ".", "ann");
    site.sh("auwai verify && auwai-ledger export > ../evidence.jsonl").expect_code(0);
    site.sh("auwai workspace remove s && auwai replan").expect_code(0);
    let gone = site.sh("auwai-ledger export").expect_code(0);
    let names = records(gone.text());
    let paths: Vec<_> =
        names.iter().filter(|it| it["type"] == "repo").map(|it| it["path"].clone()).collect();
    assert_eq!(paths, [json!(site.work("r").to_str().unwrap()), json!("/")]);
    site.sh("auwai workspace add s && rm -r .auwai/workspace/coverage.sqlite*").expect_code(0);
    site.sh("auwai-ledger import < ../evidence.jsonl").expect_code(0);
    site.sh(&format!("{PLAN} && auwai verify")).expect_code(0);
}

#[test]
fn reads_without_their_bytes_are_history_alone() {
    let site = exported();
    let bare: String = export(&site, "r")
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            record.as_object_mut().unwrap().remove("body");
            format!("{record}\n")
        })
        .collect();
    site.sh("git clone -q r c && mkdir d && mv c d/r").expect_code(0);
    site.sh(&format!("cd d/r && {PLAN}")).expect_code(0);
    fs::write(site.work("d/evidence.jsonl"), bare).unwrap();
    import(&site, "d/r", "").expect_code(0);
    site.sh("cd d/r && auwai verify").expect_code(1);
    assert!(!site.ok(&["-C", "d/r", "log"]).is_empty());
}

/// A read whose claims do not fit the tree completes nothing, whatever id it names.
#[test]
fn a_read_of_other_bytes_completes_no_chunk() {
    let site = exported();
    let forged: String = export(&site, "r")
        .lines()
        .map(|line| {
            let mut record: Value = serde_json::from_str(line).unwrap();
            if record["type"] == "read" {
                record["body"] = json!("0".repeat(64));
            }
            format!("{record}\n")
        })
        .collect();
    site.sh("git clone -q r c && mkdir d && mv c d/r").expect_code(0);
    site.sh(&format!("cd d/r && {PLAN}")).expect_code(0);
    fs::write(site.work("d/evidence.jsonl"), forged).unwrap();
    let told = import(&site, "d/r", "").expect_code(0);
    assert!(told.err.contains("0 chunks are now complete"), "{}", told.err);
}
