//! A guide in docs/ as blocks: the Markdown that is used there, read for a page of the manual.
//!
//! Headings, paragraphs, fenced blocks, lists of points and tables of two columns. Bold is dropped,
//! and of a link only its text stays.

use std::iter::Peekable;

use super::Block;

/// Reads a guide; its title is left out, as a page has one.
pub fn guide(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if line.is_empty() || line.starts_with("# ") {
            continue;
        }
        blocks.push(block(line, &mut lines));
    }
    // The head of a table, and the line below it.
    blocks.retain(|block| !matches!(block, Block::Entry(term, _) if term.is_empty()));
    blocks
}

fn block<'a>(line: &str, lines: &mut Peekable<impl Iterator<Item = &'a str>>) -> Block {
    if let Some(head) = line.strip_prefix("## ") {
        return Block::Section(head.to_uppercase());
    }
    if line.trim_start().starts_with("```") {
        return fenced(line.len() - line.trim_start().len(), lines);
    }
    if let Some(row) = line.strip_prefix("| ") {
        return row_of_two(row, lines);
    }
    match line.strip_prefix("- ") {
        Some(point) => Block::Entry("•".to_string(), vec![running(point, lines)]),
        None => Block::Paragraph(running(line, lines)),
    }
}

/// The lines up to the closing fence, without the indentation that it has.
fn fenced<'a>(indent: usize, lines: &mut Peekable<impl Iterator<Item = &'a str>>) -> Block {
    let inside = lines.by_ref().take_while(|line| !line.trim_start().starts_with("```"));
    Block::Example(inside.map(|line| line.get(indent..).unwrap_or_default().to_string()).collect())
}

/// A row; without a term, the head of a table together with the line below it.
fn row_of_two<'a>(row: &str, lines: &mut Peekable<impl Iterator<Item = &'a str>>) -> Block {
    let is_head = lines.next_if(|below| below.starts_with("|--")).is_some();
    let (term, about) = row.trim_end_matches([' ', '|']).split_once(" | ").unwrap_or((row, ""));
    let term = if is_head { "" } else { term };
    Block::Entry(plain(term), vec![plain(about)])
}

/// A paragraph from its first line on.
fn running<'a>(first: &str, lines: &mut Peekable<impl Iterator<Item = &'a str>>) -> String {
    let mut text = first.trim().to_string();
    let goes_on = |line: &&str| {
        let line = line.trim_start();
        !line.is_empty() && !["- ", "| ", "## ", "```"].iter().any(|mark| line.starts_with(mark))
    };
    while let Some(line) = lines.next_if(goes_on) {
        text = text + " " + line.trim();
    }
    plain(&text)
}

/// Without bold, and without where links lead.
fn plain(text: &str) -> String {
    let mut out = String::new();
    let text = text.replace("**", "");
    let mut rest = text.as_str();
    while let Some((before, link)) = rest.split_once('[') {
        out.push_str(before);
        let parts =
            link.split_once("](").and_then(|(text, to)| Some((text, to.split_once(')')?.1)));
        let (text, after) = parts.unwrap_or(("[", link));
        out.push_str(text);
        rest = after;
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_a_block() {
        let text = "# Title\n\nOne **two**\n[three](to.md) [four].\n\n## Next\n- a\n  b\n\n  ```\n  x\n    y\n  ```\n\
            | k | v |\n|---|---|\n| `a` | it is |\n\n```console\n$ z\n```\n";
        let entry = |term: &str, about: &str| Block::Entry(term.into(), vec![about.into()]);
        assert_eq!(
            guide(text),
            [
                Block::Paragraph("One two three [four].".into()),
                Block::Section("NEXT".into()),
                entry("•", "a b"),
                Block::Example(vec!["x".into(), "  y".into()]),
                entry("`a`", "it is"),
                Block::Example(vec!["$ z".into()]),
            ]
        );
    }
}
