//! What in a tree is worth a look before it is read: files without text or not in UTF-8, what cannot be
//! read, lines longer than a chunk, repositories of nobody, and what programs made.

use std::collections::BTreeMap;

use crate::cli::Io;
use crate::counted::count;
use crate::error::Result;
use crate::porcelain::render::from_ppm;
use crate::record::{Chunk, Fate, File, Oddity, OddityKind, RepoPath, Tokens};

/// What every text should be in.
const PLAIN: &str = "utf-8";

/// So many files are proposed by their paths.
const PROPOSED: usize = 5;

/// What has been found, by kind and sign.
#[derive(Default)]
pub struct Oddities {
    found: BTreeMap<(OddityKind, String), Group>,
    /// All tokens as shown.
    tokens: u64,
    line: Option<Line>,
}

/// The files of one kind and sign.
struct Group {
    oddity: Oddity,
    /// Of the largest: what it was compared by.
    size: u64,
    /// The last file that was counted.
    last: (String, String),
    /// Their paths, while they are few.
    paths: Vec<RepoPath>,
}

/// A line whose pieces are coming.
struct Line {
    first: Chunk,
    bytes: u64,
    tokens: u64,
}

impl Oddities {
    /// Takes a file; `nobodys` says that it is a repository that no member is.
    pub fn take_file(&mut self, file: &File, nobodys: bool) {
        let add = |all: &mut Self, what, sign: Option<&String>| {
            let (bytes, tokens) = (file.size, file.tokens.map(|tokens| tokens.0));
            all.add(what, sign, Place::of(file), bytes, tokens);
        };
        match file.fate {
            Fate::Binary => add(self, OddityKind::Binary, None),
            Fate::Unreadable => add(self, OddityKind::Unreadable, file.errno.as_ref()),
            // Each is named.
            Fate::Repository if nobodys => add(self, OddityKind::Repository, Some(&file.path)),
            _ => {}
        }
        if let Some(encoding) = file.encoding.as_ref().filter(|encoding| *encoding != PLAIN) {
            add(self, OddityKind::Encoding, Some(encoding));
        }
        if file.generated.is_some() {
            add(self, OddityKind::Generated, file.generated.as_ref());
        }
    }

    /// Takes a chunk; they come in the order of their files.
    pub fn take_chunk(&mut self, chunk: &Chunk) {
        self.tokens += chunk.tokens.0;
        let goes_on = self.line.as_mut().is_some_and(|line| line.take(chunk));
        if !goes_on {
            self.end_line();
            self.line = chunk.piece.then(|| Line::of(chunk));
        }
    }

    fn end_line(&mut self) {
        let Some(Line { first, bytes, tokens }) = self.line.take() else { return };
        let place = Place {
            repo: &first.repo,
            path: (&first.path, first.path_b64.as_ref()),
            line: Some(first.lines.first),
            size: bytes,
        };
        let group = self.add(OddityKind::LongLine, None, place, Some(bytes), Some(tokens));
        group.oddity.bytes = Some(group.size);
    }

    fn add(
        &mut self,
        what: OddityKind,
        sign: Option<&String>,
        place: Place<'_>,
        bytes: Option<u64>,
        tokens: Option<u64>,
    ) -> &mut Group {
        let key = (what, sign.cloned().unwrap_or_default());
        let sign = sign.filter(|_| what != OddityKind::Repository);
        let group = self.found.entry(key).or_insert_with(|| Group::new(what, sign.cloned()));
        group.add(&place, bytes, tokens);
        group
    }

    /// What was found, with its share of all that was taken.
    pub fn end(mut self) -> Found {
        self.end_line();
        let all = u128::from(self.tokens);
        let ppm = |tokens: Tokens| {
            let share = (u128::from(tokens.0) * 1_000_000).checked_div(all)?;
            u64::try_from(share).ok()
        };
        for group in self.found.values_mut() {
            group.oddity.share_ppm = group.oddity.tokens.and_then(ppm);
        }
        Found(self.found.into_values().collect())
    }
}

/// Where one is, and how large by which it is compared.
struct Place<'a> {
    repo: &'a str,
    path: (&'a String, Option<&'a String>),
    line: Option<u64>,
    size: u64,
}

impl<'a> Place<'a> {
    fn of(file: &'a File) -> Place<'a> {
        let size = file.tokens.map(|tokens| tokens.0).or(file.size).unwrap_or_default();
        Place { repo: &file.repo, path: (&file.path, file.path_b64.as_ref()), line: None, size }
    }
}

impl Line {
    fn of(chunk: &Chunk) -> Line {
        let bytes = chunk.bytes.to - chunk.bytes.from;
        Line { first: chunk.clone(), bytes, tokens: chunk.tokens.0 }
    }

