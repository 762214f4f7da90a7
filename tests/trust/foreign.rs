//! A repository or a workspace that brings its own state.

use std::fs;
use std::os::unix::fs::symlink;

use snapbox::{assert_data_eq, str};

use super::{READ_ALL, all_read, edit, looks, refused_by_all, workspace_all_read};
use crate::errors::told;
use crate::support::site::{Site, is_root, skipped, tell};

const LEDGERS: [&str; 2] = ["ledger.sqlite", "fullread/coverage.sqlite"];

/// Reads all of a repository once more with its state elsewhere, and finds that it had not been.
fn is_read_with_state_elsewhere(site: &Site, folder: &str) {
    let before = looks(&site.work(folder).join(".auwai"));
    let elsewhere = |verb: &str| {
        let state = site.path("elsewhere").display().to_string();
        site.run(&["-C", folder, "--state-dir", &state, verb])
    };
    elsewhere("verify").expect_code(1);
    for step in READ_ALL {
        elsewhere(step).expect_code(0);
    }
    assert_eq!(looks(&site.work(folder).join(".auwai")), before);
}

/// Takes the state away, and finds that nothing counts as read then.
fn begins_anew(site: &Site, folder: &str) {
    let _ = fs::remove_file(site.work(folder).join(".auwai"));
    let _ = fs::remove_dir_all(site.work(folder).join(".auwai"));
    site.run(&["-C", folder, "verify"]).expect_code(1);
    site.ok(&["-C", folder, "plan"]);
}

