//! FinishTurn: closes a turn, consumes what it read, applies the completion rules, and leaves the
//! wake that is due, all at once.

use std::collections::BTreeSet;

mod complete;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::domain::ask::Ask;
use crate::domain::caller::{begin, closed};
use crate::domain::command::{
    Answer, Command, Context, Decision, Fingerprint, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::handoffs::{Handoff, Status};
use crate::domain::ids::TurnId;
use crate::domain::limits;
use crate::domain::mailbox::ack::{ReportAck, acknowledge};
use crate::domain::plan::{Event, GivenMail, Rerun, TurnEnd};
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::threads::Head;
use crate::domain::time::Timestamp;
use crate::domain::world::World;

use super::{NextName, Turn, TurnError, TurnOutcome, TurnState};

/// How the runtime says that the turn ended.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Finish {
    /// The turn is done.
    Done {
        /// What is next.
        next: Next,
    },
    /// It failed, and its work with it.
    Failed(TurnError),
    /// It was stopped in mid-work; the thread runs again.
    Interrupted,
    /// It stopped as asked.
    Aborted,
}

/// What a finished turn wants next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Next {
    /// Nothing more.
    Finished,
    /// To be idle; the work goes on.
    Wait,
    /// Another turn at once.
    Continue,
    /// A turn at this time.
    WakeAt(Timestamp),
}

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct FinishTurn {
    /// Which turn.
    pub turn_id: TurnId,
    /// Its fencing token.
    pub token: u64,
    /// How it ended.
    pub finish: Finish,
    /// Its final response; none where it said nothing.
    pub response: Option<String>,
    /// Mail through this number was received; all that was given where it does not say.
    pub received_through: Option<u64>,
    /// Reports that the turn received.
    pub reports: Vec<ReportAck>,
}

/// What becomes of the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finished {
    /// The status of the thread's handoff, where it has one.
    pub status: Option<Status>,
    /// The handoff has no outcome yet.
    pub open: bool,
    /// Only a report ends it.
    pub report_owed: bool,
    /// What still keeps it open, for the agent.
    pub why: String,
    /// The thread runs again by itself.
    pub woken: bool,
}

impl Answer for Finished {
    fn mark_deduplicated(&mut self) {}
}

impl Command for FinishTurn {
    type Answer = Finished;
    const NAME: &'static str = "turns.finish";

    fn lane_key(&self) -> u128 {
        self.turn_id.into_untyped().as_u128()
    }

    fn route(&self) -> RouteAsk {
        RouteAsk::work_of_turn(self.turn_id)
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let footprint = route.work_of_turn(self.turn_id);
        self.reports.iter().fold(footprint, |footprint, ack| {
            footprint.handoff(ack.handoff_id)
        })
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        let Some(turn) = world.turns.get(&self.turn_id) else {
            return;
        };
        let Some(head) = world.heads.get(&turn.thread_id) else {
            return;
        };
        // Also where nothing seems to be given back: a read before it in the batch may change that.
        let gives_back = self.received_through.is_some();
        let reminded = head.handoff_unfinished && head.waking_unread > 0;
        if gives_back || reminded || !self.reports.is_empty() {
            ask.waking.insert(head.thread_id);
        }
        ask.reports
            .extend(self.reports.iter().map(|ack| ack.handoff_id));
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decision<Finished>, Stop> {
        let turn = world.turn(self.turn_id)?;
        if turn.token != self.token {
            return Err(Refusal::StaleToken {
                turn_id: self.turn_id,
            }
            .into());
        }
        let fingerprint = self.fingerprint();
        match turn.state {
            TurnState::Ended { .. } => return self.repeated(world, turn, fingerprint),
            TurnState::Assigned | TurnState::Running => {}
        }
        let head = world.head(turn.thread_id)?;
        if turn.holds_slot {
            world.slots(&turn.agent_id)?;
        }
        let through = self.through(head)?;
        self.check_wake_time(world.now)?;
        let handoff = head.handoff_id.map(|id| world.handoff(id)).transpose()?;
        if self.finish == Finish::Aborted && turn.abort.is_none() {
            return Err(Refusal::AbortNotRequested {
                turn_id: self.turn_id,
            }
            .into());
        }
        let mut events = if head.turn_running {
            Vec::new()
        } else {
            begin(world, self.turn_id)?
        };
        events.extend(acknowledge(world, head.thread_id, &self.reports)?);
        let waking = self.waking_left(world, head, handoff, through)?;
        let (end, standing) = self.complete(world, context, turn, head, handoff, waking)?;
        events.extend(end);
        let finished = Finished {
            woken: waking > 0 || self.runs_again(),
            ..standing
        };
        events.push(Event::TurnEnded(TurnEnd {
            turn_id: self.turn_id,
            outcome: self.outcome(),
            next: self.next_name(),
            response: self.response.clone(),
            error: self.error(),
            mail: GivenMail::ConsumedThrough(through),
            rerun: self.rerun(world.now),
            fingerprint: Some(fingerprint),
            finish_answer: serde_json::to_vec(&finished).unwrap_or_default(),
        }));
        Ok(Decision {
            events,
            answer: Ok(finished),
        })
    }
}

impl FinishTurn {
    fn fingerprint(&self) -> Fingerprint {
        Sha256::digest(serde_json::to_vec(self).unwrap_or_default()).into()
    }

