//! Chunks: every byte in exactly one, within the limits as another tokenizer counts them, at the
//! same places whatever the blocks, and moved by an edit only near it.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use auwai::text::{Class, Cut, Cutter, Encoding, Tokenizer, detect, show_lines, shown_tokens};
use proptest::prelude::*;

const TOKENIZER: Tokenizer = Tokenizer::O200k;

fn cut(encoding: Encoding, bytes: &[u8], block: usize) -> Vec<Cut> {
    let mut cutter = Cutter::new(encoding, TOKENIZER);
    let mut cuts = Vec::new();
    for block in bytes.chunks(block) {
        cutter.push(block, false, &mut |cut| cuts.push(cut));
    }
    cutter.push(&[], true, &mut |cut| cuts.push(cut));
    assert_eq!(cutter.extent().lines, cuts.last().map_or(0, |cut| cut.lines.last));
    cuts
}

/// Cuts a file as it would be indexed, in blocks of 64 KiB, and checks all that holds of any file.
fn cut_and_check(name: &str, encoding: Encoding, bytes: &[u8]) -> Vec<Cut> {
    let cuts = cut(encoding, bytes, 64 * 1024);
    check_partition(name, bytes, &cuts);
    for cut in &cuts {
        check_size(name, encoding, bytes, cut);
    }
    cuts
}

fn body<'a>(bytes: &'a [u8], cut: &Cut) -> &'a [u8] {
    &bytes[cut.bytes.from as usize..cut.bytes.to as usize]
}

fn check_partition(name: &str, bytes: &[u8], cuts: &[Cut]) {
    let (mut byte, mut line) = (0, 1);
    for (at, cut) in cuts.iter().enumerate() {
        assert_eq!(cut.bytes.from, byte, "{name}: a gap or an overlap");
        assert!(cut.bytes.to > byte, "{name}: an empty chunk at {byte}");
        assert_eq!(cut.body, blake3::hash(body(bytes, cut)), "{name}");
        assert_eq!(cut.lines.first, line, "{name}");
        let next = cuts.get(at + 1).map_or(u64::MAX, |next| next.lines.first);
        let goes_on = cut.piece && next == cut.lines.first;
        line = cut.lines.last + u64::from(!goes_on);
        byte = cut.bytes.to;
    }
    assert_eq!(byte, bytes.len() as u64, "{name}: bytes are left over");
}

fn check_size(name: &str, encoding: Encoding, bytes: &[u8], cut: &Cut) {
    let page = |first| {
        let mut page = String::new();
        show_lines(&mut page, encoding, body(bytes, cut), first);
        page
    };
    let count = |page: &str| bpe_openai::o200k_base().count(page) as u64;
    let (here, far) = (page(cut.lines.first), page(1_000_000));
    let lines = cut.lines.last - cut.lines.first + 1;
    assert_eq!(here.matches('\n').count() as u64, lines, "{name}: {cut:?}");
    assert_eq!(count(&here), shown_tokens(cut.tokens, cut.lines), "{name}: {cut:?}");
    assert!(count(&far) <= 1024, "{name}: {} tokens in {cut:?}", count(&far));
    assert!(far.len() <= 8192, "{name}: {} bytes in {cut:?}", far.len());
}

