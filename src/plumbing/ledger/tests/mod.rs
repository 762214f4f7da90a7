#![cfg(test)]
//! The verbs of a workspace, through `run` in memory.

#![allow(clippy::unwrap_used)]

mod closing;
mod leases;
mod outside;
mod plans;
mod reading;
mod views;

use std::cell::Cell;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;

use super::*;
use crate::cli::World;
use crate::record::{self, Record, Segment, SegmentStatus, Status};
use crate::store::coverage::testing::{id, plan, reads};
use crate::workspace::{Trust, Workspace};

thread_local! {
    /// What the clock of a test says, in seconds since 1970; on other threads it stands still.
    static CLOCK: Cell<u64> = const { Cell::new(0) };
}

/// A workspace in a folder of its own, and the tool run in it.
struct Desk {
    dir: tempfile::TempDir,
    now: fn() -> SystemTime,
}

impl Desk {
    fn new() -> Desk {
        let now = || UNIX_EPOCH + Duration::from_secs(CLOCK.get());
        let desk = Desk { dir: tempfile::tempdir().unwrap(), now };
        Workspace::init(desk.dir.path(), "demo", Trust::new(false, None)).unwrap();
        desk
    }

    /// With a plan of `segments` read segments of `chunks` chunks.
    fn planned(segments: u64, chunks: u64) -> Desk {
        let desk = Desk::new();
        desk.feed(&["adopt"], &plan(segments, chunks, 65_536)).unwrap();
        desk
    }

    fn state(&self, name: &str) -> PathBuf {
        self.dir.path().join(".auwai/workspace").join(name)
    }

    fn run(&self, args: &[&str]) -> Result<Vec<Record>> {
        self.feed(args, b"")
    }

    fn feed(&self, args: &[&str], input: &[u8]) -> Result<Vec<Record>> {
        self.whole(args, input, &[]).map(|(out, _)| out)
    }

    fn whole(
        &self,
        args: &[&str],
        mut input: &[u8],
        vars: &[(&str, &OsStr)],
    ) -> Result<(Vec<Record>, String)> {
        let mut world = World::of(self.dir.path(), vars);
        world.now = self.now;
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let tool = Ledger::try_parse_from([&["auwai-ledger"], args].concat()).unwrap();
        let mut io = Io { input: &mut input, out: &mut out, err: &mut err, world: &world };
        tool.run(&mut io)?;
        let out = String::from_utf8(out).unwrap();
        let records = out.lines().map(|line| record::parse(line).unwrap()).collect();
        Ok((records, String::from_utf8(err).unwrap()))
    }

    fn code(&self, args: &[&str]) -> String {
        self.run(args).unwrap_err().code().to_string()
    }

    fn claim(&self, reader: &str) -> Segment {
        match self.run(&["claim", "--reader", reader]).unwrap().remove(0) {
            Record::Segment(segment) => segment,
            other => panic!("{other:?}"),
        }
    }

    fn mark(&self, segment: u64, chunks: u64) {
        self.feed(&["mark"], &deliveries(segment, chunks)).unwrap();
    }

    fn status(&self) -> Status {
        match self.run(&["status"]).unwrap().remove(0) {
            Record::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    /// What any script sees that opens the ledger.
    fn ask(&self, sql: &str) -> String {
        let out = std::process::Command::new("python3")
            .args(["-c", "import sqlite3,sys;print(sqlite3.connect(sys.argv[1]).execute(sys.argv[2]).fetchall())"])
            .arg(self.state("coverage.sqlite"))
            .arg(sql)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        String::from_utf8(out.stdout).unwrap().trim().to_string()
    }

    fn findings(&self) -> String {
        std::fs::read_to_string(self.state("findings.md")).unwrap_or_default()
    }
}

fn deliveries(segment: u64, chunks: u64) -> Vec<u8> {
    let mut out = Vec::new();
    for read in reads(segment, chunks) {
        record::write(&mut out, &read).unwrap();
    }
    out
}

fn counts(status: &Status) -> [u64; 7] {
    let s = status.segments.unwrap();
    let (c, t) = (status.chunks, status.tokens);
    [s.done, s.active, s.pending, c.planned, c.complete, t.planned, t.complete]
}
