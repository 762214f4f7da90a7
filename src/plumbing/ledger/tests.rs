//! The verbs of a workspace, through `run` in memory.

#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use clap::Parser;

use super::*;
use crate::cli::World;
use crate::record::{self, Record, Segment, SegmentStatus, Status};
use crate::store::coverage::testing::{id, plan, reads};
use crate::workspace::Workspace;

/// A workspace in a folder of its own, and the tool run in it.
struct Desk {
    dir: tempfile::TempDir,
}

impl Desk {
    fn new() -> Desk {
        let desk = Desk { dir: tempfile::tempdir().unwrap() };
        Workspace::init(desk.dir.path(), "demo").unwrap();
        desk
    }

    /// With a plan of `segments` read segments of `chunks` chunks.
    fn planned(segments: u64, chunks: u64) -> Desk {
        let desk = Desk::new();
        desk.feed(&["adopt"], &plan(segments, chunks, 65_536)).unwrap();
        desk
    }

    fn state(&self, name: &str) -> PathBuf {
        self.dir.path().join(".auwai/workspace").join(name)
    }

    fn run(&self, args: &[&str]) -> Result<Vec<Record>> {
        self.feed(args, b"")
    }

    fn feed(&self, args: &[&str], input: &[u8]) -> Result<Vec<Record>> {
        self.whole(args, input, &[]).map(|(out, _)| out)
    }

    fn whole(
        &self,
        args: &[&str],
        mut input: &[u8],
        vars: &[(&str, &OsStr)],
    ) -> Result<(Vec<Record>, String)> {
        let world = World::of(self.dir.path(), vars);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let tool = Ledger::try_parse_from([&["auwai-ledger"], args].concat()).unwrap();
        let mut io = Io { input: &mut input, out: &mut out, err: &mut err, world: &world };
        tool.run(&mut io)?;
        let out = String::from_utf8(out).unwrap();
        let records = out.lines().map(|line| record::parse(line).unwrap()).collect();
        Ok((records, String::from_utf8(err).unwrap()))
    }

    fn code(&self, args: &[&str]) -> String {
        self.run(args).unwrap_err().code().to_string()
    }

    fn claim(&self, reader: &str) -> Segment {
        match self.run(&["claim", "--reader", reader]).unwrap().remove(0) {
            Record::Segment(segment) => segment,
            other => panic!("{other:?}"),
        }
    }

    fn mark(&self, segment: u64, chunks: u64) {
        self.feed(&["mark"], &deliveries(segment, chunks)).unwrap();
    }

