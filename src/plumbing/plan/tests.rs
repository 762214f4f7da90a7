#![cfg(test)]
//! The tool through `run()`, in memory: what it writes, and every bad input with its message.

use std::fs;
use std::io;

use clap::Parser;

use super::*;
use crate::record::parse;

#[derive(Parser)]
struct Tool {
    #[command(flatten)]
    args: Args,
}

pub(super) fn args(words: &[&str]) -> Args {
    Tool::try_parse_from([&["auwai-plan"], words].concat()).unwrap().args
}

pub(super) fn repo(name: &str) -> String {
    format!(r#"{{"v":1,"type":"repo","name":"{name}","path":"/src/{name}"}}"#)
}

pub(super) fn chunk(repo: &str, path: &str, ord: u64, id: u64) -> String {
    let (from, to) = (ord * 100, ord * 100 + 100);
    format!(
        concat!(
            r#"{{"v":1,"type":"chunk","repo":"{repo}","id":"{id:016x}","path":"{path}","ord":{ord},"#,
            r#""bytes":[{from},{to}],"lines":[1,10],"tokens":500,"frame_tokens":20,"complete":false}}"#
        ),
        repo = repo,
        id = id,
        path = path,
        ord = ord,
        from = from,
        to = to,
    )
}

pub(super) fn end(count: u64) -> String {
    format!(r#"{{"v":1,"type":"end","of":"chunk","count":{count}}}"#)
}

fn run_on(words: &[&str], lines: &[String]) -> (Result<()>, String) {
    let input: String = lines.iter().map(|line| format!("{line}\n")).collect();
    run_text(words, &input)
}

fn run_text(words: &[&str], input: &str) -> (Result<()>, String) {
    let mut out = Vec::new();
    let result = run(&args(words), input.as_bytes(), &mut out);
    (result, String::from_utf8(out).unwrap())
}

fn two_repositories() -> Vec<String> {
    vec![
        repo("a"),
        chunk("a", "x/z.c", 0, 1),
        chunk("a", "x/z.c", 1, 2),
        chunk("a", "x.c", 0, 3),
        repo("b"),
        chunk("b", "c.c", 0, 1),
        end(4),
    ]
}

#[test]
fn a_plan_is_policy_segments_sum_and_end() {
    let (result, out) = run_on(&[], &two_repositories());
    result.unwrap();
    let lines: Vec<&str> = out.lines().collect();
    assert_eq!(
        lines[0],
        r#"{"v":1,"type":"policy","context_window":65536,"fixed_prompt":4096,"reserve":8192,"safety_ppm":100000,"segment_budget":47923,"tokenizer":"o200k_base"}"#
    );
    assert_eq!(
        lines[1],
        concat!(
            r#"{"v":1,"type":"segment","id":"read-1","kind":"read","status":"pending","tokens":2124,"#,
            r#""chunks":["a:0000000000000001","a:0000000000000002","a:0000000000000003","b:0000000000000001"],"#,
            r#""chunk_tokens":[500,500,500,500],"files":["#,
            r#"{"repo":"a","path":"x/z.c","lines":[1,10],"chunks":2},"#,
            r#"{"repo":"a","path":"x.c","lines":[1,10],"chunks":1},"#,
            r#"{"repo":"b","path":"c.c","lines":[1,10],"chunks":1}]}"#
        )
    );
    assert_eq!(
        lines[2],
        r#"{"v":1,"type":"segment","id":"synthesis-1","kind":"synthesis","status":"pending","tokens":0,"chunks":[],"files":[]}"#
    );
    let Ok(Record::Plan(plan)) = parse(lines[3]) else { panic!("{}", lines[3]) };
    assert_eq!((plan.segments, plan.chunks, plan.tokens.0), (2, 4, 2124));
    let repos: Vec<_> = plan.repos.iter().map(|r| (r.name.as_str(), r.chunks)).collect();
    assert_eq!(repos, [("a", 3), ("b", 1)]);
    assert_eq!(lines[4], r#"{"v":1,"type":"end","of":"segment","count":2}"#);
    assert_eq!(lines.len(), 5);
}

#[test]
fn flags_reach_the_policy() {
    let words = [
        "--context-window",
        "200k",
        "--fixed-prompt",
        "1_000",
        "--reserve",
        "2k",
        "--safety",
        "0.5",
        "--tokenizer",
        "bytes/4",
        "--page",
        "30k",
        "--scope",
        "b/x",
        "--scope",
        "a/y",
    ];
    let (result, out) = run_on(&words, &[end(0)]);
    result.unwrap();
    assert_eq!(
        out.lines().next().unwrap(),
        concat!(
            r#"{"v":1,"type":"policy","context_window":200000,"fixed_prompt":1000,"reserve":2000,"#,
            r#""safety_ppm":500000,"segment_budget":98500,"tokenizer":"bytes/4","scope":["a/y","b/x"],"page":30000}"#
        )
    );
}

#[test]
fn bad_flags_are_refused() {
    for words in [["--context-window", "much"], ["--safety", "1"], ["--tokenizer", "words"]] {
        let result = Tool::try_parse_from([&["auwai-plan"][..], &words].concat());
        let error = result.map(|tool| tool.args).unwrap_err().to_string();
        assert!(error.contains(words[0]) && error.contains(words[1]), "{error}");
    }
}

#[test]
fn roots_do_not_enter_the_plan() {
    let moved: Vec<_> =
        two_repositories().iter().map(|line| line.replace("/src/", "/elsewhere/")).collect();
    assert_eq!(run_on(&[], &two_repositories()).1, run_on(&[], &moved).1);
}

#[test]
fn an_order_file_is_read_and_recorded() {
    let dir = tempfile::tempdir().unwrap();
    let order = dir.path().join("order");
    fs::write(&order, "# b first\nc.c\n").unwrap();
    let (result, out) = run_on(&["--order", order.to_str().unwrap()], &two_repositories());
    result.unwrap();
    assert!(out.lines().next().unwrap().contains(r#""order":["c.c"]"#), "{out}");
    assert!(out.contains(r#""chunks":["b:0000000000000001","a:0000000000000001","#), "{out}");
}

#[test]
fn an_order_on_standard_input_is_a_usage_error() {
    let error = run_text(&["--order", "-"], "").0.unwrap_err();
    assert_eq!(error.to_string(), "cannot read the order from '-': the records come from there");
    assert_eq!(error.kind().exit_code(), 2);
}

#[test]
fn a_file_is_read_instead_of_standard_input() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("chunks");
    fs::write(&path, two_repositories().join("\n") + "\n").unwrap();
    let (result, out) = run_text(&[path.to_str().unwrap()], "not read");
    result.unwrap();
    assert_eq!(out, run_on(&["-"], &two_repositories()).1);
    fs::write(&path, "{}\n").unwrap();
    let error = run_text(&[path.to_str().unwrap()], "").0.unwrap_err().to_string();
    assert!(error.starts_with(&format!("{}:1: not a record: ", path.display())), "{error}");
}

#[test]
fn a_file_that_is_not_there_is_named() {
    for words in [&["/no/such"][..], &["--order", "/no/such"]] {
        let error = run_text(words, "").0.unwrap_err();
        assert!(error.to_string().contains("'/no/such': No such file or directory"), "{error}");
        assert_eq!(error.kind().exit_code(), 3);
    }
}

#[test]
fn every_bad_input_is_named_with_its_line() {
    let (a, b) = (repo("a"), repo("b"));
    let first = chunk("a", "m.c", 0, 1);
    let respelt = chunk("a", "m", 1, 2).replace(r#""m""#, r#""m","path_b64":"bS5j""#);
    let cases: [(&[String], &str); 15] = [
        (std::slice::from_ref(&first), "-:1: a chunk of 'a' outside its repository"),
        (&[a.clone(), b.clone(), first.clone()], "-:3: a chunk of 'a' outside its repository"),
        (&[b.clone(), a.clone()], "-:2: repository 'a' after 'b': not in order"),
        (&[a.clone(), b.clone(), a.clone()], "-:3: repository 'a' comes twice"),
        (&[a.clone(), first.clone(), chunk("a", "m", 0, 2)], "-:3: 'm' after 'm.c': not in order"),
        (
            // Byte order of the whole path, which is not the order of components.
            &[a.clone(), chunk("a", "m.c", 0, 1), chunk("a", "m/x", 0, 2)],
            "-:3: 'm/x' after 'm.c': not in order",
        ),
        (
            &[a.clone(), first.clone(), first.clone()],
            "-:3: 'm.c': chunk number 0 after 0: not in order",
        ),
        (
            &[a.clone(), chunk("a", "m.c", 4, 1), chunk("a", "m.c", 3, 2)],
            "-:3: 'm.c': chunk number 3 after 4: not in order",
        ),
        (
            &[a.clone(), first.clone(), chunk("a", "m.c", 1, 1)],
            "-:3: 'm.c': chunk '0000000000000001' comes twice",
        ),
        (&[a.clone(), first.clone(), respelt], "-:3: 'm.c' after 'm.c': not in order"),
        (&[a.clone(), chunk("a", "../m.c", 0, 1)], "-:2: not a path inside a repository: '../m.c'"),
        (&[a.clone(), first.clone(), end(2)], "-:3: the end record counts 2 chunks, but 1 came"),
        (
            &[end(0).replace("chunk", "file")],
            "-:1: the end of a stream of 'file' records, not of 'chunk'",
        ),
        (&[a.clone(), end(0), b.clone()], "-:3: a record after the end record"),
        (
            &[a.clone(), r#"{"v":1,"type":"chunk","repo":5}"#.to_string()],
            "-:2: not a chunk record: invalid type: integer `5`, expected a string at column 30",
        ),
    ];
    for (lines, message) in cases {
        let (result, out) = run_on(&[], lines);
        let error = result.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (message, "bad-input"));
        assert_eq!(error.kind().exit_code(), 3);
        assert!(!out.contains(r#""type":"end""#), "{out}");
    }
}

#[test]
fn types_that_are_not_about_chunks_are_passed_over() {
    let mut lines = two_repositories();
    lines.insert(1, r#"{"v":1,"type":"progress","files":1,"bytes":2}"#.to_string());
    lines.push(r#"{"v":1,"type":"later"}"#.to_string());
    assert_eq!(run_on(&[], &lines).1, run_on(&[], &two_repositories()).1);
}

#[test]
fn a_stream_that_was_cut_off_is_no_plan() {
    let whole = two_repositories().join("\n") + "\n";
    let without_end = whole.rsplit_once("{").unwrap().0;
    let torn = &whole[..whole.len() - 20];
    for (input, message) in [
        (without_end, "-:6: the stream ended without its end record"),
        (torn, "-:7: the line is cut off"),
        ("", "-:0: the stream ended without its end record"),
    ] {
        let (result, out) = run_text(&[], input);
        let error = result.unwrap_err();
        assert_eq!((error.to_string().as_str(), error.code()), (message, "cut-off"));
        assert!(!error.hints().is_empty() && !out.contains(r#""type":"end""#), "{out}");
    }
}

#[test]
fn partial_plans_what_has_come() {
    let whole = two_repositories().join("\n") + "\n";
    let wanted = run_text(&[], &whole).1;
    let without_end = whole.rsplit_once("{").unwrap().0;
    for input in [without_end, &whole[..whole.len() - 20]] {
        let (result, out) = run_text(&["--partial"], input);
        result.unwrap();
        assert_eq!(out, wanted);
    }
}

#[test]
fn a_window_that_is_too_small_is_told_at_the_end_for_all_chunks() {
    let mut lines = two_repositories();
    lines[5] = lines[5].replace(r#""tokens":500"#, r#""tokens":900"#);
    let (result, out) = run_on(&["--context-window", "12800"], &lines);
    let error = result.unwrap_err();
    assert_eq!(
        error.to_string(),
        "a context window of 12,800 tokens is too small: chunk 'b:0000000000000001' of 'c.c' needs \
         984 as shown, and beside 4,096 for the prompt and 8,192 for the answer a segment may have 460"
    );
    // python3 -c 'import math; print(4096 + 8192 + math.ceil(984 / 0.9))'
    let hints = [
        "the smallest that works: `auwai plan --context-window 13382`",
        "or keep less beside it: \
         `auwai plan --context-window 12800 --fixed-prompt 1000 --reserve 1000`",
    ];
    assert_eq!(error.hints(), hints);
    assert_eq!((error.code(), error.kind().exit_code()), ("window-too-small", 3));
    assert!(!out.contains(r#""type":"end""#), "{out}");
}

#[test]
fn a_reader_that_has_gone_is_no_failure() {
    struct Gone;
    impl Write for Gone {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(io::ErrorKind::BrokenPipe.into())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }
    let input = format!("{}\n", end(0));
    let error = run(&args(&[]), input.as_bytes(), &mut Gone).unwrap_err();
    assert_eq!(error.kind().exit_code(), 0);
}

#[test]
fn tokens_of_two_tokenizers_are_not_added_up() {
    let repo = |name: &str, tokenizer: &str| {
        format!(
            "{{\"v\":1,\"type\":\"repo\",\"name\":\"{name}\",\"path\":\"/{name}\",\"tokenizer\":\"{tokenizer}\"}}\n"
        )
    };
    let mut out = Vec::new();
    let one = repo("a", "cl100k_base") + &end(0) + "\n";
    run(&args(&[]), one.as_bytes(), &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("\"tokenizer\":\"cl100k_base\""));
    let two = repo("a", "cl100k_base") + &repo("b", "o200k_base") + &end(0) + "\n";
    let error = run(&args(&[]), two.as_bytes(), &mut Vec::new()).unwrap_err();
    assert_eq!(error.code(), "bad-input");
    assert!(error.to_string().starts_with("-:2: repository 'b' is counted with o200k_base"));
}
