//! Is it text, and in which encoding?
//!
//! In this order:
//! 1. a byte-order mark of UTF-8 or UTF-16 (FF FE 00 00 is none) decides;
//! 2. a NUL in the first 8,000 bytes is binary, as in git;
//! 3. valid UTF-8 is UTF-8;
//! 4. with more valid multi-byte sequences than stray bytes it is UTF-8 all the same;
//! 5. the guess of chardetng, if the decoded text has no control character but tab, LF, CR and FF
//!    and less than one malformed sequence in 500 bytes;
//! 6. with less than one stray byte in 500 it is UTF-8: text with a blemish or an escape code;
//! 7. else it is binary.
//!
//! Stray bytes of UTF-8 are shown as they are (`\xe9`), so no rule loses any.

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Decoder, DecoderResult};

use super::encoding::Encoding;

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// Text to read.
    Text(Encoding),
    /// No text.
    Binary,
}

/// Classifies a file that is fed to it in blocks, in constant memory.
///
/// UTF-8 and binary files need one pass, others up to three: feed all blocks, call
/// [`Detector::finish`], and while it answers `None` feed the whole file again from its start.
pub struct Detector {
    pass: Pass,
}

enum Pass {
    Utf8(Utf8Pass),
    Guess(Box<GuessPass>),
    Check(Box<CheckPass>),
    Done(Class),
}

/// Bytes in which a NUL makes a file binary.
const NUL_WINDOW: usize = 8000;
/// Errors must be rarer than one in so many bytes.
const RARE: u64 = 500;

impl Default for Detector {
    fn default() -> Self {
        Self::new()
    }
}

impl Detector {
    /// At the start of a file.
    pub fn new() -> Self {
        Detector { pass: Pass::Utf8(Utf8Pass::default()) }
    }

    /// Takes the next block; `false` when the rest of the file cannot matter to this pass.
    pub fn feed(&mut self, block: &[u8]) -> bool {
        match &mut self.pass {
            Pass::Utf8(pass) => pass.feed(block),
            Pass::Guess(pass) => pass.feed(block),
            Pass::Check(pass) => pass.feed(block),
            Pass::Done(_) => false,
        }
    }

    /// Ends a pass: the answer, or `None` when the file must be fed once more from its start.
    pub fn finish(&mut self) -> Option<Class> {
        self.pass = match &mut self.pass {
            Pass::Utf8(pass) => pass.finish(),
            Pass::Guess(pass) => pass.finish(),
            Pass::Check(pass) => pass.finish(),
            Pass::Done(class) => Pass::Done(*class),
        };
        match self.pass {
            Pass::Done(class) => Some(class),
            _ => None,
        }
    }
}

/// Classifies a whole file in memory.
pub fn detect(bytes: &[u8]) -> Class {
    let mut detector = Detector::new();
    loop {
        detector.feed(bytes);
        if let Some(class) = detector.finish() {
            return class;
        }
    }
}

/// Byte-order mark, NULs, and whether all is UTF-8.
#[derive(Default)]
struct Utf8Pass {
    /// The first four bytes.
    head: Vec<u8>,
    seen: usize,
    has_early_nul: bool,
    is_invalid: bool,
    /// A sequence that the last block left unfinished.
    open: Vec<u8>,
}

impl Utf8Pass {
    fn feed(&mut self, block: &[u8]) -> bool {
        let missing = (4 - self.head.len()).min(block.len());
        self.head.extend_from_slice(&block[..missing]);
        let window = NUL_WINDOW.saturating_sub(self.seen).min(block.len());
        self.has_early_nul |= memchr::memchr(0, &block[..window]).is_some();
        self.seen = self.seen.saturating_add(block.len());
        if !self.is_invalid {
            self.validate(block);
        }
        let looked = self.head.len() == 4 && (self.has_early_nul || self.seen >= NUL_WINDOW);
        !(looked && (self.has_early_nul || self.is_invalid || bom(&self.head).is_some()))
    }

    fn validate(&mut self, mut block: &[u8]) {
        while let (false, [first, rest @ ..]) = (self.open.is_empty(), block) {
            self.open.push(*first);
            block = rest;
            match std::str::from_utf8(&self.open) {
                Ok(_) => self.open.clear(),
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return self.is_invalid = true,
            }
        }
        match std::str::from_utf8(block) {
            Ok(_) => {}
            Err(error) if error.error_len().is_none() => {
                self.open.extend_from_slice(&block[error.valid_up_to()..]);
            }
            Err(_) => self.is_invalid = true,
        }
    }

