//! What must hold after every step: the CHECKs of the migrations and the promises, as assertions.
//!
//! After a commit the laws of what it touched are looked at, and those of everything now and then.

mod handoffs;
mod steps;

use std::collections::{BTreeMap, BTreeSet};

use crate::domain::agents::Slots;
use crate::domain::handoffs::{Handoff, OnCompletion};
use crate::domain::history::EventKind;
use crate::domain::ids::{HandoffId, ThreadId, TurnId};
use crate::domain::mailbox::MailException;
use crate::domain::threads::{Drive, Head};
use crate::domain::time::Timestamp;
use crate::domain::turns::{Turn, TurnState};
use crate::domain::world::World;

use super::db::Db;
use super::effects;
use super::index::Index;
use super::touched::Touched;

/// What was seen before and may never change.
#[derive(Clone, Debug, Default)]
pub(super) struct Memory {
    finished: BTreeMap<HandoffId, Handoff>,
    closed: BTreeMap<HandoffId, Handoff>,
    ended: BTreeMap<TurnId, Turn>,
    tokens: BTreeMap<ThreadId, u64>,
    /// When the laws were looked at last.
    now: Option<Timestamp>,
    /// Mail through this number was acknowledged from outside, read or not.
    pub(super) blind: BTreeMap<ThreadId, u64>,
}

/// The CHECKs of `thread_heads`, also between the commands of a batch.
pub(super) fn heads(world: &World) {
    world.heads.values().for_each(head);
}

fn head(h: &Head) {
    assert!(
        h.turn_id.is_none() || h.wake_time.is_none(),
        "wake or turn: {h:?}"
    );
    assert!(
        h.waking_unread == 0 || h.turn_id.is_some() || h.wake_time.is_some(),
        "waking mail without a next step: {h:?}"
    );
    let at_rest = h.turn_id.is_none() && h.wake_time.is_none() && h.waking_unread == 0;
    assert!(h.drive == Drive::Runtime || at_rest, "pull: {h:?}");
    assert!(
        h.consumed_through <= h.given_through && h.given_through <= h.mail_number,
        "marks: {h:?}"
    );
    assert!(
        h.turn_id.is_some() || h.given_through == h.consumed_through,
        "idle marks: {h:?}"
    );
    assert!(h.live_children >= h.awaited_children, "children: {h:?}");
    assert!(
        h.handoff_id.is_some() || !h.handoff_unfinished,
        "handoff: {h:?}"
    );
    assert!(h.turn_id.is_some() || !h.turn_running, "running: {h:?}");
    assert_eq!(h.due_time.is_some(), h.handoff_unfinished, "due: {h:?}");
    assert_eq!(
        h.lost_turns == 0,
        h.lost_given_through.is_none(),
        "losses: {h:?}"
    );
    assert!(
        h.wake_time.is_none() || h.wake_count > 0,
        "a wake without a cause: {h:?}"
    );
    assert!(
        h.wake_count
            >= if h.turn_id.is_none() {
                h.waking_unread
            } else {
                0
            },
        "causes: {h:?}"
    );
}

/// Everything, after a commit.
pub(super) fn all(db: &Db, memory: &mut Memory) {
    assert!(db.index == Index::of(db), "the index of the model is wrong");
    for h in db.heads.values() {
        thread(db, h, memory);
        steps::next_look(db, h);
    }
    for turn in db.turns.values() {
        check_turn(db, turn, memory);
    }
    for handoff in db.handoffs.values() {
        handoffs::check(db, handoff, memory);
    }
    for slots in db.slots.values() {
        check_slots(db, slots);
    }
    effects::told_once(db);
    memory.now = Some(db.now);
}

/// What a commit can have broken: all that follows from the rows that it wrote, and from the time.
pub(super) fn touched(db: &Db, touched: &Touched, memory: &mut Memory) {
    let mut turns = touched.turns.clone();
    let mut handoffs = touched.handoffs.clone();
    for id in &touched.threads {
        if let Some(h) = db.heads.get(id) {
            thread(db, h, memory);
        }
        let live = db.turns_of(*id).filter(|turn| turn.is_live());
        turns.extend(live.map(|turn| turn.turn_id));
        handoffs.extend(db.work_of(*id).map(|work| work.handoff_id));
        for handoff in db.children_of(*id) {
            handoffs::to_parent(db, handoff);
        }
    }
    for turn in turns.iter().filter_map(|id| db.turns.get(id)) {
        check_turn(db, turn, memory);
    }
    for handoff in handoffs.iter().filter_map(|id| db.handoffs.get(id)) {
        handoffs::check(db, handoff, memory);
    }
    for slots in touched.agents.iter().filter_map(|id| db.slots.get(id)) {
        check_slots(db, slots);
    }
    let moved = memory.now.replace(db.now) != Some(db.now);
    for h in db.heads.values() {
        if moved || touched.threads.contains(&h.thread_id) || touched.agents.contains(&h.agent_id) {
            steps::next_look(db, h);
        }
    }
    if touched.told {
        effects::told_once(db);
    }
}

