#![cfg(test)]
//! Names, readers, and what can be wrong outside.

use super::*;

#[test]
fn the_reader_is_the_option_or_the_variable() {
    let desk = Desk::planned(2, 2);
    let set: &[(&str, &OsStr)] = &[("AUWAI_READER", OsStr::new("env"))];
    desk.whole(&["claim"], b"", set).unwrap();
    desk.whole(&["claim", "--reader", "opt"], b"", set).unwrap();
    let readers: Vec<String> = desk.status().active.into_iter().map(|h| h.reader).collect();
    assert_eq!(readers, ["env", "opt"]);
    let bad: &[(&str, &OsStr)] = &[("AUWAI_READER", OsStr::new("a b"))];
    assert_eq!(desk.whole(&["claim"], b"", bad).unwrap_err().kind().exit_code(), 2);
}

#[test]
fn the_workspace_is_named_set_or_around() {
    let desk = Desk::planned(1, 2);
    let elsewhere = tempfile::tempdir().unwrap();
    let root = desk.dir.path().as_os_str();
    let world = World::of(elsewhere.path(), &[("AUWAI_WORKSPACE", root)]);
    let status = |args: &[&str], world: &World| {
        let mut out = Vec::new();
        let tool = Ledger::try_parse_from([&["auwai-ledger", "status"], args].concat()).unwrap();
        let mut io = Io { input: &mut &b""[..], out: &mut out, err: &mut Vec::new(), world };
        tool.run(&mut io).map(|()| String::from_utf8(out).unwrap().contains("\"plan\""))
    };
    let plain = World::of(elsewhere.path(), &[]);
    assert!(status(&[], &world).unwrap());
    assert!(status(&["--workspace", root.to_str().unwrap()], &plain).unwrap());
    assert!(!status(&[], &plain).unwrap());
    let error = status(&["-W", "nowhere"], &plain).unwrap_err();
    assert_eq!((error.code(), error.hints().len()), ("unknown-workspace", 2));
}

#[test]
fn what_a_user_meets_says_what_to_run() {
    let desk = Desk::new();
    for args in [&["claim"][..], &["close"], &["mark"], &["segments"], &["coverage"]] {
        let error = desk.run(args).unwrap_err();
        assert_eq!(
            (error.code(), error.hints()[0].as_str()),
            ("no-plan", "make one: `auwai plan`")
        );
    }
    std::fs::write(desk.state("coverage.sqlite"), "not a database, but as long as one begins ...")
        .unwrap();
    let error = desk.run(&["claim"]).unwrap_err();
    assert_eq!((error.code(), error.hints().len()), ("damaged", 1));
}

#[test]
fn a_newer_ledger_is_left_alone() {
    let desk = Desk::planned(1, 1);
    let set = "import sqlite3,sys;sqlite3.connect(sys.argv[1]).execute('PRAGMA user_version=99')";
    let path = desk.state("coverage.sqlite");
    let done = std::process::Command::new("python3").args(["-c", set]).arg(path).status().unwrap();
    assert!(done.success());
    let error = desk.run(&["claim"]).unwrap_err();
    assert_eq!((error.code(), error.hints().len()), ("newer-schema", 1));
}

#[test]
fn a_state_folder_that_cannot_be_made_says_where_else() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(".auwai"), "a file").unwrap();
    let world = World::of(dir.path(), &[]);
    let adopt = |args: &[&str]| {
        let stream = plan(1, 1, 65_536);
        let tool = Ledger::try_parse_from([&["auwai-ledger", "adopt"], args].concat()).unwrap();
        let mut io = Io {
            input: &mut &stream[..],
            out: &mut Vec::new(),
            err: &mut Vec::new(),
            world: &world,
        };
        tool.run(&mut io)
    };
    let error = adopt(&["-W", "."]).unwrap_err();
    assert_eq!(error.code(), "not-writable");
    assert!(error.hints()[0].contains("--state-dir"), "{:?}", error.hints());
    let named = Path::new("r");
    std::fs::create_dir(dir.path().join(named)).unwrap();
    adopt(&["-W", "r", "--state-dir", "s"]).unwrap();
    assert!(!dir.path().join("r/.auwai").exists());
}

#[test]
fn the_command_line_is_well_formed() {
    <Ledger as clap::CommandFactory>::command().debug_assert();
}
