#![cfg(test)]
//! Claims and marks.

use super::*;

#[test]
fn a_plan_is_read_to_its_end() {
    let desk = Desk::planned(2, 4);
    assert_eq!(counts(&desk.status()), [0, 0, 3, 8, 0, 80, 0]);
    for n in 1..=2 {
        let segment = desk.claim("default");
        assert_eq!((segment.id.0, segment.status), (format!("read-{n}"), SegmentStatus::Active));
        desk.mark(n, 4);
        desk.run(&["close", "--summary", "seen"]).unwrap();
    }
    assert_eq!(desk.claim("default").id.0, "synthesis-1");
    desk.run(&["close", "--segment", "synthesis-1", "-m", "all is well"]).unwrap();
    assert_eq!(counts(&desk.status()), [3, 0, 0, 8, 8, 80, 80]);
    assert_eq!(desk.code(&["claim"]), "done");
    assert_eq!(desk.ask("SELECT count(*), sum(complete) FROM chunks"), "[(8, 8)]");
    assert_eq!(desk.ask("SELECT count(*) FROM segments WHERE status = 'done'"), "[(3,)]");
}

#[test]
fn a_reader_gets_its_own_segment_again_and_nobody_elses() {
    let desk = Desk::planned(2, 2);
    let first = desk.claim("ann");
    assert_eq!(desk.claim("ann").id, first.id);
    assert_eq!(desk.claim("bob").id.0, "read-2");
    let error = desk.run(&["claim", "--reader", "eve"]).unwrap_err();
    assert_eq!((error.code(), error.kind().exit_code()), ("held", 1));
    assert!(error.to_string().contains("ann has read-1 since 1970-01-01T00:00:00Z"), "{error}");
    assert_eq!(counts(&desk.status())[..3], [0, 2, 1]);
    assert_eq!(desk.status().active[1].reader, "bob");
}

#[test]
fn a_brief_says_what_there_is_and_what_to_run() {
    let desk = Desk::planned(2, 4);
    let brief = desk.claim("default").brief.unwrap();
    let expected = "\
read-1: segment 1 of 3 in workspace demo, plan plan-2-4-655
104 tokens, 4 chunks, 2 files of 2 repositories
  a:src/1.rs:1-10
  b:src/1.rs:1-10

Read all of it, to its last line, then close it with what you found.
  auwai read --segment read-1
  auwai done --segment read-1 --summary '…'
";
    assert_eq!(brief, expected);
}

#[test]
fn a_released_segment_is_the_next_one_again() {
    let desk = Desk::planned(3, 2);
    desk.claim("ann");
    desk.claim("bob");
    assert_eq!(desk.code(&["release", "--segment", "read-1", "--reader", "bob"]), "held");
    desk.run(&["release", "--segment", "read-1", "--reader", "ann"]).unwrap();
    desk.run(&["release", "--segment", "read-1", "--reader", "ann"]).unwrap();
    assert_eq!(counts(&desk.status())[..3], [0, 1, 3]);
    assert_eq!(desk.claim("eve").id.0, "read-1");
    desk.run(&["release", "--segment", "read-1"]).unwrap();
    assert_eq!(desk.ask("SELECT status, started_at FROM segments LIMIT 1"), "[('pending', None)]");
    assert_eq!(desk.code(&["release", "--segment", "read-9"]), "unknown-segment");
}

#[test]
fn marks_count_once_and_keep_their_evidence() {
    let desk = Desk::planned(1, 2);
    let line = format!(
        "{{\"v\":1,\"type\":\"read\",\"repo\":\"a\",\"id\":\"{}\",\"path\":\"src/1.rs\",\
         \"bytes\":[3,9],\"body\":\"aa\",\"file\":\"bb\",\"head\":\"cc\",\"clean\":true}}\n",
        id(1, 0)
    );
    for _ in 0..2 {
        desk.feed(&["mark", "--reader", "ann", "--how", "run"], line.as_bytes()).unwrap();
    }
    assert_eq!(counts(&desk.status())[3..], [2, 1, 20, 10]);
    let evidence = "SELECT repo, chunk_id, body, file, path, from_byte, to_byte, reader, how,
        generation, plan, segment, at, head, clean FROM reads";
    let expected = format!(
        "[('a', '{}', 'aa', 'bb', 'src/1.rs', 3, 9, 'ann', 'run', 1, 'plan-1-2-65536', \
         'read-1', '1970-01-01T00:00:00Z', 'cc', 1)]",
        id(1, 0)
    );
    assert_eq!(desk.ask(evidence), expected);
    assert_eq!(
        desk.ask("SELECT read_at FROM chunks WHERE complete"),
        "[('1970-01-01T00:00:00Z',)]"
    );
}

