//! The real programs in a place of their own: a cleared environment, a home, a state folder, and a
//! folder `w` to work in.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// No command of a test may take longer.
const DEADLINE: Duration = Duration::from_secs(60);

/// A temporary place.
pub struct Site {
    dir: tempfile::TempDir,
}

/// What a program said, and how it ended.
pub struct Told {
    pub status: ExitStatus,
    pub out: Vec<u8>,
    pub err: String,
}

impl Told {
    /// Its exit status; one that a signal ended has none.
    pub fn code(&self) -> i32 {
        self.status.code().unwrap_or_else(|| panic!("{}: {}", self.status, self.err))
    }

    /// Its standard output, which must be text.
    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.out).unwrap()
    }

    /// Itself, after a look at its exit status.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Told {
        assert_eq!(self.status.code(), Some(code), "{}\n{}", self.err, self.text());
        self
    }
}

impl Site {
    /// With an empty folder to work in, and links to the programs on the path.
    pub fn new() -> Site {
        let site = Site { dir: tempfile::tempdir().unwrap() };
        for name in ["home", "state", "bin", "w"] {
            fs::create_dir(site.dir.path().join(name)).unwrap();
        }
        for (name, program) in [
            ("auwai", env!("CARGO_BIN_EXE_auwai")),
            ("auwai-inbox", env!("CARGO_BIN_EXE_auwai-inbox")),
            ("auwai-ledger", env!("CARGO_BIN_EXE_auwai-ledger")),
            ("auwai-plan", env!("CARGO_BIN_EXE_auwai-plan")),
            ("auwai-relay", env!("CARGO_BIN_EXE_auwai-relay")),
            ("auwai-wait-events", env!("CARGO_BIN_EXE_auwai-wait-events")),
        ] {
            symlink(program, site.path("bin").join(name)).unwrap();
        }
        symlink(python(), site.path("bin/python3")).unwrap();
        site
    }

    /// A path in the place, without links.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join(name)
    }

    /// A path in the folder to work in.
    pub fn work(&self, name: impl AsRef<Path>) -> PathBuf {
        self.path("w").join(name)
    }

    /// Writes a file in the folder to work in.
    pub fn write(&self, name: impl AsRef<Path>, content: impl AsRef<[u8]>) {
        let path = self.work(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    /// A program, ready to be run there.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        command.env_clear().current_dir(self.path("w"));
        command.env("HOME", self.path("home")).env("XDG_STATE_HOME", self.path("state"));
        let own = std::env::var("PATH").unwrap_or_default();
        command.env("PATH", format!("{}:{own}", self.path("bin").display()));
        command
    }

    /// `auwai ARGS`, ready to be run.
    pub fn auwai(&self, args: &[&str]) -> Command {
        let mut command = self.command(env!("CARGO_BIN_EXE_auwai"));
        command.args(args);
        command
    }

    /// Runs `auwai ARGS`.
    pub fn run(&self, args: &[&str]) -> Told {
        tell(self.auwai(args))
    }

    /// Runs `auwai ARGS`, which must exit with 0, and returns its standard output.
    #[track_caller]
    pub fn ok(&self, args: &[&str]) -> String {
        self.run(args).expect_code(0).text().to_string()
    }

    /// Runs a shell script with the programs on the path.
    pub fn sh(&self, script: &str) -> Told {
        let mut sh = self.command("bash");
        sh.args(["-c", script]);
        tell(sh)
    }

    /// Runs `auwai ARGS` as a user who owns nothing; only root can.
    pub fn run_as_nobody(&self, args: &[&str]) -> Told {
        let mut command = self.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(self.own_program()).args(args);
        tell(command)
    }

    /// A copy of the program that anybody may run.
    fn own_program(&self) -> PathBuf {
        let own = self.path("bin/own");
        if !own.exists() {
            fs::copy(env!("CARGO_BIN_EXE_auwai"), &own).unwrap();
        }
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(self.path(""), fs::Permissions::from_mode(0o755)).unwrap();
        own
    }

    /// Starts `auwai ARGS` with pipes on standard output and standard error.
    pub fn start(&self, args: &[&str]) -> Child {
        let mut command = self.auwai(args);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().unwrap()
    }

    /// The rows of a query on a database below the folder to work in, by another SQLite than ours.
    pub fn ask(&self, database: impl AsRef<Path>, sql: &str) -> String {
        let script = "import sqlite3,sys\n\
            for row in sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None).execute(sys.argv[2]): print(*row)";
        let mut python = self.command("python3");
        python.args(["-c", script]).arg(self.work(database)).arg(sql);
        tell(python).expect_code(0).text().to_string()
    }
}

/// Python itself: what stands on the path may be a script that first looks for one, for 0.2 s.
pub fn python() -> &'static Path {
    static FOUND: OnceLock<PathBuf> = OnceLock::new();
    FOUND.get_or_init(|| {
        let asked = ["-c", "import sys; print(sys.executable, end='')"];
        let told = Command::new("python3").args(asked).output().unwrap();
        String::from_utf8(told.stdout).unwrap().into()
    })
}

/// Runs a command to its end.
pub fn tell(command: Command) -> Told {
    let mut command = assert_cmd::Command::from_std(command);
    let done = command.timeout(DEADLINE).output().unwrap();
    Told {
        status: done.status,
        out: done.stdout,
        err: String::from_utf8_lossy(&done.stderr).into_owned(),
    }
}

/// Waits for a condition, with a deadline.
#[track_caller]
pub fn wait_until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < DEADLINE, "waited in vain for {what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// Whether this process may do what root may.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Says loudly that a test could not be made here; where all can be, that is a failure.
#[allow(
    clippy::print_stderr,
    reason = "a test that is left out must not look like one that passed"
)]
pub fn skipped(what: &str) {
    assert!(std::env::var_os("AUWAI_SKIP_NOTHING").is_none(), "left out: {what}");
    eprintln!("SKIPPED: {what}");
}
