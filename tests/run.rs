//! `auwai run`: every segment through a command, and what becomes of commands that misbehave.

use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::support::site::{Site, Told, tell, wait_until};
use crate::support::text;

const COVERAGE: &str = ".auwai/fullread/coverage.sqlite";
/// Cuts the tree below into six segments or so.
const WINDOW: [&str; 2] = ["--context-window", "16k"];

fn tree() -> Site {
    let site = Site::new();
    for name in ["a", "b", "c", "d"] {
        let lines = (1..=300).map(|n| format!("let {name} = line({n});\n"));
        site.write(format!("{name}.rs"), lines.collect::<String>());
    }
    site
}

fn run(site: &Site, command: &[&str]) -> Told {
    site.run(&[&["run"], &WINDOW[..], &["--"], command].concat())
}

fn shell(site: &Site, script: &str) -> Told {
    run(site, &["sh", "-c", script])
}

fn ask(site: &Site, sql: &str) -> String {
    site.ask(COVERAGE, sql).trim().replace('\n', " ")
}

fn complete(site: &Site) -> u64 {
    ask(site, "SELECT count(*) FROM chunks WHERE complete = 1").parse().unwrap()
}

fn segments(site: &Site, status: &str) -> u64 {
    ask(site, &format!("SELECT count(*) FROM segments WHERE status = '{status}'")).parse().unwrap()
}

/// Runs to the end, and says that all is read.
fn finish(site: &Site) {
    let told = site.run(&["run", "--", "wc", "-w"]).expect_code(0);
    assert!(told.text().contains(" tokens (100 %)\n"), "{}", told.text());
    assert_eq!(ask(site, "SELECT count(*) FROM chunks WHERE complete = 0"), "0");
    // No segment was closed twice, and no chunk counted twice.
    assert_eq!(ask(site, "SELECT count(*) - count(DISTINCT segment) FROM findings"), "0");
    assert_eq!(ask(site, "SELECT count(*) - count(DISTINCT chunk_id) FROM reads"), "0");
}

#[test]
fn a_replan_while_a_command_works_costs_neither_its_finding_nor_the_run() {
    let site = tree();
    let script = "cat > /dev/null; echo found in $AUWAI_SEGMENT
        if mkdir .auwai/once 2> /dev/null; then
            sed -i 1s/line/changed/ a.rs && auwai replan > /dev/null 2>&1
        fi";
    shell(&site, script).expect_code(0);
    assert_eq!(ask(&site, "SELECT count(*) FROM findings WHERE segment = 'read-1'"), "1");
    assert_eq!(ask(&site, "SELECT count(*) FROM revisions WHERE revision > 1"), "1");
    assert_eq!(site.run(&["verify"]).code(), 0);
}

/// The brief is longer than a pipe holds, so nothing is shown before the command reads on.
#[test]
fn a_replan_between_the_claim_and_the_text_is_no_input_left() {
    let site = Site::new();
    for n in 0..400 {
        site.write(format!("{n:03}{}", "a".repeat(200)), format!("line {n}\n"));
    }
    let script = "if mkdir .auwai/once 2> /dev/null; then rm 007*; auwai replan > ../replanned; fi
        cat > ../$AUWAI_SEGMENT; echo found";
    let window = ["--context-window", "200k", "--fixed-prompt", "60k"];
    site.run(&[&["run"], &window[..], &["--", "sh", "-c", script]].concat()).expect_code(0);
    let told = fs::read_to_string(site.path("replanned")).unwrap();
    assert!(told.contains("1 chunk gone"), "{told}");
    let input = fs::read_to_string(site.path("read-1")).unwrap();
    let (brief, shown) = input.split_at(input.find("=== ").unwrap());
    assert!(brief.len() > 65_536 && brief.contains("w:007") && !shown.contains("w:007"));
    assert_eq!(ask(&site, "SELECT count(*) FROM findings WHERE segment = 'read-1'"), "1");
}