    /// The same call for a turn that it closed itself answers as it did then.
    fn repeated(
        &self,
        world: &World,
        turn: &Turn,
        fingerprint: Fingerprint,
    ) -> Result<Decision<Finished>, Stop> {
        let recorded = turn
            .finish
            .as_ref()
            .filter(|finish| finish.fingerprint == fingerprint);
        match recorded.and_then(|finish| serde_json::from_slice(&finish.answer).ok()) {
            Some(answer) => Ok(Decision::unchanged(answer)),
            None => Err(closed(world, self.turn_id)?.into()),
        }
    }

    fn through(&self, head: &Head) -> Result<u64, Refusal> {
        match self.received_through {
            Some(asked) if asked > head.given_through => Err(Refusal::MailNotGiven {
                asked,
                given: head.given_through,
            }),
            Some(received) => Ok(received.max(head.consumed_through)),
            None => Ok(head.given_through),
        }
    }

    /// Waking mail that the turn does not take with it: not received, acknowledged by no version, and no
    /// reminder of work that has ended or ends now.
    fn waking_left(
        &self,
        world: &World,
        head: &Head,
        handoff: Option<&Handoff>,
        through: u64,
    ) -> Result<u64, Stop> {
        let Some(waking) = world.loaded.waking.get(&head.thread_id) else {
            return if through < head.given_through {
                // The next try asks for the numbers: a guess here would lose a wake.
                Err(Stop::Needs(Footprint::default().head(head.thread_id)))
            } else {
                Ok(head.waking_unread)
            };
        };
        let acked: BTreeSet<u64> = self
            .reports
            .iter()
            .flat_map(|ack| {
                let mailed = world.mailed_reports(ack.handoff_id).into_iter();
                mailed.filter(|report| report.version <= ack.version)
            })
            .filter_map(|report| report.mail_number)
            .collect();
        let fails = matches!(self.finish, Finish::Failed(_));
        let moot = handoff
            .filter(|handoff| fails || !handoff.is_unfinished())
            .and_then(|handoff| handoff.reminder_mail_number);
        let left = waking
            .range(through + 1..)
            .filter(|number| !acked.contains(number) && Some(**number) != moot);
        Ok(u64::try_from(left.count()).unwrap_or(u64::MAX))
    }

    /// A wake lies in reach.
    fn check_wake_time(&self, now: Timestamp) -> Result<(), Refusal> {
        match self.finish {
            Finish::Done {
                next: Next::WakeAt(time),
            } if time > now + limits::WAKE_AHEAD => Err(Refusal::Invalid(vec![Violation::new(
                "wake_time",
                format!(
                    "may be {} days ahead at most",
                    limits::WAKE_AHEAD.as_secs() / 86_400
                ),
            )])),
            Finish::Done { .. } | Finish::Failed(_) | Finish::Interrupted | Finish::Aborted => {
                Ok(())
            }
        }
    }

    fn outcome(&self) -> TurnOutcome {
        match self.finish {
            Finish::Done { .. } => TurnOutcome::Done,
            Finish::Failed(_) => TurnOutcome::Failed,
            Finish::Interrupted => TurnOutcome::Interrupted,
            Finish::Aborted => TurnOutcome::Aborted,
        }
    }

    fn next_name(&self) -> Option<NextName> {
        match self.finish {
            Finish::Done { next } => Some(match next {
                Next::Finished => NextName::Finished,
                Next::Wait => NextName::Wait,
                Next::Continue => NextName::Continue,
                Next::WakeAt(_) => NextName::WakeAt,
            }),
            Finish::Failed(_) | Finish::Interrupted | Finish::Aborted => None,
        }
    }

    fn error(&self) -> Option<TurnError> {
        match &self.finish {
            Finish::Failed(error) => Some(error.clone()),
            Finish::Done { .. } | Finish::Interrupted | Finish::Aborted => None,
        }
    }

    fn rerun(&self, now: Timestamp) -> Rerun {
        match self.finish {
            Finish::Interrupted
            | Finish::Done {
                next: Next::Continue,
            } => Rerun::At(now),
            // A time that has passed gives no place before others.
            Finish::Done {
                next: Next::WakeAt(time),
            } => Rerun::At(time.max(now)),
            Finish::Done {
                next: Next::Finished | Next::Wait,
            }
            | Finish::Failed(_)
            | Finish::Aborted => Rerun::IfMail,
        }
    }

    fn runs_again(&self) -> bool {
        match self.finish {
            Finish::Interrupted
            | Finish::Done {
                next: Next::Continue | Next::WakeAt(_),
            } => true,
            Finish::Done {
                next: Next::Finished | Next::Wait,
            }
            | Finish::Failed(_)
            | Finish::Aborted => false,
        }
    }
}
