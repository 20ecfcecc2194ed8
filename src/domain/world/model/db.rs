//! The database of the model: what L, R and W do, on maps.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::domain::agents::{Agent, Slots};
use crate::domain::ask::{Ask, Beside};
use crate::domain::command::{Footprint, HandoffRoute, KeyHash, Route, RouteAsk};
use crate::domain::command::{ThreadRoute, TurnRoute};
use crate::domain::effects::DeferredEffect;
use crate::domain::handoffs::{Assignment, Handoff, HandoffEvent, Report};
use crate::domain::history::ThreadEvent;
use crate::domain::ids::{AgentId, EffectId, HandoffId, ThreadId, TurnId};
use crate::domain::limits::Rules;
use crate::domain::mailbox::{Envelope, Message, PairWindow};
use crate::domain::threads::{Head, Thread};
use crate::domain::time::Timestamp;
use crate::domain::turns::Turn;
use crate::domain::world::{
    LoadedMail, MailedReport, NewKey, ReadReport, Stored, Table, Work, World,
};

use super::index::Index;

const HERE: Stored = Stored {
    address: 0,
    version: 0,
};

/// Every row there is.
#[derive(Clone, Debug)]
pub(super) struct Db {
    pub(super) now: Timestamp,
    pub(super) resume_time: Timestamp,
    pub(super) rules: Arc<Rules>,
    pub(super) agents: BTreeMap<AgentId, Agent>,
    pub(super) slots: BTreeMap<AgentId, Slots>,
    pub(super) threads: BTreeMap<ThreadId, Thread>,
    pub(super) heads: BTreeMap<ThreadId, Head>,
    pub(super) turns: BTreeMap<TurnId, Turn>,
    pub(super) handoffs: BTreeMap<HandoffId, Handoff>,
    pub(super) assignments: BTreeMap<HandoffId, Assignment>,
    pub(super) mail: BTreeMap<ThreadId, Vec<Message>>,
    pub(super) history: BTreeMap<ThreadId, Vec<ThreadEvent>>,
    pub(super) timeline: BTreeMap<HandoffId, Vec<HandoffEvent>>,
    pub(super) reports: BTreeMap<HandoffId, Vec<Report>>,
    pub(super) keys: BTreeMap<KeyHash, NewKey>,
    pub(super) effects: BTreeMap<EffectId, DeferredEffect>,
    pub(super) index: Index,
}

fn load<K: Ord + Clone, T: Clone>(
    table: &mut Table<K, T>,
    rows: &BTreeMap<K, T>,
    wanted: &BTreeSet<K>,
) {
    for (key, row) in wanted.iter().filter_map(|key| rows.get_key_value(key)) {
        table.load(key.clone(), row.clone(), HERE);
    }
}

fn insert<K: Ord, T>(rows: &mut BTreeMap<K, T>, key: K, row: T) {
    assert!(rows.insert(key, row).is_none(), "a key was taken");
}

impl Db {
    pub(super) fn new(rules: Rules) -> Self {
        Self {
            now: Timestamp::from_unix_micros(1_900_000_000_000_000),
            resume_time: Timestamp::MIN,
            rules: Arc::new(rules),
            agents: BTreeMap::new(),
            slots: BTreeMap::new(),
            threads: BTreeMap::new(),
            heads: BTreeMap::new(),
            turns: BTreeMap::new(),
            handoffs: BTreeMap::new(),
            assignments: BTreeMap::new(),
            mail: BTreeMap::new(),
            history: BTreeMap::new(),
            timeline: BTreeMap::new(),
            reports: BTreeMap::new(),
            keys: BTreeMap::new(),
            effects: BTreeMap::new(),
            index: Index::default(),
        }
    }

    /// As `sql/route_ids.sql`.
    pub(super) fn route(&self, ask: &RouteAsk) -> Route {
        let mut route = Route::default();
        let mut threads = ask.threads.clone();
        let mut turns: BTreeSet<TurnId> = ask.turns.union(&ask.work).copied().collect();
        turns.retain(|id| self.turns.contains_key(id));
        threads.extend(turns.iter().map(|id| self.turns[id].thread_id));
        for handoff in ask.handoffs.iter().filter_map(|id| self.handoffs.get(id)) {
            threads.extend(handoff.child_thread_id);
            let known = HandoffRoute {
                parent_thread_id: handoff.parent_thread_id,
                child_thread_id: handoff.child_thread_id,
            };
            route.handoffs.insert(handoff.handoff_id, known);
        }
        for head in threads.iter().filter_map(|id| self.heads.get(id)) {
            turns.extend(head.turn_id);
            let known = ThreadRoute {
                parent_thread_id: head.parent_thread_id,
                handoff_id: head.handoff_id,
                turn_id: head.turn_id,
                turn_running: head.turn_running,
            };
            route.threads.insert(head.thread_id, known);
        }
        for turn in turns.iter().map(|id| &self.turns[id]) {
            let known = TurnRoute {
                thread_id: turn.thread_id,
                slot_of: turn.holds_slot.then(|| turn.agent_id.clone()),
            };
            route.turns.insert(turn.turn_id, known);
        }
        route
    }

