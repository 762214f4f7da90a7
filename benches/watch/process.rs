//! What the system knows of a process.

use std::fs;
use std::ops::Sub;
use std::path::Path;
use std::time::Duration;

/// A process, by its number.
#[derive(Clone, Copy)]
pub struct Process(pub u32);

/// What a process has done so far.
#[derive(Clone, Copy)]
pub struct Activity {
    /// Time on a processor.
    pub cpu: Duration,
    /// How often one of its threads was put on a processor.
    pub wakes: u64,
}

impl Sub for Activity {
    type Output = Activity;

    fn sub(self, before: Activity) -> Activity {
        Activity { cpu: self.cpu - before.cpu, wakes: self.wakes - before.wakes }
    }
}

impl Process {
    fn read(self, file: &str) -> String {
        fs::read_to_string(format!("/proc/{}/{file}", self.0)).unwrap_or_default()
    }

    /// What it has in memory, in KiB.
    pub fn resident(self) -> u64 {
        kib(&self.read("status"), "VmRSS:")
    }

    /// The most that it ever had in memory, in KiB.
    pub fn peak(self) -> u64 {
        kib(&self.read("status"), "VmHWM:")
    }

    /// What it has done; wake-ups are those of the threads that it has now.
    pub fn activity(self) -> Activity {
        let tasks = fs::read_dir(format!("/proc/{}/task", self.0)).into_iter().flatten().flatten();
        let texts = tasks.flat_map(|task| fs::read_to_string(task.path().join("schedstat")));
        let wakes = texts.flat_map(|text| text.split_whitespace().nth(2)?.parse::<u64>().ok());
        // In hundredths of a second, after the name, which is in parentheses and may have blanks.
        let stat = self.read("stat");
        let fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let ticks: u64 = fields.skip(11).take(2).flat_map(str::parse::<u64>).sum();
        Activity { cpu: Duration::from_millis(ticks * 10), wakes: wakes.sum() }
    }

    /// How many directories it has inotify watch.
    pub fn watches(self) -> usize {
        let entries = fs::read_dir(format!("/proc/{}/fdinfo", self.0));
        let texts = entries.into_iter().flatten().flatten().map(|e| fs::read_to_string(e.path()));
        texts.flatten().map(|text| text.matches("inotify wd").count()).sum()
    }

    /// The processes that it has started, in order.
    pub fn children(self) -> Vec<Process> {
        let pids = self.read(&format!("task/{}/children", self.0));
        pids.split_whitespace().flat_map(str::parse).map(Process).collect()
    }
}

/// What the kernel has allocated for itself and cannot give back, in KiB.
pub fn kernel() -> u64 {
    kib(&fs::read_to_string("/proc/meminfo").unwrap(), "SUnreclaim:")
}

/// A limit of inotify.
pub fn limit(name: &str) -> usize {
    let file = Path::new("/proc/sys/fs/inotify").join(name);
    fs::read_to_string(file).unwrap().trim().parse().unwrap()
}

fn kib(text: &str, key: &str) -> u64 {
    let line = text.lines().find(|line| line.starts_with(key));
    line.and_then(|line| line.split_whitespace().nth(1)?.parse().ok()).unwrap_or(0)
}
