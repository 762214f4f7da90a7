//! The options of a policy: the budget of a plan, and its order.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::plan::{PolicyOptions, TOKENIZERS, parse_order, parse_share, parse_tokens};
use crate::record::Policy;
use crate::visible::quote;

/// The budget of a plan. What is absent is the default.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct PolicyArgs {
    /// The reader's context window in tokens [default: 65536].
    ///
    /// `200_000`, `200k` and `1m` are understood; `k` is 1,000.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub context_window: Option<u64>,

    /// The tokens kept for the prompt around a segment [default: 4096].
    ///
    /// The brief of a segment and its list of chunk ids fit in it, and a segment closes when they
    /// would outgrow it: give a sixteenth of the window, or the segments of a large window stay
    /// half empty.
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub fixed_prompt: Option<u64>,

    /// The tokens kept for the reader's answer [default: 8192].
    #[arg(long, value_name = "TOKENS", value_parser = parse_tokens)]
    pub reserve: Option<u64>,

    /// The share of the rest that is left free, since other tokenizers count otherwise
    /// [default: 0.10].
    ///
    /// From 0 to under 1, with at most six decimals. The segment budget is the window less prompt
    /// and reserve, times one less this share, rounded down.
    #[arg(long, value_name = "SHARE", value_parser = parse_share)]
    pub safety: Option<u64>,

    /// The tokenizer that the chunks were counted with [default: that of their index].
    #[arg(long, value_name = "NAME", value_parser = TOKENIZERS)]
    pub tokenizer: Option<String>,

    /// The size in characters of a page that `read` prints at once; `none` is no limit
    /// [default: none].
    #[arg(long, value_name = "CHARS|none", value_parser = parse_page)]
    pub page: Option<PageSize>,

    /// Print marks into what is read, which the reader gives back to prove that it came to it
    /// [default: off].
    #[arg(long, value_name = "on|off", num_args = 0..=1, default_missing_value = "on")]
    pub marks: Option<Switch>,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Switch {
    /// It is so
    On,
    /// It is not
    Off,
}

impl Switch {
    fn word(self) -> String {
        if self == Switch::On { "on" } else { "off" }.to_string()
    }
}

/// The most characters of a page, if there is a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageSize(pub Option<u64>);

impl std::fmt::Display for PageSize {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Some(page) => write!(f, "{page}"),
            None => f.write_str("none"),
        }
    }
}

/// A page of no characters could hold nothing.
fn parse_page(text: &str) -> std::result::Result<PageSize, String> {
    if text == "none" {
        return Ok(PageSize(None));
    }
    match parse_tokens(text) {
        Ok(0) | Err(_) => {
            Err("not a number of characters, such as 30000 or 30k, and not `none`".to_string())
        }
        Ok(page) => Ok(PageSize(Some(page))),
    }
}

impl PolicyArgs {
    /// The names of the options, in the order of the fields.
    pub const NAMES: [&str; 7] = [
        "--context-window",
        "--fixed-prompt",
        "--reserve",
        "--safety",
        "--tokenizer",
        "--page",
        "--marks",
    ];

    /// The options as they would be typed, for the command line of `auwai-plan`.
    pub fn typed(&self) -> Vec<(&'static str, String)> {
        let number = |number: Option<u64>| number.map(|number| number.to_string());
        let values = [
            number(self.context_window),
            number(self.fixed_prompt),
            number(self.reserve),
            self.safety.map(|ppm| format!("0.{ppm:06}")),
            self.tokenizer.clone(),
            self.page.map(|page| page.to_string()),
            self.marks.map(Switch::word),
        ];
        let all = Self::NAMES.into_iter().zip(values);
        all.filter_map(|(name, value)| Some((name, value?))).collect()
    }

    /// The options that make this policy again.
    pub fn of(policy: &Policy) -> PolicyArgs {
        PolicyArgs {
            context_window: Some(policy.context_window.0),
            fixed_prompt: Some(policy.fixed_prompt.0),
            reserve: Some(policy.reserve.0),
            safety: Some(policy.safety_ppm),
            tokenizer: Some(policy.tokenizer.clone()),
            page: policy.page.map(|page| PageSize(Some(page))),
            marks: policy.marks.then_some(Switch::On),
        }
    }

    /// What is meant, over `base`.
    pub fn over(&self, base: PolicyOptions) -> PolicyOptions {
        PolicyOptions {
            context_window: self.context_window.unwrap_or(base.context_window),
            fixed_prompt: self.fixed_prompt.unwrap_or(base.fixed_prompt),
            reserve: self.reserve.unwrap_or(base.reserve),
            safety_ppm: self.safety.unwrap_or(base.safety_ppm),
            tokenizer: self.tokenizer.clone().unwrap_or(base.tokenizer),
            page: self.page.map_or(base.page, |page| page.0),
            marks: self.marks.map_or(base.marks, |marks| marks == Switch::On),
            ..base
        }
    }
}

/// The reading order of a plan.
#[derive(Debug, Clone, Default, clap::Args)]
#[group(skip)]
pub struct OrderArgs {
    /// Read files that match an earlier glob of FILE first, as `git diff -O` does.
    ///
    /// One glob a line; empty lines and lines that begin with `#` are passed over. `*` also matches
    /// `/`, and a file matches when its path or a directory above it does. A glob without `/` may
    /// begin at any component of the path; `/` in front holds it to the root of a repository. Files
    /// that match no glob come last. Files that match the same glob keep the order of the tree. All
    /// chunks are then held in memory.
    #[arg(long, value_name = "FILE")]
    pub order: Option<PathBuf>,

    /// The same with one glob on the command line, after those of FILE (may be given several times).
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    pub order_glob: Vec<String>,
}

impl OrderArgs {
    /// Whether one was given.
    pub fn is_given(&self) -> bool {
        self.order.is_some() || !self.order_glob.is_empty()
    }

    /// Its globs.
    ///
    /// # Errors
    /// What keeps the file from being read.
    pub fn globs(&self) -> Result<Vec<String>> {
        let mut globs = self.order.as_deref().map(read_order).transpose()?.unwrap_or_default();
        globs.extend(self.order_glob.iter().cloned());
        Ok(globs)
    }
}

/// No list of globs is longer; a device without end is.
const LONGEST_ORDER: u64 = 16 << 20;

fn read_order(path: &Path) -> Result<Vec<String>> {
    if path == Path::new("-") {
        let message = "cannot read the order from '-': the records come from there";
        return Err(Error::usage(message).hint("write the globs to a file: --order FILE"));
    }
    let mut text = String::new();
    let read =
        File::open(path).and_then(|file| file.take(LONGEST_ORDER + 1).read_to_string(&mut text));
    let hint = "give a file with one glob a line: `echo 'src/*' >FILE`";
    read.map_err(|e| Error::io("read", quote(path), &e).hint(hint))?;
    if text.len() as u64 > LONGEST_ORDER {
        let message = format!("'{}' is longer than 16 MiB, which no list of globs is", quote(path));
        return Err(Error::failed("bad-input", message).hint(hint));
    }
    Ok(parse_order(&text))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_without_an_end_is_refused_and_not_cut_short() {
        let error = read_order(Path::new("/dev/zero")).unwrap_err();
        assert_eq!((error.code(), error.hints().len()), ("bad-input", 1));
    }
}
