//! Real git in an environment of its own: no system configuration, a home that is empty at first.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A temporary place with a home folder and a folder for one tree.
pub struct Sandbox {
    dir: tempfile::TempDir,
    vars: BTreeMap<OsString, OsString>,
}

impl Sandbox {
    /// With nothing in the tree.
    pub fn empty() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["home", "tree"] {
            std::fs::create_dir(dir.path().join(name)).unwrap();
        }
        let home = dir.path().join("home").into_os_string();
        let mut vars = BTreeMap::new();
        let mut set = |name: &str, value: &OsStr| vars.insert(name.into(), value.to_owned());
        set("HOME", &home);
        set("GIT_CONFIG_NOSYSTEM", OsStr::new("1"));
        for who in ["AUTHOR", "COMMITTER"] {
            set(&format!("GIT_{who}_NAME"), OsStr::new("t"));
            set(&format!("GIT_{who}_EMAIL"), OsStr::new("t@example.org"));
        }
        Sandbox { dir, vars }
    }

    /// With a repository in the tree.
    pub fn repository() -> Self {
        let sandbox = Self::empty();
        sandbox.git(&["init", "-q", "-b", "main"]);
        sandbox
    }

    /// The folder of the tree, without links.
    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("tree")
    }

    /// A path in the home folder.
    pub fn home(&self, name: &str) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("home").join(name)
    }

    /// Sets a variable for git and for auwai.
    pub fn set(&mut self, name: &str, value: impl AsRef<OsStr>) {
        self.vars.insert(name.into(), value.as_ref().to_owned());
    }

    /// The variables.
    pub fn vars(&self) -> &BTreeMap<OsString, OsString> {
        &self.vars
    }

    /// Git at the root of the tree; must succeed.
    pub fn git(&self, args: &[&str]) -> Vec<u8> {
        self.git_in(&self.root(), args, b"")
    }

    /// Git in a folder, with input; must succeed.
    pub fn git_in(&self, dir: &Path, args: &[&str], input: &[u8]) -> Vec<u8> {
        let (ok, out, err) = self.try_git(dir, args, input);
        assert!(ok, "git {args:?}: {}", String::from_utf8_lossy(&err));
        out
    }

    /// Git in a folder: whether it succeeded, its output, its errors.
    pub fn try_git(&self, dir: &Path, args: &[&str], input: &[u8]) -> (bool, Vec<u8>, Vec<u8>) {
        let mut git = Command::new("git");
        git.args(args).current_dir(dir).env_clear().envs(&self.vars);
        git.env("PATH", std::env::var_os("PATH").unwrap_or_default());
        git.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = git.spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        let input = input.to_vec();
        let feeder = std::thread::spawn(move || {
            use std::io::Write;
            // A command that needs no input may close it.
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().unwrap();
        feeder.join().unwrap();
        (output.status.success(), output.stdout, output.stderr)
    }

    /// Writes a file in the tree, making folders.
    pub fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        self.write_bytes(path.as_bytes(), content);
    }

    /// The same for a name that is not UTF-8.
    pub fn write_bytes(&self, path: &[u8], content: impl AsRef<[u8]>) {
        let path = self.root().join(OsStr::from_bytes(path));
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, content).unwrap();
    }

    /// Writes several empty files.
    pub fn touch(&self, paths: &[&str]) {
        for path in paths {
            self.write(path, "x");
        }
    }

    /// Makes a symbolic link in the tree.
    pub fn link(&self, target: &str, path: &str) {
        let path = self.root().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::os::unix::fs::symlink(target, path).unwrap();
    }

    /// Commits everything that is not ignored.
    pub fn commit(&self) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-qm", "x", "--allow-empty"]);
    }
}

/// Splits NUL-terminated output.
pub fn fields(output: &[u8]) -> Vec<Vec<u8>> {
    let mut fields: Vec<_> = output.split(|b| *b == 0).map(<[u8]>::to_vec).collect();
    fields.pop();
    fields
}

/// A path from bytes.
pub fn path(bytes: &[u8]) -> PathBuf {
    OsString::from_vec(bytes.to_vec()).into()
}
