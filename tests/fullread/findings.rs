//! Findings: what the database has, findings.md has too.

use std::fs;

use crate::support::site::Site;

fn two_found() -> (Site, std::path::PathBuf) {
    let site = Site::new();
    for name in ["a", "b"] {
        let lines = (1..=2000).map(|n| format!("line {name} {n}\n"));
        site.write(name, lines.collect::<String>());
    }
    site.ok(&["plan", "--context-window", "24k"]);
    for found in ["first\nfinding", "second"] {
        site.ok(&["next"]);
        site.ok(&["read"]);
        site.ok(&["done", "-m", found]);
    }
    let file = site.work(".auwai/fullread/findings.md");
    (site, file)
}

#[test]
fn what_was_lost_of_the_file_later_is_mended_by_the_next_command() {
    let (site, file) = two_found();
    let whole = fs::read(&file).unwrap();
    for left in [0, 1, whole.len() / 2, whole.len() - 10, whole.len() - 1] {
        fs::write(&file, &whole[..left]).unwrap();
        site.ok(&["status"]);
        assert_eq!(fs::read(&file).unwrap(), whole, "{left} bytes were left");
    }
    fs::remove_file(&file).unwrap();
    site.ok(&["next"]);
    assert_eq!(fs::read(&file).unwrap(), whole);
    let noted = [&whole[..], b"a note of mine\n"].concat();
    fs::write(&file, &noted).unwrap();
    site.ok(&["status"]);
    assert_eq!(fs::read(&file).unwrap(), noted);
}

#[test]
fn a_summary_has_an_end() {
    let site = Site::new();
    site.write("a", "x\n");
    site.ok(&["plan"]);
    site.ok(&["next"]);
    site.ok(&["read"]);
    let told = site.run(&["done", "-F", "/dev/zero"]).expect_code(3);
    assert!(
        told.err.starts_with("auwai: '/dev/zero' is longer than 1 MiB\nhint: "),
        "{}",
        told.err
    );
    site.ok(&["done", "-m", "short"]);
}
