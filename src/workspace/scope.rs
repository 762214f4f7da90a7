//! The subtrees that a member is bounded to: what was typed after `--only`, looked at on the disk and
//! by the rules of what is in, so that a scope that could hold nothing is told when it is made.

use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use super::{below, quote};
use crate::admit::{Policy, Rule, Surroundings, Verdict};
use crate::error::{Error, Result};
use crate::record::RepoPath;
use crate::regular;

/// The folders of `--only`, each relative to the repository's root: in their order, and none within
/// another.
///
/// # Errors
/// `not-found`, `not-a-folder`, `outside`, `is-link`, `ignored` or `nested` for one that can hold
/// nothing; those of [`Policy::open`].
pub(super) fn subtrees(
    root: &Path,
    typed: &[impl AsRef<Path>],
    around: &Surroundings,
) -> Result<Vec<RepoPath>> {
    if typed.is_empty() {
        return Ok(Vec::new());
    }
    let policy = Policy::open(root, around, &[])?;
    let one = |dir: &_| subtree(root, AsRef::as_ref(dir), &policy);
    let mut all = typed.iter().map(one).collect::<Result<Vec<_>>>()?;
    all.sort_by_key(RepoPath::to_key);
    all.dedup_by(|next, kept| next.is_within(kept));
    Ok(all)
}

fn subtree(root: &Path, typed: &Path, policy: &Policy) -> Result<RepoPath> {
    let inside = below(root, &root.join(typed)).ok_or_else(|| outside(typed, root))?;
    let path =
        RepoPath::new(inside.as_os_str().as_bytes()).ok_or_else(|| all_of_it(typed, root))?;
    let there = path.under(root);
    let meta = there.symlink_metadata().map_err(|e| {
        Error::io("open", quote(&there), &e)
            .hint(format!("see which folders there are: `ls {}`", quote(root)))
    })?;
    match policy.verdict(&path, meta.is_dir()) {
        Verdict::Beyond(link) => Err(through_link(&link, root)),
        _ if meta.is_symlink() => Err(through_link(&path, root)),
        _ if !meta.is_dir() => Err(no_folder(&path, root)),
        Verdict::Ignored(_) if policy.is_reserved_folder(&path) => Err(reserved(&path)),
        Verdict::Ignored(rule) => Err(ignored(&path, root, &rule)),
        Verdict::Nested(at) => Err(of_another(&path, &at, root)),
        Verdict::Admitted | Verdict::Closed(..) => Ok(path),
    }
}

fn outside(typed: &Path, root: &Path) -> Error {
    let message = format!("'{}' is not inside '{}'", quote(typed), quote(root));
    Error::failed("outside", message)
        .hint("give folders relative to the repository's root: `--only src --only docs`")
}

fn all_of_it(typed: &Path, root: &Path) -> Error {
    let message = format!("'{}' is all of '{}', which bounds nothing", quote(typed), quote(root));
    Error::failed("outside", message)
        .hint(format!("leave out --only: `auwai workspace add {}`", quote(root)))
}

fn through_link(link: &RepoPath, root: &Path) -> Error {
    let message = format!("'{}' is a symbolic link, and links are not followed", link.display());
    let error = Error::failed("is-link", message);
    let leads_to = link.under(root).canonicalize().ok();
    match leads_to.as_deref().and_then(|real| real.strip_prefix(root).ok()) {
        Some(real) if !real.as_os_str().is_empty() => {
            error.hint(format!("name what it leads to: `--only {}`", quote(real)))
        }
        _ => error.hint("what it leads to is a repository of its own: `auwai workspace add PATH`"),
    }
}

fn no_folder(path: &RepoPath, root: &Path) -> Error {
    let what = match regular::is_there(&path.under(root)) {
        true => "a file",
        false => "no folder",
    };
    let error = Error::failed(
        "not-a-folder",
        format!("'{}' is {what}, and --only takes folders", path.display()),
    );
    match path.parent() {
        Some(folder) => error.hint(format!("name the one it is in: `--only {}`", folder.display())),
        None => {
            error.hint("leave out others by lines in .auwai-ignore, such as: `/*` and `!/name`")
        }
    }
}

fn ignored_by(path: &RepoPath, rule: &Rule) -> Error {
    Error::failed("ignored", format!("'{}' is ignored (by {rule})", path.display()))
}

fn reserved(path: &RepoPath) -> Error {
    ignored_by(path, &Rule::Builtin).hint("nothing in it is ever read: name other folders")
}

fn ignored(path: &RepoPath, root: &Path, rule: &Rule) -> Error {
    let list = quote(&root.join(".auwai-ignore"));
    ignored_by(path, rule)
        .hint(format!("take it in by a line in '{list}': `!/{}/`", path.display()))
}

fn of_another(path: &RepoPath, at: &RepoPath, root: &Path) -> Error {
    let message = match path == at {
        true => format!("'{}' is a repository of its own", path.display()),
        false => format!("'{}' is in the repository '{}'", path.display(), at.display()),
    };
    let place = quote(&at.under(root));
    let only = path.as_bytes().strip_prefix(at.as_bytes()).and_then(|rest| rest.strip_prefix(b"/"));
    let only = only.and_then(RepoPath::new).map(|dir| format!(" --only {}", dir.display()));
    Error::failed("nested", message)
        .hint(format!("add it: `auwai workspace add {place}{}`", only.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use std::fs;

    fn repository() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for folder in ["a/b", "a/bb", "c", "out/in", "sub/.git/objects", "sub/.git/refs", "sub/d"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
        }
        fs::write(dir.path().join("sub/.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        fs::write(dir.path().join("c/f"), "").unwrap();
        fs::write(dir.path().join(".auwai-ignore"), "out/\n").unwrap();
        std::os::unix::fs::symlink("a", dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink("/", dir.path().join("away")).unwrap();
        dir
    }

    fn of(dir: &tempfile::TempDir, typed: &[&str]) -> Result<Vec<RepoPath>> {
        subtrees(&dir.path().canonicalize().unwrap(), typed, &Surroundings::default())
    }

    #[test]
    fn scopes_are_in_order_and_none_is_within_another() {
        let dir = repository();
        let given = |typed: &[&str]| {
            let all = of(&dir, typed).unwrap();
            all.iter().map(|path| path.display().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(given(&["c/", "./a/bb", "a/b/", "a/b"]), ["a/b", "a/bb", "c"]);
        assert_eq!(given(&["a/b", "a", "c/../a/bb"]), ["a"]);
        let absolute = dir.path().join("c");
        assert_eq!(given(&[absolute.to_str().unwrap()]), ["c"]);
    }

    #[test]
    fn what_can_hold_nothing_is_refused_with_a_way_out() {
        let dir = repository();
        for (typed, code, hint) in [
            ("nope", "not-found", "`ls "),
            ("c/f", "not-a-folder", "`--only c`"),
            ("../x", "outside", "`--only src"),
            ("/", "outside", "`--only src"),
            (".", "outside", "leave out --only"),
            ("link", "is-link", "`--only a`"),
            ("link/b", "is-link", "`--only a`"),
            ("away", "is-link", "`auwai workspace add PATH`"),
            ("out", "ignored", "`!/out/`"),
            ("out/in", "ignored", "`!/out/in/`"),
            ("sub", "nested", "sub`"),
            ("sub/d", "nested", "sub --only d`"),
        ] {
            let error = of(&dir, &[typed]).unwrap_err();
            assert_eq!(error.code(), code, "{typed}: {error}");
            assert!(
                error.hints().iter().any(|it| it.contains(hint)),
                "{typed}: {:?}",
                error.hints()
            );
        }
    }
}