fn named(name: &str) -> Encoding {
    name.parse().unwrap()
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

fn legacy(name: &str, text: &str) -> Vec<u8> {
    encoding_rs::Encoding::for_label(name.as_bytes()).unwrap().encode(text).0.into_owned()
}

/// Bytes that look random, the same every time.
fn noise(len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    blake3::Hasher::new().update(b"noise").finalize_xof().fill(&mut bytes);
    bytes
}

fn base64(len: usize) -> Vec<u8> {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    noise(len).iter().map(|byte| DIGITS[(byte & 63) as usize]).collect()
}

#[test]
fn files_of_every_kind_are_partitioned_within_the_limits() {
    let chinese = "你好，世界。这是一个用于测试的文件。\n".repeat(300);
    let korean = "이것은 시험을 위한 파일입니다.\n".repeat(300);
    let code = "fn main() {\r\n    println!(\"hi\");\r\n}\r\n\r\n".repeat(200);
    let bom = |text: &str, unit| utf16(&format!("\u{feff}{text}"), unit);
    let files: Vec<(&str, Encoding, Vec<u8>)> = vec![
        ("one byte", Encoding::UTF_8, b"a".to_vec()),
        ("one newline", Encoding::UTF_8, b"\n".to_vec()),
        ("no newline at end", Encoding::UTF_8, b"a\nb".to_vec()),
        ("crlf", Encoding::UTF_8, code.clone().into_bytes()),
        ("lone cr", Encoding::UTF_8, "a\rb\r".repeat(5000).into_bytes()),
        ("mixed ends", Encoding::UTF_8, "a\nb\r\nc\rd\n\r\n".repeat(900).into_bytes()),
        ("bom", Encoding::UTF_8, format!("\u{feff}{code}").into_bytes()),
        ("utf-16le", Encoding::UTF_16LE, bom(&chinese, u16::to_le_bytes)),
        ("utf-16be", Encoding::UTF_16BE, bom(&code, u16::to_be_bytes)),
        ("odd utf-16", Encoding::UTF_16LE, [bom(&korean, u16::to_le_bytes), vec![10]].concat()),
        ("lone surrogates", Encoding::UTF_16LE, [0, 0xd8, 10, 0, 0, 0xdc, 0, 0xd8].repeat(2000)),
        ("one line of lone surrogates", Encoding::UTF_16BE, [0xd8, 0, 0xdc].repeat(9999)),
        ("gbk", named("gbk"), legacy("gbk", &chinese)),
        ("one line of gbk", named("gbk"), legacy("gbk", &chinese.replace('\n', " "))),
        ("euc-kr", named("euc-kr"), legacy("euc-kr", &korean)),
        (
            "shift_jis",
            named("shift_jis"),
            legacy("shift_jis", &"これはテストです。\r\n".repeat(500)),
        ),
        ("big5", named("big5"), legacy("big5", &"這是一個用於測試的檔案。\n".repeat(500))),
        (
            "latin-1",
            named("windows-1252"),
            legacy("windows-1252", &"déjà vu à l'été\n".repeat(900)),
        ),
        ("late nul", Encoding::UTF_8, ["a line\n".repeat(2000).as_bytes(), b"\0\0b"].concat()),
        ("a million empty lines", Encoding::UTF_8, vec![b'\n'; 1_000_000]),
        ("periodic lines", Encoding::UTF_8, "a\n\nb();\n".repeat(50_000).into_bytes()),
        (
            "falling indentation",
            Encoding::UTF_8,
            (0..800).rev().map(|n| " ".repeat(n % 90) + "x\n").collect::<String>().into_bytes(),
        ),
        ("noise as utf-8", Encoding::UTF_8, noise(300_000)),
        ("noise as gb18030", named("gb18030"), noise(300_000)),
        ("noise as utf-16", Encoding::UTF_16BE, noise(30_001)),
        (
            "noise as big5 without newlines",
            named("big5"),
            noise(200_000).iter().map(|b| b | 0x80).collect(),
        ),
        ("tags", Encoding::UTF_8, "\u{e0041}".repeat(20_000).into_bytes()),
        ("backslashes", Encoding::UTF_8, "\\x1b".repeat(20_000).into_bytes()),
        ("one letter", Encoding::UTF_8, vec![b'a'; 200_000]),
        (
            "long lines among short",
            Encoding::UTF_8,
            format!("short\n{}\r\n\nshort\n", "word ".repeat(9000)).repeat(4).into_bytes(),
        ),
        (
            "line of exactly the limit",
            Encoding::UTF_8,
            [" ".repeat(8183).as_bytes(), b"\n"].concat(),
        ),
        (
            "line over the limit by one",
            Encoding::UTF_8,
            [" ".repeat(8184).as_bytes(), b"\n"].concat(),
        ),
    ];
    for (name, encoding, bytes) in &files {
        cut_and_check(name, *encoding, bytes);
    }
}

#[test]
fn an_empty_file_has_no_chunks() {
    assert_eq!(cut(Encoding::UTF_8, b"", 1), []);
}

#[test]
fn a_line_that_just_fits_is_no_piece() {
    let line = |spaces: usize| [" ".repeat(spaces).as_bytes(), b"\n"].concat();
    let pieces =
        |bytes: &[u8]| cut(Encoding::UTF_8, bytes, 4096).iter().filter(|cut| cut.piece).count();
    assert_eq!(pieces(&line(8183)), 0);
    assert!(pieces(&line(8184)) > 0);
}

#[test]
fn equal_lines_are_not_peeled_off_one_by_one() {
    for (name, bytes) in [
        ("empty lines", vec![b'\n'; 100_000]),
        ("equal lines", "    return 0;\n".repeat(20_000).into_bytes()),
        ("periodic lines", "a\n\nb();\n".repeat(20_000).into_bytes()),
        ("one letter", vec![b'a'; 500_000]),
    ] {
        let cuts = cut(Encoding::UTF_8, &bytes, 64 * 1024);
        let sum: u64 = cuts
            .iter()
            .map(|cut| u64::from(cut.tokens) + 3 * (cut.lines.last - cut.lines.first + 1))
            .sum();
        let mean = sum / cuts.len() as u64;
        assert!(mean >= 400, "{name}: {mean} tokens a chunk");
    }
}

#[test]
fn a_line_of_50_megabytes_is_cut_in_bounded_pieces() {
    let minified = "function f(a,b){return a+b};var x=[1,2,3];if(x){g()}else{h(\"s\")}";
    let size = if is_full() { 50 << 20 } else { 2 << 20 };
    for (name, bytes) in [
        ("minified", minified.repeat(size / minified.len())),
        ("base64", String::from_utf8(base64(size)).unwrap()),
    ] {
        let cuts = cut(Encoding::UTF_8, bytes.as_bytes(), 64 * 1024);
        check_partition(name, bytes.as_bytes(), &cuts);
        for cut in cuts.iter().step_by(if is_full() { 50 } else { 1 }) {
            check_size(name, Encoding::UTF_8, bytes.as_bytes(), cut);
        }
        let mean = cuts.iter().map(|cut| u64::from(cut.tokens)).sum::<u64>() / cuts.len() as u64;
        assert!(mean >= 300, "{name}: {mean} tokens a piece");
    }
}

fn any_text() -> impl Strategy<Value = Vec<u8>> {
    let part = prop_oneof![
        prop::collection::vec(any::<u8>(), 0..200),
        "(\n|\r\n|    |\\PC|[a-z(){};]{1,9}| ){0,200}".prop_map(String::into_bytes),
        ("\\PC{1,9}", 1..4000usize).prop_map(|(text, times)| text.repeat(times).into_bytes()),
        ("[a-z]{0,3}\n", 1..4000usize).prop_map(|(text, times)| text.repeat(times).into_bytes()),
        (1..20_000usize).prop_map(base64),
    ];
    prop::collection::vec(part, 0..5).prop_map(|parts| parts.concat())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_are_partitioned_the_same_in_any_blocks(
        bytes in any_text(),
        name in prop::sample::select(vec!["utf-8", "utf-16le", "gbk", "shift_jis", "windows-1252"]),
        block in prop_oneof![1..5usize, 5..5000usize],
    ) {
        let cuts = cut_and_check("generated", named(name), &bytes);
        prop_assert_eq!(cut(named(name), &bytes, block), cuts);
    }
}

fn config() -> ProptestConfig {
    let cases = if is_full() { 2000 } else { 60 };
    ProptestConfig { cases, failure_persistence: None, ..ProptestConfig::default() }
}

fn is_full() -> bool {
    std::env::var_os("AUWAI_TEST_FULL").is_some()
}

/// Sources that are on any machine that builds this: those of the crates it uses.
fn crate_sources() -> Vec<PathBuf> {
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .unwrap_or_else(|| PathBuf::from(std::env::var_os("HOME").unwrap()).join(".cargo"));
    let mut files = Vec::new();
    for root in [home.join("registry/src"), PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("src")] {
        let all = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().flatten();
        files.extend(all.filter(|e| e.file_type().is_file()).map(walkdir::DirEntry::into_path));
    }
    files
}

fn sample(files: Vec<PathBuf>, size: usize) -> Vec<PathBuf> {
    let step = if is_full() { 1 } else { files.len().div_ceil(size) };
    files.into_iter().step_by(step).collect()
}

fn read_text(path: &Path) -> Option<(Encoding, Vec<u8>)> {
    let bytes = std::fs::read(path).unwrap();
    match detect(&bytes) {
        Class::Text(encoding) => Some((encoding, bytes)),
        Class::Binary => None,
    }
}

#[test]
fn real_files_are_partitioned_within_the_limits() {
    for path in sample(crate_sources(), 300) {
        if let Some((encoding, bytes)) = read_text(&path) {
            cut_and_check(&path.display().to_string(), encoding, &bytes);
        }
    }
}

/// Files of code, for the figures: those of the Linux source where it is, else of crates.
fn code() -> Vec<(Encoding, Vec<u8>)> {
    let linux = std::env::var_os("AUWAI_TEST_LINUX").map(PathBuf::from);
    let all = linux.map_or_else(crate_sources, |root| {
        let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().flatten();
        files.filter(|e| e.file_type().is_file()).map(walkdir::DirEntry::into_path).collect()
    });
    let is_code = |path: &PathBuf| {
        path.extension()
            .is_some_and(|ext| ["rs", "c", "h", "py"].map(Into::into).contains(&ext.to_owned()))
    };
    let files = sample(all.into_iter().filter(is_code).collect(), 400);
    files
        .iter()
        .filter_map(|path| read_text(path))
        .filter(|(_, bytes)| bytes.len() < 150_000)
        .collect()
}

/// A chunk's id but for the path: its body and which of its equals it is.
fn ids(encoding: Encoding, bytes: &[u8]) -> HashSet<(blake3::Hash, u32)> {
    let mut seen = HashMap::new();
    let number = |cut: Cut| {
        let count = seen.entry(cut.body).or_insert(0);
        *count += 1;
        (cut.body, *count)
    };
    cut(encoding, bytes, 64 * 1024).into_iter().map(number).collect()
}

/// `bytes` with one line changed, inserted or deleted.
fn edit(bytes: &[u8], dice: &mut impl FnMut(usize) -> usize) -> Vec<u8> {
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let at = dice(lines.len());
    let indent = lines[at].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let new =
        [&lines[at][..indent], format!("edited_{}(value);\n", dice(9999)).as_bytes()].concat();
    match dice(3) {
        0 => lines[at] = &new,
        1 => lines.insert(at, &new),
        _ => drop(lines.remove(at)),
    }
    lines.concat()
}

#[test]
fn an_edit_of_one_line_loses_about_one_chunk() {
    const EDITS: usize = 1000;
    let files = code();
    let mut random = noise(EDITS * 64).into_iter();
    let mut dice = |sides| {
        let bytes = [(); 4].map(|()| random.next().unwrap());
        u32::from_le_bytes(bytes) as usize % sides
    };
    let total: usize = files.iter().map(|(_, bytes)| bytes.len()).sum();
    let mut lost: Vec<usize> = (0..EDITS)
        .map(|_| {
            let mut place = dice(total);
            let is_after = |(_, bytes): &&(Encoding, Vec<u8>)| {
                let after = place >= bytes.len();
                place = place.saturating_sub(bytes.len());
                after
            };
            let (encoding, bytes) = &files[files.iter().take_while(is_after).count()];
            let after = ids(*encoding, &edit(bytes, &mut dice));
            ids(*encoding, bytes).difference(&after).count()
        })
        .collect();
    lost.sort_unstable();
    let mean = lost.iter().sum::<usize>() as f64 / EDITS as f64;
    println!("ids lost by an edit: mean {mean:.3}, p99 {}, most {}", lost[990], lost[EDITS - 1]);
    assert!(mean <= 1.2, "{mean}");
    assert!(lost[EDITS * 99 / 100] <= 3, "{}", lost[EDITS * 99 / 100]);
}

#[test]
fn chunks_of_code_are_of_middling_size_and_begin_something() {
    let (mut chunks, mut tokens, mut inner, mut structural) = (0, 0, 0, 0);
    for (encoding, bytes) in code() {
        for cut in cut(encoding, &bytes, 64 * 1024) {
            chunks += 1;
            tokens += shown_tokens(cut.tokens, cut.lines);
            if cut.bytes.from > 0 {
                inner += 1;
                structural += u64::from(begins_something(body(&bytes, &cut)));
            }
        }
    }
    let (mean, share) = (tokens / chunks, 100 * structural / inner);
    println!(
        "{chunks} chunks, {mean} tokens on average, {share} % before a line that begins something"
    );
    assert!((400..=700).contains(&mean), "{mean}");
    assert!(share >= 60, "{share} %");
}

/// A line in column 0 that neither closes nor continues what is before it.
fn begins_something(line: &[u8]) -> bool {
    let ends = ["end", "else", "elif", "fi", "done", "#else", "#elif", "#endif", "*/"];
    !b" \t\r\n})]{".contains(&line[0]) && !ends.iter().any(|end| line.starts_with(end.as_bytes()))
}