    fn status(&self) -> Status {
        match self.run(&["status"]).unwrap().remove(0) {
            Record::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    /// What any script sees that opens the ledger.
    fn ask(&self, sql: &str) -> String {
        let out = std::process::Command::new("python3")
            .args(["-c", "import sqlite3,sys;print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall())"])
            .arg(self.state("coverage.sqlite"))
            .arg(sql)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_string()
    }

    fn findings(&self) -> String {
        std::fs::read_to_string(self.state("findings.md")).unwrap_or_default()
    }
}

fn deliveries(segment: u64, chunks: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for read in reads(segment, chunks) {
        record::write(&mut out, &read).unwrap();
    }
    out
}

fn counts(status: &Status) -> [u64; 7] {
    let s = status.segments.unwrap();
    let (c, t) = (status.chunks, status.tokens);
    [s.done, s.active, s.pending, c.planned, c.complete, t.planned, t.complete]
}

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
fn every_planned_chunk_has_its_row_under_the_published_names() {
    let desk = Desk::planned(2, 3);
    let row = "SELECT repo, chunk_id, path, read_at, complete FROM chunks ORDER BY 1, 2 LIMIT 1";
    assert_eq!(desk.ask(row), format!("[('a', '{}', 'src/1.rs', None, 0)]", id(1, 0)));
    let row = "SELECT segment_id, status, started_at, done_at, tokens FROM segments LIMIT 1";
    assert_eq!(desk.ask(row), "[('read-1', 'pending', None, None, 94)]");
    let key = "SELECT name, pk FROM pragma_table_info('chunks') WHERE pk > 0 ORDER BY pk";
    assert_eq!(desk.ask(key), "[('repo', 1), ('chunk_id', 2)]");
}

#[test]
fn adopting_twice_is_once_and_another_policy_is_refused() {
    let desk = Desk::planned(2, 3);
    desk.mark(1, 3);
    let again = desk.feed(&["adopt"], &plan(5, 1, 65_536)).unwrap();
    let Record::Plan(there) = &again[0] else { panic!("{again:?}") };
    assert_eq!((there.existing, there.chunks), (Some(true), 6));
    assert_eq!(there.coverage.as_deref(), desk.state("coverage.sqlite").to_str());
    assert!(matches!(&again[1], Record::End(end) if end.of == "plan"));
    let error = desk.feed(&["adopt"], &plan(2, 3, 131_072)).unwrap_err();
    assert_eq!((error.code(), error.kind().exit_code()), ("planned", 1));
    assert!(error.hints().iter().any(|hint| hint.contains("--force")));
    assert_eq!(desk.status().chunks.complete, 3);
}

#[test]
fn force_begins_a_generation_and_keeps_the_history() {
    let desk = Desk::planned(2, 4);
    desk.claim("default");
    desk.mark(1, 4);
    desk.run(&["close", "-m", "first"]).unwrap();
    desk.feed(&["adopt", "--force"], &plan(1, 4, 131_072)).unwrap();
    assert_eq!(counts(&desk.status()), [0, 0, 2, 4, 0, 40, 0]);
    desk.claim("default");
    desk.mark(1, 4);
    desk.run(&["close", "-m", "second"]).unwrap();
    let history = "SELECT generation, plan, count(*) FROM reads GROUP BY 1";
    assert_eq!(desk.ask(history), "[(1, 'plan-2-4-65536', 4), (2, 'plan-1-4-131072', 4)]");
    assert!(desk.findings().contains("    first\n") && desk.findings().contains("    second\n"));
}

#[test]
fn a_finished_plan_says_how_to_go_on() {
    let desk = Desk::planned(0, 0);
    desk.run(&["close", "--segment", "synthesis-1"]).unwrap();
    let (_, said) = desk.whole(&["adopt"], &plan(1, 1, 65_536), &[]).unwrap();
    assert!(said.contains("auwai replan") && said.contains("--force"), "{said}");
}

#[test]
fn a_plan_cut_off_anywhere_changes_nothing() {
    let whole = plan(2, 3, 65_536);
    let lines: Vec<&[u8]> = whole.split_inclusive(|b| *b == b'\n').collect();
    let desk = Desk::new();
    for n in 0..lines.len() {
        let error = desk.feed(&["adopt"], &lines[..n].concat()).unwrap_err();
        assert_eq!((error.code(), error.kind().exit_code()), ("cut-off", 3), "{n} lines");
        assert!(!error.hints().is_empty());
        assert_eq!(desk.status().plan, None);
    }
    desk.feed(&["adopt"], &whole).unwrap();
    desk.mark(1, 3);
    desk.feed(&["adopt", "--force"], &lines[..3].concat()).unwrap_err();
    assert_eq!(desk.status().chunks.complete, 3);
}

#[test]
fn a_plan_that_contradicts_itself_is_named_by_line() {
    let good = String::from_utf8(plan(2, 2, 65_536)).unwrap();
    let cases = [
        (good.replace("\"segments\":3", "\"segments\":4"), "-:5: the plan does not sum up"),
        (good.replace("\"count\":3", "\"count\":2"), "-:6: not the end record"),
        (good.replace("read-2", "read-1"), "-:3: a segment of that id came before"),
        (
            good.replace("0000000200000001", "0000000100000001"),
            "-: the plan has the chunk 'b:0000000100000001' twice",
        ),
        (good.replacen("src/1.rs", "../1.rs", 1), "-:2: not a path inside a repository"),
        (good.replacen("\"chunks\":1", "\"chunks\":2", 1), "-:2: segment 'read-1': its files"),
        (good.replacen("\"repo\":\"a\"", "\"repo\":\"b\"", 1), "-:2: segment 'read-1': 'a:"),
    ];
    let desk = Desk::new();
    for (bad, message) in cases {
        assert_ne!(bad, good);
        let error = desk.feed(&["adopt"], bad.as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with(message), "{error}");
        assert_eq!(desk.status().plan, None);
    }
}

#[test]
fn a_path_that_is_not_utf8_is_kept_as_bytes() {
    let text = String::from_utf8(plan(1, 1, 65_536)).unwrap();
    let odd = "\"path\":\"src/\u{fffd}\",\"path_b64\":\"c3JjL/8=\"";
    let desk = Desk::new();
    desk.feed(&["adopt"], text.replace("\"path\":\"src/1.rs\"", odd).as_bytes()).unwrap();
    desk.mark(1, 1);
    assert_eq!(desk.ask("SELECT path FROM chunks"), "[(b'src/\\xff',)]");
    assert_eq!(desk.ask("SELECT path FROM reads"), "[(b'src/\\xff',)]");
    let listed = desk.run(&["coverage"]).unwrap();
    assert!(matches!(&listed[0], Record::Read(read) if read.path_b64.is_some()));
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
  a/src/1.rs:1-10
  b/src/1.rs:1-10

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
fn an_unknown_chunk_names_its_line_and_what_came_before_stands() {
    let desk = Desk::planned(1, 4);
    let mut input = deliveries(1, 4);
    let unknown = format!("{{\"v\":1,\"type\":\"read\",\"repo\":\"a\",\"id\":\"{}\"}}\n", id(9, 9));
    let at = input.iter().position(|b| *b == b'\n').unwrap() + 1;
    input.splice(at..at, unknown.bytes());
    let error = desk.feed(&["mark"], &input).unwrap_err();
    assert_eq!(error.kind().exit_code(), 3);
    let expected = format!("-:2: 'a:{}' is not in the plan", id(9, 9));
    assert_eq!(error.to_string(), expected);
    assert_eq!(desk.status().chunks.complete, 1);
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
fn a_segment_is_not_done_before_it_is_read() {
    let desk = Desk::planned(2, 4);
    desk.claim("default");
    desk.feed(&["mark"], &deliveries(1, 4)[..]).unwrap();
    let error = desk.run(&["close", "--segment", "read-2"]).unwrap_err();
    assert_eq!((error.code(), error.kind().exit_code()), ("not-read", 1));
    assert_eq!(error.to_string(), "4 chunks are unread in segment 'read-2'");
    assert_eq!(error.hints(), ["`auwai read --segment read-2 --unread`"]);
    assert_eq!(desk.code(&["close", "--segment", "synthesis-1"]), "not-read");
    assert_eq!(desk.code(&["close", "--segment", "read-9"]), "unknown-segment");
    assert_eq!(desk.code(&["close", "--reader", "bob"]), "no-segment");
    assert_eq!(desk.code(&["close", "--segment", "read-1", "--reader", "bob"]), "held");
    assert_eq!(desk.findings(), "");
    desk.run(&["close"]).unwrap();
}

#[test]
fn the_same_summary_again_is_nothing_and_another_is_refused() {
    let desk = Desk::planned(1, 2);
    desk.mark(1, 2);
    for _ in 0..2 {
        desk.run(&["close", "--segment", "read-1", "-m", "found"]).unwrap();
    }
    desk.run(&["close", "--segment", "read-1"]).unwrap();
    let error = desk.run(&["close", "--segment", "read-1", "-m", "other"]).unwrap_err();
    assert_eq!((error.code(), error.kind().exit_code()), ("closed", 1));
    assert_eq!(desk.findings().matches("    found\n").count(), 1);
    assert_eq!(desk.code(&["release", "--segment", "read-1"]), "closed");
    assert_eq!(desk.code(&["close", "--segment", "read-1", "-m", " \n"]), "usage");
}

#[test]
fn a_summary_comes_from_a_file_too() {
    let desk = Desk::planned(2, 2);
    desk.mark(1, 2);
    desk.mark(2, 2);
    std::fs::write(desk.dir.path().join("f"), "from a file\n").unwrap();
    desk.run(&["close", "--segment", "read-1", "-F", "f"]).unwrap();
    desk.feed(&["close", "--segment", "read-2", "-F", "-"], b"from input\n").unwrap();
    assert!(desk.findings().contains("    from a file\n<!-- finding 1 end -->\n"));
    assert!(desk.findings().contains("    from input\n<!-- finding 2 end -->\n"));
}

#[test]
fn a_finding_that_could_not_be_appended_comes_with_the_next_command() {
    let desk = Desk::planned(1, 2);
    desk.mark(1, 2);
    std::fs::create_dir(desk.state("findings.md")).unwrap();
    let error = desk.run(&["close", "--segment", "read-1", "-m", "found"]).unwrap_err();
    assert_eq!(error.kind().exit_code(), 3);
    assert_eq!(desk.status().segments.unwrap().done, 1);
    std::fs::remove_dir(desk.state("findings.md")).unwrap();
    std::fs::write(desk.state("findings.md"), "# mine\n<!-- finding 1 be").unwrap();
    desk.status();
    let text = desk.findings();
    assert!(text.starts_with("# mine\n<!-- finding 1 begin -->\nread-1, reader default"), "{text}");
    assert!(text.ends_with("    found\n<!-- finding 1 end -->\n"), "{text}");
    desk.status();
    assert_eq!(desk.findings(), text);
}

#[test]
fn segments_are_listed_in_order() {
    let desk = Desk::planned(130, 1);
    desk.claim("ann");
    let ids = |args: &[&str]| {
        let all = desk.run(args).unwrap();
        let Record::End(end) = &all[all.len() - 1] else { panic!() };
        assert_eq!(end.count as usize, all.len() - 1);
        let id = |record: &Record| match record {
            Record::Segment(segment) => segment.id.0.clone(),
            other => panic!("{other:?}"),
        };
        all[..all.len() - 1].iter().map(id).collect::<Vec<_>>()
    };
    let all = ids(&["segments"]);
    assert_eq!((all.len(), all[129].as_str(), all[130].as_str()), (131, "read-130", "synthesis-1"));
    assert_eq!(ids(&["segments", "--status", "active"]), ["read-1"]);
    assert_eq!(ids(&["segments", "read-7", "read-2", "read-7"]), ["read-2", "read-7"]);
    assert_eq!(desk.code(&["segments", "read-7", "read-x"]), "unknown-segment");
}

#[test]
fn a_listed_plan_can_be_adopted() {
    let stream = plan(3, 2, 65_536);
    let desk = Desk::new();
    desk.feed(&["adopt"], &stream).unwrap();
    let mut listed = Vec::new();
    for record in desk.run(&["segments", "--plan"]).unwrap() {
        record.write(&mut listed).unwrap();
    }
    assert_eq!(String::from_utf8(listed).unwrap(), String::from_utf8(stream).unwrap());
}

#[test]
fn coverage_lists_each_planned_chunk() {
    let desk = Desk::planned(2, 2);
    desk.claim("ann");
    desk.feed(&["mark"], &deliveries(1, 2)[..]).unwrap();
    desk.claim("ann");
    let all = desk.run(&["coverage"]).unwrap();
    assert!(matches!(&all[0], Record::Read(read) if read.path.as_deref() == Some("src/1.rs")));
    assert!(matches!(&all[4], Record::End(end) if end.of == "chunk" && end.count == 4));
    let unread = desk.run(&["coverage", "--unread"]).unwrap();
    let Record::Unread(first) = &unread[0] else { panic!("{unread:?}") };
    assert_eq!((first.why, first.reader.as_deref()), (record::Why::Pending, None));
    assert_eq!(first.segment.as_ref().unwrap().0, "read-2");
    assert!(matches!(&unread[2], Record::End(end) if end.of == "unread" && end.count == 2));
}

#[test]
fn the_export_follows_the_segments() {
    let desk = Desk::planned(2, 2);
    let export = || {
        let text = std::fs::read_to_string(desk.state("fullread.json")).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()
    };
    let json = export();
    assert_eq!((&json["workspace"], &json["generation"]), (&"demo".into(), &1.into()));
    assert_eq!(json["policy"]["context_window"], 65_536);
    assert_eq!(json["repositories"][1], serde_json::json!({"name": "b", "chunks": 2}));
    assert_eq!(json["segments"][0]["chunk_ids"][1], format!("b:{}", id(1, 1)));
    assert_eq!(json["segments"][2]["kind"], "synthesis");
    desk.claim("ann");
    assert_eq!(
        (&export()["segments"][0]["status"], &export()["segments"][0]["reader"]),
        (&"active".into(), &"ann".into())
    );
    desk.mark(1, 2);
    desk.run(&["close", "--reader", "ann"]).unwrap();
    assert_eq!(export()["segments"][0]["status"], "done");
}

#[test]
fn the_reader_is_the_option_or_the_variable() {
    let desk = Desk::planned(2, 2);
    let set: &[(&str, &OsStr)] = &[("AUWAI_READER", OsStr::new("env"))];
    desk.whole(&["claim"], b"", set).unwrap();
    desk.whole(&["claim", "--reader", "opt"], b"", set).unwrap();
    let readers: Vec<String> = desk.status().active.into_iter().map(|h| h.reader).collect();
    assert_eq!(readers, ["env", "opt"]);
    let bad: &[(&str, &OsStr)] = &[("AUWAI_READER", OsStr::new("a b"))];
    assert_eq!(desk.whole(&["claim"], b"", bad).unwrap_err().kind().exit_code(), 2);
}

#[test]
fn the_workspace_is_named_set_or_around() {
    let desk = Desk::planned(1, 2);
    let elsewhere = tempfile::tempdir().unwrap();
    let root = desk.dir.path().as_os_str();
    let world = World::of(elsewhere.path(), &[("AUWAI_WORKSPACE", root)]);
    let status = |args: &[&str], world: &World| {
        let mut out = Vec::new();
        let tool = Ledger::try_parse_from([&["auwai-ledger", "status"], args].concat()).unwrap();
        let mut io = Io { input: &mut &b""[..], out: &mut out, err: &mut Vec::new(), world };
        tool.run(&mut io).map(|()| String::from_utf8(out).unwrap().contains("\"plan\""))
    };
    let plain = World::of(elsewhere.path(), &[]);
    assert!(status(&[], &world).unwrap());
    assert!(status(&["--workspace", root.to_str().unwrap()], &plain).unwrap());
    assert!(!status(&[], &plain).unwrap());
    let error = status(&["-W", "nowhere"], &plain).unwrap_err();
    assert_eq!((error.code(), error.hints().len()), ("unknown-workspace", 2));
}

#[test]
fn what_a_user_meets_says_what_to_run() {
    let desk = Desk::new();
    for args in [&["claim"][..], &["close"], &["mark"], &["segments"], &["coverage"]] {
        let error = desk.run(args).unwrap_err();
        assert_eq!(
            (error.code(), error.hints()[0].as_str()),
            ("no-plan", "make one: `auwai plan`")
        );
    }
    std::fs::write(desk.state("coverage.sqlite"), "not a database, but as long as one begins ...")
        .unwrap();
    let error = desk.run(&["claim"]).unwrap_err();
    assert_eq!((error.code(), error.hints().len()), ("damaged", 1));
}

#[test]
fn a_newer_ledger_is_left_alone() {
    let desk = Desk::planned(1, 1);
    let set = "import sqlite3,sys;sqlite3.connect(sys.argv[1]).execute('PRAGMA user_version=99')";
    let path = desk.state("coverage.sqlite");
    let done = std::process::Command::new("python3").args(["-c", set]).arg(path).status().unwrap();
    assert!(done.success());
    let error = desk.run(&["claim"]).unwrap_err();
    assert_eq!((error.code(), error.hints().len()), ("newer-schema", 1));
}

#[test]
fn a_state_folder_that_cannot_be_made_says_where_else() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::write(dir.path().join(".auwai"), "a file").unwrap();
    let world = World::of(dir.path(), &[]);
    let adopt = |args: &[&str]| {
        let stream = plan(1, 1, 65_536);
        let tool = Ledger::try_parse_from([&["auwai-ledger", "adopt"], args].concat()).unwrap();
        let mut io = Io {
            input: &mut &stream[..],
            out: &mut Vec::new(),
            err: &mut Vec::new(),
            world: &world,
        };
        tool.run(&mut io)
    };
    let error = adopt(&["-W", "."]).unwrap_err();
    assert_eq!(error.code(), "not-writable");
    assert!(error.hints()[0].contains("--state-dir"), "{:?}", error.hints());
    let named = Path::new("r");
    std::fs::create_dir(dir.path().join(named)).unwrap();
    adopt(&["-W", "r", "--state-dir", "s"]).unwrap();
    assert!(!dir.path().join("r/.auwai").exists());
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
fn closing_at_once_keeps_one_finding() {
    let desk = Desk::planned(1, 2);
    desk.mark(1, 2);
    std::thread::scope(|scope| {
        for _ in 0..6 {
            scope.spawn(|| desk.run(&["close", "--segment", "read-1", "-m", "found"]).unwrap());
        }
    });
    assert_eq!(desk.findings().matches("    found\n").count(), 1);
    assert_eq!(counts(&desk.status())[..3], [1, 0, 1]);
    assert_eq!(desk.ask("SELECT count(*), sum(appended) FROM findings"), "[(1, 1)]");
}
