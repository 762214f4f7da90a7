//! The rule that says whether a task is answered: a table, each case asked of the library and of the
//! shell.

use std::os::unix::fs::symlink;

use auwai::inbox::{Mark, Root, TaskId, answered};
use auwai::record::VerdictReason::{self, *};
use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::{Place, records};

const MARK: &str = "REFUSED";

/// What is at the name of a result.
enum There<'a> {
    Nothing,
    Text(&'a [u8]),
    Folder,
    Link,
    Fifo,
}
use There::*;

/// A case: its id, the result, files in the archive by the rest of their names, and the verdict.
type Case<'a> = (&'a str, There<'a>, &'a [(&'a str, &'a [u8])], VerdictReason);

const CASES: &[Case<'_>] = &[
    ("nothing", Nothing, &[], None),
    ("answer", Text(b"it is 42\n"), &[], Answer),
    ("answer-without-newline", Text(b"it is 42"), &[], Answer),
    ("refusal", Text(b"REFUSED: no time\n"), &[], Refusal),
    ("refusal-without-newline", Text(b"REFUSED: no time"), &[], Refusal),
    ("refusal-crlf", Text(b"REFUSED\r\nno time\r\n"), &[], Refusal),
    ("only-the-mark", Text(b"REFUSED"), &[], Refusal),
    ("mark-and-cr", Text(b"REFUSED\r"), &[], Refusal),
    ("longer-word", Text(b"REFUSEDLY\n"), &[], Refusal),
    ("other-case", Text(b"Refused\n"), &[], Answer),
    ("half-a-mark", Text(b"REFUS"), &[], Answer),
    ("mid-line", Text(b"he said REFUSED\n"), &[], Answer),
    ("line-2", Text(b"well\nREFUSED\n"), &[], Answer),
    ("after-empty-line", Text(b"\nREFUSED\n"), &[], Answer),
    ("after-bare-cr", Text(b"well\rREFUSED\n"), &[], Answer),
    ("begins-with-cr", Text(b"\rREFUSED\n"), &[], Answer),
    ("indented", Text(b"  REFUSED\n"), &[], Answer),
    ("after-bom", Text("\u{feff}REFUSED\n".as_bytes()), &[], Answer),
    ("white-space", Text(" \t\r\n\u{a0}\u{2003}\n".as_bytes()), &[], Blank),
    ("empty", Text(b""), &[], Blank),
    ("archive-alone", Nothing, &[("-1700000000.txt", b"it was 41\n")], None),
    ("empty-beside-answer", Text(b""), &[("-1700000000.txt", b"it was 41\n")], ArchivedAnswer),
    ("empty-beside-refusal", Text(b""), &[("-1700000000.txt", b"REFUSED\n")], ArchivedRefusal),
    ("answer-beside-refusal", Text(b"yes\n"), &[("-1700000000.txt", b"REFUSED\n")], Answer),
    ("refusal-beside-answer", Text(b"REFUSED\n"), &[("-1700000000.txt", b"yes\n")], Refusal),
    ("not-utf8", Text(b"caf\xe9\n"), &[], NotUtf8),
    ("not-utf8-at-the-end", Text(b"caf\xc3"), &[], NotUtf8),
    ("not-utf8-beside-answer", Text(b"\xff"), &[("-1.txt", b"yes")], ArchivedAnswer),
    ("newest-counts", Text(b""), &[("-9.txt", b"yes"), ("-10.txt", b"REFUSED")], ArchivedRefusal),
    (
        "newest-ready-counts",
        Text(b" "),
        &[("-9.txt", b"yes"), ("-10.txt", b"\xff")],
        ArchivedAnswer,
    ),
    ("none-is-ready", Text(b" "), &[("-9.txt", b""), ("-10.txt", b"\xff")], Blank),
    ("folder", Folder, &[("-1700000000.txt", b"yes")], NotRegular),
    ("link", Link, &[("-1700000000.txt", b"yes")], NotRegular),
    ("fifo", Fifo, &[], NotRegular),
    ("task-a", Text(b""), &[("-1-other.txt", b"yes"), ("-1-other-5.txt", b"yes")], Blank),
    ("task-b", Text(b""), &[("-1-5.txt", b"yes"), (".txt", b"yes"), ("-.txt", b"yes")], Blank),
];

