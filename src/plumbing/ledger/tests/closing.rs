#![cfg(test)]
//! Closing segments, and their findings.

use super::*;

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

#[test]
fn an_export_that_cannot_be_written_fails_nothing() {
    let desk = Desk::new();
    std::fs::create_dir_all(desk.state("fullread.json/in the way")).unwrap();
    let told = |args: &[&str], input: &[u8]| desk.whole(args, input, &[]).unwrap().1;
    let warning = "auwai-ledger: fullread.json is not up to date: ";
    let adopted = told(&["adopt"], &plan(2, 1, 65_536));
    assert!(adopted.starts_with(warning), "{adopted}");
    assert!(told(&["claim"], b"").starts_with(warning));
    assert!(told(&["release", "--segment", "read-1"], b"").starts_with(warning));
    desk.mark(1, 1);
    assert!(told(&["close", "--segment", "read-1"], b"").starts_with(warning));
    assert!(told(&["status"], b"").starts_with(warning));
    assert_eq!(counts(&desk.status())[..3], [1, 0, 2]);
}
