//! Mail by which the server tells a parent of an end, and what an end says of itself.

use crate::domain::command::Context;
use crate::domain::ids::{MessageId, ThreadId};
use crate::domain::mailbox::set_aside::SetAside;
use crate::domain::mailbox::{MailException, Message, MessageKind};
use crate::domain::plan::{Event, HandoffEnd, NewReport};
use crate::domain::threads::Head;

use super::closing::Closing;
use super::{
    Actor, ErrorCause, Handoff, HandoffError, OnCompletion, Outcome, ReportKind, TerminalStatus,
    TimelineReason,
};

/// How a handoff ends without a report of the child.
#[derive(Clone, Debug, PartialEq)]
pub struct Ending {
    /// The terminal status.
    pub status: TerminalStatus,
    /// How the work ended.
    pub outcome: Outcome,
    /// What went wrong.
    pub error: HandoffError,
    /// By whom.
    pub actor: Actor,
    /// What the timeline calls it.
    pub reason: TimelineReason,
    /// The turn that ended it.
    pub turn_id: Option<crate::domain::ids::TurnId>,
    /// The parent's notice wakes it.
    pub wakes: bool,
    /// The parent's own mail to the child that nobody read, told in the same notice.
    pub set_aside: Option<SetAside>,
}

impl Ending {
    /// The failure of the child's run, which is not retried.
    #[must_use]
    pub fn failed(
        error: HandoffError,
        actor: Actor,
        turn_id: Option<crate::domain::ids::TurnId>,
    ) -> Self {
        Self {
            status: TerminalStatus::Error,
            outcome: Outcome::Failed,
            error,
            actor,
            reason: TimelineReason::Failed,
            turn_id,
            wakes: true,
            set_aside: None,
        }
    }

    /// The thread that is told of the end of `handoff`.
    #[must_use]
    pub fn told(handoff: &Handoff) -> Option<ThreadId> {
        match handoff.on_completion {
            OnCompletion::Notify => handoff.parent_thread_id,
            OnCompletion::Return | OnCompletion::None => None,
        }
    }

    /// The events of the end: the handoff's, and the notice to its parent where that is wanted.
    #[must_use]
    pub fn events(
        self,
        handoff: &Handoff,
        parent: Option<&Head>,
        context: &mut Context<'_>,
    ) -> Vec<Event> {
        let mut notice = self.notice(handoff, context);
        // The answer of a call says nothing of the parent's own mail: that has to be read.
        let answered = notice.is_some() && self.set_aside.is_none();
        let reader_turn_id = handoff.reader(parent, context.now).filter(|_| answered);
        if let Some(notice) = &mut notice {
            notice.exception = reader_turn_id.map(|_| MailException::Consumed);
        }
        let end = Event::HandoffEnded(HandoffEnd {
            handoff_id: handoff.handoff_id,
            closing: Closing::AtOnce(self.status),
            outcome: self.outcome,
            outcome_stated: false,
            report: NewReport {
                kind: ReportKind::End,
                outcome: self.outcome,
                body: notice.is_none().then(|| self.error.summary.clone()),
                data: None,
                artifacts: Vec::new(),
                mailed: notice.is_some(),
                reader_turn_id,
            },
            text: self.error.summary.clone(),
            error: Some(self.error),
            actor: self.actor,
            reason: self.reason,
            turn_id: self.turn_id,
        });
        std::iter::once(end)
            .chain(notice.map(Event::MessageAccepted))
            .collect()
    }

    fn notice(&self, handoff: &Handoff, context: &mut Context<'_>) -> Option<Message> {
        let parent = Self::told(handoff)?;
        let message_id: MessageId = context.ids.next(context.now);
        let word = match self.error.cause {
            ErrorCause::Cancelled => "was cancelled",
            ErrorCause::Quiet => "was abandoned",
            ErrorCause::Forced => "was ended by an operator",
            ErrorCause::TurnFailed
            | ErrorCause::TurnsLost
            | ErrorCause::AgentDeactivated
            | ErrorCause::ParentThreadDeleted
            | ErrorCause::Deadline
            | ErrorCause::Unclaimed => "failed",
        };
        let subject: String = format!("Handoff {word}: {}", handoff.title)
            .chars()
            .take(200)
            .collect();
        let mut body = format!("{}\n\n{}", self.error.summary, self.error.advice);
        if let Some(mail) = &self.set_aside {
            body = format!("{body}\n\n{}", mail.text());
        }
        Some(Message {
            to_thread_id: parent,
            mail_number: 0,
            message_id,
            from_thread_id: None,
            from_agent_id: None,
            handoff_id: Some(handoff.handoff_id),
            kind: MessageKind::Notice,
            subject,
            body,
            data: self.set_aside.as_ref().map(SetAside::data),
            artifacts: Vec::new(),
            outcome: Some(self.outcome),
            in_reply_to: None,
            report_version: Some(handoff.report_version + 1),
            quiet: !self.wakes,
            wakes: self.wakes,
            rated: false,
            late: false,
            exception: None,
            create_time: context.now,
        })
    }
}
