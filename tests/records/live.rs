//! Every record that a whole run writes is one that its schema describes.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use auwai::record::{self, Record};

use super::Schemas;
use crate::support::git::Sandbox;

/// What a person or a script can do with a repository, each output in a file of its own. Verbs that
/// answer no are meant to.
const RUN: &str = r#"
set -u
out() { name=$1; shift; "$@" >"$OUT/$name.jsonl"; }
no() { name=$1; shift; if "$@" >"$OUT/$name.jsonl"; then echo "$name: succeeded" >&2; exit 9; fi; }
set -e
out scan auwai-ledger scan --repo . --progress
out files auwai-ledger files --repo .
out why auwai-ledger why --repo . src/main.rs logo.png link target .git nested
out chunks auwai-ledger chunks --repo .
out plan auwai-plan --page 20k "$OUT/chunks.jsonl"
auwai-ledger adopt <"$OUT/plan.jsonl" >"$OUT/adopt.jsonl"
out segments auwai-ledger segments --plan
out coverage-before auwai-ledger coverage
no verify-before auwai-ledger verify -W . --json
out log-before auwai-ledger log
out claim auwai-ledger claim --reader ann
out renew auwai-ledger renew --reader ann
out show auwai-ledger show -W . --segment read-1
auwai-ledger print --ack-fd 3 <"$OUT/show.jsonl" >"$OUT/text" 3>"$OUT/acks.jsonl"
head -n 2 "$OUT/acks.jsonl" | auwai-ledger mark --segment read-1 --reader ann >"$OUT/mark.jsonl"
out coverage auwai-ledger coverage
out coverage-unread auwai-ledger coverage --unread
out log auwai-ledger log
out waive auwai-ledger waive '*.png' --reason 'pictures' --reader ann
out waive-porcelain auwai waive --list --json
no verify-strict auwai verify --strict --json
out log-porcelain auwai log --json
out status auwai-ledger status
out status-repo auwai-ledger status --repo .
no close auwai-ledger close --segment read-1 --reader ann --json
no usage auwai-ledger files --json --nonsense
no plan-usage auwai-plan --json nonsense/nowhere
out next auwai next --reader ann --json
no held auwai next --reader bob --json
out porcelain-plan auwai plan --json --page 20k
out porcelain-status auwai status --json
out porcelain-why auwai why --json src/main.rs target
no porcelain-verify auwai verify --json
out porcelain-unread auwai unread --json
out index auwai index --json
out survey auwai workspace survey --json
auwai read --reader ann --max-chars 9000000 >"$OUT/whole"
auwai done --reader ann --segment read-1 -m 'Nothing.' >"$OUT/done"
out export auwai-ledger export
auwai-ledger import <"$OUT/export.jsonl" 2>"$OUT/talk"
out recount auwai-ledger scan --repo . --progress --tokenizer bytes/4
sed -i '1s/let/LET/' src/main.rs
no show-changed auwai-ledger show -W . --segment read-1 --json
no porcelain-usage auwai --json nonsense
export XDG_RUNTIME_DIR="$OUT"
out watch-first auwai-wait-events --scan --since "$OUT/since" .
auwai-wait-events . >"$OUT/watch.jsonl" & watcher=$!
until auwai-wait-events --sync . >"$OUT/barrier.jsonl" 2>"$OUT/at"; do sleep 0.1; done
mkdir -p fresh/deep; echo x >fresh/deep/f; ln -s f fresh/deep/l; mkfifo fresh/p; echo y >>src/main.rs; rm logo.png
echo x >"$(printf 'caf\351')"; echo '*.tmp' >src/.gitignore; git add src
out barrier-after auwai-wait-events --sync .
kill $watcher; wait $watcher || true
out watch-since auwai-wait-events --scan --since "$OUT/since" .
inbox() { verb=$1; shift; auwai-inbox --root "$OUT/box" "$verb" "$@"; }
mkdir "$OUT/box"
out post inbox post a --reader ann --priority 3 -m 'Read it.'
inbox post b --reader ann -m 'And this.' >"$OUT/post-b.jsonl"
inbox post c --reader ann -m 'That too.' >"$OUT/post-c.jsonl"
no answered inbox answered a --json
echo 'It is read.' >"$OUT/box/results/a.txt"
out answered-yes inbox answered a
out accept inbox accept b --reader ann
out archive inbox archive c
mv "$OUT/box/deliveries/ann/archive/c.txt" "$OUT/box/deliveries/ann/"; touch "$OUT/box/deliveries/ann/lost.txt"
out inbox-list inbox list --reader ann
out release inbox release b --reader ann
inbox watch --reader ann | head -n 1 >"$OUT/inbox-watch.jsonl"
out retired inbox retire-archived
no inbox-unknown inbox archive nothing --json
out watch-polled auwai-wait-events --backend poll --max-seconds 0.1 .
"#;

