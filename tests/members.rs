//! The members of a workspace: how much of a repository counts, what lies inside what, and what a survey
//! says of it.

mod nested;
mod parts;
mod scopes;
mod survey;
