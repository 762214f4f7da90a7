//! `auwai-inbox watch`: what comes is told at once, what was there by and by, nothing is lost.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::{Signal, kill_process};

use super::Place;
use super::watcher::{Watcher, children, lives};
use crate::support::site::wait_until;

#[test]
fn what_is_there_and_what_comes_is_told_in_order_and_once() {
    let place = Place::new();
    for n in 0..50 {
        place.put("ann", &format!("t{n:02}"));
        place.write(format!("tasks/t{n:02}.txt"), format!("priority: {}\n", n % 5));
    }
    place.put("ann", "stale");
    place.answer("stale");
    place.put("ann", "taken");
    place.ok(&["accept", "taken", "--reader", "ann"]);
    place.put("bob", "his");
    let wanted: Vec<String> = place
        .ok(&["list", "--reader", "ann", "--pending"])
        .iter()
        .filter_map(|task| Some(task.get("id")?.as_str()?.to_string()))
        .collect();
    assert_eq!(wanted.len(), 50);
    let watcher = Watcher::start(&place, "ann", &[]);
    wait_until("the sweep", || watcher.ids().len() >= 50);
    assert_eq!(watcher.ids(), wanted);
    place.ok(&["post", "new", "--reader", "ann", "-m", "x"]);
    place.ok(&["post", "for-bob", "--reader", "bob", "-m", "x"]);
    // Of another program: the pointer before the task.
    place.write("deliveries/ann/foreign.txt", "");
    place.write("tasks/foreign.txt", "x");
    watcher.wait_for(&["new", "foreign"]);
    // What is given back is told again.
    place.ok(&["accept", "new", "--reader", "ann"]);
    place.ok(&["release", "new", "--reader", "ann"]);
    wait_until("it again", || watcher.ids()[50..].iter().filter(|id| *id == "new").count() == 2);
    // And what is posted under an id that was used before.
    place.ok(&["archive", "t00"]);
    place.ok(&["post", "t00", "--reader", "ann", "-m", "next"]);
    wait_until("the next", || watcher.ids().iter().filter(|id| *id == "t00").count() == 2);
    let ids = watcher.ids();
    assert_eq!((ids.len(), ids.iter().any(|id| id == "for-bob")), (54, false), "{ids:?}");
}

/// 3,000 pointers that were left behind, many pending ones, and a reader that takes its time: what
/// comes does not stand behind them.
#[test]
fn a_sweep_never_delays_what_comes() {
    let place = Place::new();
    for n in 0..3000 {
        let id = format!("stale-{n}");
        place.put("ann", &id);
        place.answer(&id);
    }
    (0..100).for_each(|n| place.put("ann", &format!("old-{n:03}")));
    let mut child = place.command(&["watch", "--reader", "ann", "--format", "id"]);
    let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
    // No byte is taken before it is wanted.
    let mut lines = BufReader::with_capacity(1, child.stdout.take().unwrap()).lines();
    let mut next = || {
        std::thread::sleep(Duration::from_millis(5));
        lines.next().unwrap().unwrap()
    };
    let before: Vec<String> = (0..10).map(|_| next()).collect();
    assert!(before.iter().all(|id| id.starts_with("old-")), "{before:?}");
    place.put("ann", "new");
    let behind = std::iter::repeat_with(&mut next).take_while(|id| id != "new").count();
    assert!(behind < 80, "{behind} lines were told first");
    // All of the sweep, once.
    let rest: BTreeSet<String> = (10 + behind..100).map(|_| next()).collect();
    assert_eq!(rest.len(), 90 - behind);
    drop(lines);
    assert!(child.wait().unwrap().success());
}

