//! Replans that meet others: at work, or with text on its way.

use std::fs::File;
use std::io::Write;
use std::process::Stdio;

use super::{ask, lines, planned, replan, unread};
use crate::support::site::{Site, wait_until};

/// The descriptors of a process that are open on a file of this name.
fn has_open(pid: u32, name: &str) -> bool {
    let open = std::fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten();
    let links = open.filter_map(|fd| std::fs::read_link(fd.ok()?.path()).ok());
    links.into_iter().any(|link| link.ends_with(name))
}

/// Holds the turn as another replan does.
fn hold(site: &Site) -> File {
    let held = File::create(site.work(".auwai/fullread/replan.lock")).unwrap();
    held.lock().unwrap();
    held
}

#[test]
fn a_replan_that_waits_for_another_plans_the_tree_as_it_is_then() {
    let site = planned(&[("a.txt", lines("first", 1, 60))]);
    for verb in [&["replan"][..], &["plan", "--force"]] {
        let held = hold(&site);
        let mut child = site.start(verb);
        wait_until("its turn", || {
            assert!(child.try_wait().unwrap().is_none(), "it has not waited");
            has_open(child.id(), "replan.lock")
        });
        site.write("late.txt", lines(&verb.join(" "), 1, 60));
        drop(held);
        assert!(child.wait().unwrap().success());
        assert_eq!(unread(&site).iter().filter(|(_, why)| why != "pending").count(), 0);
    }
}

#[test]
fn text_that_was_delivered_under_a_segment_that_has_gone_is_read() {
    let site = planned(&[("a.txt", lines("first", 1, 900))]);
    let list = "SELECT j.value FROM segment_records r, json_each(r.chunks) j \
        WHERE r.segment_id = 'read-2' ORDER BY 1";
    let chunks = ask(&site, list);
    let reads: Vec<String> = chunks
        .lines()
        .map(|chunk| chunk.split_once(':').unwrap())
        .map(|(repo, id)| {
            format!("{{\"v\":1,\"type\":\"read\",\"repo\":\"{repo}\",\"id\":\"{id}\"}}\n")
        })
        .collect();
    let mut command = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
    command.args(["mark", "--segment", "read-2"]).stdin(Stdio::piped());
    let mut mark = command.spawn().unwrap();
    let mut input = mark.stdin.take().unwrap();
    input.write_all(reads[0].as_bytes()).unwrap();
    let complete = || ask(&site, "SELECT count(*) FROM chunks WHERE complete").trim().to_string();
    wait_until("the first mark", || complete() == "1");
    replan(&site, &["--context-window", "8k"]);
    assert_eq!(ask(&site, "SELECT * FROM segments WHERE segment_id = 'read-2'"), "");
    input.write_all(reads[1..].concat().as_bytes()).unwrap();
    drop(input);
    assert!(mark.wait().unwrap().success());
    assert_eq!(complete(), reads.len().to_string());
}
