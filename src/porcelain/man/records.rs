//! The record types as auwai-records(5) tells them: out of the schemas in docs/schema, which golden
//! files are checked against.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use crate::cli::man::Block;
use crate::record::Record;

macro_rules! schemas {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("../../../docs/schema/", $name, ".json")))),*]
    };
}

/// The schema of every type.
const SCHEMAS: &[(&str, &str)] = schemas!["ready" "event" "rescan" "batch" "barrier" "repo" "end" "file" "chunk" "body" "read" "unread" "finding" "waiver" "sync"
    "progress" "policy" "segment" "plan" "status" "holder" "survey" "task"
    "verdict" "retired" "error"];

/// What a page says of a schema.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Schema {
    description: String,
    #[serde(rename = "type")]
    kind: String,
    properties: Properties,
    required: Vec<String>,
    #[serde(rename = "enum")]
    words: Vec<String>,
    items: Option<Box<Schema>>,
}

/// The keys in the order in which the schema has them.
#[derive(Default)]
struct Properties(Vec<(String, Schema)>);

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Properties;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the keys of a record")
            }

            fn visit_map<M: MapAccess<'de>>(self, mut map: M) -> Result<Properties, M::Error> {
                let mut all = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    all.push(entry);
                }
                Ok(Properties(all))
            }
        }
        from.deserialize_map(InOrder)
    }
}

/// A subsection for each type, with an entry for each key.
pub fn blocks() -> Vec<Block> {
    Record::TYPES.iter().flat_map(|name| one(name)).collect()
}

fn one(name: &str) -> Vec<Block> {
    let found = SCHEMAS.iter().find(|(known, _)| *known == name);
    let schema = found.map(|(_, text)| serde_json::from_str::<Schema>(text));
    let mut blocks = vec![Block::Subsection(name.to_string())];
    match schema {
        None => blocks.push(Block::Paragraph("(no schema)".into())),
        Some(Err(e)) => {
            blocks.push(Block::Paragraph(format!("(a schema that cannot be read: {e})")))
        }
        Some(Ok(schema)) => {
            blocks.push(Block::Paragraph(schema.description.clone()));
            keys(&schema, "", &mut blocks);
        }
    }
    blocks
}

/// The keys of an object, and below them those of the objects in it.
fn keys(schema: &Schema, inside: &str, blocks: &mut Vec<Block>) {
    let common = |key: &str| inside.is_empty() && matches!(key, "v" | "type");
    for (key, value) in schema.properties.0.iter().filter(|(key, _)| !common(key)) {
        let optional = if schema.required.contains(key) { "" } else { ", optional" };
        let term = format!("`{inside}{key}` ({}{optional})", kind(value));
        blocks.push(Block::Entry(term, vec![text(value)]));
        keys(value, &format!("{inside}{key}."), blocks);
        if let Some(items) = &value.items {
            keys(items, &format!("{inside}{key}[]."), blocks);
        }
    }
}

fn kind(schema: &Schema) -> String {
    match (&schema.items, schema.kind.as_str()) {
        (Some(items), "array") => format!("array of {}", kind(items)),
        (_, kind) => kind.to_string(),
    }
}

fn text(schema: &Schema) -> String {
    if schema.words.is_empty() {
        return schema.description.clone();
    }
    let words: Vec<String> = schema.words.iter().map(|word| format!("`{word}`")).collect();
    format!("{} One of {}.", schema.description, words.join(", "))
}
