//! State that was edited to lead elsewhere: it is named, and leads nowhere.

use std::fs;
use std::os::unix::fs::symlink;

use super::{all_read, edit, looks, workspace_all_read};
use crate::support::site::Site;

const CONFIG: &str = ".auwai/workspace/workspace.json";

/// Changes the list of repositories with jq.
fn change(site: &Site, filter: &str) {
    site.sh(&format!("jq '{filter}' {CONFIG} >edited && cat edited >{CONFIG}")).expect_code(0);
}

#[test]
fn a_list_of_repositories_that_names_what_it_should_not() {
    let bad_names =
        ["\"a/b\"", "\"..\\/x\"", "\"a\\u0000b\"", "\"\\u001b[2J\"", "\"a\\nb\"", "\"\""];
    let names = bad_names.iter().map(|name| format!(".repositories[0].name = {name}"));
    let own_names = bad_names.iter().map(|name| format!(".name = {name}"));
    let rest = [
        ".repositories[0].path = \"r\"",
        ".repositories[0].path = \"../r\"",
        ".repositories[0].path = \"/usr/../etc\"",
        ".repositories[0].path += \"\\u0000\"",
        ".repositories[0].path_b64 = \"..\"",
        ".repositories[0].only = [\"/etc\"]",
        ".repositories[0].only = [\"../outside\"]",
        ".repositories[0].only = [\"a/../..\"]",
        ".repositories[0].only = [\"\"]",
        ".repositories[0].only = [\"a\\u0000b\"]",
        ".repositories[0].only = [\"a\"] | .repositories[0].only_b64 = [\"Li4=\"]",
        ".repositories[0].state_dir = \"s\"",
        ".repositories[0].state_dir = \"../s\"",
        ".repositories[0].state_dir = \"/tmp/../s\"",
        ".repositories += .repositories",
        ".repositories = 1",
    ];
    let site = workspace_all_read();
    let whole = fs::read(site.work(CONFIG)).unwrap();
    for filter in names.chain(own_names).chain(rest.map(str::to_string)) {
        change(&site, &filter);
        let before = looks(&site.work(".auwai"));
        for verb in [&["status"][..], &["verify"], &["plan"], &["workspace", "list"], &["next"]] {
            let told = site.run(verb).expect_code(3);
            let said = format!("'{}' cannot be understood: ", site.work(CONFIG).display());
            assert!(told.err.contains(&said), "{filter}: {}", told.err);
            assert!(!told.err.contains(['\x1b', '\0']), "{filter}: {:?}", told.err);
            assert!(told.err.contains("\nhint: "), "{filter}: {}", told.err);
            assert_eq!(told.err.lines().count(), 2, "{filter}: {}", told.err);
        }
        assert_eq!(looks(&site.work(".auwai")), before, "{filter}");
        fs::write(site.work(CONFIG), &whole).unwrap();
    }
    site.ok(&["verify"]);
}

#[test]
fn a_list_of_names_that_names_what_it_should_not() {
    let site = workspace_all_read();
    let registry = site.path("state/auwai/workspaces.json");
    for filter in [
        ".workspaces[0].root = \"w\"",
        ".workspaces[0].root += \"/..\"",
        ".workspaces[0].name = \"\\u001b[2J\"",
    ] {
        let whole = fs::read(&registry).unwrap();
        let path = registry.display();
        site.sh(&format!("jq '{filter}' {path} >edited && cat edited >{path}")).expect_code(0);
        for args in [&["-W", "demo", "status"][..], &["workspace", "list", "--all"]] {
            let told = site.run(args).expect_code(3);
            assert!(told.err.contains("cannot be understood"), "{filter}: {}", told.err);
            assert!(!told.err.contains('\x1b'), "{filter}: {:?}", told.err);
        }
        fs::write(&registry, whole).unwrap();
    }
}

/// A place outside with a secret, and ways to it in the repository `r`.
fn with_ways_out(site: &Site, secret: &str) {
    fs::create_dir(site.path("outside")).unwrap();
    fs::write(site.path("outside/secret"), secret).unwrap();
    symlink("../../outside", site.work("r/gate")).unwrap();
    symlink("../../outside/secret", site.work("r/link")).unwrap();
}

