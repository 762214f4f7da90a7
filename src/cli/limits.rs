//! What the system allows this process.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Makes room for `wanted` open files at once, within the hard limit. What the process and its
/// children may have open is raised no further than that.
///
/// # Errors
/// How many there may be, when that is fewer.
pub fn allow_open_files(wanted: u64) -> Result<(), u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let Some(now) = current.filter(|now| *now < wanted) else { return Ok(()) };
    let most = maximum.unwrap_or(u64::MAX).min(wanted);
    let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(most), maximum });
    match raised.map_or(now, |()| most) {
        enough if enough >= wanted => Ok(()),
        fewer => Err(fewer),
    }
}