#[test]
fn a_clone_that_has_it_tracked() {
    let site = all_read();
    site.sh("cd r && git add -f .auwai && git -c user.name=a -c user.email=b commit -qm y")
        .expect_code(0);
    site.sh("git clone -q r c/r").expect_code(0);
    assert_data_eq!(
        told(&site, &site.run(&["-C", "c/r", "verify"])),
        str![[r#"
exit 3
auwai: git tracks '[W]/c/r/.auwai', so it may be another's state
hint: keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)
hint: or take it out of git: `git -C [W]/c/r rm -r -q --cached [W]/c/r/.auwai`; what a clone brought is then still to be removed
hint: or, if it is to be believed, say so each time with `--trust-state`

"#]]
    );
    refused_by_all(&site, "c/r", "state-tracked", "");
    is_read_with_state_elsewhere(&site, "c/r");
    // Whoever vouches for it believes what it says, each time.
    site.ok(&["-C", "c/r", "--trust-state", "verify"]);
    refused_by_all(&site, "c/r", "state-tracked", "");
    // Where it is the user's own, taking it out of git is enough.
    site.run(&["-C", "r", "verify"]).expect_code(3);
    site.sh("cd r && git rm -r -q --cached .auwai").expect_code(0);
    site.ok(&["-C", "r", "verify"]);
    site.sh("cd c/r && git rm -r -q --cached .auwai").expect_code(0);
    begins_anew(&site, "c/r");
}

/// What git tracks is not believed before it is there either: it would be as soon as it is.
#[test]
fn a_clone_that_has_it_tracked_and_taken_away() {
    let site = all_read();
    site.sh("cd r && git add -f .auwai && rm -rf .auwai").expect_code(0);
    let told = site.run(&["-C", "r", "plan"]).expect_code(3);
    assert!(told.err.contains("git tracks"), "{}", told.err);
    assert!(!site.work("r/.auwai").exists());
}

/// The root need not be the top of the work tree.
#[test]
fn a_folder_of_a_clone_that_has_it_tracked() {
    let site = all_read();
    site.write("r/sub/c.rs", "let z = 1;\n");
    site.ok(&["-C", "r/sub", "index", "--repo", "."]);
    site.sh("cd r && git add -f sub/.auwai").expect_code(0);
    let told = site.run(&["index", "--repo", "r/sub"]).expect_code(3);
    assert!(told.err.contains("git tracks"), "{}", told.err);
    site.ok(&["index", "--repo", "r"]);
}

#[test]
fn a_link() {
    let site = all_read();
    fs::rename(site.work("r/.auwai"), site.path("away")).unwrap();
    symlink("../../away", site.work("r/.auwai")).unwrap();
    let before = looks(&site.path("away"));
    assert_data_eq!(
        told(&site, &site.run(&["-C", "r", "verify"])),
        str![[r#"
exit 3
auwai: '[W]/r/.auwai' is a symbolic link, and no state is behind one
hint: keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)
hint: or remove the link, not what it leads to: `rm [W]/r/.auwai`

"#]]
    );
    refused_by_all(&site, "r", "state-link", "");
    refused_by_all(&site, "r", "state-link", "--trust-state");
    is_read_with_state_elsewhere(&site, "r");
    assert_eq!(looks(&site.path("away")), before);
    begins_anew(&site, "r");
    assert_eq!(looks(&site.path("away")), before);
}

#[test]
fn a_link_in_it() {
    for name in [
        "ledger.sqlite",
        "ledger.sqlite-wal",
        "ledger.sqlite-shm",
        "ledger.lock",
        "watch.lock",
        "watch-state.json",
        "fullread",
        "fullread/coverage.sqlite",
        "fullread/coverage.sqlite-wal",
        "fullread/coverage.sqlite-shm",
        "fullread/fullread.json",
        "fullread/fullread.lock",
        "fullread/findings.md",
        "fullread/run.lock",
        "workspace",
        "workspace/workspace.json",
    ] {
        let site = all_read();
        let path = site.work("r/.auwai").join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        if path.exists() {
            fs::rename(&path, site.path("away")).unwrap();
        } else {
            fs::write(site.path("away"), "mine").unwrap();
        }
        symlink(site.path("away"), &path).unwrap();
        let before = (looks(&site.work("r")), looks(&site.path("away")));
        for verb in [&["verify"][..], &["status"], &["done", "-m", "x"], &["run", "--", "true"]] {
            let told = site.run(&[&["-C", "r", "--trust-state"], verb].concat()).expect_code(3);
            let said = "is a symbolic link, and no state is behind one\n";
            assert!(told.err.contains(said), "{name}: {}", told.err);
        }
        assert_eq!((looks(&site.work("r")), looks(&site.path("away"))), before, "{name}");
    }
}

#[test]
fn a_copy() {
    let site = all_read();
    site.sh("mkdir c && cp -a r c/r").expect_code(0);
    assert_data_eq!(
        told(&site, &site.run(&["-C", "c/r", "verify"])),
        str![[r#"
exit 3
auwai: the state in '[W]/c/r/.auwai' was not made there, on this machine
hint: if it is your own, say so once with `--trust-state`: then it belongs here
hint: or keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)
hint: or begin anew, with nothing read: `rm -rf [W]/c/r/.auwai`

"#]]
    );
    refused_by_all(&site, "c/r", "state-moved", "");
    is_read_with_state_elsewhere(&site, "c/r");
    // It is said once.
    site.ok(&["-C", "c/r", "--trust-state", "verify"]);
    for verb in ["verify", "status", "index"] {
        site.ok(&["-C", "c/r", verb]);
    }
    site.sh("rm -rf c/r && tar c r | tar x -C c").expect_code(0);
    refused_by_all(&site, "c/r", "state-moved", "");
    begins_anew(&site, "c/r");
    // What only moves is what it was.
    fs::create_dir(site.work("d")).unwrap();
    fs::rename(site.work("r"), site.work("d/r")).unwrap();
    site.ok(&["-C", "d/r", "verify"]);
}

/// A copy in whose place an older one was: that it says it was made here does not help it.
#[test]
fn one_of_two_ledgers_that_was_copied() {
    for copied in LEDGERS {
        let site = all_read();
        site.write("other/c.rs", "let z = 1;\n");
        site.ok(&["-C", "other", "plan"]);
        for ledger in LEDGERS {
            site.ask(format!("r/.auwai/{ledger}"), "PRAGMA wal_checkpoint(TRUNCATE)");
            site.ask(format!("other/.auwai/{ledger}"), "PRAGMA wal_checkpoint(TRUNCATE)");
        }
        let (from, to) = (format!("r/.auwai/{copied}"), format!("other/.auwai/{copied}"));
        fs::copy(site.work(from), site.work(to)).unwrap();
        refused_by_all(&site, "other", "state-moved", "");
    }
}

/// What a log would play into a ledger is not believed either.
#[test]
fn a_ledger_that_is_all_in_its_log() {
    let site = all_read();
    let ledger = site.work("r/.auwai/fullread/coverage.sqlite");
    site.sh("cp -a r copy").expect_code(0);
    let script = "import sqlite3,sys\n\
        c = sqlite3.connect(sys.argv[1], isolation_level=None)\n\
        c.execute('PRAGMA wal_autocheckpoint=0')\n\
        c.execute('UPDATE segments SET status = status || \"\"')\n\
        c.execute('VACUUM')\n\
        open('log', 'wb').write(open(sys.argv[1] + '-wal', 'rb').read())\n";
    site.write("log.py", script);
    site.sh(&format!("python3 log.py {}", ledger.display())).expect_code(0);
    let log = fs::read(site.work("log")).unwrap();
    assert!(log.len() > 40_000, "{}", log.len());
    let copy = site.work("copy/.auwai/fullread");
    fs::write(copy.join("coverage.sqlite"), vec![0; 8192]).unwrap();
    fs::write(copy.join("coverage.sqlite-wal"), log).unwrap();
    let _ = fs::remove_file(copy.join("coverage.sqlite-shm"));
    site.ok(&["-C", "copy", "index", "--state-dir", "../s"]);
    fs::remove_file(site.work("copy/.auwai/ledger.sqlite")).unwrap();
    for verb in ["verify", "status", "next"] {
        let told = site.run(&["-C", "copy", verb]).expect_code(3);
        assert!(told.err.contains("is damaged: "), "{}", told.err);
    }
}

#[test]
fn another_machine() {
    let site = all_read();
    let ledger = "r/.auwai/ledger.sqlite";
    for machine in ["'0123'", "''"] {
        edit(&site, ledger, &format!("UPDATE stamp SET machine = {machine}"));
        refused_by_all(&site, "r", "state-moved", "");
        site.ok(&["-C", "r", "--trust-state", "status"]);
        site.ok(&["-C", "r", "verify"]);
    }
}

/// Takes out of a coverage ledger what came after the stamp.
fn undo_later_migrations(site: &Site, ledger: &str) {
    for sql in [
        "ALTER TABLE reads DROP COLUMN origin",
        "DROP INDEX reads_by_time",
        "DROP INDEX reads_waiting",
        "DROP TABLE counted_imports",
        "DROP TABLE waivers",
        "DROP TABLE unconfirmed",
        "DROP TABLE lapses",
    ] {
        edit(site, ledger, sql);
    }
    for column in ["length", "until", "boot", "boot_until"] {
        edit(site, ledger, &format!("ALTER TABLE claims DROP COLUMN {column}"));
    }
}

#[test]
fn one_that_an_older_auwai_made() {
    let site = all_read();
    for (ledger, before) in [(LEDGERS[0], 4), (LEDGERS[1], 2)] {
        let ledger = format!("r/.auwai/{ledger}");
        edit(&site, &ledger, "DROP TABLE stamp");
        if ledger.ends_with("coverage.sqlite") {
            undo_later_migrations(&site, &ledger);
        }
        edit(&site, &ledger, &format!("PRAGMA user_version = {before}"));
        refused_by_all(&site, "r", "state-moved", "");
        site.ok(&["-C", "r", "--trust-state", "status"]);
        site.ok(&["-C", "r", "verify"]);
    }
}

#[test]
fn another_users() {
    if !is_root() {
        skipped("another_users: only root can give files away");
        return;
    }
    let site = all_read();
    site.sh("chown -R 65534 r/.auwai").expect_code(0);
    assert_data_eq!(
        told(&site, &site.run(&["-C", "r", "verify"])),
        str![[r#"
exit 3
auwai: '[W]/r/.auwai' belongs to user 65534, and this is user 0: what it says has been read need not have been
hint: keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)
hint: or, if that user is to be believed, say so each time with `--trust-state`

"#]]
    );
    refused_by_all(&site, "r", "state-owner", "");
    site.ok(&["-C", "r", "--trust-state", "verify"]);
    site.run(&["-C", "r", "verify"]).expect_code(3);
    is_read_with_state_elsewhere(&site, "r");
    // As git has it: to who became root by sudo, the own files are the own.
    for (user, code) in [("65534", 0), ("65533", 3), ("", 3)] {
        let mut sudo = site.auwai(&["-C", "r", "verify"]);
        sudo.env("SUDO_UID", user);
        tell(sudo).expect_code(code);
    }
    site.sh("chown -R 0 r/.auwai && chown 65534 r/.auwai/ledger.sqlite").expect_code(0);
    site.run(&["-C", "r", "verify"]).expect_code(3);
    let log = "r/.auwai/fullread/coverage.sqlite-wal";
    assert!(site.work(log).exists());
    site.sh(&format!("chown -R 0 r/.auwai && chown 65534 {log}")).expect_code(0);
    site.run(&["-C", "r", "verify"]).expect_code(3);
    begins_anew(&site, "r");
}

/// Where anybody may make folders, such as /tmp, somebody may have made a workspace of it.
#[test]
fn a_workspace_of_another_user_above() {
    if !is_root() {
        skipped("a_workspace_of_another_user_above: only root can give files away");
        return;
    }
    let site = Site::new();
    site.write("mine/.git/HEAD", "ref: refs/heads/main\n");
    site.write("mine/a.rs", "let x = 1;\n");
    site.write("theirs/b.rs", "let y = 1;\n");
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "theirs"]);
    site.sh("chown -R 65534 .auwai").expect_code(0);
    let refused = site.run(&["-C", "mine", "plan"]).expect_code(3);
    assert_data_eq!(
        told(&site, &refused),
        str![[r#"
exit 3
auwai: '[W]/.auwai' belongs to user 65534, and this is user 0: what it says has been read need not have been
hint: keep the state elsewhere with `--state-dir DIR` (or AUWAI_STATE_DIR)
hint: or, if that user is to be believed, say so each time with `--trust-state`
hint: or leave that workspace, and act on the repository here: `-W [W]/mine`

"#]]
    );
    let plan = site.ok(&["-C", "mine", "-W", &site.work("mine").display().to_string(), "plan"]);
    assert!(plan.contains("  mine: 1 chunk\n"), "{plan}");
}

/// State that may only be read is not stamped, and serves all the same.
#[test]
fn a_copy_that_may_only_be_read() {
    if !is_root() {
        skipped("a_copy_that_may_only_be_read: only root can become somebody else");
        return;
    }
    let site = all_read();
    site.sh("mkdir c && cp -a r c/r && git config --global --add safe.directory '*'")
        .expect_code(0);
    let before = looks(&site.work("c/r/.auwai"));
    for _ in 0..2 {
        let told = site.run_as_nobody(&["-C", "c/r", "--trust-state", "verify"]);
        assert_eq!(told.code(), 0, "{}{}", told.text(), told.err);
        site.run_as_nobody(&["-C", "c/r", "verify"]).expect_code(3);
    }
    assert_eq!(looks(&site.work("c/r/.auwai")), before);
}

/// What a foreign list of repositories names is not read.
#[test]
fn a_workspace_that_was_copied() {
    for only_its_list in [false, true] {
        let site = workspace_all_read();
        let from = site.path("w").display().to_string();
        site.sh(&format!("mkdir ../copy && cp -a {from}/.auwai {from}/r ../copy/")).expect_code(0);
        if only_its_list {
            site.sh("rm ../copy/.auwai/workspace/coverage.sqlite*").expect_code(0);
        }
        let copy = site.path("copy");
        let before = looks(&copy);
        for verb in [&["status"][..], &["verify"], &["next"], &["plan"], &["workspace", "list"]] {
            let copy = copy.display().to_string();
            let told = site.run(&[&["-W", &copy], verb].concat()).expect_code(3);
            assert!(told.err.contains("was not made there"), "{verb:?}: {}", told.err);
            let told = site.run(&[&["-C", &copy], verb].concat()).expect_code(3);
            assert!(told.err.contains("was not made there"), "{verb:?}: {}", told.err);
        }
        assert_eq!(looks(&copy), before);
        // With state elsewhere it is a folder like any other.
        let copy = copy.display().to_string();
        let plan = site.run(&["-C", &copy, "--state-dir", "../s", "plan"]).expect_code(0);
        assert!(plan.err.starts_with("auwai: a workspace is passed over: "), "{}", plan.err);
        assert!(plan.text().contains("  copy: "), "{}", plan.text());
        site.ok(&["-C", &copy, "--trust-state", "workspace", "list"]);
        site.ok(&["-C", &copy, "workspace", "list"]);
    }
}

/// A member's state is looked at like any other.
#[test]
fn a_member_whose_state_was_copied() {
    let site = workspace_all_read();
    site.sh("cp -a r/.auwai kept && rm -rf r/.auwai && mv kept r/.auwai").expect_code(0);
    for verb in ["status", "verify", "plan", "unread", "replan"] {
        let told = site.run(&[verb]).expect_code(3);
        assert!(told.err.contains("/r/.auwai' was not made there"), "{verb}: {}", told.err);
    }
    site.ok(&["--trust-state", "verify"]);
    site.ok(&["verify"]);
}

/// A folder below `--state-dir` is looked at like any other.
#[test]
fn state_elsewhere_that_is_a_link_or_a_copy() {
    let site = Site::new();
    site.write("a.rs", "let x = 1;\n");
    let state = site.path("s").display().to_string();
    let run =
        |with: &[&str], verb: &str| site.run(&[&["--state-dir", &state], with, &[verb]].concat());
    run(&[], "plan").expect_code(0);
    let own = fs::read_dir(site.path("s")).unwrap().next().unwrap().unwrap().path();
    let away = site.path("away");
    fs::rename(&own, &away).unwrap();
    symlink(&away, &own).unwrap();
    let told = run(&["--trust-state"], "status").expect_code(3);
    assert!(told.err.contains("is a symbolic link"), "{}", told.err);
    fs::remove_file(&own).unwrap();
    site.sh(&format!("cp -a {} {}", away.display(), own.display())).expect_code(0);
    let told = run(&[], "status").expect_code(3);
    assert!(told.err.contains("was not made there"), "{}", told.err);
    run(&["--trust-state"], "status").expect_code(0);
    run(&[], "status").expect_code(0);
}

/// A watcher that runs looks again at a state folder that is replaced under it.
#[test]
fn state_that_comes_while_it_is_watched() {
    use crate::support::site::wait_until;
    use std::io::{BufRead, BufReader};
    let site = all_read();
    site.sh("cp -a r/.auwai copy").expect_code(0);
    let mut watch = site.start(&["-C", "r", "watch", "--max-seconds", "50"]);
    let state = || fs::read_to_string(site.work("r/.auwai/watch-state.json")).unwrap_or_default();
    wait_until("the watcher", || state().contains("\"last_scan\""));
    site.sh("rm -rf r/.auwai && cp -a copy r/.auwai").expect_code(0);
    let before = looks(&site.work("r/.auwai"));
    site.write("r/new.rs", "let z = 1;\n");
    let mut said = BufReader::new(watch.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(said.any(|line| line.contains("was not made there")));
    watch.kill().unwrap();
    watch.wait().unwrap();
    assert_eq!(looks(&site.work("r/.auwai")), before);
}
