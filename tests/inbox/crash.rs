//! Killed at any moment: the next call finds what was before or what is after, and finishes it.

use std::process::Stdio;
use std::time::Duration;

use super::Place;
use crate::support::dice::Dice;

/// Runs a command and kills it after up to so many microseconds; whether it had ended well by then.
fn killed(place: &Place, args: &[&str], within: u64, dice: &mut Dice) -> bool {
    let mut command = place.command(args);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_micros(dice.roll(within)));
    let _ = child.kill();
    child.wait().unwrap().success()
}

/// `AUWAI_INBOX_ROUNDS` for more.
fn rounds() -> u64 {
    std::env::var("AUWAI_INBOX_ROUNDS").map_or(25, |rounds| rounds.parse().unwrap())
}

#[test]
fn each_verb_may_be_killed_at_any_moment() {
    let (place, mut dice) = (Place::new(), Dice(7));
    let mut stopped = 0;
    for round in 0..rounds() {
        let id = format!("t{round}");
        let post = ["post", &id, "--reader", "ann", "-m", "do it"];
        stopped += u64::from(!killed(&place, &post, 12_000, &mut dice));
        // Whoever sees the pointer finds the task, and all of it.
        if place.path(format!("deliveries/ann/{id}.txt")).exists() {
            assert_eq!(std::fs::read(place.path(format!("tasks/{id}.txt"))).unwrap(), b"do it\n");
        }
        place.ok(&post);
        for verb in ["accept", "release", "accept"] {
            killed(&place, &[verb, &id, "--reader", "ann"], 8_000, &mut dice);
            let there = |end: &str| place.path(format!("deliveries/ann/{id}.{end}")).exists();
            assert!(there("txt") ^ there("accepted"), "{verb} {id}");
        }
        place.answer(&id);
        stopped += u64::from(!killed(&place, &["archive", &id], 12_000, &mut dice));
        let live = place.path(format!("tasks/{id}.txt")).exists();
        assert!(live ^ place.path(format!("tasks/archive/{id}.txt")).exists(), "{id}");
        place.ok(&["archive", &id]);
        let names = place.names();
        let of_id = names
            .iter()
            .filter(|name| name.contains(&format!("/{id}.")) || name.contains(&format!("/{id}-")));
        let of_id: Vec<_> = of_id.filter(|name| !name.contains("/archive/")).collect();
        assert!(of_id.is_empty(), "{of_id:?}");
    }
    assert!(stopped > 0, "none was killed in time");
    let done = place.ok(&["list", "--reader", "ann"]);
    assert_eq!(done.len(), 1, "{done:?}");
}

#[test]
fn the_migration_may_be_killed_at_any_moment() {
    let (place, mut dice) = (Place::new(), Dice(3));
    for n in 0..400 {
        place.write(format!("tasks/archive/t{n}.txt"), "x");
        place.write(format!("deliveries/ann/t{n}.txt"), "");
    }
    let count = || {
        let all = place.names();
        let of = |part: &str| all.iter().filter(|name| name.starts_with(part)).count();
        (of("deliveries/ann/t"), of("deliveries/ann/archive/t"))
    };
    let marker = || place.path("state/migrations/retire-archived.v1.done").exists();
    for _ in 0..10 {
        killed(&place, &["retire-archived"], 20_000, &mut dice);
        let (left, gone) = count();
        assert_eq!(left + gone, 400);
        assert!(!marker() || left == 0);
    }
    place.ok(&["retire-archived"]);
    assert_eq!((count(), marker()), ((0, 400), true));
}