    /// L.
    pub(super) fn lock(&self, footprint: Footprint, beside: &Beside) -> World {
        let mut world = World::new(self.now, Arc::clone(&self.rules));
        world.resume_time = self.resume_time;
        load(&mut world.heads, &self.heads, &footprint.heads);
        load(&mut world.handoffs, &self.handoffs, &footprint.handoffs);
        load(&mut world.turns, &self.turns, &footprint.turns);
        load(&mut world.slots, &self.slots, &footprint.slots);
        world.covered = footprint;
        self.read_beside(beside, &mut world);
        world
    }

    fn read_beside(&self, beside: &Beside, world: &mut World) {
        world.covered.keys.extend(&beside.keys);
        for id in &beside.agents {
            self.read_agent(&AgentId(id.clone()), world);
        }
        self.read_threads(&beside.threads, world);
        for new in beside.keys.iter().filter_map(|hash| self.keys.get(hash)) {
            world.loaded.keys.insert(new.hash, new.key.clone());
        }
    }

    fn read_agent(&self, id: &AgentId, world: &mut World) {
        if let Some(agent) = self.agents.get(id) {
            let row = (agent.clone(), self.slots[id].clone());
            world.loaded.agents.insert(id.clone(), row);
        }
    }

    fn read_threads(&self, ids: &BTreeSet<ThreadId>, world: &mut World) {
        let threads = ids.iter().filter_map(|id| self.threads.get(id));
        let threads = threads.map(|thread| (thread.thread_id, thread.clone()));
        world.loaded.threads.extend(threads);
    }

    /// R, as `sql/read_rows.sql` and `store/load.rs`: nothing that was not asked for.
    pub(super) fn read(&self, ask: &Ask, world: &mut World) {
        world.covered.names.extend(ask.names.iter().cloned());
        for agent in self.agents.values() {
            let wanted = ask.agents.contains(&agent.agent_id.0);
            if wanted || ask.names.contains(&agent.display_name) {
                self.read_agent(&agent.agent_id, world);
            }
        }
        self.read_threads(&ask.threads, world);
        for (to, from) in &ask.pairs {
            let window = self.pair(*to, *from);
            world.loaded.pairs.insert((*to, *from), window);
        }
        for deferred in ask.effects.iter().filter_map(|id| self.effects.get(id)) {
            let id = deferred.effect_id;
            world.loaded.effects.insert(id, deferred.clone());
        }
        self.read_mail(ask, world);
        self.read_work(ask, world);
    }

    fn read_mail(&self, ask: &Ask, world: &mut World) {
        for (id, wanted) in &ask.mail {
            let (bound, mut read) = (ask.mail_bytes(wanted), 0);
            let fits = |message: &&Message| {
                let before = read;
                read += message.weight();
                before < bound
            };
            let messages: Vec<Message> = self
                .mail_of(*id)
                .filter(|m| m.mail_number > wanted.above && m.exception.is_none())
                .take(wanted.limit)
                .take_while(fits)
                .cloned()
                .collect();
            let loaded = LoadedMail {
                above: wanted.above,
                complete: messages.len() < wanted.limit && read < bound,
                messages,
            };
            world.loaded.mail.insert(*id, loaded);
        }
        for id in &ask.waking {
            let above = world.heads.get(id).map_or(0, |head| head.consumed_through);
            let waking = self
                .mail_of(*id)
                .filter(|m| m.mail_number > above && m.exception.is_none() && m.wakes)
                .map(|m| m.mail_number);
            let waking = waking.collect();
            world.loaded.waking.insert(*id, waking);
        }
        for id in &ask.envelopes {
            let above = world.heads.get(id).map_or(0, |head| head.consumed_through);
            let unread = self
                .mail_of(*id)
                .filter(|m| m.mail_number > above && m.exception.is_none())
                .filter_map(Envelope::of);
            let unread = unread.collect();
            world.loaded.envelopes.insert(*id, unread);
        }
    }

    fn read_work(&self, ask: &Ask, world: &mut World) {
        for id in &ask.open_children {
            let mine = self.children_of(*id).filter(|it| it.is_unfinished());
            let open = mine.map(|it| it.handoff_id).take(100).collect();
            world.loaded.open_children.insert(*id, open);
        }
        for id in &ask.reports {
            let mailed = self.reports.get(id).into_iter().flatten();
            let mailed = mailed.map(|report| MailedReport {
                version: report.version,
                mail_number: report.mail_number,
            });
            let mailed = mailed.collect();
            world.loaded.reports.insert(*id, mailed);
        }
        for id in &ask.read_reports {
            let reports = self.reports.values().flatten();
            let read = reports
                .filter(|it| it.reader_turn_id == Some(*id) && it.deliver_time.is_none())
                .map(|report| {
                    let thread = self.turns[id].thread_id;
                    let number = report.mail_number.unwrap();
                    let at = usize::try_from(number).unwrap() - 1;
                    ReadReport {
                        version: report.version,
                        message: self.mail[&thread][at].clone(),
                    }
                });
            let read = read.collect();
            world.loaded.read_reports.insert(*id, read);
        }
        for id in &ask.work {
            let handoff = &self.handoffs[id];
            let parent = handoff.parent_thread_id.map(|id| &self.threads[&id]);
            let work = Work {
                assignment: self.assignments[id].clone(),
                attempt: handoff.attempt,
                on_completion: handoff.on_completion,
                parent_agent_id: parent.map(|thread| thread.agent_id.clone()),
            };
            world.loaded.work.insert(*id, work);
        }
        for id in &ask.named {
            world.loaded.named.insert(*id, self.handoffs[id].clone());
        }
    }

