//! Looking again at the paths that changed makes a map of the tree what a fresh walk says.

use std::collections::BTreeMap;
use std::sync::Mutex;

use auwai::record::RepoPath;
use auwai::walk::{Entry, revisit};

use super::edits::{Edits, cases};
use crate::admit::random::{Random, plain, repository};
use crate::support::tree::{entries, policy, word};

type Map = BTreeMap<Vec<u8>, (String, bool, Option<auwai::walk::Stat>)>;

fn known(entry: &Entry) -> (String, bool, Option<auwai::walk::Stat>) {
    (word(entry), entry.tracked, entry.stat)
}

fn case(seed: u64) {
    let random = &mut Random(seed);
    let sandbox = if random.one_in(3) { plain(random) } else { repository(random) };
    let root = sandbox.root();
    let policy = policy(&sandbox, &root);
    let walk = || -> Map {
        entries(&policy, 1).iter().map(|(path, entry)| (path.clone(), known(entry))).collect()
    };
    let mut map = walk();
    let mut edits = Edits::of(root.clone(), random);
    for _ in 0..8 {
        (0..1 + edits.random.below(3)).for_each(|_| edits.edit());
        for path in std::mem::take(&mut edits.changed) {
            // A change of the rules is a change of the folder that they are for.
            let is_rules = matches!(path.name(), b".gitignore" | b".auwai-ignore");
            let path = if is_rules { path.parent() } else { Some(path) };
            let Some(path) = path else {
                map = walk();
                continue;
            };
            let found = Mutex::new(Map::new());
            let told = revisit(&policy, &path, &|batch| {
                for entry in batch {
                    let before =
                        found.lock().unwrap().insert(entry.path.as_bytes().to_vec(), known(&entry));
                    assert!(before.is_none(), "twice: {entry:?}");
                }
            })
            .unwrap();
            assert!(path.is_within(&told.covered), "{path:?} {told:?}");
            let is_covered =
                |name: &Vec<u8>| RepoPath::new(name.clone()).unwrap().is_within(&told.covered);
            let found = found.into_inner().unwrap();
            assert!(found.keys().all(is_covered), "{told:?}: {found:?}");
            // The next look goes to that path alone.
            if let Some(path) = told.differing {
                assert!(path.is_within(&told.covered), "{path:?}");
                let stat = found.get(path.as_bytes()).and_then(|entry| entry.2);
                assert!(policy.differs(&path, stat.as_ref()), "{path:?}");
            }
            map.retain(|name, _| !is_covered(name));
            map.extend(found);
        }
        assert_eq!(map, walk());
    }
}

#[test]
fn looking_again_at_what_changed_is_as_good_as_a_walk() {
    cases(60, case);
}
