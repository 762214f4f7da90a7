//! The manual: generated, committed, complete, and clean.

use std::path::PathBuf;
use std::process::Command;

use auwai::cli::man::subcommands;
use auwai::porcelain::man::{PAGES, Page, auwai, find, inbox, ledger, plan, wait_events};

const REFRESH: &str = "AUWAI_REFRESH=1 cargo test --test suite man::";

fn path(page: &Page) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("man").join(page.file())
}

fn text(page: &Page) -> String {
    std::fs::read_to_string(path(page)).unwrap()
}

#[test]
fn the_pages_are_what_the_commands_and_the_prose_say() {
    for page in PAGES {
        let made = page.make();
        if std::env::var_os("AUWAI_REFRESH").is_some() {
            std::fs::write(path(page), &made).unwrap();
        }
        assert!(text(page) == made, "man/{} is not up to date: run `{REFRESH}`", page.file());
    }
}

#[test]
fn no_file_in_man_is_left_over() {
    for entry in std::fs::read_dir(path(&PAGES[0]).parent().unwrap()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(PAGES.iter().any(|page| page.file() == name), "man/{name} is no page");
    }
}

#[test]
fn mandoc_has_nothing_to_say() {
    for page in PAGES {
        let lint = Command::new("mandoc").args(["-Tlint", "-Wwarning"]).arg(path(page)).output();
        let lint = lint.expect("mandoc is needed to check the pages: install it");
        let said = String::from_utf8_lossy(&lint.stdout).into_owned();
        assert!(lint.status.success() && said.is_empty(), "{said}");
    }
}

/// What has a heading of its own in a page: an own test of the roff, not of the generator's blocks.
fn headings(text: &str) -> Vec<&str> {
    text.lines().filter_map(|line| line.strip_prefix(".SS \"")?.strip_suffix('"')).collect()
}

#[test]
fn every_command_has_a_page_that_describes_it() {
    for command in subcommands(&auwai()) {
        let page = find(command.get_name());
        let page = page.unwrap_or_else(|| panic!("no page describes 'auwai {command}'"));
        let below: Vec<&str> = subcommands(command).map(|verb| verb.get_name()).collect();
        let own = if below.is_empty() { vec![command.get_name()] } else { below };
        for verb in own {
            assert!(headings(&text(page)).contains(&verb), "{} lacks {verb}", page.file());
        }
    }
}

/// The tools whose verbs are in their own page.
fn with_verbs() -> [(&'static str, clap::Command); 2] {
    [("auwai-ledger", ledger()), ("auwai-inbox", inbox())]
}

#[test]
fn every_verb_of_a_tool_is_in_its_page() {
    for (name, tool) in with_verbs() {
        let page = find(name).unwrap();
        for verb in subcommands(&tool) {
            let heading = verb.get_name().replace('-', "\\-");
            assert!(headings(&text(page)).contains(&heading.as_str()), "{verb} is missing");
        }
    }
}

#[test]
fn every_option_is_in_the_page_of_its_command() {
    let options = |command: &clap::Command| -> Vec<String> {
        let own = command.get_arguments().filter_map(|arg| arg.get_long());
        own.map(|long| format!("\\-\\-{}", long.replace('-', "\\-"))).collect()
    };
    let tools = [("auwai-plan", plan()), ("auwai-wait-events", wait_events()), ("auwai", auwai())];
    for (page, command) in tools {
        for option in options(&command) {
            assert!(text(find(page).unwrap()).contains(&option), "{page} lacks {option}");
        }
    }
    for (name, tool) in with_verbs() {
        for (verb, option) in
            subcommands(&tool).flat_map(|v| options(v).into_iter().map(move |o| (v, o)))
        {
            assert!(text(find(name).unwrap()).contains(&option), "{name} {verb}: {option}");
        }
    }
}

#[test]
fn no_prose_has_a_list_of_points() {
    for page in PAGES.iter().filter(|page| !page.is_guide()) {
        let point = page.prose.lines().find(|line| line.starts_with("- "));
        assert_eq!(point, None, "{}: points run together, write entries", page.file());
    }
}

#[test]
fn see_also_names_pages_that_are_there() {
    let reference = |word: &str| -> Option<String> {
        let (name, rest) = word.split_once("\\fR(")?;
        let name = name.strip_prefix("\\fB")?.replace("\\-", "-");
        Some(format!("{name}.{}", rest.split_once(')')?.0))
    };
    for page in PAGES {
        let text = text(page);
        let (_, see_also) = text.split_once(".SH SEE ALSO\n").expect("a page ends with SEE ALSO");
        let names: Vec<String> = see_also.split_whitespace().filter_map(reference).collect();
        assert!(!names.is_empty(), "{} names no other page", page.file());
        for name in names {
            let known = PAGES.iter().any(|page| page.file() == name);
            assert!(known && name != page.file(), "{}: SEE ALSO names {name}", page.file());
        }
    }
}
