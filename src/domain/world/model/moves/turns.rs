//! What runtimes do with their turns.

use std::time::Duration;

use crate::domain::caller::Caller;
use crate::domain::turns::finish::{Finish, FinishTurn, Next};
use crate::domain::turns::heartbeat::{ActivityReport, Beat, Heartbeat, ToolUse};
use crate::domain::turns::release::ReleaseTurn;
use crate::domain::turns::{FailureClass, TurnError};

use super::{Dice, Step};

impl Dice<'_> {
    pub(super) fn finish(&mut self) -> Option<Box<dyn Step>> {
        let turn = self.turn()?;
        let later = self.db.now + Duration::from_secs(self.roll(900_000));
        let finish = match self.roll(12) {
            0..=3 => Finish::Done {
                next: Next::Finished,
            },
            4 | 5 => Finish::Done { next: Next::Wait },
            6 => Finish::Done {
                next: Next::Continue,
            },
            7 => Finish::Done {
                next: Next::WakeAt(later),
            },
            8 => Finish::Interrupted,
            9 | 10 => Finish::Aborted,
            _ => Finish::Failed(TurnError {
                class: FailureClass::Other,
                summary: "no".to_owned(),
            }),
        };
        let caller = Caller::Turn {
            turn_id: turn.turn_id,
            token: turn.token,
        };
        Some(Box::new(FinishTurn {
            turn_id: turn.turn_id,
            token: self.token(&turn),
            finish,
            response: if self.one_in(3) {
                None
            } else {
                Some("done".to_owned())
            },
            received_through: self.number(Some(turn.thread_id)),
            reports: self.acks(caller, None),
        }))
    }

    pub(super) fn release(&mut self) -> Option<Box<dyn Step>> {
        let turn = self.turn()?;
        let token = self.token(&turn);
        Some(Box::new(ReleaseTurn {
            turn_id: turn.turn_id,
            token,
            holder: None,
        }))
    }

    pub(super) fn beat(&mut self) -> Option<Box<dyn Step>> {
        let mut beats = Vec::new();
        for _ in 0..=self.roll(3) {
            let turn = self.turn()?;
            if beats.iter().any(|beat: &Beat| beat.turn_id == turn.turn_id) {
                continue;
            }
            let activity = ActivityReport {
                sequence: turn.activity.number + self.roll(2),
                tool_calls: vec![ToolUse {
                    name: "tool".to_owned(),
                    time: None,
                }],
                partial_text: self.one_in(2).then(|| "so far".to_owned()),
                ..ActivityReport::default()
            };
            let token = self.token(&turn);
            let activity = self.one_in(2).then_some(activity);
            beats.push(Beat {
                turn_id: turn.turn_id,
                token,
                activity,
                active: self.one_in(4),
            });
        }
        Some(Box::new(Heartbeat {
            runtime_id: None,
            beats,
        }))
    }
}
