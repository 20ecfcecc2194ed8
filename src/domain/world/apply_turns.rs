//! Carries out events of turns: assignment, begin, end, and the wake that follows an end.

use crate::domain::handoffs::{Actor, Progress, TimelineReason};
use crate::domain::history::EventKind;
use crate::domain::ids::{ThreadId, TurnId};
use crate::domain::mailbox::MailException;
use crate::domain::plan::{GivenMail, Remark, Rerun, TurnEnd};
use crate::domain::threads::Drive;
use crate::domain::time::Timestamp;
use crate::domain::turns::{AbortRequest, FinishRecord, Turn, TurnOutcome, TurnState};

use super::apply::Inconsistent;
use super::{Hint, World};

impl World {
    pub(super) fn turn_mut(&mut self, id: TurnId) -> Result<&mut Turn, Inconsistent> {
        self.turns.get_mut(&id).ok_or_else(|| Inconsistent::of(id))
    }

    pub(super) fn assign_turn(&mut self, turn: Turn) -> Result<(), Inconsistent> {
        let head = self.head_mut(turn.thread_id)?;
        head.turn_id = Some(turn.turn_id);
        head.turn_number = turn.token;
        head.turn_running = false;
        head.wake_time = None;
        head.wake_count = 0;
        if turn.holds_slot {
            let slots = self.slots.get_mut(&turn.agent_id);
            slots
                .ok_or_else(|| Inconsistent::of(&turn.agent_id))?
                .live_turns += 1;
        }
        self.turns.create(turn.turn_id, turn);
        Ok(())
    }

    pub(super) fn begin_turn(&mut self, id: TurnId, lease: Timestamp) -> Result<(), Inconsistent> {
        let now = self.now;
        let turn = self.turn_mut(id)?;
        turn.state = TurnState::Running;
        turn.lease_expire_time = lease;
        turn.heartbeat_time = now;
        turn.activity_time = now;
        turn.check_time = Some(lease);
        let (thread_id, handoff_id) = (turn.thread_id, turn.handoff_id);
        let (runtime_id, incarnation) = (turn.runtime_id.clone(), turn.incarnation);
        let head = self.head_mut(thread_id)?;
        head.turn_running = true;
        head.last_activity_time = head.last_activity_time.max(now);
        let unfinished = head.unfinished_handoff();
        let started = EventKind::TurnStarted {
            runtime_id: runtime_id.clone(),
            incarnation,
            handoff_id,
        };
        self.record(thread_id, false, Some(id), started)?;
        if let Some(handoff_id) = unfinished {
            let from = self.handoff_status(handoff_id)?;
            let handoff = self.handoff_mut(handoff_id)?;
            if handoff.first_turn_time().is_none()
                && let Some(deadline) = &mut handoff.deadline
            {
                deadline.time = Some(now + deadline.limit);
            }
            match handoff.progress {
                Progress::Started => {
                    handoff.progress = Progress::Running {
                        first_turn_time: now,
                    };
                }
                Progress::WatchExpired {
                    first_turn_time: None,
                } => {
                    handoff.progress = Progress::WatchExpired {
                        first_turn_time: Some(now),
                    };
                }
                Progress::Running { .. }
                | Progress::FirstResponse { .. }
                | Progress::WatchExpired { .. }
                | Progress::Finished { .. }
                | Progress::Closed { .. } => {}
            }
            self.add_timeline(
                from,
                Remark {
                    handoff_id,
                    actor: Actor::Runtime(runtime_id),
                    reason: TimelineReason::TurnBegan,
                    text: String::new(),
                    turn_id: Some(id),
                    report_version: None,
                },
            )?;
        }
        Ok(())
    }

    pub(super) fn request_abort(
        &mut self,
        id: TurnId,
        request: AbortRequest,
    ) -> Result<(), Inconsistent> {
        let turn = self.turn_mut(id)?;
        turn.abort.get_or_insert(request);
        let (thread_id, handoff_id) = (turn.thread_id, turn.handoff_id);
        if let Some(handoff_id) = handoff_id.filter(|id| self.handoffs.get(id).is_some()) {
            self.handoff_mut(handoff_id)?.stop_turn_id = Some(id);
        }
        self.hints.insert(Hint::Mailbox(thread_id));
        Ok(())
    }

    pub(super) fn end_turn(&mut self, end: TurnEnd) -> Result<(), Inconsistent> {
        let now = self.now;
        let turn = self.turn_mut(end.turn_id)?;
        turn.state = TurnState::Ended {
            end_time: now,
            outcome: end.outcome,
        };
        turn.check_time = None;
        let answer = end.finish_answer.clone();
        turn.finish = end.fingerprint.map(|fingerprint| FinishRecord {
            fingerprint,
            answer,
        });
        let turn = turn.clone();
        if turn.holds_slot {
            let slots = self.slots.get_mut(&turn.agent_id);
            let slots = slots.ok_or_else(|| Inconsistent::of(&turn.agent_id))?;
            slots.live_turns = slots.live_turns.saturating_sub(1);
            self.hints.insert(Hint::Agent(turn.agent_id.clone()));
        }
        let began = self.head_mut(turn.thread_id)?.turn_running;
        self.settle_head(&turn, &end)?;
        self.settle_mail(turn.thread_id, end.mail)?;
        if began {
            let ended = EventKind::TurnEnded {
                outcome: end.outcome,
                next: end.next,
                response_text: end.response.clone(),
                error: end.error,
            };
            let number = self.record(turn.thread_id, false, Some(turn.turn_id), ended)?;
            if end.response.is_some() {
                self.head_mut(turn.thread_id)?.response_number = Some(number);
            }
        }
        self.rerun(turn.thread_id, end.rerun)?;
        if began {
            self.rest(turn.thread_id)?;
        } else {
            // Nobody did anything: its quiet time goes on as if there had been no turn.
            let period = self.rules.abandon_after;
            let head = self.head_mut(turn.thread_id)?;
            let abandon = head.quiet_since() + period;
            head.due_time = head.due_time.map(|due| due.min(abandon));
        }
        self.hints.insert(Hint::Mailbox(turn.thread_id));
        if let Some(handoff_id) = turn.handoff_id {
            self.hints.insert(Hint::Handoff(handoff_id));
            self.acknowledge_stop(&turn)?;
        }
        Ok(())
    }

