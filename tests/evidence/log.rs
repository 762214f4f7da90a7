//! `auwai log`.

use std::fs;

use super::{HISTORY, PLAN, lines, read_all, records, repository};
use crate::support::site::Site;

fn read_by_two() -> Site {
    let site = repository();
    site.sh(&format!("cd r && {PLAN}")).expect_code(0);
    site.sh("cd r && auwai next --reader ann && auwai read --reader ann > /dev/null")
        .expect_code(0);
    read_all(&site, "r", "bob");
    site
}

#[test]
fn the_history_is_told_as_it_is_kept_the_newest_first() {
    let site = read_by_two();
    let told = records(&site.ok(&["-C", "r", "log", "--json"]));
    let rows: Vec<String> = told
        .iter()
        .map(|row| {
            let word = |key: &str| row[key].as_str().unwrap().to_string();
            let keys =
                ["repo", "id", "body", "file", "path", "reader", "how", "at", "plan", "segment"];
            keys.map(word).join(" ") + &format!(" {} {}", row["bytes"][0], row["bytes"][1])
        })
        .collect();
    let sql = "SELECT repo, chunk_id, body, file, path, reader, how, at, plan, segment, from_byte, \
        to_byte FROM reads ORDER BY id DESC";
    let kept = site.ask(format!("r/{HISTORY}"), sql);
    assert_eq!(rows.join("\n") + "\n", kept);
    assert!(rows.len() > 10, "{rows:?}");
}

#[test]
fn what_one_reader_has_read_in_one_go_is_one_line() {
    let site = read_by_two();
    let told = site.ok(&["-C", "r", "log"]);
    let whole = told.lines().filter(|line| line.contains("r:src/c.txt  ")).collect::<Vec<_>>();
    let size = fs::metadata(site.work("r/src/c.txt")).unwrap().len();
    assert_eq!(whole.len(), 1, "{told}");
    let bytes = format!("{},{:03} bytes", size / 1000, size % 1000);
    assert!(whole[0].contains("  bob  shown  read-") && whole[0].contains(&bytes), "{told}");
    let head = site.sh("cd r && git rev-parse HEAD").text()[..12].to_string();
    assert!(told.lines().all(|line| line.ends_with(&format!("  at {head}"))), "{told}");
    let chunks: u64 =
        site.ask(format!("r/{HISTORY}"), "SELECT count(*) FROM reads").trim().parse().unwrap();
    let count = |line: &str| {
        let word = line.split("  ").find(|part| part.contains("chunk")).unwrap();
        word.split(' ').next().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(told.lines().map(count).sum::<u64>(), chunks);
    assert!((told.lines().count() as u64) < chunks / 2, "{told}");
}

#[test]
fn readers_times_and_paths_choose() {
    let site = read_by_two();
    let log =
        |script: &str| site.sh(&format!("cd r && {script}")).expect_code(0).text().to_string();
    let (ann, bob) = (log("auwai log --reader ann"), log("auwai log --reader bob"));
    assert_eq!(log("auwai log"), bob.clone() + &ann);
    assert!(ann.lines().all(|line| line.contains("  ann  ")) && !ann.is_empty());
    let src = log("auwai log src");
    assert!(src.contains("src/b.txt") && src.contains("src/c.txt") && !src.contains("r:a.txt"));
    for same in
        ["cd src && auwai log .", "auwai -C src log .", "auwai log r:src", "auwai log $PWD/src/"]
    {
        assert_eq!(log(same), src, "{same}");
    }
    assert_eq!(log("cd src && auwai log ../a.txt"), log("auwai log a.txt"));
    // What is gone has its history.
    fs::remove_dir_all(site.work("r/src")).unwrap();
    assert_eq!(log("auwai log src"), src);
    assert_eq!(log("auwai log --since 1h"), bob + &ann);
    assert_eq!(log("auwai log --since '1 days ago' src"), src);
    assert_eq!(log("auwai log --since 2200-01-01"), "");
    for (bad, says) in
        [("--since soon", "a span back (2days, 3h)"), ("--since 100years", "before 1970")]
    {
        let told = site.sh(&format!("cd r && auwai log {bad}")).expect_code(2);
        assert!(told.err.contains(says), "{}", told.err);
    }
    let outside = site.sh("cd r && auwai log /etc").expect_code(3);
    assert!(outside.err.contains("'/etc' is in no repository here\nhint: "), "{}", outside.err);
}

#[test]
fn a_read_that_moves_keeps_who_made_it_and_how() {
    let site = repository();
    site.sh(&format!("cd r && {PLAN} && auwai run -- sh -c 'cat >/dev/null'")).expect_code(0);
    site.sh("cd r && git mv a.txt moved.txt && auwai replan").expect_code(0);
    let told = records(&site.ok(&["-C", "r", "log", "--json", "moved.txt"]));
    assert!(!told.is_empty());
    for row in &told {
        assert_eq!((&row["how"], &row["origin"]), (&"moved".into(), &"run".into()), "{row}");
        assert!(row["reader"].as_str().unwrap().starts_with("run"), "{row}");
    }
    let line = site.ok(&["-C", "r", "log", "moved.txt"]);
    assert!(line.contains("  moved (run)  "), "{line}");
}

#[test]
fn without_a_plan_there_is_nothing_to_tell() {
    let site = repository();
    assert_eq!(site.ok(&["-C", "r", "log"]), "");
    assert!(!site.work("r/.auwai").exists(), "a question leaves nothing behind");
}

#[test]
fn names_in_the_history_cannot_deceive() {
    let site = repository();
    site.write("r/evil\n\x1b[2J.txt", lines("evil", 9));
    site.sh(&format!("cd r && {PLAN}")).expect_code(0);
    read_all(&site, "r", "ann");
    let told = site.ok(&["-C", "r", "log"]);
    assert!(told.contains(r#"r:"evil\n\033[2J.txt""#) || told.contains(r"\x1b"), "{told}");
    assert!(!told.contains('\x1b'));
    assert_eq!(told.lines().filter(|line| line.starts_with("20")).count(), told.lines().count());
}

#[test]
fn a_reader_of_the_log_may_leave() {
    let site = read_by_two();
    let told = site.sh("cd r && auwai log --json | head -n 1; echo ${PIPESTATUS[0]}");
    assert_eq!((told.text().lines().last(), told.err.as_str()), (Some("0"), ""));
}
