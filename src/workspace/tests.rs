#![cfg(test)]
#![allow(clippy::unwrap_used)]

use std::ffi::OsStr;

use super::*;
use crate::admit::Surroundings;
use crate::record::RepoPath;

struct Folder(tempfile::TempDir);

fn own() -> Trust {
    Trust::new(false, None)
}

fn init(root: &Path, name: &str) -> Result<Workspace> {
    Workspace::init(root, name, own())
}

fn add(
    ws: &mut Workspace,
    path: &Path,
    name: Option<&str>,
    only: &[PathBuf],
    state_dir: Option<&Path>,
) -> Result<Member> {
    ws.add(path, &Added { name, only, state_dir, around: &Surroundings::default() })
}

fn at(path: &Path, elsewhere: Option<&Path>) -> Result<Workspace> {
    Workspace::at(path, &Terms { elsewhere: elsewhere.map(Path::to_owned), trust: own() })
}

fn open(typed: &str, dir: &Folder, registry: &Registry) -> Result<Workspace> {
    Workspace::open(Path::new(typed), &dir.path(), registry, &Terms::at_home(own()))
}

impl Folder {
    fn new() -> Folder {
        Folder(tempfile::tempdir().unwrap())
    }

    fn path(&self) -> PathBuf {
        self.0.path().canonicalize().unwrap()
    }

    fn folder(&self, name: impl AsRef<Path>) -> PathBuf {
        let path = self.path().join(name);
        fs::create_dir_all(&path).unwrap();
        path
    }

    fn workspace(&self) -> Workspace {
        init(&self.folder("ws"), "demo").unwrap()
    }
}

#[test]
fn members_are_kept_and_found_by_name() {
    let dir = Folder::new();
    let mut ws = dir.workspace();
    add(&mut ws, &dir.folder("core"), None, &[], None).unwrap();
    add(&mut ws, &dir.folder("x y"), Some("xy"), &[], Some(Path::new("/s"))).unwrap();
    let again = at(&dir.path().join("ws"), None).unwrap();
    assert_eq!(again, ws);
    assert_eq!(again.member("xy").unwrap().path, dir.path().join("x y"));
    assert_eq!(
        again.member("zz").unwrap_err().hints(),
        ["it has core, xy: `auwai workspace list`"]
    );
    ws.remove("core").unwrap();
    assert_eq!(ws.members().len(), 1);
}

#[test]
fn any_path_survives_the_file() {
    use std::os::unix::ffi::OsStrExt;
    let dir = Folder::new();
    let mut ws = dir.workspace();
    let odd = dir.folder(OsStr::from_bytes(b"a\nb\xff"));
    fs::create_dir_all(odd.join(OsStr::from_bytes(b"s\xfe"))).unwrap();
    let only = [PathBuf::from(OsStr::from_bytes(b"./s\xfe/"))];
    assert_eq!(add(&mut ws, &odd, None, &[], None).unwrap().name, "a-b-");
    ws.remove("a-b-").unwrap();
    add(&mut ws, &odd, Some("odd"), &only, Some(&odd)).unwrap();
    let again = at(ws.root(), None).unwrap();
    let member = again.member("odd").unwrap();
    assert_eq!((&member.path, member.state_dir.as_ref()), (&odd, Some(&odd)));
    assert_eq!(member.only, [RepoPath::new(b"s\xfe".to_vec()).unwrap()]);
    assert!(member.root().is_ok());
}

#[test]
fn a_name_moves_when_it_is_typed_and_is_taken_when_not() {
    let dir = Folder::new();
    let mut ws = dir.workspace();
    let (one, two) = (dir.folder("a/lib"), dir.folder("b/lib"));
    add(&mut ws, &one, None, &[], None).unwrap();
    let error = add(&mut ws, &two, None, &[], None).unwrap_err();
    assert_eq!(error.code(), "name-taken");
    assert!(error.hints()[0].contains("--as NAME"), "{:?}", error.hints());
    add(&mut ws, &two, Some("lib"), &[], None).unwrap();
    assert_eq!(ws.member("lib").unwrap().path, two);
}

