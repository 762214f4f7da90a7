//! The README's session is true: its console blocks are run, in order, in one shell.

use std::path::Path;
use std::process::Command;

use super::support::program;
use super::support::session::{Block, blocks, check, document};

fn readme() -> String {
    document("README.md")
}

#[test]
fn its_session_is_true() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().canonicalize().unwrap();
    let text = readme();
    let is_script = |(language, lines): &Block| language == "sh" && lines[0] == "set -eu";
    let script = blocks(&text).into_iter().find(is_script).expect("the script of the plumbing");
    std::fs::write(dir.join("full-read.sh"), script.1.join("\n") + "\n").unwrap();
    check(&text, &dir);
}

#[test]
fn the_recipes_of_watching_are_true() {
    let temp = tempfile::tempdir().unwrap();
    check(&document("docs/watching.md"), &temp.path().canonicalize().unwrap());
}

#[test]
fn it_says_where_its_own_commands_are() {
    let text = readme();
    assert!(text.contains("cargo run --release -- run -- wc -w\ncargo test\n"));
    for link in text.split("](").skip(1).map(|rest| rest.split(')').next().unwrap()) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(link);
        assert!(path.exists(), "README.md points to '{link}', which is not there");
    }
}

#[test]
fn installing_the_pages_puts_them_where_man_looks() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().canonicalize().unwrap();
    let install = blocks(&readme()).into_iter().find(|(_, lines)| lines[0].starts_with("for page"));
    let mut shell: Command = program("sh", &dir);
    shell.current_dir(env!("CARGO_MANIFEST_DIR")).arg("-c").arg(install.unwrap().1.join("\n"));
    assert!(shell.status().unwrap().success());
    assert!(dir.join(".local/share/man/man7/auwai-workspace.7").is_file());
    assert!(dir.join(".local/share/man/man1/auwai.1").is_file());
}
