//! One index of a repository, and several who look at parts of it: nobody takes a part for all.

use std::fs;

use crate::support::site::{Site, wait_until};
use crate::sync::watch::Watch;

/// A repository `r` of git, and a workspace `part` that has its folder `src` alone.
fn site() -> Site {
    let site = Site::new();
    for path in ["src/a.rs", "src/deep/b.rs", "docs/c.md", "docs/d.md", "top.txt"] {
        let text: String = (1..=60).map(|n| format!("{path} has a line {n}\n")).collect();
        site.write(format!("r/{path}"), text);
    }
    site.sh("git init -q r && git -C r add -A && git -C r -c user.name=a -c user.email=a@b commit -qm a")
        .expect_code(0);
    site.ok(&["workspace", "init", "part", "--root", "part"]);
    site.ok(&["workspace", "add", "r", "-W", "part", "--only", "src"]);
    site
}

/// The paths of files of text that the index has.
fn indexed(site: &Site) -> String {
    site.sh(
        "auwai-ledger files --repo r --fate text | jq -r 'select(.type == \"file\").path' | sort",
    )
    .expect_code(0)
    .text()
    .to_string()
}

fn by_git(site: &Site) -> String {
    site.sh("git -C r ls-files -co --exclude-standard -x .auwai | sort").text().to_string()
}

#[test]
fn what_is_indexed_in_part_is_not_all_of_it() {
    let site = site();
    site.ok(&["plan", "-W", "part"]);
    for ask in ["chunks --repo r", "files --repo r", "verify --repo r --no-scan", "status --repo r"]
    {
        let told = site.sh(&format!("auwai-ledger {ask}"));
        assert!(
            told.err.contains("is indexed in another part only\nhint: "),
            "{ask}: {}",
            told.err
        );
        assert_eq!(told.code(), 3, "{ask}");
    }
    site.ok(&["index", "--repo", "r"]);
    assert_eq!(indexed(&site), by_git(&site));
    // A part of what is known is known.
    site.sh("auwai-ledger chunks -W part | tail -1").expect_code(0);
}

#[test]
fn a_part_that_is_counted_anew_does_not_empty_what_a_watcher_keeps() {
    let site = site();
    let _whole = Watch::start(&site, &[]);
    site.ok(&["watch", "--repo", "r", "--sync"]);
    assert_eq!(indexed(&site), by_git(&site));
    site.ok(&["plan", "-W", "part", "--tokenizer", "bytes/4"]);
    site.write("r/docs/c.md", "changed\n");
    site.ok(&["watch", "--repo", "r", "--sync"]);
    assert_eq!(indexed(&site), by_git(&site));
    // Nor where nothing else happens.
    site.ok(&["plan", "-W", "part", "--tokenizer", "cl100k_base", "--force"]);
    site.ok(&["watch", "--repo", "r", "--sync"]);
    assert_eq!(indexed(&site), by_git(&site));
}

#[test]
fn who_keeps_a_part_does_not_answer_for_all() {
    let site = site();
    let mut bounded = site.start(&["watch", "-W", "part"]);
    wait_until("the watcher", || site.run(&["watch", "-W", "part", "--sync"]).code() == 0);
    site.write("r/docs/new.md", "new\n");
    let told = site.run(&["watch", "--repo", "r", "--sync"]).expect_code(3);
    assert!(told.err.contains("keeps it within src alone"), "{}", told.err);
    assert!(told.err.contains("\nhint: bring it up to date: `auwai index --repo "), "{}", told.err);
    let told = site.run(&["watch", "--repo", "r", "--max-seconds", "5"]).expect_code(3);
    assert!(
        told.err.contains(" within src since ") && told.err.contains("hint: stop it"),
        "{}",
        told.err
    );
    let told = site.ok(&["status", "-W", "part"]);
    assert!(told.contains("r is watched within src since "), "{told}");
    bounded.kill().unwrap();
    bounded.wait().unwrap();
}

