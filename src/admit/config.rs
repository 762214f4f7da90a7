//! The few settings of git that decide admission, read from the files that git would read.

use std::path::{Path, PathBuf};

use gix_config::file::{Metadata, includes, init};
use gix_config::path::interpolate;
use gix_config::{File, Source};

use super::Surroundings;
use super::gitdir::GitDir;
use crate::error::{Error, Result};
use crate::regular::{self, Links};
use crate::visible;

/// What git's configuration says about admission.
#[derive(Debug)]
pub struct Settings {
    /// The global excludes: `core.excludesFile`, or its default place.
    pub excludes_file: Option<PathBuf>,
    /// `core.ignoreCase`.
    pub ignore_case: bool,
    /// How far git's stat data is to be trusted.
    pub trust: Trust,
    /// `extensions.objectFormat`.
    pub hash: gix_hash::Kind,
    /// Every file that was read or looked for.
    pub files: Vec<PathBuf>,
}

/// `core.fileMode`, `core.trustctime` and `core.checkStat`.
#[derive(Debug, Clone, Copy)]
pub struct Trust {
    /// The executable bit counts.
    pub file_mode: bool,
    /// The change time counts.
    pub ctime: bool,
    /// Only whole seconds and the size count.
    pub minimal: bool,
}

/// Reads the configuration of `git`; `branch` is the full name that HEAD holds, for `onbranch:`.
pub fn read(git: &GitDir, around: &Surroundings, branch: Option<&[u8]>) -> Result<Settings> {
    let options = options(git, around, branch);
    let mut files = around.config_files();
    let mut config = File::new(Metadata::from(Source::User));
    for file in &files {
        append(&mut config, file, Source::User, options)?;
    }
    let local = git.common.join("config");
    append(&mut config, &local, Source::Local, options)?;
    files.push(local);
    if flag(&config, "extensions.worktreeConfig", false) {
        let own = git.own.join("config.worktree");
        append(&mut config, &own, Source::Worktree, options)?;
        files.push(own);
    }
    apply_overrides(&mut config, around)?;
    files.extend(config.sections().filter_map(|section| section.meta().path.clone()));
    files.sort();
    files.dedup();
    Ok(settings(&config, git, around, options.includes.interpolate, files))
}

fn options<'a>(
    git: &'a GitDir,
    around: &'a Surroundings,
    branch: Option<&'a [u8]>,
) -> init::Options<'a> {
    let interpolate = interpolate::Context {
        git_install_dir: Some(Path::new("/usr")),
        home_dir: around.home.as_deref(),
        home_for_user: Some(interpolate::home_for_user),
    };
    let branch_name = branch.and_then(|name| std::str::from_utf8(name).ok()?.try_into().ok());
    let conditional = includes::conditional::Context { git_dir: Some(&git.own), branch_name };
    let mut includes = includes::Options::follow(interpolate, conditional);
    includes.err_on_missing_config_path = false;
    init::Options { includes, lossy: true, ignore_io_errors: true }
}

/// Adds one file with what it includes. A file that cannot be opened is as good as none, and so is
/// `/dev/null`; of anything else that is no file nobody knows what it says.
fn append(
    config: &mut File,
    path: &Path,
    source: Source,
    options: init::Options<'_>,
) -> Result<()> {
    let mut bytes = match regular::read(path, Links::Follow) {
        Ok(bytes) => bytes,
        Err(e) if regular::is_other(&e) && !regular::is_device(&e) => {
            return Err(bad_config(path, &e));
        }
        Err(_) => return Ok(()),
    };
    let meta = Metadata::from(source).at(path);
    File::from_bytes_owned(&mut bytes, meta, options)
        .and_then(|file| config.append(file).map(|_| ()))
        .map_err(|cause| bad_config(path, &cause))
}

fn bad_config(path: &Path, cause: &dyn std::fmt::Display) -> Error {
    use std::os::unix::ffi::OsStrExt;
    let shown = visible::quote_path(path.as_os_str().as_bytes());
    let cause = cause.to_string();
    Error::failed("git-config", format!("cannot read git's configuration '{shown}'"))
        .because(visible::one_line(cause.lines().next().unwrap_or_default()))
        .hint("`git config --list --show-origin` says which line is wrong")
}

fn apply_overrides(config: &mut File, around: &Surroundings) -> Result<()> {
    for (key, value) in &around.overrides {
        let key = String::from_utf8_lossy(key);
        config.set_raw_value(key.as_ref(), value.as_slice()).map_err(|cause| {
            Error::failed(
                "git-config",
                format!("bad key '{}' in GIT_CONFIG_KEY_*", visible::one_line(&key)),
            )
            .because(cause)
        })?;
    }
    Ok(())
}

fn settings(
    config: &File,
    git: &GitDir,
    around: &Surroundings,
    interpolate: interpolate::Context<'_>,
    files: Vec<PathBuf>,
) -> Settings {
    let excludes_file = match config.path("core.excludesFile") {
        Some(path) => path.interpolate(interpolate).ok().map(|path| git.top.join(path)),
        None => around.xdg_git("ignore"),
    };
    let is = |key: &str, word: &[u8]| {
        config.string(key).is_some_and(|value| value.eq_ignore_ascii_case(word))
    };
    Settings {
        excludes_file,
        ignore_case: flag(config, "core.ignoreCase", false),
        trust: Trust {
            file_mode: flag(config, "core.fileMode", true),
            ctime: flag(config, "core.trustctime", true),
            minimal: is("core.checkStat", b"minimal"),
        },
        hash: object_hash(config),
        files,
    }
}

/// What `extensions.objectFormat` says that objects are named by.
pub fn object_hash(config: &File) -> gix_hash::Kind {
    let format = config.string("extensions.objectFormat");
    match format.is_some_and(|format| format.eq_ignore_ascii_case(b"sha256")) {
        true => gix_hash::Kind::Sha256,
        false => gix_hash::Kind::Sha1,
    }
}

fn flag(config: &File, key: &str, default: bool) -> bool {
    config.boolean(key).ok().flatten().unwrap_or(default)
}
