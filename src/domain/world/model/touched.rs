//! What a batch touched, so that only its laws are looked at again. Nothing else can have been broken:
//! `doubts.rs` shows that these see whatever all laws see.

use std::collections::BTreeSet;

use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::mailbox::MailException;
use crate::domain::world::World;

use super::db::Db;

/// Whose rows were written, and who else follows from them.
#[derive(Debug, Default)]
pub(super) struct Touched {
    /// Their heads, their mail, their history, their turns, their handoffs or those of their children.
    pub(super) threads: BTreeSet<ThreadId>,
    pub(super) turns: BTreeSet<TurnId>,
    /// They, their reports or their timelines.
    pub(super) handoffs: BTreeSet<HandoffId>,
    /// Their slots, or turns of theirs.
    pub(super) agents: BTreeSet<AgentId>,
    /// Mail was set aside, or somebody is told of it.
    pub(super) told: bool,
}

impl Touched {
    /// By what `world` will write into `db`.
    pub(super) fn of(db: &Db, world: &World) -> Self {
        let mut touched = Self::default();
        touched.rows(world);
        touched.made(world);
        for id in &touched.handoffs {
            let rows = [db.handoffs.get(id), world.handoffs.get(id)];
            for row in rows.into_iter().flatten() {
                touched.threads.extend(row.parent_thread_id);
                touched.threads.extend(row.child_thread_id);
            }
        }
        for id in &touched.turns {
            let rows = [db.turns.get(id), world.turns.get(id)];
            for row in rows.into_iter().flatten() {
                touched.threads.insert(row.thread_id);
                touched.agents.insert(row.agent_id.clone());
            }
        }
        touched
    }

    fn rows(&mut self, world: &World) {
        let heads = world.heads.updates().map(|(_, row)| row);
        let heads = heads.chain(world.heads.inserts());
        self.threads.extend(heads.map(|row| row.thread_id));
        let turns = world.turns.updates().map(|(_, row)| row);
        let turns = turns.chain(world.turns.inserts());
        self.turns.extend(turns.map(|row| row.turn_id));
        let handoffs = world.handoffs.updates().map(|(_, row)| row);
        let handoffs = handoffs.chain(world.handoffs.inserts());
        self.handoffs.extend(handoffs.map(|row| row.handoff_id));
        let slots = world.slots.updates().map(|(_, row)| row);
        let slots = slots.chain(world.slots.inserts());
        self.agents.extend(slots.map(|row| row.agent_id.clone()));
    }

    fn made(&mut self, world: &World) {
        let made = &world.made;
        let mail = made.messages.iter();
        self.threads.extend(mail.map(|it| it.to_thread_id));
        let excepts = made.mail_excepts.iter();
        self.threads.extend(excepts.map(|it| it.thread_id));
        let events = made.thread_events.iter();
        self.threads.extend(events.map(|it| it.thread_id));
        let reports = made.reports.iter();
        self.handoffs.extend(reports.map(|it| it.handoff_id));
        let delivered = made.reports_delivered.iter();
        self.handoffs.extend(delivered.map(|it| it.handoff_id));
        let returned = made.reports_returned.iter();
        self.handoffs.extend(returned.map(|it| it.handoff_id));
        let lines = made.handoff_events.iter();
        self.handoffs.extend(lines.map(|it| it.handoff_id));
        let aside = |exception| exception == MailException::SetAside;
        self.told = !made.effects.is_empty()
            || !made.effects_run.is_empty()
            || !made.effects_put_off.is_empty()
            || made.mail_excepts.iter().any(|it| aside(it.exception))
            || made
                .messages
                .iter()
                .any(|it| it.data.is_some() || it.exception.is_some_and(aside));
    }
}
