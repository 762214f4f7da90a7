//! Blocks as man(7) source.

use std::fmt::Write;

use super::Block;

/// What a page begins with.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    /// What it is called, without its section.
    pub name: &'a str,
    /// Its section of the manual.
    pub section: u8,
    /// What it is about, in a line.
    pub summary: &'a str,
    /// The date in its foot: that of the release, not of the build.
    pub released: &'a str,
}

/// A whole page.
pub fn page(head: &Head<'_>, blocks: &[Block]) -> String {
    let Head { name, section, summary, released } = head;
    let mut out = String::from(".\\\" Made from the commands and the prose beside them.\n");
    let version = env!("CARGO_PKG_VERSION");
    let title = format!("{} {section} \"{released}\" \"auwai {version}\"", name.to_uppercase());
    line(&mut out, &format!(".TH {title} \"auwai manual\""));
    line(&mut out, ".SH NAME");
    line(&mut out, &format!("{} \\- {}", literal(name), escaped(summary)));
    let mut after_heading = false;
    for block in blocks {
        write(&mut out, block, after_heading);
        after_heading = matches!(block, Block::Section(_) | Block::Subsection(_));
    }
    out
}

fn write(out: &mut String, block: &Block, after_heading: bool) {
    match block {
        Block::Section(head) => line(out, &format!(".SH {}", literal(head))),
        Block::Subsection(head) => line(out, &format!(".SS \"{}\"", literal(head))),
        Block::Paragraph(words) => {
            if !after_heading {
                line(out, ".PP");
            }
            running(out, words);
        }
        Block::Example(lines) => {
            if !after_heading {
                line(out, ".PP");
            }
            example(out, lines);
        }
        Block::Entry(term, body) => entry(out, term, body),
        Block::Usage(command, words) => usage(out, command, words),
        Block::Insert(_) => {}
    }
}

fn entry(out: &mut String, term: &str, body: &[String]) {
    line(out, ".TP");
    line(out, &guarded(&marked(term)));
    for (at, words) in body.iter().enumerate() {
        if at > 0 {
            line(out, ".IP");
        }
        running(out, words);
    }
}

fn example(out: &mut String, lines: &[String]) {
    line(out, ".RS 4");
    line(out, ".nf");
    lines.iter().for_each(|text| line(out, &guarded(&literal(text))));
    line(out, ".fi");
    line(out, ".RE");
}

fn usage(out: &mut String, command: &str, words: &[String]) {
    line(out, &format!(".SY {}", literal(command).replace(' ', "\\ ")));
    words.iter().for_each(|word| line(out, &guarded(&marked(word).replace(' ', "\\ "))));
    line(out, ".YS");
}

/// Running text, one sentence a line.
fn running(out: &mut String, words: &str) {
    let mut rest = words;
    while let Some(at) = sentence_end(rest) {
        line(out, &guarded(&marked(&rest[..=at])));
        rest = rest[at + 1..].trim_start();
    }
    line(out, &guarded(&marked(rest)));
}

/// Where a sentence ends that another follows: a stop, a space, and a capital or a mark.
fn sentence_end(text: &str) -> Option<usize> {
    let begins = |c: char| c.is_uppercase() || c == '`' || c == '$';
    text.match_indices(". ")
        .map(|(at, _)| at)
        .find(|at| text[at + 2..].chars().next().is_some_and(begins))
}

fn line(out: &mut String, text: &str) {
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{text}");
}

/// A line that begins with a dot or a quote would be a request.
fn guarded(text: &str) -> String {
    if text.starts_with(['.', '\'']) { format!("\\&{text}") } else { text.to_string() }
}

/// Running text with its marks: `code` is bold, _value_ is italic, other(1) is a page.
fn marked(text: &str) -> String {
    let mut out = String::new();
    for (at, part) in text.split('`').enumerate() {
        match at % 2 {
            0 => out.push_str(&plain(part)),
            _ => out.push_str(&format!("\\fB{}\\fR", literal(part))),
        }
    }
    out
}

fn plain(text: &str) -> String {
    let words = text.split(' ').map(|word| match value(word).or_else(|| reference(word)) {
        Some(marked) => marked,
        None => escaped(word),
    });
    words.collect::<Vec<_>>().join(" ")
}

/// `_NAME_`, which stands for what the user puts there, with what stands around it.
fn value(word: &str) -> Option<String> {
    let (before, rest) = word.split_once('_')?;
    let (name, after) = rest.rsplit_once('_')?;
    let is_edge = |text: &str| text.chars().all(|c| !c.is_alphanumeric());
    (is_edge(before) && is_edge(after) && !name.is_empty())
        .then(|| format!("{}\\fI{}\\fR{}", escaped(before), literal(name), escaped(after)))
}

/// `name(1)`, with what stands around it.
fn reference(word: &str) -> Option<String> {
    let (name, rest) = word.split_once('(')?;
    let is_section = rest.len() > 1
        && rest.starts_with(|c: char| c.is_ascii_digit())
        && rest[1..].starts_with(')');
    let is_name = !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    (is_section && is_name)
        .then(|| format!("\\fB{}\\fR({}", name.replace('-', "\\-"), escaped(rest)))
}

/// Text that may be broken anywhere; a hyphen stays one.
fn escaped(text: &str) -> String {
    text.chars().map(|c| escape(c, "-")).collect()
}

/// Text that is to be typed: a hyphen is the minus of the keyboard.
fn literal(text: &str) -> String {
    text.chars().map(|c| escape(c, "\\-")).collect()
}

fn escape(c: char, hyphen: &str) -> String {
    match c {
        '-' => hyphen.to_string(),
        '\\' => "\\e".to_string(),
        '\'' => "\\(aq".to_string(),
        '`' => "\\(ga".to_string(),
        '^' => "\\(ha".to_string(),
        '~' => "\\(ti".to_string(),
        '"' => "\\(dq".to_string(),
        c if c.is_ascii() => c.to_string(),
        c => format!("\\[u{:04X}]", c as u32),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_can_be_copied() {
        assert_eq!(marked("run `auwai-plan --x '\\'` so-so"), {
            "run \\fBauwai\\-plan \\-\\-x \\(aq\\e\\(aq\\fR so-so"
        });
    }

    #[test]
    fn pages_and_values_are_known() {
        assert_eq!(plain("see auwai-plan(1), [_TIME_] and x_y_z"), {
            "see \\fBauwai\\-plan\\fR(1), [\\fITIME\\fR] and x_y_z"
        });
    }

    #[test]
    fn no_text_becomes_a_request() {
        let mut out = String::new();
        running(&mut out, ".auwai is one. 'Here' is another. And …");
        assert_eq!(out, "\\&.auwai is one. \\(aqHere\\(aq is another.\nAnd \\[u2026]\n");
    }
}
