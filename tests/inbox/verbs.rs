//! The verbs that change a state: each is a rename, and says what it did.

use std::fs;

use serde_json::json;

use super::{Place, ids};

#[test]
fn a_task_is_posted_once_and_told_by_its_pointer() {
    let place = Place::new();
    let posted = place.ok(&["post", "a", "--reader", "ann", "-m", "do it", "--priority", "4"]);
    assert_eq!((&posted[0]["state"], &posted[0]["priority"]), (&json!("pending"), &json!(4)));
    let files = place.files();
    assert_eq!(
        files,
        [
            ("deliveries/ann/a.txt".to_string(), "tasks/a.txt\n".to_string()),
            ("tasks/a.txt".to_string(), "priority: 4\ndo it\n".to_string()),
        ]
    );
    // Twice is once, also when it has been accepted.
    place.ok(&["accept", "a", "--reader", "ann"]);
    let again = place.ok(&["post", "a", "--reader", "ann", "-m", "do it", "--priority", "4"]);
    assert_eq!(again[0]["state"], "accepted");
    let other = place.run(&["post", "a", "--reader", "ann", "-m", "do that"]).expect_code(1);
    assert!(other.err.contains("says something else"), "{}", other.err);
    assert_eq!(place.names(), ["deliveries/ann/a.accepted", "tasks/a.txt"]);
    // The same for another reader is another pointer.
    place.ok(&["post", "a", "--reader", "bob", "-m", "do it", "--priority", "4"]);
    assert!(place.path("deliveries/bob/a.txt").is_file());
}

#[test]
fn tasks_are_posted_from_records_and_from_files() {
    let place = Place::new();
    place.write(
        "in.jsonl",
        concat!(
            r#"{"v":1,"type":"task","id":"a","text":"one"}"#,
            "\n",
            r#"{"v":1,"type":"end","of":"segment","count":1}"#,
            "\n",
            r#"{"v":1,"type":"task","id":"b","reader":"bob","priority":2,"text":"two"}"#,
            "\n",
        ),
    );
    let told = place.site.sh("AUWAI_READER=ann auwai-inbox post < in.jsonl").expect_code(0);
    assert_eq!(ids(&super::records(told.text())), ["a", "b"]);
    assert!(place.path("deliveries/ann/a.txt").is_file());
    let read = |name: &str| fs::read_to_string(place.path(name)).unwrap();
    assert_eq!(
        (read("tasks/a.txt"), read("tasks/b.txt")),
        ("one\n".into(), "priority: 2\ntwo\n".into())
    );
    place.site.sh("echo three | auwai-inbox post c; auwai-inbox post d -F in.jsonl").expect_code(0);
    assert_eq!(read("tasks/c.txt"), "three\n");
    assert_eq!(read("tasks/d.txt"), read("in.jsonl"));
    assert!(place.path("deliveries/default/c.txt").is_file());
}