/// Whatever of the event source is killed, and whenever: it is started again, and all is told.
#[test]
fn an_event_source_that_is_killed_again_and_again_loses_nothing() {
    const TASKS: usize = 1000;
    let place = Place::new();
    let watcher = Watcher::start(&place, "ann", &[]);
    std::thread::scope(|scope| {
        let posting = scope.spawn(|| {
            for n in 0..TASKS {
                place.put("ann", &format!("t{n}"));
                if n % 10 == 0 {
                    std::thread::sleep(Duration::from_millis(15));
                }
            }
        });
        for n in 0..20 {
            wait_until("the source", || watcher.stages().len() == 2);
            // Some before they stand.
            std::thread::sleep(Duration::from_millis(if n % 4 == 0 { 0 } else { 30 }));
            let stage = watcher.stages()[n % 2];
            kill_process(stage, Signal::KILL).unwrap();
            wait_until("its end", || !watcher.stages().contains(&stage));
        }
        posting.join().unwrap();
    });
    let told = || watcher.ids().into_iter().collect::<BTreeSet<_>>().len();
    wait_until("all tasks", || told() == TASKS);
    let (status, err) = watcher.end();
    assert_eq!((status.code(), err.as_str()), (None, ""));
}

#[test]
fn when_its_reader_goes_it_ends_quietly_and_leaves_no_process() {
    let place = Place::new();
    let mut command = place.command(&["watch", "--reader", "ann"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let pid = rustix::process::Pid::from_child(&child);
    wait_until("the source", || children(pid).len() == 2);
    let stages = children(pid);
    drop(child.stdout.take());
    let ended = child.wait_with_output().unwrap();
    assert_eq!((ended.status.code(), ended.stderr), (Some(0), vec![]));
    wait_until("the end of its processes", || !stages.iter().any(|pid| lives(*pid)));
    // While it writes, too.
    (0..500).for_each(|n| place.put("ann", &format!("t{n}")));
    let told = place.site.sh("auwai-inbox watch --reader ann | head -n 3; echo ${PIPESTATUS[0]}");
    assert_eq!(
        (told.text().lines().count(), told.text().lines().last(), told.err.as_str()),
        (4, Some("0"), "")
    );
}

#[test]
fn killed_it_leaves_no_process() {
    let place = Place::new();
    for signal in [Signal::KILL, Signal::TERM] {
        let mut watcher = Watcher::start(&place, "ann", &[]);
        wait_until("the source", || watcher.stages().len() == 2);
        let stages = watcher.stages();
        kill_process(watcher.pid(), signal).unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&watcher.wait()),
            Some(signal.as_raw())
        );
        wait_until("the end of its processes", || !stages.iter().any(|pid| lives(*pid)));
    }
}

/// A folder that is taken away and made anew, as by a script that begins again.
#[test]
fn folders_that_are_made_anew_are_watched() {
    let place = Place::new();
    place.put("ann", "a");
    let watcher = Watcher::start(&place, "ann", &[]);
    watcher.wait_for(&["a"]);
    fs::remove_dir_all(place.path("deliveries")).unwrap();
    place.put("ann", "b");
    watcher.wait_for(&["b"]);
    fs::remove_dir_all(place.path("tasks")).unwrap();
    place.put("ann", "c");
    watcher.wait_for(&["c"]);
    assert_eq!(watcher.end().1, "");
}

/// Several watchers in one pipe, each line whole.
#[test]
fn lines_of_several_watchers_in_one_pipe_are_whole() {
    let place = Place::new();
    for reader in ["ann", "bob"] {
        (0..300).for_each(|n| place.put(reader, &format!("{reader}-{n}")));
    }
    let script = "{ auwai-inbox watch --reader ann & auwai-inbox watch --reader bob & } | \
                  timeout 50 head -n 600 | jq -r .id | sort -u | wc -l";
    let told = place.site.sh(script).expect_code(0);
    assert_eq!((told.text().trim(), told.err.as_str()), ("600", ""));
}

#[test]
fn an_output_that_is_full_is_a_failure() {
    let place = Place::new();
    place.put("ann", "a");
    let told = place.site.sh("auwai-inbox watch --reader ann > /dev/full").expect_code(3);
    assert!(told.err.contains("cannot write to 'standard output': No space left"), "{}", told.err);
}
