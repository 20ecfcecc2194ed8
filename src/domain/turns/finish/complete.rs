//! The completion rules: what the end of a turn does to the handoff of its thread.

use crate::domain::command::{Context, Stop};
use crate::domain::handoffs::closing::{Closing, closing};
use crate::domain::handoffs::notice::Ending;
use crate::domain::handoffs::{
    Actor, ErrorCause, Handoff, HandoffError, OnCompletion, Outcome, Progress, ReportKind, Status,
    TerminalStatus, TimelineReason,
};
use crate::domain::mailbox::{MailException, Message, MessageKind};
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
            return Ok((Vec::new(), ended(None, String::new())));
        };
        if let Some(why) = over(handoff) {
            return Ok((Vec::new(), ended(Some(handoff.status()), why.to_owned())));
        }
        let parent = handoff.parent_thread_id;
        let parent = parent.map(|parent| world.head(parent)).transpose()?;
        if let Finish::Failed(error) = &self.finish {
            let ending = Ending::failed(
                failure(error),
                Actor::Runtime(turn.runtime_id.clone()),
                Some(self.turn_id),
            );
            let status = Some(Status::Closed(TerminalStatus::Error));
            let why = match handoff.on_completion {
                OnCompletion::Notify => "the handoff failed, and its parent thread is told",
                OnCompletion::Return | OnCompletion::None => "the handoff failed",
            };
            return Ok((
                ending.events(handoff, parent, context),
                ended(status, why.to_owned()),
            ));
        }
        let owed = handoff.owes_report(world.now);
        let why = self.keeps_open(owed, waking, head.awaited_children);
        if let (None, Some(response)) = (&why, &self.response) {
            let closing = closing(handoff, parent);
            let events = self.result(context, handoff, parent, response, turn);
            let status = match closing {
                Closing::AtOnce(status) => Status::Closed(status),
                Closing::WhenCollected => begun(handoff),
            };
            let why = "the final response is the result of the handoff".to_owned();
            return Ok((events, ended(Some(status), why)));
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
        let goes_on = Finished {
            status: Some(begun(handoff)),
            open: true,
            report_owed: owed,
            why,
            woken: false,
        };
        Ok((vec![remark], goes_on))
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

    /// The final response as the result: mailed where the end is to be told, which only the open watch of
    /// a synchronous creation brings about.
    fn result(
        &self,
        context: &mut Context<'_>,
        handoff: &Handoff,
        parent: Option<&Head>,
        response: &str,
        turn: &Turn,
    ) -> Vec<Event> {
        let told = Ending::told(handoff);
        let reader = handoff
            .reader(parent, context.now)
            .filter(|_| told.is_some());
        let mail = told.map(|to| Message {
            to_thread_id: to,
            mail_number: 0,
            message_id: context.ids.next(context.now),
            from_thread_id: Some(turn.thread_id),
            from_agent_id: Some(turn.agent_id.clone()),
            handoff_id: Some(handoff.handoff_id),
            kind: MessageKind::Report,
            subject: String::new(),
            body: response.to_owned(),
            data: None,
            artifacts: Vec::new(),
            outcome: Some(Outcome::Succeeded),
            in_reply_to: None,
            report_version: Some(handoff.report_version + 1),
            quiet: false,
            wakes: true,
            rated: false,
            late: false,
            exception: reader.map(|_| MailException::Consumed),
            create_time: context.now,
        });
        let end = Event::HandoffEnded(HandoffEnd {
            handoff_id: handoff.handoff_id,
            closing: closing(handoff, parent),
            outcome: Outcome::Succeeded,
            outcome_stated: false,
            error: None,
            report: NewReport {
                kind: ReportKind::Result,
                outcome: Outcome::Succeeded,
                body: mail.is_none().then(|| response.to_owned()),
                data: None,
                artifacts: Vec::new(),
                mailed: mail.is_some(),
                reader_turn_id: reader,
            },
            actor: Actor::Thread(turn.thread_id),
            reason: TimelineReason::ResultRecorded,
            text: String::new(),
            turn_id: Some(self.turn_id),
        });
        let mail = mail.map(Event::MessageAccepted);
        std::iter::once(end).chain(mail).collect()
    }
}

/// The stored status of unfinished work whose turn finishes: that turn began, now if not before.
fn begun(handoff: &Handoff) -> Status {
    match handoff.status() {
        Status::Started | Status::Running => Status::Running,
        status @ (Status::FirstResponse | Status::WatchExpired | Status::Closed(_)) => status,
    }
}

/// What the child of work that has ended is told; none while it is unfinished.
fn over(handoff: &Handoff) -> Option<&'static str> {
    match handoff.progress {
        Progress::Started
        | Progress::Running { .. }
        | Progress::FirstResponse { .. }
        | Progress::WatchExpired { .. } => None,
        Progress::Finished { .. } => Some(COLLECTED_LATER),
        Progress::Closed { status, .. } => Some(how_it_ended(status)),
    }
}

/// What the child of work is told that its parent has still to collect.
const COLLECTED_LATER: &str =
    "the handoff is finished, and its parent thread is to collect the result";

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

/// Nothing is owed, and there is no work, or none any more.
fn ended(status: Option<Status>, why: String) -> Finished {
    Finished {
        status,
        open: false,
        report_owed: false,
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
