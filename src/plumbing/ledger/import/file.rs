//! An export as it is read: in its order, and to its end.

use std::collections::BTreeSet;
use std::io::BufRead;

use super::check;
use crate::error::Result;
use crate::record::{End, Finding, Read, Reader, Record, Waiver, is_name};

/// The most bytes of a line: a finding whose characters are all escaped.
const LONGEST_LINE: u64 = 8 << 20;

/// What to do with an export that was cut off.
const CUT_HINT: &str = "or take what came of it: `auwai-ledger import --partial`";

/// How an export is read.
pub struct File<'a> {
    /// A torn end is an end.
    pub partial: bool,
    /// Names there, and their names here.
    pub rename: &'a [(String, String)],
}

/// Something that an export says.
pub enum Evidence {
    Read(Box<Read>),
    Finding(Finding),
    Waiver(Waiver),
}

impl File<'_> {
    /// Passes all that it says to `each`, in its order; the names of its repositories, as they are
    /// called here.
    ///
    /// # Errors
    /// `bad-input` and `cut-off` with the line; what `each` says.
    pub fn each(
        &self,
        input: &mut dyn BufRead,
        each: &mut dyn FnMut(Evidence) -> Result<()>,
    ) -> Result<Vec<String>> {
        let mut reader = Reader::new(input, "-").lines_of_at_most(LONGEST_LINE);
        let (mut named, mut reads) = (BTreeSet::new(), 0);
        loop {
            let Some(record) = reader.next_or_cut(self.partial, CUT_HINT)? else {
                match self.partial {
                    true => break,
                    false => return Err(reader.cut_off().hint(CUT_HINT)),
                }
            };
            if let Record::End(end) = &record {
                check_end(end, reads).map_err(|what| reader.bad(&what))?;
                if reader.next_or_cut(self.partial, CUT_HINT)?.is_some() {
                    return Err(reader.bad("something stands after the end record"));
                }
                break;
            }
            let said = self.take(record, &mut named).map_err(|what| reader.bad(&what))?;
            reads += u64::from(matches!(said, Some(Evidence::Read(_))));
            said.map_or(Ok(()), &mut *each)?;
        }
        Ok(named.into_iter().collect())
    }

    /// One record; nothing of one of a type that is not known here.
    fn take(
        &self,
        record: Record,
        named: &mut BTreeSet<String>,
    ) -> std::result::Result<Option<Evidence>, String> {
        match record {
            Record::Repo(repo) if is_name(&repo.name) => {
                named.insert(self.here(repo.name));
                Ok(None)
            }
            Record::Repo(_) => Err("the name of the repository is none".to_string()),
            Record::Read(read) => {
                let read = Read { repo: self.here(read.repo.clone()), ..read };
                if !named.contains(&read.repo) {
                    return Err("no repo record before it names its repository".to_string());
                }
                check::read(&read)?;
                Ok(Some(Evidence::Read(Box::new(read))))
            }
            Record::Finding(finding) => {
                check::finding(&finding)?;
                Ok(Some(Evidence::Finding(finding)))
            }
            Record::Waiver(waiver) => {
                check::waiver(&waiver)?;
                Ok(Some(Evidence::Waiver(waiver)))
            }
            Record::Unknown => Ok(None),
            _ => Err("not a record of an export".to_string()),
        }
    }

    /// What a repository is called here.
    fn here(&self, name: String) -> String {
        let renamed = self.rename.iter().find(|(old, _)| *old == name);
        renamed.map_or(name, |(_, new)| new.clone())
    }
}

fn check_end(end: &End, reads: u64) -> std::result::Result<(), String> {
    match end.of == "read" && end.count == reads {
        true => Ok(()),
        false => {
            Err(format!("the end record counts other things than the {reads} reads before it"))
        }
    }
}
