//! docs/evidence.md: its console blocks are run, and its gate is a script beside them.

use std::fs;

use crate::support::session::{blocks, check, document};

#[test]
fn the_recipes_of_evidence_are_true() {
    let temp = tempfile::tempdir().unwrap();
    let dir = temp.path().canonicalize().unwrap();
    let text = document("docs/evidence.md");
    let gate = blocks(&text).into_iter().find(|(language, _)| language == "sh").unwrap();
    fs::write(dir.join("gate.sh"), gate.1.join("\n") + "\n").unwrap();
    fs::create_dir(dir.join("work")).unwrap();
    check(&text, &dir);
}

#[test]
fn they_say_plainly_what_evidence_is_worth() {
    assert!(document("docs/evidence.md").contains("**Who can write a ledger can forge one.**"));
}
