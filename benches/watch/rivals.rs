//! Watchers, and how each is driven.

use std::process::{Command, Stdio};

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

pub const AUWAI: Rival = Rival {
    name: "auwai-wait-events",
    line: "exec % auwai-wait-events --settle 0 --no-ignore @",
    ready: "\"ready\"",
    lost: &["\"rescan\""],
    slowly: 0,
};

pub const AUWAI_SLOWLY: Rival =
    Rival { name: "auwai-wait-events, 256 bytes every 2 ms", slowly: 256, ..AUWAI };

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

/// The server is one of its own, with nothing kept outside its folder, and ends with the group.
pub const WATCHMAN: Rival = Rival {
    name: "watchman",
    line: r#"echo '{"settle": 1}' > ~/settings; export WATCHMAN_CONFIG_FILE=~/settings
        watchman --foreground --no-save-state --sockname=~/sock --statefile=~/state \
            --pidfile=~/pid --logfile=~/log &
        until test -S ~/sock; do sleep 0.01; done
        ask="watchman --no-spawn --sockname=~/sock -j --no-pretty"
        echo '["watch", "@"]' | $ask >&2
        echo '["subscribe", "@", "bench", {"fields": ["name"]}]' | exec $ask -p"#,
    ready: "\"is_fresh_instance\":true",
    lost: &["\"is_fresh_instance\":true", "\"warning\""],
    slowly: 0,
};

pub const ALL: &[Rival] = &[AUWAI, AUWAI_SLOWLY, INOTIFYWAIT, FSWATCH, WATCHEXEC, WATCHMAN];

/// Whether a rival's program is installed; ours is.
pub fn is_here(rival: &Rival) -> bool {
    rival.name.starts_with("auwai") || version(rival.name).is_some()
}

/// The last word of the line in which a program says its version.
fn version(program: &str) -> Option<String> {
    let mut command = Command::new(program);
    let out = command.arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&out.stdout).into_owned();
    let line = text.lines().next().unwrap_or_default().to_string();
    Some(line.split_whitespace().find(|word| word.contains('.')).unwrap_or("?").to_string())
}

/// Tells the command of each, and its version.
pub fn tell() {
    crate::head(&["watcher", "version", "command (`@`: the folder; `~`: one of its own)"]);
    for rival in ALL.iter().filter(|rival| rival.slowly == 0) {
        let version = match rival.name.starts_with("auwai") {
            true => env!("CARGO_PKG_VERSION").to_string(),
            false => version(rival.name).unwrap_or("not installed here".to_string()),
        };
        let words: Vec<&str> = rival.line.split_whitespace().filter(|w| *w != "\\").collect();
        println!("| {} | {version} | `{}` |", rival.name, words.join(" ").replace('|', "\\|"));
    }
    println!();
}
