//! The shape of a state change: a command says what it may touch and what it must know, decides, and
//! leaves a plan. Everything here is pure, so the whole behaviour also runs in memory.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Serialize, de::DeserializeOwned};

use super::ask::{Ask, Beside};
use super::caller::Caller;
use super::ids::{AgentId, HandoffId, IdSource, ThreadId, TurnId};
use super::plan::Event;
use super::refusal::Refusal;
use super::time::Timestamp;
use super::world::World;

/// The rows a command may touch. L locks the union of a batch's footprints.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Footprint {
    /// Heads.
    pub heads: BTreeSet<ThreadId>,
    /// Handoffs.
    pub handoffs: BTreeSet<HandoffId>,
    /// Turns.
    pub turns: BTreeSet<TurnId>,
    /// Slots of agents.
    pub slots: BTreeSet<AgentId>,
    /// Runtimes.
    pub runtimes: BTreeSet<String>,
    /// Keys that may be bound already. Not locked: L looks them up, and W's insertion is the fence.
    pub keys: BTreeSet<KeyHash>,
    /// Display names that agents may have. Not locked either.
    pub names: BTreeSet<String>,
}

impl Footprint {
    /// With the head of `thread`, where there is one.
    #[must_use]
    pub fn head(mut self, thread: impl Into<Option<ThreadId>>) -> Self {
        self.heads.extend(thread.into());
        self
    }

    /// With `handoff`, where there is one.
    #[must_use]
    pub fn handoff(mut self, handoff: impl Into<Option<HandoffId>>) -> Self {
        self.handoffs.extend(handoff.into());
        self
    }

    /// With `turn`, where there is one.
    #[must_use]
    pub fn turn(mut self, turn: impl Into<Option<TurnId>>) -> Self {
        self.turns.extend(turn.into());
        self
    }

    /// With the slots of `agent`, where there is one.
    #[must_use]
    pub fn slots(mut self, agent: impl Into<Option<AgentId>>) -> Self {
        self.slots.extend(agent.into());
        self
    }

    /// With `runtime`.
    #[must_use]
    pub fn runtime(mut self, runtime: &str) -> Self {
        self.runtimes.insert(runtime.to_owned());
        self
    }

    /// With `key`, where there is one.
    #[must_use]
    pub fn key(mut self, key: impl Into<Option<KeyHash>>) -> Self {
        self.keys.extend(key.into());
        self
    }

    /// With agents of the display name `name`.
    #[must_use]
    pub fn name(mut self, name: &str) -> Self {
        self.names.insert(name.to_owned());
        self
    }

    /// Takes in all rows of `other`.
    pub fn merge(&mut self, other: &Self) {
        self.heads.extend(&other.heads);
        self.handoffs.extend(&other.handoffs);
        self.turns.extend(&other.turns);
        self.slots.extend(other.slots.iter().cloned());
        self.runtimes.extend(other.runtimes.iter().cloned());
        self.keys.extend(&other.keys);
        self.names.extend(other.names.iter().cloned());
    }

    /// Whether both name a row.
    #[must_use]
    pub fn overlaps(&self, other: &Self) -> bool {
        !self.heads.is_disjoint(&other.heads)
            || !self.handoffs.is_disjoint(&other.handoffs)
            || !self.turns.is_disjoint(&other.turns)
            || !self.slots.is_disjoint(&other.slots)
            || !self.runtimes.is_disjoint(&other.runtimes)
    }
}

/// What must be looked up, unlocked, before a command can tell its footprint.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteAsk {
    /// Turns whose thread is wanted; that never changes.
    pub turns: BTreeSet<TurnId>,
    /// Turns whose thread's work is wanted: its parent, handoff and live turn.
    pub work: BTreeSet<TurnId>,
    /// Threads whose parent and handoff are wanted.
    pub threads: BTreeSet<ThreadId>,
    /// Handoffs whose threads are wanted.
    pub handoffs: BTreeSet<HandoffId>,
}

impl RouteAsk {
    /// Asks for the work of `turn`'s thread.
    #[must_use]
    pub fn work_of_turn(turn: TurnId) -> Self {
        Self {
            work: BTreeSet::from([turn]),
            ..Self::default()
        }
    }

    /// Asks for the threads of `handoff` besides.
    #[must_use]
    pub fn handoff(mut self, handoff: HandoffId) -> Self {
        self.handoffs.insert(handoff);
        self
    }

    /// Takes in what `other` asks.
    pub fn merge(&mut self, other: Self) {
        self.turns.extend(other.turns);
        self.work.extend(other.work);
        self.threads.extend(other.threads);
        self.handoffs.extend(other.handoffs);
    }

    /// Whether nothing is asked.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.turns.is_empty()
            && self.work.is_empty()
            && self.threads.is_empty()
            && self.handoffs.is_empty()
    }
}

/// What is known of a turn without its lock. Its ids and slot never change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TurnRoute {
    /// The thread it runs.
    pub thread_id: ThreadId,
    /// Its agent, where it holds a slot of it.
    pub slot_of: Option<AgentId>,
}

/// What is known of a thread without its lock: a hint, but for the parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ThreadRoute {
    /// Its parent.
    pub parent_thread_id: Option<ThreadId>,
    /// Its newest handoff.
    pub handoff_id: Option<HandoffId>,
    /// Its live turn.
    pub turn_id: Option<TurnId>,
    /// That turn made its first call.
    pub turn_running: bool,
}

