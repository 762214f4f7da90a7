//! What the world outside says: environment, current folder, clock, cores. Tests make their own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::parse::name;
use crate::admit::Surroundings;
use crate::error::{Error, Result};
use crate::store::coverage::{Moment, Uptime};
use crate::visible::quote;
use crate::workspace::{Terms, Trust, nearest};

/// The reader that acts when none is named.
pub const DEFAULT_READER: &str = "default";

/// Our own variables that a person sets, and whether they are text; the others are paths.
const OWN_VARIABLES: [(&str, bool); 4] = [
    ("AUWAI_WORKSPACE", false),
    ("AUWAI_STATE_DIR", false),
    ("AUWAI_READER", true),
    ("AUWAI_MAX_CHARS", true),
];

/// A snapshot of the process's surroundings.
#[derive(Debug, Clone)]
pub struct World {
    vars: BTreeMap<OsString, OsString>,
    /// The current folder.
    pub cwd: PathBuf,
    /// Whether that is another one than the process's own (`-C DIR`).
    pub is_elsewhere: bool,
    /// The clock.
    pub now: fn() -> SystemTime,
    /// The clock that nobody sets: how long the machine runs.
    pub uptime: fn() -> Option<Uptime>,
    /// Bytes that nobody can foresee.
    pub seed: fn() -> std::io::Result<[u8; 32]>,
    /// How many threads to work with.
    pub threads: usize,
    /// Whether standard error is a terminal.
    pub terminal: bool,
    /// Whether standard output is one.
    pub screen: bool,
}

impl World {
    /// The real one.
    pub fn real() -> World {
        World {
            vars: std::env::vars_os().collect(),
            cwd: std::env::current_dir().unwrap_or_else(|_| PathBuf::from(".")),
            is_elsewhere: false,
            now: SystemTime::now,
            uptime,
            seed,
            threads: std::thread::available_parallelism().map_or(1, std::num::NonZero::get),
            terminal: std::io::stderr().is_terminal(),
            screen: std::io::stdout().is_terminal(),
        }
    }

    /// One for tests: nothing but what is given, one thread, and a clock that stands still.
    pub fn of(cwd: &Path, vars: &[(&str, &OsStr)]) -> World {
        let own = |(name, value): &(&str, &OsStr)| (OsString::from(name), OsString::from(value));
        World {
            vars: vars.iter().map(own).collect(),
            cwd: cwd.to_owned(),
            is_elsewhere: false,
            now: || SystemTime::UNIX_EPOCH,
            uptime: || None,
            seed: || Ok([0; 32]),
            threads: 1,
            terminal: false,
            screen: false,
        }
    }

    /// An environment variable that is set and not empty.
    pub fn var(&self, name: &str) -> Option<&OsStr> {
        self.vars.get(OsStr::new(name)).map(OsString::as_os_str).filter(|v| !v.is_empty())
    }

