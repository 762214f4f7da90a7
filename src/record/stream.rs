//! Reading and writing records as JSON Lines.

use std::io::{BufRead, Write};

use serde::{Deserialize, Serialize};

use super::json::write_json;
use super::types::{Record, Wire};
use crate::counted::count;
use crate::error::{Error, Result};
use crate::visible;

/// The version on every line.
const VERSION: u8 = 1;

#[derive(Serialize)]
struct Line<'a, T> {
    v: u8,
    r#type: &'static str,
    #[serde(flatten)]
    body: &'a T,
}

/// Writes one record as one line. Whether a line is one `write()` is the sink's affair.
pub fn write<T: Wire>(out: &mut (impl Write + ?Sized), record: &T) -> Result<()> {
    let line = Line { v: VERSION, r#type: T::TYPE, body: record };
    let mut text = Vec::with_capacity(256);
    write_json(&mut text, &line).map_err(|e| {
        Error::failed("bug", format!("cannot write a {} record", T::TYPE)).because(e)
    })?;
    text.push(b'\n');
    out.write_all(&text).map_err(|e| Error::io("write to", "standard output", &e))
}

/// What [`write`] begins every line with, before the name of the type.
const OWN_HEAD: &str = r#"{"v":1,"type":""#;

/// The type of a line that begins as [`write`] begins it, found without parsing the line.
fn own_type(line: &str) -> Option<&str> {
    let (kind, _) = line.strip_prefix(OWN_HEAD)?.split_once('"')?;
    (!kind.contains('\\')).then_some(kind)
}

/// The head of any line: enough to know how to read the rest.
#[derive(Deserialize)]
struct Head<'a> {
    v: u8,
    #[serde(borrow, rename = "type")]
    kind: std::borrow::Cow<'a, str>,
}

/// Reads one line; [`Record::Unknown`] for a type that this version does not know.
///
/// The error is what is wrong with the line, without its place.
pub fn parse(line: &str) -> std::result::Result<Record, String> {
    // Our own lines are parsed once; a type that is not known here still has to be JSON.
    if let Some(kind) = own_type(line).filter(|kind| Record::TYPES.contains(kind)) {
        return typed(kind, line);
    }
    let head: Head<'_> =
        serde_json::from_str(line).map_err(|e| format!("not a record: {}", in_line(&e)))?;
    if head.v != VERSION {
        return Err(format!("version {} is not known here", head.v));
    }
    typed(&head.kind, line)
}

fn typed(kind: &str, line: &str) -> std::result::Result<Record, String> {
    Record::from_json(kind, line).map_err(|e| format!("not a {kind} record: {}", in_line(&e)))
}

/// What is wrong inside one line; its number is the reader's to say.
fn in_line(error: &serde_json::Error) -> String {
    error.to_string().replace(" at line 1 column ", " at column ")
}

/// Records from a stream, with the line number for messages: `auwai-plan: -:12: not a …`.
pub struct Reader<R> {
    input: R,
    name: String,
    line: u64,
    text: Vec<u8>,
    longest: u64,
}

impl<R: BufRead> Reader<R> {
    /// Reads `input`, called `name` in messages (`-` for standard input).
    pub fn new(input: R, name: impl Into<String>) -> Self {
        Reader { input, name: name.into(), line: 0, text: Vec::new(), longest: u64::MAX }
    }

    /// The same with no line of more than so many bytes in memory: a longer one is an error.
    pub fn lines_of_at_most(self, longest: u64) -> Self {
        Reader { longest, ..self }
    }

    /// The next record, or `None` at the end of the stream. A line without its newline is a torn
    /// one, and an error of the code `cut-off`.
    pub fn next_record(&mut self) -> Result<Option<Record>> {
        self.text.clear();
        let mut line = std::io::Read::take(&mut self.input, self.longest);
        let read = line.read_until(b'\n', &mut self.text);
        if read.map_err(|e| Error::io("read", &self.name, &e))? == 0 {
            return Ok(None);
        }
        self.line += 1;
        if self.text.last() != Some(&b'\n') {
            if self.text.len() as u64 == self.longest {
                return Err(
                    self.bad(&format!("the line is longer than {}", count(self.longest, "byte")))
                );
            }
            return Err(self.torn("the line is cut off"));
        }
        let text = std::str::from_utf8(&self.text).map_err(|_| self.bad("not UTF-8"))?;
        parse(text).map(Some).map_err(|e| self.bad(&e))
    }

    /// The same of a stream that may be cut off: with `partial` a torn line is its end, and without
    /// it `hint` says how to have what came.
    pub fn next_or_cut(&mut self, partial: bool, hint: &str) -> Result<Option<Record>> {
        match self.next_record() {
            Err(error) if error.code() != "cut-off" => Err(error),
            Err(_) if partial => Ok(None),
            other => other.map_err(|error| error.hint(hint)),
        }
    }

    /// An error about the line read last.
    pub fn bad(&self, what: &str) -> Error {
        let what = visible::one_line(what);
        Error::failed("bad-input", format!("{}:{}: {what}", self.name, self.line))
    }

    /// The error for a stream that ended without its `end` record: its writer died.
    pub fn cut_off(&self) -> Error {
        self.torn("the stream ended without its end record")
    }

    fn torn(&self, what: &str) -> Error {
        Error::failed("cut-off", format!("{}:{}: {what}", self.name, self.line))
            .hint("its writer was stopped: run the pipeline again")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::{End, Repo};

    #[test]
    fn unknown_types_and_keys_are_passed_over() {
        let known = parse(r#"{"v":1,"type":"end","of":"chunk","count":3,"later":true}"#);
        assert!(matches!(known, Ok(Record::End(End { count: 3, .. }))));
        let unknown = parse(r#"{"v":1,"type":"later","x":null}"#);
        assert!(matches!(unknown, Ok(Record::Unknown)));
    }

    #[test]
    fn a_bad_line_is_named() {
        let mut reader = Reader::new(&b"{\"v\":1,\"type\":\"repo\"}\n"[..], "-");
        let error = reader.next_record().unwrap_err().to_string();
        assert!(error.starts_with("-:1: not a repo record: missing field"), "{error}");
        let mut torn = Reader::new(&b"{\"v\":1"[..], "-");
        let error = torn.next_record().unwrap_err();
        assert_eq!(
            (error.code(), error.to_string().as_str()),
            ("cut-off", "-:1: the line is cut off")
        );
    }

    #[test]
    fn the_head_may_stand_anywhere() {
        let turned = parse(r#"{"count":3,"type":"\u0065nd","of":"chunk","v":1}"#);
        assert_eq!(turned, parse(r#"{"v":1,"type":"end","of":"chunk","count":3}"#));
        assert!(turned.is_ok());
    }

    #[test]
    fn a_line_of_an_unknown_type_is_still_json_of_this_version() {
        assert!(parse(r#"{"v":1,"type":"later","x":"#).unwrap_err().starts_with("not a record: "));
        let newer = parse(r#"{"v":2,"type":"end","of":"chunk","count":3}"#);
        assert_eq!(newer.unwrap_err(), "version 2 is not known here");
    }

    #[test]
    fn version_and_type_come_first() {
        let mut out = Vec::new();
        write(&mut out, &Repo { name: "a".into(), path: "/a".into(), ..Repo::default() }).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text, "{\"v\":1,\"type\":\"repo\",\"name\":\"a\",\"path\":\"/a\"}\n");
    }
}
