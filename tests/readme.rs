//! The README's session is true: its console blocks are run, in order, in one shell.

use std::path::Path;
use std::process::{Command, Stdio};

use super::support::program;

/// Where the reader of the README is; the tests are in a temporary folder.
const HOME: &str = "/home/ann";

/// A fenced block: its language, and its lines.
type Block = (String, Vec<String>);

fn readme() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    std::fs::read_to_string(path).unwrap()
}

fn blocks(text: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    let mut inside = false;
    for line in text.lines() {
        match (line.strip_prefix("```"), inside) {
            (Some(language), false) => blocks.push((language.to_string(), Vec::new())),
            (Some(_), true) | (None, false) => {}
            (None, true) => blocks.last_mut().unwrap().1.push(line.to_string()),
        }
        inside ^= line.starts_with("```");
    }
    blocks
}

/// The commands of all console blocks, each with the output that the README shows.
fn session(text: &str) -> Vec<(String, String)> {
    let console = blocks(text).into_iter().filter(|(language, _)| language == "console");
    let mut all: Vec<(String, String)> = Vec::new();
    for line in console.flat_map(|(_, lines)| lines) {
        match line.strip_prefix("$ ") {
            Some(command) => all.push((command.to_string(), String::new())),
            None => all.last_mut().unwrap().1.push_str(&(line + "\n")),
        }
    }
    all
}

/// Runs the commands in one shell, and returns what each of them said.
fn said(commands: &[String], dir: &Path) -> Vec<String> {
    let mut script = String::new();
    for command in commands {
        script.push_str(&format!("{command}\nprintf '\\001'\n"));
    }
    std::fs::write(dir.join(".session"), script).unwrap();
    let mut shell = program("sh", dir);
    shell.arg("-c").arg("exec sh .session 2>&1").stdin(Stdio::null());
    let out = String::from_utf8(shell.output().unwrap().stdout).unwrap();
    let mut said: Vec<String> = out.split('\u{1}').map(str::to_string).collect();
    assert_eq!(said.pop().as_deref(), Some(""), "the shell ended early");
    said
}

/// Ids and times differ from run to run, and the folder is another: not what they are, but that
/// they are there, is compared.
fn settled(text: &str, dir: &Path) -> String {
    let text = text.replace(dir.to_str().unwrap(), HOME);
    let words = text.split_inclusive(|c: char| !c.is_ascii_alphanumeric() && !"-:".contains(c));
    words.map(settled_word).collect()
}

fn settled_word(word: &str) -> String {
    let bare = word.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
    let end = &word[bare.len()..];
    let (name, last) = bare.rsplit_once(':').map_or(("", bare), |(name, last)| (name, last));
    let is_id = last.len() >= 12 && last.chars().all(|c| matches!(c, '0'..='9' | 'a'..='f'));
    let is_time = bare.len() == 20 && bare.starts_with("20") && bare.ends_with('Z');
    match (is_id, is_time) {
        (true, _) => format!("{name}:<{}>{end}", last.len()),
        (_, true) => format!("<time>{end}"),
        _ => word.to_string(),
    }
}

#[test]
fn its_session_is_true() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().canonicalize().unwrap();
    let text = readme();
    let is_script = |(language, lines): &Block| language == "sh" && lines[0] == "set -eu";
    let script = blocks(&text).into_iter().find(is_script).expect("the script of the plumbing");
    std::fs::write(dir.join("full-read.sh"), script.1.join("\n") + "\n").unwrap();
    let session = session(&text);
    let commands: Vec<String> = session.iter().map(|(command, _)| command.clone()).collect();
    assert!(commands.len() > 15, "the README shows a session");
    if let Some(path) = std::env::var_os("AUWAI_SHOW_SESSION") {
        let shown: Vec<String> = commands
            .iter()
            .zip(said(&commands, &dir))
            .map(|(c, out)| format!("$ {c}\n{}", out.replace(dir.to_str().unwrap(), HOME)))
            .collect();
        return std::fs::write(path, shown.concat()).unwrap();
    }
    for ((command, shown), said) in session.iter().zip(said(&commands, &dir)) {
        assert_eq!(settled(shown, &dir), settled(&said, &dir), "$ {command}");
    }
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
