//! A tree in git, and random changes to it from several threads: what editors, tools and git do.

use std::fs;
use std::io::{Result, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use rustix::fs::{CWD, RenameFlags, renameat_with};

use super::dice::Dice;
use super::git::Sandbox;

/// Lines of an ignore file. None of them ignores the root.
const PATTERNS: &[&str] = &[
    "*.log\n",
    "*.tmp\nb/\n",
    "!d.log\n",
    "",
    "c\n",
    "a/*\n!a/e\n",
    "/sub/b\n*.log\n",
    "*\n!*/\n!*.c\n",
];

/// A repository, and the folder in it that is watched.
pub struct Ground {
    pub sandbox: Sandbox,
    /// The watched folder: the top of the work tree, or one folder in it.
    pub root: PathBuf,
}

impl Ground {
    /// With two commits. `below`: the root is a folder of the repository.
    pub fn new(below: bool) -> Ground {
        let sandbox = Sandbox::repository();
        let root = if below { sandbox.root().join("sub") } else { sandbox.root() };
        fs::create_dir(sandbox.home("outside")).unwrap();
        let ground = Ground { sandbox, root };
        fs::create_dir_all(&ground.root).unwrap();
        for name in ["one", "two"] {
            fs::write(ground.root.join(name), name).unwrap();
        }
        ground.sandbox.commit();
        ground.sandbox.commit();
        ground
    }

    fn outside(&self) -> PathBuf {
        self.sandbox.home("outside")
    }

    /// A script at the top of the work tree; what it does not manage counts for nothing.
    fn sh(&self, script: &str) {
        let quiet = format!("({script}) > /dev/null 2>&1 || true; rm -f .git/index.lock");
        let mut sh = std::process::Command::new("sh");
        sh.args(["-c", &quiet]).current_dir(self.sandbox.root()).env_clear();
        sh.envs(self.sandbox.vars()).env("PATH", std::env::var_os("PATH").unwrap_or_default());
        sh.env("OUT", self.sandbox.home("")).env("ROOT", &self.root);
        assert!(sh.status().unwrap().success(), "{script}");
    }

    /// Changes from several threads, and one event beside them; `beside` is called in the midst.
    pub fn storm(&self, seed: u64, changes: u64, beside: impl FnOnce()) {
        std::thread::scope(|scope| {
            for thread in 0..3 {
                scope.spawn(move || {
                    let mut dice = Dice(seed.wrapping_mul(31).wrapping_add(thread));
                    let mut kept = Vec::new();
                    (0..changes).for_each(|_| self.change(&mut dice, &mut kept));
                });
            }
            beside();
        });
    }

    /// One random change. It may fail: another thread has been there.
    fn change(&self, dice: &mut Dice, kept: &mut Vec<fs::File>) {
        let (one, two) = (dice.path(&self.root), dice.path(&self.root));
        let _ = match dice.roll(24) {
            0..=3 => write_deep(&one, &dice.text()),
            4 => append(&one, &dice.text()).map(|file| kept.push(file)),
            5 => truncate(&one, dice.roll(50)),
            6 => fs::set_permissions(&one, fs::Permissions::from_mode(0o755)),
            7 => age(&one, dice.roll(1000)),
            8 | 9 => fs::rename(&one, &two),
            10 => fs::rename(&one, self.outside().join(dice.name())),
            11 => fs::rename(self.outside().join(dice.name()), &one),
            12 => renameat_with(CWD, &one, CWD, &two, RenameFlags::EXCHANGE).map_err(Into::into),
            13 => self.link(dice),
            14 => symlink(&two, &one),
            15 => write_deep(&one.join("deep/er/still/f"), &dice.text()),
            16 => fs::remove_dir_all(&one),
            17 => fs::remove_dir_all(&one)
                .or_else(|_| fs::remove_file(&one))
                .and_then(|()| fs::write(&one, dice.text())),
            18 => fs::remove_file(&one),
            19 => save_as_vim(&one, &dice.text()),
            20 => save_as_emacs(&one, &dice.text()),
            21 => save_as_jetbrains(&one, &dice.text()),
            22 => mkdir_and_away(&one, &dice.text()),
            _ => fs::write(one.with_file_name(".gitignore"), dice.pick(PATTERNS)),
        };
        if kept.len() > 8 {
            let file = kept.remove(0);
            let _ = file.write_at(b"y", 0);
        }
    }

    /// A change among files that have several names. They are apart, no rule leaves one of them out,
    /// and none of them goes: what is stored through a name that is not in, or has gone when it is
    /// looked at, is not told.
    fn link(&self, dice: &mut Dice) -> Result<()> {
        let mut name =
            || self.root.join(dice.pick(&["h", "i"])).join(dice.pick(&["1.c", "2.c", "3.c"]));
        let (one, two) = (name(), name());
        let is_linked = |path: &Path| path.symlink_metadata().is_ok_and(|meta| meta.nlink() > 1);
        match dice.roll(8) {
            4 | 5 if is_linked(&one) || is_linked(&two) => Ok(()),
            0 | 1 => write_deep(&one, &dice.text()),
            2 => append(&one, &dice.text()).map(drop),
            3 => truncate(&one, dice.roll(50)),
            4 => fs::rename(&one, &two),
            5 => fs::remove_file(&one),
            _ => fs::hard_link(&one, &two),
        }
    }

    /// One thing that is done to the whole: by git, to its rules, or to the root.
    #[allow(clippy::print_stderr, reason = "what failed must be understood")]
    pub fn event(&self, dice: &mut Dice, mappings: bool) {
        let rules = dice.pick(PATTERNS).trim_end().replace('\n', "\\n");
        let script = match dice.roll(20) {
            0 | 1 => "git add -A . && git commit -qm x --allow-empty",
            2 => "git checkout -q -f -B side HEAD~1",
            3 => "git checkout -q -f main",
            4 => "cd \"$ROOT\" && rm -f a; mkdir -p a && git init -q a/n && echo x > a/n/f",
            5 => "rm -rf \"$ROOT/a/n/.git\"",
            6 => "git add -f . ':(exclude,glob)**/.auwai/**' && git rm -rq --cached \"$ROOT/a\"",
            7 => "git stash -q -u",
            8 => {
                "cd \"$ROOT\" && mkdir -p c; echo x > c/d.log; git add -f c/d.log d.log; git rm -q --cached f.tmp"
            }
            9 => "cd \"$ROOT\" && git rm -q --cached c/d.log d.log one",
            10 | 11 => "mkdir -p .git/info && printf \"$RULES\" > .git/info/exclude",
            12 => "printf \"$RULES\" > .gitignore",
            13 => {
                "git config core.excludesFile \"$OUT/excludes\"; printf \"$RULES\" > \"$OUT/excludes\""
            }
            14 => {
                "git config --unset core.excludesFile; mkdir -p \"$OUT/.config/git\"; printf \"$RULES\" > \"$OUT/.config/git/ignore\""
            }
            15 => DELETE_ROOT,
            16 => {
                "mv \"$ROOT\" \"$OUT/away\" && sleep 0.0$N && \
                until mv -T \"$OUT/away\" \"$ROOT\"; do rm -rf \"$ROOT\"; done"
            }
            17 | 18 if mappings => "python3 -c \"$MAP\" \"$ROOT\"",
            _ => "true",
        };
        let n = dice.roll(9);
        let exports = format!("N={n}; RULES='{rules}\\n'; MAP='{MAP}'");
        let top = self.sandbox.root();
        eprintln!("N={n}; RULES={rules}; {script}");
        self.sh(&format!("{exports}; {script}"));
        // Git removes a folder with its last file.
        fs::create_dir_all(&self.root).unwrap();
        assert!(top.join(".git").is_dir(), "{script}");
    }

    /// Changes until the queue of a watcher that is stopped has overflowed.
    pub fn flood(&self) {
        let files = ["one", "two"].map(|name| self.root.join(name));
        for file in &files {
            let _ = fs::remove_dir_all(file);
            fs::write(file, "flood").unwrap();
        }
        crate::watch::watcher::flood(&files[0], &files[1]);
    }
}

/// Deletes the root and makes it anew. Where it is the top of the repository, git's folder is saved:
/// a repository that comes to be above the root is not told.
const DELETE_ROOT: &str = r#"
if [ "$ROOT" = "$PWD" ]; then
    mv .git "$OUT/git"; rm -rf "$ROOT"; mkdir -p "$ROOT"; cd "$ROOT"; mv "$OUT/git" .git
else
    rm -rf "$ROOT"; sleep 0.0$N; mkdir -p "$ROOT"
fi
git checkout -q -f"#;

/// Stores into mappings of some files, which the system tells of when they end.
const MAP: &str = r#"
import mmap, os, sys
maps = []
for dir, _, names in os.walk(sys.argv[1]):
    if "/.git" in dir or "/.auwai" in dir: continue
    for name in names[:3]:
        try:
            with open(os.path.join(dir, name), "r+b") as file: maps.append(mmap.mmap(file.fileno(), 0))
        except (OSError, ValueError): pass
for map in maps:
    map[0:1] = b"m"
    map[len(map) - 1:] = b"z"
    map.close()
"#;

fn write_deep(path: &Path, text: &str) -> Result<()> {
    path.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(path, text)
}

/// The file is left open: the system will tell of no close.
fn append(path: &Path, text: &str) -> Result<fs::File> {
    let mut file = fs::OpenOptions::new().append(true).open(path)?;
    file.write_all(text.as_bytes())?;
    Ok(file)
}

fn truncate(path: &Path, length: u64) -> Result<()> {
    fs::OpenOptions::new().write(true).open(path)?.set_len(length)
}

fn age(path: &Path, seconds: u64) -> Result<()> {
    fs::File::open(path)?.set_modified(UNIX_EPOCH + Duration::from_secs(seconds))
}

/// The path with something behind its name.
fn beside(path: &Path, end: &str) -> PathBuf {
    let mut name = path.to_owned().into_os_string();
    name.push(end);
    name.into()
}

/// A probe, the backup by a rename, a new file in its place, and the backup removed.
fn save_as_vim(path: &Path, text: &str) -> Result<()> {
    let (probe, backup) = (path.with_file_name("4913"), beside(path, "~"));
    fs::write(&probe, "")?;
    fs::remove_file(&probe)?;
    let saved = fs::rename(path, &backup).and_then(|()| fs::write(path, text));
    let _ = fs::remove_file(&backup);
    saved
}

/// A lock that is a link to nowhere, a temporary file renamed over the file, and the lock removed.
fn save_as_emacs(path: &Path, text: &str) -> Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let lock = path.with_file_name(format!(".#{name}"));
    symlink("ann@host.4711:1700000000", &lock)?;
    let temporary = path.with_file_name(format!("#{name}#"));
    let saved = fs::write(&temporary, text).and_then(|()| fs::rename(&temporary, path));
    fs::remove_file(&lock).and(saved)
}

/// The new text beside the file, the file moved aside, the new one in its place.
fn save_as_jetbrains(path: &Path, text: &str) -> Result<()> {
    let (new, old) = (beside(path, "___jb_tmp___"), beside(path, "___jb_old___"));
    fs::write(&new, text)?;
    let saved = fs::rename(path, &old).and_then(|()| fs::rename(&new, path));
    let _ = fs::remove_file(&old);
    saved
}

/// `mkdir -p deep` and `rm -rf` at once.
fn mkdir_and_away(path: &Path, text: &str) -> Result<()> {
    write_deep(&path.join("x/y/z/f"), text)?;
    fs::remove_dir_all(path.join("x"))
}
