//! Plans with marks: what came to the reader's eye is read, and nothing else.

use std::collections::BTreeSet;

use crate::support::site::{Site, Told};

const COVERAGE: &str = ".auwai/fullread/coverage.sqlite";
const SMALL: [&str; 6] = ["--context-window", "12k", "--fixed-prompt", "2500", "--reserve", "1000"];

/// A repository of some files, planned with marks.
fn planned(more: &[&str]) -> Site {
    let site = Site::new();
    for name in ["a", "b", "c"] {
        let lines = (1..=400).map(|n| format!("let {name}{n} = line({n});\n"));
        site.write(format!("{name}.rs"), lines.collect::<String>());
    }
    site.write("odd.txt", "=== mark 0000000000000\n1\t=== mark 0000000000001\n");
    site.ok(&[&["plan", "--marks"], &SMALL[..], more].concat());
    site
}

fn marks(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix("=== mark ")).collect()
}

/// `auwai VERB` with the marks of what was printed.
fn give(site: &Site, verb: &[&str], text: &str) -> Told {
    let marks = marks(text).join(" ");
    site.run(&[verb, &["--marks", &marks]].concat())
}

fn ask(site: &Site, sql: &str) -> String {
    site.ask(COVERAGE, sql).trim().to_string()
}

/// The lines that stand in the chunks that count as read, of all files.
fn read_lines(site: &Site) -> BTreeSet<String> {
    let told = site.sh("auwai-ledger coverage | jq -r 'select(.type == \"read\") | .id' | \
         xargs -r auwai-ledger show --workspace . | jq -r 'select(.type == \"body\") | .text'");
    told.expect_code(0).text().lines().filter(|l| !l.is_empty()).map(str::to_string).collect()
}

#[test]
fn a_page_whose_middle_was_cut_out_leaves_what_was_there_unread() {
    let site = planned(&[]);
    site.ok(&["next"]);
    let whole = site.ok(&["read"]);
    assert_eq!(ask(&site, "SELECT count(*) FROM chunks WHERE complete"), "0");
    let refused = site.run(&["done", "-m", "x"]).expect_code(1);
    assert!(refused.err.contains("--marks 'MARKS'"), "{}", refused.err);
    let (from, to) = (whole.len() / 3, whole.len() * 2 / 3);
    let cut = format!("{} [...] {}", &whole[..from], &whole[to..]);
    let told = give(&site, &["done", "-m", "x"], &cut).expect_code(1);
    assert!(told.err.contains("wait for marks, and stay unread"), "{}", told.err);
    let read = read_lines(&site);
    assert!(!read.is_empty());
    for line in &read {
        assert!(cut.contains(&format!("\t{line}\n")), "{line} was cut out and counts as read");
    }
    // What is printed now is what is left, and then all is confirmed.
    let rest = give(&site, &["read"], &cut).expect_code(0);
    assert!(rest.text().contains("=== end of read-1: what was unread"), "{}", rest.text());
    assert!(rest.text().len() < whole.len() / 2 + 4000);
    give(&site, &["done", "-m", "x"], rest.text()).expect_code(0);
    let how = "SELECT how, count(DISTINCT chunk_id) FROM reads GROUP BY how ORDER BY how";
    let all = ask(&site, "SELECT count(*) FROM chunks WHERE complete");
    assert_eq!(ask(&site, how), format!("confirmed {all}\nshown {all}"));
}

#[test]
fn guesses_are_refused_and_confirm_nothing() {
    let site = planned(&[]);
    site.ok(&["next"]);
    let page = site.ok(&["read"]);
    let right = marks(&page)[0];
    for guess in ["0000000000000", "0000000000001", &format!("{right} 1234567890123")] {
        let told = site.run(&["done", "--marks", guess]).expect_code(1);
        assert!(told.err.contains("is no mark of what was delivered last"), "{}", told.err);
    }
    for odd in ["", "12", "see above", "123456789012x"] {
        site.run(&["done", "--marks", odd]).expect_code(2);
    }
    // Nor does another reader's page prove anything.
    let told = give(&site, &["done", "--segment", "read-1", "--reader", "eve"], &page);
    assert_eq!(told.code(), 1);
    assert_eq!(ask(&site, "SELECT count(*) FROM chunks WHERE complete"), "0");
    // The marks of an earlier print are worth nothing.
    let again = site.ok(&["read"]);
    assert!(marks(&page).iter().all(|mark| !marks(&again).contains(mark)));
    give(&site, &["done"], &page).expect_code(1);
    give(&site, &["done"], &again).expect_code(0);
    give(&site, &["done", "--segment", "read-1"], &again).expect_code(0);
}

