//! Errors of evidence: the log, what is imported, what is waived, and the strict question.

use snapbox::{assert_data_eq, str};

use super::{planned, told};

#[test]
fn a_log_of_what_is_not_here() {
    let site = planned();
    let told = |args: &[&str]| told(&site, &site.run(args));
    assert_data_eq!(
        told(&["log", "/etc"]),
        str![[r#"
exit 3
auwai: '/etc' is in no repository here
hint: see which there are: `auwai workspace list`

"#]]
    );
    assert_data_eq!(
        told(&["log", "--since", "soon"]),
        str![[r#"
exit 2
error: invalid value 'soon' for '--since <TIME>': not a time (2026-12-01T08:00:00Z), a day (2026-12-01) or a span back (2days, 3h)

For more information, try '--help'.

"#]]
    );
    assert_data_eq!(
        told(&["log", "--since", "100years"]),
        str![[r#"
exit 2
auwai: the time of --since is before 1970
hint: leave it out for all: `auwai log`

"#]]
    );
}

#[test]
fn waivers_that_say_too_little() {
    let site = planned();
    let told = |args: &[&str]| told(&site, &site.run(args));
    assert_data_eq!(
        told(&["waive", "*.png"]),
        str![[r#"
exit 2
error: the following required arguments were not provided:
  --reason <TEXT>

Usage: auwai waive --reason <TEXT> <GLOB>

For more information, try '--help'.

"#]]
    );
    assert_data_eq!(
        told(&["waive", "*.png", "--reason", " "]),
        str![[r#"
exit 2
auwai: a waiver has a reason, of not more than 4,096 bytes
hint: say why it need not be read: `auwai waive '*.png' --reason TEXT`

"#]]
    );
    assert_data_eq!(
        told(&["waive", "!x", "--reason", "y"]),
        str![[r#"
exit 2
auwai: '!x' is not a pattern that can name a path
hint: give one as in an ignore file: `auwai waive '*.png' --reason TEXT`

"#]]
    );
    assert_data_eq!(
        told(&["waive", "--remove", "x", "-W", "demo"]),
        str![[r#"
exit 3
auwai: no waiver stands for 'x'
hint: see which there are: `auwai waive --list -W demo`

"#]]
    );
}

#[test]
fn an_export_that_cannot_be_taken() {
    let site = planned();
    let told = |script: &str| told(&site, &site.sh(script));
    assert_data_eq!(
        told("auwai-ledger export | sed '$d' | auwai-ledger import"),
        str![[r#"
exit 3
auwai-ledger: -:1: the stream ended without its end record
hint: its writer was stopped: run the pipeline again
hint: or take what came of it: `auwai-ledger import --partial`

"#]]
    );
    assert_data_eq!(
        told("echo nonsense | auwai-ledger import"),
        str![[r#"
exit 3
auwai-ledger: -:1: not a record: expected ident at column 2

"#]]
    );
    let read = r#"{"v":1,"type":"read","repo":"r","id":"00ff13a4b5c6d7e8"}"#;
    assert_data_eq!(
        told(&format!("echo '{read}' | auwai-ledger import")),
        str![[r#"
exit 3
auwai-ledger: -:1: no repo record before it names its repository

"#]]
    );
    let repo = r#"{"v":1,"type":"repo","name":"r","path":"/"}"#;
    let import = format!("printf '%s\\n' '{repo}' '{read}' | auwai-ledger import");
    assert_data_eq!(
        told(&import),
        str![[r#"
exit 3
auwai-ledger: -:2: 'how' is missing

"#]]
    );
    assert_data_eq!(
        told("auwai-ledger import --rename r </dev/null"),
        str![[r#"
exit 2
error: invalid value 'r' for '--rename <OLD=NEW>': give two names of repositories: OLD=NEW

For more information, try '--help'.

"#]]
    );
}

#[test]
fn a_strict_question_says_what_would_answer_it() {
    let site = planned();
    site.write("r/logo.png", b"\0");
    let told = |args: &[&str]| told(&site, &site.run(args));
    site.ok(&["read"]);
    site.ok(&["done"]);
    assert_data_eq!(
        told(&["verify", "--strict", "--reader", "default"]),
        str![[r#"
exit 1
auwai: 5 parts are unread
hint: go on with `auwai next`

"#]]
    );
    site.ok(&["waive", "*.jpg", "--reason", "pictures"]);
    site.ok(&["plan", "--force"]);
    site.ok(&["run", "--", "wc", "-w"]);
    assert_data_eq!(
        told(&["verify", "--strict", "-W", "demo"]),
        str![[r#"
exit 1
auwai-ledger: the waiver '*.jpg' names nothing that needs it
auwai: 1 part is unread
hint: say what need not be read, and why: `auwai waive GLOB --reason TEXT -W demo`

"#]]
    );
    assert_data_eq!(
        told(&["auwai-ledger", "verify", "--repo", "r", "--strict"]),
        str![[r#"
exit 2
auwai-ledger: who read how is known of a workspace alone
hint: name it, or a repository as one: `auwai-ledger verify --workspace .`

"#]]
    );
}
