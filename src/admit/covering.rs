//! A pattern that names paths and all that lies below them, as a line of an ignore file would.

use super::pattern::Pattern;
use super::rules::is_pattern;
use crate::record::RepoPath;

/// Such a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Covering(Pattern);

impl Covering {
    /// Reads it; `None` for what is no single pattern, can match nothing, or re-includes (`!`).
    pub fn parse(line: &str) -> Option<Covering> {
        let pattern = Pattern::parse(line.as_bytes(), false).filter(|_| is_pattern(line))?;
        (!pattern.is_negative()).then_some(Covering(pattern))
    }

    /// Whether it names a path, or a directory above it. `is_dir`: the path is a directory.
    pub fn has(&self, path: &RepoPath, is_dir: bool) -> bool {
        let bytes = path.as_bytes();
        let ends = memchr::memchr_iter(b'/', bytes).map(|end| (end, true));
        ends.chain([(bytes.len(), is_dir)]).any(|(end, is_dir)| {
            let path = &bytes[..end];
            let name_at = memchr::memrchr(b'/', path).map_or(0, |at| at + 1);
            self.0.matches(path, name_at, is_dir)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(pattern: &str, path: &str) -> bool {
        Covering::parse(pattern).unwrap().has(&RepoPath::new(path).unwrap(), false)
    }

    #[test]
    fn it_names_what_an_ignore_file_would() {
        assert!(has("*.png", "a/b/c.png") && !has("*.png", "a/b/c.pn"));
        assert!(has("vendor/", "vendor/x/y") && !has("vendor/", "vendor"));
        assert!(has("vendor", "x/vendor/y") && !has("/vendor", "x/vendor/y"));
        assert!(has("docs/**/a", "docs/a") && has("docs/*.svg", "docs/x.svg"));
        for bad in ["", "#x", "!x", "a\nb", "/"] {
            assert_eq!(Covering::parse(bad), None, "{bad:?}");
        }
    }
}
