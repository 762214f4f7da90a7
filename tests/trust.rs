//! State that somebody else may have written is not believed, and is left as it is; what is edited in
//! it leads nowhere else.

mod edited;
mod foreign;
mod swapped;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::support::site::{Site, tell};

/// From nothing to the end.
const READ_ALL: [&str; 7] = ["plan", "next", "read", "done", "next", "done", "verify"];

/// A git repository `r` with two files, all of it read and closed.
fn all_read() -> Site {
    let site = Site::new();
    site.write("r/a.rs", (1..=300).map(|n| format!("let x = {n};\n")).collect::<String>());
    site.write("r/b.rs", "let y = 1;\n");
    site.sh(
        "cd r && git init -q . && git add . && git -c user.name=a -c user.email=b commit -qm x",
    )
    .expect_code(0);
    site.ok(&["-C", "r", "index", "--tokenizer", "bytes/4"]);
    for step in READ_ALL {
        site.ok(&["-C", "r", step]);
    }
    site
}

/// A workspace `demo` at the folder to work in with the repository `r`, all of it read and closed.
fn workspace_all_read() -> Site {
    let site = Site::new();
    site.write("r/a.rs", "let x = 1;\n");
    site.ok(&["workspace", "init", "demo"]);
    site.ok(&["workspace", "add", "r"]);
    site.ok(&["index", "--tokenizer", "bytes/4"]);
    for step in READ_ALL {
        site.ok(&[step]);
    }
    site
}

/// Edits a database below the folder to work in, by another SQLite than ours.
fn edit(site: &Site, database: impl AsRef<Path>, sql: &str) {
    let script = "import sqlite3,sys\n\
        c = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)\n\
        c.execute(sys.argv[2])\n\
        c.execute('PRAGMA wal_checkpoint(TRUNCATE)')\n\
        c.close()";
    let mut python = site.command("python3");
    python.args(["-c", script]).arg(site.work(database)).arg(sql);
    tell(python).expect_code(0);
}

/// What can be told of a file without opening it, and its content.
type Looks = BTreeMap<PathBuf, (u32, u32, Vec<u8>)>;

/// Everything below a folder, with its mode and its owner.
fn looks(folder: &Path) -> Looks {
    let all = walkdir::WalkDir::new(folder).into_iter().map(Result::unwrap);
    let look = |entry: walkdir::DirEntry| {
        let meta = fs::symlink_metadata(entry.path()).unwrap();
        let content = match meta.is_file() {
            true => fs::read(entry.path()).unwrap(),
            false => Vec::new(),
        };
        (entry.path().to_owned(), (meta.mode(), meta.uid(), content))
    };
    all.map(look).collect()
}

/// Every command that opens state, each as one line.
const COMMANDS: [&str; 33] = [
    "auwai index",
    "auwai watch --once",
    "auwai watch --max-seconds 1",
    "auwai why a.rs",
    "auwai plan",
    "auwai plan --force",
    "auwai next",
    "auwai read",
    "auwai read a.rs",
    "auwai done -m x",
    "auwai status",
    "auwai verify",
    "auwai verify --planned",
    "auwai unread",
    "auwai replan",
    "auwai run -- true",
    "auwai workspace list",
    "auwai workspace survey",
    "auwai-ledger scan --repo .",
    "auwai-ledger sync --repo . --once",
    "auwai-ledger files --repo .",
    "auwai-ledger why --repo . a.rs",
    "auwai-ledger chunks --repo .",
    "auwai-ledger chunks --workspace .",
    "auwai-ledger show --repo . a.rs",
    "auwai-ledger status --repo .",
    "auwai-ledger verify --repo .",
    "auwai-ledger claim",
    "auwai-ledger segments",
    "auwai-ledger coverage",
    "auwai-ledger close",
    "auwai-ledger release --segment read-1",
    "auwai-ledger mark </dev/null",
];

/// No command believes the state in `folder` (`r` or the like), whatever it would do; it is told by
/// the code, and nothing in the state changes. `with` are further options.
#[track_caller]
fn refused_by_all(site: &Site, folder: &str, code: &str, with: &str) {
    let before = looks(&site.work(folder).join(".auwai"));
    for command in COMMANDS {
        let (words, rest) = match command.split_once(" -- ") {
            Some((words, rest)) => (words, format!("-- {rest}")),
            None => (command, String::new()),
        };
        let told = site.sh(&format!("cd {folder} && {words} --json {with} {rest}"));
        assert_eq!(told.code(), 3, "{command}: {}{}", told.text(), told.err);
        let record = format!("\"code\":\"{code}\"");
        assert!(told.text().contains(&record), "{command}: {}{}", told.text(), told.err);
    }
    assert_eq!(looks(&site.work(folder).join(".auwai")), before);
}

/// The option is where state is opened, and nowhere else.
#[test]
fn every_command_that_opens_state_can_be_told_to_believe_it() {
    let site = Site::new();
    let verbs = site
        .sh("auwai-ledger help | sed -n '/^Commands/,/^Options/p' | awk '/^  [a-z]/{print $1}'");
    let verbs: Vec<&str> = verbs.text().lines().filter(|verb| *verb != "help").collect();
    assert!(verbs.len() > 15, "{verbs:?}");
    for verb in verbs {
        let help = site.sh(&format!("auwai-ledger {verb} --help")).expect_code(0);
        let has = help.text().contains("--trust-state");
        assert_eq!(has, verb != "print", "{verb}");
        assert_eq!(has, help.text().contains("--state-dir"), "{verb}");
    }
    assert!(site.ok(&["--help"]).contains("--trust-state"));
}
