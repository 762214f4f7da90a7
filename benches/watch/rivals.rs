//! Watchers, and how each is driven.

use std::process::{Command, Output, Stdio};

/// A watcher: its command for a folder, and what it writes when it stands or has lost something.
pub struct Rival {
    pub name: &'static str,
    /// For a shell. `@` is the folder, `%` the program of this suite, `~` a folder of its own.
    pub line: &'static str,
    /// Text that says that it stands. When empty, it does when its number of watches does.
    pub ready: &'static str,
    /// Texts after that which say that something was lost.
    pub lost: &'static [&'static str],
    /// Bytes that its reader takes every 2 ms; all there is when 0.
    pub slowly: usize,
}

impl Rival {
    /// Its command in one line.
    pub fn one_line(&self) -> String {
        self.line.split_whitespace().collect::<Vec<_>>().join(" ")
    }
}

pub const AUWAI: Rival = Rival {
    name: "auwai-wait-events --settle 0",
    line: "exec % auwai-wait-events --settle 0 --no-ignore @",
    ready: "\"ready\"",
    lost: &["\"rescan\""],
    slowly: 0,
};

pub const AUWAI_SLOWLY: Rival =
    Rival { name: "the same, read 256 bytes every 2 ms", slowly: 256, ..AUWAI };

pub const AUWAI_SETTLING: Rival = Rival {
    name: "auwai-wait-events --settle 50ms",
    line: "exec % auwai-wait-events --settle 50ms --no-ignore @",
    ..AUWAI
};

pub const INOTIFYWAIT: Rival = Rival {
    name: "inotifywait",
    line: "exec inotifywait -m -r --format %w%f -e create,modify,moved_to,delete @",
    ready: "Watches established.",
    lost: &["overflow", "OVERFLOW"],
    slowly: 0,
};

pub const FSWATCH: Rival = Rival {
    name: "fswatch",
    line: "exec fswatch -r -l 0.1 --allow-overflow @",
    ready: "",
    lost: &["overflow", "Overflow"],
    slowly: 0,
};

pub const WATCHEXEC: Rival = Rival {
    name: "watchexec",
    line: "exec watchexec --only-emit-events --emit-events-to=json-stdio --debounce 1ms \
           --ignore-nothing -w @",
    ready: "",
    lost: &["overflow", "rescan"],
    slowly: 0,
};

/// The server is one of its own, with nothing kept outside its folder, and ends with the group. It
/// settles for 20 ms, as it does by itself: with 1 ms its subscriptions lose the last of a flood.
pub const WATCHMAN: Rival = Rival {
    name: "watchman",
    line: r#"echo '{}' > ~/settings; export WATCHMAN_CONFIG_FILE=~/settings;
        watchman --foreground --no-save-state --sockname=~/sock --statefile=~/state
        --pidfile=~/pid --logfile=~/log & ask="watchman --no-spawn --no-local --sockname=~/sock";
        until $ask version; do sleep 0.01; done > ~/version 2>&1;
        echo '["watch", "@"]' | $ask -j > ~/watch;
        clock=$(echo '["clock", "@", {"sync_timeout": 60000}]' | $ask -j --no-pretty |
        grep -o 'c:[0-9:]*');
        echo '["subscribe", "@", "s", {"fields": ["name"], "since": "'$clock'"}]' |
        $ask -j -p --no-pretty"#,
    ready: "\"subscribe\":\"s\"",
    lost: &["\"is_fresh_instance\":true", "\"warning\""],
    slowly: 0,
};

pub const ALL: &[Rival] = &[AUWAI, AUWAI_SLOWLY, INOTIFYWAIT, FSWATCH, WATCHEXEC, WATCHMAN];

/// Whether a rival's program is installed; ours is.
pub fn is_here(rival: &Rival) -> bool {
    rival.line.starts_with("exec %") || version(rival.name).is_some()
}

/// What a program says its version is, in its first line that has one.
fn version(program: &str) -> Option<String> {
    let ask = |option| Command::new(program).arg(option).stdin(Stdio::null()).output();
    let is_version =
        |word: &&str| word.contains('.') && word.starts_with(|c: char| c.is_ascii_digit());
    let of = |out: Output| {
        let text = String::from_utf8_lossy(&out.stdout).into_owned();
        text.split_whitespace().find(is_version).map(str::to_string)
    };
    let (first, second) = (ask("--version").ok()?, ask("--help").ok()?);
    Some(of(first).or(of(second)).unwrap_or("?".to_string()))
}

/// Tells the command of each, and its version.
pub fn tell() {
    crate::head(&["watcher", "version", "command (`@`: the folder; `~`: one of its own)"]);
    for rival in ALL.iter().filter(|rival| rival.slowly == 0) {
        let version = match rival.line.starts_with("exec %") {
            true => env!("CARGO_PKG_VERSION").to_string(),
            false => version(rival.name).unwrap_or("not installed here".to_string()),
        };
        let line = rival.one_line().replace('|', "\\|");
        println!("| {} | {version} | `{line}` |", rival.name);
    }
    println!();
}
