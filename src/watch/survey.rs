//! Everything that is in below a directory.

use super::visit::{self, Entry, Place};
use crate::admit::{Policy, Stat};
use crate::record::{EventKind, RepoPath};

/// Takes a path, what is there, and its stat data; false to hear no more.
pub type Sink<'a> = &'a mut dyn FnMut(RepoPath, EventKind, Option<Stat>) -> bool;

/// Tells `sink` everything that is in at `path` (`None`: the root) and below it; with `ways`, also
/// directories that are only the way to something.
pub fn below(policy: &Policy, path: Option<&RepoPath>, ways: bool, sink: Sink<'_>) {
    let (mut place, mut way) = (Place::root(), None);
    for name in path.iter().flat_map(|path| path.as_bytes().split(|b| *b == b'/')) {
        match step(policy, &place, name) {
            Some(Step::Down(next, stat)) => (place, way) = (next, Some(stat)),
            Some(Step::Leaf(path, kind, stat)) => {
                sink(path, kind, stat);
                return;
            }
            None => return,
        }
    }
    if let (true, Some(path), Some(stat)) = (ways, path, way) {
        sink(path.clone(), EventKind::Dir, Some(stat));
    }
    visit::survey(policy, place, ways, sink);
}

/// What a name leads to.
enum Step {
    /// A directory to go into.
    Down(Place, Stat),
    /// Something else.
    Leaf(RepoPath, EventKind, Option<Stat>),
}

/// One step down from a directory, which may be large, and is not listed for one name; `None` when
/// nothing is there that is in.
fn step(policy: &Policy, place: &Place, name: &[u8]) -> Option<Step> {
    let (fd, above) = place.pass(policy)?;
    match visit::entry(policy, &above, &fd, name)? {
        Entry::Dir(place, stat) => Some(Step::Down(place, stat)),
        Entry::Leaf(kind, stat) => Some(Step::Leaf(policy.path_of(&above.dir, name)?, kind, stat)),
    }
}
