//! The text that `auwai read` prints, taken apart without the code that put it together.

use std::collections::BTreeMap;

/// A printed line.
pub enum Line<'a> {
    /// A frame: `repo:path`.
    Frame(&'a str),
    /// A line of a file: its number and its text.
    Body(u64, &'a str),
    /// What is neither: the last line, or the brief of a run.
    Other,
}

/// Every line with the offset of the byte after it.
pub fn lines(text: &str) -> impl Iterator<Item = (Line<'_>, usize)> {
    text.split_inclusive('\n').scan(0, |at, line| {
        *at += line.len();
        Some((parse(line), *at))
    })
}

fn parse(line: &str) -> Line<'_> {
    if let Some(frame) = line.strip_prefix("=== ")
        && let Some((path, _)) = frame.split_once(" lines ").or_else(|| frame.split_once(" line "))
    {
        return Line::Frame(path);
    }
    let numbered =
        line.split_once('\t').and_then(|(number, text)| Some((number.parse().ok()?, text)));
    numbered.map_or(Line::Other, |(number, text)| Line::Body(number, text))
}

/// The files that a text shows, by `repo:path`, each line after its number.
pub fn files(text: &str) -> BTreeMap<String, Vec<(u64, String)>> {
    let (mut files, mut open) = (BTreeMap::<_, Vec<_>>::new(), String::new());
    for (line, _) in lines(text) {
        match line {
            Line::Frame(path) => open = path.to_string(),
            Line::Body(number, text) => {
                files.entry(open.clone()).or_default().push((number, text.to_string()));
            }
            Line::Other => {}
        }
    }
    files
}

/// The lines of files alone, each with its file.
pub fn bodies(text: &str) -> Vec<String> {
    let mut open = String::new();
    let mut all = Vec::new();
    for (line, _) in lines(text) {
        match line {
            Line::Frame(path) => open = path.to_string(),
            Line::Body(number, text) => all.push(format!("{open}:{number}:{text}")),
            Line::Other => {}
        }
    }
    all
}

/// The last line.
pub fn last(text: &str) -> &str {
    text.lines().next_back().unwrap_or_default()
}
