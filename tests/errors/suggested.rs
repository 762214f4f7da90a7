//! Commands that are suggested are commands: they can be typed as they stand, act on the same full
//! read as the one that suggests them, and as the same reader.

use snapbox::{assert_data_eq, str};

use super::{planned, told};
use crate::support::site::{Site, wait_until};

/// A small workspace `demo` with all of it read, and the findings given.
fn finished() -> Site {
    let site = Site::new();
    site.write("r/a.rs", "let x = 1;\n");
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "r"]);
    site.ok(&["plan"]);
    for step in [&["next"][..], &["read"], &["done", "-m", "all well"], &["next"], &["done"]] {
        site.ok(step);
    }
    site
}

#[test]
fn the_reader_and_the_workspace_are_repeated() {
    let site = planned();
    let told = |args: &[&str]| told(&site, &site.run(args));
    assert_data_eq!(
        told(&["-W", "demo", "read", "--reader", "ann"]),
        str![[r#"
exit 1
auwai: reader 'ann' has no active segment
hint: begin with `auwai next -W demo --reader ann`

"#]]
    );
    assert_data_eq!(
        told(&["-W", "demo", "read", "--segment", "read-99"]),
        str![[r#"
exit 3
auwai: the plan has no segment 'read-99'
hint: see those that are not done: `auwai status -W demo`

"#]]
    );
    assert_data_eq!(
        told(&["-W", "demo", "done", "--segment", "1"]),
        str![[r#"
exit 3
auwai: the plan has no segment '1'
hint: give its name: `auwai done --segment read-1 -W demo`

"#]]
    );
    site.ok(&["next", "--reader", "bob"]);
    let read = site.ok(&["read", "--reader", "bob", "-W", "demo"]);
    let last = read.lines().next_back().unwrap();
    assert!(last.ends_with("auwai done --segment read-2 -W demo --reader bob"), "{last}");
    let done = site.ok(&["done", "--reader", "bob"]);
    assert!(done.ends_with("go on: auwai next --reader bob\n"), "{done}");
    let refused = told(&["done", "--reader", "ann", "-m", "x"]);
    assert!(refused.contains("`auwai next --reader ann`"), "{refused}");
}

#[test]
fn a_row_of_another_reader_names_the_reader() {
    let site = planned();
    site.ok(&["next", "--reader", "bob"]);
    let rows = site.run(&["verify"]).expect_code(1);
    assert!(rows.text().contains("(auwai read --segment read-1)"), "{}", rows.text());
    assert!(rows.text().contains("(auwai read --segment read-2 --reader bob)"), "{}", rows.text());
}

#[test]
fn a_run_that_failed_goes_on_without_force() {
    let site = planned();
    let run = ["run", "--force", "-j", "2", "-W", "demo", "--", "sh", "-c", "exit 3"];
    assert_data_eq!(
        told(&site, &site.run(&run)).replace(" read-2 ", " read-1 "),
        str![[r#"
exit 3
auwai: 'sh' failed on read-1 (exit status: 3)
hint: what was done stands; go on with `auwai run -W demo --jobs 2 -- sh -c 'exit 3'`
hint: exit status 125 leaves a segment and goes on

"#]]
    );
}

#[test]
fn what_a_new_plan_costs_is_said() {
    let site = planned();
    site.ok(&["read"]);
    assert_data_eq!(
        told(&site, &site.run(&["plan", "--force"])),
        str![[r#"
exit 0
auwai: 3 chunks that were read do not count any more

"#]]
    );
    // Nothing is lost where nothing was read.
    assert_eq!(site.run(&["plan", "--force"]).err, "");
    site.write("r/a.rs", "all is new\n");
    let verify = site.run(&["verify"]);
    assert_data_eq!(
        told(&site, &verify),
        str![[r#"
exit 1
auwai: 5 parts are unread
hint: go on with `auwai replan`

"#]]
    );
}

#[test]
fn what_follows_a_finished_plan() {
    let site = finished();
    let plan = site.run(&["plan", "-W", "demo"]).expect_code(0);
    assert!(plan.text().ends_with("go on: auwai verify -W demo\n"), "{}", plan.text());
    assert_data_eq!(
        told(&site, &plan),
        str![[r#"
exit 0
auwai: the plan that is there is finished, and stays
hint: let it follow the tree: `auwai replan -W demo`
hint: or begin anew, with nothing read: `auwai plan --force -W demo`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["next"])),
        str![[r#"
exit 1
auwai: every segment is done
hint: prove it: `auwai verify`

"#]]
    );
    site.write("r/a.rs", "let x = 2;\n");
    site.ok(&["index", "--repo", "r"]);
    assert_data_eq!(
        told(&site, &site.run(&["next"])),
        str![[r#"
exit 1
auwai: every segment is done, and the tree has changed since the plan
hint: let the plan follow it: `auwai replan`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.run(&["done", "--segment", "read-1", "-m", "not well"])),
        str![[r#"
exit 1
auwai: segment 'read-1' is done already, with another summary
hint: read it: `less [W]/.auwai/workspace/findings.md`

"#]]
    );
}

#[test]
fn plausible_mistakes() {
    let site = planned();
    let all = [
        &["read", "read-1"][..],
        &["read", "--segment", "1"],
        &["read", "nope.txt"],
        &["read", "-0"],
        &["done", "nothing to worry about"],
        &["run", "wc", "-w"],
        &["relay"],
        &["ledger", "scan"],
        &["survey"],
        &["next", "--segment", "read-2"],
    ];
    let said: String = all.iter().map(|args| told(&site, &site.run(args))).collect();
    assert_data_eq!(
        said,
        str![[r#"
exit 3
auwai: no chunk and no file is 'read-1'
hint: a segment is named by an option: `auwai read --segment read-1`
exit 3
auwai: the plan has no segment '1'
hint: give its name: `auwai read --segment read-1`
exit 3
auwai: no chunk and no file is 'nope.txt'
hint: see what becomes of it and why: `auwai why nope.txt`
exit 2
error: unexpected argument '-0' found

Usage: auwai read [OPTIONS] [ID|PATH]...

For more information, try '--help'.
exit 2
error: unexpected argument 'nothing to worry about' found

Usage: auwai done [OPTIONS]

For more information, try '--help'.
hint: say what was found with -m: `auwai done -m 'nothing to worry about'`
exit 2
error: unexpected argument 'wc' found

Usage: auwai run [OPTIONS] -- <COMMAND>...

For more information, try '--help'.
hint: `auwai run -- wc -w`
exit 2
error: unrecognized subcommand 'relay'

Usage: auwai [OPTIONS] <COMMAND>

For more information, try '--help'.
hint: that is a program of its own, `auwai-relay`: see `auwai help auwai-relay`
exit 2
error: unrecognized subcommand 'ledger'

Usage: auwai [OPTIONS] <COMMAND>

For more information, try '--help'.
hint: that is a program of its own, `auwai-ledger`: see `auwai help auwai-ledger`
exit 2
error: unrecognized subcommand 'survey'

Usage: auwai [OPTIONS] <COMMAND>

For more information, try '--help'.
hint: that is `auwai workspace survey`
exit 2
error: unexpected argument '--segment' found

Usage: auwai next [OPTIONS]

For more information, try '--help'.
hint: a segment of your choice: `auwai read --segment read-2`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.sh("auwai-ledger scan")),
        str![[r#"
exit 2
auwai-ledger: which repository?
hint: name one: `auwai-ledger scan --repo .`

"#]]
    );
    assert_data_eq!(
        told(&site, &site.sh("auwai-ledger show abc")),
        str![[r#"
exit 2
auwai-ledger: name repositories with --repo, or a workspace with --workspace
hint: such as `auwai-ledger show --workspace .`

"#]]
    );
    let record = site.run(&["survey", "--json"]);
    assert!(record.text().contains("that is `auwai workspace survey --json`"), "{}", record.text());
}

#[test]
fn a_folder_is_explained_by_what_is_below_it() {
    let site = planned();
    site.write("r/src/b.rs", "x\n");
    site.write("r/src/c", [b'a', 0]);
    site.write("r/srcs", "x\n");
    site.ok(&["index", "--repo", "r"]);
    assert_eq!(
        site.ok(&["why", "r/src", "r/srcs"]),
        "src: a folder (below it 1 text, 1 binary)\nsrcs: text (utf-8, 1 line, 3 tokens, 1 chunk)\n"
    );
    assert_eq!(
        site.ok(&["-C", "r", "why", "."]),
        ".: a folder (below it 3 text, 1 binary, 1 ignored)\n"
    );
    assert_eq!(site.ok(&["why", "--json", "r/src"]).lines().count(), 2);
    site.write("s/d", "x\n");
    site.ok(&["workspace", "add", "s"]);
    site.ok(&["index", "--repo", "s"]);
    assert!(site.ok(&["why", "s:d"]).starts_with("s:d: text"));
    assert!(site.ok(&["why", "r/src"]).starts_with("r:src: a folder"));
}

#[test]
fn status_names_the_segments_that_are_not_done() {
    let site = Site::new();
    for n in 0..40 {
        let lines = (1..=60).map(|line| format!("let x_{n} = {line};\n"));
        site.write(format!("r/f{n}"), lines.collect::<String>());
    }
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "r"]);
    site.ok(&["plan", "--context-window", "14k"]);
    site.ok(&["next", "--reader", "bob"]);
    let status = site.ok(&["status"]);
    assert!(status.contains("\nreader bob has read-1 since "), "{status}");
    let pending = status.lines().find(|line| line.starts_with("nobody has ")).unwrap();
    assert!(pending.starts_with("nobody has read-2, read-3, "), "{pending}");
    assert_eq!(pending.split(", ").count(), 10, "{pending}");
    assert!(pending.contains(" and ") && pending.ends_with(" more"), "{pending}");
    // The last to be done is the synthesis.
    let small = finished();
    small.ok(&["plan", "--force"]);
    assert!(small.ok(&["status"]).contains("\nnobody has read-1, synthesis-1\n"));
}

#[test]
fn a_segment_of_another_reader_may_be_read() {
    let site = planned();
    site.ok(&["next", "--reader", "bob"]);
    let read = site.run(&["read", "--segment", "read-2"]).expect_code(0);
    assert_eq!(read.err, "auwai-ledger: reader bob has read-2; what is read of it counts\n");
    assert_eq!(site.run(&["read", "--segment", "read-1"]).err, "");
}

#[test]
fn a_repository_that_the_plan_has_is_removed() {
    let site = planned();
    assert_data_eq!(
        told(&site, &site.run(&["workspace", "remove", "r", "-W", "demo"])),
        str![[r#"
exit 0
auwai: the plan still has 4 chunks of 'r'
hint: plan without it: `auwai replan -W demo`
hint: or take it in again: `auwai workspace add [W]/r --as r -W demo`

"#]]
    );
    site.ok(&["workspace", "add", "r"]);
    site.ok(&["plan", "--force"]);
}

#[test]
fn a_run_that_is_refused_for_another_window_says_how_to_go_on() {
    let site = planned();
    let run = ["run", "--context-window", "20k", "--", "wc", "-w"];
    assert_data_eq!(
        told(&site, &site.run(&run)),
        str![[r#"
exit 1
auwai: there is a plan under another policy, with 3 segments not done
hint: go on with it: `auwai run -- wc -w`; or divide anew what is unread: `auwai replan --context-window 20000`; or begin anew, with nothing read: `auwai plan --force --context-window 20000`

"#]]
    );
}

#[test]
fn half_empty_segments_are_told_with_the_prompt_that_fills_them() {
    let site = Site::new();
    for n in 0..900 {
        site.write(format!("d/a-file-of-a-long-name-{n}"), format!("{n}\n").repeat(70));
    }
    let plan = site.run(&["plan"]).expect_code(0);
    assert!(plan.err.contains("% full: their lists of chunks fill the prompt\n"), "{}", plan.err);
    let survey = site.run(&["workspace", "survey"]).expect_code(0);
    assert_eq!(survey.err, plan.err);
    let command = plan.err.split('`').nth(1).unwrap();
    let again = site.sh(command).expect_code(0);
    assert!(!again.err.contains("% full"), "{command}: {}", again.err);
}

#[test]
fn the_first_index_says_indexed() {
    let site = Site::new();
    site.write("a", "x\n");
    assert_eq!(site.ok(&["index"]), "w: 2 paths indexed; 1 chunk added, 0 removed\n");
    site.write("b", "x\n");
    assert_eq!(site.ok(&["index"]), "w: 1 path changed; 1 chunk added, 0 removed\n");
}

/// The folder of the workspace was taken for a repository of its own, in silence.
#[test]
fn the_root_of_a_workspace_stands_for_its_members() {
    let site = Site::new();
    for name in ["core", "lib", "app", "web"] {
        site.write(format!("{name}/a.txt"), "one\n");
    }
    site.ok(&["workspace", "init", "demo"]);
    let told = site.run(&["index"]).expect_code(3);
    assert!(told.err.contains("hint: add one: `auwai workspace add PATH -W demo`"), "{}", told.err);
    site.ok(&["workspace", "add", "core"]);
    assert!(site.ok(&["watch", "--once"]).starts_with("core: "));
    for name in ["lib", "app", "web"] {
        site.ok(&["workspace", "add", name]);
    }
    let told = site.ok(&["index"]);
    let names: Vec<&str> = told.lines().filter_map(|line| line.split(':').next()).collect();
    assert_eq!(names, ["app", "core", "lib", "web"]);
    assert_data_eq!(
        super::told(&site, &site.run(&["watch"])),
        str![[r#"
exit 2
auwai: one process watches one repository, and these are 4
hint: name one: `auwai watch --repo app=[W]/app`
hint: name one: `auwai watch --repo core=[W]/core`
hint: name one: `auwai watch --repo lib=[W]/lib`

"#]]
    );
    let told = site.run(&["watch", "--sync"]).expect_code(2);
    assert!(told.err.contains("`auwai watch --sync --repo app="), "{}", told.err);
    assert!(!site.work(".auwai/ledger.sqlite").exists());
    // Who names it means it, and a repository of git's is one.
    let told = site.ok(&["index", "--repo", "."]);
    assert!(told.starts_with("w: "), "{told}");
    site.sh("rm .auwai/ledger.sqlite; git init -q .").expect_code(0);
    assert!(site.ok(&["index"]).starts_with("w: "));
}

#[test]
fn a_backend_that_is_not_there_is_told_in_the_words_of_who_typed() {
    let site = Site::new();
    site.write("r/a.txt", "one\n");
    assert_data_eq!(
        super::told(&site, &site.run(&["watch", "--repo", "r", "--backend", "fsevents"])),
        str![[r#"
exit 3
auwai: the backend 'fsevents' is not available on this system
hint: let it be chosen: `auwai watch --backend auto`

"#]]
    );
}

#[test]
fn a_run_that_is_interrupted_says_how_far_it_came() {
    use rustix::process::{Pid, Signal, kill_process};
    let site = planned();
    site.ok(&["plan", "--force"]);
    let run =
        site.start(&["run", "-W", "demo", "--", "sh", "-c", "cat >in; touch begun; exec sleep 60"]);
    wait_until("the command", || site.work("begun").exists());
    kill_process(Pid::from_child(&run), Signal::INT).unwrap();
    let ended = run.wait_with_output().unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&ended.status), Some(2));
    let said = String::from_utf8(ended.stderr).unwrap();
    let hint = "go on with `auwai run -W demo -- sh -c 'cat >in; touch begun; exec sleep 60'`";
    assert!(said.contains("auwai: stopped with 0 of 3 segments done\n"), "{said}");
    assert!(said.contains(&format!("hint: {hint}\n")), "{said}");
}

#[test]
fn a_policy_that_does_not_fit_is_suggested_to_what_was_typed() {
    let site = planned();
    let hint = |args: &[&str]| {
        let told = site.run(args).expect_code(3);
        let hint = told.err.lines().find_map(|line| line.strip_prefix("hint: ")).unwrap();
        let command = hint.split('`').nth(1).unwrap().to_string();
        let (first, rest) = command.split_once("--context-window ").unwrap();
        format!("{first}--context-window N {}", rest.split_once(' ').unwrap().1)
    };
    let small = ["--context-window", "10k", "--page", "3000"];
    for (args, suggested) in [
        (&["plan", "--force"][..], "auwai plan --force --context-window N --page 3000 -C r"),
        (&["replan"], "auwai replan --context-window N --page 3000 -C r"),
        (&["workspace", "survey"], "auwai workspace survey --context-window N --page 3000 -C r"),
    ] {
        assert_eq!(hint(&[&["-C", "r"], args, &small].concat()), suggested);
    }
    let run = [&["run", "--force", "-C", "r"], &small[..], &["-j", "2", "--", "wc", "-w"]].concat();
    let suggested = "auwai run --force --context-window N --page 3000 --jobs 2 -C r -- wc -w";
    assert_eq!(hint(&run), suggested);
    // And it works as it stands.
    site.sh(&format!("set -e; {}", suggested.replace(" N ", " 40k "))).expect_code(0);
    let told = site.run(&["-C", "r", "status"]);
    assert!(!told.text().contains("auwai plan"), "{}", told.text());
    let next = site.run(&["-C", "r", "next"]);
    assert!(next.err.contains("`auwai verify -C r`"), "{}", next.err);
}

#[test]
fn a_stream_that_was_cut_off_suggests_what_there_is() {
    let site = planned();
    let cut = "auwai-ledger chunks --workspace . --hashes | head -n 2 |";
    for (consumer, partial) in [("auwai-plan", true), ("auwai-ledger replan", false)] {
        let told = site.sh(&format!("{cut} {consumer} > /dev/null"));
        assert!(told.err.contains("run the pipeline again"), "{consumer}: {}", told.err);
        assert_eq!(told.err.contains("--partial"), partial, "{consumer}: {}", told.err);
    }
}
