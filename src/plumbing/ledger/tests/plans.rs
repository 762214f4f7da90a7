#![cfg(test)]
//! Adopting plans.

use super::*;

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
    let whole = plan(5, 1, 65_536);
    let policy = whole.split_inclusive(|byte| *byte == b'\n').next().unwrap();
    assert_eq!(desk.feed(&["adopt"], policy).unwrap(), again);
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
        assert!(error.code() != "bad-plan" || error.hints()[0].contains("`auwai plan --force`"));
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
