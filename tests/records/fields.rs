//! Schemas against the structs: the same keys, the same ones required, the same words.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use auwai::record::{
    Barrier, Batch, Body, Chunk, Done, End, Event, EventKind, EventOp, Fate, File, Finding, Holder,
    How, Oddity, OddityKind, Plan, PlanRepo, Policy, Problem, Progress, Read, Ready, Record, Repo,
    Rescan, RescanReason, Retired, Segment, SegmentCounts, SegmentFile, SegmentKind, SegmentStatus,
    Status, Survey, Sync, SyncMode, Task, TaskState, Unread, Verdict, VerdictReason, Waiver,
    WatchBackend, Watched, Why,
};
use serde::Deserialize;
use serde::de::{self, Deserializer, Visitor};
use serde::forward_to_deserialize_any;
use serde_json::{Value, json};

use super::{golden, objects, root, schema};

/// Asks a type for its names instead of giving it data: the fields of a struct, the words of an
/// enum.
struct Asked<'a>(&'a mut Vec<String>);

impl<'de> Deserializer<'de> for Asked<'_> {
    type Error = de::value::Error;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Self::Error> {
        Err(de::Error::custom("asked"))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.extend(fields.iter().map(|field| field.to_string()));
        self.deserialize_any(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        _: &'static str,
        words: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.0.extend(words.iter().map(|word| word.to_string()));
        self.deserialize_any(visitor)
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option
        unit unit_struct newtype_struct seq tuple tuple_struct map identifier ignored_any
    }
}

fn names<T: for<'de> Deserialize<'de>>() -> Vec<String> {
    let mut names = Vec::new();
    assert!(T::deserialize(Asked(&mut names)).is_err());
    assert!(!names.is_empty());
    names
}

/// Every object of the wire: its struct, where its schema is, what serde knows of it.
pub fn known() -> Vec<(&'static str, &'static str, &'static str, Vec<String>)> {
    vec![
        ("Ready", "ready", "", names::<Ready>()),
        ("Event", "event", "", names::<Event>()),
        ("Rescan", "rescan", "", names::<Rescan>()),
        ("Batch", "batch", "", names::<Batch>()),
        ("Barrier", "barrier", "", names::<Barrier>()),
        ("Repo", "repo", "", names::<Repo>()),
        ("End", "end", "", names::<End>()),
        ("File", "file", "", names::<File>()),
        ("Chunk", "chunk", "", names::<Chunk>()),
        ("Body", "body", "", names::<Body>()),
        ("Read", "read", "", names::<Read>()),
        ("Unread", "unread", "", names::<Unread>()),
        ("Finding", "finding", "", names::<Finding>()),
        ("Waiver", "waiver", "", names::<Waiver>()),
        ("Sync", "sync", "", names::<Sync>()),
        ("Progress", "progress", "", names::<Progress>()),
        ("Policy", "policy", "", names::<Policy>()),
        ("Segment", "segment", "", names::<Segment>()),
        ("SegmentFile", "segment", "/properties/files/items", names::<SegmentFile>()),
        ("Plan", "plan", "", names::<Plan>()),
        ("PlanRepo", "plan", "/properties/repos/items", names::<PlanRepo>()),
        ("Status", "status", "", names::<Status>()),
        ("SegmentCounts", "status", "/properties/segments", names::<SegmentCounts>()),
        ("Done", "status", "/properties/chunks", names::<Done>()),
        ("Done", "status", "/properties/tokens", names::<Done>()),
        ("Policy", "status", "/properties/policy", names::<Policy>()),
        ("Holder", "status", "/properties/active/items", names::<Holder>()),
        ("Watched", "status", "/properties/watched/items", names::<Watched>()),
        ("Holder", "holder", "", names::<Holder>()),
        ("Survey", "survey", "", names::<Survey>()),
        ("Oddity", "survey", "/properties/oddities/items", names::<Oddity>()),
        ("Task", "task", "", names::<Task>()),
        ("Verdict", "verdict", "", names::<Verdict>()),
        ("Retired", "retired", "", names::<Retired>()),
        ("Problem", "error", "", names::<Problem>()),
    ]
}

#[test]
fn a_schema_has_the_keys_that_the_code_knows() {
    let mut described = BTreeSet::new();
    for (name, kind, at, names) in known() {
        let schema = schema(kind);
        let object = schema.pointer(at).unwrap();
        let mut keys: BTreeSet<String> =
            object["properties"].as_object().unwrap().keys().cloned().collect();
        if at.is_empty() {
            assert!(keys.remove("v") && keys.remove("type"), "{kind}");
        }
        assert_eq!(keys, names.into_iter().collect(), "{name}");
        assert_eq!(object["additionalProperties"], true, "{name}");
        described.insert((kind, at.to_string()));
    }
    for kind in Record::TYPES {
        for (at, _) in objects(&schema(kind)) {
            assert!(described.contains(&(*kind, at.clone())), "{kind}{at} is held to no struct");
        }
    }
}