#[test]
fn every_word_goes_through_the_command_and_is_read() {
    let site = tree();
    let told = run(&site, &["wc", "-w"]).expect_code(0);
    assert!(told.text().contains(" tokens (100 %)\n"), "{}", told.text());
    assert_eq!(told.err, "");
    let findings = fs::read_to_string(site.work(".auwai/fullread/findings.md")).unwrap();
    let done = segments(&site, "done");
    assert!(done > 4);
    assert_eq!(findings.matches("<!-- finding ").count() as u64, 2 * done);
    finish(&site);
    assert_eq!(ask(&site, "SELECT DISTINCT how FROM reads"), "run");
}

#[test]
fn several_commands_at_once_get_different_segments() {
    let site = tree();
    let script = "cat >$AUWAI_SEGMENT.in; mv $AUWAI_SEGMENT.in ../$AUWAI_SEGMENT.$$; \
        echo $AUWAI_WORKSPACE";
    let args = [&["run"], &WINDOW[..], &["--jobs", "3", "--", "sh", "-c", script]].concat();
    site.run(&args).expect_code(0);
    let taken: Vec<String> = fs::read_dir(site.path(""))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("read-"))
        .collect();
    assert_eq!(taken.len() as u64 + 1, segments(&site, "done"), "{taken:?}");
    let input = |name: &String| fs::read_to_string(site.path(name)).unwrap();
    let mut shown: Vec<String> = taken.iter().flat_map(|name| text::bodies(&input(name))).collect();
    shown.sort();
    shown.dedup();
    assert_eq!(shown.len(), 4 * 300);
    let findings = fs::read_to_string(site.work(".auwai/fullread/findings.md")).unwrap();
    let root = format!("\n    {}\n", site.work("").display().to_string().trim_end_matches('/'));
    assert_eq!(findings.matches(&root).count(), taken.len() + 1, "{findings}");
}

#[test]
fn status_125_leaves_a_segment_unread_and_goes_on() {
    let site = tree();
    let told = shell(&site, "cat >/dev/null; test $AUWAI_SEGMENT != read-2 || exit 125");
    assert_eq!(told.code(), 1, "{}", told.err);
    let left = ask(&site, "SELECT group_concat(segment_id) FROM segments WHERE status != 'done'");
    assert_eq!(left, "read-2,synthesis-1");
    assert!(told.text().contains("pending in read-2"), "{}", told.text());
    assert_eq!(segments(&site, "active"), 0);
    assert_eq!(ask(&site, "SELECT count(*) FROM reads WHERE segment = 'read-2'"), "0");
    finish(&site);
}

#[test]
fn all_left_unread_ends_with_1() {
    let site = tree();
    assert_eq!(run(&site, &["sh", "-c", "exit 125"]).code(), 1);
    assert_eq!((complete(&site), segments(&site, "active")), (0, 0));
}

#[test]
fn any_other_status_stops_and_what_was_done_stands() {
    let site = tree();
    let told = shell(&site, "cat >/dev/null; test $AUWAI_SEGMENT != read-3 || exit 7");
    assert_eq!(told.code(), 3);
    assert!(told.err.contains("'sh' failed on read-3 (exit status: 7)"), "{}", told.err);
    assert!(told.err.contains("hint: what was done stands"), "{}", told.err);
    assert_eq!((segments(&site, "done"), segments(&site, "active")), (2, 0));
    assert_eq!(ask(&site, "SELECT count(*) FROM reads WHERE segment = 'read-3'"), "0");
    finish(&site);
}

#[test]
fn input_that_is_not_taken_is_not_read() {
    for command in [&["true"][..], &["head", "-c", "100"], &["sh", "-c", "exec <&-; exit 0"]] {
        let site = tree();
        let told = run(&site, command);
        assert_eq!(told.code(), 3, "{command:?}: {}", told.err);
        assert!(told.err.contains("ended well but took 0 of "), "{}", told.err);
        assert_eq!(
            (complete(&site), segments(&site, "done"), segments(&site, "active")),
            (0, 0, 0)
        );
    }
}

