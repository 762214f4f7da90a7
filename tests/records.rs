//! The wire format: schemas, golden files and the reference, held to the code and to each other.

mod fields;
mod golden;
mod hostile;
mod live;
mod reference;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use auwai::record::Record;
use jsonschema::Validator;
use serde_json::Value;

fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// The schema of a type.
fn schema(kind: &str) -> Value {
    let path = root().join("docs/schema").join(format!("{kind}.json"));
    serde_json::from_str(&fs::read_to_string(&path).unwrap()).unwrap()
}

/// The lines of a type's golden file, without their ends.
fn golden(kind: &str) -> Vec<String> {
    let path = root().join("tests/records").join(format!("{kind}.jsonl"));
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.ends_with('\n'), "{}", path.display());
    text.split_terminator('\n').map(str::to_string).collect()
}

/// All schemas, ready to judge lines.
struct Schemas(BTreeMap<&'static str, Validator>);

impl Schemas {
    fn new() -> Schemas {
        let one = |kind: &&'static str| (*kind, jsonschema::validator_for(&schema(kind)).unwrap());
        Schemas(Record::TYPES.iter().map(one).collect())
    }

    /// What is wrong with a line; the type is what the line says it is.
    fn fault(&self, line: &str) -> Option<String> {
        let record: Value = serde_json::from_str(line).unwrap();
        let kind = record["type"].as_str().unwrap();
        let Some(validator) = self.0.get(kind) else { return Some(format!("no schema of {kind}")) };
        let faults: Vec<String> = validator.iter_errors(&record).map(|e| e.to_string()).collect();
        (!faults.is_empty()).then(|| format!("{line}: {}", faults.join("; ")))
    }
}

/// The objects that a schema describes, with where they are in it: itself first.
fn objects(schema: &Value) -> Vec<(String, &Value)> {
    let mut found = vec![(String::new(), schema)];
    for (key, value) in schema["properties"].as_object().unwrap() {
        for (at, value) in [("", value), ("/items", &value["items"])] {
            if value.get("properties").is_some() {
                found.push((format!("/properties/{key}{at}"), value));
            }
        }
    }
    found
}
