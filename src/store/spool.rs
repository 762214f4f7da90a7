//! An input that is looked at more than once, or whose end must be seen before its beginning counts.

use std::io::{self, BufRead, BufReader, Seek};
use std::path::Path;

use crate::error::Result;
use crate::store::file::cannot_write;

/// The whole input in a file without a name in `dir`, which is gone with the process.
///
/// # Errors
/// `disk-full` and what else keeps it from being written.
pub fn spool(dir: &Path, input: &mut dyn BufRead) -> Result<impl BufRead + Seek + use<>> {
    let mut file = tempfile::tempfile_in(dir).map_err(|e| cannot_write(dir, &e))?;
    let mut take = || -> io::Result<()> {
        io::copy(input, &mut file)?;
        file.rewind()
    };
    take().map_err(|e| cannot_write(dir, &e))?;
    Ok(BufReader::with_capacity(1 << 16, file))
}
