//! From `main` to the exit status: parse, run, report.

use std::ffi::OsString;
use std::io::{self, BufRead, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ContextKind;

use super::World;
use crate::error::{Error, Kind, Result};
use crate::record::{self, Problem};
use crate::visible::{one_line, quote};

/// Set to `json`, a tool tells its failure as an `error` record on standard error instead of as a
/// line and its hints: how porcelain asks its stages.
pub const ERRORS: &str = "AUWAI_ERRORS";

/// Bulk verbs write blocks of this size: a pipe's worth.
const BLOCK: usize = 1 << 16;

/// What a tool works with: its streams and the world. In tests all are in memory.
pub struct Io<'a> {
    /// Standard input.
    pub input: &'a mut dyn BufRead,
    /// Standard output: data.
    pub out: &'a mut dyn Write,
    /// Standard error: talk.
    pub err: &'a mut dyn Write,
    /// Everything else from outside.
    pub world: &'a World,
}

impl Io<'_> {
    /// One line of talk on standard error, `tool: message`; hidden characters are escaped.
    pub fn say(&mut self, tool: &str, message: &str) {
        // Nobody can be told that standard error does not work.
        let _ = writeln!(self.err, "{tool}: {}", one_line(message));
    }

    /// Warns of a watcher whose output goes into the tree that it watches, and so feeds it.
    pub fn warn_of_own_output(&mut self, tool: &str, root: &Path) {
        let Ok(root) = root.canonicalize() else { return };
        let Some(file) = output_file().filter(|file| file.starts_with(root)) else { return };
        let file = quote(&file);
        self.say(
            tool,
            &format!("the output goes to '{file}' in the tree that is watched, which changes it"),
        );
        self.hint("let it go elsewhere, or to a file that is ignored");
    }

    /// A hint on standard error, with the command to run.
    pub fn hint(&mut self, hint: &str) {
        let _ = writeln!(self.err, "hint: {}", one_line(hint));
    }
}

/// The regular file that standard output goes to, where the system tells its path.
fn output_file() -> Option<PathBuf> {
    let stdout = std::fs::metadata("/dev/fd/1").ok()?;
    stdout.is_file().then(|| std::fs::read_link("/proc/self/fd/1").ok()).flatten()
}

/// An output whose reader may leave: what is written then is lost, and no error. For a tool whose
/// exit status is the answer, which must not depend on how much of the output was read.
pub struct Verdict<'a>(pub &'a mut dyn Write);

impl Write for Verdict<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self.0.write(bytes) {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(bytes.len()),
            other => other,
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self.0.flush() {
            Err(e) if e.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        }
    }
}

/// A program of the suite: its arguments (a clap parser) and what it does.
pub trait Tool: Parser {
    /// The name in messages.
    const NAME: &'static str;

    /// Whether failures are to be told as an `error` record on standard output too.
    fn json(&self) -> bool {
        false
    }

    /// What was probably meant by a command line that is wrong, with the command to run.
    fn advice(_words: &[OsString], _error: &clap::Error) -> Option<String> {
        None
    }

