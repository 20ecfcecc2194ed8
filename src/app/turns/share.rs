//! What one waiting claim gets of a look.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use crate::domain::ask::Ask;
use crate::domain::ids::{AgentId, ThreadId};
use crate::domain::limits;
use crate::domain::refusal::Refusal;
use crate::domain::turns::assign::ClaimedTurn;
use crate::domain::world::World;

use super::claim::Waiter;

/// See the module.
pub(super) struct Share {
    pub(super) turns: Vec<ClaimedTurn>,
    bytes: usize,
    /// The next turn did not fit. Later ones might, and would overtake it.
    is_full: bool,
    pub(super) refusal: Option<Refusal>,
}

impl Share {
    /// Nothing yet, and why it stays so: the runtime has another life, or hosts unknown agents.
    pub(super) fn of(waiter: &Waiter, incarnations: &BTreeMap<String, u64>, world: &World) -> Self {
        let id = &waiter.claimer.runtime_id;
        let refusal = match incarnations.get(id) {
            None => Some(Refusal::RuntimeNotFound(id.clone())),
            Some(current) if *current != waiter.claimer.incarnation => {
                Some(Refusal::StaleIncarnation {
                    runtime_id: id.clone(),
                    current: *current,
                })
            }
            Some(_) => unknown_agent(waiter, world),
        };
        Self {
            turns: Vec::new(),
            bytes: 0,
            is_full: false,
            refusal,
        }
    }

    /// Whether it may have a turn of `agent`, if that fits.
    pub(super) fn takes(&self, waiter: &Waiter, agent: &AgentId) -> bool {
        self.refusal.is_none()
            && self.turns.len() < waiter.max
            && !self.is_full
            && waiter.agents.contains(agent)
    }

    /// Whether a turn fits the answer; the first does whatever its size. Where one does not, no other
    /// comes after it.
    pub(super) fn fits(&mut self, turn: &ClaimedTurn) -> bool {
        let fits = self.turns.is_empty() || self.bytes + turn.weight() <= limits::PAGE_BYTES;
        self.is_full = !fits;
        fits
    }

    pub(super) fn give(&mut self, turn: ClaimedTurn) {
        self.bytes += turn.weight();
        self.turns.push(turn);
    }
}

/// The first look of a claim covers all of its agents, so one whose slots it did not find is none.
fn unknown_agent(waiter: &Waiter, world: &World) -> Option<Refusal> {
    let mut agents = waiter.agents.iter().filter(|_| !waiter.is_seen());
    agents
        .find(|agent| world.slots.get(agent).is_none())
        .map(|agent| Refusal::AgentNotFound(agent.0.clone()))
}

/// The due threads with the agents in turn, so that a long queue of one starves no other; `first` moves
/// with each look, for claims that take one turn at a time.
pub(super) fn in_turn(world: &World, due: &[ThreadId], first: usize) -> Vec<(AgentId, ThreadId)> {
    let mut queues: BTreeMap<&AgentId, VecDeque<ThreadId>> = BTreeMap::new();
    for head in due.iter().filter_map(|id| world.heads.get(id)) {
        queues
            .entry(&head.agent_id)
            .or_default()
            .push_back(head.thread_id);
    }
    let mut queues: VecDeque<(&AgentId, VecDeque<ThreadId>)> = queues.into_iter().collect();
    let agents = queues.len().max(1);
    queues.rotate_left(first % agents);
    let mut order = Vec::with_capacity(due.len());
    while let Some((agent, mut queue)) = queues.pop_front() {
        if let Some(thread) = queue.pop_front() {
            order.push((agent.clone(), thread));
            queues.push_back((agent, queue));
        }
    }
    order
}

/// How many heads of each agent a look asks for.
pub(super) struct Quotas {
    pub(super) of: BTreeMap<AgentId, usize>,
    /// The waiters could take more than that.
    cut: bool,
}

impl Quotas {
    /// What the waiters can take of these agents, about `most` in all.
    pub(super) fn of(waiters: &[Waiter], agents: &BTreeSet<AgentId>, most: usize) -> Self {
        let mut of: BTreeMap<AgentId, usize> = BTreeMap::new();
        for waiter in waiters {
            for agent in &waiter.agents {
                if agents.contains(agent) {
                    *of.entry(agent.clone()).or_default() += waiter.max;
                }
            }
        }
        let share = (most / of.len().max(1)).max(1);
        let cut = of.values().any(|quota| *quota > share);
        for quota in of.values_mut() {
            *quota = (*quota).min(share);
        }
        Self { of, cut }
    }

    /// Whether due wakes may have been left out for the size of the look alone.
    pub(super) fn left_out(&self, world: &World, due: &[ThreadId]) -> bool {
        if !self.cut {
            return false;
        }
        let mut found: HashMap<&AgentId, usize> = HashMap::new();
        for head in due.iter().filter_map(|id| world.heads.get(id)) {
            *found.entry(&head.agent_id).or_default() += 1;
        }
        found
            .into_iter()
            .any(|(agent, count)| self.of.get(agent).is_some_and(|quota| count >= *quota))
    }
}

/// What must be read with the heads that may be assigned.
pub(super) fn ask(world: &World, due: &[ThreadId]) -> Ask {
    let mut ask = Ask::default();
    for head in due.iter().filter_map(|id| world.heads.get(id)) {
        if head.mail_number > head.consumed_through {
            ask.mail(
                head.thread_id,
                head.consumed_through,
                limits::MAIL_PER_READ + 1,
                limits::CLAIM_MAIL_BYTES,
            );
            ask.waking.insert(head.thread_id);
        }
        ask.work.extend(head.unfinished_handoff());
        ask.threads.insert(head.thread_id);
    }
    ask
}
