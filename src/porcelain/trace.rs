//! `AUWAI_TRACE=1`: the pipeline as a line of shell, on standard error, so that anybody can run and
//! change it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use super::pipeline::{Output, Stage};
use crate::cli::Io;

/// Prints the stages when tracing is on.
pub fn print(stages: &[Stage], io: &mut Io<'_>) {
    if io.world.var("AUWAI_TRACE").is_some_and(|value| value != "0") {
        let _ = writeln!(io.err, "{}", line(stages));
    }
}

/// The stages as one command line for `sh`.
pub fn line(stages: &[Stage]) -> String {
    let acks = stages.iter().any(|stage| stage.output() == Output::Acks);
    let joined = stages.iter().map(command).collect::<Vec<_>>().join(" | ");
    // Descriptor 4 keeps standard output while the pipe carries the acknowledgements.
    if acks { format!("{{ {joined}; }} 4>&1") } else { joined }
}

fn command(stage: &Stage) -> String {
    let words: Vec<String> = stage.args().iter().map(|arg| quote(arg)).collect();
    let line = words.join(" ");
    match stage.output() {
        Output::Pipe => line,
        Output::Acks => format!("{line} 3>&1 >&4"),
    }
}

/// A word for `sh`: raw when harmless, else in single quotes. Bytes that are not UTF-8 and control
/// characters go through `printf`.
pub fn quote(word: &OsStr) -> String {
    let bytes = word.as_bytes();
    let plain = |b: &u8| b.is_ascii_alphanumeric() || b"_-./:=,+@%".contains(b);
    if !bytes.is_empty() && bytes.iter().all(plain) {
        return word.to_string_lossy().into_owned();
    }
    match word.to_str().filter(|text| !text.chars().any(crate::visible::is_hidden)) {
        Some(text) => format!("'{}'", text.replace('\'', r"'\''")),
        None => by_printf(bytes),
    }
}

/// A command substitution, since `sh` has no `$'…'`; it drops newlines at the very end of a word.
fn by_printf(bytes: &[u8]) -> String {
    let octal: String = bytes.iter().map(|b| format!("\\{b:03o}")).collect();
    format!("\"$(printf '{octal}')\"")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::porcelain::pipeline::stage;

    #[test]
    fn a_pipeline_is_a_line_of_shell() {
        let stages = [stage(["auwai-ledger", "show", "--repo", "a b'c"]), stage(["cat"])];
        assert_eq!(line(&stages), r"auwai-ledger show --repo 'a b'\''c' | cat");
    }

    #[test]
    fn acknowledgements_take_the_pipe() {
        let stages = [stage(["show"]), stage(["print"]).acks(), stage(["mark"])];
        assert_eq!(line(&stages), "{ show | print 3>&1 >&4 | mark; } 4>&1");
    }

    #[test]
    fn sh_reads_the_words_back() {
        let words = ["a b", "it's", "$HOME `x`", "tab\there", "\u{1b}[0m", "", "é"];
        let stages = [stage(["printf", "%s\\n"].into_iter().chain(words))];
        let out = std::process::Command::new("sh").arg("-c").arg(line(&stages)).output().unwrap();
        assert_eq!(String::from_utf8(out.stdout).unwrap(), words.join("\n") + "\n");
    }
}
