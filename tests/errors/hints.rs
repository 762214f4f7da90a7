//! Errors of the world outside: a file, a folder or a descriptor that is not what was meant. Each says
//! what to do.

use snapbox::{assert_data_eq, str};

use super::{planned, told};
use crate::support::site::{Site, is_root, skipped, tell};

#[test]
fn files_that_options_name() {
    let site = planned();
    let told = |args: &[&str]| told(&site, &site.run(args));
    assert_data_eq!(
        told(&["plan", "--force", "--order", "missing"]),
        str![[r#"
exit 3
auwai: cannot read '[W]/missing': No such file or directory
hint: give a file with one glob a line: `echo 'src/*' >FILE`

"#]]
    );
    site.write("globs", "src/[a\n");
    assert_data_eq!(
        told(&["plan", "--force", "--order", "globs"]),
        str![[r#"
exit 2
auwai: not a glob for --order: 'src/[a': unclosed character class; missing ']'
hint: write it as in .gitignore, such as `src/**/*.rs`

"#]]
    );
    site.ok(&["read"]);
    assert_data_eq!(
        told(&["done", "-F", "missing"]),
        str![[r#"
exit 3
auwai: cannot read '[W]/missing': No such file or directory
hint: say what was found on the command line instead: `auwai done -m 'TEXT'`

"#]]
    );
    site.write("binary", [0xff, 0, 0xfe]);
    assert_data_eq!(
        told(&["done", "-F", "binary"]),
        str![[r#"
exit 3
auwai: '[W]/binary' is not text in UTF-8
hint: make it so: `iconv -f ENCODING -t UTF-8 FILE | auwai done -F -`

"#]]
    );
    let site = Site::new();
    assert_data_eq!(
        super::told(&site, &site.sh("auwai-plan missing")),
        str![[r#"
exit 3
auwai-plan: cannot open 'missing': No such file or directory
hint: write it first: `auwai-ledger chunks --workspace . >FILE`

"#]]
    );
}

#[test]
fn folders_that_are_not_there() {
    let site = planned();
    let told = |args: &[&str]| told(&site, &site.run(args));
    assert_data_eq!(
        told(&["-W", "./nope/there", "status"]),
        str![[r#"
exit 3
auwai: cannot open '[W]/./nope/there': No such file or directory
hint: see which folders there are: `ls [W]`

"#]]
    );
    assert_data_eq!(
        told(&["index", "--repo", "r/nope"]),
        str![[r#"
exit 3
auwai: cannot open '[W]/r/nope': No such file or directory
hint: see which folders there are: `ls [W]/r`

"#]]
    );
    assert_data_eq!(
        super::told(&site, &site.sh("auwai-ledger scan --repo r/nope/there")),
        str![[r#"
exit 3
auwai-ledger: cannot open 'r/nope/there': No such file or directory
hint: see which folders there are: `ls [W]/r`

"#]]
    );
}

#[test]
fn too_many_open_files() {
    let site = planned();
    assert_data_eq!(
        told(&site, &site.sh("ulimit -n 6; auwai status")),
        str![[r#"
exit 3
auwai: cannot start 'auwai': Too many open files
hint: let more files be open: `ulimit -n 4096`, and run the command again

"#]]
    );
}

#[test]
fn an_output_that_is_closed() {
    let site = planned();
    assert_data_eq!(
        told(&site, &site.sh("auwai read >&-")),
        str![[r#"
exit 3
auwai: cannot write to 'standard output': Bad file descriptor
hint: open standard output, to a pipe or a file: `auwai read | less`

"#]]
    );
}

#[test]
fn a_name_that_cannot_be_kept_is_told_once() {
    let site = Site::new();
    site.write("file", "");
    let mut init = site.auwai(&["workspace", "init", "demo"]);
    init.env("XDG_STATE_HOME", site.work("file/state"));
    assert_data_eq!(
        told(&site, &tell(init)),
        str![[r#"
exit 0
auwai: the name 'demo' is not kept: Not a directory
hint: name the workspace by its path: `auwai plan -W [W]`

"#]]
    );
    let mut homeless = site.auwai(&["workspace", "init", "demo"]);
    homeless.env_remove("XDG_STATE_HOME").env_remove("HOME");
    assert_data_eq!(
        told(&site, &tell(homeless)),
        str![[r#"
exit 0
auwai: the name 'demo' is not kept: neither XDG_STATE_HOME nor HOME is set
hint: name the workspace by its path: `auwai plan -W [W]`

"#]]
    );
}

#[test]
fn a_workspace_where_nothing_can_be_written() {
    let site = Site::new();
    site.write("file", "");
    let below_a_file = site.run(&["workspace", "init", "demo", "--root", "file/w"]);
    assert_data_eq!(
        told(&site, &below_a_file),
        str![[r#"
exit 3
auwai: cannot create '[W]/file/w': Not a directory
hint: make it in a folder that you may write: `auwai workspace init NAME --root DIR`

"#]]
    );
    if !is_root() {
        skipped("a_workspace_where_nothing_can_be_written: only root can become somebody else");
        return;
    }
    let nobody = site.run_as_nobody(&["workspace", "init", "demo"]);
    assert_data_eq!(
        told(&site, &nobody),
        str![[r#"
exit 3
auwai: cannot write the state folder '[W]/.auwai': Permission denied
hint: make it in a folder that you may write: `auwai workspace init NAME --root DIR`

"#]]
    );
}