#[test]
fn a_subtree_that_is_a_link() {
    let site = workspace_all_read();
    with_ways_out(&site, "the secret\n");
    for dir in ["gate", "link"] {
        change(&site, &format!(".repositories[0].only = [\"{dir}\"]"));
        site.run(&["plan", "--force"]);
        let all = site.sh("auwai verify; auwai next; auwai read; auwai-ledger chunks -W . ; \
             auwai-ledger files --repo r");
        assert!(!all.text().contains("secret"), "{dir}: {}", all.text());
    }
}

#[test]
fn a_repository_in_whose_place_a_link_is() {
    let site = workspace_all_read();
    fs::rename(site.work("r"), site.path("moved")).unwrap();
    symlink(site.path("moved"), site.work("r")).unwrap();
    for verb in ["verify", "status", "plan"] {
        let told = site.run(&[verb]);
        let expected = if verb == "status" { 0 } else { 3 };
        assert_eq!(told.code(), expected, "{verb}: {}", told.err);
        assert!(verb == "status" || told.err.contains("any more: a link is in its place\n"));
    }
    let told = site.run(&["verify"]);
    let command = told.err.split('`').nth(1).unwrap().to_string();
    site.sh(&command).expect_code(0);
    site.ok(&["verify"]);
}

#[test]
fn what_is_written_for_others_is_never_read() {
    let site = all_read();
    for name in ["fullread.json", "findings.md"] {
        fs::write(site.work("r/.auwai/fullread").join(name), "{\"../../x\": 1}\n").unwrap();
    }
    for verb in ["status", "verify", "next"] {
        let told = site.run(&["-C", "r", verb]);
        assert!(told.code() == i32::from(verb == "next"), "{verb}: {}", told.err);
    }
    let export = fs::read_to_string(site.work("r/.auwai/fullread/fullread.json")).unwrap();
    assert!(!export.contains("../"), "{export}");
}

/// A path in a plan or an index that leads out of the repository, or through a link.
#[test]
fn a_plan_or_an_index_that_leads_outside() {
    let coverage = "r/.auwai/fullread/coverage.sqlite";
    let ledger = "r/.auwai/ledger.sqlite";
    // What is outside has the very bytes that were indexed: only its place tells it apart.
    for path in ["../../outside/secret", "/etc/passwd", "gate/secret", "link", "./b.rs", "b.rs/"] {
        for (plan, index) in [(true, false), (false, true), (true, true)] {
            let site = Site::new();
            site.write("r/b.rs", "the secret\n");
            site.ok(&["-C", "r", "plan", "--tokenizer", "bytes/4"]);
            site.ok(&["-C", "r", "next"]);
            with_ways_out(&site, "the secret\n");
            if plan {
                let files =
                    format!("UPDATE segment_records SET files = replace(files, 'b.rs', '{path}')");
                edit(&site, coverage, &files);
                edit(&site, coverage, &format!("UPDATE chunks SET path = '{path}'"));
            }
            if index {
                let key = path.replace('/', "'||x'00'||'");
                edit(
                    &site,
                    ledger,
                    &format!(
                        "UPDATE files SET key = CAST('{key}' AS BLOB) WHERE key = CAST('b.rs' AS BLOB)"
                    ),
                );
            }
            fs::remove_file(site.work("r/b.rs")).unwrap();
            for command in [
                "auwai read",
                "auwai read --segment read-1",
                "auwai read b.rs",
                &format!("auwai read {path}"),
                "auwai-ledger show -W . --segment read-1",
                &format!("auwai-ledger show --repo . {path}"),
                "auwai verify --planned",
            ] {
                let told = site.sh(&format!("cd r && {command}"));
                assert!(!told.err.contains("panicked"), "{path}: {command}: {}", told.err);
                assert!(
                    matches!(told.code(), 1 | 3),
                    "{path}: {command}: {}{}",
                    told.text(),
                    told.err
                );
                for said in [told.text(), &told.err] {
                    assert!(!said.contains("the secret"), "{path}: {command}: {said}");
                    assert!(!said.contains("root:"), "{path}: {command}: {said}");
                }
            }
            site.run(&["-C", "r", "verify"]);
            let reads = site.ask(coverage, "SELECT count(*) FROM reads");
            assert_eq!(reads, "0\n", "{path} {plan} {index}");
        }
    }
}
