//! Where a path leads: below what cannot be listed, is no folder, or belongs to somebody else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use crate::support::site::{Site, is_root, skipped};

fn chmod(site: &Site, path: &str, mode: u32) {
    fs::set_permissions(site.work(path), fs::Permissions::from_mode(mode)).unwrap();
}

#[test]
fn below_a_folder_that_cannot_be_listed_nothing_is_known_but_what_git_tracks() {
    if !is_root() {
        skipped("below_a_folder_that_cannot_be_listed: only root can become somebody else");
        return;
    }
    let site = Site::new();
    site.sh("git init -q .").expect_code(0);
    for file in ["shut/d/f.rs", "search/f.rs", "search/known.rs", "gone/f.rs", "open/f.rs"] {
        site.write(file, "x\n");
    }
    site.write(".gitignore", "gone/\n");
    site.sh("git add search/known.rs && git config --global --add safe.directory '*'")
        .expect_code(0);
    for path in ["", "../home"] {
        chmod(&site, path, 0o755);
    }
    chmod(&site, "shut", 0o700);
    chmod(&site, "search", 0o711);
    chmod(&site, "gone", 0o700);
    let state = site.path("free");
    fs::create_dir(&state).unwrap();
    fs::set_permissions(&state, fs::Permissions::from_mode(0o777)).unwrap();
    let state = state.display().to_string();
    for indexed in [false, true] {
        for (path, said) in [
            ("shut/d/f.rs", "unreadable (EACCES: Permission denied)"),
            ("shut/d", "unreadable (EACCES: Permission denied)"),
            ("search/f.rs", "unreadable (EACCES: Permission denied)"),
            ("search/known.rs", "text"),
            ("gone/f.rs", "ignored (by .gitignore:1:gone/)"),
            ("open/f.rs", "text"),
        ] {
            let told = site.run_as_nobody(&["--state-dir", &state, "why", path]).expect_code(0);
            let expected = format!("{path}: {said}");
            assert!(told.text().starts_with(&expected), "{indexed}: {}", told.text());
        }
        let index = site.run_as_nobody(&["--state-dir", &state, "index"]);
        assert_eq!(index.code(), 0, "{}", index.err);
    }
}

#[test]
fn a_path_through_a_link_is_told_as_one() {
    let site = Site::new();
    site.write("d/f.rs", "x\n");
    site.write("../outside/f.rs", "x\n");
    symlink("d", site.work("gate")).unwrap();
    symlink(site.path("outside"), site.work("door")).unwrap();
    symlink(".", site.work("loop")).unwrap();
    for indexed in [false, true] {
        for (path, said) in [
            ("gate/f.rs", "gate/f.rs: ignored (beyond link gate)"),
            ("./d/../gate/f.rs", "gate/f.rs: ignored (beyond link gate)"),
            ("door/f.rs", "door/f.rs: ignored (beyond link door)"),
            ("loop/d/f.rs", "loop/d/f.rs: ignored (beyond link loop)"),
            ("gate", "gate: symlink"),
            ("d/f.rs", "d/f.rs: text"),
        ] {
            let told = site.run(&["why", path]).expect_code(0);
            assert!(told.text().starts_with(said), "{indexed}: {path}: {}", told.text());
            let whole = site.work(path).display().to_string();
            let told = site.run(&["why", &whole]).expect_code(0);
            assert!(told.text().starts_with(said), "{indexed}: {whole}: {}", told.text());
        }
        site.ok(&["index"]);
    }
    // From outside the root a link is a way like any other.
    symlink(site.work("d"), site.path("alias")).unwrap();
    assert!(site.ok(&["why", "../alias/f.rs"]).starts_with("d/f.rs: text"));
}