#[test]
fn a_part_that_is_taken_is_not_the_segment() {
    let site = tree();
    let told = run(&site, &["head", "-c", "5000"]).expect_code(3);
    assert!(told.err.contains("ended well but took "), "{}", told.err);
    assert!(complete(&site) > 0);
    assert_eq!(segments(&site, "done"), 0);
    finish(&site);
}

#[test]
fn a_command_that_is_not_there() {
    let site = tree();
    let told = run(&site, &["no-such-command"]).expect_code(3);
    assert!(told.err.contains("cannot run 'no-such-command': No such file"), "{}", told.err);
    assert!(told.err.contains("hint: "), "{}", told.err);
    assert_eq!(segments(&site, "active"), 0);
}

#[test]
fn output_is_kept_up_to_a_limit() {
    let site = tree();
    let script = "cat >/dev/null; test $AUWAI_SEGMENT != read-1 || \
        head -c 200000 /dev/zero | tr '\\0' x";
    shell(&site, script).expect_code(0);
    let kept = ask(&site, "SELECT length(text) FROM findings ORDER BY 1 DESC LIMIT 1");
    let limit = 64 << 10;
    assert!((limit..limit + 100).contains(&kept.parse::<u64>().unwrap()), "{kept}");
    let findings = fs::read_to_string(site.work(".auwai/fullread/findings.md")).unwrap();
    assert!(findings.contains("[134,464 more bytes were not kept]"), "{limit}");
}

#[test]
fn the_synthesis_gets_the_findings() {
    let site = tree();
    let script = "if [ $AUWAI_SEGMENT = synthesis-1 ]; then cat >../synthesis; \
        else cat >/dev/null; echo word-$AUWAI_SEGMENT; fi";
    shell(&site, script).expect_code(0);
    let input = fs::read_to_string(site.path("synthesis")).unwrap();
    for n in 1..segments(&site, "done") {
        assert_eq!(input.matches(&format!("\n    word-read-{n}\n")).count(), 1, "{input}");
    }
}

#[test]
fn findings_that_are_not_taken_are_not_summed_up() {
    for command in ["exit 0", "head -c 10", "exec <&-; exit 0"] {
        let site = tree();
        let script = format!("test $AUWAI_SEGMENT != synthesis-1 || {{ {command}; exit; }}; cat");
        let told = shell(&site, &script).expect_code(3);
        let what = "'sh' ended well but left some of the findings, the input of synthesis-1";
        assert!(told.err.contains(what), "{command}: {}", told.err);
        let left = "SELECT segment_id, status FROM segments WHERE status <> 'done'";
        assert_eq!(ask(&site, left), "synthesis-1 pending");
        finish(&site);
    }
}

#[test]
fn what_a_command_leaves_running_does_not_hold_the_run() {
    for (script, code) in [
        // Takes nothing, and something else keeps the input open.
        ("sleep 300 >/dev/null 2>&1 & echo $! >>../pids", 3),
        // Takes everything, and something else keeps input and output open.
        (
            "cat >/dev/null; test $AUWAI_SEGMENT != read-2 || \
             { exec 5<&0; sleep 300 <&5 2>/dev/null & echo $! >>../pids; }",
            0,
        ),
    ] {
        let (site, begun) = (tree(), Instant::now());
        // A shell gives /dev/null to what it starts in the background, unless told otherwise.
        let script = script.replace("sleep 300 >", "sleep 300 <&5 >");
        let told = shell(&site, &format!("exec 5<&0; {script}"));
        let pids = fs::read_to_string(site.path("pids")).unwrap();
        for pid in pids.lines() {
            let pid = Pid::from_raw(pid.parse().unwrap()).unwrap();
            kill_process(pid, Signal::KILL).unwrap();
        }
        assert_eq!(told.code(), code, "{}", told.err);
        assert!(begun.elapsed() < Duration::from_secs(50));
        assert_eq!(segments(&site, "active"), 0);
        finish(&site);
    }
}