#[test]
fn a_repository_that_moved_away_is_named_with_the_way_back() {
    let dir = Folder::new();
    let mut ws = dir.workspace();
    let old = dir.folder("old/lib");
    add(&mut ws, &old, None, &[], None).unwrap();
    let new = dir.folder("new").join("lib");
    fs::rename(&old, &new).unwrap();
    let error = ws.member("lib").unwrap().root().unwrap_err();
    assert_eq!(error.code(), "gone");
    assert_eq!(error.hints()[0], "say where it is: `auwai workspace add NEWPATH --as lib`");
    add(&mut ws, &new, None, &[], None).unwrap();
    assert!(ws.member("lib").unwrap().root().is_ok());
}

#[test]
fn one_real_path_is_one_repository() {
    let dir = Folder::new();
    let mut ws = dir.workspace();
    let real = dir.folder("real");
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&real, &link).unwrap();
    add(&mut ws, &real, None, &[], None).unwrap();
    assert_eq!(
        add(&mut ws, &link, Some("other"), &[], None).unwrap_err().code(),
        "same-repository"
    );
    add(&mut ws, &link, Some("real"), &[], None).unwrap();
    assert_eq!(ws.members().len(), 1);
}

#[test]
fn a_repository_inside_another_needs_a_walk_that_stops_there() {
    let dir = Folder::new();
    let (outer, inner) = (dir.folder("outer"), dir.folder("outer/sub/inner"));
    let refused = |first: &Path, second: &Path| {
        let mut ws = init(&dir.folder("refused"), "r").unwrap();
        for member in ws.members().to_vec() {
            ws.remove(&member.name).unwrap();
        }
        add(&mut ws, first, None, &[], None).unwrap();
        add(&mut ws, second, None, &[], None).map(|_| ()).map_err(|e| e.code().to_string())
    };
    assert_eq!(refused(&outer, &inner), Err("nested".to_string()));
    assert_eq!(refused(&inner, &outer), Err("nested".to_string()));
    // What is called like a repository's folder makes none.
    fs::create_dir_all(inner.join(".git/objects")).unwrap();
    assert_eq!(refused(&outer, &inner), Err("nested".to_string()));
    fs::create_dir_all(inner.join(".git/refs")).unwrap();
    fs::write(inner.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    assert_eq!(refused(&outer, &inner), Ok(()));
    assert_eq!(refused(&inner, &outer), Ok(()));
}

#[test]
fn a_bounded_outer_walk_leaves_room_for_an_inner_repository() {
    let dir = Folder::new();
    let (outer, inner) = (dir.folder("outer"), dir.folder("outer/sub/inner"));
    dir.folder("outer/src");
    let mut ws = dir.workspace();
    add(&mut ws, &outer, None, &[PathBuf::from("src/")], None).unwrap();
    add(&mut ws, &inner, None, &[], None).unwrap();
    let error = add(&mut ws, &outer, None, &[PathBuf::from("sub")], None).unwrap_err();
    assert_eq!(error.code(), "nested");
}

#[test]
fn a_file_is_no_repository() {
    let dir = Folder::new();
    let file = dir.path().join("f");
    fs::write(&file, "").unwrap();
    let mut ws = dir.workspace();
    assert_eq!(add(&mut ws, &file, None, &[], None).unwrap_err().code(), "not-a-folder");
    assert_eq!(
        add(&mut ws, &dir.path().join("no"), None, &[], None).unwrap_err().code(),
        "not-found"
    );
    assert_eq!(at(&file, None).unwrap_err().code(), "not-a-folder");
}

#[test]
fn adding_at_once_loses_nothing() {
    let dir = Folder::new();
    let ws = dir.workspace();
    std::thread::scope(|scope| {
        for n in 0..8 {
            let (mut ws, path) = (ws.clone(), dir.folder(format!("r{n}")));
            scope.spawn(move || add(&mut ws, &path, None, &[], None).unwrap());
        }
    });
    assert_eq!(at(ws.root(), None).unwrap().members().len(), 8);
}

#[test]
fn a_registered_name_opens_its_workspace() {
    let dir = Folder::new();
    let ws = dir.workspace();
    let registry = Registry::below(Some(&dir.path()));
    let open = |name: &str| open(name, &dir, &registry);
    assert_eq!(open("demo").unwrap_err().code(), "unknown-workspace");
    registry.record("demo", ws.root()).unwrap();
    assert_eq!(open("demo").unwrap(), ws);
    assert_eq!(open("./ws").unwrap(), ws);
    let other = init(&dir.folder("other"), "demo").unwrap();
    assert_eq!(registry.record("demo", other.root()).unwrap_err().code(), "name-taken");
    fs::remove_dir_all(ws.root()).unwrap();
    assert_eq!(open("demo").unwrap_err().code(), "gone");
    registry.record("demo", other.root()).unwrap();
    assert_eq!(open("demo").unwrap(), other);
}

#[test]
fn paths_work_where_names_cannot_be_kept() {
    let dir = Folder::new();
    fs::write(dir.path().join("file"), "").unwrap();
    let ws = dir.workspace();
    for registry in [Registry::below(None), Registry::below(Some(&dir.path().join("file")))] {
        assert_eq!(registry.record("demo", ws.root()).unwrap_err().code(), "not-writable");
        let open = open("ws", &dir, &registry);
        assert_eq!(open.unwrap(), ws);
    }
}

#[test]
fn a_root_is_one_workspace() {
    let dir = Folder::new();
    let ws = dir.workspace();
    assert_eq!(init(ws.root(), "demo").unwrap(), ws);
    assert_eq!(init(ws.root(), "other").unwrap_err().code(), "exists");
    assert_eq!(init(ws.root(), "a/b").unwrap_err().code(), "bad-name");
}

#[test]
fn a_repository_alone_is_a_workspace_of_one() {
    let dir = Folder::new();
    let repo = dir.folder("lib");
    let mut ws = at(&repo, None).unwrap();
    assert_eq!((ws.name(), ws.members().len()), ("lib", 1));
    assert_eq!(ws.fullread_dir(), repo.join(".auwai/fullread"));
    assert_eq!(add(&mut ws, &repo, None, &[], None).unwrap_err().code(), "alone");
    let elsewhere = at(&repo, Some(&dir.path().join("s"))).unwrap();
    assert!(elsewhere.create_fullread_dir().unwrap().starts_with(dir.path().join("s")));
    assert!(!repo.join(".auwai").exists());
    let ws = dir.workspace();
    assert_eq!(at(ws.root(), Some(&dir.path().join("s"))).unwrap(), ws);
}

#[test]
fn any_folder_can_be_read_alone() {
    let dir = Folder::new();
    let name = |folder: &str| at(&dir.folder(folder), None).unwrap().name().to_string();
    assert_eq!(name("my lib"), "my-lib");
    assert_eq!(name("a\nb:c"), "a-b-c");
    assert_eq!(at(Path::new("/"), None).unwrap().name(), "root");
}

#[test]
fn the_nearest_is_found_upwards() {
    let dir = Folder::new();
    let ws = dir.workspace();
    let deep = dir.folder("ws/repo/src/deep");
    fs::create_dir_all(ws.root().join("repo/.git")).unwrap();
    assert_eq!(workspace_around(&deep).as_deref(), Some(ws.root()));
    assert_eq!(repository_around(&deep), ws.root().join("repo"));
    assert_eq!(workspace_around(&dir.path()), None);
}

#[test]
fn a_damaged_file_is_reported() {
    let dir = Folder::new();
    let ws = dir.workspace();
    fs::write(ws.root().join(".auwai/workspace/workspace.json"), "{").unwrap();
    let error = at(ws.root(), None).unwrap_err();
    assert_eq!(error.code(), "damaged");
}
