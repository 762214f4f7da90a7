//! Options that were typed, repeated in the commands that are suggested: a command that is copied from
//! a hint acts on the same full read, and as the same reader.

use std::path::PathBuf;

use super::options::Common;
use crate::error::Error;
use crate::plumbing::plan::PolicyArgs;
use crate::visible::quote;

/// The verbs of `auwai` that act on a full read.
const ACTING: [&str; 12] = [
    "plan", "next", "read", "done", "status", "verify", "unread", "replan", "run", "log", "waive",
    "why",
];

/// Those that act as a reader.
const READING: [&str; 3] = ["next", "read", "done"];

/// The verbs of `auwai workspace` and of `auwai-ledger` that act on a workspace.
const OF_A_WORKSPACE: [&str; 4] = ["add", "remove", "survey", "fullread"];
const OF_THE_LEDGER: [&str; 4] = ["segments", "coverage", "claim", "release"];

/// What was typed and is to be repeated.
#[derive(Debug, Clone, Default)]
pub struct Typed {
    dir: String,
    workspace: String,
    state_dir: String,
    trust_state: &'static str,
    reader: String,
    planning: Option<Planning>,
    stands_for: &'static [(&'static str, &'static str)],
}

/// A command that makes or changes a plan, as it was typed.
#[derive(Debug, Clone, Default)]
pub struct Planning {
    /// The verb: `plan`, `replan`, `run`, `workspace survey`.
    pub verb: &'static str,
    /// Whether the plan that is there is to be forgotten.
    pub force: bool,
    /// The options of the policy.
    pub options: Vec<(&'static str, String)>,
    /// What stands behind them: the jobs and the command of a run.
    pub rest: String,
}

impl Typed {
    /// The options of a command; `reader` is what `--reader` says, where the command takes one.
    pub fn of(common: &Common, reader: Option<&str>) -> Typed {
        let option = |name: &str, value: &Option<PathBuf>| match value {
            Some(value) => format!(" {name} {}", quote(value)),
            None => String::new(),
        };
        Typed {
            dir: option("-C", &common.dir),
            workspace: option("-W", &common.workspace),
            state_dir: option("--state-dir", &common.state_dir),
            trust_state: if common.trust_state { " --trust-state" } else { "" },
            reader: reader.map(|name| format!(" --reader {name}")).unwrap_or_default(),
            planning: None,
            stands_for: &[],
        }
    }

    /// The same of a command that makes or changes a plan.
    pub fn planning(self, planning: Option<Planning>) -> Typed {
        Typed { planning, ..self }
    }

    /// The same of a command that has stages do its work: what they say of themselves is said of the
    /// command beside them.
    pub fn stands_for(self, stands_for: &'static [(&'static str, &'static str)]) -> Typed {
        Typed { stands_for, ..self }
    }

    /// Which full read: ` -W NAME` and the like, empty when nothing was typed.
    pub fn place(&self) -> String {
        format!("{}{}{}{}", self.dir, self.workspace, self.state_dir, self.trust_state)
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
        let own = self.stands_for.iter().find_map(|(stage, own)| {
            Some(format!("{own} {}", command.strip_prefix(stage)?.strip_prefix(' ')?))
        });
        let command = own.unwrap_or_else(|| command.to_string());
        self.in_place(&match &self.planning {
            Some(planning) => planning.in_command(&command),
            None => command,
        })
    }

