//! Whether the laws of what a commit touched see what all laws see. Good commits are spoiled, each in
//! one place, as a wrong decision or a wrong write could have spoiled them, and both are asked.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use proptest::prelude::*;

use crate::domain::agents::{AgentState, Slots};
use crate::domain::handoffs::{Handoff, OnCompletion, Progress};
use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::mailbox::MailException;
use crate::domain::threads::Head;
use crate::domain::time::Timestamp;
use crate::domain::turns::{Turn, TurnOutcome, TurnState};
use crate::domain::world::{Made, Table, World};
use crate::fuzz;

use super::db::Db;
use super::laws::{self, Memory};
use super::touched::Touched;
use super::{model_of, play};

/// Spoiled copies of each commit.
const COPIES: usize = 4;

#[derive(Debug)]
pub(super) struct Doubts {
    chance: u64,
    tried: usize,
    noticed: usize,
}

impl Doubts {
    /// Asks about spoiled copies of a commit that is about to be written.
    pub(super) fn about(&mut self, world: &World, db: &Db, memory: &Memory) {
        for _ in 0..COPIES {
            let mut spoiled = world.clone();
            let chance = self.next();
            spoil(&mut spoiled, chance);
            let by_all = holds(|| {
                let mut db = db.clone();
                db.write(&spoiled);
                laws::all(&db, &mut memory.clone());
            });
            let by_touched = holds(|| {
                let touched = Touched::of(db, &spoiled);
                let mut db = db.clone();
                db.write(&spoiled);
                laws::touched(&db, &touched, &mut memory.clone());
            });
            assert_eq!(by_touched, by_all, "spoiled by {chance}");
            self.tried += 1;
            self.noticed += usize::from(!by_all);
        }
    }

    /// The next of numbers that look random.
    fn next(&mut self) -> u64 {
        self.chance ^= self.chance << 13;
        self.chance ^= self.chance >> 7;
        self.chance ^= self.chance << 17;
        self.chance
    }
}

fn holds(laws: impl FnOnce()) -> bool {
    catch_unwind(AssertUnwindSafe(laws)).is_ok()
}

/// Spoils one thing that is written, if there is one of the kind that `chance` says.
fn spoil(world: &mut World, chance: u64) {
    let (kind, chance) = (chance % 8, chance / 8);
    let now = world.now;
    match kind {
        0..=2 => {
            row(&mut world.heads, chance, |head, chance| {
                spoil_head(head, chance, now);
            });
        }
        3 => row(&mut world.turns, chance, |turn, chance| {
            spoil_turn(turn, chance, now);
        }),
        4 => row(&mut world.handoffs, chance, spoil_handoff),
        5 => row(&mut world.slots, chance, spoil_slots),
        _ => spoil_made(&mut world.made, chance),
    }
}

/// Hands one of the rows to `spoil`.
fn row<K: Ord + Clone, T: Keyed<K>>(
    rows: &mut Table<K, T>,
    chance: u64,
    spoil: impl FnOnce(&mut T, u64),
) {
    let keys: Vec<K> = rows.values().map(Keyed::key).collect();
    if let Some((key, chance)) = pick(&keys, chance)
        && let Some(row) = rows.get_mut(key)
    {
        spoil(row, chance);
    }
}

/// One of `items`, and what is left of the chance.
fn pick<T>(items: &[T], chance: u64) -> Option<(&T, u64)> {
    let count = u64::try_from(items.len()).unwrap();
    let at = usize::try_from(chance.checked_rem(count)?).unwrap();
    Some((&items[at], chance / count))
}

trait Keyed<K> {
    fn key(&self) -> K;
}

impl Keyed<ThreadId> for Head {
    fn key(&self) -> ThreadId {
        self.thread_id
    }
}

impl Keyed<TurnId> for Turn {
    fn key(&self) -> TurnId {
        self.turn_id
    }
}

impl Keyed<HandoffId> for Handoff {
    fn key(&self) -> HandoffId {
        self.handoff_id
    }
}

impl Keyed<AgentId> for Slots {
    fn key(&self) -> AgentId {
        self.agent_id.clone()
    }
}

/// Takes a time away, or sets it.
fn flip(time: &mut Option<Timestamp>, now: Timestamp) {
    *time = match time {
        Some(_) => None,
        None => Some(now + Duration::from_hours(2_400)),
    };
}

fn spoil_head(head: &mut Head, chance: u64, now: Timestamp) {
    match chance % 22 {
        0 => head.mail_number += 1,
        1 => head.given_through += 1,
        2 => head.given_through = head.given_through.saturating_sub(1),
        3 => head.consumed_through += 1,
        4 => head.waking_unread += 1,
        5 => head.waking_unread = head.waking_unread.saturating_sub(1),
        6 => head.event_number += 1,
        7 => flip(&mut head.wake_time, now),
        8 => head.turn_id = None,
        9 => head.turn_running = !head.turn_running,
        10 => head.turn_number = head.turn_number.saturating_sub(1),
        11 => head.turn_number += 1,
        12 => head.live_children += 1,
        13 => head.awaited_children = head.awaited_children.saturating_sub(1),
        14 => head.handoff_unfinished = !head.handoff_unfinished,
        15 => flip(&mut head.due_time, now),
        16 => head.response_number = Some(1),
        17 => head.lost_turns += 1,
        18 => head.update_time = Timestamp::MIN,
        19 => head.handoff_id = None,
        20 => head.last_activity_time = Timestamp::MIN,
        _ => head.wake_count = 0,
    }
}

