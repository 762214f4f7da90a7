//! Whether the index has changed since a plan was made of it.

use std::collections::{BTreeSet, HashSet};

use super::source::Source;
use crate::error::Result;
use crate::record::{Plan, PlanRepo, QualifiedId};
use crate::store::coverage::Coverage;
use crate::workspace::{Member, Workspace};

/// Chunks that count as read, and of which something else was read.
pub(super) type Others = HashSet<QualifiedId>;

/// Whether the plan is of other chunks than the repositories have now, or of other repositories, as
/// far as their indices say. A plan that does not say of which it is, is never outdated; an index
/// that cannot be asked says nothing.
pub(super) fn is_outdated(plan: &Plan, workspace: &Workspace) -> bool {
    if plan.repos.iter().all(|repo| repo.fingerprint.is_none()) {
        return false;
    }
    let planned: BTreeSet<&str> = plan.repos.iter().map(|repo| repo.name.as_str()).collect();
    let members = workspace.members();
    planned != members.iter().map(|member| member.name.as_str()).collect()
        || members.iter().any(|member| {
            let repo = plan.repos.iter().find(|repo| repo.name == member.name);
            repo.is_some_and(|repo| differs(repo, member, workspace))
        })
}

/// The planned chunks that count as read, and of which other bytes were read than the index has under
/// their ids; where it has not changed there are none.
pub(super) fn other_bytes(coverage: &Coverage, workspace: &Workspace) -> Result<Others> {
    let mut others = Others::new();
    if !is_outdated(&coverage.in_force()?.plan, workspace) {
        return Ok(others);
    }
    for member in workspace.members() {
        let ledger = Source::member(member, workspace.trust()).and_then(|it| it.ledger_if_cheap());
        let Ok(Some(ledger)) = ledger else { continue };
        for (id, body) in coverage.complete(&member.name)? {
            if body.is_some_and(|body| ledger.has_other(id, &body).unwrap_or(false)) {
                others.insert(QualifiedId { repo: member.name.clone(), id });
            }
        }
    }
    Ok(others)
}

fn differs(repo: &PlanRepo, member: &Member, workspace: &Workspace) -> bool {
    let now = || -> Result<Option<String>> {
        let ledger = Source::member(member, workspace.trust())?.ledger_if_cheap()?;
        ledger.map(|ledger| ledger.fingerprint()).transpose()
    };
    let now = now().ok().flatten();
    now.is_some_and(|now| repo.fingerprint.as_ref().is_some_and(|planned| *planned != now))
}