    /// A command with the options that say on what it acts, and as whom.
    fn in_place(&self, command: &str) -> String {
        let words: Vec<&str> = command.split(' ').collect();
        let of_the_ledger = words.first() == Some(&"auwai-ledger");
        let (acts, reads) = match words.as_slice() {
            ["auwai", "workspace", verb, ..] => (OF_A_WORKSPACE.contains(verb), false),
            ["auwai", verb, ..] => (ACTING.contains(verb), READING.contains(verb)),
            ["auwai-ledger", verb, ..] => (OF_THE_LEDGER.contains(verb), false),
            _ => (false, false),
        };
        if !acts {
            return command.to_string();
        }
        let lacks = |names: &[&str]| !words.iter().any(|word| names.contains(word));
        let mut more = String::new();
        if !of_the_ledger && lacks(&["-C"]) {
            more += &self.dir;
        }
        for (names, option) in [
            (&["-W", "--workspace"][..], self.workspace.as_str()),
            (&["--state-dir"], &self.state_dir),
            (&["--trust-state"], self.trust_state),
            (&["--reader"], if reads { &self.reader } else { "" }),
        ] {
            if lacks(names) {
                more += option;
            }
        }
        let command = put_before_command(command, &more);
        match self.dir.strip_prefix(" -C ").filter(|_| of_the_ledger) {
            // The ledger acts where it stands.
            Some(dir) => format!("(cd {dir} && {command})"),
            None => command,
        }
    }
}

impl Planning {
    /// A command about a plan as one of the verb that was typed, with the options that were.
    fn in_command(&self, command: &str) -> String {
        let words: Vec<&str> = command.split(' ').collect();
        let has = |name: &str| words.contains(&name);
        let is_policy = PolicyArgs::NAMES.iter().any(|name| has(name));
        let (verb, rest) = match words.as_slice() {
            ["auwai", "next", ..] if self.verb == "run" => {
                return format!("auwai run{}", self.rest);
            }
            // Another policy for what was asked for.
            ["auwai", "plan", rest @ ..] if is_policy && !has("--force") => (self.verb, rest),
            ["auwai", verb @ ("plan" | "replan"), rest @ ..] => (*verb, rest),
            _ => return command.to_string(),
        };
        let force = if self.force && verb == self.verb { " --force" } else { "" };
        let mut command = format!("auwai {verb}{force}");
        rest.iter().for_each(|word| command = format!("{command} {word}"));
        for (name, value) in self.options.iter().filter(|(name, _)| !has(name)) {
            command += &format!(" {name} {value}");
        }
        if verb == "run" { command + &self.rest } else { command }
    }
}

/// A command with more options, which stand before the command that it runs itself.
fn put_before_command(command: &str, more: &str) -> String {
    let end = command.find(" -- ").unwrap_or(command.len());
    format!("{}{more}{}", &command[..end], &command[end..])
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

    #[test]
    fn the_folder_that_was_typed_is_repeated() {
        let common = Common { dir: Some("core".into()), ..Common::default() };
        let typed = Typed::of(&common, None);
        for (hint, repeated) in [
            ("`auwai next`", "`auwai next -C core`"),
            ("`auwai run -- wc -w`", "`auwai run -C core -- wc -w`"),
            ("`auwai index --repo /x`", "`auwai index --repo /x`"),
            (
                "`auwai-ledger release --segment ID`",
                "`(cd core && auwai-ledger release --segment ID)`",
            ),
        ] {
            assert_eq!(typed.in_text(hint), repeated);
        }
    }

    #[test]
    fn another_policy_is_suggested_to_the_command_that_was_typed() {
        let options = vec![("--context-window", "9k".to_string()), ("--page", "3000".to_string())];
        let rest = " --jobs 2 -- wc".to_string();
        let told = |verb, force, hint: &str| {
            let planning = Planning { verb, force, options: options.clone(), rest: rest.clone() };
            Typed::default().planning(Some(planning)).in_text(hint)
        };
        let larger = "`auwai plan --context-window 20000`";
        for (verb, force, hint, expected) in [
            ("plan", false, larger, "`auwai plan --context-window 20000 --page 3000`"),
            ("plan", true, larger, "`auwai plan --force --context-window 20000 --page 3000`"),
            ("replan", false, larger, "`auwai replan --context-window 20000 --page 3000`"),
            (
                "workspace survey",
                false,
                larger,
                "`auwai workspace survey --context-window 20000 --page 3000`",
            ),
            (
                "run",
                true,
                larger,
                "`auwai run --force --context-window 20000 --page 3000 --jobs 2 -- wc`",
            ),
            ("run", true, "`auwai next`", "`auwai run --jobs 2 -- wc`"),
            ("plan", false, "`auwai next`", "`auwai next`"),
            (
                "plan",
                false,
                "`auwai plan --force`",
                "`auwai plan --force --context-window 9k --page 3000`",
            ),
            ("run", false, "`auwai replan`", "`auwai replan --context-window 9k --page 3000`"),
            ("plan", false, "`auwai index --tokenizer x`", "`auwai index --tokenizer x`"),
        ] {
            assert_eq!(told(verb, force, hint), expected);
        }
    }

    #[test]
    fn what_a_stage_suggests_of_itself_is_suggested_of_the_command() {
        let typed = Typed::default().stands_for(&[("auwai-wait-events", "auwai watch")]);
        assert_eq!(
            typed.in_text("`auwai-wait-events --backend poll`"),
            "`auwai watch --backend poll`"
        );
        assert_eq!(typed.in_text("`auwai-wait-eventsx`"), "`auwai-wait-eventsx`");
    }
}
