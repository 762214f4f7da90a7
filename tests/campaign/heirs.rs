//! Three readers, one of which is killed at random moments and started again, at times under another
//! name, so that what it had comes back by its lease alone. `AUWAI_CAMPAIGN_ROUNDS` says how often it
//! is killed, `AUWAI_CAMPAIGN_SEED` begins with a certain seed.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

use super::ground::{FULL_READ, Ground};
use super::state::State;
use crate::support::dice::{Dice, plays_of};
use crate::support::site::wait_until;

/// What a reader does until everything is done. It ends with 4 or more at what may not happen.
const READER: &str = r#"
while :; do
    told=$(auwai next --lease 1s --wait 1m --json)
    case $?:$told in
        0:*) ;;
        1:*'"code":"done"'*) exit 0 ;;
        1:*'"code":"held"'*) continue ;;
        *) echo "next: $told" >&2; exit 4 ;;
    esac
    id=$(jq -r .id <<< "$told")
    case $id in read-*)
        auwai read --segment "$id" | cat > /dev/null
        case ${PIPESTATUS[0]} in 0 | 1) ;; *) exit 5 ;; esac
    esac
    auwai done --segment "$id" -m "$id has been read
by $AUWAI_READER, who says so on lines of its own: the end of $id"
    case $? in 0 | 1) ;; *) exit 6 ;; esac
done
"#;

fn start(ground: &Ground, name: &str) -> Child {
    let mut reader = ground.site.command("bash");
    reader.args(["-c", READER]).env("AUWAI_READER", name);
    reader.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).process_group(0);
    reader.spawn().unwrap()
}

/// Kills a reader with all that it has started, unless it has come to its end.
fn kill(mut reader: Child) -> bool {
    let group = Pid::from_child(&reader);
    if let Some(status) = reader.try_wait().unwrap() {
        assert!(status.success(), "{}", said(reader));
        return false;
    }
    let _ = kill_process_group(group, Signal::KILL);
    reader.wait().unwrap();
    wait_until("the end of its processes", || test_kill_process_group(group).is_err());
    true
}

fn said(reader: Child) -> String {
    String::from_utf8_lossy(&reader.wait_with_output().unwrap().stderr).into_owned()
}

fn end(mut reader: Child) {
    let mut status = None;
    wait_until("the end of a reader", || {
        status = reader.try_wait().unwrap();
        status.is_some()
    });
    assert!(status.unwrap().success(), "{}", said(reader));
}

fn play(seed: u64, kills: u64) {
    // Enough work that it outlasts the kills.
    let ground = Ground::new(3 * kills, 150);
    let mut dice = Dice(seed);
    let steady = ["ann", "bob"].map(|name| start(&ground, name));
    let mut killed = 0;
    for _ in 0..kills {
        let victim = start(&ground, dice.pick(&["eve", "fay"]));
        std::thread::sleep(Duration::from_millis(dice.roll(500)));
        if !kill(victim) {
            break;
        }
        killed += 1;
    }
    assert!(killed > 0, "the others had done all before one could be killed");
    let last = start(&ground, "eve");
    steady.into_iter().chain([last]).for_each(end);
    let told = ground.site.run(&["verify"]);
    assert_eq!(told.code(), 0, "{}{}", told.text(), told.err);
    check(&ground);
}

/// Each segment was done once, each chunk read, and each finding is where it belongs.
fn check(ground: &Ground) {
    let state = State::of(&ground.site, FULL_READ);
    assert_eq!((state.left(), state.waiting), (0, 0));
    let segments: BTreeSet<_> = state.segments.iter().map(|segment| segment.0.as_str()).collect();
    let found: BTreeSet<_> = state.findings.iter().map(|row| row.0.as_str()).collect();
    assert_eq!((found, state.findings.len()), (segments, state.segments.len()), "once each");
    let unproven = "SELECT count(*) FROM chunks c WHERE NOT EXISTS
        (SELECT 1 FROM reads r WHERE r.repo = c.repo AND r.chunk_id = c.chunk_id)";
    let coverage = format!("{FULL_READ}/coverage.sqlite");
    assert_eq!(ground.site.ask(&coverage, unproven).trim(), "0");
    let text = fs::read_to_string(ground.site.work(FULL_READ).join("findings.md")).unwrap();
    let mut rest = text.as_str();
    for (segment, reader, said) in &state.findings {
        assert!(said.starts_with(&format!("{segment} has been read\nby {reader}, ")), "{said}");
        assert!(said.ends_with(&format!("the end of {segment}")), "{said}");
        let shown = said.lines().map(|line| format!("    {line}\n")).collect::<String>();
        let (_, after) = rest.split_once(&shown).unwrap_or_else(|| panic!("{shown}\n{text}"));
        rest = after;
    }
    assert!(!rest.contains("has been read"), "{text}");
}

#[test]
fn what_a_killed_reader_had_is_read_by_another_and_done_once() {
    plays_of("AUWAI_CAMPAIGN", "heirs", (12, 12), play);
}
