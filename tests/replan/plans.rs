//! What becomes of the segments.

use super::{ask, lines, next, planned, planned_by, read_all, replan, unread};

#[test]
fn an_edit_asks_for_what_it_touched_and_no_more() {
    let site = planned(&[("a.txt", lines("first", 1, 900)), ("b.txt", lines("second", 1, 300))]);
    read_all(&site);
    let text = lines("first", 1, 900).replace("number 450 ", "changed number 450 ");
    site.write("a.txt", text);
    let plan = replan(&site, &[]);
    assert!(plan["added"].as_u64().unwrap() <= 3, "{plan}");
    assert_eq!(plan["existing"], false);
    let left = unread(&site);
    assert!(!left.is_empty() && left.len() <= 3, "{left:?}");
    assert!(
        left.iter().all(|row| *row == ("a.txt".to_string(), "pending".to_string())),
        "{left:?}"
    );
    read_all(&site);
    assert_eq!(unread(&site), []);
}

#[test]
fn without_a_change_nothing_is_written() {
    let site = planned(&[("a.txt", lines("first", 1, 300))]);
    let plan = || ask(&site, "SELECT * FROM plans") + &ask(&site, "SELECT * FROM revisions");
    let before = plan();
    let record = replan(&site, &[]);
    assert_eq!((&record["existing"], &record["added"]), (&true.into(), &serde_json::Value::Null));
    assert_eq!(plan(), before);
}

#[test]
fn a_chunk_of_which_other_bytes_were_read_is_unread_again() {
    let site = planned(&[("a.txt", lines("first", 1, 300))]);
    read_all(&site);
    // As if the bytes that were read had the id of those that are there now.
    let forged =
        "UPDATE marks SET body = zeroblob(32) WHERE chunk = (SELECT min(chunk) FROM marks)";
    ask(&site, forged);
    ask(&site, "UPDATE plans SET plan = replace(plan, 'fingerprint\":\"', 'fingerprint\":\"0')");
    assert_eq!(unread(&site), [("a.txt".to_string(), "changed".to_string())]);
    for verb in [
        "chunks --workspace . | jq -c 'select(.type == \"chunk\" and .complete == false)'",
        "coverage --unread",
    ] {
        let told = site.sh(&format!("auwai-ledger {verb} | jq -r 'select(.path) | .path, .why'"));
        let why = if verb.starts_with("coverage") { "changed" } else { "null" };
        assert_eq!(told.text(), format!("a.txt\n{why}\n"), "{verb}");
    }
    let plan = replan(&site, &[]);
    assert_eq!((&plan["removed"], &plan["added"]), (&1.into(), &1.into()));
    assert_eq!(unread(&site), [("a.txt".to_string(), "pending".to_string())]);
    read_all(&site);
    assert_eq!(unread(&site), []);
}

#[test]
fn there_must_be_a_plan() {
    let site = crate::support::site::Site::new();
    site.write("a", "text\n");
    let told = site.run(&["replan"]).expect_code(3);
    assert_eq!(told.err, "auwai: there is no plan yet\nhint: make one: `auwai plan`\n");
}

#[test]
fn what_is_done_or_active_keeps_its_id_and_gets_nothing_new() {
    let site = planned(&[("a.txt", lines("first", 1, 2000))]);
    let first = next(&site).unwrap();
    site.ok(&["read"]);
    site.ok(&["done"]);
    let second = next(&site).unwrap();
    let stands = "SELECT segment_id, status, chunks FROM segment_records JOIN segments USING (segment_id) \
        WHERE status <> 'pending' ORDER BY seq";
    let before = ask(&site, stands);
    site.write("0.txt", lines("zeroth", 1, 100));
    replan(&site, &[]);
    assert_eq!(ask(&site, stands), before);
    assert_eq!((first.as_str(), second.as_str()), ("read-1", "read-2"));
    assert_eq!(next(&site).as_deref(), Some("read-2"), "its reader still has it");
}

