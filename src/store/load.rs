//! Takes the answers of L and R into a world.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sqlx::Row;

use crate::domain::agents::{Agent, Slots};
use crate::domain::ask::Ask;
use crate::domain::command::KeyHash;
use crate::domain::effects::{DeferredEffect, Unreadable};
use crate::domain::handoffs::Handoff;
use crate::domain::ids::{HandoffId, ThreadId, TurnId};
use crate::domain::mailbox::{Envelope, Message, PairWindow};
use crate::domain::runtime::Runtime;
use crate::domain::threads::{Head, Thread};
use crate::domain::time::Timestamp;
use crate::domain::turns::Turn;
use crate::domain::world::{BoundKey, LoadedMail, MailedReport, ReadReport, World};

use super::agents::{AgentRow, SlotsRow};
use super::codec::{count, small};
use super::effects::EffectRow;
use super::error::StoreError;
use super::handoffs::{HandoffRow, WorkRow};
use super::heads::HeadRow;
use super::keys::KeyRow;
use super::messages::{EnvelopeRow, MessageRow};
use super::threads::ThreadRow;
use super::turns::{RuntimeRow, TurnRow};

#[derive(sqlx::Type)]
#[sqlx(type_name = "pair_row")]
struct PairRow {
    to_thread_id: ThreadId,
    from_thread_id: ThreadId,
    count: i64,
    oldest: Option<Timestamp>,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "thread_number_row")]
struct ThreadNumberRow {
    thread_id: ThreadId,
    number: i64,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "read_report_row")]
struct ReadReportRow {
    turn_id: TurnId,
    message: MessageRow,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "mailed_report_row")]
struct MailedReportRow {
    handoff_id: HandoffId,
    version: i64,
    mail_number: Option<i64>,
}

type AnyRow = sqlx::postgres::PgRow;

/// Takes locked heads in; tells whose, in the order they came.
pub(super) fn heads(row: &AnyRow, world: &mut World) -> Result<Vec<ThreadId>, StoreError> {
    let mut order = Vec::new();
    for head in row.try_get::<Vec<HeadRow>, _>("heads")? {
        let stored = head.stored();
        order.push(head.thread_id);
        world
            .heads
            .load(head.thread_id, Head::try_from(head)?, stored);
    }
    Ok(order)
}

/// Takes in all that L locked.
pub(super) fn locked(row: &AnyRow, world: &mut World) -> Result<(), StoreError> {
    heads(row, world)?;
    for handoff in row.try_get::<Vec<HandoffRow>, _>("handoffs")? {
        let stored = handoff.stored();
        world
            .handoffs
            .load(handoff.handoff_id, Handoff::try_from(handoff)?, stored);
    }
    for turn in row.try_get::<Vec<TurnRow>, _>("turns")? {
        let stored = turn.stored();
        let turn = Turn::try_from(turn)?;
        world.turns.load(turn.turn_id, turn, stored);
    }
    slots(row, world)?;
    for runtime in row.try_get::<Vec<RuntimeRow>, _>("runtimes")? {
        let stored = runtime.stored();
        let runtime = Runtime::from(runtime);
        world
            .runtimes
            .load(runtime.runtime_id.clone(), runtime, stored);
    }
    Ok(())
}

/// Takes locked slots in.
pub(super) fn slots(row: &AnyRow, world: &mut World) -> Result<(), StoreError> {
    for slots in row.try_get::<Vec<SlotsRow>, _>("slots")? {
        let stored = slots.stored();
        let slots = Slots::try_from(slots)?;
        world.slots.load(slots.agent_id.clone(), slots, stored);
    }
    Ok(())
}

pub(super) fn agents(row: &AnyRow, world: &mut World) -> Result<(), StoreError> {
    let mut agents = row.try_get::<Vec<AgentRow>, _>("agents")?;
    agents.extend(row.try_get::<Vec<AgentRow>, _>("named_agents")?);
    let mut slots = row.try_get::<Vec<SlotsRow>, _>("agent_slots")?;
    slots.extend(row.try_get::<Vec<SlotsRow>, _>("named_slots")?);
    insert_agents(agents, slots, world)
}

fn insert_agents(
    agents: Vec<AgentRow>,
    slots: Vec<SlotsRow>,
    world: &mut World,
) -> Result<(), StoreError> {
    let mut by_id = BTreeMap::new();
    for slots in slots {
        let slots = Slots::try_from(slots)?;
        by_id.insert(slots.agent_id.clone(), slots);
    }
    for agent in agents {
        let agent = Agent::try_from(agent)?;
        if let Some(slots) = by_id.remove(&agent.agent_id) {
            world
                .loaded
                .agents
                .insert(agent.agent_id.clone(), (agent, slots));
        }
    }
    Ok(())
}

fn insert_threads(threads: Vec<ThreadRow>, world: &mut World) -> Result<(), StoreError> {
    for thread in threads {
        let thread = Thread::try_from(thread)?;
        world.loaded.threads.insert(thread.thread_id, thread);
    }
    Ok(())
}

