//! Random edits, moves, reads and replans, held against what was really printed.

use std::collections::HashSet;
use std::fs;

use super::{check, lines, next, planned, read_all, replan, unread};
use crate::support::site::Site;

/// Numbers that are the same in every run.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// The files, by name.
fn files(site: &Site) -> Vec<String> {
    let names = fs::read_dir(site.path("w")).unwrap().map(|entry| entry.unwrap().file_name());
    let mut names: Vec<String> = names.map(|name| name.into_string().unwrap()).collect();
    names.retain(|name| name.ends_with(".txt"));
    names.sort();
    names
}

/// One change of the tree; `turn` makes new text that was never there.
fn change(site: &Site, turn: u64, dice: &mut Dice) {
    let names = files(site);
    let name = &names[dice.below(names.len() as u64) as usize];
    let text = fs::read_to_string(site.work(name)).unwrap();
    match dice.below(6) {
        0 | 1 => {
            let mut lines: Vec<&str> = text.lines().collect();
            let at = dice.below(lines.len() as u64) as usize;
            let new = format!("turn {turn} wrote this line, which nobody has seen before");
            lines[at] = &new;
            site.write(name, lines.join("\n") + "\n");
        }
        2 => fs::rename(site.work(name), site.work(format!("m{turn:02}.txt"))).unwrap(),
        3 => drop(fs::copy(site.work(name), site.work(format!("c{turn:02}.txt"))).unwrap()),
        4 if names.len() > 3 => fs::remove_file(site.work(name)).unwrap(),
        _ => site.write(format!("n{turn:02}.txt"), lines(&format!("new {turn}"), 1, 150)),
    }
}

/// The texts of the lines of a page.
fn printed(page: &str) -> impl Iterator<Item = String> {
    page.lines()
        .filter(|line| !line.starts_with('='))
        .map(|line| line.split_once('\t').map_or(line, |(_, text)| text).to_string())
}

/// Every line of a chunk that counts as read has been printed.
fn nothing_is_read_that_was_not_printed(site: &Site, seen: &HashSet<String>) {
    let stream = site.sh("auwai-ledger chunks --workspace .").expect_code(0);
    for line in stream.text().lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        if record["type"] != "chunk" || record["complete"] != true {
            continue;
        }
        let text = fs::read(site.work(record["path"].as_str().unwrap())).unwrap();
        let at = |n: usize| record["bytes"][n].as_u64().unwrap() as usize;
        let body = String::from_utf8(text[at(0)..at(1)].to_vec()).unwrap();
        for line in body.lines() {
            assert!(seen.contains(line), "{}: '{line}' was never printed", record["path"]);
        }
    }
}

#[test]
fn the_ledger_says_what_was_printed() {
    for seed in 1..=2 {
        let site = planned(&[
            ("a.txt", lines("first", 1, 300)),
            ("b.txt", lines("second", 1, 300)),
            ("c.txt", lines("third", 1, 200)),
        ]);
        let (mut dice, mut seen) = (Dice(seed), HashSet::new());
        for turn in 0..14 {
            (0..=dice.below(3)).for_each(|n| change(&site, turn * 4 + n, &mut dice));
            replan(&site, &[]);
            nothing_is_read_that_was_not_printed(&site, &seen);
            if let Some(id) = next(&site).filter(|id| id.starts_with("read-")) {
                seen.extend(printed(&site.ok(&["read", "--segment", &id])));
                if dice.below(4) > 0 {
                    site.ok(&["done", "-m", "seen"]);
                }
            }
        }
        read_all(&site);
        assert_eq!(unread(&site), []);
        // What is certain: where all is read, a move leaves all read.
        for (n, name) in files(&site).iter().enumerate() {
            fs::rename(site.work(name), site.work(format!("moved{n}.txt"))).unwrap();
        }
        replan(&site, &[]);
        assert_eq!(unread(&site), []);
        check(&site);
    }
}
