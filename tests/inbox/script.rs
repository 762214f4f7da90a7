//! The inbox and the ledger joined by shell alone, and the recipes of docs/sharing.md.

use super::Place;
use crate::support::session::{check, document};

/// Pending segments become tasks of two readers; each reader is a line of shell.
const SHARED: &str = r#"
set -eu
auwai plan --context-window 14k >plan.txt
mkdir box
auwai-ledger segments --status pending |
  jq -cn '[inputs | select(.type == "segment" and .kind == "read")] | to_entries[] |
    {v: 1, type: "task", id: .value.id, reader: ["ann", "bob"][.key % 2],
     text: "Read segment \(.value.id).\n"}' |
  auwai-inbox --root box post >posted.jsonl
reader() {
  auwai-inbox --root box watch --reader "$1" --format id | while read -r id; do
    [ "$id" != "quit-$1" ] || break
    auwai-inbox --root box accept "$id" --reader "$1" >"$1.accepted" || continue
    auwai read --segment "$id" --reader "$1" >"$1.text" </dev/null
    auwai done --segment "$id" --reader "$1" -m "$1 read $id" >"$1.done" </dev/null
    tail -n 1 "$1.text" >"box/results/.$id.new" && mv "box/results/.$id.new" "box/results/$id.txt"
  done
}
reader ann &
reader bob &
jq -r .id posted.jsonl | while read -r id; do
  until auwai-inbox --root box answered "$id" >verdict.jsonl 2>/dev/null; do sleep 0.05; done
  auwai-inbox --root box archive "$id" >retired.jsonl
done
for reader in ann bob; do auwai-inbox --root box post "quit-$reader" --reader $reader -m "That is all." >quit.txt; done
wait
jq -r .reader posted.jsonl | sort | uniq -c | awk '{ print ($1 > 1), $2 }'
auwai next >next.txt && auwai done -m "put together" >done.txt
auwai verify >verified.txt && echo "all is read"
auwai-inbox --root box list --all --pending | jq -r 'select(.type == "task").id'
ls box/results
"#;

#[test]
fn pending_segments_are_read_by_two_readers() {
    let place = Place::new();
    for file in ["a", "b", "c"] {
        let lines = (0..400).map(|n| format!("let {file}{n} = {n};\n"));
        place.write(format!("src/{file}.rs"), lines.collect::<String>());
    }
    place.write(".auwai-ignore", "/box\n*.txt\n*.jsonl\n*.text\n*.accepted\n*.done\n");
    let told = place.site.sh(SHARED);
    let said = (told.code(), told.text().to_string());
    let wanted = "1 ann\n1 bob\nall is read\nquit-ann\nquit-bob\narchive\n";
    assert_eq!(said, (0, wanted.to_string()), "{}", told.err);
}

#[test]
fn the_recipes_of_sharing_are_true() {
    let temp = tempfile::tempdir().unwrap();
    check(&document("docs/sharing.md"), &temp.path().canonicalize().unwrap());
}
