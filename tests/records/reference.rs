//! docs/records.md: its tables come from the schemas, its examples from the golden files.

use std::fmt::Write;
use std::fs;

use auwai::record::Record;
use serde_json::Value;

use super::fields::known;
use super::{golden, root, schema};

const REFRESH: &str = "AUWAI_REFRESH=1 cargo test --test suite records::reference";

#[test]
fn the_reference_says_what_schemas_and_golden_files_say() {
    let path = root().join("docs/records.md");
    let found = fs::read_to_string(&path).unwrap();
    let mut wanted = found.clone();
    for kind in Record::TYPES {
        wanted = filled(&wanted, kind);
    }
    if std::env::var_os("AUWAI_REFRESH").is_some() {
        fs::write(&path, &wanted).unwrap();
        return;
    }
    assert!(found == wanted, "docs/records.md is not up to date: {REFRESH}");
}

#[test]
fn every_type_is_explained_once() {
    let text = fs::read_to_string(root().join("docs/records.md")).unwrap();
    let sections: Vec<&str> =
        text.split("\n### ").skip(1).map(|rest| rest.lines().next().unwrap()).collect();
    let types: Vec<&str> =
        sections.into_iter().filter(|name| Record::TYPES.contains(name)).collect();
    assert_eq!(types, Record::TYPES);
    for kind in Record::TYPES {
        assert!(text.contains(&format!("| [`{kind}`](#{kind}) | ")), "{kind} is not in the list");
        let prose = text.split(&format!("\n### {kind}\n\n")).nth(1).unwrap();
        assert!(!prose.starts_with("<!--"), "{kind} is not explained");
    }
}

/// The text with what stands between a type's marks made anew.
fn filled(text: &str, kind: &str) -> String {
    let (open, close) = (format!("<!-- {kind} -->\n"), format!("<!-- /{kind} -->"));
    let (before, rest) = text.split_once(&open).unwrap_or_else(|| panic!("no mark of {kind}"));
    let (_, after) = rest.split_once(&close).unwrap_or_else(|| panic!("no end mark of {kind}"));
    format!("{before}{open}{}{close}{after}", section(kind))
}

fn section(kind: &str) -> String {
    let schema = schema(kind);
    let mut out = String::from("| key | value | meaning |\n|---|---|---|\n");
    rows(&mut out, "", (kind, ""), &schema);
    let _ = write!(out, "\n```json\n{}\n```\n\n", golden(kind)[0]);
    let _ = write!(out, "Schema: [{kind}.json](schema/{kind}.json). ");
    let _ = writeln!(out, "More lines: [{kind}.jsonl](../tests/records/{kind}.jsonl).");
    out
}

/// A row a key, in the order of the struct; the keys of an object inside follow it.
fn rows(out: &mut String, prefix: &str, (kind, at): (&str, &str), schema: &Value) {
    let object = schema.pointer(at).unwrap();
    for key in fields_of(kind, at) {
        let value = &object["properties"][&key];
        let needed = object["required"].as_array().unwrap().iter().any(|one| one == &key);
        let name = format!("`{prefix}{key}`");
        let name = if needed { name } else { format!("[{name}]") };
        let meaning = value["description"].as_str().unwrap();
        let _ = writeln!(out, "| {name} | {} | {meaning} |", words(value));
        for (part, inside) in [(".", ""), ("[].", "/items")] {
            let inside = format!("{at}/properties/{key}{inside}");
            if schema.pointer(&inside).is_some_and(|it| it.get("properties").is_some()) {
                rows(out, &format!("{prefix}{key}{part}"), (kind, &inside), schema);
            }
        }
    }
}

fn fields_of(kind: &str, at: &str) -> Vec<String> {
    let all = known().into_iter();
    all.filter(|it| (it.1, it.2) == (kind, at)).flat_map(|it| it.3).collect()
}

/// What a value is, in a word or two.
fn words(value: &Value) -> String {
    if let Some(all) = value["enum"].as_array() {
        let all: Vec<String> =
            all.iter().map(|word| format!("`{}`", word.as_str().unwrap())).collect();
        return all.join(", ");
    }
    let pattern = value["pattern"].as_str().unwrap_or_default();
    match value["type"].as_str().unwrap() {
        "integer" => "number".to_string(),
        "boolean" => "true or false".to_string(),
        "object" if value.get("properties").is_none() => "numbers by fate".to_string(),
        "object" => "object".to_string(),
        "array" if value["maxItems"] == 2 => "two numbers".to_string(),
        "array" => format!("list of {}", plural(&value["items"])),
        _ if value["contentEncoding"] == "base64" => "base64".to_string(),
        _ if value["format"] == "date-time" => "time".to_string(),
        _ if pattern.ends_with(":[0-9a-f]{16}$") => "qualified id".to_string(),
        _ if pattern == "^[0-9a-f]{16}$" => "16 hex digits".to_string(),
        _ if pattern == "^[0-9a-f]{64}$" => "64 hex digits".to_string(),
        _ if pattern.starts_with("^([0-9a-f]{40}|") => "40 or 64 hex digits".to_string(),
        _ if pattern.starts_with("^(?!\\.{1,2}$)") => "name".to_string(),
        _ if pattern.starts_with("^(?!\\.{0,2}(/|$))") => "path".to_string(),
        _ if pattern.starts_with("^(\\.|(?!\\.{0,2}(/|$))") => "path, or `.`".to_string(),
        _ if pattern == "^[A-Za-z0-9_][A-Za-z0-9._-]{0,99}$" => "task id".to_string(),
        _ if pattern.starts_with("^tasks/") || pattern.starts_with("^results/") => {
            "path".to_string()
        }
        _ if pattern.starts_with("^(read|synthesis)") => "segment id".to_string(),
        _ => "text".to_string(),
    }
}

fn plural(value: &Value) -> String {
    match words(value).as_str() {
        "text" => "texts".to_string(),
        one => format!("{one}s"),
    }
}