    fn settle_head(&mut self, turn: &Turn, end: &TurnEnd) -> Result<(), Inconsistent> {
        let now = self.now;
        let head = self.head_mut(turn.thread_id)?;
        head.turn_id = None;
        head.turn_running = false;
        let activity = &turn.activity;
        head.tool_calls = head.tool_calls.saturating_add(activity.tool_calls);
        head.input_tokens = head.input_tokens.saturating_add(activity.input_tokens);
        head.output_tokens = head.output_tokens.saturating_add(activity.output_tokens);
        if turn.activity.last_tool.is_some() {
            head.last_tool.clone_from(&turn.activity.last_tool);
            head.last_tool_time = turn.activity.last_tool_time;
        }
        match end.outcome {
            TurnOutcome::Done | TurnOutcome::Failed | TurnOutcome::Aborted => {
                head.lost_turns = 0;
                head.lost_given_through = None;
                head.last_activity_time = head.last_activity_time.max(now);
            }
            TurnOutcome::Interrupted | TurnOutcome::Released => {
                head.last_activity_time = head.last_activity_time.max(now);
            }
            TurnOutcome::Lost => {
                // What it did counts, its silence does not.
                head.last_activity_time = head.last_activity_time.max(turn.activity_time);
                head.lost_turns += 1;
                let given = head.given_through;
                head.lost_given_through = Some(
                    head.lost_given_through
                        .map_or(given, |least| least.min(given)),
                );
            }
            TurnOutcome::Unclaimed => {}
        }
        Ok(())
    }

    /// Moves the marks as the end of a turn says, and counts what is left to wake for.
    fn settle_mail(&mut self, thread_id: ThreadId, mail: GivenMail) -> Result<(), Inconsistent> {
        let head = self.head_mut(thread_id)?;
        let (consumed, given) = (head.consumed_through, head.given_through);
        let through = match mail {
            GivenMail::ConsumedThrough(through) => through,
            GivenMail::Returned => consumed,
            GivenMail::SetAsideThrough(through) => {
                let through = through.max(consumed);
                if through > consumed {
                    self.except_mail(thread_id, (consumed, through), MailException::SetAside)?;
                }
                let head = self.head_mut(thread_id)?;
                head.lost_turns = 0;
                head.lost_given_through = None;
                through
            }
        };
        if through < given {
            self.keep_moot_reminder(thread_id, (through, given))?;
        }
        let waking = self.waking_above(thread_id, through);
        let head = self.head_mut(thread_id)?;
        head.consumed_through = through;
        head.given_through = through;
        if through < given {
            // A guess here would lose a wake.
            head.waking_unread =
                waking.ok_or_else(|| Inconsistent::of(("waking mail of", thread_id)))?;
        }
        Ok(())
    }

    /// A reminder of work that has ended does not come back with the mail of its turn: it is done with.
    fn keep_moot_reminder(
        &mut self,
        thread_id: ThreadId,
        (above, through): (u64, u64),
    ) -> Result<(), Inconsistent> {
        let head = self.head_mut(thread_id)?;
        let ended = head.handoff_id.filter(|_| !head.handoff_unfinished);
        let handoff = ended.and_then(|id| self.handoffs.get(&id));
        let Some(number) = handoff.and_then(|it| it.reminder_mail_number) else {
            return Ok(());
        };
        if above < number && number <= through {
            self.except_mail(thread_id, (number - 1, number), MailException::Consumed)?;
        }
        Ok(())
    }

    fn rerun(&mut self, thread_id: ThreadId, rerun: Rerun) -> Result<(), Inconsistent> {
        let now = self.now;
        let head = self.head_mut(thread_id)?;
        if head.drive == Drive::Pull || head.delete_time.is_some() {
            return Ok(());
        }
        let mail = (head.waking_unread > 0).then_some(now);
        // The return of the turn is a cause of its own: it stands when the mail is withdrawn.
        let (wake_time, own) = match rerun {
            Rerun::IfMail => (mail, 0),
            Rerun::At(time) => (Some(mail.map_or(time, |mail| mail.min(time))), 1),
            Rerun::NotBefore(time) => (Some(time), 1),
        };
        head.wake_time = wake_time;
        head.wake_count = head.waking_unread + own;
        if wake_time.is_some() {
            let agent = head.agent_id.clone();
            self.hints.insert(Hint::Agent(agent));
        }
        Ok(())
    }

    fn acknowledge_stop(&mut self, turn: &Turn) -> Result<(), Inconsistent> {
        let Some(handoff_id) = turn.handoff_id.filter(|id| self.handoffs.get(id).is_some()) else {
            return Ok(());
        };
        if turn.abort.is_none() {
            return Ok(());
        }
        self.remark(Remark {
            handoff_id,
            actor: Actor::Runtime(turn.runtime_id.clone()),
            reason: TimelineReason::StopAcknowledged,
            text: String::new(),
            turn_id: Some(turn.turn_id),
            report_version: None,
        })
    }
}
