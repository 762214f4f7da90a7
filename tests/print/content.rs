//! What a name or a file holds cannot forge a line, a frame or an escape.

use std::process::{Command, Stdio};

use auwai::record::Body;
use base64::Engine;

use super::case::{body, file, plain, python, stream};

/// Everything that some program takes for a line end or obeys, and frames to be mistaken.
const HOSTILE: &str = "=== r:b lines 1-2 of 2\n\x1b[2J\x1b]0;x\x07\n\u{202e}rtl\u{2066}\n\u{2028}=== r:x\u{2029}=== y\n\
    \u{85}=== nel\n\x0b=== vt\x0c=== ff\n\x1c=== fs\x1d=== gs\x1e=== rs\x1f=== us\n\r=== cr\r\r=== crcr\n\
    crlf\r\ncrcrlf\r\r\n\u{feff}bom\u{e0041}tag\u{9b}31mcsi\n\\x1b\\u{202e}\n=== end of read-3: all 1 chunks\n\0nul\x7f\n";

fn splitlines(text: &[u8]) -> Vec<String> {
    let script =
        "import sys,json; print(json.dumps(sys.stdin.buffer.read().decode().splitlines()))";
    let mut command = Command::new(crate::support::site::python());
    command.args(["-c", script]).stdout(Stdio::piped());
    let done = assert_cmd::Command::from_std(command).write_stdin(text).output().unwrap();
    serde_json::from_slice(&done.stdout).unwrap()
}

#[test]
fn python_sees_the_lines_that_were_meant() {
    let mut bodies = file("plain", HOSTILE, 4, 1);
    for (path, id) in
        [("a\n=== r:z lines 1-1 of 1", 50), ("\u{2028}\u{202e}\x1b[2J", 60), ("=", 70)]
    {
        bodies.extend(file(path, HOSTILE, 100, id));
    }
    let text = plain(&stream(&bodies), &["--segment", "read-3"]).stdout;
    let seen = splitlines(&text);
    let numbers = (1..=HOSTILE.matches('\n').count()).map(|n| format!("{n}\t"));
    let mut meant: Vec<String> = Vec::new();
    for _ in 0..4 {
        meant.push("=== r:".to_string());
        meant.extend(numbers.clone());
    }
    meant.push("=== end of read-3: all ".to_string());
    assert_eq!(seen.len(), meant.len(), "{seen:#?}");
    for (seen, meant) in seen.iter().zip(&meant) {
        assert!(seen.starts_with(meant), "{meant:?}: {seen:?}");
    }
}

#[test]
fn no_hidden_character_is_raw() {
    let bodies = file("\u{2028}\u{202e}\x1b", HOSTILE, 4, 1);
    let text = plain(&stream(&bodies), &["--segment", "a\x1b\nb", "--next", "\u{9b}"]).stdout;
    let text = String::from_utf8(text).unwrap().replace("\r\n", "\n");
    let raw = |c: char| {
        (c.is_control() && c != '\t' && c != '\n')
            || "\u{2028}\u{2029}\u{202e}\u{2066}\u{feff}\u{e0041}".contains(c)
    };
    let found: Vec<char> = text.chars().filter(|c| raw(*c)).collect();
    assert_eq!(found, [], "{text}");
}

#[test]
fn a_name_of_a_repository_cannot_forge_a_frame() {
    let bad = Body { repo: "r\n===".into(), ..body("a", "x\n", 1) };
    let done = plain(&stream(&[bad]), &["--segment", "read-3"]);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(3), &b""[..]));
    let err = String::from_utf8(done.stderr).unwrap();
    assert!(err.contains("-:2: not a body record: not a repository's name: 'r\\x0a==='"), "{err}");
}

#[test]
fn a_path_cannot_reach_outside() {
    let done = plain(&stream(&[body("../x", "x\n", 1)]), &[] as &[&str]);
    assert_eq!((done.status.code(), done.stdout.as_slice()), (Some(3), &b""[..]));
}

#[test]
fn bytes_that_are_no_text_are_shown() {
    let bytes = b"caf\xe9 \xff\n";
    let mut odd = body("a", "caf\u{fffd} \u{fffd}\n", 1);
    odd.bytes.to = bytes.len() as u64;
    odd.size = bytes.len() as u64;
    odd.text_b64 = Some(base64::engine::general_purpose::STANDARD.encode(bytes));
    let text = plain(&stream(&[odd]), &[] as &[&str]).stdout;
    assert_eq!(String::from_utf8(text).unwrap(), "=== r:a line 1 of 1\n1\tcaf\\xe9 \\xff\n");
}

#[test]
fn another_encoding_and_a_missing_newline_are_in_the_frame() {
    let mut gbk = body("a", "你好", 1);
    gbk.encoding = "gbk".into();
    (gbk.bytes.to, gbk.size) = (4, 4);
    let text = plain(&stream(&[gbk]), &[] as &[&str]).stdout;
    let meant = "=== r:a line 1 of 1 [gbk] (no newline at end)\n1\t你好\n";
    assert_eq!(String::from_utf8(text).unwrap(), meant);
}

#[test]
fn each_piece_of_a_long_line_has_its_frame() {
    let pieces = [(0, 3, "abc"), (3, 6, "def"), (6, 8, "g\n")].map(|(from, to, text)| Body {
        bytes: auwai::record::ByteRange { from, to },
        size: 8,
        piece: true,
        ..body("a", text, from + 1)
    });
    let text = plain(&stream(&pieces), &[] as &[&str]).stdout;
    let meant = "=== r:a line 1 bytes 0-3 of 8\n1\tabc\n=== r:a line 1 bytes 3-6 of 8\n1\tdef\n\
        === r:a line 1 bytes 6-8 of 8\n1\tg\n";
    assert_eq!(String::from_utf8(text).unwrap(), meant);
}

#[test]
fn python_is_there() {
    let mut child = python("pass", Stdio::null(), std::path::Path::new("/"));
    assert!(child.wait().unwrap().success());
}
