//! `auwai status`: where the full read stands.

use super::done::progress;
use super::options::Common;
use super::render::fates;
use super::target::Target;
use crate::cli::Io;
use crate::counted::{count, thousands};
use crate::error::Result;
use crate::record::{self, Holder, Status, Watched};
use crate::visible::within;

/// Say where the full read stands
///
/// Takes the ledgers as they are: only `auwai verify` looks at the tree.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {}

/// Runs the command.
pub fn run(_: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    let target = Target::resolve(common, io)?;
    let status = target.whole_status(io)?;
    if common.json {
        return record::write(io.out, &status);
    }
    tell(&status, &target, io)
}

fn tell(status: &Status, target: &Target, io: &mut Io<'_>) -> Result<()> {
    super::line(io, &target.title())?;
    target.bounds().map_or(Ok(()), |bounds| super::line(io, &bounds))?;
    match &status.plan {
        Some(plan) => super::line(io, &format!("plan {plan}"))?,
        None => super::line(io, &format!("no plan yet; make one: auwai plan{}", target.flag()))?,
    }
    if status.policy.as_ref().is_some_and(|policy| policy.scope != target.scope()) {
        let follow = target.plan_command(true);
        super::line(io, &format!("it is bounded to other folders; let it follow: {follow}"))?;
    }
    if let Some(segments) = status.segments {
        super::line(
            io,
            &format!(
                "segments: {} done, {} active, {} pending",
                thousands(segments.done),
                thousands(segments.active),
                thousands(segments.pending)
            ),
        )?;
        super::line(io, &progress(status))?;
    }
    for holder in &status.active {
        super::line(io, &holding(holder))?;
    }
    if !status.pending.is_empty() {
        super::line(io, &pending(status))?;
    }
    for watched in &status.watched {
        super::line(io, &watching(watched))?;
    }
    if let Some(counted) = status.fates.as_ref().filter(|counted| !counted.is_empty()) {
        let paths = counted.values().sum();
        super::line(io, &format!("{}: {}", count(paths, "path"), fates(counted)))?;
    }
    Ok(())
}

/// Who has what, since when, and until when if nothing is heard.
fn holding(holder: &Holder) -> String {
    let Holder { reader, segment, since, until } = holder;
    let until = until.as_ref().map(|until| format!(", until {until}")).unwrap_or_default();
    format!("reader {reader} has {segment} since {since}{until}")
}

/// The segments that nobody has: the first of them by name, and how many more there are.
fn pending(status: &Status) -> String {
    let named: Vec<String> = status.pending.iter().map(ToString::to_string).collect();
    let all = status.segments.unwrap_or_default().pending;
    let more = match all.saturating_sub(named.len() as u64) {
        0 => String::new(),
        more => format!(" and {} more", thousands(more)),
    };
    format!("nobody has {}{more}", named.join(", "))
}

/// What keeps a repository's index, in a line.
fn watching(watched: &Watched) -> String {
    let Watched { repo, pid, since, .. } = watched;
    let within = within(&watched.only);
    let mut line = format!("{repo} is watched{within} since {since} by process {pid}");
    if let Some(backend) = watched.backend {
        let folders = count(watched.watches, "folder");
        line += &format!(": {}, {folders}", backend.as_str());
    }
    if watched.polled > 0 {
        line += &format!(", {} polled", thousands(watched.polled));
    }
    if let (Some(batch), Some(at)) = (watched.batch, &watched.batch_at) {
        line += &format!("; batch {batch} at {at}");
    }
    match &watched.error {
        Some(error) => line + &format!("; failing: {error}"),
        None => line,
    }
}
