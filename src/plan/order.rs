//! The reading order that `--order` asks for: files that match an earlier glob come first.
//!
//! As in `git diff -O`: one glob a line, `*` also crosses `/`, and a file matches when its path or
//! any directory above it does. Beyond git, a glob without `/` may begin at any component, so that
//! `Makefile` means every one; `/Makefile` means the one at the root. The syntax is globset's, with
//! `{a,b}`.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};

use crate::error::{Error, Result};
use crate::record::RepoPath;

/// Reads an order file: one glob a line; empty lines and lines that begin with `#` are passed over
/// (`\#` begins a glob with `#`).
pub fn parse_order(text: &str) -> Vec<String> {
    let lines = text.lines().map(str::trim_end);
    lines.filter(|line| !line.is_empty() && !line.starts_with('#')).map(str::to_string).collect()
}

/// Compiled globs.
#[derive(Debug)]
pub(super) struct Order {
    set: GlobSet,
}

impl Order {
    /// Compiles `globs`; a usage error names one that is not a glob.
    pub fn new(globs: &[String]) -> Result<Self> {
        let mut set = GlobSetBuilder::new();
        for glob in globs {
            let anywhere = anchored(glob);
            let built = GlobBuilder::new(&anywhere).literal_separator(false).build();
            set.add(built.map_err(|e| not_a_glob(glob, &e))?);
        }
        let set =
            set.build().map_err(|e| Error::usage("cannot use the globs of --order").because(e))?;
        Ok(Order { set })
    }

    /// The place of the first glob that matches `path`, or the number of globs if none does.
    pub fn rank(&self, path: &RepoPath) -> usize {
        let path = path.as_bytes();
        let ends = (1..=path.len()).filter(|at| path.get(*at).is_none_or(|b| *b == b'/'));
        let ranks = ends.filter_map(|end| self.first_match(&path[..end]));
        ranks.min().unwrap_or(self.set.len())
    }

    fn first_match(&self, path: &[u8]) -> Option<usize> {
        self.set.matches(OsStr::from_bytes(path)).into_iter().min()
    }
}

/// The glob over whole paths that `glob` stands for.
fn anchored(glob: &str) -> String {
    let body = glob.strip_suffix('/').unwrap_or(glob);
    match body.strip_prefix('/') {
        Some(rooted) => rooted.to_string(),
        None if body.contains('/') => body.to_string(),
        None => format!("**/{body}"),
    }
}

fn not_a_glob(glob: &str, cause: &globset::Error) -> Error {
    Error::usage(format!("not a glob for --order: '{glob}'"))
        .because(cause.kind())
        .hint("write it as in .gitignore, such as `src/**/*.rs`")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rank(globs: &[&str], path: &str) -> usize {
        let globs: Vec<String> = globs.iter().map(|g| g.to_string()).collect();
        Order::new(&globs).unwrap().rank(&RepoPath::new(path).unwrap())
    }

    #[test]
    fn globs_match_as_in_git_diff_orderfile() {
        // The examples of gitdiff-options(1), -O.
        assert_eq!(rank(&["foo*bar"], "fooasdfbar"), 0);
        assert_eq!(rank(&["foo*bar"], "foo/bar/baz/asdf"), 0);
        assert_eq!(rank(&["foo*bar"], "foobarx"), 1);
    }

    #[test]
    fn a_glob_without_a_slash_begins_at_any_component() {
        assert_eq!(rank(&["Makefile"], "a/b/Makefile"), 0);
        assert_eq!(rank(&["docs/"], "a/docs/x/y.md"), 0);
        assert_eq!(rank(&["*.h"], "include/linux/a.h"), 0);
        assert_eq!(rank(&["akefile"], "Makefile"), 1);
    }

    #[test]
    fn a_glob_with_a_slash_is_for_the_whole_path() {
        assert_eq!(rank(&["/Makefile"], "a/Makefile"), 1);
        assert_eq!(rank(&["/Makefile"], "Makefile"), 0);
        assert_eq!(rank(&["src/lib"], "src/lib/x.rs"), 0);
        assert_eq!(rank(&["src/lib"], "a/src/lib/x.rs"), 1);
    }

    #[test]
    fn the_earliest_glob_counts_wherever_it_matches() {
        assert_eq!(rank(&["*.md", "src"], "src/a.md"), 0);
        assert_eq!(rank(&["src", "*.md"], "src/a.md"), 0);
        assert_eq!(rank(&["x", "*.md"], "src/a.md"), 1);
    }

    #[test]
    fn what_is_no_glob_is_named() {
        let error = Order::new(&["a[".to_string()]).unwrap_err();
        assert_eq!(error.kind().exit_code(), 2);
        assert!(error.to_string().starts_with("not a glob for --order: 'a[': "), "{error}");
    }

    #[test]
    fn comments_and_empty_lines_are_passed_over() {
        assert_eq!(parse_order("# first\n\n*.md\r\n\\#x\n src \n"), ["*.md", "\\#x", " src"]);
    }
}