/// What is known of a handoff without its lock. Its threads never change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandoffRoute {
    /// The thread the work is for.
    pub parent_thread_id: Option<ThreadId>,
    /// The thread that does it.
    pub child_thread_id: Option<ThreadId>,
}

/// The answers to a `RouteAsk`; ids that do not exist are left out. Threads of the turns and handoffs
/// asked for are in it too.
#[derive(Clone, Debug, Default)]
pub struct Route {
    /// By turn.
    pub turns: BTreeMap<TurnId, TurnRoute>,
    /// By thread.
    pub threads: BTreeMap<ThreadId, ThreadRoute>,
    /// By handoff.
    pub handoffs: BTreeMap<HandoffId, HandoffRoute>,
}

impl Route {
    /// The thread of `turn`, if both are known.
    #[must_use]
    pub fn thread_of_turn(&self, turn: TurnId) -> Option<ThreadId> {
        self.turns.get(&turn).map(|route| route.thread_id)
    }

    /// Everything that ending `turn` may touch.
    #[must_use]
    pub fn work_of_turn(&self, turn: TurnId) -> Footprint {
        let thread = self.thread_of_turn(turn);
        thread
            .map_or_else(Footprint::default, |thread| self.work_of_thread(thread))
            .turn(turn)
    }

    /// Everything that ending the work or the turn of `thread` may touch.
    #[must_use]
    pub fn work_of_thread(&self, thread: ThreadId) -> Footprint {
        let known = self.threads.get(&thread);
        let turn = known.and_then(|known| known.turn_id);
        Footprint::default()
            .head(thread)
            .head(known.and_then(|known| known.parent_thread_id))
            .handoff(known.and_then(|known| known.handoff_id))
            .turn(turn)
            .slots(
                turn.and_then(|turn| self.turns.get(&turn))
                    .and_then(|turn| turn.slot_of.clone()),
            )
    }

    /// Everything that ending `handoff` may touch.
    #[must_use]
    pub fn work_of_handoff(&self, handoff: HandoffId) -> Footprint {
        let mut footprint = Footprint::default().handoff(handoff);
        if let Some(known) = self.handoffs.get(&handoff) {
            footprint = footprint.head(known.parent_thread_id);
            if let Some(child) = known.child_thread_id {
                footprint.merge(&self.work_of_thread(child));
            }
        }
        footprint
    }
}

/// The stored form of a request id or an idempotency key.
pub type KeyHash = [u8; 16];

/// A digest of what a request asks for.
pub type Fingerprint = [u8; 32];

/// Why `decide` gave no plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The answer is no.
    Refused(Refusal),
    /// It turned out to touch rows that were not locked: run it again with these too.
    Needs(Footprint),
}

impl From<Refusal> for Stop {
    fn from(refusal: Refusal) -> Self {
        Self::Refused(refusal)
    }
}

/// What a command does and answers. A refusal that leaves a record has both.
#[derive(Clone, Debug)]
pub struct Decision<A> {
    /// What happens, in order.
    pub events: Vec<Event>,
    /// What the caller hears.
    pub answer: Result<A, Refusal>,
}

impl<A> Decision<A> {
    /// Answers without a change.
    #[must_use]
    pub fn unchanged(answer: A) -> Self {
        Self {
            events: Vec::new(),
            answer: Ok(answer),
        }
    }
}

/// Time and ids of a batch.
#[derive(Debug)]
pub struct Context<'a> {
    /// Database time, read after the locks.
    pub now: Timestamp,
    /// Where new ids come from.
    pub ids: &'a mut IdSource,
}

/// What a caller is told, and what a request id records.
pub trait Answer: Clone + Send + Serialize + DeserializeOwned + 'static {
    /// Says that it was given before.
    fn mark_deduplicated(&mut self);

    /// Whether a request id records it. Only what changed nothing may be left out.
    fn binds(&self) -> bool {
        true
    }
}

/// One change of state. Its file tells the whole story of the verb.
pub trait Command: Serialize + Send + Sync + 'static {
    /// What the caller hears.
    type Answer: Answer;

    /// The span and metric name, `area.verb`.
    const NAME: &'static str;

    /// Chooses the lane, by its last byte: commands of one value are done in the order they came. An
    /// id has that byte in common with the ids of its family of threads.
    fn lane_key(&self) -> u128;

    /// Who calls. It stands for the acting thread in the fingerprint of a request id.
    fn caller(&self) -> &Caller {
        &Caller::Operator
    }

    /// What must be looked up before the footprint can be told.
    fn route(&self) -> RouteAsk {
        self.caller().route()
    }

    /// The rows it may touch.
    fn footprint(&self, route: &Route) -> Footprint;

    /// What it must know that no lock guards, as far as that is known before the locks.
    fn beside(&self, route: &Route, beside: &mut Beside) {
        let _ = (route, beside);
    }

    /// What else it must know and does not lock. `world` holds the locked rows.
    fn ask(&self, world: &World, ask: &mut Ask) {
        let _ = (world, ask);
    }

    /// The decision: total, without clock or IO.
    ///
    /// # Errors
    /// `Stop::Refused` when the answer is no, `Stop::Needs` when more rows must be locked.
    fn decide(
        &self,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<Decision<Self::Answer>, Stop>;
}
