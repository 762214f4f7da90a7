//! One golden file a type: what the writer writes, what the reader reads, what the schema allows.

use std::collections::BTreeSet;
use std::fs;

use auwai::record::{self, Record};
use serde_json::{Value, json};

use super::{Schemas, golden, root, schema};

#[test]
fn every_type_has_a_schema_and_a_golden_file() {
    let names = |dir: &str, end: &str| {
        let files = fs::read_dir(root().join(dir)).unwrap();
        let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
        names.filter_map(|name| Some(name.strip_suffix(end)?.to_string())).collect::<BTreeSet<_>>()
    };
    let types: BTreeSet<String> = Record::TYPES.iter().map(|kind| kind.to_string()).collect();
    assert_eq!(names("docs/schema", ".json"), types);
    assert_eq!(names("tests/records", ".jsonl"), types);
}

#[test]
fn a_golden_line_is_read_and_written_back_byte_for_byte() {
    for kind in Record::TYPES {
        for line in golden(kind) {
            let record = record::parse(&line).unwrap_or_else(|e| panic!("{line}: {e}"));
            let mut out = Vec::new();
            record.write(&mut out).unwrap();
            assert_eq!(String::from_utf8(out).unwrap(), format!("{line}\n"));
        }
    }
}

#[test]
fn a_golden_line_is_what_its_schema_describes() {
    let schemas = Schemas::new();
    for kind in Record::TYPES {
        for line in golden(kind) {
            assert!(line.starts_with(&format!(r#"{{"v":1,"type":"{kind}","#)), "{line}");
            assert_eq!(schemas.fault(&line), None);
        }
    }
}

/// The first line is the example of the reference: it has every key but `path_b64` and those of
/// other cases; all lines together have every key, and lack every key that may be absent.
#[test]
fn golden_lines_have_and_lack_every_optional_key() {
    for kind in Record::TYPES {
        let lines: Vec<Value> =
            golden(kind).iter().map(|line| serde_json::from_str(line).unwrap()).collect();
        let schema = schema(kind);
        let required = schema["required"].as_array().unwrap();
        for key in schema["properties"].as_object().unwrap().keys() {
            let have = lines.iter().filter(|line| line.get(key).is_some()).count();
            assert!(have > 0, "{kind}: no line has '{key}'");
            let lack = lines.len() - have;
            assert_eq!(lack == 0, required.contains(&json!(key)), "{kind}: {lack} lack '{key}'");
        }
    }
}

/// The first golden line of a type with one value replaced.
fn with(kind: &str, pointer: &str, value: Value) -> String {
    let mut line: Value = serde_json::from_str(&golden(kind)[0]).unwrap();
    *line.pointer_mut(pointer).unwrap() = value;
    line.to_string()
}

#[test]
fn keys_that_are_not_known_are_allowed() {
    let schemas = Schemas::new();
    for kind in Record::TYPES {
        let mut line: Value = serde_json::from_str(&golden(kind)[0]).unwrap();
        line["later"] = json!({"x": null});
        assert_eq!(schemas.fault(&line.to_string()), None);
        assert!(record::parse(&line.to_string()).is_ok(), "{kind}");
    }
}

#[test]
fn values_of_a_wrong_kind_are_refused_by_both() {
    let schemas = Schemas::new();
    for (kind, pointer, value) in [
        ("chunk", "/v", json!(2)),
        ("chunk", "/id", json!("00FF13A4B5C6D7E8")),
        ("chunk", "/id", json!("00ff13")),
        ("chunk", "/bytes", json!([0])),
        ("chunk", "/lines", json!([1, 2, 3])),
        ("chunk", "/tokens", json!(-1)),
        ("chunk", "/ord", json!(1.5)),
        ("chunk", "/complete", json!("no")),
        ("chunk", "/path", json!(null)),
        ("file", "/fate", json!("gone")),
        ("unread", "/why", json!("lazy")),
        ("sync", "/mode", json!("partial")),
        ("segment", "/kind", json!("write")),
        ("segment", "/status", json!("half")),
        ("segment", "/chunks/0", json!("core:00ff13")),
        ("segment", "/chunks/0", json!("00ff13a4b5c6d7e8")),
        ("segment", "/files/0/lines", json!("1-57")),
        ("status", "/fates", json!({"text": "many"})),
        ("plan", "/repos/0", json!({"name": "core"})),
        ("task", "/state", json!("lost")),
        ("task", "/priority", json!(-1)),
        ("verdict", "/reason", json!("lazy")),
        ("verdict", "/answered", json!("yes")),
        ("retired", "/retired", json!(-1)),
        ("holder", "/reader", json!(null)),
    ] {
        let line = with(kind, pointer, value);
        assert!(schemas.fault(&line).is_some(), "{line}");
        assert!(record::parse(&line).is_err(), "{line}");
    }
}

/// A reader takes what it can use; a writer is held to more.
#[test]
fn values_that_no_writer_writes_are_not_in_the_schema() {
    let schemas = Schemas::new();
    for (kind, pointer, value) in [
        ("chunk", "/path", json!("/etc/passwd")),
        ("chunk", "/path", json!("a/../../b")),
        ("chunk", "/path", json!("..")),
        ("chunk", "/path", json!("a//b")),
        ("chunk", "/path", json!("a/")),
        ("chunk", "/path", json!("")),
        ("chunk", "/repo", json!("a:b")),
        ("chunk", "/repo", json!("..")),
        ("chunk", "/lines", json!([0, 1])),
        ("file", "/hash", json!("abc")),
        ("repo", "/head", json!("main")),
        ("repo", "/path", json!("core")),
        ("repo", "/tokenizer", json!(null)),
        ("segment", "/id", json!("read-0")),
        ("segment", "/id", json!("../read-1")),
        ("status", "/fates", json!({"lost": 1})),
        ("status", "/active/0/since", json!("yesterday")),
        ("policy", "/safety_ppm", json!(1_000_000)),
        ("error", "/code", json!("Not Found")),
        ("end", "/of", json!("")),
        ("task", "/id", json!("../a")),
        ("task", "/id", json!("-a")),
        ("verdict", "/id", json!(".a")),
        ("task", "/path", json!("tasks/../a.txt")),
        ("task", "/posted", json!("yesterday")),
        ("verdict", "/path", json!("/etc/passwd")),
        ("retired", "/done", json!("yes")),
        ("holder", "/until", json!("soon")),
    ] {
        let line = with(kind, pointer, value);
        assert!(schemas.fault(&line).is_some(), "{line}");
    }
}

#[test]
fn bytes_beside_a_path_need_the_path() {
    let schemas = Schemas::new();
    let line = r#"{"v":1,"type":"read","repo":"core","id":"ffffffffffffffff","path_b64":"YQ=="}"#;
    assert!(schemas.fault(line).is_some());
}