/// Starts a run whose commands stand still from the third segment on, and waits until one does.
fn stuck(site: &Site) -> std::process::Child {
    let script = "cat >/dev/null; case $AUWAI_SEGMENT in read-1|read-2) ;; \
        *) echo $$ >>../stuck; exec sleep 300;; esac";
    let args = [&["run"], &WINDOW[..], &["--jobs", "2", "--", "sh", "-c", script]].concat();
    let child = site.start(&args);
    wait_until("the commands", || pids(site).len() == 2);
    child
}

fn pids(site: &Site) -> Vec<i32> {
    let text = fs::read_to_string(site.path("stuck")).unwrap_or_default();
    text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.parse().ok()).collect()
}

fn is_running(pid: i32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn a_signal_ends_the_run_and_its_commands_and_gives_back_what_was_in_flight() {
    for signal in [Signal::TERM, Signal::INT] {
        let site = tree();
        let mut child = stuck(&site);
        let refused = site.run(&["run", "--force", "--", "wc", "-w"]).expect_code(3);
        assert!(refused.err.contains("another `auwai run` is at work"), "{}", refused.err);
        assert_eq!((segments(&site, "done"), segments(&site, "active")), (2, 2));
        kill_process(Pid::from_child(&child), signal).unwrap();
        let status = child.wait().unwrap();
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(signal.as_raw()));
        wait_until("the commands' end", || !pids(&site).into_iter().any(is_running));
        assert_eq!((segments(&site, "done"), segments(&site, "active")), (2, 0));
        finish(&site);
    }
}

#[test]
fn a_killed_run_goes_on() {
    let site = tree();
    let mut child = stuck(&site);
    child.kill().unwrap();
    child.wait().unwrap();
    for pid in pids(&site) {
        kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
    }
    assert_eq!((segments(&site, "done"), segments(&site, "active")), (2, 2));
    let left = "SELECT count(*) FROM reads WHERE segment NOT IN ('read-1', 'read-2')";
    assert_eq!(ask(&site, left), "0");
    finish(&site);
}

/// What a killed run had begun to close: its output has no reader, and its finding is cut off.
#[test]
fn a_close_that_nobody_waits_for_closes_nothing() {
    let site = tree();
    site.ok(&[&["plan"], &WINDOW[..]].concat());
    site.ok(&["next"]);
    site.ok(&["read"]);
    let close = ["auwai-ledger", "close", "--segment", "read-1", "--while-heard"];
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let mut command = site.auwai(&close);
    let told = command.stdout(writer).output().unwrap();
    let said = String::from_utf8(told.stderr).unwrap();
    assert_eq!(told.status.code(), Some(3), "{said}");
    assert!(said.contains("nobody waits for the end of 'read-1' any more"), "{said}");
    let cut = site.sh(&format!("printf found | {} -F - --bytes 6", close.join(" ")));
    assert!(cut.expect_code(3).err.contains("5 bytes of 6 came from '-'"));
    assert_eq!((segments(&site, "active"), segments(&site, "done")), (1, 0));
    let mut run = site.auwai(&["run", "--", "sh", "-c", "cat > /dev/null; printf found"]);
    run.env("AUWAI_TRACE", "1");
    let traced = tell(run).err;
    assert!(traced.contains("--segment read-2 --while-heard --file - --bytes 5"), "{traced}");
    site.ok(&[&close[..], &["-m", "found"]].concat());
}

#[test]
fn a_finding_of_any_bytes_closes_its_segment() {
    let site = tree();
    let told = shell(&site, "cat >/dev/null; head -c 60000 /dev/zero").expect_code(0);
    assert!(told.text().contains(" tokens (100 %)\n"), "{}", told.text());
    assert_eq!(ask(&site, "SELECT count(*) FROM segments WHERE status <> 'done'"), "0");
}

#[test]
fn an_unknown_option_is_not_the_command() {
    let site = tree();
    let told = site.run(&["run", "--jbos", "2", "--", "wc"]).expect_code(2);
    assert!(told.err.contains("unexpected argument '--jbos'"), "{}", told.err);
    site.run(&["run", "-j2", "--", "wc", "-w"]).expect_code(0);
}

