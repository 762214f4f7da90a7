//! Console blocks of a document: run in order in one shell, and compared with what is shown.

use std::path::Path;
use std::process::Stdio;

use super::program;

/// Where the reader of a document is; the tests are in a temporary folder.
const HOME: &str = "/home/ann";

/// A fenced block: its language, and its lines.
pub type Block = (String, Vec<String>);

/// The text of a document of the project.
pub fn document(name: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

/// The fenced blocks of a text.
pub fn blocks(text: &str) -> Vec<Block> {
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

/// Runs the console blocks of a text in a folder, and compares what is said with what is shown.
/// With `AUWAI_SHOW_SESSION` the session as it is goes into the file of that name instead.
pub fn check(text: &str, dir: &Path) {
    let session = session(text);
    let commands: Vec<String> = session.iter().map(|(command, _)| command.clone()).collect();
    assert!(commands.len() > 15, "the document shows a session");
    let said = said(&commands, dir);
    if let Some(path) = std::env::var_os("AUWAI_SHOW_SESSION") {
        let home = |out: String| out.replace(dir.to_str().unwrap(), HOME);
        let shown = commands.iter().zip(said).map(|(c, out)| format!("$ {c}\n{}", home(out)));
        return std::fs::write(path, shown.collect::<String>()).unwrap();
    }
    for ((command, shown), said) in session.iter().zip(said) {
        assert_eq!(settled(shown, dir), settled(&said, dir), "$ {command}");
    }
}
