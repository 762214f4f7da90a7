//! The language that pages are written in: plain text with a few marks at the start of a line.
//!
//! `# HEAD` and `## Subhead` are headings. `: term` begins an entry, whose text is the lines below
//! it. Four spaces begin a literal example. `@name` stands alone for something that the caller puts
//! there. All else is paragraphs, with empty lines between them; `code` is in backticks. There are no
//! lists of points: an entry says what each point is about.

/// A part of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Block {
    /// A section's heading.
    Section(String),
    /// A heading inside a section.
    Subsection(String),
    /// Running text.
    Paragraph(String),
    /// Lines that are printed as they are.
    Example(Vec<String>),
    /// A term, marked up as in running text, and the paragraphs about it.
    Entry(String, Vec<String>),
    /// A command and its words, for the synopsis.
    Usage(String, Vec<String>),
    /// What the caller puts here.
    Insert(String),
}

/// Reads prose.
pub fn parse(text: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        if let Some(first) = line.strip_prefix("    ") {
            let mut example = vec![first.to_string()];
            while let Some(more) = lines.next_if(|line| line.starts_with("    ")) {
                example.push(more[4..].to_string());
            }
            blocks.push(Block::Example(example));
        } else if let Some(block) = one_line(line) {
            blocks.push(block);
        } else if let Some(term) = line.strip_prefix(": ") {
            let body = paragraph(&mut lines, String::new());
            blocks.push(Block::Entry(term.to_string(), vec![body]));
        } else if !line.is_empty() {
            blocks.push(Block::Paragraph(paragraph(&mut lines, line.to_string())));
        }
    }
    blocks
}

fn one_line(line: &str) -> Option<Block> {
    let after = |mark| line.strip_prefix(mark).map(str::to_string);
    let subsection = after("## ").map(Block::Subsection);
    subsection.or(after("# ").map(Block::Section)).or(after("@").map(Block::Insert))
}

/// The lines up to an empty one, an entry or an example, joined by spaces.
fn paragraph<'a>(
    lines: &mut std::iter::Peekable<impl Iterator<Item = &'a str>>,
    mut text: String,
) -> String {
    let goes_on =
        |line: &&str| !line.is_empty() && !line.starts_with(": ") && !line.starts_with("    ");
    while let Some(line) = lines.next_if(goes_on) {
        if !text.is_empty() {
            text.push(' ');
        }
        text.push_str(line.trim());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_mark_is_a_block() {
        let text =
            "# A\n@synopsis\n\none\ntwo\n\n    x\n      y\n: `-a`\nthe\nterm\n: `-b`\nmore\n";
        assert_eq!(
            parse(text),
            [
                Block::Section("A".into()),
                Block::Insert("synopsis".into()),
                Block::Paragraph("one two".into()),
                Block::Example(vec!["x".into(), "  y".into()]),
                Block::Entry("`-a`".into(), vec!["the term".into()]),
                Block::Entry("`-b`".into(), vec!["more".into()]),
            ]
        );
    }
}
