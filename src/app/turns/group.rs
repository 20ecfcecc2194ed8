//! The claims of one namespace that wait together.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use crate::app::error::Error;
use crate::app::registry::Watch;
use crate::domain::ids::{AgentId, Namespace};
use crate::store::StoreError;

use super::claim::Waiter;

/// A look that saw more than it could lock looks again after this.
pub(super) const HELD: Duration = Duration::from_millis(10);
/// Looks in a row that the database did not finish in time before claims that were just made hear of it.
const SLOW_LOOKS: u32 = 2;
/// A look that failed for the database is tried again after this.
const RETRY: Duration = Duration::from_millis(200);
/// A claim that joins others may wait so long for its first look.
const JOINING: Duration = Duration::from_secs(5);
/// Lives remembered; beyond that all are forgotten, which costs a look each.
const LIVES: usize = 65_536;

/// See the module.
#[derive(Default)]
pub(super) struct Group {
    pub(super) waiters: Vec<Waiter>,
    pub(super) watches: HashMap<AgentId, Watch>,
    /// Agents that may have something to do.
    pub(super) moved: BTreeSet<AgentId>,
    /// When to look whatever moved.
    pub(super) look_at: Option<Instant>,
    /// When the first of the claims that joined others is to have its look.
    pub(super) join_at: Option<Instant>,
    /// Looks in a row that the database did not finish in time.
    pub(super) slow_looks: u32,
    /// The present lives of runtimes, as looks found them.
    lives: HashMap<String, u64>,
}

impl Group {
    /// Takes a claim in. One that joins others finds nothing: where something had moved for its agents
    /// since they were last looked at, a look would be due already. So a thousand runtimes that ask again
    /// and again for what is not there cost no look each. What its own look is for, to find that the
    /// runtime has a newer life, can wait a little where the life was the present one a moment ago.
    pub(super) fn join(&mut self, mut waiter: Waiter) {
        let claimer = &waiter.claimer;
        let later = waiter.look_at + JOINING;
        if later < waiter.end
            && self.lives.get(&claimer.runtime_id) == Some(&claimer.incarnation)
            && waiter.agents.iter().all(|it| self.watches.contains_key(it))
        {
            waiter.look_at = later;
        }
        self.join_at = self.join_at.into_iter().chain([waiter.look_at]).min();
        self.waiters.push(waiter);
    }

    /// Whether a claim that came in has waited long enough for its first look.
    pub(super) fn join_is_due(&self) -> bool {
        self.join_at.is_some_and(|at| at <= Instant::now())
    }

    /// Takes note of lives that a look found.
    pub(super) fn note(&mut self, incarnations: BTreeMap<String, u64>) {
        if self.lives.len() >= LIVES {
            self.lives.clear();
        }
        self.lives.extend(incarnations);
    }

    /// Ends interests that nobody has any more.
    pub(super) fn forget(&mut self) {
        let wanted: BTreeSet<&AgentId> = self.waiters.iter().flat_map(|it| &it.agents).collect();
        self.watches.retain(|agent, _| wanted.contains(agent));
        self.moved.retain(|agent| wanted.contains(agent));
    }

    /// Splits off the claims that a look is not about, and tells which agents it is about: those that
    /// moved, and all of a claim that has its first look, since that is to tell which of them are known.
    pub(super) fn part(&mut self) -> (Vec<Waiter>, BTreeSet<AgentId>) {
        let now = Instant::now();
        let moved = |waiter: &Waiter| waiter.agents.iter().any(|it| self.moved.contains(it));
        let unseen = self.waiters.iter().filter(|it| !it.is_seen());
        let first = unseen.filter(|it| it.look_at <= now || moved(it));
        let mut agents: BTreeSet<AgentId> = first.flat_map(|it| &it.agents).cloned().collect();
        agents.extend(self.moved.iter().cloned());
        let asks = |waiter: &Waiter| {
            let mut covered = waiter.agents.iter().map(|it| agents.contains(it));
            if waiter.is_seen() {
                covered.any(|it| it)
            } else {
                covered.all(|it| it)
            }
        };
        let (asked, parked): (Vec<Waiter>, Vec<Waiter>) = std::mem::take(&mut self.waiters)
            .into_iter()
            .partition(asks);
        self.waiters = asked;
        let unseen = parked.iter().filter(|it| !it.is_seen());
        self.join_at = unseen.map(|it| it.look_at).min();
        (parked, agents)
    }
}

/// Resolves when an agent that is waited for moved.
pub(super) async fn moved(groups: &mut HashMap<Namespace, Group>) {
    let watches = groups
        .values_mut()
        .flat_map(|group| group.watches.values_mut());
    let moves: Vec<_> = watches.map(|watch| Box::pin(watch.peek_moved())).collect();
    if moves.is_empty() {
        std::future::pending::<()>().await;
    }
    futures_util::future::select_all(moves).await;
}

