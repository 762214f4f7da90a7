//! How the model reads: whole, by page, by name, and with readers that go early.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::process::Stdio;

use super::model::Play;
use crate::support::text;

impl Play<'_> {
    /// Reads what one of some words names: an id, a part of one, or a path.
    pub(super) fn read_some(&mut self, by: &[&str]) {
        let at = self.dice.roll(self.index.len().max(1) as u64) as usize;
        let Some((id, chunk)) = self.index.iter().nth(at) else { return };
        let word = match self.dice.roll(3) {
            0 => chunk.place.clone(),
            1 => id.clone(),
            _ => id.split_once(':').unwrap().1[..12].to_string(),
        };
        self.read(&[by, &[word.as_str()]].concat());
    }

    /// Reads, at times with a reader that goes early.
    pub(super) fn read(&mut self, more: &[&str]) {
        let args = [&["read", "--drain", "2s"], more].concat();
        let taken = match self.dice.roll(4) {
            0 => self.take_some(&args),
            _ => self.run(&args, &[0, 1, 3]).out,
        };
        // Of a line that was not taken whole nothing counts.
        let whole = taken.iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let printed = text::files(std::str::from_utf8(&taken[..whole]).unwrap());
        self.deliver(&printed);
        self.look();
        let read = self.state.complete.iter().filter(|(_, read)| **read);
        let read: BTreeSet<String> = read.map(|(id, _)| id.clone()).collect();
        assert_eq!(read, self.credit.complete, "{}", self.say());
    }

    /// A reader that takes some bytes and goes.
    fn take_some(&mut self, args: &[&str]) -> Vec<u8> {
        let mut command = self.ground.site.auwai(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut taken = vec![0; self.dice.roll(30_000) as usize];
        let mut output = child.stdout.take().unwrap();
        let mut size = 0;
        while let Ok(count @ 1..) = output.read(&mut taken[size..]) {
            size += count;
        }
        drop(output);
        taken.truncate(size);
        let end = child.wait_with_output().unwrap();
        let err = String::from_utf8_lossy(&end.stderr).into_owned();
        let code = end.status.code().unwrap();
        self.told(&[args, &["| head -c", &size.to_string()]].concat(), &err, code, &[0, 1, 3]);
        taken
    }

    /// What was printed is what the index has, and delivers the chunks of which every line came.
    pub(super) fn deliver(&mut self, printed: &BTreeMap<String, Vec<(u64, String)>>) {
        let lines = |text: &str| text.trim_end_matches('\n').to_string();
        let mut known = BTreeMap::new();
        for chunk in self.index.values() {
            let numbered = (chunk.first..).zip(&chunk.lines);
            known.extend(numbered.map(|(n, line)| ((&chunk.place, n), line)));
        }
        let mut came = BTreeSet::new();
        for (place, printed) in printed {
            for (n, text) in printed {
                assert_eq!(known.get(&(place, *n)), Some(&&lines(text)), "{place}:{n}");
                came.insert((place.clone(), *n));
                let repo = place.split_once(':').unwrap().0;
                self.seen.insert((repo.to_string(), lines(text)));
            }
        }
        let whole = self.index.iter().filter(|(id, chunk)| {
            let mut numbers = chunk.first..chunk.first + chunk.lines.len() as u64;
            self.credit.plans(id) && numbers.all(|n| came.contains(&(chunk.place.clone(), n)))
        });
        let whole: Vec<String> = whole.map(|(id, _)| id.clone()).collect();
        whole.iter().for_each(|id| self.credit.deliver(id));
    }
}
