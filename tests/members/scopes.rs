//! `workspace add --only`: what is bounded, and what stands when the bounds change. Git says what lies in
//! a folder.

use std::collections::BTreeSet;
use std::fs;

use crate::support::site::{Site, wait_until};
use crate::sync::watch::Watch;

/// Two repositories of git with folders to choose from, and a workspace `demo` of both.
fn site(core: &[&str], lib: &[&str]) -> Site {
    let site = Site::new();
    for path in ["src/a.rs", "src/deep/b.rs", "docs/c.md", "docs-old/d.md", "top.txt"] {
        site.write(format!("core/{path}"), text(path));
        site.write(format!("lib/{path}"), text(&format!("lib {path}")));
    }
    site.write("core/.gitignore", "*.log\n");
    site.write("core/src/noise.log", "noise\n");
    site.sh("for r in core lib; do git init -q $r && git -C $r add -A; done").expect_code(0);
    site.write("core/src/untracked.rs", text("untracked"));
    site.ok(&["workspace", "init", "demo"]);
    bound(&site, "core", core);
    bound(&site, "lib", lib);
    site
}

fn text(name: &str) -> String {
    (1..=120).map(|n| format!("{name} has a line {n}\n")).collect()
}

fn bound(site: &Site, repo: &str, only: &[&str]) {
    let only = only.iter().flat_map(|dir| ["--only", dir]);
    site.ok(&["workspace", "add", repo].into_iter().chain(only).collect::<Vec<_>>());
}

/// What git has in these folders; in all of the repository where there are none.
fn by_git(site: &Site, repo: &str, only: &[&str]) -> BTreeSet<String> {
    let folders = only.join(" ");
    let listed = site.sh(&format!("git -C {repo} ls-files -co --exclude-standard -- {folders}"));
    let names = listed.expect_code(0).text().to_string();
    names
        .lines()
        .map(|path| format!("{repo}:{path}"))
        .filter(|path| !path.contains(".auwai/"))
        .collect()
}

/// The files whose chunks a stream of records has.
fn files(site: &Site, command: &str) -> BTreeSet<String> {
    let told =
        site.sh(&format!("{command} | jq -r 'select(.type == \"chunk\") | .repo + \":\" + .path'"));
    told.expect_code(0).text().lines().map(str::to_string).collect()
}

fn both(site: &Site, core: &[&str], lib: &[&str]) -> BTreeSet<String> {
    by_git(site, "core", core).into_iter().chain(by_git(site, "lib", lib)).collect()
}

/// What the plan has.
fn planned(site: &Site) -> BTreeSet<String> {
    let told = site.sh(
        "auwai-ledger segments -W demo | jq -r 'select(.type == \"segment\") | .files[] | .repo + \":\" + .path'",
    );
    told.expect_code(0).text().lines().map(str::to_string).collect()
}

fn read_all(site: &Site) {
    while site.run(&["next"]).code() == 0 {
        // The synthesis has no text.
        site.sh("auwai read > shown.txt || test $(wc -c < shown.txt) = 0");
        site.ok(&["done"]);
    }
}

#[test]
fn a_plan_has_what_git_has_in_the_folders() {
    let (core, lib) = (["docs/", "src/deep"], ["src"]);
    let site = site(&core, &lib);
    site.ok(&["plan"]);
    let expected = both(&site, &core, &lib);
    assert_eq!(planned(&site), expected);
    assert_eq!(files(&site, "auwai-ledger chunks -W demo"), expected);
    read_all(&site);
    let verified = site.ok(&["verify"]);
    assert!(verified.contains("bounded to core/docs, core/src/deep, lib/src\n"), "{verified}");
    assert!(verified.contains(&format!("paths: {} text\n", expected.len())), "{verified}");
    // Outside is none of its business, and inside is.
    site.write("core/top.txt", "changed\n");
    site.write("core/docs-old/d.md", "changed\n");
    site.ok(&["verify"]);
    site.write("core/docs/new.md", "new\n");
    assert!(site.run(&["verify"]).expect_code(1).text().starts_with("core:docs/new.md:1"));
}