    /// W.
    pub(super) fn write(&mut self, world: &World) {
        for (_, head) in world.heads.updates() {
            self.heads.insert(head.thread_id, head.clone());
        }
        for head in world.heads.inserts() {
            insert(&mut self.heads, head.thread_id, head.clone());
        }
        for (_, handoff) in world.handoffs.updates() {
            self.index.handoff(handoff);
            self.handoffs.insert(handoff.handoff_id, handoff.clone());
        }
        for handoff in world.handoffs.inserts() {
            self.index.handoff(handoff);
            insert(&mut self.handoffs, handoff.handoff_id, handoff.clone());
        }
        for (_, turn) in world.turns.updates() {
            self.index.turn(turn);
            self.turns.insert(turn.turn_id, turn.clone());
        }
        for turn in world.turns.inserts() {
            self.index.turn(turn);
            insert(&mut self.turns, turn.turn_id, turn.clone());
        }
        for (_, slots) in world.slots.updates() {
            self.slots.insert(slots.agent_id.clone(), slots.clone());
        }
        for slots in world.slots.inserts() {
            insert(&mut self.slots, slots.agent_id.clone(), slots.clone());
        }
        // Updates of a statement do not see what the same statement inserts.
        for except in &world.made.mail_excepts {
            let mail = self.mail.entry(except.thread_id).or_default().iter_mut();
            let range = mail
                .filter(|m| except.above < m.mail_number && m.mail_number <= except.through)
                .filter(|m| m.exception.is_none());
            range.for_each(|message| message.exception = Some(except.exception));
        }
        for delivered in &world.made.reports_delivered {
            let reports = self.reports.entry(delivered.handoff_id).or_default();
            let due = reports
                .iter_mut()
                .filter(|it| it.version <= delivered.version);
            due.for_each(|it| {
                it.deliver_time.get_or_insert(delivered.deliver_time);
            });
        }
        for returned in &world.made.reports_returned {
            let reports = self.reports.get_mut(&returned.handoff_id).unwrap();
            let mut reports = reports.iter_mut();
            let report = reports.find(|it| it.version == returned.version).unwrap();
            report.mail_number = Some(returned.mail_number);
            report.reader_turn_id = None;
        }
        self.insert_made(world);
    }

    fn insert_made(&mut self, world: &World) {
        let made = &world.made;
        for thread in &made.threads {
            insert(&mut self.threads, thread.thread_id, thread.clone());
        }
        for agent in made.agents.values() {
            self.agents.insert(agent.agent_id.clone(), agent.clone());
        }
        for message in &made.messages {
            let mailbox = self.mail.entry(message.to_thread_id).or_default();
            mailbox.push(message.clone());
        }
        for event in &made.thread_events {
            let history = self.history.entry(event.thread_id).or_default();
            history.push(event.clone());
        }
        for event in &made.handoff_events {
            let timeline = self.timeline.entry(event.handoff_id).or_default();
            timeline.push(event.clone());
        }
        for report in &made.reports {
            let reports = self.reports.entry(report.handoff_id).or_default();
            reports.push(report.clone());
        }
        for assignment in &made.assignments {
            let id = assignment.handoff_id;
            insert(&mut self.assignments, id, assignment.clone());
        }
        for key in made.keys.values() {
            insert(&mut self.keys, key.hash, key.clone());
        }
        for deferred in &made.effects {
            insert(&mut self.effects, deferred.effect_id, deferred.clone());
        }
        for id in &made.effects_run {
            assert!(self.effects.remove(id).is_some(), "{id} was run before");
        }
        for put_off in &made.effects_put_off {
            let deferred = self.effects.get_mut(&put_off.effect_id).unwrap();
            deferred.attempts += 1;
            deferred.due_time = put_off.due_time;
        }
    }

    pub(super) fn mail_of(&self, id: ThreadId) -> impl Iterator<Item = &Message> {
        self.mail.get(&id).into_iter().flatten()
    }

    fn pair(&self, to: ThreadId, from: ThreadId) -> PairWindow {
        let since = self.now - self.rules.pair_window;
        let times = self
            .mail_of(to)
            .filter(|m| m.from_thread_id == Some(from) && m.rated && m.create_time > since)
            .map(|m| m.create_time);
        let times: Vec<Timestamp> = times.collect();
        PairWindow {
            count: u32::try_from(times.len()).unwrap(),
            oldest: times.into_iter().min(),
        }
    }
}
