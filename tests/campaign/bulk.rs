//! `next` while a plan of a large tree is being adopted. Only with `AUWAI_CAMPAIGN_LONG=1`.

use std::fmt::Write as _;
use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::ground::{SMALL, lines};
use crate::support::site::Site;

/// Chunks of a tree like that of the Linux source: 900 to a segment.
const SEGMENTS: u64 = 1_000;
const CHUNKS: u64 = 900;

/// A stream of chunks, as `auwai-ledger chunks` writes it.
fn chunks(site: &Site) {
    let mut out = String::from(
        "{\"v\":1,\"type\":\"repo\",\"name\":\"w\",\"path\":\"/w\",\"tokenizer\":\"o200k_base\"}\n",
    );
    for n in 0..SEGMENTS * CHUNKS {
        let id = n.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let _ = writeln!(
            out,
            "{{\"v\":1,\"type\":\"chunk\",\"repo\":\"w\",\"id\":\"{id:016x}\",\"path\":\"d{:04}/f{:06}.c\",\
             \"ord\":{},\"bytes\":[{},{}],\"lines\":[{},{}],\"tokens\":40,\"frame_tokens\":20,\"complete\":false}}",
            n / CHUNKS,
            n / 9,
            n % 9,
            n % 9 * 100,
            n % 9 * 100 + 100,
            n % 9 * 4 + 1,
            n % 9 * 4 + 4,
        );
    }
    let _ = writeln!(
        out,
        "{{\"v\":1,\"type\":\"end\",\"of\":\"chunk\",\"count\":{}}}",
        SEGMENTS * CHUNKS
    );
    fs::write(site.path("chunks.jsonl"), out).unwrap();
}

#[test]
#[allow(clippy::print_stderr, reason = "it is a figure")]
fn next_waits_while_a_large_plan_is_adopted() {
    if std::env::var_os("AUWAI_CAMPAIGN_LONG").is_none() {
        return;
    }
    let site = Site::new();
    // As many segments as readers come before the new plan is there.
    site.write("a.txt", lines("a long text", 40_000));
    site.ok(&[&["plan"][..], &SMALL].concat());
    chunks(&site);
    site.sh("auwai-plan < ../chunks.jsonl > ../plan.jsonl").expect_code(0);
    let mut adopt = site.command(env!("CARGO_BIN_EXE_auwai-ledger"));
    adopt.args(["adopt", "--workspace", ".", "--force"]).stdout(Stdio::null());
    adopt.stdin(fs::File::open(site.path("plan.jsonl")).unwrap());
    let (begun, mut adopt) = (Instant::now(), adopt.spawn().unwrap());
    let (mut longest, mut old, mut new) = (Duration::ZERO, 0, 0);
    loop {
        let ended = adopt.try_wait().unwrap();
        let before = Instant::now();
        // A reader of its own has to write, and so to wait.
        let told = site.run(&["next", "--json", "--reader", &format!("r{}", old + new)]);
        longest = longest.max(before.elapsed());
        assert!([0, 1].contains(&told.code()), "{}", told.err);
        assert!(!told.err.contains("locked") && !told.err.contains("holds"), "{}", told.err);
        if told.text().contains(".c\"") {
            new += 1
        } else {
            old += 1
        }
        if let Some(status) = ended {
            assert!(status.success());
            break;
        }
    }
    let (adopted, due) = (begun.elapsed(), SEGMENTS * CHUNKS);
    assert!(old > 0 && new > 0, "{old} before and {new} after");
    assert!(longest > Duration::from_millis(500), "nobody had to wait: {longest:?}");
    let planned = site.ask(".auwai/fullread/coverage.sqlite", "SELECT count(*) FROM chunks");
    assert_eq!(planned.trim(), due.to_string());
    eprintln!("adopted in {adopted:?}; the longest next took {longest:?}");
}
