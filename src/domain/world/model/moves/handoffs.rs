//! What parents and operators do with handoffs.

use std::time::Duration;

use crate::domain::caller::Caller;
use crate::domain::handoffs::cancel::CancelHandoff;
use crate::domain::handoffs::create::CreateHandoff;
use crate::domain::handoffs::due::CheckDue;
use crate::domain::handoffs::extend::ExtendDeadline;
use crate::domain::handoffs::{OnCompletion, OnTurnLost};

use super::{Dice, Step};

impl Dice<'_> {
    pub(super) fn create(&mut self) -> Box<dyn Step> {
        let (caller, parent) = self.caller();
        let parent = if self.one_in(4) { None } else { parent };
        let told = [
            None,
            Some(OnCompletion::Notify),
            Some(OnCompletion::Return),
            Some(OnCompletion::None),
        ];
        let lost = [None, Some(OnTurnLost::Retry), Some(OnTurnLost::Fail)];
        Box::new(CreateHandoff {
            caller,
            parent,
            task: "do it".to_owned(),
            target: Some(self.agent().0),
            title: None,
            hidden: false,
            listed: true,
            context_data: None,
            on_completion: told[usize::try_from(self.roll(4)).unwrap()],
            watch: self.one_in(3).then(|| Duration::from_secs(61)),
            deadline: self.one_in(3).then(|| Duration::from_mins(10)),
            on_turn_lost: lost[usize::try_from(self.roll(3)).unwrap()],
            idempotency_key: if self.one_in(4) {
                Some(self.roll(3).to_string())
            } else {
                None
            },
            request_id: None,
        })
    }

    pub(super) fn cancel(&mut self) -> Option<Box<dyn Step>> {
        let (caller, _) = self.caller();
        let caller = if self.one_in(2) {
            Caller::Operator
        } else {
            caller
        };
        Some(Box::new(CancelHandoff {
            caller,
            handoff_id: self.handoff()?,
            reason: String::new(),
            stop_child: self.one_in(2),
            wake_parent: self.one_in(2),
        }))
    }

    /// More time for a handoff, or less, by a version that is right or not.
    pub(super) fn extend(&mut self) -> Option<Box<dyn Step>> {
        let handoff_id = self.handoff()?;
        let version = self.db.handoffs[&handoff_id].deadline_version();
        Some(Box::new(ExtendDeadline {
            caller: self.caller().0,
            handoff_id,
            deadline_version: version + u64::from(self.one_in(4)),
            deadline: Duration::from_secs(1 + self.roll(4_000)),
        }))
    }

    /// A look at a handoff with a time limit or without one.
    pub(super) fn due(&mut self) -> Option<Box<dyn Step>> {
        let db = self.db;
        let handoff_id = self.pick(db.handoffs.values())?.handoff_id;
        Some(Box::new(CheckDue { handoff_id }))
    }
}
