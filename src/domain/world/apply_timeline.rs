//! Carries out what is told of handoffs: their timelines, progress, reminders.

use crate::domain::handoffs::{Actor, HandoffEvent, Status, TimelineReason};
use crate::domain::ids::HandoffId;
use crate::domain::mailbox::MailException;
use crate::domain::plan::Remark;

use super::apply::Inconsistent;
use super::{Hint, World};

impl World {
    pub(super) fn report_progress(&mut self, id: HandoffId) -> Result<(), Inconsistent> {
        let parent = self
            .handoff_mut(id)?
            .parent_thread_id
            .ok_or_else(|| Inconsistent::of(id))?;
        let number = self.head_mut(parent)?.mail_number + 1;
        let handoff = self.handoff_mut(id)?;
        handoff.progress_mail_number = Some(number);
        let Some(child) = handoff.child_thread_id else {
            return Err(Inconsistent::of(id));
        };
        let turn_id = self.heads.get(&child).and_then(|head| head.turn_id);
        self.remark(Remark {
            handoff_id: id,
            actor: Actor::Thread(child),
            reason: TimelineReason::Progress,
            text: String::new(),
            turn_id,
            report_version: None,
        })
    }

    pub(super) fn send_reminder(&mut self, id: HandoffId) -> Result<(), Inconsistent> {
        let now = self.now;
        let child = self
            .handoff_mut(id)?
            .child_thread_id
            .ok_or_else(|| Inconsistent::of(id))?;
        let number = self.head_mut(child)?.mail_number + 1;
        let handoff = self.handoff_mut(id)?;
        handoff.reminders_sent += 1;
        handoff.reminder_time = Some(now);
        handoff.reminder_mail_number = Some(number);
        Ok(())
    }

    /// Takes back a reminder that no turn was given, for an operator: it stays counted, and with it goes the
    /// wake that was for nothing else. The child did nothing, so its quiet time goes on.
    pub(super) fn cancel_reminder(&mut self, id: HandoffId) -> Result<(), Inconsistent> {
        let handoff = self.handoff_mut(id)?;
        let outstanding = handoff.reminder_mail_number.take();
        let (Some(number), Some(child)) = (outstanding, handoff.child_thread_id) else {
            return Err(Inconsistent::of(id));
        };
        let waited_time = self.head_mut(child)?.waited_time;
        self.except_mail(child, (number - 1, number), MailException::Consumed)?;
        self.head_mut(child)?.waited_time = waited_time;
        Ok(())
    }

    /// Takes back a reminder that no turn was given, uncounted: its cause is gone. One that the live
    /// turn was given is known on, since it might come back with that turn's mail.
    pub(super) fn withdraw_reminder(&mut self, id: HandoffId) -> Result<(), Inconsistent> {
        let handoff = self.handoff_mut(id)?;
        let (Some(number), Some(child)) = (handoff.reminder_mail_number, handoff.child_thread_id)
        else {
            return Ok(());
        };
        if number <= self.head_mut(child)?.given_through {
            return Ok(());
        }
        let handoff = self.handoff_mut(id)?;
        handoff.reminder_mail_number = None;
        handoff.reminders_sent = handoff.reminders_sent.saturating_sub(1);
        self.except_mail(child, (number - 1, number), MailException::Withdrawn)?;
        self.remark(Remark {
            handoff_id: id,
            actor: Actor::Reconciler,
            reason: TimelineReason::ReminderWithdrawn,
            text: String::new(),
            turn_id: None,
            report_version: None,
        })
    }

    /// Adds a line to the timeline that changes no status.
    pub(super) fn remark(&mut self, remark: Remark) -> Result<(), Inconsistent> {
        let status = self.handoff_status(remark.handoff_id)?;
        self.add_timeline(status, remark)
    }

    pub(super) fn add_timeline(
        &mut self,
        from: Status,
        remark: Remark,
    ) -> Result<(), Inconsistent> {
        self.push_timeline(Some(from), remark)
    }

    pub(super) fn begin_timeline(
        &mut self,
        handoff_id: HandoffId,
        actor: Actor,
        reason: TimelineReason,
        text: String,
    ) -> Result<(), Inconsistent> {
        let remark = Remark {
            handoff_id,
            actor,
            reason,
            text,
            turn_id: None,
            report_version: None,
        };
        self.push_timeline(None, remark)
    }

    fn push_timeline(&mut self, from: Option<Status>, remark: Remark) -> Result<(), Inconsistent> {
        let now = self.now;
        let handoff = self.handoff_mut(remark.handoff_id)?;
        handoff.event_number += 1;
        handoff.update_time = handoff.update_time.max(now);
        let event = HandoffEvent {
            handoff_id: handoff.handoff_id,
            number: handoff.event_number,
            time: handoff.update_time,
            from_status: from,
            to_status: handoff.status(),
            actor: remark.actor,
            reason: remark.reason,
            text: remark.text,
            turn_id: remark.turn_id,
            report_version: remark.report_version,
        };
        self.hints.insert(Hint::Handoff(event.handoff_id));
        self.made.handoff_events.push(event);
        Ok(())
    }
}
