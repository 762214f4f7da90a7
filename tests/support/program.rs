//! Programs in an environment of their own, with the suite's programs on the path.

use std::path::Path;
use std::process::Command;

/// A command that runs in `dir`, which is its home too, with nothing else from outside but the
/// system's programs.
pub fn program(name: &str, dir: &Path) -> Command {
    let own = Path::new(env!("CARGO_BIN_EXE_auwai")).parent().unwrap();
    let path = format!("{}:/usr/local/bin:/usr/bin:/bin", own.display());
    let mut command = Command::new(name);
    command.current_dir(dir).env_clear();
    command.env("PATH", path).env("HOME", dir).env("LC_ALL", "C").env("GIT_CONFIG_NOSYSTEM", "1");
    command
}