    /// Takes the next piece; false when it is none of this line.
    fn take(&mut self, chunk: &Chunk) -> bool {
        let first = &self.first;
        let same = chunk.piece
            && (&chunk.repo, &chunk.path, &chunk.path_b64, chunk.lines.first)
                == (&first.repo, &first.path, &first.path_b64, first.lines.first);
        if same {
            self.bytes += chunk.bytes.to - chunk.bytes.from;
            self.tokens += chunk.tokens.0;
        }
        same
    }
}

impl Group {
    fn new(what: OddityKind, sign: Option<String>) -> Group {
        let oddity = Oddity {
            what,
            sign,
            files: 0,
            bytes: None,
            tokens: None,
            share_ppm: None,
            repo: String::new(),
            path: String::new(),
            path_b64: None,
            line: None,
        };
        Group { oddity, size: 0, last: (String::new(), String::new()), paths: Vec::new() }
    }

    fn add(&mut self, place: &Place<'_>, bytes: Option<u64>, tokens: Option<u64>) {
        let (path, path_b64) = place.path;
        let file = (place.repo.to_string(), path_b64.unwrap_or(path).clone());
        let oddity = &mut self.oddity;
        if self.last != file {
            oddity.files += 1;
            self.last = file;
            let path = RepoPath::from_wire(path, path_b64.map(String::as_str));
            self.paths.extend(path.ok().filter(|_| oddity.files as usize <= PROPOSED));
        }
        if oddity.files == 1 || place.size > self.size {
            (oddity.repo, oddity.path) = (place.repo.to_string(), path.clone());
            oddity.path_b64 = path_b64.cloned();
            oddity.line = place.line;
        }
        self.size = self.size.max(place.size);
        let sum = |a: Option<u64>, b: Option<u64>| b.map(|b| a.unwrap_or_default() + b).or(a);
        oddity.bytes = sum(oddity.bytes, bytes);
        oddity.tokens = sum(oddity.tokens.map(|tokens| tokens.0), tokens).map(Tokens);
    }
}

/// What was found.
pub struct Found(Vec<Group>);

impl Found {
    /// The records of it.
    pub fn records(&self) -> Vec<Oddity> {
        self.0.iter().map(|group| group.oddity.clone()).collect()
    }

    /// Tells it in lines, and how to leave out what programs made.
    ///
    /// # Errors
    /// When it cannot be told.
    pub fn tell(&self, io: &mut Io<'_>) -> Result<()> {
        let told = self.0.iter().filter(|group| group.oddity.what != OddityKind::Repository);
        for group in told {
            crate::porcelain::line(io, &line(&group.oddity))?;
        }
        let patterns: Vec<String> = self.0.iter().flat_map(Group::patterns).collect();
        if !patterns.is_empty() {
            io.hint(&format!(
                "leave out what a program made by lines in .auwai-ignore: {}",
                patterns.join(", ")
            ));
        }
        Ok(())
    }
}

impl Group {
    /// What would leave them out: the name that they are known by, else their paths.
    fn patterns(&self) -> Vec<String> {
        let Some(sign) = &self.oddity.sign else { return Vec::new() };
        if self.oddity.what != OddityKind::Generated {
            return Vec::new();
        }
        let is_name = sign.starts_with("*.") || sign.starts_with("*_") || {
            let named = |path: &RepoPath| path.name() == sign.as_bytes();
            self.paths.iter().all(named)
        };
        match is_name {
            true => vec![format!("`{sign}`")],
            false => self.paths.iter().map(|path| format!("`/{}`", path.display())).collect(),
        }
    }
}

fn line(oddity: &Oddity) -> String {
    let path = oddity.repo_path().map(|path| path.display().into_owned());
    let path = path.unwrap_or_else(|_| crate::visible::one_line(&oddity.path).into_owned());
    let largest = format!("{}:{path}", oddity.repo);
    let sign = oddity.sign.as_deref().unwrap_or_default();
    let what = match oddity.what {
        OddityKind::Binary => "binary".to_string(),
        OddityKind::Unreadable => format!("unreadable ({sign})"),
        OddityKind::Encoding => format!("in {sign}"),
        OddityKind::LongLine => "lines longer than a chunk".to_string(),
        OddityKind::Repository => "a repository of its own".to_string(),
        OddityKind::Generated => format!("made by a program ({sign})"),
    };
    let mut line = format!("{what}: {}", count(oddity.files, "file"));
    if let (Some(tokens), Some(share)) = (oddity.tokens, oddity.share_ppm) {
        line += &format!(", {}, {} of all", count(tokens.0, "token"), from_ppm(share));
    }
    match (oddity.what, oddity.line, oddity.bytes) {
        (_, Some(number), Some(bytes)) => {
            line += &format!("; the longest {largest}:{number}, {}", count(bytes, "byte"));
        }
        (OddityKind::Binary, _, Some(bytes)) => {
            line += &format!(", {}; the largest {largest}", count(bytes, "byte"));
        }
        _ if oddity.files == 1 => line += &format!("; {largest}"),
        _ => line += &format!("; the largest {largest}"),
    }
    line
}