#[test]
fn pages_with_marks_hold_their_limit_and_are_confirmed_one_after_the_other() {
    let site = planned(&["--page", "4000"]);
    let mut pages = 0;
    while site.run(&["next"]).code() == 0 {
        let mut page = site.ok(&["read"]);
        while marks(&page).len() > 1 {
            pages += 1;
            assert!(page.chars().count() <= 4000, "{page}");
            let last = page.lines().last().unwrap();
            assert!(last.contains(" --marks '…'"), "{last}");
            page = give(&site, &["read"], &page).expect_code(0).text().to_string();
        }
        site.ok(&["done", "-m", "found"]);
    }
    assert!(pages > 5, "{pages}");
    site.ok(&["verify"]);
}

#[test]
fn what_is_printed_with_marks_is_within_the_budget_also_of_many_small_files() {
    let site = Site::new();
    for n in 0..160 {
        site.write(format!("d/{n}.txt"), format!("{n}\n"));
    }
    let lines = (1..=900).map(|n| format!("{n} {}\n", n * n)).collect::<String>();
    site.write("long.txt", lines);
    site.ok(&[&["plan", "--marks"], &SMALL[..]].concat());
    let status: serde_json::Value = serde_json::from_str(&site.ok(&["status", "--json"])).unwrap();
    let budget = status["policy"]["segment_budget"].as_u64().unwrap();
    assert_eq!(status["policy"]["marks"], true);
    let mut segments = 0;
    while site.run(&["next"]).code() == 0 {
        let Told { out, .. } = site.run(&["read"]);
        let text = String::from_utf8(out).unwrap();
        if !marks(&text).is_empty() {
            segments += 1;
            let tokens = bpe_openai::o200k_base().count(text.as_str()) as u64;
            assert!(tokens <= budget, "{tokens} {budget}");
            give(&site, &["done"], &text).expect_code(0);
        } else {
            site.ok(&["done"]);
        }
    }
    assert!(segments > 1, "{segments}");
    site.ok(&["verify"]);
}

#[test]
fn a_run_needs_no_marks_and_shows_none() {
    let site = planned(&[]);
    site.ok(&["run", "--", "sh", "-c", "tee -a ../taken | wc -w"]);
    let taken = std::fs::read_to_string(site.path("taken")).unwrap();
    assert!(marks(&taken).is_empty(), "{taken}");
    assert_eq!(ask(&site, "SELECT DISTINCT how FROM reads"), "run");
}

#[test]
fn what_is_read_again_by_its_path_proves_nothing() {
    let site = planned(&[]);
    let text = site.ok(&["read", "odd.txt"]);
    assert!(text.contains("1\t=== mark 0000000000000\n"), "{text}");
    assert_eq!(ask(&site, "SELECT count(*) FROM chunks WHERE complete"), "0");
}

#[test]
fn a_plan_without_marks_takes_none() {
    let site = Site::new();
    site.write("a.txt", "one\n");
    site.ok(&["plan"]);
    site.ok(&["next"]);
    let text = site.ok(&["read"]);
    assert!(marks(&text).is_empty() && !text.contains("--marks"), "{text}");
    let told = site.run(&["done", "--marks", "0481297355106"]).expect_code(1);
    assert!(told.err.contains("the plan is one without marks"), "{}", told.err);
    site.ok(&["done"]);
    // Marks are part of what a plan is made under.
    site.run(&["plan", "--marks"]).expect_code(1);
    let id = |told: String| told.lines().next().unwrap().to_string();
    let without = id(site.ok(&["plan", "--force", "--json"]));
    let with = id(site.ok(&["plan", "--force", "--marks", "--json"]));
    assert_ne!(without, with);
    assert_eq!(id(site.ok(&["plan", "--force", "--marks", "off", "--json"])), without);
}