/// Everything about one but when it is looked at next, which also follows from the time.
fn thread(db: &Db, h: &Head, memory: &mut Memory) {
    head(h);
    mailbox(db, h, memory);
    history(db, h);
    children(db, h);
    steps::next_step(db, h);
    if let Some(id) = h.turn_id {
        let turn = &db.turns[&id];
        assert!(
            turn.is_live() && turn.thread_id == h.thread_id,
            "the head names an ended turn: {h:?}"
        );
    }
    let before = memory.tokens.insert(h.thread_id, h.turn_number);
    assert!(
        before.is_none_or(|token| token <= h.turn_number),
        "a token ran back"
    );
}

fn check_slots(db: &Db, slots: &Slots) {
    let held = db.live_turns();
    let held = held.filter(|turn| turn.holds_slot && turn.agent_id == slots.agent_id);
    assert_eq!(held.count(), slots.live_turns as usize, "slots: {slots:?}");
}

fn mailbox(db: &Db, h: &Head, memory: &Memory) {
    let mail: Vec<_> = db.mail_of(h.thread_id).collect();
    assert_eq!(mail.len() as u64, h.mail_number, "mail is numbered: {h:?}");
    for (number, message) in (1..).zip(&mail) {
        assert_eq!(message.mail_number, number);
        assert!(!message.rated || message.from_thread_id.is_some());
    }
    let waking = mail
        .iter()
        .filter(|m| m.wakes && m.exception.is_none() && m.mail_number > h.given_through);
    assert_eq!(
        waking.count() as u64,
        h.waking_unread,
        "waking_unread: {h:?}"
    );
    let read: BTreeSet<u64> = db
        .history
        .get(&h.thread_id)
        .into_iter()
        .flatten()
        .filter_map(|event| match &event.kind {
            EventKind::Mail { numbers, .. } => Some(numbers),
            _ => None,
        })
        .flatten()
        .copied()
        .collect();
    let blind = memory.blind.get(&h.thread_id).copied().unwrap_or(0);
    for message in mail {
        let number = message.mail_number;
        let seen = read.contains(&number) || number <= blind || message.exception.is_some();
        assert!(
            number > h.given_through || seen,
            "mail {number} passed for given and nobody saw it: {h:?}"
        );
        if message.exception == Some(MailException::SetAside) {
            assert!(
                read.contains(&number),
                "set aside and never given: {message:?}"
            );
        }
    }
}

fn history(db: &Db, h: &Head) {
    let events = db.history.get(&h.thread_id).map_or(&[][..], Vec::as_slice);
    assert_eq!(
        events.len() as u64,
        h.event_number,
        "history is numbered: {h:?}"
    );
    for (number, event) in (1..).zip(events) {
        assert_eq!(event.number, number, "{event:?}");
    }
    assert!(
        events.is_sorted_by_key(|event| event.time),
        "history times ran back"
    );
    assert!(
        events
            .last()
            .is_none_or(|event| event.time <= h.update_time)
    );
    if let Some(number) = h.response_number {
        let event = &events[usize::try_from(number).unwrap() - 1];
        assert!(
            matches!(
                &event.kind,
                EventKind::TurnEnded {
                    response_text: Some(_),
                    ..
                }
            ),
            "{event:?}"
        );
    }
}

fn children(db: &Db, h: &Head) {
    let mine = db.children_of(h.thread_id);
    let mine: Vec<_> = mine.filter(|it| it.is_unfinished()).collect();
    assert_eq!(mine.len() as u64, h.live_children, "live children: {h:?}");
    let told = mine
        .iter()
        .filter(|it| it.on_completion != OnCompletion::None);
    assert_eq!(
        told.count() as u64,
        h.awaited_children,
        "awaited children: {h:?}"
    );
    let own = db.work_of(h.thread_id).next_back();
    assert_eq!(h.handoff_id, own.map(|it| it.handoff_id));
    assert_eq!(
        h.handoff_unfinished,
        own.is_some_and(Handoff::is_unfinished)
    );
}

fn check_turn(db: &Db, turn: &Turn, memory: &mut Memory) {
    let h = &db.heads[&turn.thread_id];
    assert!(turn.token > 0 && turn.token <= h.turn_number);
    assert_eq!(turn.is_live(), turn.check_time.is_some(), "{turn:?}");
    if turn.is_live() {
        assert_eq!(h.turn_id, Some(turn.turn_id), "a second live turn");
        assert_eq!(h.turn_number, turn.token);
        assert_eq!(h.turn_running, turn.state == TurnState::Running);
    } else {
        let before = memory
            .ended
            .entry(turn.turn_id)
            .or_insert_with(|| turn.clone());
        assert_eq!(before, turn, "an ended turn changed");
    }
}