/// All is read, and not all is done: another reader has a segment, so the synthesis could not run.
#[test]
fn a_run_is_not_done_while_somebody_else_has_a_segment() {
    let site = tree();
    site.ok(&[&["plan"], &WINDOW[..]].concat());
    site.ok(&["next", "--reader", "ann"]);
    site.ok(&["read", "--reader", "ann"]);
    let told = site.run(&["run", "--", "wc", "-w"]).expect_code(1);
    assert!(told.text().contains(" tokens (100 %)\n"), "{}", told.text());
    let lines: Vec<&str> = told.err.lines().collect();
    assert_eq!(lines[0], "auwai: read-1 was left to reader 'ann', who has it");
    assert_eq!(lines[2], "auwai: other readers have 1 segment, and 1 more is not done");
    assert_eq!(lines[3], "hint: when they are closed (`auwai done`): `auwai run -- wc -w`");
    // The synthesis with somebody else is not done either.
    site.ok(&["done", "--reader", "ann", "-m", "seen"]);
    assert!(site.ok(&["next", "--reader", "ann"]).starts_with("synthesis-1: "));
    let told = site.run(&["run", "--", "wc", "-w"]).expect_code(1);
    assert!(told.err.contains("auwai: other readers have 1 segment\n"), "{}", told.err);
    site.ok(&["done", "--reader", "ann", "-m", "summed up"]);
    finish(&site);
}

/// 125 leaves a segment, also the synthesis.
#[test]
fn a_synthesis_that_was_left_is_not_done() {
    let site = tree();
    let script = "cat >../in; case $AUWAI_SEGMENT in synthesis-*) exit 125; esac";
    let told = shell(&site, script).expect_code(1);
    let (what, hint) = told.err.split_once('\n').unwrap();
    assert_eq!(what, "auwai: 1 segment is not done");
    assert!(hint.starts_with("hint: go on with it: `auwai run -- sh -c 'cat >../in; "), "{hint}");
}

/// In a terminal a bar is drawn by other threads than the one that waits for the workers.
#[test]
fn a_run_in_a_terminal_ends() {
    let site = tree();
    let script = "import fcntl,os,pty,signal,struct,sys,termios\n\
        pid,fd=pty.fork()\n\
        if pid==0: os.execvp('auwai',['auwai']+sys.argv[1:])\n\
        fcntl.ioctl(fd,termios.TIOCSWINSZ,struct.pack('HHHH',24,80,0,0))\n\
        def late(*_): os.kill(pid,signal.SIGKILL)\n\
        signal.signal(signal.SIGALRM,late); signal.alarm(45)\n\
        while True:\n\
        \x20try: part=os.read(fd,4096)\n\
        \x20except OSError: break\n\
        \x20if not part: break\n\
        \x20os.write(1,part)\n\
        sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid,0)[1])%256)";
    let mut python = site.command("python3");
    python.env("TERM", "xterm").args(["-c", script, "run"]).args(WINDOW);
    python.args(["--jobs", "2", "--", "sh", "-c", "cat >/dev/null; sleep 0.3"]);
    let told = tell(python).expect_code(0);
    assert!(told.text().contains("reading w"), "{}", told.text());
    assert!(told.text().contains(" tokens (100 %)"), "{}", told.text());
}

#[test]
fn progress_that_is_asked_for_is_told_in_lines_where_there_is_no_terminal() {
    let site = tree();
    let told = site.run(&[&["run"], &WINDOW[..], &["--progress", "always", "--", "wc"]].concat());
    let told = told.expect_code(0);
    let all = segments(&site, "done");
    for line in ["indexing w".to_string(), format!("reading w: read-1, 1 of {all}")] {
        assert!(told.err.contains(&format!("auwai: {line}\n")), "{}", told.err);
    }
    assert_eq!(site.run(&["index", "--progress", "never"]).err, "");
}