#[test]
fn a_segment_whose_rest_has_gone_can_be_closed() {
    let site = planned(&[("a.txt", lines("first", 1, 60)), ("b.txt", lines("second", 1, 60))]);
    assert_eq!(next(&site).as_deref(), Some("read-1"));
    std::fs::remove_file(site.work("b.txt")).unwrap();
    site.run(&["read"]).expect_code(3);
    site.run(&["done"]).expect_code(1);
    replan(&site, &[]);
    site.ok(&["done", "-m", "the rest is gone"]);
    assert_eq!(unread(&site), []);
}

#[test]
fn a_pending_file_that_is_gone_takes_its_segment_along() {
    let site = planned(&[("a.txt", lines("first", 1, 300)), ("z.txt", lines("last", 1, 900))]);
    let last = |site| ask(site, "SELECT max(CAST(substr(segment_id, 6) AS INTEGER)) FROM segments");
    let before: u64 = last(&site).trim().parse().unwrap();
    std::fs::remove_file(site.work("z.txt")).unwrap();
    replan(&site, &[]);
    assert!(last(&site).trim().parse::<u64>().unwrap() < before);
    site.write("z.txt", lines("last", 1, 900));
    replan(&site, &[]);
    let ids = ask(&site, "SELECT segment_id FROM segment_records ORDER BY seq");
    assert!(
        ids.ends_with("synthesis-1\n") && ids.contains(&format!("read-{}\n", before + 1)),
        "{ids}"
    );
    read_all(&site);
    assert_eq!(unread(&site), []);
}

#[test]
fn the_synthesis_is_done_again_when_there_is_something_new() {
    let site = planned(&[("a.txt", lines("first", 1, 60))]);
    assert_eq!(read_all(&site), ["read-1", "synthesis-1"]);
    site.write("b.txt", lines("second", 1, 60));
    replan(&site, &[]);
    assert_eq!(read_all(&site), ["read-2", "synthesis-1"]);
    let findings = ask(&site, "SELECT segment, text FROM findings ORDER BY id");
    assert_eq!(findings.matches("\nsynthesis-1 ").count(), 2, "{findings}");
    // A move is nothing new.
    std::fs::rename(site.work("b.txt"), site.work("c.txt")).unwrap();
    replan(&site, &[]);
    assert_eq!(read_all(&site), Vec::<String>::new());
}

/// Its segment had gone with it, so it comes back in a new one, which is read and not closed.
#[test]
fn the_synthesis_waits_for_a_segment_of_what_was_read_before() {
    let text = lines("second", 1, 300);
    let files = [("a.txt", lines("first", 1, 560)), ("b.txt", text.clone())];
    let site = planned_by("o200k_base", &files);
    let of_b = "SELECT segment_id FROM segment_records WHERE chunks LIKE '%' || \
        (SELECT min(chunk_id) FROM chunks WHERE path = 'b.txt') || '%'";
    let second = ask(&site, of_b).trim().to_string();
    assert_eq!(next(&site).as_deref(), Some("read-1"));
    assert_ne!(second, "read-1");
    site.ok(&["read", "b.txt"]);
    std::fs::remove_file(site.work("b.txt")).unwrap();
    replan(&site, &[]);
    assert_eq!(ask(&site, &format!("SELECT * FROM segments WHERE segment_id = '{second}'")), "");
    site.ok(&["read"]);
    site.ok(&["done", "-m", "first"]);
    assert_eq!(read_all(&site), ["synthesis-1"]);
    site.write("b.txt", text);
    replan(&site, &[]);
    assert_eq!(unread(&site), []);
    let left = "SELECT kind, status FROM segments JOIN segment_records USING (segment_id) \
        WHERE status <> 'done' ORDER BY 1";
    assert_eq!(ask(&site, left), "read pending\nsynthesis pending\n");
}

/// Lines below 1,000 cost a token less than those above: what is put in front makes a segment grow
/// that nobody has touched.
#[test]
fn a_segment_that_outgrew_its_budget_is_split() {
    let short: String = (0..3000).map(|n| format!("x{}\n", n % 7)).collect();
    let site = planned_by("o200k_base", &[("a.txt", short.clone())]);
    site.write("a.txt", lines("new", 1, 997) + &short);
    replan(&site, &[]);
    let budget: u64 = ask(&site, "SELECT json_extract(policy, '$.segment_budget') FROM plans")
        .trim()
        .parse()
        .unwrap();
    let ids = ask(&site, "SELECT segment_id FROM segment_records WHERE kind = 'read'");
    let tokenizer = bpe_openai::o200k_base();
    for id in ids.lines() {
        let text = site.ok(&["read", "--segment", id]);
        let tokens = tokenizer.count(&text) as u64;
        assert!(tokens <= budget, "{id}: {tokens} of {budget}");
    }
    assert_eq!(unread(&site), [], "and all of it was read");
}