#[test]
fn a_folder_that_has_another_name_is_not_read_to_its_end() {
    let site = site();
    site.ok(&["run", "-W", "part", "--", "wc"]);
    site.ok(&["verify", "-W", "part"]);
    fs::rename(site.work("r/src"), site.work("r/source")).unwrap();
    for verb in ["verify", "replan", "index"] {
        let told = site.run(&[verb, "-W", "part"]).expect_code(3);
        assert!(
            told.err
                .contains("is bounded to 'src', which is no folder that is read any more\nhint: "),
            "{}",
            told.err
        );
        assert!(told.err.contains(" --as r --only DIR"), "{}", told.err);
    }
    site.ok(&["workspace", "add", "r", "-W", "part", "--only", "source"]);
    let told = site.ok(&["replan", "-W", "part"]);
    assert!(told.contains("reads kept"), "{told}");
    site.ok(&["verify", "-W", "part"]);
}

#[test]
fn git_is_clean_or_not_for_each_part() {
    let site = site();
    site.write("r/docs/c.md", "changed\n");
    site.ok(&["index", "--repo", "r"]);
    let dirty = |of: &str| {
        let told =
            site.sh(&format!("auwai-ledger chunks {of} | jq -c 'select(.type == \"repo\").dirty'"));
        told.expect_code(0).text().trim().to_string()
    };
    assert_eq!(dirty("--repo r"), "true");
    site.ok(&["index", "-W", "part"]);
    assert_eq!((dirty("--repo r").as_str(), dirty("-W part").as_str()), ("true", "false"));
    site.write("r/src/a.rs", "changed\n");
    site.ok(&["index", "-W", "part"]);
    assert_eq!(dirty("-W part"), "true");
}

#[test]
fn what_changes_elsewhere_does_not_outdate_a_plan() {
    let site = site();
    site.ok(&["index", "--repo", "r"]);
    site.ok(&["plan", "-W", "part"]);
    site.write("r/docs/c.md", "changed\n");
    site.ok(&["index", "--repo", "r"]);
    let told = site.run(&["next", "-W", "part"]).expect_code(0);
    assert!(!told.err.contains("has changed"), "{}", told.err);
    site.write("r/src/a.rs", "changed\n");
    site.ok(&["index", "--repo", "r"]);
    let told = site.run(&["next", "-W", "part"]).expect_code(0);
    assert!(told.err.contains("the tree has changed since the plan"), "{}", told.err);
}

#[test]
fn what_is_counted_anew_and_cut_off_is_not_taken_for_counted() {
    let site = site();
    site.ok(&["index", "--repo", "r"]);
    // As a scan leaves it that is killed before its first transaction.
    site.ask("r/.auwai/ledger.sqlite", "UPDATE meta SET value = '1' WHERE key = 'anew'");
    let told = site.sh("auwai-ledger chunks --repo r").expect_code(3);
    assert!(told.err.contains("is not yet indexed anew to its end\nhint: "), "{}", told.err);
    site.ok(&["index", "--repo", "r"]);
    site.sh("auwai-ledger chunks --repo r").expect_code(0);
}

#[test]
fn a_workspace_without_repositories_is_not_read() {
    let site = Site::new();
    site.ok(&["workspace", "init", "empty", "--root", "empty"]);
    let told = site.sh("auwai-ledger verify -W empty").expect_code(3);
    assert!(told.err.contains("has no repositories\nhint: add one"), "{}", told.err);
}

#[test]
fn a_folder_that_is_not_walked_into_any_more_is_not_read_to_its_end() {
    for change in ["mv r/src r/old && ln -s old r/src", "rm -r r/src && echo text > r/src"] {
        let site = site();
        site.ok(&["run", "-W", "part", "--", "wc"]);
        site.sh(change).expect_code(0);
        let told = site.run(&["verify", "-W", "part"]).expect_code(3);
        assert!(told.err.contains("is no folder that is read any more"), "{change}: {}", told.err);
    }
}

#[test]
fn other_bounds_leave_the_state_where_it_is() {
    let site = site();
    site.ok(&["workspace", "init", "kept", "--root", "kept"]);
    site.ok(&["workspace", "add", "r", "-W", "kept", "--state-dir", "elsewhere"]);
    site.ok(&["plan", "-W", "kept"]);
    site.ok(&["workspace", "add", "r", "-W", "kept", "--only", "docs"]);
    site.ok(&["replan", "-W", "kept"]);
    assert!(!site.work("r/.auwai").exists());
    let told = fs::read_to_string(site.work("kept/.auwai/workspace/workspace.json")).unwrap();
    assert!(told.contains("\"state_dir\"") && told.contains("\"docs\""), "{told}");
}
