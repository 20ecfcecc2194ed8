//! What a child sends to its parent: how far it is, and its report, which ends the work.

use super::{SendMessage, Sent};
use crate::domain::caller::Acting;
use crate::domain::command::{Context, Decision, Stop};
use crate::domain::handoffs::closing::closing;
use crate::domain::handoffs::{Actor, Handoff, OnCompletion, Outcome, ReportKind, TimelineReason};
use crate::domain::history::EventKind;
use crate::domain::ids::{MessageId, TurnId};
use crate::domain::mailbox::{Delivery, MailException, MessageKind};
use crate::domain::plan::{Event, HandoffEnd, NewReport, Remark};
use crate::domain::refusal::Refusal;
use crate::domain::threads::{Drive, Head};
use crate::domain::world::World;

/// Whether a report goes by mail, and who reads it by the answer of its own call.
#[derive(Clone, Copy)]
enum Mailing {
    By { reader: Option<TurnId> },
    None,
}

impl SendMessage {
    pub(super) fn progress(
        &self,
        world: &World,
        context: &mut Context<'_>,
        sender: &Head,
        acting: Acting,
    ) -> Result<Decision<Sent>, Stop> {
        let handoff = self.own_handoff(world, sender, &acting)?;
        let to = handoff.parent_thread_id.ok_or(Refusal::NoParentThread {
            thread_id: sender.thread_id,
        })?;
        let recipient = world.head(to)?;
        Self::check_room(world, sender, recipient, MessageKind::Progress)?;
        let mut message = self.message(context, Some(sender), to, MessageKind::Progress);
        message.handoff_id = Some(handoff.handoff_id);
        message.late = !handoff.is_unfinished();
        let mut events = acting.begin;
        if !message.late {
            events.push(Event::ProgressReported {
                handoff_id: handoff.handoff_id,
            });
        }
        Ok(Self::sent(world, recipient, events, message))
    }

    pub(super) fn report(
        &self,
        world: &World,
        context: &mut Context<'_>,
        sender: &Head,
        acting: &Acting,
    ) -> Result<Decision<Sent>, Stop> {
        let handoff = self.own_handoff(world, sender, acting)?;
        let Some(to) = handoff
            .parent_thread_id
            .filter(|_| handoff.on_completion == OnCompletion::Notify)
        else {
            return self.recorded(world, handoff, sender, acting);
        };
        let recipient = world.head(to)?;
        Self::check_room(world, sender, recipient, MessageKind::Report)?;
        let outcome = self.outcome.unwrap_or(Outcome::Succeeded);
        let mut message = self.message(context, Some(sender), to, MessageKind::Report);
        message.handoff_id = Some(handoff.handoff_id);
        message.outcome = Some(outcome);
        message.late = !handoff.is_unfinished();
        let mut events = acting.begin.clone();
        let version = (!message.late).then_some(handoff.report_version + 1);
        message.report_version = version;
        let reader = handoff.reader(Some(recipient), world.now);
        message.exception = reader.map(|_| MailException::Consumed);
        events.push(self.history(handoff, sender, version, Some(message.message_id)));
        let delivery = Mailing::By { reader };
        events.push(self.end_or_remark(handoff, sender, Some(recipient), acting, delivery));
        Ok(Self::sent(world, recipient, events, message))
    }

    /// A report that is not mailed: version, history and timeline only.
    fn recorded(
        &self,
        world: &World,
        handoff: &Handoff,
        sender: &Head,
        acting: &Acting,
    ) -> Result<Decision<Sent>, Stop> {
        let parent = handoff.parent_thread_id;
        let parent = parent.map(|parent| world.head(parent)).transpose()?;
        let late = !handoff.is_unfinished();
        let version = (!late).then_some(handoff.report_version + 1);
        let mut events = acting.begin.clone();
        events.push(self.history(handoff, sender, version, None));
        events.push(self.end_or_remark(handoff, sender, parent, acting, Mailing::None));
        let delivery = Delivery::Recorded;
        let sent = Sent {
            message_id: None,
            to: None,
            delivery,
            late,
            deduplicated: false,
        };
        Ok(Decision {
            events,
            answer: Ok(sent),
        })
    }

    fn history(
        &self,
        handoff: &Handoff,
        sender: &Head,
        version: Option<u64>,
        message_id: Option<MessageId>,
    ) -> Event {
        let report = EventKind::Report {
            handoff_id: handoff.handoff_id,
            version,
            outcome: self.outcome.unwrap_or(Outcome::Succeeded),
            message_id,
            body: message_id.is_none().then(|| self.body.clone()),
        };
        Event::HistoryAppended {
            thread_id: sender.thread_id,
            late: version.is_none(),
            kinds: vec![report],
        }
    }

    fn end_or_remark(
        &self,
        handoff: &Handoff,
        sender: &Head,
        parent: Option<&Head>,
        acting: &Acting,
        mailing: Mailing,
    ) -> Event {
        let (mailed, reader_turn_id) = match mailing {
            Mailing::By { reader } => (true, reader),
            Mailing::None => (false, None),
        };
        let actor = Actor::Thread(sender.thread_id);
        let turn_id = acting.turn_id;
        let handoff_id = handoff.handoff_id;
        if !handoff.is_unfinished() {
            let reason = TimelineReason::LateReport;
            let text = self.subject.clone();
            return Event::Remarked(Remark {
                handoff_id,
                actor,
                reason,
                text,
                turn_id,
                report_version: None,
            });
        }
        let outcome = self.outcome.unwrap_or(Outcome::Succeeded);
        Event::HandoffEnded(HandoffEnd {
            handoff_id,
            closing: closing(handoff, parent),
            outcome,
            outcome_stated: self.outcome.is_some(),
            error: None,
            report: NewReport {
                kind: ReportKind::Report,
                outcome,
                body: (!mailed).then(|| self.body.clone()),
                data: self.data.clone(),
                artifacts: self.artifacts.clone(),
                mailed,
                reader_turn_id,
            },
            actor,
            reason: TimelineReason::Reported,
            text: self.subject.clone(),
            turn_id,
        })
    }

    /// The handoff a report or progress is about: the sender's newest.
    fn own_handoff<'w>(
        &self,
        world: &'w World,
        sender: &Head,
        acting: &Acting,
    ) -> Result<&'w Handoff, Stop> {
        let thread_id = sender.thread_id;
        let id = sender.handoff_id.ok_or(Refusal::NoHandoff { thread_id })?;
        if let Some(to) = self.to.filter(|to| Some(*to) != sender.parent_thread_id) {
            let parent = sender
                .parent_thread_id
                .ok_or(Refusal::NoParentThread { thread_id: to })?;
            return Err(Refusal::NotToParentThread { parent }.into());
        }
        if let Some(handoff_id) = self.handoff.filter(|named| *named != id) {
            return Err(Refusal::HandoffOfOtherThread { handoff_id }.into());
        }
        if sender.drive == Drive::Runtime && sender.turn_number > 0 && acting.turn_id.is_none() {
            return Err(Refusal::TurnRequired { thread_id }.into());
        }
        let handoff = world.handoff(id)?;
        if let Some(parent) = handoff.parent_thread_id {
            let parent = world.head(parent)?;
            self.check_agent(parent)?;
        }
        Ok(handoff)
    }
}
