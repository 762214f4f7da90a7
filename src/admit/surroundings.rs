//! What the environment says about git's configuration, as plain values.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The part of the environment that decides which configuration git would read.
///
/// `GIT_DIR` and its kin are not here on purpose: the repository is the one around the root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Surroundings {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`, when not empty.
    pub xdg_config_home: Option<PathBuf>,
    /// `GIT_CONFIG_GLOBAL`: replaces both global files.
    pub config_global: Option<PathBuf>,
    /// `GIT_CONFIG_SYSTEM`: replaces `/etc/gitconfig`.
    pub config_system: Option<PathBuf>,
    /// `GIT_CONFIG_NOSYSTEM`: no system file at all.
    pub no_system: bool,
    /// `GIT_CONFIG_COUNT`, `GIT_CONFIG_KEY_<n>`, `GIT_CONFIG_VALUE_<n>`: strongest of all.
    pub overrides: Vec<(Vec<u8>, Vec<u8>)>,
}

impl Surroundings {
    /// Takes what it needs from all variables.
    pub fn from_vars(vars: &BTreeMap<OsString, OsString>) -> Self {
        let var = |name: &str| vars.get(OsStr::new(name)).cloned();
        let path = |name: &str| var(name).map(PathBuf::from);
        Surroundings {
            home: path("HOME"),
            xdg_config_home: path("XDG_CONFIG_HOME").filter(|p| !p.as_os_str().is_empty()),
            config_global: path("GIT_CONFIG_GLOBAL"),
            config_system: path("GIT_CONFIG_SYSTEM"),
            no_system: var("GIT_CONFIG_NOSYSTEM").is_some_and(|v| is_true(v.as_bytes())),
            overrides: overrides(&var),
        }
    }

    /// `$XDG_CONFIG_HOME/git/<name>`, or the same below `$HOME/.config`.
    pub(super) fn xdg_git(&self, name: &str) -> Option<PathBuf> {
        let base = match (&self.xdg_config_home, &self.home) {
            (Some(xdg), _) => xdg.clone(),
            (None, Some(home)) => home.join(".config"),
            (None, None) => return None,
        };
        Some(base.join("git").join(name))
    }

    /// The configuration files outside the repository, weakest first, whether they exist or not.
    pub(super) fn config_files(&self) -> Vec<PathBuf> {
        let system = self.config_system.clone().unwrap_or_else(|| "/etc/gitconfig".into());
        let mut files = Vec::new();
        if !self.no_system {
            files.push(system);
        }
        match &self.config_global {
            Some(global) => files.push(global.clone()),
            None => {
                files.extend(self.xdg_git("config"));
                files.extend(self.home.as_ref().map(|home| home.join(".gitconfig")));
            }
        }
        files
    }
}

fn overrides(var: &impl Fn(&str) -> Option<OsString>) -> Vec<(Vec<u8>, Vec<u8>)> {
    let count = var("GIT_CONFIG_COUNT").and_then(|v| v.to_str()?.parse::<u32>().ok());
    (0..count.unwrap_or(0))
        .map_while(|n| {
            let key = var(&format!("GIT_CONFIG_KEY_{n}"))?;
            let value = var(&format!("GIT_CONFIG_VALUE_{n}"))?;
            Some((key.as_bytes().to_vec(), value.as_bytes().to_vec()))
        })
        .collect()
}

/// Git's reading of a boolean in the environment.
fn is_true(value: &[u8]) -> bool {
    let text = String::from_utf8_lossy(value).to_ascii_lowercase();
    match text.as_str() {
        "true" | "yes" | "on" => true,
        number => number.parse::<i64>().is_ok_and(|n| n != 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn surroundings(vars: &[(&str, &str)]) -> Surroundings {
        let own = |(name, value): &(&str, &str)| (name.into(), value.into());
        Surroundings::from_vars(&vars.iter().map(own).collect())
    }

    #[test]
    fn the_global_variable_replaces_both_global_files() {
        let both = surroundings(&[("HOME", "/h"), ("XDG_CONFIG_HOME", "")]);
        let files: [PathBuf; 3] =
            ["/etc/gitconfig".into(), "/h/.config/git/config".into(), "/h/.gitconfig".into()];
        assert_eq!(both.config_files(), files);
        let one = [("HOME", "/h"), ("GIT_CONFIG_GLOBAL", "/g"), ("GIT_CONFIG_NOSYSTEM", "1")];
        assert_eq!(surroundings(&one).config_files(), [PathBuf::from("/g")]);
    }

    #[test]
    fn numbered_variables_become_overrides() {
        let vars =
            [("GIT_CONFIG_COUNT", "1"), ("GIT_CONFIG_KEY_0", "a.b"), ("GIT_CONFIG_VALUE_0", "c")];
        assert_eq!(surroundings(&vars).overrides, [(b"a.b".to_vec(), b"c".to_vec())]);
    }
}
