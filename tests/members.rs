//! The members of a workspace: how much of a repository counts, and what lies inside what.

mod scopes;
