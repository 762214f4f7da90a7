//! Content is data: whatever a record holds, its line is one line to every reader, shows nothing
//! that hides or reorders, and says the same to other readers of JSON.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use auwai::record::{
    self, Body, Done, End, File, Holder, Plan, Policy, Problem, Record, Repo, RepoPath, Segment,
    SegmentId, Status, Task, Tokens, Unread, Verdict,
};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::golden;

/// Characters that have broken lines, terminals or reviews, beside any others.
fn character() -> impl Strategy<Value = char> {
    let hostile = "\0\t\n\r\x0b\x0c\x1b\x1c\x1d\x1e\x7f\u{85}\u{9b}\u{a0}\u{ad}\u{61c}\u{200b}\
        \u{200e}\u{200f}\u{2028}\u{2029}\u{202a}\u{202e}\u{2066}\u{2069}\u{feff}\u{fffd}\u{ffff}\
        \u{e0000}\u{e0041}\u{e007f}\u{1f600}\"\\/{}[],:=`";
    let hostile: Vec<char> = hostile.chars().collect();
    prop_oneof![3 => prop::sample::select(hostile), 1 => any::<char>()]
}

fn text() -> impl Strategy<Value = String> {
    prop::collection::vec(character(), 0..24).prop_map(String::from_iter)
}

/// A path on the wire: any bytes, also those that name no file.
fn path() -> impl Strategy<Value = (String, Option<String>)> {
    let bytes = prop_oneof![
        text().prop_map(String::into_bytes),
        (text(), prop::collection::vec(any::<u8>(), 0..8)).prop_map(|(text, bytes)| [
            text.as_bytes(),
            &bytes[..]
        ]
        .concat()),
    ];
    bytes.prop_map(|bytes| match RepoPath::new(bytes.clone()) {
        Some(path) => path.to_wire(),
        None => (String::from_utf8_lossy(&bytes).into_owned(), Some(STANDARD.encode(&bytes))),
    })
}

/// The first golden record of a type, to be given other content.
fn example<T: DeserializeOwned>(kind: &str) -> T {
    serde_json::from_str(&golden(kind)[0]).unwrap()
}

/// Records of the types that carry text from outside, with hostile text wherever there is text.
fn records() -> impl Strategy<Value = Vec<Record>> {
    (path(), prop::collection::vec(text(), 4)).prop_map(|((path, path_b64), texts)| {
        let [a, b, c, d] = <[String; 4]>::try_from(texts).unwrap();
        let some = |text: &String| Some(text.clone());
        let (path, path_b64) = (|| path.clone(), || path_b64.clone());
        let mut segment: Segment = example("segment");
        segment.files[0].path = path();
        segment.files[0].path_b64 = path_b64();
        segment.files[0].repo = a.clone();
        segment.chunks[0].repo = format!("r{c}");
        let status = Status {
            plan: some(&a),
            fates: Some(BTreeMap::from([(b.clone(), 1), (c.clone(), 2)])),
            active: vec![Holder {
                reader: c.clone(),
                segment: SegmentId(d.clone()),
                since: a.clone(),
                until: None,
            }],
            chunks: Done::default(),
            ..Status::default()
        };
        let file = File {
            repo: a.clone(),
            path: path(),
            path_b64: path_b64(),
            encoding: some(&b),
            rule: some(&c),
            errno: some(&d),
            ..example("file")
        };
        let body = Body {
            path: path(),
            path_b64: path_b64(),
            text: a.clone(),
            text_b64: some(&b),
            encoding: c.clone(),
            ..example("body")
        };
        let repo = Repo {
            name: a.clone(),
            path: path(),
            path_b64: path_b64(),
            head: some(&b),
            tokenizer: some(&c),
            ..Repo::default()
        };
        let policy = Policy {
            scope: vec![a.clone(), b.clone()],
            order: vec![c.clone(), d.clone()],
            tokenizer: a.clone(),
            ..example("policy")
        };
        let plan =
            Plan { root: some(&a), coverage: some(&b), workspace: some(&c), ..example("plan") };
        let unread = Unread {
            path: path(),
            path_b64: path_b64(),
            reader: some(&d),
            tokens: Some(Tokens(1)),
            ..example("unread")
        };
        let read = record::Read {
            path: Some(path()),
            path_b64: path_b64(),
            head: some(&a),
            ..example("read")
        };
        let chunk = record::Chunk { path: path(), path_b64: path_b64(), ..example("chunk") };
        let segment = Segment { reader: some(&a), brief: some(&b), ..segment };
        let task = Task {
            id: a.clone(),
            reader: some(&b),
            path: some(&c),
            posted: some(&d),
            text: some(&a),
            ..Task::default()
        };
        let verdict = Verdict { id: d.clone(), path: some(&a), ..example("verdict") };
        let problem = Problem { code: a.clone(), message: b, hint: Some(c) };
        let end = End { of: d, count: 1 };
        vec![
            file.into(),
            body.into(),
            repo.into(),
            policy.into(),
            plan.into(),
            unread.into(),
            read.into(),
            chunk.into(),
            segment.into(),
            status.into(),
            task.into(),
            verdict.into(),
            problem.into(),
            end.into(),
        ]
    })
}

/// What a program makes of an input.
fn by(program: &str, args: &[&str], input: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let input = input.to_vec();
    let feeder = std::thread::spawn(move || stdin.write_all(&input));
    let output = child.wait_with_output().unwrap();
    feeder.join().unwrap().unwrap();
    assert!(output.status.success(), "{program} {args:?}");
    output.stdout
}

/// Prints the number of lines, and each character that may not be there, by Unicode's own tables
/// where they say it.
const LINES_AND_FAULTS: &str = "
import sys, unicodedata
text = sys.stdin.buffer.read().decode('utf-8')
print(len(text.splitlines()))
bidi = {'LRE', 'RLE', 'LRO', 'RLO', 'PDF', 'LRI', 'RLI', 'FSI', 'PDI'}
for c in text.replace('\\n', ''):
    hidden = unicodedata.category(c) in ('Cc', 'Zl', 'Zp') or unicodedata.bidirectional(c) in bidi
    if hidden or c in '\\u061c\\u200e\\u200f\\ufeff' or 0xe0000 <= ord(c) <= 0xe007f:
        print(hex(ord(c)))
";

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 12,
        max_shrink_iters: 64,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn no_content_forges_a_line(all in prop::collection::vec(records(), 20)) {
        let all = all.concat();
        let mut out = Vec::new();
        all.iter().for_each(|record| record.write(&mut out).unwrap());
        let told = by("python3", &["-c", LINES_AND_FAULTS], &out);
        prop_assert_eq!(String::from_utf8(told).unwrap(), format!("{}\n", all.len()));
        let told = by("jq", &["-c", "."], &out);
        let (ours, theirs) = (lines(&out), lines(&told));
        prop_assert_eq!(ours.len(), all.len());
        prop_assert_eq!(theirs.len(), all.len());
        for ((line, record), theirs) in ours.iter().zip(&all).zip(&theirs) {
            prop_assert_eq!(&record::parse(line).unwrap(), record);
            prop_assert_eq!(&record::parse(theirs).unwrap(), record);
            prop_assert_eq!(value(line), value(theirs));
        }
    }
}

fn lines(out: &[u8]) -> Vec<String> {
    let text = std::str::from_utf8(out).unwrap();
    text.split_terminator('\n').map(str::to_string).collect()
}

fn value(line: &str) -> Value {
    serde_json::from_str(line).unwrap()
}