pub(super) fn threads(row: &AnyRow, ask: &Ask, world: &mut World) -> Result<(), StoreError> {
    insert_threads(row.try_get("threads")?, world)?;
    for pair in row.try_get::<Vec<PairRow>, _>("pairs")? {
        let window = PairWindow {
            count: u32::try_from(pair.count).unwrap_or(u32::MAX),
            oldest: pair.oldest,
        };
        world
            .loaded
            .pairs
            .insert((pair.to_thread_id, pair.from_thread_id), window);
    }
    for id in &ask.open_children {
        world.loaded.open_children.insert(*id, Vec::new());
    }
    for child in row.try_get::<Vec<HandoffRow>, _>("open_children")? {
        if let Some(parent) = child.parent_thread_id {
            world
                .loaded
                .open_children
                .entry(parent)
                .or_default()
                .push(child.handoff_id);
        }
    }
    Ok(())
}

pub(super) fn mail(row: &AnyRow, ask: &Ask, world: &mut World) -> Result<(), StoreError> {
    for (id, mail) in &ask.mail {
        let loaded = LoadedMail {
            above: mail.above,
            messages: Vec::new(),
            complete: true,
        };
        world.loaded.mail.insert(*id, loaded);
    }
    let mut bytes: HashMap<ThreadId, usize> = HashMap::new();
    for message in row.try_get::<Vec<MessageRow>, _>("mail")? {
        // As R counts them: what it cut off must never pass for what is not there.
        *bytes.entry(message.to_thread_id).or_default() +=
            usize::try_from(message.bytes).unwrap_or(0);
        let message = Message::try_from(message)?;
        world
            .loaded
            .mail
            .entry(message.to_thread_id)
            .or_default()
            .messages
            .push(message);
    }
    for (id, mail) in &ask.mail {
        if let Some(loaded) = world.loaded.mail.get_mut(id) {
            let read = bytes.get(id).copied().unwrap_or(0);
            loaded.complete = loaded.messages.len() < mail.limit && read < ask.mail_bytes(mail);
        }
    }
    for id in &ask.waking {
        world.loaded.waking.insert(*id, BTreeSet::new());
    }
    for waking in row.try_get::<Vec<ThreadNumberRow>, _>("waking")? {
        world
            .loaded
            .waking
            .entry(waking.thread_id)
            .or_default()
            .insert(count(waking.number));
    }
    for id in &ask.envelopes {
        world.loaded.envelopes.insert(*id, Vec::new());
    }
    for envelope in row.try_get::<Vec<EnvelopeRow>, _>("envelopes")? {
        world
            .loaded
            .envelopes
            .entry(envelope.to_thread_id)
            .or_default()
            .push(Envelope::try_from(envelope)?);
    }
    Ok(())
}

/// Takes effects in. One that cannot be read is no reason to do nothing else.
pub(super) fn effects(row: &AnyRow, world: &mut World) -> Result<(), StoreError> {
    for deferred in row.try_get::<Vec<EffectRow>, _>("effects")? {
        let (effect_id, due_time) = (deferred.effect_id, deferred.due_time);
        let attempts = small(deferred.attempts);
        match DeferredEffect::try_from(deferred) {
            Ok(deferred) => {
                world.loaded.effects.insert(effect_id, deferred);
            }
            Err(unknown) => {
                let unreadable = Unreadable {
                    due_time,
                    attempts,
                    why: unknown.to_string(),
                };
                let loaded = &mut world.loaded;
                loaded.unreadable_effects.insert(effect_id, unreadable);
            }
        }
    }
    Ok(())
}

pub(super) fn handoffs(row: &AnyRow, ask: &Ask, world: &mut World) -> Result<(), StoreError> {
    for id in &ask.reports {
        world.loaded.reports.insert(*id, Vec::new());
    }
    for report in row.try_get::<Vec<MailedReportRow>, _>("mailed_reports")? {
        let mailed = MailedReport {
            version: count(report.version),
            mail_number: report.mail_number.map(count),
        };
        world
            .loaded
            .reports
            .entry(report.handoff_id)
            .or_default()
            .push(mailed);
    }
    for id in &ask.read_reports {
        world.loaded.read_reports.insert(*id, Vec::new());
    }
    for read in row.try_get::<Vec<ReadReportRow>, _>("read_reports")? {
        let message = Message::try_from(read.message)?;
        let known = world.loaded.read_reports.entry(read.turn_id).or_default();
        known.push(ReadReport {
            version: message.report_version.unwrap_or(0),
            message,
        });
    }
    for work in row.try_get::<Vec<WorkRow>, _>("work")? {
        match work.work()? {
            (id, Some(work)) => {
                world.loaded.work.insert(id, work);
            }
            (id, None) => {
                world.loaded.work_left.insert(id);
            }
        }
    }
    for handoff in row.try_get::<Vec<HandoffRow>, _>("named")? {
        let handoff = Handoff::try_from(handoff)?;
        world.loaded.named.insert(handoff.handoff_id, handoff);
    }
    Ok(())
}

/// Takes in what L read beside the locked rows.
pub(super) fn beside(row: &AnyRow, world: &mut World) -> Result<(), StoreError> {
    let agents = row.try_get("agents")?;
    insert_agents(agents, row.try_get("agent_slots")?, world)?;
    insert_threads(row.try_get("threads")?, world)?;
    for key in row.try_get::<Vec<KeyRow>, _>("keys")? {
        let (hash, key): (KeyHash, BoundKey) = key.bound()?;
        world.loaded.keys.insert(hash, key);
    }
    Ok(())
}
