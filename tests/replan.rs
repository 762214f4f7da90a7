//! `auwai replan`: the plan follows the tree, and what was read stays read.

mod crowd;
mod model;
mod moves;
mod outdated;
mod outgrown;
mod plans;
mod rounds;
mod turns;

use crate::support::site::Site;

/// A file of numbered lines that no other file has.
fn lines(name: &str, from: u64, to: u64) -> String {
    (from..=to)
        .map(|n| format!("the {name} line has the number {n} and some more words\n"))
        .collect()
}

/// A place with these files in a repository, and a plan of small segments. Each process would load
/// the vocabulary of another tokenizer anew.
fn planned(files: &[(&str, String)]) -> Site {
    planned_by("bytes/4", files)
}

/// The same by a certain tokenizer.
fn planned_by(tokenizer: &str, files: &[(&str, String)]) -> Site {
    let site = Site::new();
    files.iter().for_each(|(path, text)| site.write(path, text));
    let sizes = ["--context-window", "12k", "--fixed-prompt", "2000", "--reserve", "1000"];
    site.ok(&[&["plan", "--tokenizer", tokenizer], &sizes[..]].concat());
    site
}

/// Reads on until there is nothing more, and closes everything; the segments.
fn read_all(site: &Site) -> Vec<String> {
    let mut closed = Vec::new();
    while let Some(id) = next(site) {
        if id.starts_with("read-") {
            site.ok(&["read"]);
        }
        site.ok(&["done", "-m", &format!("found in {id} at turn {}", closed.len())]);
        closed.push(id);
    }
    closed
}

/// Takes the next segment; its id.
fn next(site: &Site) -> Option<String> {
    let told = site.run(&["next", "--json"]);
    let record: serde_json::Value = serde_json::from_slice(&told.out).unwrap();
    (told.code() == 0).then(|| record["id"].as_str().unwrap().to_string())
}

/// What verify finds unread: path and reason.
fn unread(site: &Site) -> Vec<(String, String)> {
    let told = site.run(&["verify", "--json"]);
    let records = told.text().lines().map(|line| serde_json::from_str(line).unwrap());
    let rows = records.filter(|record: &serde_json::Value| record["type"] == "unread");
    let text = |record: &serde_json::Value, key: &str| record[key].as_str().unwrap().to_string();
    let rows: Vec<_> = rows.map(|row| (text(&row, "path"), text(&row, "why"))).collect();
    assert_eq!(told.code(), i32::from(!rows.is_empty()), "{}", told.err);
    rows
}

/// Asks the ledger with another SQLite than ours.
fn ask(site: &Site, sql: &str) -> String {
    site.ask(".auwai/fullread/coverage.sqlite", sql)
}

/// Lets the plan follow; the record.
fn replan(site: &Site, options: &[&str]) -> serde_json::Value {
    let told = site.ok(&[&["replan", "--json"], options].concat());
    let record = serde_json::from_str(told.trim()).unwrap();
    check(site);
    record
}

/// The totals that are kept are those that a count finds, and nothing is in two places.
fn check(site: &Site) {
    let sums = "SELECT chunks_planned, chunks_complete, tokens_planned, tokens_complete, pending, \
        active, done, read_segments_left FROM counters";
    let counts = "SELECT (SELECT count(*) FROM chunks), (SELECT count(*) FROM chunks WHERE complete), \
        (SELECT coalesce(sum(tokens), 0) FROM places), \
        (SELECT coalesce(sum(p.tokens), 0) FROM places p JOIN repos r USING (repo_no) JOIN chunks c \
            ON c.repo = r.name AND c.chunk_id = printf('%016x', p.chunk) WHERE c.complete), \
        (SELECT count(*) FROM segments WHERE status = 'pending'), \
        (SELECT count(*) FROM segments WHERE status = 'active'), \
        (SELECT count(*) FROM segments WHERE status = 'done'), \
        (SELECT count(*) FROM segments WHERE segment_id LIKE 'read-%' AND status <> 'done')";
    assert_eq!(ask(site, sums), ask(site, counts));
    let odd = "SELECT count(*) FROM segment_progress g JOIN segment_records r USING (seq) \
        WHERE g.unread <> (SELECT count(*) FROM json_each(r.chunks) j JOIN chunks c \
            ON c.repo || ':' || c.chunk_id = j.value WHERE NOT c.complete)";
    assert_eq!(ask(site, odd), "0\n", "unread chunks of a segment");
    let misplaced = "SELECT count(*) FROM segment_records r, json_each(r.chunks) j \
        LEFT JOIN repos n ON j.value LIKE n.name || ':%' \
        LEFT JOIN places p ON p.repo_no = n.repo_no AND n.name || ':' || printf('%016x', p.chunk) = j.value \
        WHERE p.seq IS NOT r.seq";
    assert_eq!(ask(site, misplaced), "0\n", "chunks that stand elsewhere than they are listed");
}