impl Group {
    /// A look came to nothing, in a session that was `reused`. It is made again, soon where that helps.
    pub(super) fn failed(&mut self, error: StoreError, reused: bool) {
        let again = match &error {
            StoreError::Busy(_) | StoreError::Conflict | StoreError::Undone(_) => Some(HELD),
            // A session that died unnoticed is replaced once; nothing happened in it.
            StoreError::Unavailable(_) if reused => Some(Duration::ZERO),
            error if error.is_slow() && self.slow_looks < SLOW_LOOKS => {
                self.slow_looks += 1;
                Some(HELD)
            }
            _ => None,
        };
        if again.is_none() {
            self.fail(error);
        }
        self.look_at = Some(Instant::now() + again.unwrap_or(RETRY));
    }

    /// The database is away: claims that were just made hear it, those that wait go on waiting.
    fn fail(&mut self, error: StoreError) {
        let error = Error::from(error);
        for waiter in std::mem::take(&mut self.waiters) {
            if waiter.is_seen() {
                self.waiters.push(waiter);
            } else {
                drop(waiter.reply.send(Err(error.clone())));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use tokio::sync::oneshot;

    use super::*;
    use crate::app::registry::Registry;
    use crate::domain::ids::Namespace;
    use crate::domain::turns::assign::Claimer;
    use crate::domain::world::Hint;

    fn claim(runtime: &str, incarnation: u64, agents: &[&str], wait: Duration) -> Waiter {
        let now = Instant::now();
        Waiter {
            namespace: Namespace("default".to_owned()),
            claimer: Claimer {
                runtime_id: runtime.to_owned(),
                incarnation,
            },
            agents: agents.iter().map(|it| AgentId((*it).to_owned())).collect(),
            max: 1,
            end: now + wait,
            look_at: now,
            reply: oneshot::channel().0,
            unseen: Some(oneshot::channel().0),
        }
    }

    /// A group in which somebody waits for these agents, and whose looks found the first life of `r`.
    fn group(agents: &[&str]) -> Group {
        let mut group = Group::default();
        let registry = Arc::new(Registry::default());
        for agent in agents {
            let agent = AgentId((*agent).to_owned());
            let watch = registry.watch(
                &Namespace("default".to_owned()),
                &Hint::Agent(agent.clone()),
            );
            group.watches.insert(agent, watch);
        }
        let mut parked = claim("other", 1, agents, Duration::from_mins(1));
        parked.unseen = None;
        group.waiters.push(parked);
        group.note(BTreeMap::from([("r".to_owned(), 1)]));
        group
    }

    #[test]
    fn a_claim_that_joins_others_costs_no_look_of_its_own() {
        let mut group = group(&["a", "b"]);
        group.join(claim("r", 1, &["a"], Duration::from_mins(1)));
        assert!(!group.join_is_due() && group.join_at.is_some());
    }

    #[test]
    fn a_claim_that_a_look_may_answer_has_it_at_once() {
        let minute = Duration::from_mins(1);
        for (what, claim) in [
            ("an older life", claim("r", 2, &["a"], minute)),
            ("a runtime that nobody saw", claim("s", 1, &["a"], minute)),
            (
                "an agent that nobody waits for",
                claim("r", 1, &["a", "c"], minute),
            ),
            (
                "a short wait",
                claim("r", 1, &["a"], Duration::from_secs(1)),
            ),
        ] {
            let mut group = group(&["a", "b"]);
            group.join(claim);
            assert!(group.join_is_due(), "{what}");
        }
    }

    #[test]
    fn a_look_is_about_what_moved_and_nobody_else() {
        let mut group = group(&["a"]);
        group.join(claim("r", 1, &["a"], Duration::from_mins(1)));
        let (parked, agents) = group.part();
        assert!(agents.is_empty() && group.waiters.is_empty());
        assert_eq!(parked.len(), 2);
        assert!(group.join_at.is_some(), "its own look is still to come");

        group.waiters = parked;
        let moved = AgentId("a".to_owned());
        group.moved.insert(moved.clone());
        let (parked, agents) = group.part();
        assert!(parked.is_empty() && group.join_at.is_none());
        assert_eq!((group.waiters.len(), agents), (2, BTreeSet::from([moved])));
    }

    #[test]
    fn a_first_look_covers_all_agents_of_its_claim() {
        let mut group = group(&["a"]);
        group.join(claim("r", 1, &["a", "c"], Duration::from_mins(1)));
        let (parked, agents) = group.part();
        assert!(parked.is_empty());
        assert_eq!(agents.len(), 2);
    }
}
