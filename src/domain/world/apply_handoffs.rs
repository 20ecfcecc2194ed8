//! Carries out events of handoffs: creation, finish, closing.

use crate::domain::handoffs::closing::{Closing, untold};
use crate::domain::handoffs::{
    Actor, Assignment, Deadline, Handoff, OnCompletion, OpenStatus, Progress, Report, ReportKind,
    Status, TerminalStatus, TimelineReason,
};
use crate::domain::history::EventKind;
use crate::domain::ids::{HandoffId, ThreadId};
use crate::domain::plan::{HandoffClose, HandoffEnd, Remark};
use crate::domain::time::Timestamp;

use super::World;
use super::apply::Inconsistent;

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
            OnCompletion::Notify | OnCompletion::Return => {
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
        let version = self.finish_handoff(id, &end)?;
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
            reader_turn_id: end.report.reader_turn_id,
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
        let parent = parent.and_then(|parent| self.heads.get(&parent));
        let handoff = self.handoffs.get(&id);
        let Some(text) = handoff.and_then(|handoff| untold(handoff, parent, end.closing)) else {
            return Ok(());
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
    fn finish_handoff(&mut self, id: HandoffId, end: &HandoffEnd) -> Result<u64, Inconsistent> {
        let (now, window) = (self.now, self.rules.collection_window);
        let handoff = self.handoff_mut(id)?;
        let first_turn_time = handoff.first_turn_time();
        let kept = match handoff.progress {
            Progress::Started => OpenStatus::Started,
            Progress::Running { .. } => OpenStatus::Running,
            Progress::FirstResponse { .. } => OpenStatus::FirstResponse,
            Progress::WatchExpired { .. } => OpenStatus::WatchExpired,
            Progress::Finished { .. } | Progress::Closed { .. } => {
                return Err(Inconsistent::of(id));
            }
        };
        handoff.report_version += 1;
        let version = handoff.report_version;
        let (outcome, outcome_stated) = (end.outcome, end.outcome_stated);
        handoff.progress = match end.closing {
            Closing::AtOnce(status) => Progress::Closed {
                status,
                outcome,
                outcome_stated,
                first_turn_time,
                finish_time: now,
                close_time: now,
            },
            Closing::WhenCollected => Progress::Finished {
                status: kept,
                outcome,
                outcome_stated,
                first_turn_time,
                finish_time: now,
                collect_time: now + window,
            },
        };
        handoff.error.clone_from(&end.error);
        handoff.result_version = (end.report.kind != ReportKind::End).then_some(version);
        Ok(version)
    }

    /// Writes the terminal status of finished work.
    pub(super) fn close_handoff(&mut self, close: HandoffClose) -> Result<(), Inconsistent> {
        let (id, now) = (close.handoff_id, self.now);
        let from = self.handoff_status(id)?;
        let handoff = self.handoff_mut(id)?;
        let Progress::Finished {
            status: _,
            outcome,
            outcome_stated,
            first_turn_time,
            finish_time,
            collect_time: _,
        } = handoff.progress
        else {
            return Err(Inconsistent::of(id));
        };
        handoff.progress = Progress::Closed {
            status: close.status,
            outcome,
            outcome_stated,
            first_turn_time,
            finish_time,
            close_time: now,
        };
        let version = handoff.report_version;
        let remark = Remark {
            handoff_id: id,
            actor: close.actor,
            reason: close.reason,
            text: close.text,
            turn_id: None,
            report_version: Some(version),
        };
        self.add_timeline(from, remark)
    }

    /// The parent has the final version of finished work: that closes it.
    pub(super) fn collect(&mut self, id: HandoffId, version: u64) -> Result<(), Inconsistent> {
        let handoff = self.handoff_mut(id)?;
        let finished = matches!(handoff.progress, Progress::Finished { .. });
        match handoff.parent_thread_id {
            Some(parent) if finished && version == handoff.report_version => {
                self.close_handoff(HandoffClose {
                    handoff_id: id,
                    status: TerminalStatus::Completed,
                    actor: Actor::Thread(parent),
                    reason: TimelineReason::Collected,
                    text: String::new(),
                })
            }
            Some(_) | None => Ok(()),
        }
    }

    /// The watch of a synchronous creation closed, and the work goes on.
    pub(super) fn expire_watch(&mut self, id: HandoffId) -> Result<(), Inconsistent> {
        let from = self.handoff_status(id)?;
        let handoff = self.handoff_mut(id)?;
        let first_turn_time = handoff.first_turn_time();
        handoff.progress = Progress::WatchExpired { first_turn_time };
        let remark = Remark {
            handoff_id: id,
            actor: Actor::Reconciler,
            reason: TimelineReason::WatchExpired,
            text: String::new(),
            turn_id: None,
            report_version: None,
        };
        self.add_timeline(from, remark)
    }

    /// Sets the execution limit anew.
    pub(super) fn set_deadline(
        &mut self,
        id: HandoffId,
        deadline: Deadline,
        actor: Actor,
    ) -> Result<(), Inconsistent> {
        self.handoff_mut(id)?.deadline = Some(deadline);
        let text = deadline.time.map_or_else(
            || format!("{} s from the first turn", deadline.limit.as_secs()),
            |time| time.to_string(),
        );
        self.remark(Remark {
            handoff_id: id,
            actor,
            reason: TimelineReason::DeadlineSet,
            text,
            turn_id: None,
            report_version: None,
        })
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
}