fn tree() -> Sandbox {
    let sandbox = Sandbox::repository();
    let lines: String = (0..900).map(|n| format!("let x{n} = \"é {n}\";\n")).collect();
    sandbox.write("src/main.rs", lines);
    // A scan tells its progress after every thousand files.
    (0..1_000).for_each(|n| sandbox.write(&format!("many/{n}"), ""));
    sandbox.write("evil\n\u{202e}\x1b\u{2028}\".txt", "a\u{2028}b\x1b[31m\u{e0041}\r\n");
    sandbox.write_bytes(b"caf\xe9.txt", b"caf\xe9 au lait, d\xe9j\xe0 vu\n");
    sandbox.write("long.json", "[0,1,2,3,4,5,6,7,8,9] ".repeat(1_000));
    sandbox.write("logo.png", b"\x89PNG\0\0");
    sandbox.write(".gitignore", "/target\n");
    sandbox.write("target/out", "x");
    sandbox.link("src/main.rs", "link");
    sandbox.commit();
    sandbox.write("gone", "x");
    sandbox.git(&["add", "gone"]);
    fs::remove_file(sandbox.root().join("gone")).unwrap();
    sandbox.git(&["init", "-q", "nested"]);
    sandbox
}

/// Runs `script` in the tree, and returns the folder with its outputs.
fn run(sandbox: &Sandbox, script: &str) -> std::path::PathBuf {
    let out = sandbox.home("out");
    fs::create_dir(&out).unwrap();
    let own = Path::new(env!("CARGO_BIN_EXE_auwai")).parent().unwrap();
    let path = std::env::var("PATH").unwrap();
    let output = Command::new("sh")
        .args(["-c", script])
        .current_dir(sandbox.root())
        .env_clear()
        .envs(sandbox.vars())
        .env("PATH", format!("{}:{path}", own.display()))
        .env("OUT", &out)
        .output()
        .unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {talk}", output.status);
    out
}

/// The outputs by name.
fn outputs(out: &Path) -> BTreeMap<String, Vec<String>> {
    let mut all = BTreeMap::new();
    for file in fs::read_dir(out).unwrap().map(|file| file.unwrap().path()) {
        let name = file.file_name().unwrap().to_str().unwrap();
        let Some(name) = name.strip_suffix(".jsonl") else { continue };
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.is_empty() || text.ends_with('\n'), "{name}");
        all.insert(name.to_string(), text.split_terminator('\n').map(str::to_string).collect());
    }
    all
}

#[test]
fn everything_that_a_run_writes_is_described() {
    let sandbox = tree();
    let out = run(&sandbox, RUN);
    let (schemas, mut seen) = (Schemas::new(), BTreeSet::new());
    let outputs = outputs(&out);
    for (name, lines) in &outputs {
        for line in lines {
            assert_eq!(schemas.fault(line), None, "{name}");
            let record = record::parse(line).unwrap();
            let mut back = Vec::new();
            record.write(&mut back).unwrap();
            assert_eq!(String::from_utf8(back).unwrap(), format!("{line}\n"), "{name}");
            seen.insert(kind(line));
        }
    }
    let types: BTreeSet<String> = Record::TYPES.iter().map(|kind| kind.to_string()).collect();
    assert_eq!(seen, types);
    check_ends(&outputs);
    check_repos(&outputs);
    check_progress(&outputs);
    check_errors(&outputs);
    check_watcher(&outputs);
    check_inbox(&outputs);
}

/// Every state of a task, and both verdicts.
fn check_inbox(outputs: &BTreeMap<String, Vec<String>>) {
    let told = |name: &str| outputs[name].join("");
    for state in ["answered", "accepted", "archived", "missing"] {
        let said = format!("\"state\":\"{state}\"");
        assert!(told("inbox-list").contains(&said), "{}", told("inbox-list"));
    }
    assert!(told("inbox-watch").contains("\"state\":\"pending\""), "{}", told("inbox-watch"));
    assert!(told("answered").contains("\"reason\":\"none\""));
    assert!(told("answered-yes").contains("\"reason\":\"answer\""));
    assert!(told("retired").contains("\"done\":"), "the watcher had done it");
}

