//! A workspace of two git repositories, and random changes of their trees.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use crate::support::dice::Dice;
use crate::support::site::Site;

/// The repositories.
pub const REPOS: [&str; 2] = ["one", "two"];

/// Where the full read is.
pub const FULL_READ: &str = ".auwai/workspace";

/// The options of the plan: small segments, and no vocabulary for each process to load.
pub const SMALL: [&str; 8] = [
    "--context-window",
    "8k",
    "--fixed-prompt",
    "2500",
    "--reserve",
    "1000",
    "--tokenizer",
    "bytes/4",
];

/// The workspace in the folder to work in.
pub struct Ground {
    pub site: Arc<Site>,
}

/// Lines that no other text has.
pub fn lines(name: &str, count: u64) -> String {
    let line = |n| format!("the line {n} of {name} has some more words to say\n");
    (1..=count).map(line).collect()
}

impl Ground {
    /// With two commits in each repository, and a plan.
    pub fn new(files: u64, length: u64) -> Ground {
        Self::on(Arc::new(Site::new()), files, length)
    }

    /// The same on a site that is there.
    pub fn on(site: Arc<Site>, files: u64, length: u64) -> Ground {
        let identity = "[user]\nname = t\nemail = t@example.org\n[advice]\ndetachedHead = false\n";
        fs::write(site.path("home/.gitconfig"), identity).unwrap();
        let ground = Ground { site };
        for repo in REPOS {
            for n in 0..files {
                let folder = ["", "d/", "d/e/"][n as usize % 3];
                ground.site.write(
                    format!("{repo}/{folder}f{n}.txt"),
                    lines(&format!("{repo} {n}"), length + n * 7),
                );
            }
            ground.sh(repo, "git init -q -b main . && git add -A && git commit -qm first");
            ground.site.write(format!("{repo}/last.txt"), lines(&format!("{repo} last"), 20));
            ground.sh(repo, "git add -A && git commit -qm second");
        }
        ground.site.ok(&["workspace", "init", "both"]);
        for repo in REPOS {
            ground.site.ok(&["workspace", "add", repo]);
        }
        ground.site.ok(&[&["plan"][..], &SMALL].concat());
        ground
    }

    /// A script in a repository; what it does not manage counts for nothing.
    fn sh(&self, repo: &str, script: &str) {
        self.site.sh(&format!("cd {repo} && {script} || true; rm -f .git/index.lock"));
    }

    /// What git lists in a repository and is a file, with its text.
    pub fn files(&self, repo: &str) -> BTreeMap<String, String> {
        let list = "git ls-files -coz --exclude-standard --deduplicate";
        let told = self.site.sh(&format!("cd {repo} && {list}")).expect_code(0);
        let names = told.text().split_terminator('\0').map(str::to_string);
        let path = |name: &String| self.site.work(repo).join(name);
        let is_file = |name: &String| fs::symlink_metadata(path(name)).is_ok_and(|m| m.is_file());
        let files = names.filter(is_file);
        files.map(|name| (name.clone(), fs::read_to_string(path(&name)).unwrap())).collect()
    }

    /// A random file of a repository: its path there, and its text.
    fn some(&self, repo: &str, dice: &mut Dice) -> Option<(String, String)> {
        let mut files: Vec<_> = self.files(repo).into_iter().collect();
        files.retain(|(name, text)| !name.starts_with('.') && !text.is_empty());
        let at = dice.roll(files.len().max(1) as u64) as usize;
        (at < files.len()).then(|| files.swap_remove(at))
    }

    /// One random change; `turn` makes text that was never there.
    pub fn change(&self, turn: u64, dice: &mut Dice) -> String {
        let repo = dice.pick(&REPOS);
        let at = |name: &str| self.site.work(repo).join(name);
        let Some((name, text)) = self.some(repo, dice) else {
            self.site.write(format!("{repo}/again{turn}.txt"), lines(&format!("again {turn}"), 90));
            return format!("{repo}: again{turn}.txt");
        };
        let what = dice.roll(20);
        match what {
            0..=3 => fs::write(at(&name), edited(&text, turn, dice)).unwrap(),
            4 => fs::write(at(&name), text + &lines(&format!("more {turn}"), 1 + dice.roll(60)))
                .unwrap(),
            5 => fs::write(at(&name), lines(&format!("front {turn}"), 3) + &text).unwrap(),
            6 | 7 => self.shift(at(&name), at(&free(turn, dice))),
            8 => self.shift(at("d"), at(&format!("g{turn}"))),
            9 => self.shift(at(&name), self.site.work(dice.pick(&REPOS)).join(free(turn, dice))),
            10 => drop(fs::copy(at(&name), at(&format!("c{turn}.txt"))).unwrap()),
            11 => self.sh(repo, &format!("cp -r d k{turn}")),
            12 => fs::remove_file(at(&name)).unwrap(),
            13 => self.sh(repo, &format!("git checkout -q -- '{name}'")),
            14 => self.sh(repo, "git add -A && git commit -qm more"),
            15 => self.sh(repo, "git checkout -q -f -B side HEAD~1"),
            16 => self.sh(repo, "git checkout -q -f main"),
            17 => self.sh(
                repo,
                &format!("git {}", dice.pick(&["stash -q -u", "stash pop -q", "reset -q --hard"])),
            ),
            18 => fs::write(at(&name), text.clone() + &text).unwrap(),
            _ => self.sh(repo, &format!("echo 'c*.txt' {} .gitignore", dice.pick(&[">", ">>"]))),
        }
        format!("{repo}: {what} {name}")
    }

    /// A move, with the folders that it needs.
    fn shift(&self, from: PathBuf, to: PathBuf) {
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        let _ = fs::rename(from, to);
    }
}

/// A name in one of some folders.
fn free(turn: u64, dice: &mut Dice) -> String {
    format!("{}m{turn}.txt", dice.pick(&["", "d/", "d/e/", "n/"]))
}

/// A line changed, put in or taken out.
fn edited(text: &str, turn: u64, dice: &mut Dice) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    let at = dice.roll(lines.len() as u64) as usize;
    let new = format!("turn {turn} wrote this line, which nobody has seen before\n");
    match dice.roll(3) {
        0 => lines[at] = &new,
        1 => lines.insert(at, &new),
        _ => drop(lines.remove(at)),
    }
    lines.concat()
}