fn spoil_turn(turn: &mut Turn, chance: u64, now: Timestamp) {
    match chance % 6 {
        0 => turn.holds_slot = !turn.holds_slot,
        1 => turn.token += 1,
        2 => turn.token = 0,
        3 => flip(&mut turn.check_time, now),
        4 => turn.state = TurnState::Running,
        _ => {
            turn.state = TurnState::Ended {
                end_time: now,
                outcome: TurnOutcome::Interrupted,
            }
        }
    }
}

fn spoil_handoff(handoff: &mut Handoff, chance: u64) {
    match chance % 7 {
        0 => handoff.progress = Progress::Started,
        1 => handoff.report_version += 1,
        2 => handoff.event_number += 1,
        3 => handoff.reminders_sent += 1,
        4 => handoff.result_version = Some(77),
        5 => handoff.error = None,
        _ => {
            handoff.on_completion = match handoff.on_completion {
                OnCompletion::Notify => OnCompletion::Return,
                OnCompletion::Return => OnCompletion::None,
                OnCompletion::None => OnCompletion::Notify,
            }
        }
    }
}

fn spoil_slots(slots: &mut Slots, chance: u64) {
    match chance % 4 {
        0 => slots.live_turns += 1,
        1 => slots.live_turns = slots.live_turns.saturating_sub(1),
        2 => slots.max_turns = Some(0),
        _ => {
            slots.state = match slots.state {
                AgentState::Active => AgentState::Deactivated,
                AgentState::Deactivated => AgentState::Active,
            }
        }
    }
}

/// Loses a row, or changes it.
fn spoil_made(made: &mut Made, chance: u64) {
    let (kind, chance) = (chance % 8, chance / 8);
    match kind {
        0 => lose_or(&mut made.messages, chance, |it, chance| match chance % 8 {
            0 => it.mail_number += 1,
            1 => it.wakes = !it.wakes,
            2 => it.exception = Some(MailException::SetAside),
            3 => it.exception = Some(MailException::Withdrawn),
            4 => it.from_thread_id = None,
            5 => it.report_version = None,
            6 => it.data = None,
            _ => it.create_time = Timestamp::MIN,
        }),
        1 => lose_or(&mut made.thread_events, chance, |it, chance| {
            match chance % 3 {
                0 => it.number += 1,
                1 => it.time = Timestamp::MIN,
                _ => it.turn_id = None,
            }
        }),
        2 => lose_or(&mut made.handoff_events, chance, |it, chance| {
            match chance % 2 {
                0 => it.number += 1,
                _ => it.from_status = None,
            }
        }),
        3 => lose_or(&mut made.reports, chance, |it, chance| match chance % 2 {
            0 => it.version += 1,
            _ => it.mail_number = None,
        }),
        4 => lose_or(&mut made.mail_excepts, chance, |it, chance| {
            match chance % 3 {
                0 => it.through += 1,
                1 => it.exception = MailException::SetAside,
                _ => it.exception = MailException::Withdrawn,
            }
        }),
        5 => lose_or(&mut made.reports_delivered, chance, |it, _| it.version += 1),
        6 => lose_or(&mut made.effects, chance, |it, _| {
            it.due_time = it.due_time + Duration::from_hours(2_400);
        }),
        _ => drop(made.effects_run.pop()),
    }
}

fn lose_or<T>(rows: &mut Vec<T>, chance: u64, alter: impl FnOnce(&mut T, u64)) {
    let count = u64::try_from(rows.len()).unwrap();
    let Some(at) = chance.checked_rem(count) else {
        return;
    };
    let (at, chance) = (usize::try_from(at).unwrap(), chance / count);
    if chance % 3 == 0 {
        rows.remove(at);
    } else {
        alter(&mut rows[at], chance / 3);
    }
}

/// Spoiled commits in every run of the tests come from so many games.
const GAMES: u32 = 6;

#[test]
fn what_a_commit_touched_shows_what_everything_shows() {
    let words = prop::collection::vec(any::<u64>(), 1..200);
    let (tried, noticed) = (Cell::new(0), Cell::new(0));
    fuzz::holds_for("HANDOFFD_MODEL_MINUTES", GAMES, words, |words| {
        let mut model = model_of(&words);
        model.doubts = Some(Doubts {
            chance: words[0] | 1,
            tried: 0,
            noticed: 0,
        });
        play(&mut model, &words);
        let doubts = model.doubts.unwrap();
        tried.set(tried.get() + doubts.tried);
        noticed.set(noticed.get() + doubts.noticed);
        Ok(())
    });
    let (tried, noticed) = (tried.get(), noticed.get());
    // Many change nothing that a law speaks of; about a third is noticed.
    assert!(4 * noticed > tried, "{noticed} of {tried} were noticed");
}
