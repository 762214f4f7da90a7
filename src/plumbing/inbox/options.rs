//! Options that several verbs have.

use crate::cli::World;
use crate::cli::parse::name;
use crate::error::Result;
use crate::inbox::{Mark, TaskId};

/// Whose inbox it is.
#[derive(Debug, Clone, clap::Args)]
pub struct ReaderOption {
    /// The reader whose inbox it is (default: $AUWAI_READER, else `default`)
    #[arg(long, value_name = "NAME", value_parser = name)]
    pub reader: Option<String>,
}

impl ReaderOption {
    /// The reader who acts.
    ///
    /// # Errors
    /// A usage error when the variable does not hold a name.
    pub fn resolve(&self, world: &World) -> Result<String> {
        world.reader(self.reader.as_deref())
    }
}

/// What is not an answer.
#[derive(Debug, Clone, clap::Args)]
pub struct MarkOption {
    /// A result whose first line begins with TEXT is a refusal, and no answer
    #[arg(long, value_name = "TEXT", value_parser = mark, allow_hyphen_values = true)]
    pub refusal_mark: Option<Mark>,
}

fn mark(text: &str) -> std::result::Result<Mark, String> {
    text.parse()
}

/// Parses the id of a task for clap.
///
/// # Errors
/// Says what an id may hold.
pub fn id(text: &str) -> std::result::Result<TaskId, String> {
    text.parse()
}