    /// Does the work.
    ///
    /// # Errors
    /// The error decides message, hint and exit status.
    fn run(self, io: &mut Io<'_>) -> Result<()>;
}

/// Runs a tool with the process's arguments and streams.
pub fn start<T: Tool>() -> ExitCode {
    start_with::<T>(std::env::args_os().collect())
}

/// Runs a tool with these arguments, the first being the program's name.
pub fn start_with<T: Tool>(args: Vec<OsString>) -> ExitCode {
    let wants_json = args.iter().take_while(|arg| *arg != "--").any(|arg| arg == "--json");
    let (words, parsed) = (args.clone(), T::try_parse_from(args));
    let world = World::real();
    let (mut input, mut out) =
        (io::stdin().lock(), BufWriter::with_capacity(BLOCK, io::stdout().lock()));
    // Standard error is not locked: other threads draw a bar there, or say a last word.
    let mut io = Io { input: &mut input, out: &mut out, err: &mut io::stderr(), world: &world };
    let tool = match parsed {
        Ok(tool) => tool,
        Err(e) => return ExitCode::from(say_usage::<T>(&words, wants_json, e, &mut io)),
    };
    let json = tool.json();
    let result = world.check().and_then(|()| tool.run(&mut io)).and_then(|()| flush(io.out));
    ExitCode::from(report(T::NAME, json, result, &mut io))
}

/// Help and version go to standard output with 0, a wrong command line to standard error with 2;
/// with `--json` somewhere on it, it is a record on standard output too. Who asked for records on
/// standard error gets one there, not clap's page of text.
fn say_usage<T: Tool>(
    words: &[OsString],
    wants_json: bool,
    error: clap::Error,
    io: &mut Io<'_>,
) -> u8 {
    if !error.use_stderr() {
        let done = help(&error, io).and_then(|()| flush(io.out));
        return report(T::NAME, wants_json, done, io);
    }
    let advice = T::advice(words, &error);
    let see = format!("see `{}`", help_command::<T>(words));
    let usage = Error::usage(summary(&error)).hint(advice.clone().unwrap_or(see));
    let problem = problem(&usage);
    if wants_json {
        let _ = record::write(io.out, &problem).and_then(|()| flush(io.out));
    }
    // What was typed may be the name of a file, and forge a line or an escape.
    let shown = T::try_parse_from(words.iter().map(shown_word)).err();
    let mut shown = shown.unwrap_or(error);
    leave_out_bad_tips(&mut shown, advice.is_some());
    let text = shown.render();
    // Nobody can be told that standard error does not work.
    let told = match (io.world.text(ERRORS), io.world.colours(io.world.terminal)) {
        (Some("json"), _) => record::write(io.err, &problem).is_ok(),
        (_, true) => write!(io.err, "{}", text.ansi()).is_ok(),
        (_, false) => write!(io.err, "{text}").is_ok(),
    };
    if let (Some(advice), None) = (advice, io.world.text(ERRORS).filter(|_| told)) {
        io.hint(&advice);
    }
    Kind::Usage.exit_code()
}

fn help(text: &clap::Error, io: &mut Io<'_>) -> Result<()> {
    let text = text.render();
    let done = match io.world.colours(io.world.screen) {
        true => write!(io.out, "{}", text.ansi()),
        false => write!(io.out, "{text}"),
    };
    done.map_err(|e| Error::io("write to", "standard output", &e))
}

fn shown_word(word: &OsString) -> OsString {
    one_line(&word.to_string_lossy()).into_owned().into()
}

/// Clap takes any unknown option for a value that was meant, and a word that is like another for a
/// slip of the pen: neither helps where the one is none, or the other is known to be meant otherwise.
fn leave_out_bad_tips(error: &mut clap::Error, known: bool) {
    let tips =
        [ContextKind::Suggested, ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg];
    let last = if known { tips.len() } else { 1 };
    tips[..last].iter().for_each(|tip| {
        error.remove(*tip);
    });
}

/// The command that explains the one that was typed: `auwai-ledger scan --help`.
fn help_command<T: Tool>(words: &[OsString]) -> String {
    let (mut command, mut line) = (T::command(), T::NAME.to_string());
    for word in words.iter().skip(1) {
        let Some(verb) = command.find_subcommand(word).cloned() else { break };
        line = format!("{line} {}", verb.get_name());
        command = verb;
    }
    line + " --help"
}

/// What clap says first, on one line.
fn summary(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<&str> = first.split_whitespace().collect();
    let words = words.join(" ");
    words.strip_prefix("error: ").unwrap_or(&words).to_string()
}

fn flush(out: &mut dyn Write) -> Result<()> {
    out.flush().map_err(|e| Error::io("write to", "standard output", &e))
}

/// Tells the error, and returns the exit status.
fn report(name: &str, json: bool, result: Result<()>, io: &mut Io<'_>) -> u8 {
    let Err(error) = result else { return 0 };
    // What was written before the error is data, and goes out first. An answer that is no is worth
    // nothing without it.
    let lost = flush(io.out).err().filter(|lost| lost.kind() != Kind::Closed);
    let error = lost.filter(|_| error.kind() == Kind::No).unwrap_or(error);
    if error.kind() != Kind::Closed {
        tell(name, json, &error, io);
    }
    error.kind().exit_code()
}

fn tell(name: &str, json: bool, error: &Error, io: &mut Io<'_>) {
    if json {
        let _ = record::write(io.out, &problem(error));
        let _ = io.out.flush();
    }
    if io.world.text(ERRORS) == Some("json") {
        let _ = record::write(io.err, &problem(error));
        return;
    }
    io.say(name, &error.to_string());
    for hint in error.hints() {
        io.hint(hint);
    }
}

fn problem(error: &Error) -> Problem {
    let hint = (!error.hints().is_empty()).then(|| error.hints().join("; "));
    Problem { code: error.code().to_string(), message: error.to_string(), hint }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(json: bool, error: Error) -> (u8, String, String) {
        let world = World::of(std::path::Path::new("/"), &[]);
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut io = Io { input: &mut io::empty(), out: &mut out, err: &mut err, world: &world };
        let status = report("auwai-x", json, Err(error), &mut io);
        (status, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn an_error_is_a_line_and_its_hints() {
        let (status, out, err) = told(false, Error::failed("x", "no\nsuch\x1b").hint("do `y`"));
        assert_eq!((status, out.as_str()), (3, ""));
        assert_eq!(err, "auwai-x: no\\x0asuch\\x1b\nhint: do `y`\n");
    }

    #[test]
    fn with_json_it_is_a_record_too() {
        let (status, out, _) = told(true, Error::no("unread", "something is unread"));
        assert_eq!(status, 1);
        assert_eq!(
            out,
            "{\"v\":1,\"type\":\"error\",\"code\":\"unread\",\"message\":\"something is unread\"}\n"
        );
    }

    #[test]
    fn a_wrong_command_line_is_summed_up_in_one_line() {
        let command = clap::Command::new("x").arg(clap::arg!(<FILE> "a file"));
        let error = command.try_get_matches_from(["x"]).unwrap_err();
        let told = "the following required arguments were not provided: <FILE>";
        assert_eq!(summary(&error), told);
    }

    #[test]
    fn a_closed_pipe_is_silent() {
        assert_eq!(told(true, Error::closed()), (0, String::new(), String::new()));
    }
}
