//! What was probably meant by a command line that is wrong: clap knows options and verbs that are
//! spelled alike, this knows what is done elsewhere.

use std::ffi::{OsStr, OsString};

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::trace::quote;

/// Verbs that stand below `auwai workspace`.
const OF_WORKSPACE: [&str; 5] = ["survey", "init", "add", "remove", "list"];

/// Programs of their own.
const TOOLS: [&str; 5] = ["relay", "ledger", "wait-events", "plan-tool", "inbox"];

/// The hint for the words of a command line that clap refused with `error`.
pub fn of(words: &[OsString], error: &clap::Error) -> Option<String> {
    match error.kind() {
        ErrorKind::InvalidSubcommand => verb(words, named(error, ContextKind::InvalidSubcommand)?),
        ErrorKind::UnknownArgument => argument(words, named(error, ContextKind::InvalidArg)?),
        _ => None,
    }
}

fn named(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

fn verb(words: &[OsString], typed: &str) -> Option<String> {
    if OF_WORKSPACE.contains(&typed) {
        return Some(format!("that is `auwai workspace {}`", from(words, typed)?));
    }
    let tool = typed.strip_prefix("auwai-").unwrap_or(typed);
    TOOLS.contains(&tool).then(|| {
        let tool = tool.strip_suffix("-tool").unwrap_or(tool);
        format!("that is a program of its own, `auwai-{tool}`: see `auwai help auwai-{tool}`")
    })
}

/// An argument that its command does not take.
fn argument(words: &[OsString], typed: &str) -> Option<String> {
    let verb = |name: &str| words.iter().skip(1).any(|word| word == name);
    let option = typed.starts_with('-');
    if verb("run") && !option {
        let before = words.iter().skip(1).take_while(|word| *word != typed);
        let before: Vec<String> = before.map(|word| quote(word)).collect();
        return Some(format!("`auwai {} -- {}`", before.join(" "), from(words, typed)?));
    }
    if verb("done") && !option {
        return Some(format!("say what was found with -m: `auwai done -m {}`", shown(typed)));
    }
    if verb("next") && typed.starts_with("--segment") {
        let id = words.iter().skip_while(|word| !word.as_encoded_bytes().starts_with(b"--segment"));
        let id = id.last().map(|word| quote(word)).filter(|id| !id.starts_with('-'));
        let id = id.unwrap_or_else(|| "ID".to_string());
        return Some(format!("a segment of your choice: `auwai read --segment {id}`"));
    }
    None
}

/// The words from `typed` on, for a shell.
fn from(words: &[OsString], typed: &str) -> Option<String> {
    let rest: Vec<String> =
        words.iter().skip_while(|word| *word != typed).map(|word| quote(word)).collect();
    (!rest.is_empty()).then(|| rest.join(" "))
}

fn shown(word: &str) -> String {
    quote(OsStr::new(word))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    fn advice(line: &str) -> Option<String> {
        let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
        of(&words, &crate::porcelain::Auwai::try_parse_from(&words).unwrap_err())
    }

    #[test]
    fn what_was_meant_is_said() {
        for (line, said) in [
            ("auwai run wc -w", "`auwai run -- wc -w`"),
            ("auwai -W demo run -j 2 wc -w", "`auwai -W demo run -j 2 -- wc -w`"),
            ("auwai done finished", "say what was found with -m: `auwai done -m finished`"),
            ("auwai survey --depth 1", "that is `auwai workspace survey --depth 1`"),
            (
                "auwai relay",
                "that is a program of its own, `auwai-relay`: see `auwai help auwai-relay`",
            ),
            (
                "auwai next --segment read-2",
                "a segment of your choice: `auwai read --segment read-2`",
            ),
        ] {
            assert_eq!(advice(line).as_deref(), Some(said), "{line}");
        }
        assert_eq!(advice("auwai red"), None);
        assert_eq!(advice("auwai done --nosuch"), None);
    }
}
