//! `auwai run` over a tree that changes.

use super::{ask, lines, planned, unread};

#[test]
fn a_run_reads_what_its_command_has_changed_until_the_tree_stands_still() {
    let site = planned(&[("a.txt", lines("first", 1, 300)), ("z.txt", lines("last", 1, 300))]);
    // The command mends the last file and writes a new one, each once.
    let script =
        "cat > /dev/null; grep -q mended z.txt || { echo mended >> z.txt; echo new > n.txt; }";
    let told = site.run(&["run", "--", "sh", "-c", script]).expect_code(0);
    assert!(told.err.contains("the plan follows the tree: "), "{}", told.err);
    assert_eq!(unread(&site), []);
    assert_eq!(
        ask(&site, "SELECT status, count(*) FROM segments GROUP BY 1").split(' ').next(),
        Some("done")
    );
    let read = ask(&site, "SELECT DISTINCT path FROM reads ORDER BY 1");
    assert_eq!(read, "a.txt\nn.txt\nz.txt\n");
}

#[test]
fn the_synthesis_of_a_run_comes_once_and_last() {
    let site = planned(&[("a.txt", lines("first", 1, 300))]);
    let log = site.path("log");
    let script = format!(
        "cat > /dev/null; echo $AUWAI_SEGMENT >> {}; [ -e n.txt ] || echo new > n.txt",
        log.display()
    );
    site.run(&["run", "--", "sh", "-c", &script]).expect_code(0);
    let log = std::fs::read_to_string(log).unwrap();
    assert_eq!(log.matches("synthesis-1").count(), 1, "{log}");
    assert!(log.ends_with("synthesis-1\n"), "{log}");
}

#[test]
fn a_run_goes_on_with_a_plan_that_the_tree_has_left() {
    let site = planned(&[("a.txt", lines("first", 1, 300)), ("b.txt", lines("second", 1, 60))]);
    std::fs::remove_file(site.work("b.txt")).unwrap();
    site.write("c.txt", lines("third", 1, 60));
    site.run(&["run", "--", "wc", "-w"]).expect_code(0);
    assert_eq!(unread(&site), []);
}

#[test]
fn a_command_that_writes_at_every_call_has_an_end() {
    let site = planned(&[("a.txt", lines("first", 1, 60))]);
    let told = site.run(&["run", "--", "sh", "-c", "cat > /dev/null; echo more >> log.txt"]);
    assert_eq!(told.code(), 1, "{}", told.err);
}