#[test]
fn bounds_that_change_leave_what_was_read() {
    let site = site(&["src"], &["src"]);
    site.ok(&["plan"]);
    read_all(&site);
    site.ok(&["verify"]);
    // Wider.
    bound(&site, "core", &["src", "docs"]);
    for verb in ["plan", "status"] {
        let told = site.run(&[verb]).expect_code(0);
        let all = format!("{}{}", told.text(), told.err);
        assert!(all.contains("bounded to other folders") && all.contains("auwai replan"), "{all}");
    }
    let unread = site.run(&["verify"]).expect_code(1);
    assert!(unread.text().starts_with("core:docs/c.md:1-120: in no plan"), "{}", unread.text());
    site.ok(&["replan"]);
    assert_eq!(planned(&site), both(&site, &["src", "docs"], &["src"]));
    read_all(&site);
    site.ok(&["verify"]);
    // Narrower: what is outside is not asked for any more.
    let told = site.run(&["workspace", "add", "core", "--only", "docs"]);
    assert!(told.err.contains("hint: let it follow: `auwai replan`"), "{}", told.err);
    site.write("core/src/a.rs", "changed\n");
    site.ok(&["verify"]);
    let told = site.ok(&["replan"]);
    assert!(told.contains("chunks gone; now"), "{told}");
    assert_eq!(planned(&site), both(&site, &["docs"], &["src"]));
    // All of it: the reads that left come back, but for the file that has changed.
    bound(&site, "core", &[]);
    let told = site.ok(&["replan"]);
    assert!(told.contains("reads kept"), "{told}");
    assert_eq!(planned(&site), both(&site, &[], &["src"]));
    let unread = site.sh("auwai verify | sed -n 's/:[0-9].*//p' | sort -u").text().to_string();
    let unread: BTreeSet<String> = unread.lines().map(str::to_string).collect();
    let mut new = by_git(&site, "core", &[]);
    new.retain(|path| {
        !["core:src/deep/", "core:src/untracked", "core:docs/"]
            .iter()
            .any(|it| path.starts_with(it))
    });
    assert_eq!(unread, new);
}

#[test]
fn a_repository_alone_and_a_bounded_member_do_not_disturb_each_other() {
    let site = site(&["docs"], &["src"]);
    site.ok(&["plan"]);
    site.ok(&["index", "--repo", "core"]);
    let whole = by_git(&site, "core", &[]);
    assert_eq!(files(&site, "auwai-ledger chunks --repo core"), whole);
    assert_eq!(files(&site, "auwai-ledger chunks -W demo"), both(&site, &["docs"], &["src"]));
    // The repository alone is read to its end, by a full read of its own and by its own ledger.
    site.ok(&["run", "-W", "core", "--", "wc"]);
    let mark = "auwai-ledger chunks --repo core | jq -c 'select(.type == \"chunk\") | {v:1,type:\"read\",repo,id}'";
    site.sh(&format!("{mark} > marks.jsonl && auwai-ledger mark --repo core < marks.jsonl"))
        .expect_code(0);
    for _ in 0..2 {
        site.run(&["verify"]).expect_code(1);
        site.ok(&["verify", "-W", "core"]);
        site.sh("auwai-ledger verify --repo core").expect_code(0);
        assert_eq!(files(&site, "auwai-ledger chunks --repo core"), whole);
    }
    read_all(&site);
    site.ok(&["verify"]);
    let fates = |of: &str| {
        let told = site.ok(&["-W", of, "status", "--json"]);
        serde_json::from_str::<serde_json::Value>(&told).unwrap()["fates"]["text"].as_u64().unwrap()
    };
    assert_eq!(fates("core"), whole.len() as u64);
    assert_eq!(fates("demo"), both(&site, &["docs"], &["src"]).len() as u64);
}

