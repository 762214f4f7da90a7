//! Repositories inside the members of a workspace that no member is: their files are read by nobody.

use super::index::state_options;
use super::options::Common;
use super::pipeline::{Pipeline, Stage, stage};
use super::target::{Target, argument};
use crate::cli::Io;
use crate::counted::count;
use crate::error::Result;
use crate::record::{Fate, File, Record};
use crate::visible::quote;
use crate::workspace::Member;

/// So many are named.
const NAMED: usize = 10;

/// `auwai-ledger files` of a member.
pub fn files_stage(member: &Member, common: &Common) -> Stage {
    let files = stage(["auwai-ledger", "files", "--repo"]).arg(argument(member));
    state_options(files, member, common)
}

/// Whether a file of a member is a repository that no member is.
pub fn is_nobodys(file: &File, member: &Member, target: &Target) -> bool {
    let place = file.repo_path().map(|path| path.under(&member.path));
    file.fate == Fate::Repository
        && place.is_ok_and(|place| target.members().iter().all(|other| other.path != place))
}

/// All of them.
///
/// # Errors
/// What the ledgers say.
pub fn all(target: &Target, common: &Common, io: &mut Io<'_>) -> Result<Vec<File>> {
    let mut found = Vec::new();
    for member in target.members() {
        let files = files_stage(member, common).arg("--fate").arg(Fate::Repository.as_str());
        Pipeline::start(&[files], io)?.records(io, |record, _| {
            match record {
                Record::File(file) if is_nobodys(&file, member, target) => found.push(file),
                _ => {}
            }
            Ok(())
        })?;
    }
    Ok(found)
}

/// Names them, each with the command that adds it where it can be.
///
/// # Errors
/// When they cannot be told.
pub fn tell(found: &[File], target: &Target, io: &mut Io<'_>) -> Result<()> {
    for file in found.iter().take(NAMED) {
        let Ok(path) = file.repo_path() else { continue };
        let member = target.members().iter().find(|member| member.name == file.repo);
        let add = member.filter(|_| !target.workspace().is_alone()).map(|member| {
            let place = quote(&path.under(&member.path));
            format!("  (auwai workspace add {place}{})", target.flag())
        });
        let (repo, path, add) = (&file.repo, path.display(), add.unwrap_or_default());
        super::line(io, &format!("not read: {repo}:{path} is a repository of its own{add}"))?;
    }
    match found.len().saturating_sub(NAMED) as u64 {
        0 => Ok(()),
        more => super::line(io, &format!("not read: {} more", count(more, "repository"))),
    }
}
