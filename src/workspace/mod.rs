//! Where things are: state folders, workspaces, their repositories and their names.

mod state;

pub use state::StateDir;
