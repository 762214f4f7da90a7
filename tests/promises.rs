//! Determinism, budgets and total accounting, over whole trees with the real program.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::support::git::Sandbox;
use crate::support::site::{Site, Told, is_root, skipped, tell};

/// Where this project's own sources are.
const SOURCES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");

/// The files of this project's sources, relative, in the order of `sorted`.
fn sources(reversed: bool) -> Vec<std::path::PathBuf> {
    let files = walkdir::WalkDir::new(SOURCES).sort_by_file_name().into_iter();
    let files = files.map(Result::unwrap).filter(|file| file.file_type().is_file());
    let mut files: Vec<_> =
        files.map(|file| file.path().strip_prefix(SOURCES).unwrap().to_owned()).collect();
    if reversed {
        files.reverse();
    }
    files
}

fn copy(site: &Site, name: &str, reversed: bool) {
    for file in sources(reversed) {
        site.write(Path::new(name).join(&file), fs::read(Path::new(SOURCES).join(&file)).unwrap());
    }
}

#[test]
fn the_same_tree_gives_the_same_plan_byte_for_byte() {
    let mut outs = Vec::new();
    for (threads, locale, zone, reversed) in
        [("1", "C", "UTC", false), ("4", "tr_TR.UTF-8", "Pacific/Kiritimati", true)]
    {
        let site = Site::new();
        copy(&site, "tree", reversed);
        let script = format!(
            "auwai-ledger scan --repo tree --threads {threads} >/dev/null && \
             auwai-ledger chunks --repo tree && auwai-ledger chunks --repo tree | auwai-plan"
        );
        let mut shell = site.command("bash");
        shell.args(["-c", &script]).env("LC_ALL", locale).env("TZ", zone);
        let text = tell(shell).expect_code(0).text().to_string();
        let root = site.work("tree").display().to_string();
        assert!(text.contains(&root));
        outs.push(text.replace(&root, "ROOT"));
    }
    assert!(outs[0].lines().count() > 500);
    assert_eq!(outs[0], outs[1]);
}

#[test]
fn no_segment_is_printed_over_its_budget_by_another_tokenizer() {
    let site = Site::new();
    copy(&site, "w", false);
    assert_within_budget(&site, "48k");
}

#[test]
fn no_segment_of_a_large_crate_is_over_its_budget() {
    let Some(krate) = crate_in_registry("clap_builder-") else {
        skipped("no_segment_of_a_large_crate: cargo keeps no sources here");
        return;
    };
    let site = Site::new();
    let copied = std::process::Command::new("cp").arg("-r").arg(krate).arg(site.work("w")).status();
    assert!(copied.unwrap().success());
    assert_within_budget(&site, "65536");
}

/// The sources of a dependency, where cargo unpacked them.
fn crate_in_registry(prefix: &str) -> Option<std::path::PathBuf> {
    let cargo = std::env::var_os("CARGO_HOME").map(std::path::PathBuf::from);
    let cargo = cargo.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")))?;
    let registries = fs::read_dir(cargo.join("registry/src")).ok()?.flatten();
    let crates =
        registries.flat_map(|registry| fs::read_dir(registry.path()).into_iter().flatten());
    let named = |path: &std::path::PathBuf| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(prefix))
    };
    crates.flatten().map(|krate| krate.path()).find(named)
}

/// Every segment of the tree, as printed, fits; all but the last are full.
fn assert_within_budget(site: &Site, window: &str) {
    site.ok(&["plan", "--context-window", window]);
    let segments = site
        .sh("auwai-ledger segments --plan | jq -r '[.type, .segment_budget, .id, .tokens] | @tsv'");
    let (mut budget, mut full) = (0, Vec::new());
    for line in segments.expect_code(0).text().lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        match fields[0] {
            "policy" => budget = fields[1].parse().unwrap(),
            "segment" if fields[2].starts_with("read-") => {
                let printed = site.ok(&["read", "--segment", fields[2]]);
                let tokens = bpe_openai::o200k_base().count(&printed);
                assert!(tokens <= budget, "{}: {tokens} of {budget}", fields[2]);
                let planned: usize = fields[3].parse().unwrap();
                assert!(tokens <= planned, "{}: {tokens}, planned {planned}", fields[2]);
                full.push(tokens as f64 / budget as f64);
            }
            _ => {}
        }
    }
    full.pop();
    assert!(full.len() > 3);
    let mean = full.iter().sum::<f64>() / full.len() as f64;
    assert!(mean >= 0.95, "{mean}: {full:?}");
}

