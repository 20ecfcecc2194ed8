//! The reconciler of the model.

use crate::domain::effects::DeferredEffect;
use crate::domain::effects::put_off::PutOffEffect;
use crate::domain::effects::run::RunEffect;
use crate::domain::handoffs::due::CheckDue;
use crate::domain::handoffs::quiet::CheckQuiet;
use crate::domain::turns::Turn;
use crate::domain::turns::expire::ExpireLease;

use super::Model;

impl Model {
    /// The runtime of a turn dies, and its lease ends.
    pub(super) fn lose(&mut self, turn: &Turn) {
        self.db.now = self.db.now.max(turn.lease_expire_time);
        let turn_id = turn.turn_id;
        self.push(Box::new(ExpireLease { turn_id }));
        self.commit();
    }

    /// What the reconciler finds due: after two passes nothing is. A turn that was never begun goes back
    /// in the first, to a thread that may have been quiet for too long.
    pub(super) fn sweep(&mut self) {
        self.pass();
        self.pass();
        let now = self.db.now;
        let due = self.db.turns.values();
        let due = due
            .filter(|turn| turn.check_time.is_some_and(|time| time <= now))
            .count();
        assert_eq!(due, 0, "a lease is due and stays so");
        let due = self.db.heads.values();
        let due = due
            .filter(|head| head.due_time.is_some_and(|time| time <= now))
            .count();
        assert_eq!(due, 0, "a look is due and stays so");
        let due = self.db.handoffs.values();
        let due = due
            .filter(|handoff| handoff.due_time().is_some_and(|time| time <= now))
            .count();
        assert_eq!(due, 0, "a time limit has passed and nothing comes of it");
    }

    fn pass(&mut self) {
        let now = self.db.now;
        let turns = self.db.turns.values();
        let turns = turns.filter(|turn| turn.check_time.is_some_and(|time| time <= now));
        let turns: Vec<_> = turns.map(|turn| turn.turn_id).collect();
        let heads = self.db.heads.values();
        let heads = heads.filter(|head| head.due_time.is_some_and(|time| time <= now));
        let heads: Vec<_> = heads.map(|head| head.thread_id).collect();
        let handoffs = self.db.handoffs.values();
        let handoffs = handoffs.filter(|it| it.due_time().is_some_and(|time| time <= now));
        let handoffs: Vec<_> = handoffs.map(|it| it.handoff_id).collect();
        for handoff_id in handoffs {
            self.push(Box::new(CheckDue { handoff_id }));
        }
        for turn_id in turns {
            self.push(Box::new(ExpireLease { turn_id }));
        }
        for thread_id in heads {
            self.push(Box::new(CheckQuiet { thread_id }));
        }
        self.commit();
        self.run_effects();
    }

    /// Runs every effect that is due, each by two servers at once; some cannot be run at first.
    fn run_effects(&mut self) {
        let now = self.db.now;
        let due: Vec<DeferredEffect> = self
            .db
            .effects
            .values()
            .filter(|it| it.due_time <= now)
            .cloned()
            .collect();
        for (at, deferred) in due.iter().chain(&due).enumerate() {
            let effect = deferred.reference();
            if deferred.attempts == 0 && at % 3 == 0 {
                self.push(Box::new(PutOffEffect { effect }));
            } else {
                self.push(Box::new(RunEffect { effect }));
            }
        }
        self.commit();
        let left = self.db.effects.values();
        let left = left.filter(|it| it.due_time <= now).count();
        assert_eq!(left, 0, "an effect is due and stays so");
    }
}
