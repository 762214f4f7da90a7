#![cfg(test)]
//! What lists and exports show.

use super::*;

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
    let desk = Desk::planned(3, 2);
    desk.mark(1, 2);
    desk.claim("ann");
    desk.run(&["close", "--reader", "ann"]).unwrap();
    desk.claim("ann");
    let half = deliveries(2, 2);
    let line = half.iter().position(|byte| *byte == b'\n').unwrap() + 1;
    desk.feed(&["mark"], &half[..line]).unwrap();
    let all = desk.run(&["coverage"]).unwrap();
    let is_read = |record: &Record| matches!(record, Record::Read(read) if read.path.is_some());
    let read: Vec<bool> = all[..6].iter().map(is_read).collect();
    assert_eq!(read, [true, true, true, false, false, false]);
    assert!(matches!(&all[6], Record::End(end) if end.of == "unread" && end.count == 3));
    let unread = desk.run(&["coverage", "--unread"]).unwrap();
    let why = |record: &Record| match record {
        Record::Unread(one) => {
            (one.segment.clone().unwrap().0, one.reader.clone(), one.why, one.id.unwrap())
        }
        other => panic!("{other:?}"),
    };
    let ann = Some("ann".to_string());
    assert_eq!(why(&unread[0]), ("read-2".into(), ann, record::Why::Leased, id(2, 1)));
    assert_eq!(why(&unread[1]), ("read-3".into(), None, record::Why::Pending, id(3, 0)));
    assert!(matches!(&unread[3], Record::End(end) if end.of == "unread" && end.count == 3));
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
fn a_claim_that_changes_nothing_writes_no_export() {
    let desk = Desk::planned(2, 2);
    desk.claim("ann");
    std::fs::remove_file(desk.state("fullread.json")).unwrap();
    assert_eq!(desk.claim("ann").id.to_string(), "read-1");
    assert!(!desk.state("fullread.json").exists());
    desk.claim("bob");
    assert!(desk.state("fullread.json").exists());
}
