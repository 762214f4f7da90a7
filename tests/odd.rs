//! Hostile or odd surroundings: what is no file where one should be, state that may only be read,
//! variables that say nothing, and outputs that take nothing.

mod ends;
mod files;
mod places;
mod read_only;
