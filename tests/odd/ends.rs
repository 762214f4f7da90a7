//! Outputs that take nothing, variables that say nothing, numbers without end, and few open files.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use crate::support::site::{Site, tell};

#[test]
fn help_that_cannot_be_written_is_a_failure() {
    let site = Site::new();
    for command in [
        "auwai --help",
        "auwai -h",
        "auwai --version",
        "auwai plan --help",
        "auwai help plan",
        "auwai help",
        "auwai-ledger --version",
        "auwai-plan --help",
    ] {
        let told = site.sh(&format!("{command} >/dev/full"));
        assert_eq!(told.code(), 3, "{command}: {}", told.err);
        assert!(told.err.contains("No space left on device"), "{command}: {}", told.err);
        let told = site.sh(&format!("{command} | true; exit ${{PIPESTATUS[0]}}"));
        assert_eq!((told.code(), told.err.as_str()), (0, ""), "{command}");
    }
}

#[test]
fn a_variable_that_says_nothing_is_a_usage_error() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    site.ok(&["plan"]);
    for (name, value) in [
        ("AUWAI_READER", &b""[..]),
        ("AUWAI_READER", b"\xff"),
        ("AUWAI_READER", b"a\nb"),
        ("AUWAI_READER", b"a\x1bb"),
        ("AUWAI_MAX_CHARS", b""),
        ("AUWAI_MAX_CHARS", b"\xff"),
        ("AUWAI_MAX_CHARS", b"1\n"),
        ("AUWAI_MAX_CHARS", b"0"),
        ("AUWAI_WORKSPACE", b""),
        ("AUWAI_STATE_DIR", b""),
    ] {
        for program in ["auwai", "auwai-ledger"] {
            let verb = if program == "auwai" { "read" } else { "claim" };
            if program != "auwai" && name == "AUWAI_MAX_CHARS" && !value.is_empty() {
                continue;
            }
            let mut command = site.command(program);
            command.arg(verb).env(name, OsStr::from_bytes(value));
            let told = tell(command);
            let shown = String::from_utf8_lossy(value);
            assert_eq!(told.code(), 2, "{program}: {name}={shown:?}: {}", told.err);
            assert!(told.err.contains(name), "{}", told.err);
            assert!(program != "auwai" || told.err.contains("hint: "), "{}", told.err);
            assert!(!told.err.contains('\x1b'), "{}", told.err);
        }
    }
    assert_eq!(site.ask(".auwai/fullread/coverage.sqlite", "SELECT count(*) FROM claims"), "0\n");
}

#[test]
fn a_workspace_that_is_no_name_is_named_on_one_line() {
    let site = Site::new();
    for value in [&b"a\nb"[..], b"\xff\x1b[2J"] {
        let mut command = site.auwai(&["status"]);
        command.env("AUWAI_WORKSPACE", OsStr::from_bytes(value));
        let told = tell(command).expect_code(3);
        assert!(!told.err.contains('\x1b') && told.err.starts_with("auwai: "), "{}", told.err);
    }
}

/// Paths are bytes: any that can be a folder is one.
#[test]
fn state_may_be_kept_where_no_text_names_it() {
    let site = Site::new();
    site.write("r/a.rs", "x\n");
    let odd = OsStr::from_bytes(b"st\xffa\nte");
    std::fs::create_dir(site.path(odd)).unwrap();
    for variable in ["XDG_STATE_HOME", "HOME"] {
        let run = |args: &[&str]| {
            let mut command = site.auwai(args);
            command.env_remove("XDG_STATE_HOME").env(variable, site.path(odd));
            tell(command).expect_code(0)
        };
        run(&["workspace", "init", "demo"]);
        assert!(run(&["workspace", "list", "--all"]).text().contains("demo"));
    }
    let mut plan = site.auwai(&["-C", "r", "-W", ".", "plan"]);
    plan.env("AUWAI_STATE_DIR", site.path(odd));
    tell(plan).expect_code(0);
    assert!(!site.work("r/.auwai").exists());
}

#[test]
fn any_number_of_tokens_is_answered() {
    let site = Site::new();
    site.write("a.rs", "x\n");
    site.ok(&["index"]);
    let most = u64::MAX.to_string();
    for (args, code) in [
        (&["--reserve", &most][..], 3),
        (&["--reserve", "18446744073709551000"], 3),
        (&["--fixed-prompt", &most], 3),
        (&["--safety", "0.999999"], 3),
        (&["--context-window", "0"], 3),
        (&["--context-window", &most], 0),
        (&["--context-window", &most, "--reserve", "18446744073709500000", "--page", &most], 0),
        (&["--reserve", "18446744073709551616"], 2),
    ] {
        let told = site.run(&[&["plan", "--force"], args].concat());
        assert_eq!(told.code(), code, "{args:?}: {}", told.err);
        assert!(!told.err.contains("panicked"), "{args:?}: {}", told.err);
        if let Some((_, named)) = told.err.split_once("the smallest that works: `auwai ") {
            // The hint is a command that works as it stands.
            let words: Vec<&str> = named.split('`').next().unwrap().split_whitespace().collect();
            site.ok(&words);
        }
    }
    for verb in ["status", "next", "read", "verify"] {
        site.ok(&[verb]);
    }
}

#[test]
fn few_open_files_are_told_before_a_run_begins() {
    let site = Site::new();
    for n in 0..40 {
        let lines = (1..=200).map(|line| format!("let x{n} = {line};\n"));
        site.write(format!("f{n}.rs"), lines.collect::<String>());
    }
    site.ok(&["plan", "--context-window", "16k"]);
    let run = |limit: &str, jobs: &str| {
        site.sh(&format!("ulimit {limit} && auwai run --jobs {jobs} -- sh -c 'sleep 0.2; wc -w'"))
    };
    let told = run("-n 128", "256").expect_code(3);
    assert!(told.err.contains("256 jobs need "), "{}", told.err);
    assert!(told.err.contains("and 128 are allowed"), "{}", told.err);
    let most = told.err.split("--jobs ").nth(1).unwrap().split('`').next().unwrap();
    assert_eq!(site.ask(".auwai/fullread/coverage.sqlite", "SELECT count(*) FROM claims"), "0\n");
    let more = (most.parse::<u16>().unwrap() + 1).to_string();
    run("-n 128", &more).expect_code(3);
    // What is named works, and so does what only the hard limit allows.
    run("-Sn 64", &more).expect_code(0);
    site.ok(&["plan", "--force", "--context-window", "16k"]);
    run("-n 128", most).expect_code(0);
}
