//! Numbers from a seed, and the rounds that they are for.

use std::path::{Path, PathBuf};

/// Numbers from a seed.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, sides: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % sides
    }

    pub fn pick<'a>(&mut self, from: &[&'a str]) -> &'a str {
        from[self.roll(from.len() as u64) as usize]
    }

    /// A name of a file or a folder.
    pub fn name(&mut self) -> String {
        self.pick(&["a", "b", "c", "d.log", "e", "f.tmp"]).to_string()
    }

    /// A path below a root, with names that are often taken.
    pub fn path(&mut self, root: &Path) -> PathBuf {
        let depth = 1 + self.roll(4);
        (0..depth).fold(root.to_owned(), |path, _| path.join(self.name()))
    }

    pub fn text(&mut self) -> String {
        "x".repeat(self.roll(5000) as usize)
    }
}

/// Plays so many rounds of a model as are asked for, by default `short` ones: each 25 with the next
/// seed and a new tree. Seeds are printed, with those of a failure last.
pub fn plays(name: &str, short: u64, play: impl Fn(u64, u64)) {
    plays_of("AUWAI_WATCH", name, (short, 25), play);
}

/// The same with variables of another name, and so many rounds a seed when more than the short ones
/// are asked for.
#[allow(clippy::print_stderr, reason = "what failed must be found again")]
pub fn plays_of(variables: &str, name: &str, (short, each): (u64, u64), play: impl Fn(u64, u64)) {
    let number = |name: &str, default| {
        let value = std::env::var(format!("{variables}_{name}"));
        value.map_or(default, |text| text.parse::<u64>().unwrap())
    };
    let total = number("ROUNDS", short);
    let (mut seed, mut left) = (number("SEED", 1), total);
    while left > 0 {
        let rounds = left.min(if total > short { each } else { short.div_ceil(2) });
        eprintln!("{name}: {variables}_SEED={seed}, {rounds} rounds");
        play(seed, rounds);
        (seed, left) = (seed + 1, left - rounds);
    }
}