/// A repository of git with a path of each fate, and files whose names and content do what they can.
fn every_fate() -> Sandbox {
    let sandbox = Sandbox::repository();
    sandbox.write(".gitignore", "*.log\nbuild/\n");
    sandbox.touch(&["gone.txt", "kept.log"]);
    sandbox.git(&["add", "-f", "."]);
    sandbox.commit();
    fs::remove_file(sandbox.root().join("gone.txt")).unwrap();
    sandbox.write("x.log", "ignored");
    sandbox.write("build/deep/y", "ignored");
    sandbox.write("image", b"\x89PNG\0\0");
    sandbox.link("/etc", "out");
    sandbox.link("image", "inside");
    sandbox.git(&["init", "-q", "nested"]);
    sandbox.write("nested/inner.rs", "inner\n");
    let fifo = sandbox.root().join("pipe");
    let made = std::process::Command::new("mkfifo").arg(&fifo).status().unwrap();
    assert!(made.success());
    sandbox.write("new\nline", "one\n");
    sandbox.write("esc\u{1b}[31m", "two\n");
    sandbox.write_bytes(b"not-utf8-\xff", "three\n");
    let component = "n".repeat(250);
    let mut deep = sandbox.root();
    // Longer than PATH_MAX: made from folder to folder.
    for _ in 0..15 {
        deep.push(&component);
    }
    fs::create_dir_all(&deep).unwrap();
    let script = format!(
        "for i in 1 2 3 4 5; do mkdir {component} && cd -P {component} || exit 1; done; echo deep >end"
    );
    let made = std::process::Command::new("bash").args(["-c", &script]).current_dir(&deep).status();
    assert!(made.unwrap().success());
    sandbox
}

/// Runs `auwai` in a sandbox.
fn auwai(sandbox: &Sandbox, args: &[&str]) -> Told {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_auwai"));
    command.args(args).current_dir(sandbox.root()).env_clear().envs(sandbox.vars());
    command.env("PATH", std::env::var_os("PATH").unwrap());
    command.env("XDG_STATE_HOME", sandbox.home("state"));
    tell(command)
}

#[test]
fn every_path_has_one_fate_and_its_rule() {
    let sandbox = every_fate();
    let why = |path: &str| {
        let told = auwai(&sandbox, &["why", "--json", path]).expect_code(0);
        let file: serde_json::Value =
            serde_json::from_slice(told.out.split(|b| *b == b'\n').next().unwrap()).unwrap();
        (
            file["fate"].as_str().unwrap().to_string(),
            file["rule"].as_str().unwrap_or("").to_string(),
        )
    };
    auwai(&sandbox, &["index"]).expect_code(0);
    for (path, fate, rule) in [
        (".gitignore", "text", ""),
        ("kept.log", "text", ""),
        ("gone.txt", "absent", ""),
        ("x.log", "ignored", ".gitignore:1:*.log"),
        ("build", "ignored", ".gitignore:2:build/"),
        ("build/deep/y", "ignored", ".gitignore:2:build/"),
        (".git", "ignored", "builtin"),
        ("image", "binary", ""),
        ("out", "symlink", ""),
        ("inside", "symlink", ""),
        ("nested", "repository", ""),
        ("pipe", "special", ""),
        ("new\nline", "text", ""),
        ("esc\u{1b}[31m", "text", ""),
    ] {
        assert_eq!(why(path), (fate.to_string(), rule.to_string()), "{path:?}");
    }
    // What lies behind a link is not ours.
    assert_eq!(why("out/passwd"), ("ignored".to_string(), "beyond link out".to_string()));
    let run = auwai(&sandbox, &["run", "--", "cat"]).expect_code(0);
    let counts = run.text().lines().find(|line| line.starts_with("paths: ")).unwrap();
    assert_eq!(
        counts,
        "paths: 6 text, 1 binary, 2 symlink, 1 repository, 1 special, 1 absent, 4 ignored"
    );
    assert!(!run.text().contains('\u{1b}') && !run.err.contains('\u{1b}'));
}