#[test]
fn a_schema_has_the_words_that_the_code_knows() {
    for (kind, at, words) in [
        ("ready", "/properties/backend/enum", names::<WatchBackend>()),
        ("event", "/properties/op/enum", names::<EventOp>()),
        ("event", "/properties/kind/enum", names::<EventKind>()),
        ("rescan", "/properties/reason/enum", names::<RescanReason>()),
        ("file", "/properties/fate/enum", names::<Fate>()),
        ("survey", "/properties/oddities/items/properties/what/enum", names::<OddityKind>()),
        ("status", "/properties/fates/propertyNames/enum", names::<Fate>()),
        ("read", "/properties/how/enum", names::<How>()),
        ("read", "/properties/origin/enum", names::<How>()),
        ("unread", "/properties/why/enum", names::<Why>()),
        ("sync", "/properties/mode/enum", names::<SyncMode>()),
        ("status", "/properties/watched/items/properties/backend/enum", names::<WatchBackend>()),
        ("segment", "/properties/kind/enum", names::<SegmentKind>()),
        ("segment", "/properties/status/enum", names::<SegmentStatus>()),
        ("task", "/properties/state/enum", names::<TaskState>()),
        ("verdict", "/properties/reason/enum", names::<VerdictReason>()),
    ] {
        assert_eq!(schema(kind).pointer(at), Some(&json!(words)), "{kind}{at}");
    }
    assert_eq!(names::<Fate>(), Fate::ALL.map(Fate::as_str));
    assert_eq!(names::<How>(), How::ALL.map(How::as_str));
}

/// Golden lines with one key less: the code refuses exactly those that the schema does.
#[test]
fn what_a_schema_requires_the_code_requires() {
    for (name, kind, at, names) in known() {
        let schema = schema(kind);
        let required = &schema.pointer(at).unwrap()["required"];
        for key in names {
            let pointer = at.replace("/properties", "").replace("/items", "/0");
            let lines = golden(kind).into_iter().filter_map(|line| without(&line, &pointer, &key));
            let lines: Vec<String> = lines.collect();
            assert!(!lines.is_empty(), "{name}: no golden line has '{key}'");
            let needed = required.as_array().unwrap().contains(&json!(key));
            for line in lines {
                assert_eq!(auwai::record::parse(&line).is_err(), needed, "{name}.{key}: {line}");
            }
        }
    }
}

fn without(line: &str, pointer: &str, key: &str) -> Option<String> {
    let mut line: Value = serde_json::from_str(line).unwrap();
    line.pointer_mut(pointer)?.as_object_mut()?.remove(key)?;
    Some(line.to_string())
}

/// The doc comments of src/record/types, by struct and field; the struct's own under "".
fn comments() -> BTreeMap<(String, String), String> {
    let files = ["evidence", "inbox", "index", "plan", "reading", "stream", "survey", "watch"];
    let read = |file| fs::read_to_string(root().join(format!("src/record/types/{file}.rs")));
    let source: String = files.map(|file| read(file).unwrap()).concat();
    let (mut all, mut owner, mut text) = (BTreeMap::new(), String::new(), Vec::new());
    for line in source.lines() {
        let words = line.trim_start();
        if let Some(comment) = words.strip_prefix("/// ") {
            text.push(comment.to_string());
        } else if let Some(name) = line.strip_prefix("pub struct ") {
            owner = name.trim_end_matches(" {").to_string();
            all.insert((owner.clone(), String::new()), text.join(" "));
            text.clear();
        } else if let Some((field, _)) = words.strip_prefix("pub ").and_then(|w| w.split_once(": "))
        {
            all.insert((owner.clone(), field.to_string()), text.join(" "));
            text.clear();
        } else if !words.starts_with("#[") {
            text.clear();
        }
    }
    all
}

#[test]
fn a_schema_says_what_the_code_says() {
    let comments = comments();
    for (name, kind, at, names) in known() {
        let schema = schema(kind);
        let object = schema.pointer(at).unwrap();
        let comment = |field: &str| &comments[&(name.to_string(), field.to_string())];
        if at.is_empty() {
            assert_eq!(&object["description"], comment(""), "{name}");
        }
        for key in names {
            let said = &object["properties"][&key]["description"];
            assert_eq!(said, comment(&key), "{name}.{key}");
        }
    }
}
