//! The system's limits, lowered in a user namespace of the test's own.

use std::fs;
use std::process::{Command, Stdio};

use auwai::record::EventOp::Create;
use auwai::record::WatchBackend;

use super::watcher::{Watcher, command, sh, told};
use crate::support::git::Sandbox;
use crate::support::site::skipped;

/// The watcher with a limit set; `None`, and said so, where user namespaces are not to be had.
fn limited(sandbox: &Sandbox, limit: &str, args: &[&str]) -> Option<Command> {
    let may = Command::new("unshare").args(["-Ur", "true"]).stderr(Stdio::null()).status();
    if !may.is_ok_and(|status| status.success()) {
        skipped("user namespaces are not to be had");
        return None;
    }
    let own = command(sandbox);
    let mut outer = Command::new("unshare");
    let script = format!("echo {limit} && exec \"$@\"");
    outer.args(["-Ur", "sh", "-euc", &script, "sh"]).arg(own.get_program());
    outer.arg(sandbox.root()).args(args).env_clear().env("PATH", "/usr/bin:/bin");
    for (name, value) in own.get_envs() {
        if let Some(value) = value {
            outer.env(name, value);
        }
    }
    Some(outer)
}

/// Kills it, and returns what it said on standard error.
pub fn talk(watcher: &mut Watcher<'_>) -> String {
    let mut err = watcher.child.stderr.take().unwrap();
    watcher.child.kill().unwrap();
    let mut text = String::new();
    std::io::Read::read_to_string(&mut err, &mut text).unwrap();
    text
}

/// Directories beyond the limit were silently not watched.
#[test]
fn directories_without_a_watch_are_named_and_polled() {
    let sandbox = Sandbox::empty();
    sh(&sandbox, "for n in $(seq 20); do mkdir -p $n/sub; done");
    let limit = "12 > /proc/sys/user/max_inotify_watches";
    let Some(command) = limited(&sandbox, limit, &["--interval", "50ms"]) else { return };
    let mut watcher = Watcher::spawn(&sandbox, command);
    let ready = watcher.ready();
    assert_eq!(ready.backend, WatchBackend::Inotify);
    assert_eq!(ready.watches + ready.polled, 41);
    assert!(ready.polled > 20 && ready.watches > 0, "{ready:?}");
    sh(&sandbox, "for n in $(seq 20); do echo x > $n/sub/f; mkdir $n/new; echo y > $n/new/g; done");
    let words = watcher.words();
    for n in 1..=20 {
        assert!(told(&words, Create, &format!("{n}/sub/f")), "{n}: {words:?}");
        assert!(told(&words, Create, &format!("{n}/new/g")), "{n}: {words:?}");
    }
    let talk = talk(&mut watcher);
    assert_eq!(talk.matches("directories are polled instead of watched").count(), 1, "{talk}");
    assert!(talk.contains("hint: raise it: `sudo sysctl user.max_inotify_watches="), "{talk}");
}

/// EMFILE was told as too many open files.
#[test]
fn without_an_instance_all_is_polled_with_a_warning_that_names_the_limit() {
    let sandbox = Sandbox::empty();
    let limit = "0 > /proc/sys/user/max_inotify_instances";
    let Some(command) = limited(&sandbox, limit, &["--interval", "50ms"]) else { return };
    let mut watcher = Watcher::spawn(&sandbox, command);
    assert_eq!(watcher.ready().backend, WatchBackend::Poll);
    fs::write(sandbox.root().join("f"), "x").unwrap();
    assert!(told(&watcher.words(), Create, "f"));
    let said = talk(&mut watcher);
    assert!(said.contains("user.max_inotify_instances (0) is reached; all directories are polled"));
    assert!(said.contains("hint: raise it: `sudo sysctl user.max_inotify_instances="), "{said}");
    let explicit = limited(&sandbox, limit, &["--backend", "inotify"]).unwrap().output().unwrap();
    assert_eq!(explicit.status.code(), Some(3));
}