#[test]
fn names_cannot_forge_and_the_longest_are_read() {
    let sandbox = every_fate();
    auwai(&sandbox, &["plan"]).expect_code(0);
    let next = auwai(&sandbox, &["next"]).expect_code(0);
    assert!(!next.text().contains('\u{1b}'), "{}", next.text());
    let read = auwai(&sandbox, &["read"]).expect_code(0);
    assert!(!read.text().contains('\u{1b}'));
    let frames: Vec<&str> = read.text().lines().filter(|line| line.starts_with("=== ")).collect();
    for name in ["esc\\033[31m", "new\\nline", "not-utf8-\\377"] {
        let found = frames.iter().filter(|frame| frame.contains(name)).count();
        assert_eq!(found, 1, "{name}: {frames:#?}");
    }
    let deep = format!("{}/end", vec!["n".repeat(250); 20].join("/"));
    assert!(frames.iter().any(|frame| frame.contains(&deep)), "the longest path");
    assert!(read.text().contains("\n1\tdeep\n"));
}

#[test]
fn what_cannot_be_read_is_said_and_never_called_read() {
    if !is_root() {
        skipped("what_cannot_be_read: only root can become somebody else");
        return;
    }
    let site = Site::new();
    site.write("open.rs", "one\n");
    site.write("shut.rs", "two\n");
    site.write("dir/inner.rs", "three\n");
    for path in ["home", "state", "w", "w/open.rs", "w/shut.rs", "w/dir", "w/dir/inner.rs"] {
        std::os::unix::fs::chown(site.path(path), Some(65534), Some(65534)).unwrap();
    }
    let mode = |path: &str, mode: u32| {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(site.work(path), fs::Permissions::from_mode(mode)).unwrap();
    };
    mode("shut.rs", 0o000);
    mode("dir", 0o000);
    let index = site.run_as_nobody(&["index"]).expect_code(0);
    assert!(index.err.contains("2 ") && index.err.contains("unreadable"), "{}", index.err);
    let why = site.run_as_nobody(&["why", "shut.rs"]).expect_code(0);
    assert!(why.text().contains("unreadable"), "{}", why.text());
    assert!(why.text().contains("ermission denied"), "{}", why.text());
    let run = site.run_as_nobody(&["run", "--", "cat"]).expect_code(1);
    assert!(run.text().contains("1 text, 2 unreadable"), "{}", run.text());
    assert!(run.text().contains("shut.rs: cannot be read"), "{}", run.text());
    mode("shut.rs", 0o644);
    mode("dir", 0o755);
    site.run_as_nobody(&["verify"]).expect_code(1);
    site.run_as_nobody(&["plan", "--force"]).expect_code(0);
    site.run_as_nobody(&["run", "--", "cat"]).expect_code(0);
}

/// Every file that `find` finds has a record; nothing behind a link has.
#[test]
fn the_records_of_files_are_what_find_finds() {
    let sandbox = every_fate();
    auwai(&sandbox, &["index"]).expect_code(0);
    let mut ledger = std::process::Command::new(env!("CARGO_BIN_EXE_auwai-ledger"));
    ledger.args(["files", "--repo", "."]).current_dir(sandbox.root());
    let told = tell(ledger).expect_code(0);
    let mut fates = BTreeMap::new();
    for line in told.text().lines() {
        let file: serde_json::Value = serde_json::from_str(line).unwrap();
        if file["type"] == "file" {
            let fate = file["fate"].as_str().unwrap().to_string();
            assert!(fates.insert(path_of(&file), fate).is_none());
        }
    }
    let mut find = std::process::Command::new("find");
    find.args([".", "(", "-name", ".git", "-o", "-name", ".auwai", "-o", "-name", "nested"]);
    find.args(["-o", "-name", "build", ")", "-prune", "-o", "!", "-type", "d", "-printf", "%P\\0"]);
    find.current_dir(sandbox.root());
    let found = tell(find).expect_code(0);
    for path in found.out.split(|b| *b == 0).filter(|path| !path.is_empty()) {
        let has = fates.contains_key(path);
        assert!(has, "no record of {:?}", std::ffi::OsStr::from_bytes(path));
    }
    assert!(!fates.keys().any(|path| path.starts_with(b"out/") || path.starts_with(b"nested/")));
}

/// The path of a record: `path_b64` counts where there is one.
fn path_of(file: &serde_json::Value) -> Vec<u8> {
    match file["path_b64"].as_str() {
        Some(exact) => STANDARD.decode(exact).unwrap(),
        None => file["path"].as_str().unwrap().as_bytes().to_vec(),
    }
}