#[test]
fn only_workers_are_called_as_workers_and_others_keep_their_segments() {
    let site = tree();
    site.ok(&[&["plan"], &WINDOW[..]].concat());
    let told = site.run(&["next", "--reader", "run-1"]).expect_code(2);
    assert!(told.err.contains("'run-1' is a reader of `auwai run`"), "{}", told.err);
    site.ok(&["next", "--reader", "run-alice"]);
    let told = site.run(&["run", "--", "wc"]).expect_code(1);
    assert!(told.err.contains("read-1 was left to reader 'run-alice', who has it"), "{}", told.err);
    let holder = "SELECT segment_id, reader FROM claims";
    assert_eq!(ask(&site, holder), "read-1 run-alice");
}

/// Whoever sets AUWAI_READER reads beside the run, and not as one of its workers.
#[test]
fn a_segment_that_somebody_took_over_meanwhile_stays_theirs() {
    let site = tree();
    let script = "cat >/dev/null; test $AUWAI_SEGMENT = read-2 || exit 0; \
        auwai-ledger release --workspace . --segment read-2 --reader run-1 && \
        auwai-ledger claim --workspace . --reader ann >/dev/null; exit 125";
    let args = [&["run"], &WINDOW[..], &["--", "sh", "-c", script]].concat();
    let told = tell(site.auwai(&args)).expect_code(1);
    assert!(told.err.contains("read-2 was left to reader 'ann', who has it"), "{}", told.err);
    assert_eq!(ask(&site, "SELECT segment_id, reader FROM claims"), "read-2 ann");
    let mut command = site.auwai(&["run", "--", "sh", "-c", "exit 125"]);
    command.env("AUWAI_READER", "ann");
    tell(command).expect_code(1);
    assert_eq!(ask(&site, "SELECT segment_id, reader FROM claims"), "read-2 ann");
}

#[test]
fn a_mark_that_fails_stops_the_run_and_gives_back_its_segment() {
    let site = tree();
    site.ok(&[&["plan"], &WINDOW[..]].concat());
    ask(
        &site,
        "CREATE TRIGGER full BEFORE INSERT ON reads WHEN new.segment = 'read-1' \
         BEGIN SELECT RAISE(ABORT, 'no room'); END",
    );
    // The second command goes on when the first one's failure has been settled.
    let script = "cat >/dev/null; touch ../$AUWAI_SEGMENT; test $AUWAI_SEGMENT = read-1 || \
        until test -e ../go; do sleep 0.02; done";
    let args = ["run", "--jobs", "2", "--", "timeout", "100", "sh", "-c", script];
    let child = site.start(&args);
    wait_until("both", || ["read-1", "read-2"].iter().all(|id| site.path(id).exists()));
    let pending = "SELECT status FROM segments WHERE segment_id = 'read-1'";
    wait_until("the segment to come back", || ask(&site, pending) == "pending");
    fs::write(site.path("go"), "").unwrap();
    let told = child.wait_with_output().unwrap();
    let err = String::from_utf8_lossy(&told.stderr);
    assert_eq!(told.status.code(), Some(3), "{err}");
    assert!(err.contains("no room"), "{err}");
    assert_eq!((segments(&site, "done"), segments(&site, "active")), (1, 0));
    assert!(!site.path("read-3").exists());
}

/// The brief was written before the command's end was looked for.
#[test]
fn a_brief_that_nobody_takes_does_not_hold_the_run() {
    let site = Site::new();
    for n in 0..1500 {
        site.write(format!("a-folder-with-a-long-name-{n}/and-a-file-in-it-{n}.txt"), "x\n");
    }
    let begun = Instant::now();
    // What it leaves running has its standard input open, and reads nothing.
    let left = "exec 3<&0; sleep 60 <&3 > /dev/null 2>&1 & exit 0";
    let window = ["--context-window", "400k", "--fixed-prompt", "100k"];
    let told = site.run(&[&["run"], &window[..], &["--", "sh", "-c", left]].concat());
    let told = told.expect_code(3);
    assert!(told.err.contains("ended well but took 0 of 1,500 chunks"), "{}", told.err);
    assert!(begun.elapsed() < Duration::from_secs(50), "it waited for what was left running");
    let brief = site.sh("auwai next --json | jq -r .brief | wc -c").text().trim().to_string();
    assert!(brief.parse::<u64>().unwrap() > 65_536, "a pipe takes {brief} bytes at once");
}