#[test]
fn two_workspaces_bound_one_repository_each_in_its_own_way() {
    let site = site(&["docs"], &["docs"]);
    site.ok(&["workspace", "init", "other", "--root", "other"]);
    site.ok(&["workspace", "add", "core", "--only", "src", "-W", "other"]);
    for workspace in ["demo", "other"] {
        site.ok(&["plan", "-W", workspace]);
    }
    std::thread::scope(|scope| {
        for workspace in ["demo", "other"] {
            let site = &site;
            scope.spawn(move || site.ok(&["run", "-W", workspace, "-j", "2", "--", "wc"]));
        }
    });
    for workspace in ["demo", "other", "demo"] {
        site.ok(&["verify", "-W", workspace]);
    }
    site.write("core/src/a.rs", "changed\n");
    site.ok(&["verify", "-W", "demo"]);
    site.run(&["verify", "-W", "other"]).expect_code(1);
}

#[test]
fn a_watcher_of_a_repository_keeps_all_of_it_and_one_of_a_workspace_what_counts() {
    let site = site(&["docs"], &["src"]);
    site.ok(&["workspace", "remove", "lib"]);
    fs::rename(site.work("core"), site.work("r")).unwrap();
    site.ok(&["workspace", "add", "r", "--as", "core", "--only", "docs"]);
    let indexed = |of: &str| files(&site, &format!("auwai-ledger chunks {of}"));
    {
        let mut bounded = site.start(&["watch", "-W", "demo"]);
        wait_until("the index", || indexed_if_any(&site) == 1);
        site.write("r/src/new.rs", "new\n");
        site.write("r/docs/new.md", "new\n");
        site.ok(&["watch", "-W", "demo", "--sync"]);
        let docs = ["core:docs/c.md", "core:docs/new.md"].map(String::from).into();
        assert_eq!(indexed("-W demo"), docs);
        bounded.kill().unwrap();
        bounded.wait().unwrap();
    }
    let _whole = Watch::start(&site, &[]);
    site.write("r/src/newer.rs", "new\n");
    site.ok(&["watch", "--repo", "r", "--sync"]);
    let all: BTreeSet<String> =
        by_git(&site, "r", &[]).iter().map(|path| path.replacen("r:", "core:", 1)).collect();
    assert_eq!(indexed("--repo core=r"), all);
}

fn indexed_if_any(site: &Site) -> usize {
    files(site, "auwai-ledger chunks -W demo 2> none.txt").len()
}

#[test]
fn a_folder_that_can_hold_nothing_is_refused() {
    let site = site(&[], &[]);
    site.write("core/build/out.txt", "x\n");
    site.write("core/.gitignore", "build/\n*.log\n");
    site.sh("ln -s docs core/link; git init -q core/inner; cd core; mkdir build/kept; echo x > build/kept/f; git add -f build/kept/f").expect_code(0);
    for (only, message, hint) in [
        ("nope", "cannot open '", "`ls "),
        ("top.txt", "'top.txt' is a file", ".auwai-ignore"),
        ("src/a.rs", "'src/a.rs' is a file", "`--only src`"),
        ("../lib", "'../lib' is not inside '", "`--only src --only docs`"),
        ("link", "'link' is a symbolic link", "`--only docs`"),
        ("build", "ignored (by .gitignore:1:build/)", "`!/build/`"),
        (".git", "'.git' is ignored (by builtin)", "other folders"),
        ("inner", "'inner' is a repository of its own", "core/inner`"),
    ] {
        let told = site.run(&["workspace", "add", "core", "--only", only]);
        if only == "build" {
            // Ignored, and git has a file in it all the same.
            told.expect_code(0);
            site.sh("git -C core rm -qf build/kept/f; mkdir -p core/build").expect_code(0);
        } else {
            told.expect_code(3);
        }
        let told = site.run(&["workspace", "add", "core", "--only", only]).expect_code(3);
        assert!(told.err.contains(message) && told.err.contains(hint), "{only}: {}", told.err);
    }
}
