//! What callers heard is so: mail is whole, a wake that was told stands.

use std::any::Any;

use crate::domain::caller::Caller;
use crate::domain::ids::ThreadId;
use crate::domain::mailbox::ack::AckMail;
use crate::domain::mailbox::read::{MailRead, ReadMail};
use crate::domain::mailbox::send::Sent;
use crate::domain::mailbox::{Delivery, Message};
use crate::domain::turns::finish::{FinishTurn, Finished};
use crate::domain::turns::heart::{Heart, Hearts};
use crate::domain::turns::heartbeat::{Heartbeat, Pulses};
use crate::domain::turns::{Turn, TurnState};
use crate::domain::world::{Stored, Table, World};

use super::{Model, Step};

impl Model {
    /// All mail of a stretch that may be read is in it.
    pub(super) fn complete(
        &self,
        world: &World,
        id: ThreadId,
        above: u64,
        through: u64,
        got: &[Message],
    ) {
        let made = world.made.messages.iter().filter(|m| m.to_thread_id == id);
        let excepts = &world.made.mail_excepts;
        let taken_out = |m: &Message| {
            m.exception.is_some()
                || excepts.iter().any(|it| {
                    it.thread_id == id && it.above < m.mail_number && m.mail_number <= it.through
                })
        };
        let wanted = self.db.mail_of(id).chain(made);
        let wanted = wanted.filter(|m| above < m.mail_number && m.mail_number <= through);
        let wanted: Vec<u64> = wanted
            .filter(|m| !taken_out(m))
            .map(|m| m.mail_number)
            .collect();
        let got: Vec<u64> = got
            .iter()
            .map(|m| m.mail_number)
            .filter(|n| *n <= through)
            .collect();
        assert_eq!(got, wanted, "mail of {id} from {above} through {through}");
    }

    /// What a caller heard is so, as far as that follows from what was before; and what is to be held
    /// against what comes after.
    pub(super) fn before(
        &self,
        step: &dyn Step,
        answer: Option<&dyn Any>,
        world: &World,
    ) -> Before {
        let (step, Some(answer)) = (step as &dyn Any, answer) else {
            return Before::Nothing;
        };
        if let Some(read) = answer.downcast_ref::<MailRead>() {
            let command = step.downcast_ref::<ReadMail>().unwrap();
            let head = world.heads.get(&read.thread_id).unwrap();
            let above = command.above(head);
            self.complete(world, read.thread_id, above, read.through, &read.messages);
            assert!(
                !read.has_more || !read.messages.is_empty(),
                "more waits, and nothing came"
            );
        }
        if let Some(command) = step.downcast_ref::<FinishTurn>() {
            return Before::Live(world.turns.get(&command.turn_id).unwrap().is_live());
        }
        if let Some(pulses) = answer.downcast_ref::<Pulses>() {
            return Before::Beaten(beaten(step.downcast_ref().unwrap(), pulses, world));
        }
        Before::Nothing
    }

    /// The rest of it.
    pub(super) fn after(
        &mut self,
        step: &dyn Step,
        answer: Option<&dyn Any>,
        before: Before,
        world: &World,
    ) {
        let (step, Some(answer)) = (step as &dyn Any, answer) else {
            return;
        };
        if let Some(sent) = answer.downcast_ref::<Sent>() {
            let head = sent.to.map(|to| world.heads.get(&to).unwrap());
            match sent.delivery {
                Delivery::WakeQueued => assert!(head.unwrap().wake_time.is_some()),
                Delivery::NoticeQueued => assert!(head.unwrap().turn_id.is_some()),
                Delivery::Recorded => assert!(head.is_none()),
                Delivery::Waiting | Delivery::Held => {}
            }
        }
        match before {
            Before::Nothing => {}
            Before::Live(was_live) => {
                let command = step.downcast_ref::<FinishTurn>().unwrap();
                let finished = answer.downcast_ref::<Finished>().unwrap();
                let turn = world.turns.get(&command.turn_id).unwrap();
                let head = world.heads.get(&turn.thread_id);
                if let Some(head) = head.filter(|_| was_live) {
                    let woken = head.wake_time.is_some();
                    assert_eq!(finished.woken, woken, "{finished:?} {head:?}");
                    let open = head.handoff_unfinished;
                    assert_eq!(finished.open, open, "{finished:?} {head:?}");
                }
            }
            Before::Beaten(turns) => {
                for turn in turns {
                    assert_eq!(Some(&turn), world.turns.get(&turn.turn_id));
                }
            }
        }
        if let Some(ack) = step.downcast_ref::<AckMail>()
            && let (Caller::Operator, Some(thread), Some(through)) =
                (ack.caller, ack.thread, ack.received_through)
        {
            let mark = self.memory.blind.entry(thread).or_default();
            *mark = (*mark).max(through);
        }
    }
}

/// What is known before the events of a step are applied, and needed after.
pub(super) enum Before {
    Nothing,
    /// Whether the turn that is finished was live.
    Live(bool),
    /// The turns as heartbeats over hearts leave them.
    Beaten(Vec<Turn>),
}

/// A heartbeat over hearts, where it goes that far, comes to what it comes to over whole turns.
fn beaten(heartbeat: &Heartbeat, pulses: &Pulses, world: &World) -> Vec<Turn> {
    let mut of = Table::default();
    for turn in world.turns.values() {
        let stored = Stored {
            address: 0,
            version: 1,
        };
        of.load(turn.turn_id, Heart::from(turn), stored);
    }
    let mut hearts = Hearts {
        now: world.now,
        lease: world.rules.lease,
        of,
    };
    for (beat, pulse) in heartbeat.beats.iter().zip(&pulses.0) {
        let short = hearts.beat(heartbeat.runtime_id.as_deref(), beat);
        let first =
            world.turns.get(&beat.turn_id).map(|turn| turn.state) == Some(TurnState::Assigned);
        assert!(short.as_ref() == Some(pulse) || (short.is_none() && first));
    }
    let beaten = hearts.of.updates().map(|(_, heart)| {
        let mut turn = world.turns.get(&heart.turn_id).unwrap().clone();
        turn.lease_expire_time = hearts.lease_expire_time();
        turn.heartbeat_time = hearts.now;
        turn.activity_time = heart.activity_time;
        turn.activity = heart.activity.clone();
        turn.partial_text = heart.partial_text.clone().or(turn.partial_text);
        turn
    });
    beaten.collect()
}