#[test]
fn a_bad_record_is_named_and_what_came_before_is_posted() {
    let place = Place::new();
    let good = r#"{"v":1,"type":"task","id":"good","text":"x"}"#;
    for (bad, said) in [
        (r#"{"v":1,"type":"task","id":"../x","text":"x"}"#, "-:2: '../x' is no id"),
        (r#"{"v":1,"type":"task","id":"x\ny","text":"x"}"#, r"-:2: 'x\x0ay' is no id"),
        (r#"{"v":1,"type":"task","id":"x","reader":"a/b","text":"x"}"#, "-:2: 'a/b' is no name"),
        (r#"{"v":1,"type":"task","id":"x"}"#, "-:2: the task 'x' says nothing"),
        (r#"{"v":1,"type":"task","id":"x","text":" \n"}"#, "-:2: the task 'x' says nothing"),
        (r#"{"v":1,"type":"task","id":"x","priority":-1,"text":"x"}"#, "-:2: not a task record"),
        ("x", "-:2: not a record"),
    ] {
        place.write("in.jsonl", format!("{good}\n{bad}\n"));
        let told = place.site.sh("auwai-inbox post --reader ann < in.jsonl").expect_code(3);
        assert!(told.err.contains(said), "{bad}: {}", told.err);
        assert_eq!(ids(&super::records(told.text())), ["good"], "{bad}");
    }
    let torn = place.site.sh(&format!("printf '%s' '{good}' | auwai-inbox post")).expect_code(3);
    assert!(torn.err.contains("cut off"), "{}", torn.err);
    place.run(&["post", "blank", "-m", " "]).expect_code(3);
    assert_eq!(place.names(), ["deliveries/ann/good.txt", "in.jsonl", "tasks/good.txt"]);
}

/// One that is refused does not keep the others from being posted.
#[test]
fn what_is_refused_is_told_at_the_end() {
    let place = Place::new();
    place.ok(&["post", "a", "-m", "one"]);
    let records = r#"printf '{"v":1,"type":"task","id":"%s","text":"two"}\n' a b"#;
    let told = place.site.sh(&format!("{records} | auwai-inbox post --json")).expect_code(1);
    let told = super::records(told.text());
    assert_eq!((&told[0]["id"], &told[1]["code"]), (&json!("b"), &json!("exists")));
}

#[test]
fn of_two_who_accept_one_does() {
    let place = Place::new();
    for n in 0..5 {
        let id = format!("t{n}");
        place.put("ann", &id);
        let args = ["accept", &id, "--reader", "ann"];
        let started: Vec<_> = (0..4).map(|_| place.command(&args).spawn().unwrap()).collect();
        let ended = started.into_iter().map(|mut child| child.wait().unwrap().code().unwrap());
        let mut codes: Vec<i32> = ended.collect();
        codes.sort_unstable();
        assert_eq!(codes, [0, 1, 1, 1]);
        assert!(place.path(format!("deliveries/ann/{id}.accepted")).is_file());
    }
}

#[test]
fn what_is_accepted_can_be_given_back() {
    let place = Place::new();
    place.put("ann", "a");
    let code = |args: &[&str]| place.run(args).code();
    assert_eq!(code(&["release", "a", "--reader", "ann"]), 0);
    assert_eq!(place.ok(&["accept", "a", "--reader", "ann"])[0]["state"], "accepted");
    assert_eq!(place.ok(&["release", "a", "--reader", "ann"])[0]["state"], "pending");
    assert!(place.path("deliveries/ann/a.txt").is_file());
    // Another reader's, and one that nobody knows.
    assert_eq!(code(&["accept", "a", "--reader", "bob"]), 1);
    assert_eq!(code(&["release", "a", "--reader", "bob"]), 1);
    assert_eq!(code(&["accept", "b", "--reader", "ann"]), 3);
    let told = place.run(&["accept", "b", "--reader", "ann"]);
    assert!(
        told.err.contains("there is no task 'b'") && told.err.contains("hint: "),
        "{}",
        told.err
    );
}

#[test]
fn a_list_is_in_the_order_of_a_sweep_with_the_state_of_each() {
    let place = Place::new();
    for (id, age, text) in [
        ("old", 300, "x"),
        ("young", 100, "x"),
        ("urgent", 10, "at once\npriority: 9\n"),
        ("less", 200, "priority: 3"),
        ("quoted", 400, "> priority: 99"),
    ] {
        place.put("ann", id);
        place.write(format!("tasks/{id}.txt"), text);
        let when = std::time::SystemTime::now() - std::time::Duration::from_secs(age);
        let pointer = place.path(format!("deliveries/ann/{id}.txt"));
        fs::File::open(pointer).unwrap().set_modified(when).unwrap();
    }
    place.ok(&["accept", "less", "--reader", "ann"]);
    place.answer("old");
    let listed = place.ok(&["list", "--reader", "ann"]);
    assert_eq!(ids(&listed), ["urgent", "less", "quoted", "old", "young"]);
    let states: Vec<_> = listed[..5].iter().map(|task| task["state"].as_str().unwrap()).collect();
    assert_eq!(states, ["pending", "accepted", "pending", "answered", "pending"]);
    assert_eq!(
        ids(&place.ok(&["list", "--reader", "ann", "--pending"])),
        ["urgent", "quoted", "young"]
    );
    place.put("bob", "his");
    assert_eq!(
        ids(&place.ok(&["list", "--all", "--pending"])),
        ["urgent", "quoted", "young", "his"]
    );
    assert_eq!(
        place.ok(&["list", "--reader", "nobody"]),
        [json!({"v": 1, "type": "end", "of": "task", "count": 0})]
    );
}