    fn finish(&mut self) -> Pass {
        match bom(&self.head) {
            Some(encoding) => Pass::Done(Class::Text(encoding)),
            None if self.has_early_nul => Pass::Done(Class::Binary),
            None if self.is_invalid || !self.open.is_empty() => {
                Pass::Guess(Box::new(GuessPass::new()))
            }
            None => Pass::Done(Class::Text(Encoding::UTF_8)),
        }
    }
}

fn bom(head: &[u8]) -> Option<Encoding> {
    match head {
        [0xef, 0xbb, 0xbf, ..] => Some(Encoding::UTF_8),
        [0xff, 0xfe, 0, 0] => None,
        [0xff, 0xfe, ..] => Some(Encoding::UTF_16LE),
        [0xfe, 0xff, ..] => Some(Encoding::UTF_16BE),
        _ => None,
    }
}

/// How much of it is UTF-8, and what chardetng thinks.
struct GuessPass {
    detector: EncodingDetector,
    blemishes: Blemishes,
    open: Vec<u8>,
}

/// What speaks for UTF-8, and against it.
#[derive(Debug, Clone, Copy, Default)]
struct Blemishes {
    bytes: u64,
    sequences: u64,
    strays: u64,
}

impl Blemishes {
    fn count(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        for chunk in bytes.utf8_chunks() {
            let leads = chunk.valid().bytes().filter(|byte| *byte >= 0xc0).count();
            self.sequences += leads as u64;
            self.strays += chunk.invalid().len() as u64;
        }
    }

    /// The answer when no other encoding fits.
    fn last_resort(self) -> Class {
        let is_text = self.strays * RARE < self.bytes;
        if is_text { Class::Text(Encoding::UTF_8) } else { Class::Binary }
    }
}

impl GuessPass {
    fn new() -> Self {
        let detector = EncodingDetector::new(Iso2022JpDetection::Deny);
        GuessPass { detector, blemishes: Blemishes::default(), open: Vec::new() }
    }

    fn feed(&mut self, block: &[u8]) -> bool {
        self.detector.feed(block, false);
        let mut bytes = std::mem::take(&mut self.open);
        bytes.extend_from_slice(block);
        self.open = bytes.split_off(bytes.len() - unfinished(&bytes));
        self.blemishes.count(&bytes);
        true
    }

    fn finish(&mut self) -> Pass {
        self.blemishes.count(&self.open);
        self.detector.feed(&[], true);
        if self.blemishes.sequences > self.blemishes.strays {
            return Pass::Done(Class::Text(Encoding::UTF_8));
        }
        match Encoding::new(self.detector.guess(None, Utf8Detection::Deny)) {
            Some(encoding) => Pass::Check(Box::new(CheckPass::new(encoding, self.blemishes))),
            None => Pass::Done(self.blemishes.last_resort()),
        }
    }
}

/// The length of a UTF-8 sequence that begins at the end of `bytes` and may go on after it.
fn unfinished(bytes: &[u8]) -> usize {
    let tail = &bytes[bytes.len().saturating_sub(3)..];
    let is_open = |n: &usize| {
        let error = std::str::from_utf8(&tail[tail.len() - n..]).err();
        error.is_some_and(|e| e.valid_up_to() == 0 && e.error_len().is_none())
    };
    (1..=tail.len()).find(is_open).unwrap_or(0)
}

/// Whether the guessed encoding gives text.
struct CheckPass {
    encoding: Encoding,
    decoder: Decoder,
    blemishes: Blemishes,
    malformed: u64,
    has_control: bool,
}

impl CheckPass {
    fn new(encoding: Encoding, blemishes: Blemishes) -> Self {
        let decoder = encoding.table().new_decoder_without_bom_handling();
        CheckPass { encoding, decoder, blemishes, malformed: 0, has_control: false }
    }

    fn feed(&mut self, block: &[u8]) -> bool {
        self.decode(block, false);
        !self.has_control
    }

