//! The line after the bodies: where the reader is, and what to do next.
//!
//! Like a frame it begins with `=`, so no body can forge it. It belongs to no chunk.

use crate::counted::count;
use crate::visible::one_line;

/// What the last line can name.
#[derive(Debug, Clone, Copy)]
pub struct LastLine<'a> {
    /// What was printed: a segment's id.
    pub label: Option<&'a str>,
    /// The command that goes on.
    pub next: Option<&'a str>,
    /// The command for when all is read.
    pub done: Option<&'a str>,
    /// How many chunks there are, printed or not.
    pub chunks: u64,
    /// How many more there should be: what they were is not there any more.
    pub withheld: u64,
}

/// A page's place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageOf {
    /// The page, from 1.
    pub page: u64,
    /// How many there are.
    pub of: u64,
    /// The first page that has unread chunks when this one is read; `None` when nothing is left.
    pub left: Option<u64>,
}

impl LastLine<'_> {
    /// After all bodies.
    pub fn whole(&self) -> String {
        self.close(&format!("end{}: {}", self.of_label(), self.all()))
    }

    /// After the bodies that were unread.
    pub fn unread(&self, printed: u64) -> String {
        let what = match printed {
            0 => "nothing more is unread".to_string(),
            _ => format!("what was unread, {printed} of {}", count(self.chunks, "chunk")),
        };
        self.close(&format!("end{}: {what}", self.of_label()))
    }

    /// After bodies whose stream was cut off.
    pub fn cut(&self) -> String {
        self.go_on(
            &format!("cut off{} after {}", self.of_label(), count(self.chunks, "chunk")),
            None,
        )
    }

    /// After a page.
    pub fn page(&self, place: PageOf) -> String {
        let PageOf { page, of, left } = place;
        let label = self.of_label();
        match left {
            Some(_) => self.go_on(&format!("page {page}/{of}{label}"), left),
            None if page == of => {
                self.close(&format!("end{label}: page {page}/{of}, {}", self.all()))
            }
            None => self.close(&format!("page {page}/{of}{label}, and all others are read")),
        }
    }

    /// In place of a page, when every page has been read.
    pub fn nothing_left(&self, pages: u64) -> String {
        let read = match pages {
            1 => "its one page is read".to_string(),
            _ => format!("all {} are read", count(pages, "page")),
        };
        let read = format!("{read}, {}", self.all());
        self.close(&format!("end{}: {read}", self.of_label()))
    }

    /// The most characters that the line after one of at most so many pages can have, with its
    /// line end. The same whatever has been read.
    pub fn longest_page(&self) -> u64 {
        let most = self.chunks.max(1);
        let forms = [Some(most), None].map(|left| PageOf { page: most, of: most, left });
        let inner = PageOf { page: most, of: most + 1, left: None };
        let lines = forms.into_iter().chain([inner]).map(|place| self.page(place));
        lines.map(|line| line.chars().count() as u64 + 1).max().unwrap_or(0)
    }

    fn of_label(&self) -> String {
        self.label.map(|label| format!(" of {}", one_line(label))).unwrap_or_default()
    }

    fn all(&self) -> String {
        match self.chunks {
            n if self.withheld > 0 => format!("{n} of {}", count(n + self.withheld, "chunk")),
            0 => "no chunks".to_string(),
            1 => "its one chunk".to_string(),
            n => format!("all {}", count(n, "chunk")),
        }
    }

    fn close(&self, what: &str) -> String {
        match self.done {
            // It is not done, and reading on does not help: standard error says what does.
            _ if self.withheld > 0 => format!("=== {what}; changed, not shown: {}", self.withheld),
            Some(done) => format!("=== {what}; then: {}", one_line(done)),
            None => format!("=== {what}"),
        }
    }

    fn go_on(&self, what: &str, page: Option<u64>) -> String {
        match (self.next, page) {
            (Some(next), _) => format!("=== {what}; go on: {}", one_line(next)),
            (None, Some(page)) => format!("=== {what}; go on with --page {page}"),
            (None, None) => format!("=== {what}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: LastLine = LastLine {
        label: Some("read-3"),
        next: Some("auwai read --segment read-3"),
        done: Some("auwai done --segment read-3"),
        chunks: 57,
        withheld: 0,
    };

    #[test]
    fn each_says_what_to_do() {
        let page = |page, left| LINE.page(PageOf { page, of: 7, left });
        assert_eq!(
            LINE.whole(),
            "=== end of read-3: all 57 chunks; then: auwai done --segment read-3"
        );
        assert_eq!(page(3, Some(4)), "=== page 3/7 of read-3; go on: auwai read --segment read-3");
        assert_eq!(
            page(7, None),
            "=== end of read-3: page 7/7, all 57 chunks; then: auwai done --segment read-3"
        );
        // Nothing may call the end what is not: page 2 is still unread here.
        assert!(page(7, Some(2)).starts_with("=== page 7/7 of read-3; go on: "));
    }

    #[test]
    fn what_is_withheld_is_not_called_all() {
        let line = LastLine { chunks: 56, withheld: 1, ..LINE };
        assert_eq!(line.whole(), "=== end of read-3: 56 of 57 chunks; changed, not shown: 1");
        assert_eq!(
            line.unread(0),
            "=== end of read-3: nothing more is unread; changed, not shown: 1"
        );
        let last = line.page(PageOf { page: 7, of: 7, left: None });
        assert_eq!(last, "=== end of read-3: page 7/7, 56 of 57 chunks; changed, not shown: 1");
    }

    #[test]
    fn one_page_is_no_pages() {
        let line = LastLine { chunks: 1, ..LINE };
        let told = "=== end of read-3: its one page is read, its one chunk; then: auwai done --segment read-3";
        assert_eq!(line.nothing_left(1), told);
    }

    #[test]
    fn nothing_given_can_make_two_lines_of_it() {
        let line = LastLine { label: Some("a\nb"), done: Some("x\u{2028}"), ..LINE };
        assert_eq!(line.whole(), "=== end of a\\x0ab: all 57 chunks; then: x\\u{2028}");
    }

    #[test]
    fn none_costs_more_than_64_tokens() {
        let line = LastLine {
            label: Some("read-12345"),
            next: Some("auwai read --segment read-12345"),
            done: Some("auwai done --segment read-12345"),
            chunks: 1_234,
            ..LINE
        };
        let page = |left| line.page(PageOf { page: 1_233, of: 1_234, left });
        let cut = [line.cut(), line.whole(), line.unread(1_233), line.nothing_left(1_234)];
        for text in cut.into_iter().chain([page(None), page(Some(7))]) {
            let tokens = crate::text::Tokenizer::O200k.count(&format!("{text}\n"));
            assert!(tokens <= 64, "{tokens}: {text}");
        }
    }
}
