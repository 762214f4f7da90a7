//! `auwai help`: the manual, also where it is not installed.

use std::io::Write;
use std::process::{Command, Stdio};

use clap::CommandFactory;

use super::Auwai;
use super::man::{self, Page};
use super::options::Common;
use crate::cli::Io;
use crate::error::{Error, Result};
use crate::plumbing::inbox::Inbox;
use crate::plumbing::ledger::Ledger;
use crate::plumbing::plan::PlanTool;
use crate::plumbing::relay::Relay;
use crate::plumbing::wait_events::WaitEvents;

/// Open the page of the manual about a command or a topic
///
/// Without TOPIC, the overview. The pages are in the program: they need not be installed. On a
/// terminal the page is shown by `man`, else printed as plain text, by `mandoc` or `man`. Where
/// neither is there, the command's `--help` is printed.
#[derive(Debug, Clone, clap::Args)]
pub struct Args {
    /// A command (`read`), a tool (`auwai-ledger`, `ledger`) or a page (`auwai-workspace.7`,
    /// `records`, `watching`); words after a command are its verb
    #[arg(value_name = "TOPIC")]
    topic: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args, common: &Common, io: &mut Io<'_>) -> Result<()> {
    if common.json {
        return Err(Error::usage("`auwai help` prints text: it takes no --json")
            .hint("the records are described by `auwai help records`"));
    }
    let topic = args.topic.first().map_or("auwai", String::as_str);
    let page = man::find(topic).ok_or_else(|| unknown(topic))?;
    let command = command(page, &args.topic)?;
    if io.world.screen && on_screen(page)? {
        return Ok(());
    }
    match plain(page)? {
        Some(text) => super::text(io, &text),
        None => super::text(io, &long_help(page, command)?),
    }
}

fn unknown(topic: &str) -> Error {
    let shown = crate::visible::one_line(topic).into_owned();
    Error::usage(format!("there is no page about '{shown}'"))
        .hint("see which there are: `auwai help`")
}

/// The page as a file, for programs that take nothing else.
fn file(page: &Page) -> Result<tempfile::NamedTempFile> {
    let made = tempfile::Builder::new().suffix(&format!(".{}", page.file())).tempfile();
    let written = made.and_then(|mut file| {
        file.write_all(page.text.as_bytes())?;
        Ok(file)
    });
    written.map_err(|e| Error::io("write", "a temporary file", &e))
}

/// Shows the page by `man`; false when there is none that can.
fn on_screen(page: &Page) -> Result<bool> {
    let file = file(page)?;
    let shown = Command::new("man").arg("-l").arg(file.path()).status();
    Ok(shown.is_ok_and(|status| status.success()))
}

/// The page as plain text; `None` when no program here can make it.
fn plain(page: &Page) -> Result<Option<String>> {
    let file = file(page)?;
    let by = |program: &str, option: &str| {
        let mut command = Command::new(program);
        command.arg(option).arg(file.path()).env("MANPAGER", "cat").env("MANWIDTH", "80");
        let made = command.stderr(Stdio::null()).stdin(Stdio::null()).output().ok()?;
        let text = String::from_utf8(made.stdout).ok()?;
        (made.status.success() && !text.is_empty()).then(|| without_overstrikes(&text))
    };
    Ok(by("mandoc", "-Tutf8").or_else(|| by("man", "-l")))
}

/// Bold is a character printed over itself, and underlined one over a low line.
fn without_overstrikes(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '\u{8}' => {
                out.pop();
            }
            c => out.push(c),
        }
    }
    out
}

/// The command that a page and the words of a topic name.
///
/// # Errors
/// Usage, when a word after the first is no verb of what stands before it.
fn command(page: &Page, words: &[String]) -> Result<clap::Command> {
    let (mut command, mut verbs) = (tool(page), words);
    command.build();
    // The first word may be the page's own name instead of a verb.
    if verbs.first().is_some_and(|word| command.find_subcommand(word).is_none()) {
        verbs = &verbs[1..];
    }
    for verb in verbs {
        let found = command.find_subcommand(verb).cloned();
        command = found.ok_or_else(|| no_verb(&command, verb))?;
    }
    Ok(command)
}

/// The command that a page is about; a page about something else has one without verbs.
fn tool(page: &Page) -> clap::Command {
    match page.name {
        _ if matches!(page.section, 5 | 7) => clap::Command::new(page.name),
        "auwai-inbox" => Inbox::command(),
        "auwai-ledger" => Ledger::command(),
        "auwai-plan" => PlanTool::command(),
        "auwai-relay" => Relay::command(),
        "auwai-wait-events" => WaitEvents::command(),
        _ => Auwai::command(),
    }
}

fn no_verb(command: &clap::Command, verb: &str) -> Error {
    let name = command.get_bin_name().unwrap_or(command.get_name());
    let error =
        Error::usage(format!("'{name}' has no command '{}'", crate::visible::one_line(verb)));
    let topic = name.strip_prefix("auwai ").unwrap_or(name);
    error.hint(format!("see what there is: `auwai help {topic}`"))
}

/// What `--help` says of a command.
fn long_help(page: &Page, mut command: clap::Command) -> Result<String> {
    if matches!(page.section, 5 | 7) {
        let message = format!("neither 'man' nor 'mandoc' is there to show {}", page.file());
        return Err(Error::failed("no-man", message).hint("install `mandoc` or `man-db`"));
    }
    Ok(command.render_long_help().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn topics_are_written_in_many_ways() {
        let page = |topic| man::find(topic).map(Page::file);
        for (topic, file) in [
            ("auwai", "auwai.1"),
            ("read", "auwai-fullread.1"),
            ("plan", "auwai-fullread.1"),
            ("auwai-plan", "auwai-plan.1"),
            ("ledger", "auwai-ledger.1"),
            ("auwai-ledger(1)", "auwai-ledger.1"),
            ("workspace", "auwai-workspace.1"),
            ("workspace.7", "auwai-workspace.7"),
            ("auwai-workspace(7)", "auwai-workspace.7"),
            ("records", "auwai-records.5"),
            ("watching", "auwai-watching.7"),
            ("docs/watching.md", "auwai-watching.7"),
        ] {
            assert_eq!(page(topic).as_deref(), Some(file), "{topic}");
        }
        assert_eq!(page("wc"), None);
    }

    #[test]
    fn every_word_of_a_topic_means_something() {
        let said = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(ToString::to_string).collect();
            let page = man::find(&words[0]).unwrap();
            command(page, &words).map(|command| command.get_name().to_string())
        };
        assert_eq!(said(&["auwai", "plan"]).unwrap(), "plan");
        assert_eq!(said(&["ledger", "scan"]).unwrap(), "scan");
        assert_eq!(said(&["auwai-ledger(1)", "scan"]).unwrap(), "scan");
        assert_eq!(said(&["workspace", "fullread", "read"]).unwrap(), "read");
        assert_eq!(said(&["auwai-workspace.7"]).unwrap(), "auwai-workspace");
        for bad in [&["plan", "x"][..], &["auwai-plan", "x"], &["records", "x"], &["ledger", "x"]] {
            assert_eq!(said(bad).unwrap_err().kind().exit_code(), 2, "{bad:?}");
        }
    }

    #[test]
    fn overstrikes_go() {
        assert_eq!(without_overstrikes("N\u{8}NA\u{8}A _\u{8}x"), "NA x");
    }
}