#[test]
fn nobody_deletes_a_read() {
    let desk = Desk::planned(1, 2);
    desk.mark(1, 2);
    for sql in ["DELETE FROM reads", "UPDATE reads SET reader = 'x'"] {
        let out = std::process::Command::new("python3")
            .args(["-c", "import sqlite3,sys;sqlite3.connect(sys.argv[1]).execute(sys.argv[2])"])
            .args([desk.state("coverage.sqlite").as_os_str(), OsStr::new(sql)])
            .output()
            .unwrap();
        assert!(String::from_utf8_lossy(&out.stderr).contains("reads are never"), "{out:?}");
    }
}

#[test]
fn an_unknown_chunk_names_its_line_and_all_others_are_marked() {
    let desk = Desk::planned(1, 4);
    let mut input = deliveries(1, 4);
    let unknown = format!("{{\"v\":1,\"type\":\"read\",\"repo\":\"a\",\"id\":\"{}\"}}\n", id(9, 9));
    let at = input.iter().position(|b| *b == b'\n').unwrap() + 1;
    input.splice(at..at, unknown.bytes());
    let error = desk.feed(&["mark"], &input).unwrap_err();
    assert_eq!((error.code(), error.kind().exit_code()), ("not-planned", 3));
    let expected = format!("-:2: 'a:{}' is not in the plan", id(9, 9));
    assert_eq!(error.to_string(), expected);
    assert_eq!(desk.status().chunks.complete, 4);
}

#[test]
fn a_torn_line_ends_the_marks_before_it() {
    let desk = Desk::planned(1, 4);
    let input = deliveries(1, 4);
    let error = desk.feed(&["mark"], &input[..input.len() - 1]).unwrap_err();
    assert_eq!(error.to_string(), "-:4: the line is cut off");
    assert_eq!(desk.status().chunks.complete, 3);
}

#[test]
fn many_readers_at_once_get_different_segments() {
    let desk = Desk::planned(12, 2);
    let mut got: Vec<String> = std::thread::scope(|scope| {
        let claim = |n: usize| desk.claim(&format!("reader-{n}")).id.0;
        let all: Vec<_> = (0..12).map(|n| scope.spawn(move || claim(n))).collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    got.sort();
    got.dedup();
    assert_eq!(got.len(), 12);
    assert_eq!(counts(&desk.status())[..3], [0, 12, 1]);
}

#[test]
fn marks_from_two_sides_all_count() {
    let desk = Desk::planned(2, 300);
    std::thread::scope(|scope| {
        for (from, to) in [(1, 2), (2, 1)] {
            let desk = &desk;
            scope.spawn(move || [from, to].map(|n| desk.mark(n, 300)));
        }
    });
    assert_eq!(counts(&desk.status())[3..], [600, 600, 6000, 6000]);
    assert_eq!(desk.ask("SELECT sum(unread) FROM segment_progress"), "[(0,)]");
}

#[test]
fn a_path_in_a_segment_that_no_repository_can_have_is_damage() {
    let desk = Desk::planned(1, 4);
    let odd = "UPDATE segment_records SET files = replace(files, 'src/1.rs', '../1.rs')";
    let path = desk.state("coverage.sqlite");
    let sql =
        format!("import sqlite3; c = sqlite3.connect({path:?}); c.execute(\"{odd}\"); c.commit()");
    assert!(std::process::Command::new("python3").args(["-c", &sql]).status().unwrap().success());
    let error = desk.run(&["show", "--workspace", ".", "--segment", "read-1"]).unwrap_err();
    assert_eq!(error.code(), "damaged", "{error}");
    assert!(error.hints()[0].contains("`auwai plan --force`"));
}
