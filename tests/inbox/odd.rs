//! What is no regular file, where a pointer, a task or a result should be: nothing waits for it, and
//! nothing follows it.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use rustix::fs::{CWD, FileType, Mode, mknodat};

use super::watcher::Watcher;
use super::{Place, ids};

fn fifo(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    mknodat(CWD, path, FileType::Fifo, Mode::RWXU, 0).unwrap();
}

/// A device, where one may be made; else a socket, which cannot be opened either.
fn device(path: &Path) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let zero = rustix::fs::makedev(1, 5);
    if mknodat(CWD, path, FileType::CharacterDevice, Mode::RWXU, zero).is_err() {
        drop(std::os::unix::net::UnixListener::bind(path).unwrap());
    }
}

/// An inbox in which one pointer is good and all others are odd, by themselves or by their tasks.
fn place() -> Place {
    let place = Place::new();
    place.put("ann", "good");
    for (id, odd) in [("fifo", fifo as fn(&Path)), ("device", device)] {
        for (kind, at) in [("p", "deliveries/ann"), ("t", "tasks"), ("r", "results")] {
            let id = format!("{kind}-{id}");
            place.put("ann", &id);
            let _ = fs::remove_file(place.path(format!("{at}/{id}.txt")));
            odd(&place.path(format!("{at}/{id}.txt")));
        }
    }
    place.write("outside", "secret");
    for (id, at) in [("p-link", "deliveries/ann"), ("t-link", "tasks"), ("r-link", "results")] {
        place.put("ann", id);
        let _ = fs::remove_file(place.path(format!("{at}/{id}.txt")));
        symlink(place.path("outside"), place.path(format!("{at}/{id}.txt"))).unwrap();
    }
    fs::create_dir(place.path("deliveries/ann/folder.txt")).unwrap();
    place.write("deliveries/ann/.begun.txt", "");
    place.write("deliveries/ann/no id.txt", "");
    place.write("deliveries/ann/\u{1b}[31m.txt", "");
    place
}

#[test]
fn nothing_waits_for_what_is_no_file() {
    let place = place();
    let pending = ["good", "r-device", "r-fifo", "r-link"];
    let listed = place.run(&["list", "--reader", "ann", "--pending"]).expect_code(0);
    let listed_ids = super::records(listed.text());
    let mut told = ids(&listed_ids);
    told.sort_unstable();
    assert_eq!(told, pending);
    assert!(
        listed.err.contains("is no pointer") && listed.err.contains("5 names like it"),
        "{}",
        listed.err
    );
    assert!(!listed.err.contains('\u{1b}'), "{}", listed.err);
    let all = place.ok(&["list", "--reader", "ann"]);
    let missing: Vec<_> = all.iter().filter(|task| task["state"] == "missing").cloned().collect();
    assert_eq!(ids(&missing).len(), 3, "{missing:?}");
    let watcher = Watcher::start(&place, "ann", &[]);
    watcher.wait_for(&pending);
    let mut told = watcher.ids();
    told.sort_unstable();
    assert_eq!(told, pending);
    // Those that come while it watches, too.
    fifo(&place.path("deliveries/ann/later.txt"));
    fifo(&place.path("tasks/later.txt"));
    place.put("ann", "last");
    watcher.wait_for(&["last"]);
    assert_eq!(watcher.ids().len(), 5);
}

#[test]
fn each_verb_says_what_is_in_the_way() {
    let place = place();
    for (args, code, said) in [
        (&["accept", "p-fifo"][..], 3, "is no pointer"),
        (&["accept", "p-link"], 3, "is no pointer"),
        (&["accept", "folder"], 3, "is no pointer"),
        (&["post", "t-fifo", "-m", "x"], 3, "it is a FIFO"),
        (&["post", "t-link", "-m", "x"], 3, "it is a symbolic link"),
        (&["answered", "r-fifo"], 1, "no regular file"),
        (&["answered", "r-device"], 1, "no regular file"),
    ] {
        let reader = if args[0] == "answered" { &[][..] } else { &["--reader", "ann"] };
        let told = place.run(&[args, reader].concat()).expect_code(code);
        assert!(told.err.contains(said), "{args:?}: {}", told.err);
    }
    assert_eq!(fs::read(place.path("outside")).unwrap(), b"secret");
    // Moved as they are, whatever they are.
    for id in ["p-fifo", "t-fifo", "r-fifo", "p-link", "r-link", "folder"] {
        assert_eq!(place.ok(&["archive", id])[0]["retired"], 1, "{id}");
    }
    assert_eq!(place.run(&["retire-archived"]).code(), 0);
}

#[test]
fn a_link_in_the_place_of_a_folder_leads_nowhere() {
    let place = Place::new();
    fs::create_dir_all(place.site.path("away/ann")).unwrap();
    fs::write(place.site.path("away/ann/x.txt"), "").unwrap();
    symlink(place.site.path("away"), place.path("deliveries")).unwrap();
    for args in [
        &["post", "x", "--reader", "ann", "-m", "x"][..],
        &["list", "--reader", "ann"],
        &["accept", "x", "--reader", "ann"],
        &["watch", "--reader", "ann"],
        &["retire-archived"],
        &["archive", "x"],
    ] {
        let told = place.run(args).expect_code(3);
        assert!(told.err.contains("hint: "), "{args:?}: {}", told.err);
    }
    let left = fs::read_dir(place.site.path("away/ann")).unwrap();
    assert_eq!(left.map(|e| e.unwrap().file_name()).collect::<Vec<_>>(), ["x.txt"]);
}

#[test]
fn a_root_that_is_not_there_is_told_with_the_way_out() {
    let place = Place::new();
    let told = place.run(&["--root", "nowhere", "list"]).expect_code(3);
    assert!(told.err.contains("hint: make it: `mkdir -p"), "{}", told.err);
    place.write("file", "");
    place.run(&["--root", "file", "list"]).expect_code(3);
    // A lock that is none.
    place.put("ann", "a");
    fifo(&place.path("deliveries/ann/.lock"));
    for args in [&["post", "b", "--reader", "ann", "-m", "x"][..], &["archive", "a"]] {
        let told = place.run(args).expect_code(3);
        assert!(told.err.contains("it is a FIFO"), "{}", told.err);
    }
}
