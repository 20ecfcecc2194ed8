//! The completion rules: what the end of a turn does to the handoff of its thread.

use crate::domain::command::{Context, Stop};
use crate::domain::handoffs::notice::Ending;
use crate::domain::handoffs::{
    Actor, ErrorCause, Handoff, HandoffError, OnCompletion, Outcome, Progress, ReportKind, Status,
    TerminalStatus, TimelineReason,
};
use crate::domain::plan::{Event, HandoffEnd, NewReport, Remark};
use crate::domain::threads::Head;
use crate::domain::turns::{Turn, TurnError};
use crate::domain::world::World;
use crate::redact;

use super::{Finish, FinishTurn, Finished, Next};

impl FinishTurn {
    /// The completion rules: what this finish does to the thread's handoff, and how that stands then.
    pub(super) fn complete(
        &self,
        world: &World,
        context: &mut Context<'_>,
        turn: &Turn,
        head: &Head,
        handoff: Option<&Handoff>,
        waking: u64,
    ) -> Result<(Vec<Event>, Finished), Stop> {
        let Some(handoff) = handoff else {
            return Ok((Vec::new(), standing(None, false, String::new())));
        };
        if let Progress::Closed { status, .. } = handoff.progress {
            let why = how_it_ended(status).to_owned();
            return Ok((Vec::new(), standing(Some(handoff.status()), false, why)));
        }
        if let Some(parent) = handoff.parent_thread_id {
            world.head(parent)?;
        }
        if let Finish::Failed(error) = &self.finish {
            let ending = Ending::failed(
                failure(error),
                Actor::Runtime(turn.runtime_id.clone()),
                Some(self.turn_id),
            );
            let status = Some(Status::Closed(TerminalStatus::Error));
            let why = match handoff.on_completion {
                OnCompletion::Notify => "the handoff failed, and its parent thread is told",
                OnCompletion::None => "the handoff failed",
            };
            return Ok((
                ending.events(handoff, context),
                standing(status, false, why.to_owned()),
            ));
        }
        let owed = handoff.on_completion == OnCompletion::Notify;
        let why = self.keeps_open(owed, waking, head.awaited_children);
        if let (None, Some(response)) = (&why, &self.response) {
            let events = vec![self.result(handoff, response, turn)];
            let status = Some(Status::Closed(TerminalStatus::Completed));
            let why = "the final response is the result of the handoff".to_owned();
            return Ok((events, standing(status, false, why)));
        }
        let why = why.unwrap_or_else(|| {
            "no result was given: finish with `response_text`, or send a REPORT".to_owned()
        });
        let remark = Event::Remarked(Remark {
            handoff_id: handoff.handoff_id,
            actor: Actor::Runtime(turn.runtime_id.clone()),
            reason: TimelineReason::TurnFinished,
            text: why.clone(),
            turn_id: Some(self.turn_id),
            report_version: None,
        });
        Ok((vec![remark], standing(Some(Status::Running), owed, why)))
    }

    /// Why the handoff stays open after this turn, if it does.
    fn keeps_open(&self, owed: bool, waking: u64, awaited: u64) -> Option<String> {
        match self.finish {
            Finish::Interrupted => {
                Some("the turn was interrupted; the thread runs again".to_owned())
            }
            Finish::Aborted => Some("the turn stopped as asked".to_owned()),
            Finish::Done {
                next: Next::Continue,
            } => Some("another turn was asked for".to_owned()),
            Finish::Done {
                next: Next::WakeAt(time),
            } => Some(format!("a turn was asked for at {time}")),
            Finish::Done { next: Next::Wait } => Some(if owed {
                "the turn waits; a report is owed to the parent thread (SendMessage, kind REPORT)"
                    .to_owned()
            } else {
                "the turn waits".to_owned()
            }),
            Finish::Done {
                next: Next::Finished,
            }
            | Finish::Failed(_) => {
                if owed {
                    Some(
                        "a report is owed to the parent thread (SendMessage, kind REPORT)"
                            .to_owned(),
                    )
                } else if waking > 0 {
                    Some(format!("messages are still unread: {waking}"))
                } else if awaited > 0 {
                    Some(format!("handoffs of its own are unfinished: {awaited}"))
                } else {
                    None
                }
            }
        }
    }

    fn result(&self, handoff: &Handoff, response: &str, turn: &Turn) -> Event {
        Event::HandoffEnded(HandoffEnd {
            handoff_id: handoff.handoff_id,
            status: TerminalStatus::Completed,
            outcome: Outcome::Succeeded,
            outcome_stated: false,
            error: None,
            report: NewReport {
                kind: ReportKind::Result,
                outcome: Outcome::Succeeded,
                body: Some(response.to_owned()),
                data: None,
                artifacts: Vec::new(),
                mailed: false,
            },
            actor: Actor::Thread(turn.thread_id),
            reason: TimelineReason::ResultRecorded,
            text: String::new(),
            turn_id: Some(self.turn_id),
        })
    }
}

/// What the child of work that is over is told.
fn how_it_ended(status: TerminalStatus) -> &'static str {
    match status {
        TerminalStatus::Completed => "the handoff is completed, and its result is recorded",
        TerminalStatus::Error => "the handoff ended in error; what is done for it now is late",
        TerminalStatus::Cancelled => "the handoff was cancelled; what is done for it now is late",
        TerminalStatus::Abandoned => {
            "the handoff was given up as abandoned; what is done for it now is late"
        }
        TerminalStatus::ExpiredUnnotified => {
            "the handoff is finished, and nobody was left to be told"
        }
        TerminalStatus::MaterializeFailed => "the handoff was refused and never began",
    }
}

fn standing(status: Option<Status>, report_owed: bool, why: String) -> Finished {
    let open = matches!(status, Some(Status::Started | Status::Running));
    Finished {
        status,
        open,
        report_owed,
        why,
        woken: false,
    }
}

fn failure(error: &TurnError) -> HandoffError {
    HandoffError {
        cause: ErrorCause::TurnFailed,
        failure_class: Some(error.class),
        summary: redact::text(&error.summary),
        advice: "Resolve the cause, check the partial results and side effects, then hand the work off anew."
            .to_owned(),
    }
}
