//! Which chunks may count as read, from what was really delivered and nothing else.
//!
//! Each delivery of an unread chunk is one read. A read stands at its chunk; it may move to a chunk
//! with the same bytes in the same repository that came into the plan later. So the chunks that are
//! read must be a matching with the reads: one read for each, none for two.

use std::collections::{BTreeMap, BTreeSet};

/// A delivery that made a chunk read.
#[derive(Debug)]
struct Read {
    chunk: String,
    /// How often the plan had followed by then.
    since: u64,
}

/// The account of one generation.
#[derive(Default)]
pub struct Credit {
    /// How often the plan has followed.
    revision: u64,
    /// When each chunk of the plan came into it.
    added: BTreeMap<String, u64>,
    /// The text of every chunk that ever was, by its qualified id.
    bodies: BTreeMap<String, String>,
    /// The reads by repository and text.
    reads: BTreeMap<(String, String), Vec<Read>>,
    /// What counted as read last.
    pub complete: BTreeSet<String>,
}

impl Credit {
    /// A new generation: nothing is read.
    pub fn anew(&mut self, planned: &BTreeMap<String, bool>) {
        self.revision = 1;
        self.added = planned.keys().map(|chunk| (chunk.clone(), 1)).collect();
        self.reads.clear();
        self.complete.clear();
    }

    /// Learns what a chunk says; an id never says two things.
    pub fn learn(&mut self, chunk: &str, body: &str) {
        let known = self.bodies.entry(chunk.to_string()).or_insert_with(|| body.to_string());
        assert_eq!(known, body, "{chunk}");
    }

    /// Whether the plan has a chunk.
    pub fn plans(&self, chunk: &str) -> bool {
        self.added.contains_key(chunk)
    }

    fn key(&self, chunk: &str) -> (String, String) {
        let repo = chunk.split_once(':').unwrap().0;
        let body = self.bodies.get(chunk).unwrap_or_else(|| panic!("{chunk} was never listed"));
        (repo.to_string(), body.clone())
    }

    /// A planned chunk was delivered.
    pub fn deliver(&mut self, chunk: &str) {
        if self.complete.insert(chunk.to_string()) {
            let read = Read { chunk: chunk.to_string(), since: self.revision };
            let key = self.key(chunk);
            self.reads.entry(key).or_default().push(read);
        }
    }

    /// The plan has followed: what is planned now, and what counts as read.
    pub fn follow(&mut self, now: &BTreeMap<String, bool>) {
        self.revision += 1;
        let (came, before): (BTreeSet<_>, _) =
            (now.keys().filter(|chunk| !self.plans(chunk)).cloned().collect(), self.added.clone());
        self.added.retain(|chunk, _| now.contains_key(chunk));
        self.added.extend(came.iter().map(|chunk| (chunk.clone(), self.revision)));
        let read: BTreeSet<String> =
            now.iter().filter(|(_, read)| **read).map(|(chunk, _)| chunk.clone()).collect();
        self.is_not_less(&read, &came, &before);
        self.complete = read;
        self.is_not_more();
    }

    /// What stands stays read, and of what has gone as many reads stay as there are chunks that came
    /// with the same bytes.
    fn is_not_less(
        &self,
        read: &BTreeSet<String>,
        came: &BTreeSet<String>,
        before: &BTreeMap<String, u64>,
    ) {
        let gone: Vec<_> = before
            .keys()
            .filter(|chunk| !self.plans(chunk) && self.complete.contains(*chunk))
            .collect();
        let lost: Vec<_> = self
            .complete
            .iter()
            .filter(|chunk| self.plans(chunk) && !read.contains(*chunk))
            .collect();
        assert!(lost.is_empty(), "read and untouched, and now unread: {lost:?}");
        for key in gone.iter().map(|chunk| self.key(chunk)).collect::<BTreeSet<_>>() {
            let count = |chunks: &mut dyn Iterator<Item = &String>| {
                chunks.filter(|chunk| self.key(chunk) == key).count()
            };
            let freed = count(&mut gone.iter().copied());
            let due = freed.min(count(&mut came.iter()));
            let took = count(&mut read.iter().filter(|chunk| !self.complete.contains(*chunk)));
            assert!(took >= due, "{took} of {due} chunks took over a read: {key:?}");
        }
    }

    /// Every chunk that counts as read has a read of its own.
    fn is_not_more(&self) {
        let mut by_key: BTreeMap<_, Vec<&str>> = BTreeMap::new();
        for chunk in &self.complete {
            by_key.entry(self.key(chunk)).or_default().push(chunk);
        }
        for (key, chunks) in by_key {
            let reads = self.reads.get(&key).map(Vec::as_slice).unwrap_or_default();
            let mut taken = vec![None; reads.len()];
            for chunk in &chunks {
                let found = self.match_one(chunk, reads, &mut taken, &mut BTreeSet::new());
                assert!(found, "{chunk} counts as read: {chunks:?} by {reads:?}, {:?}", self.added);
            }
        }
    }

    /// An augmenting path: finds a read for a chunk, moving others to other reads.
    fn match_one<'a>(
        &self,
        chunk: &'a str,
        reads: &[Read],
        taken: &mut Vec<Option<&'a str>>,
        tried: &mut BTreeSet<usize>,
    ) -> bool {
        for (at, read) in reads.iter().enumerate() {
            let may = read.chunk == chunk || self.added[chunk] > read.since;
            if !may || !tried.insert(at) {
                continue;
            }
            if taken[at].is_none_or(|other| self.match_one(other, reads, taken, tried)) {
                taken[at] = Some(chunk);
                return true;
            }
        }
        false
    }
}