    fn decode(&mut self, mut block: &[u8], last: bool) {
        let mut text = String::with_capacity(4096);
        loop {
            let (result, read) =
                self.decoder.decode_to_string_without_replacement(block, &mut text, last);
            block = &block[read..];
            self.has_control |= text.chars().any(is_control);
            text.clear();
            match result {
                DecoderResult::InputEmpty => return,
                DecoderResult::OutputFull => {}
                DecoderResult::Malformed(..) => self.malformed += 1,
            }
        }
    }

    fn finish(&mut self) -> Pass {
        if !self.has_control {
            self.decode(&[], true);
        }
        let is_text = !self.has_control && self.malformed * RARE < self.blemishes.bytes;
        Pass::Done(match is_text {
            true => Class::Text(self.encoding),
            false => self.blemishes.last_resort(),
        })
    }
}

fn is_control(c: char) -> bool {
    c.is_control() && !matches!(c, '\t' | '\n' | '\r' | '\u{c}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn class(name: &str) -> Class {
        Class::Text(name.parse().unwrap())
    }

    fn encoded(name: &str, text: &str) -> Vec<u8> {
        let encoding = encoding_rs::Encoding::for_label(name.as_bytes()).unwrap();
        encoding.encode(text).0.into_owned()
    }

    #[test]
    fn a_mark_decides_before_anything_else() {
        assert_eq!(detect(b"\xef\xbb\xbfa"), class("utf-8"));
        assert_eq!(detect(b"\xff\xfea\0"), class("utf-16le"));
        assert_eq!(detect(b"\xfe\xff\0a"), class("utf-16be"));
        assert_eq!(detect(b"\xff\xfe\0\0a\0\0\0"), Class::Binary);
    }

    #[test]
    fn only_an_early_nul_is_binary() {
        let late = [vec![b'a'; 8000], vec![0, b'b']].concat();
        assert_eq!(detect(&late), class("utf-8"));
        assert_eq!(detect(&late[1..]), Class::Binary);
        assert_eq!(detect(b""), class("utf-8"));
    }

    #[test]
    fn ascii_that_looks_like_an_escape_of_another_encoding_is_utf8() {
        assert_eq!(detect(b"<html x=\"~{a/b}\"></html>"), class("utf-8"));
        assert_eq!(detect(b"\x1b$B"), class("utf-8"));
    }

    #[test]
    fn legacy_text_is_recognised() {
        let cases = [
            ("gbk", "你好，世界。这是一个用于测试的文件。"),
            ("shift_jis", "これはテストのためのファイルです。日本語の文章。"),
            ("euc-kr", "이것은 시험을 위한 파일입니다. 한국어 문장입니다."),
            ("big5", "這是一個用於測試的檔案。繁體中文的句子。"),
            ("windows-1252", "Le café est fermé à cause de la fête d'été."),
            ("windows-1251", "Это файл для проверки. Русский текст."),
        ];
        for (name, text) in cases {
            assert_eq!(detect(&encoded(name, &text.repeat(10))), class(name), "{name}");
        }
    }

    #[test]
    fn stray_bytes_in_utf8_leave_it_utf8() {
        let text = ["naïve café ".repeat(20).as_bytes(), b"\xff\xfe broken \xc3"].concat();
        assert_eq!(detect(&text), class("utf-8"));
        let escape_codes = ["\x1b[1m bold \x1b[0m\n".repeat(50).as_bytes(), b"\xe9"].concat();
        assert_eq!(detect(&escape_codes), class("utf-8"));
    }

    #[test]
    fn bytes_without_sense_are_binary() {
        let noise: Vec<u8> =
            blake3::hash(b"noise").as_bytes().repeat(40).iter().map(|b| b | 1).collect();
        assert_eq!(detect(&noise), Class::Binary);
    }

    proptest! {
        #[test]
        fn blocks_do_not_matter(
            parts in prop::collection::vec(prop_oneof![
                prop::collection::vec(any::<u8>(), 0..6),
                "\\PC{0,8}".prop_map(String::into_bytes),
                Just(vec![b'a'; 7990]),
            ], 0..6),
            size in 1..9usize,
        ) {
            let bytes = parts.concat();
            let mut detector = Detector::new();
            let answer = loop {
                let _ = bytes.chunks(size).all(|block| detector.feed(block));
                if let Some(class) = detector.finish() {
                    break class;
                }
            };
            prop_assert_eq!(answer, detect(&bytes));
        }
    }
}
