//! Options that were typed, repeated in the commands that are suggested: a command that is copied from
//! a hint acts on the same full read, and as the same reader.

use std::path::PathBuf;

use super::options::Common;
use crate::error::Error;
use crate::visible::quote;

/// The verbs of `auwai` that act on a full read.
const ACTING: [&str; 10] =
    ["plan", "next", "read", "done", "status", "verify", "unread", "replan", "run", "why"];

/// Those that act as a reader.
const READING: [&str; 3] = ["next", "read", "done"];

/// The verbs of `auwai workspace` and of `auwai-ledger` that act on a workspace.
const OF_A_WORKSPACE: [&str; 4] = ["add", "remove", "survey", "fullread"];
const OF_THE_LEDGER: [&str; 4] = ["segments", "coverage", "claim", "release"];

/// What was typed and is to be repeated.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    workspace: String,
    state_dir: String,
    trust_state: &'static str,
    reader: String,
}

impl Typed {
    /// The options of a command; `reader` is what `--reader` says, where the command takes one.
    pub fn of(common: &Common, reader: Option<&str>) -> Typed {
        let option = |name: &str, value: &Option<PathBuf>| match value {
            Some(value) => format!(" {name} {}", quote(value)),
            None => String::new(),
        };
        Typed {
            workspace: option("-W", &common.workspace),
            state_dir: option("--state-dir", &common.state_dir),
            trust_state: if common.trust_state { " --trust-state" } else { "" },
            reader: reader.map(|name| format!(" --reader {name}")).unwrap_or_default(),
        }
    }

    /// Which full read: ` -W NAME` and the like, empty when nothing was typed.
    pub fn place(&self) -> String {
        format!("{}{}{}", self.workspace, self.state_dir, self.trust_state)
    }

    /// An error whose hints have the options in their commands.
    pub fn repeat(&self, error: Error) -> Error {
        error.map_hints(|hint| self.in_text(hint))
    }

    /// The same for one text: commands are what stands between backquotes.
    fn in_text(&self, text: &str) -> String {
        let parts = text.split('`').enumerate();
        let parts = parts.map(|(at, part)| match at % 2 {
            0 => part.to_string(),
            _ => part.split(" | ").map(|one| self.in_command(one)).collect::<Vec<_>>().join(" | "),
        });
        parts.collect::<Vec<_>>().join("`")
    }

    fn in_command(&self, command: &str) -> String {
        let words: Vec<&str> = command.split(' ').collect();
        let (acts, reads) = match words.as_slice() {
            ["auwai", "workspace", verb, ..] => (OF_A_WORKSPACE.contains(verb), false),
            ["auwai", verb, ..] => (ACTING.contains(verb), READING.contains(verb)),
            ["auwai-ledger", verb, ..] => (OF_THE_LEDGER.contains(verb), false),
            _ => (false, false),
        };
        let has = |names: &[&str]| words.iter().any(|word| names.contains(word));
        let mut more = String::new();
        if acts && !has(&["-W", "--workspace"]) {
            more += &self.workspace;
        }
        if acts && !has(&["--state-dir"]) {
            more += &self.state_dir;
        }
        if acts && !has(&["--trust-state"]) {
            more += self.trust_state;
        }
        if reads && !has(&["--reader"]) {
            more += &self.reader;
        }
        let end = command.find(" -- ").unwrap_or(command.len());
        format!("{}{more}{}", &command[..end], &command[end..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed() -> Typed {
        let common = Common { workspace: Some("demo".into()), ..Common::default() };
        Typed::of(&common, Some("ann"))
    }

    #[test]
    fn suggested_commands_have_what_was_typed() {
        for (hint, repeated) in [
            ("begin with `auwai next`", "begin with `auwai next -W demo --reader ann`"),
            ("`auwai run -- wc -w`", "`auwai run -W demo -- wc -w`"),
            ("`auwai read --reader bob` or not", "`auwai read --reader bob -W demo` or not"),
            ("`auwai status --workspace x`", "`auwai status --workspace x`"),
            (
                "a `b`; `iconv | auwai done -F -`",
                "a `b`; `iconv | auwai done -F - -W demo --reader ann`",
            ),
            ("`auwai workspace remove r`", "`auwai workspace remove r -W demo`"),
            ("`auwai workspace list --all`", "`auwai workspace list --all`"),
            ("`auwai-ledger release --segment ID`", "`auwai-ledger release --segment ID -W demo`"),
            ("auwai next", "auwai next"),
        ] {
            assert_eq!(typed().in_text(hint), repeated);
            assert_eq!(Typed::default().in_text(hint), hint);
        }
    }
}
