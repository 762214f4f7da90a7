//! Many at once, and killed at any moment.

use std::process::Stdio;
use std::time::Duration;

use super::{ask, check, lines, planned, read_all, unread};
use crate::support::site::{Site, tell, wait_until};

/// Takes, reads and closes segments until there is nothing more, as one of several.
fn work(site: &Site, reader: &str) {
    let run = |args: &[&str]| {
        let mut command = site.auwai(args);
        command.env("AUWAI_READER", reader);
        tell(command)
    };
    loop {
        let told = run(&["next", "--json"]);
        assert!(!told.err.contains("locked"), "{}", told.err);
        let record: serde_json::Value = serde_json::from_slice(&told.out).unwrap();
        match (told.code(), record["code"].as_str()) {
            (0, _) => {}
            (_, Some("done")) => return,
            _ => {
                std::thread::sleep(Duration::from_millis(20));
                continue;
            }
        }
        let id = record["id"].as_str().unwrap().to_string();
        if id.starts_with("read-") {
            // What has changed under the reader is for the next replan.
            let read = run(&["read", "--segment", &id]);
            let changed = ["changed since", "is not in the plan"];
            let is_told = changed.iter().any(|words| read.err.contains(words));
            assert!(read.code() == 0 || read.code() == 3 && is_told, "{}", read.err);
        }
        let done = run(&["done", "--segment", &id, "-m", &format!("{id} by {reader}")]);
        assert!([0, 1].contains(&done.code()), "{}", done.err);
    }
}

#[test]
fn readers_and_replans_do_not_lose_each_others_work() {
    let files: Vec<(String, String)> =
        (0..8).map(|n| (format!("f{n}.txt"), lines(&format!("file {n}"), 1, 500))).collect();
    let files: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    let site = planned(&files);
    std::thread::scope(|scope| {
        let workers: Vec<_> = ["ann", "bob"]
            .map(|reader| {
                let site = &site;
                scope.spawn(move || work(site, reader))
            })
            .into();
        let mut n = 0;
        while workers.iter().any(|worker| !worker.is_finished()) {
            if n < 6 {
                site.write(
                    format!("f{n}.txt"),
                    lines(&format!("file {n}"), 2, 500) + "and an end\n",
                );
                n += 1;
            }
            let told = site.run(&["replan"]);
            assert_eq!(told.code(), 0, "{}", told.err);
        }
    });
    check(&site);
    site.ok(&["replan"]);
    read_all(&site);
    assert_eq!(unread(&site), []);
    let twice = ask(
        &site,
        "SELECT segment, count(*) FROM findings WHERE segment LIKE 'read-%' \
        GROUP BY 1 HAVING count(*) > 1",
    );
    assert_eq!(twice, "", "a segment is closed once");
}

#[test]
fn a_replan_that_is_killed_leaves_the_old_plan_or_the_new_one() {
    let files: Vec<(String, String)> =
        (0..12).map(|n| (format!("f{n:02}.txt"), lines(&format!("file {n}"), 1, 400))).collect();
    let files: Vec<(&str, String)> =
        files.iter().map(|(path, text)| (path.as_str(), text.clone())).collect();
    let site = planned(&files);
    site.ok(&["next"]);
    site.ok(&["read"]);
    let mut plans = std::collections::BTreeSet::new();
    for turn in 0..12u64 {
        let name = format!("f{:02}.txt", turn % 12);
        site.write(&name, lines(&format!("turn {turn}"), 1, 300));
        site.ok(&["index"]);
        let stream = site.sh("auwai-ledger chunks --workspace . --hashes").expect_code(0).out;
        let mut command = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
        command.args(["replan", "--workspace", "."]).stdin(Stdio::piped()).stdout(Stdio::null());
        let mut child = command.stderr(Stdio::null()).spawn().unwrap();
        std::io::Write::write_all(&mut child.stdin.take().unwrap(), &stream).unwrap();
        std::thread::sleep(Duration::from_micros(turn * 2500));
        child.kill().unwrap();
        child.wait().unwrap();
        check(&site);
        plans.insert(ask(&site, "SELECT plan_id FROM plans"));
    }
    assert!(plans.len() > 1, "some came through");
    wait_until("the last replan", || site.run(&["replan"]).code() == 0);
    read_all(&site);
    assert_eq!(unread(&site), []);
}
