//! What an inbox tells: tasks and what has become of them, whether one is answered, and what was
//! taken out of inboxes.

use serde::{Deserialize, Serialize};

/// A task for a reader. One that is to be posted has a text; one that is told has a state.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// The task's id: the name of its file without `.txt`.
    pub id: String,
    /// Whose inbox it is in.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub reader: Option<String>,
    /// What has become of it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub state: Option<TaskState>,
    /// The larger comes first in a sweep; absent when 0.
    #[serde(skip_serializing_if = "is_zero", default)]
    pub priority: u32,
    /// The task's file, relative to the root.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
    /// When it was put into the inbox.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub posted: Option<String>,
    /// What it says, for `auwai-inbox post`.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub text: Option<String>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// What has become of a task that is in an inbox.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskState {
    /// It waits for its reader.
    Pending,
    /// Its reader has accepted it.
    Accepted,
    /// It has an answer.
    Answered,
    /// It is in the archive.
    Archived,
    /// No file says what it is.
    Missing,
}

/// Whether a task is answered.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The task's id.
    pub id: String,
    /// The answer to the question.
    pub answered: bool,
    /// Why.
    pub reason: VerdictReason,
    /// The file that counts, relative to the root; absent when there is none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub path: Option<String>,
}

/// Why a task is answered, or is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VerdictReason {
    /// The result is an answer.
    Answer,
    /// The result is not ready, and the newest ready one in the archive is an answer.
    ArchivedAnswer,
    /// The result is a refusal.
    Refusal,
    /// The result is not ready, and the newest ready one in the archive is a refusal.
    ArchivedRefusal,
    /// There is no result; what is in the archive alone answered an earlier question.
    None,
    /// What is there is no regular file.
    NotRegular,
    /// The result is empty or white space only.
    Blank,
    /// The result is not UTF-8.
    NotUtf8,
}

/// What became of the pointers whose tasks are archived, and of the others.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Retired {
    /// Pointers that were moved to their inbox's archive.
    pub retired: u64,
    /// Pointers that stay since their tasks are not answered yet.
    pub kept_pending: u64,
    /// Pointers that stay since their tasks are answered and not archived, or have no file.
    pub kept_unarchived: u64,
    /// When this was done before; nothing was looked at now.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub done: Option<String>,
}