#[test]
fn below_a_file_a_nested_repository_or_an_ignored_folder() {
    let site = Site::new();
    site.sh("git init -q . && mkdir nested && git init -q nested").expect_code(0);
    site.write("file.rs", "x\n");
    site.write("nested/d/f.rs", "x\n");
    site.write("out/d/f.rs", "x\n");
    site.write(".gitignore", "/out\n!/out/d\n");
    for indexed in [false, true] {
        for (path, said) in [
            ("nested", "nested: repository"),
            ("nested/d/f.rs", "nested/d/f.rs: ignored (within repository nested)"),
            ("out", "out: ignored (by .gitignore:1:/out)"),
            ("out/d/f.rs", "out/d/f.rs: ignored (by .gitignore:1:/out)"),
            (".git/HEAD", ".git/HEAD: ignored (by builtin)"),
        ] {
            let told = site.run(&["why", path]).expect_code(0);
            assert!(told.text().starts_with(said), "{indexed}: {path}: {}", told.text());
        }
        for path in ["file.rs/x", "file.rs/x/y", "nested/no", "out/no"] {
            let told = site.run(&["why", path]).expect_code(3);
            assert!(
                told.err.contains(&format!("there is no '{path}'"))
                    || told.err.contains("there is no '/"),
                "{}",
                told.err
            );
        }
        site.ok(&["index"]);
    }
}

/// Chunks that are gone from one file are one row, not many alike.
#[test]
fn no_row_is_told_twice() {
    let site = Site::new();
    let text =
        |n: u64| (1..=400).map(|line| format!("let x{n} = {};\n", line * n)).collect::<String>();
    site.write("a.rs", text(1));
    site.write("b.rs", text(2));
    site.ok(&["plan"]);
    site.write("a.rs", text(7));
    for args in [&["verify"][..], &["verify", "--planned"], &["unread"]] {
        let told = site.run(args);
        let mut rows: Vec<&str> = told.text().lines().collect();
        let all = rows.len();
        rows.sort();
        rows.dedup();
        assert_eq!(rows.len(), all, "{args:?}: {}", told.text());
        assert!(told.text().contains("a.rs: changed since the plan, "), "{}", told.text());
    }
    // Records stay one a chunk.
    let json = site.run(&["verify", "--json"]);
    assert!(json.text().matches("\"why\":\"changed\"").count() > 1, "{}", json.text());
}

#[test]
fn trees_deeper_than_any_path_and_names_of_any_bytes() {
    let site = Site::new();
    let script = r#"
import os
os.mkdir('deep'); here = os.open('deep', os.O_DIRECTORY)
for n in range(5000):
    os.mkdir('d', dir_fd=here)
    below = os.open('d', os.O_DIRECTORY, dir_fd=here); os.close(here); here = below
with os.fdopen(os.open('f.rs', os.O_CREAT | os.O_WRONLY, dir_fd=here), 'w') as f: f.write('x\n')
os.mkdir('odd')
with open(b'odd/' + b'\xff' * 255, 'w') as f: f.write('y\n')
"#;
    site.write("../make.py", script);
    site.sh("python3 ../make.py").expect_code(0);
    site.ok(&["index"]);
    let files =
        site.sh("auwai-ledger files --repo . | jq -r 'select(.fate == \"text\") | .path | length'");
    assert_eq!(files.text(), "10009\n259\n", "{}", files.err);
    site.ok(&["plan", "--fixed-prompt", "8k"]);
    site.ok(&["next"]);
    site.ok(&["read"]);
    let told = site.sh("auwai why \"odd/$(printf '\\377%.0s' $(seq 255))\"").expect_code(0);
    assert!(told.text().contains(": text (utf-8, 1 line"), "{}", told.text());
    let deep = format!("deep/{}f.rs", "d/".repeat(5000));
    let told = site.run(&["why", &deep]).expect_code(0);
    assert!(told.text().contains(": text (utf-8, 1 line"), "{}", told.err);
    site.ok(&["done"]);
    site.ok(&["next"]);
    site.ok(&["done", "-m", "all of it"]);
    site.ok(&["verify"]);
    // Whoever takes the tree away again must not be stopped by its depth.
    site.sh("rm -rf deep").expect_code(0);
}