/// Every kind of event, and each batch with its numbers.
fn check_watcher(outputs: &BTreeMap<String, Vec<String>>) {
    let lines = &outputs["watch"];
    for said in ["create", "modify", "remove", "file", "dir", "symlink", "other", "rules"] {
        assert!(
            lines.iter().any(|line| line.contains(&format!(":\"{said}\""))),
            "{said}: {lines:?}"
        );
    }
    assert!(lines.iter().any(|line| line.contains("path_b64")));
    assert_eq!(kind(lines.last().unwrap()), "batch");
    let (mut events, mut rescans) = (0, 0);
    for line in lines {
        match record::parse(line).unwrap() {
            Record::Event(_) => events += 1,
            Record::Rescan(_) => rescans += 1,
            Record::Batch(batch) => {
                assert_eq!((batch.events, batch.rescans), (events, rescans));
                (events, rescans) = (0, 0);
            }
            _ => {}
        }
    }
    assert_eq!(outputs["watch-first"].len(), 2);
    assert!(outputs["watch-polled"][0].contains("\"backend\":\"poll\""));
}

fn kind(line: &str) -> String {
    let value: serde_json::Value = serde_json::from_str(line).unwrap();
    value["type"].as_str().unwrap().to_string()
}

/// A finite stream ends with a record that counts what it is about.
fn check_ends(outputs: &BTreeMap<String, Vec<String>>) {
    for (name, of) in [
        ("scan", "sync"),
        ("files", "file"),
        ("why", "file"),
        ("chunks", "chunk"),
        ("plan", "segment"),
        ("adopt", "plan"),
        ("segments", "segment"),
        ("coverage-before", "unread"),
        ("coverage", "unread"),
        ("coverage-unread", "unread"),
        ("show", "body"),
        ("status-repo", "status"),
        ("inbox-list", "task"),
    ] {
        let lines = &outputs[name];
        let count = lines.iter().filter(|line| kind(line) == of).count() as u64;
        let end = record::End { of: of.to_string(), count };
        let last = record::parse(lines.last().unwrap()).unwrap();
        assert_eq!(last, Record::End(end), "{name}");
        assert!(count > 0, "{name}");
    }
}

/// A verb that opens repositories says so, before anything else of each.
fn check_repos(outputs: &BTreeMap<String, Vec<String>>) {
    for name in ["scan", "files", "why", "chunks", "show", "status-repo", "verify-before"] {
        assert_eq!(kind(&outputs[name][0]), "repo", "{name}");
    }
}

/// A scan knows from the one before how many paths there are.
fn check_progress(outputs: &BTreeMap<String, Vec<String>>) {
    let told = |name: &str| {
        let line = outputs[name].iter().find(|line| kind(line) == "progress").unwrap();
        let Record::Progress(progress) = record::parse(line).unwrap() else { panic!("{line}") };
        (progress.files, progress.of_files)
    };
    let paths = outputs["files"].iter().filter(|line| kind(line) == "file").count() as u64;
    assert_eq!(told("scan"), (1_000, None));
    assert_eq!(told("recount"), (1_000, Some(paths)));
}

/// With `--json` a failure is the last record on standard output.
fn check_errors(outputs: &BTreeMap<String, Vec<String>>) {
    for (name, code) in [
        ("verify-before", "unread"),
        ("close", "not-read"),
        ("usage", "usage"),
        ("plan-usage", "not-found"),
        ("held", "held"),
        ("porcelain-verify", "unread"),
        ("show-changed", "changed"),
        ("porcelain-usage", "usage"),
        ("answered", "unanswered"),
        ("inbox-unknown", "unknown-task"),
    ] {
        let last = record::parse(outputs[name].last().unwrap()).unwrap();
        let Record::Problem(problem) = last else { panic!("{name}: {last:?}") };
        assert_eq!(problem.code, code, "{name}");
        assert!(
            problem.hint.is_some() || ["plan-usage", "verify-before", "answered"].contains(&name),
            "{name}"
        );
    }
}
