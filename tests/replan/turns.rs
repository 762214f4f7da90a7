//! Replans that meet: one after the other.

use std::fs::File;

use super::{lines, planned, unread};
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
