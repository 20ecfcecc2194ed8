//! Carries out events of handoffs: creation, end, timeline, reminders.

use crate::domain::handoffs::{
    Actor, Assignment, Handoff, HandoffEvent, OnCompletion, Progress, Report, ReportKind, Status,
    TimelineReason,
};
use crate::domain::history::EventKind;
use crate::domain::ids::{HandoffId, ThreadId};
use crate::domain::mailbox::MailException;
use crate::domain::plan::{HandoffEnd, Remark};
use crate::domain::time::Timestamp;

use super::apply::Inconsistent;
use super::{Hint, World};

impl World {
    pub(super) fn handoff_mut(&mut self, id: HandoffId) -> Result<&mut Handoff, Inconsistent> {
        self.handoffs
            .get_mut(&id)
            .ok_or_else(|| Inconsistent::of(id))
    }

    pub(super) fn handoff_status(&self, id: HandoffId) -> Result<Status, Inconsistent> {
        self.handoffs
            .get(&id)
            .map(Handoff::status)
            .ok_or_else(|| Inconsistent::of(id))
    }

    /// The child thread must have been made by the same plan, before this.
    pub(super) fn create_handoff(
        &mut self,
        handoff: Handoff,
        assignment: Assignment,
        due_time: Timestamp,
        actor: Actor,
        earlier: Option<HandoffId>,
    ) -> Result<(), Inconsistent> {
        let child = handoff
            .child_thread_id
            .ok_or_else(|| Inconsistent::of(handoff.handoff_id))?;
        let (id, attempt) = (handoff.handoff_id, handoff.attempt);
        let head = self.head_mut(child)?;
        head.handoff_id = Some(id);
        head.handoff_unfinished = true;
        head.due_time = Some(due_time);
        self.wake(child)?;
        self.record(
            child,
            false,
            None,
            EventKind::Assignment {
                handoff_id: id,
                attempt,
            },
        )?;
        if let Some(parent) = handoff.parent_thread_id {
            let agent_id = handoff.agent_id.clone();
            let title = handoff.title.clone();
            self.count_child(parent, handoff.on_completion, 1)?;
            let spawned = EventKind::ThreadSpawned {
                handoff_id: id,
                thread_id: child,
                agent_id,
                title,
            };
            self.append_history(parent, false, vec![spawned])?;
        }
        self.made.assignments.push(assignment);
        self.handoffs.create(id, handoff);
        let text = earlier.map_or_else(String::new, |earlier| {
            format!("refused before as `{earlier}`")
        });
        self.begin_timeline(id, actor, TimelineReason::Created, text)
    }

    pub(super) fn refuse_handoff(
        &mut self,
        handoff: Handoff,
        assignment: Assignment,
        actor: Actor,
    ) -> Result<(), Inconsistent> {
        let id = handoff.handoff_id;
        let text = handoff
            .error
            .as_ref()
            .map_or_else(String::new, |error| error.summary.clone());
        self.made.assignments.push(assignment);
        self.handoffs.create(id, handoff);
        self.begin_timeline(id, actor, TimelineReason::Refused, text)
    }

    fn count_child(
        &mut self,
        parent: ThreadId,
        told: OnCompletion,
        by: i64,
    ) -> Result<(), Inconsistent> {
        let head = self.head_mut(parent)?;
        head.live_children = head.live_children.saturating_add_signed(by);
        let waited = head.awaited_children > 0;
        match told {
            OnCompletion::Notify => {
                head.awaited_children = head.awaited_children.saturating_add_signed(by);
            }
            OnCompletion::None => {}
        }
        if waited && head.awaited_children == 0 {
            self.rest(parent)?;
        }
        Ok(())
    }

    /// The message that tells of it, where there is one, follows in the same plan.
    pub(super) fn end_handoff(&mut self, end: HandoffEnd) -> Result<(), Inconsistent> {
        let id = end.handoff_id;
        self.withdraw_reminder(id)?;
        let from = self.handoff_status(id)?;
        let told = end.report.mailed;
        let version = self.close_handoff(id, &end)?;
        let parent = self.release_heads(id)?;
        let mail_number = match parent.filter(|_| told) {
            Some(parent) => Some(self.head_mut(parent)?.mail_number + 1),
            None => None,
        };
        self.made.reports.push(Report {
            handoff_id: id,
            version,
            kind: end.report.kind,
            outcome: end.report.outcome,
            body: end.report.body,
            data: end.report.data,
            artifacts: end.report.artifacts,
            mail_number,
            create_time: self.now,
            deliver_time: None,
        });
        let remark = Remark {
            handoff_id: id,
            actor: end.actor,
            reason: end.reason,
            text: end.text,
            turn_id: end.turn_id,
            report_version: Some(version),
        };
        self.add_timeline(from, remark)?;
        if mail_number.is_some() {
            return Ok(());
        }
        let text = match parent {
            Some(_) => "on_completion is NONE: no notice was wanted",
            None => "there is no parent thread that could be told",
        };
        self.remark(Remark {
            handoff_id: id,
            actor: Actor::Reconciler,
            reason: TimelineReason::NotNotified,
            text: text.to_owned(),
            turn_id: None,
            report_version: Some(version),
        })
    }

    /// Makes the handoff what `end` says; returns the version of the report that ends it.
    fn close_handoff(&mut self, id: HandoffId, end: &HandoffEnd) -> Result<u64, Inconsistent> {
        let now = self.now;
        let handoff = self.handoff_mut(id)?;
        let first_turn_time = match handoff.progress {
            Progress::Started => None,
            Progress::Running { first_turn_time } => Some(first_turn_time),
            Progress::Closed { .. } => return Err(Inconsistent::of(id)),
        };
        handoff.report_version += 1;
        let version = handoff.report_version;
        handoff.progress = Progress::Closed {
            status: end.status,
            outcome: end.outcome,
            outcome_stated: end.outcome_stated,
            first_turn_time,
            finish_time: now,
            close_time: now,
        };
        handoff.error.clone_from(&end.error);
        handoff.result_version = (end.report.kind != ReportKind::End).then_some(version);
        Ok(version)
    }

    /// The child owes nothing any more, and the parent waits for one child less; returns the parent.
    fn release_heads(&mut self, id: HandoffId) -> Result<Option<ThreadId>, Inconsistent> {
        let handoff = self.handoff_mut(id)?;
        let (parent, child, told) = (
            handoff.parent_thread_id,
            handoff.child_thread_id,
            handoff.on_completion,
        );
        if let Some(child) = child {
            let head = self.head_mut(child)?;
            head.handoff_unfinished = false;
            head.due_time = None;
        }
        if let Some(parent) = parent {
            self.count_child(parent, told, -1)?;
        }
        Ok(parent)
    }

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
    fn withdraw_reminder(&mut self, id: HandoffId) -> Result<(), Inconsistent> {
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

    fn begin_timeline(
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