fn lay(place: &Place, (id, there, archived, _): &Case<'_>) {
    let path = place.path(format!("results/{id}.txt"));
    match there {
        Nothing => {}
        Text(text) => place.write(&path, text),
        Folder => std::fs::create_dir(&path).unwrap(),
        Link => {
            place.write("elsewhere", "an answer");
            symlink("../elsewhere", &path).unwrap();
        }
        Fifo => mknodat(CWD, &path, FileType::Fifo, Mode::RWXU, 0).unwrap(),
    }
    for (rest, text) in *archived {
        place.write(format!("results/archive/{id}{rest}"), text);
    }
}

#[test]
fn the_library_and_the_shell_say_the_same_of_each_case() {
    let place = Place::new();
    place.write("results/archive/task-a-1-other-6.txt", "yes");
    CASES.iter().for_each(|case| lay(&place, case));
    let (root, mark) = (Root::open(&place.path("")).unwrap(), MARK.parse::<Mark>().unwrap());
    let names: Vec<&str> = CASES.iter().map(|case| case.0).collect();
    let script = format!(
        "for id in {}; do auwai-inbox answered $id --refusal-mark {MARK} 2>/dev/null; echo $?; done",
        names.join(" ")
    );
    let told = place.site.sh(&script).expect_code(0);
    let lines: Vec<&str> = told.text().lines().collect();
    for ((id, .., wanted), said) in CASES.iter().zip(lines.chunks(2)) {
        let verdict = answered(&root, &id.parse().unwrap(), Some(&mark)).unwrap();
        assert_eq!(verdict.reason, *wanted, "{id}");
        let yes = matches!(wanted, Answer | ArchivedAnswer);
        assert_eq!(verdict.answered, yes, "{id}");
        let by_shell = &records(said[0])[0];
        assert_eq!(*by_shell, serde_json::to_value(&verdict).map(with_head).unwrap(), "{id}");
        assert_eq!(said[1], if yes { "0" } else { "1" }, "{id}");
        if let Some(path) = &verdict.path {
            assert!(
                path.contains("/archive/") == matches!(wanted, ArchivedAnswer | ArchivedRefusal)
            );
            assert!(place.path(path).symlink_metadata().is_ok(), "{path}");
        }
    }
    assert_eq!(lines.len(), 2 * CASES.len());
}

fn with_head(mut record: serde_json::Value) -> serde_json::Value {
    record["v"] = 1.into();
    record["type"] = "verdict".into();
    record
}

#[test]
fn without_a_mark_nothing_is_a_refusal() {
    let place = Place::new();
    place.write("results/x.txt", "REFUSED\n");
    assert_eq!(place.run(&["answered", "x"]).code(), 0);
    assert_eq!(place.run(&["answered", "x", "--refusal-mark", "REFUSED"]).code(), 1);
    // A mark that could never be, or always is, at the beginning of a line.
    for bad in ["", "two\nlines", "a\r"] {
        assert_eq!(place.run(&["answered", "x", "--refusal-mark", bad]).code(), 2, "{bad:?}");
    }
}

#[test]
fn an_id_that_tries_to_leave_the_folder_is_none() {
    let place = Place::new();
    place.write("outside.txt", "an answer");
    place.write("results/sub/x.txt", "an answer");
    for bad in [
        "../outside",
        "sub/x",
        "..",
        ".",
        "",
        "a\nb",
        "é",
        ".hidden",
        "-option",
        &"x".repeat(101),
        &"x".repeat(300),
    ] {
        assert!(bad.parse::<TaskId>().is_err(), "{bad:?}");
        for verb in ["answered", "accept", "release", "archive", "post"] {
            let told = place.run(&[verb, "--", bad]).expect_code(2);
            assert!(told.err.contains("an id is 1 to 100"), "{bad:?}: {}", told.err);
            assert_eq!(told.err.lines().filter(|line| line.starts_with("error:")).count(), 1);
        }
    }
    assert_eq!(place.names(), ["outside.txt", "results/sub/x.txt"]);
}