#[test]
fn another_window_divides_anew_what_is_unread() {
    let site = planned(&[("a.txt", lines("first", 1, 1500))]);
    next(&site);
    site.ok(&["read"]);
    site.ok(&["done"]);
    let read = "SELECT chunks FROM segment_records WHERE segment_id = 'read-1'";
    let before = ask(&site, read);
    replan(&site, &["--context-window", "8k"]);
    assert_eq!(ask(&site, read), before);
    let budget = "SELECT max(s.tokens) <= json_extract(p.policy, '$.segment_budget') FROM plans p, segments s \
        WHERE s.segment_id <> 'read-1'";
    assert_eq!(ask(&site, budget), "1\n");
    let policy =
        ask(&site, "SELECT json_extract(policy, '$.context_window', '$.reserve') FROM plans");
    assert_eq!(policy, "[8000,1000]\n", "what is not said stays");
    read_all(&site);
    assert_eq!(unread(&site), []);
    let small = site.run(&["replan", "--context-window", "3500"]);
    assert_eq!(small.code(), 0, "there is nothing left to divide");
}

#[test]
fn a_page_size_comes_and_goes() {
    let site = planned(&[("a.txt", lines("first", 1, 300))]);
    let page = || ask(&site, "SELECT json_extract(policy, '$.page') FROM plans");
    for (option, kept) in [("9k", "9000\n"), ("none", "None\n")] {
        replan(&site, &["--page", option]);
        assert_eq!(page(), kept);
        let pages = site.ok(&["read", "--segment", "read-1"]).contains("page 1/");
        assert_eq!(pages, option == "9k");
    }
    site.run(&["replan", "--page", "0"]).expect_code(2);
}

#[test]
fn a_window_that_is_too_small_is_refused_and_nothing_changes() {
    let site = planned(&[("a.txt", lines("first", 1, 900))]);
    let before = ask(&site, "SELECT * FROM plans");
    let told = site.run(&["replan", "--context-window", "3100"]).expect_code(3);
    assert!(
        told.err.contains("hint: the smallest that works: `auwai replan --context-window"),
        "{}",
        told.err
    );
    assert_eq!(ask(&site, "SELECT * FROM plans"), before);
}

#[test]
fn another_tokenizer_is_refused() {
    let site = planned_by("o200k_base", &[("a.txt", lines("first", 1, 60))]);
    let told = site.run(&["replan", "--tokenizer", "bytes/4"]).expect_code(1);
    assert!(told.err.contains("`auwai plan --force --tokenizer bytes/4`"), "{}", told.err);
    site.ok(&["index", "--tokenizer", "bytes/4"]);
    let told = site.run(&["replan"]).expect_code(1);
    assert!(told.err.contains("`auwai plan --force --tokenizer bytes/4`"), "{}", told.err);
}

#[test]
fn a_stream_that_is_cut_off_or_lacks_something_changes_nothing() {
    let site = planned(&[("a.txt", lines("first", 1, 300))]);
    let before = ask(&site, "SELECT * FROM plans");
    let feed = |script: &str| site.sh(&format!("{script} | auwai-ledger replan --workspace ."));
    let cut = feed("auwai-ledger chunks --workspace . --hashes | head -n 3").expect_code(3);
    assert!(cut.err.contains("ended without its end record"), "{}", cut.err);
    let plain = feed("auwai-ledger chunks --workspace .").expect_code(3);
    assert!(plain.err.contains("comes without its hashes"), "{}", plain.err);
    let other = feed("auwai-ledger chunks --repo other=. --hashes").expect_code(3);
    assert!(other.err.contains("not the chunks of the workspace"), "{}", other.err);
    assert_eq!(ask(&site, "SELECT * FROM plans"), before);
}
