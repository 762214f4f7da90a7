//! What is in: git's tracked list, ignore rules, the scope. One policy for the walk, for the
//! directories to watch, for every event, and for `why`.
//!
//! In a git repository a path is admitted when git's index has it, or when no rule excludes it: the
//! set of `git ls-files -co --exclude-standard`, without a git binary. Sources of rules, strongest
//! last: built in, the user's global excludes, `info/exclude`, `.gitignore` at every level up to the
//! top of the work tree, and `.auwai-ignore` likewise, which alone can keep a tracked file out and
//! can bring back what git ignores. Outside git there is no `.gitignore`, as ripgrep has it too.
//!
//! [`Policy`] answers for one path ([`Policy::verdict`]) or goes down a tree with the caller:
//! [`Policy::root`], [`Policy::enter`], [`Policy::judge`]. It is a snapshot; when a control file
//! ([`Policy::control_files`]) or a rule file in the tree changes, a new one is opened.
//!
//! Known limits. With `core.ignoreCase` patterns match without case, but a tracked path is one of
//! exactly that name. Git's objects are not read: a `.gitignore` that a sparse checkout leaves out
//! of the tree does not apply, and what a sparse index has collapsed counts as untracked where
//! present.

mod chain;
mod config;
mod covering;
mod fingerprint;
mod gitdir;
mod glob;
mod head;
mod path;
mod pattern;
mod policy;
mod rules;
mod stat;
mod surroundings;
mod tracked;
mod tracks;

pub use chain::{Dir, Ruling};
pub use covering::Covering;
pub use gitdir::{GIT_NAMES, is_repository};
pub use path::Verdict;
pub use policy::Policy;
pub use rules::{GIT_RULES, OWN_RULES, Rule, RuleFiles, RuleList, is_pattern};
pub use stat::Stat;
pub use surroundings::Surroundings;
pub use tracked::{Child, Tracked};
pub use tracks::tracks;

/// The commit that HEAD names in the repository around `root`, in hex, for when no policy is open.
pub fn head(root: &std::path::Path) -> Option<String> {
    let git = gitdir::GitDir::around(&root.canonicalize().ok()?)?;
    head::Head::read(&git).commit
}
