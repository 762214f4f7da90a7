//! Repositories inside repositories: submodules, work trees, members inside members. A walk stops where
//! git's stops, and what is nobody's is named.

use std::collections::BTreeSet;

use crate::support::site::Site;

/// A repository `out` with a submodule `mod`, a work tree `wt` and a nested repository `nested`, alone in
/// the workspace `demo`.
fn site() -> Site {
    let site = Site::new();
    let script = r#"
        git config --global user.email a@example.org; git config --global user.name n
        git config --global protocol.file.allow always
        new() { git init -q -b main $1; echo "$1" > $1/$2; git -C $1 add -A; git -C $1 commit -qm x; }
        new sub sub.txt; new out out.txt
        git -C out submodule --quiet add ../sub mod; git -C out commit -qm sub
        git -C out worktree add -q wt -b other
        new out/nested nested.txt
    "#;
    site.sh(script).expect_code(0);
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "out"]);
    site
}

/// The files of the plan.
fn planned(site: &Site) -> BTreeSet<String> {
    let told = site.sh(
        "auwai-ledger segments -W demo | jq -r 'select(.type == \"segment\") | .files[] | .repo + \":\" + .path'",
    );
    told.expect_code(0).text().lines().map(str::to_string).collect()
}

/// The regular files that git lists in a repository, as those of a member.
fn by_git(site: &Site, member: &str, folder: &str) -> BTreeSet<String> {
    let listed = format!(
        "cd {folder} && git ls-files -co --exclude-standard | while read -r f; do test -f \"$f\" && echo \"{member}:$f\"; done; :"
    );
    let listed = site.sh(&listed).expect_code(0).text().to_string();
    listed.lines().filter(|path| !path.contains("/.auwai/")).map(str::to_string).collect()
}

fn named(told: &str) -> Vec<&str> {
    let lines = told.lines().filter_map(|line| line.strip_prefix("not read: "));
    lines.map(|line| line.split(' ').next().unwrap()).collect()
}

#[test]
fn what_is_nobodys_is_named_until_a_member_is_it() {
    let site = site();
    site.ok(&["run", "--", "wc"]);
    assert_eq!(planned(&site), by_git(&site, "out", "out"));
    for told in [site.ok(&["verify"]), site.ok(&["workspace", "survey"])] {
        assert_eq!(named(&told), ["out:mod", "out:nested", "out:wt"]);
        let add = format!("(auwai workspace add {})", site.work("out/nested").display());
        assert!(told.contains(&add), "{told}");
    }
    for inner in ["mod", "wt", "nested"] {
        site.ok(&["workspace", "add", &format!("out/{inner}")]);
    }
    let unread = site.run(&["verify"]).expect_code(1);
    // The submodule of the work tree is not checked out, and is nobody's.
    assert_eq!(named(unread.text()), ["wt:mod"]);
    site.ok(&["run", "--", "wc"]);
    let mut expected = by_git(&site, "out", "out");
    for inner in ["mod", "wt", "nested"] {
        expected.extend(by_git(&site, inner, &format!("out/{inner}")));
    }
    assert_eq!(planned(&site), expected);
    assert_eq!(named(&site.ok(&["verify"])), ["wt:mod"]);
    // Taken out again, it is nobody's again; taken in once more, it is read.
    site.ok(&["workspace", "remove", "nested"]);
    assert_eq!(named(&site.ok(&["verify"])), ["out:nested", "wt:mod"]);
    site.ok(&["replan"]);
    site.ok(&["workspace", "add", "out/nested"]);
    let told = site.ok(&["replan"]);
    assert!(told.contains("1 read kept"), "{told}");
    site.ok(&["verify"]);
}

#[test]
fn a_repository_alone_names_what_is_nobodys_without_a_workspace() {
    let site = site();
    let told = site.run(&["-W", "out", "verify"]).expect_code(1);
    assert_eq!(named(told.text()), ["out:mod", "out:nested", "out:wt"]);
    assert!(!told.text().contains("auwai workspace add"), "{}", told.text());
}

#[test]
fn an_inner_member_is_where_the_walk_of_the_outer_one_stops() {
    let site = Site::new();
    site.write("plain/a.txt", "a\n");
    site.write("plain/inner/b.txt", "b\n");
    site.write("plain/out/c.txt", "c\n");
    site.write("plain/.auwai-ignore", "out/\n");
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "plain"]);
    // The outer one has no git, and goes into all that is no repository.
    let told = site.run(&["workspace", "add", "plain/inner"]).expect_code(3);
    assert!(told.err.contains("'plain' has its files already"), "{}", told.err);
    // Not into what it ignores, nor into a repository.
    site.ok(&["workspace", "add", "plain/out"]);
    site.sh("git init -q plain/inner").expect_code(0);
    site.ok(&["workspace", "add", "plain/inner"]);
    site.ok(&["run", "--", "wc"]);
    let expected = ["inner:b.txt", "out:c.txt", "plain:.auwai-ignore", "plain:a.txt"];
    assert_eq!(planned(&site), expected.map(String::from).into());
    assert!(named(&site.ok(&["verify"])).is_empty());
    // In git, a folder that has tracked files is gone into, whatever is in it.
    site.write("git/inner/b.txt", "b\n");
    site.sh("git init -q git && git -C git add -A && git init -q git/inner").expect_code(0);
    site.ok(&["workspace", "add", "git"]);
    assert!(by_git(&site, "git", "git").contains("git:inner/b.txt"));
    site.run(&["workspace", "add", "git/inner", "--as", "twice"]).expect_code(3);
}
