//! Whoever takes a segment of a plan that the tree has left is told so.

use super::{ask, lines, planned, replan};
use crate::support::site::Site;

const TOLD: &str = "auwai: the tree has changed since the plan\nhint: let the plan follow it: ";

/// Whether `next` and `plan`, which looks at the tree itself, say that the plan is outdated.
fn told(site: &Site) -> (bool, bool) {
    let next = site.run(&["next"]).expect_code(0);
    let json: serde_json::Value = serde_json::from_str(&site.ok(&["next", "--json"])).unwrap();
    assert_eq!(json["outdated"] == true, next.err.contains(TOLD), "{}", next.err);
    let plan = site.run(&["plan"]).expect_code(0);
    (
        next.err.contains(TOLD),
        plan.err.contains("the plan that is there stays, and the tree has changed"),
    )
}

#[test]
fn an_index_that_has_changed_since_the_plan_is_told() {
    let text = lines("first", 1, 60);
    let site = planned(&[("a.txt", text.clone()), ("b.txt", lines("second", 1, 60))]);
    assert_eq!(told(&site), (false, false));
    site.write("a.txt", lines("other", 1, 60));
    assert_eq!(told(&site), (false, true), "only the scan of `plan` has seen it");
    assert_eq!(told(&site), (true, true), "also when nothing has changed since the last scan");
    site.write("a.txt", text);
    site.ok(&["index"]);
    assert_eq!(told(&site), (false, false), "it is what was planned again");
    std::fs::remove_file(site.work("b.txt")).unwrap();
    site.ok(&["index"]);
    assert_eq!(told(&site), (true, true));
    replan(&site, &[]);
    assert_eq!(told(&site), (false, false));
}

#[test]
fn a_repository_that_is_new_in_the_workspace_outdates_its_plan() {
    let site = Site::new();
    site.write("one/a.txt", lines("first", 1, 60));
    site.write("two/b.txt", lines("second", 1, 60));
    site.ok(&["workspace", "init", "both"]);
    site.ok(&["workspace", "add", "one"]);
    site.ok(&["plan"]);
    assert_eq!(told(&site), (false, false));
    site.ok(&["workspace", "add", "two"]);
    assert_eq!(told(&site), (true, true));
    site.ok(&["replan"]);
    assert_eq!(told(&site), (false, false));
}

#[test]
fn a_plan_of_an_earlier_build_is_followed_without_a_revision() {
    let site = planned(&[("a.txt", lines("first", 1, 60))]);
    let plan = "SELECT plan FROM plans";
    let before = ask(&site, plan);
    ask(&site, "UPDATE plans SET plan = json_remove(plan, '$.repos[0].fingerprint')");
    assert_ne!(ask(&site, plan), before);
    assert_eq!(told(&site), (false, false), "it cannot be told");
    assert_eq!(replan(&site, &[])["existing"], true);
    assert_eq!(ask(&site, plan), before);
    assert_eq!(ask(&site, "SELECT count(*) FROM revisions"), "1\n");
}