    /// The same as text; `None` when it is not UTF-8.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.var(name).and_then(OsStr::to_str)
    }

    /// Whether a stream may have colours; `terminal`: whether it is one.
    pub fn colours(&self, terminal: bool) -> bool {
        terminal && self.var("NO_COLOR").is_none() && self.var("TERM").is_some_and(|t| t != "dumb")
    }

    /// Looks at our own variables: one that is set says something.
    ///
    /// # Errors
    /// A usage error for one that is empty, or is no text where text is meant.
    pub fn check(&self) -> Result<()> {
        for (name, is_text) in OWN_VARIABLES {
            let Some(value) = self.vars.get(OsStr::new(name)) else { continue };
            let fault = match value.to_str() {
                Some("") => "is empty",
                None if is_text => "is not UTF-8",
                _ => continue,
            };
            return Err(Error::usage(format!("{name} {fault}"))
                .hint(format!("give it a value, or do without: `unset {name}`")));
        }
        Ok(())
    }

    /// What it says of git's configuration.
    pub fn surroundings(&self) -> Surroundings {
        Surroundings::from_vars(&self.vars)
    }

    /// Where state that belongs to the user lives: `$XDG_STATE_HOME`, else `~/.local/state`.
    pub fn state_home(&self) -> Option<PathBuf> {
        let path = |name| self.var(name).map(PathBuf::from).filter(|p| p.is_absolute());
        path("XDG_STATE_HOME").or_else(|| Some(path("HOME")?.join(".local/state")))
    }

    /// On what terms state is used: `--state-dir` or `AUWAI_STATE_DIR`, and `--trust-state`.
    pub fn terms(&self, state_dir: Option<&Path>, trust_state: bool) -> Terms {
        let sudo = self.text("SUDO_UID").and_then(|uid| uid.parse().ok());
        Terms { elsewhere: self.state_dir(state_dir), trust: Trust::new(trust_state, sudo) }
    }

    /// The folder that `--state-dir` or `AUWAI_STATE_DIR` names for state, if either does.
    pub fn state_dir(&self, typed: Option<&Path>) -> Option<PathBuf> {
        let named = typed.or_else(|| self.var("AUWAI_STATE_DIR").map(Path::new))?;
        Some(self.absolute(named))
    }

    /// The reader that `--reader` or `AUWAI_READER` names, if either does.
    ///
    /// # Errors
    /// A usage error when the variable does not hold a name.
    pub fn named_reader(&self, typed: Option<&str>) -> Result<Option<String>> {
        if let Some(typed) = typed {
            return Ok(Some(typed.to_string()));
        }
        let set = self.var("AUWAI_READER").map(OsStr::to_string_lossy);
        set.map(|set| name(&set)).transpose().map_err(|e| {
            Error::usage("AUWAI_READER is not the name of a reader")
                .because(e)
                .hint("name one for this command: `--reader NAME`")
        })
    }

    /// The reader who acts: the one named, else [`DEFAULT_READER`].
    ///
    /// # Errors
    /// As [`World::named_reader`].
    pub fn reader(&self, typed: Option<&str>) -> Result<String> {
        Ok(self.named_reader(typed)?.unwrap_or_else(|| DEFAULT_READER.to_string()))
    }

    /// Where sockets of this user's processes are: below `$XDG_RUNTIME_DIR`, else in a folder of
    /// this user among the temporary files.
    pub fn runtime_dir(&self) -> PathBuf {
        let absolute = |name| self.var(name).map(PathBuf::from).filter(|path| path.is_absolute());
        if let Some(dir) = absolute("XDG_RUNTIME_DIR") {
            return dir.join("auwai");
        }
        let user = rustix::process::geteuid().as_raw();
        absolute("TMPDIR").unwrap_or_else(|| "/tmp".into()).join(format!("auwai-{user}"))
    }

    /// The time now, RFC 3339 in UTC with whole seconds.
    pub fn timestamp(&self) -> String {
        humantime::format_rfc3339_seconds((self.now)()).to_string()
    }

    /// The time now, by both clocks.
    pub fn moment(&self) -> Moment {
        Moment { day: (self.now)(), up: (self.uptime)() }
    }

    /// The same world as seen from another folder (`-C DIR`).
    ///
    /// # Errors
    /// When that is no folder.
    pub fn inside(&self, dir: &Path) -> Result<World> {
        let cwd = self.absolute(dir);
        let shown = quote(dir);
        match std::fs::metadata(&cwd) {
            Ok(found) if found.is_dir() => Ok(World { cwd, is_elsewhere: true, ..self.clone() }),
            Ok(_) => Err(Error::failed("not-a-folder", format!("'{shown}' is not a folder"))
                .hint("give the folder that holds it: `auwai -C DIR COMMAND`")),
            Err(e) => Err(Error::io("change to", shown, &e)
                .hint(format!("see which folders there are: `ls {}`", quote(nearest(&cwd))))),
        }
    }

    /// A path as typed, seen from the current folder.
    pub fn absolute(&self, path: &Path) -> PathBuf {
        self.cwd.join(path)
    }
}

/// What the system has for keys.
fn seed() -> std::io::Result<[u8; 32]> {
    let mut seed = [0; 32];
    std::io::Read::read_exact(&mut std::fs::File::open("/dev/urandom")?, &mut seed)?;
    Ok(seed)
}

/// How long the machine runs, sleep included, as Linux tells it; `None` elsewhere. A container may see
/// another such clock than its host (time_namespaces(7)), so the namespace belongs to its name.
fn uptime() -> Option<Uptime> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    let told = std::fs::read_to_string("/proc/uptime").ok()?;
    let seconds = told.split(' ').next()?.parse().ok()?;
    let for_so_long = Duration::try_from_secs_f64(seconds).ok()?;
    Some(Uptime { boot: format!("{} {}", boot.trim(), namespace.display()), for_so_long })
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt;

    use super::*;

    #[test]
    fn the_state_home_is_absolute_or_the_default() {
        let relative = World::of(
            Path::new("/"),
            &[("XDG_STATE_HOME", OsStr::new("rel")), ("HOME", OsStr::new("/h"))],
        );
        assert_eq!(relative.state_home(), Some(PathBuf::from("/h/.local/state")));
        assert_eq!(World::of(Path::new("/"), &[]).state_home(), None);
        for home in ["", "rel"] {
            let home = World::of(Path::new("/"), &[("HOME", OsStr::new(home))]);
            assert_eq!(home.state_home(), None);
        }
    }

    #[test]
    fn a_variable_of_ours_says_something() {
        let check = |name, value: &[u8]| {
            World::of(Path::new("/"), &[(name, OsStr::from_bytes(value))]).check()
        };
        for (name, is_text) in OWN_VARIABLES {
            assert_eq!(check(name, b"").unwrap_err().to_string(), format!("{name} is empty"));
            assert_eq!(check(name, b"\xff").is_err(), is_text, "{name}");
            assert!(check(name, b"x").is_ok());
        }
    }

    #[test]
    fn times_are_utc() {
        assert_eq!(World::of(Path::new("/"), &[]).timestamp(), "1970-01-01T00:00:00Z");
    }
}
