//! Carries out events: the dispatch, and what concerns agents, runtimes, threads and keys.

use crate::domain::agents::{Agent, AgentState, Slots};
use crate::domain::history::{EventKind, ThreadEvent};
use crate::domain::ids::{AgentId, ThreadId, TurnId};
use crate::domain::limits;
use crate::domain::plan::Event;
use crate::domain::runtime::Runtime;
use crate::domain::threads::{Drive, Head, Thread};

use super::{BoundKey, Hint, NewKey, World};

/// A plan names a row that its batch does not hold: a decision that forgot part of its footprint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("plan names {what}, which the batch did not lock")]
pub struct Inconsistent {
    /// Which row.
    pub what: String,
}

impl Inconsistent {
    pub(super) fn of(what: impl std::fmt::Debug) -> Self {
        Self {
            what: format!("{what:?}"),
        }
    }
}

impl World {
    /// Carries out a plan, in order.
    ///
    /// # Errors
    /// A row is missing. Nothing of this world may be written then.
    pub fn apply(&mut self, events: Vec<Event>) -> Result<(), Inconsistent> {
        events
            .into_iter()
            .try_for_each(|event| self.apply_one(event))
    }

    #[expect(clippy::too_many_lines, reason = "one arm an event")]
    fn apply_one(&mut self, event: Event) -> Result<(), Inconsistent> {
        match event {
            Event::AgentPut { agent, max_turns } => self.put_agent(agent, max_turns),
            Event::AgentStateSet { agent_id, state } => self.set_agent_state(agent_id, state)?,
            Event::RuntimeRegistered {
                runtime_id,
                description,
            } => {
                self.register_runtime(runtime_id, description);
            }
            Event::ThreadCreated(thread) => self.create_thread(thread),
            Event::MessageAccepted(message) => self.accept_message(message)?,
            Event::MailGiven {
                thread_id,
                through,
                messages,
            } => {
                self.give_mail(thread_id, through, &messages)?;
            }
            Event::MailConsumed { thread_id, through } => self.consume_mail(thread_id, through)?,
            Event::ReportAcknowledged {
                handoff_id,
                version,
            } => {
                self.acknowledge_report(handoff_id, version)?;
            }
            Event::TurnAssigned(turn) => self.assign_turn(turn)?,
            Event::TurnBegan {
                turn_id,
                lease_expire_time,
            } => {
                self.begin_turn(turn_id, lease_expire_time)?;
            }
            Event::LeaseRenewed {
                turn_id,
                lease_expire_time,
            } => {
                let now = self.now;
                let turn = self.turn_mut(turn_id)?;
                turn.lease_expire_time = lease_expire_time;
                turn.heartbeat_time = now;
            }
            Event::TurnActive {
                turn_id,
                activity,
                partial_text,
            } => {
                let now = self.now;
                let turn = self.turn_mut(turn_id)?;
                turn.activity = activity;
                turn.activity_time = now;
                turn.partial_text = partial_text.or(turn.partial_text.take());
            }
            Event::LeaseChecked {
                turn_id,
                check_time,
            } => {
                self.turn_mut(turn_id)?.check_time = Some(check_time);
            }
            Event::AbortRequested { turn_id, request } => self.request_abort(turn_id, request)?,
            Event::TurnEnded(end) => self.end_turn(end)?,
            Event::HistoryAppended {
                thread_id,
                late,
                kinds,
            } => {
                self.append_history(thread_id, late, kinds)?;
            }
            Event::HandoffCreated {
                handoff,
                assignment,
                due_time,
                actor,
                earlier,
            } => {
                self.create_handoff(handoff, assignment, due_time, actor, earlier)?;
            }
            Event::HandoffRefused {
                handoff,
                assignment,
                actor,
            } => {
                self.refuse_handoff(handoff, assignment, actor)?;
            }
            Event::ProgressReported { handoff_id } => self.report_progress(handoff_id)?,
            Event::HandoffEnded(end) => self.end_handoff(end)?,
            Event::HandoffClosed(close) => self.close_handoff(close)?,
            Event::WatchExpired { handoff_id } => self.expire_watch(handoff_id)?,
            Event::DeadlineSet {
                handoff_id,
                deadline,
                actor,
            } => self.set_deadline(handoff_id, deadline, actor)?,
            Event::ClaimDeadlineMoved { handoff_id, time } => {
                self.handoff_mut(handoff_id)?.claim_deadline_time = Some(time);
            }
            Event::ReportReturned {
                handoff_id,
                version,
                message,
            } => self.return_report(handoff_id, version, message)?,
            Event::Remarked(remark) => self.remark(remark)?,
            Event::WakeWithdrawn { thread_id } => {
                let head = self.head_mut(thread_id)?;
                if head.waking_unread == 0 {
                    head.wake_time = None;
                    head.wake_count = 0;
                }
            }
            Event::ReminderSent { handoff_id } => self.send_reminder(handoff_id)?,
            Event::ReminderCancelled { handoff_id } => self.cancel_reminder(handoff_id)?,
            Event::DueSet {
                thread_id,
                due_time,
                waited_time,
            } => {
                let head = self.head_mut(thread_id)?;
                head.due_time = due_time;
                head.waited_time = waited_time.or(head.waited_time);
            }
            Event::EffectDeferred(deferred) => self.defer_effect(deferred),
            Event::EffectRun { effect_id } => self.end_effect(effect_id)?,
            Event::EffectPutOff {
                effect_id,
                due_time,
            } => {
                self.put_effect_off(effect_id, due_time)?;
            }
            Event::KeyBound {
                hash,
                fingerprint,
                handoff_id,
                answer,
            } => {
                let key = BoundKey {
                    fingerprint,
                    handoff_id,
                    answer,
                };
                let expire_time = self.now + limits::KEY_LIFE;
                self.made.keys.insert(
                    hash,
                    NewKey {
                        hash,
                        key,
                        expire_time,
                    },
                );
            }
        }
        Ok(())
    }

    fn put_agent(&mut self, agent: Agent, max_turns: Option<u32>) {
        let id = agent.agent_id.clone();
        self.hints.insert(Hint::Agent(id.clone()));
        if let Some(slots) = self.slots.get_mut(&id) {
            slots.max_turns = max_turns;
        } else {
            let slots = Slots {
                agent_id: id.clone(),
                state: AgentState::Active,
                max_turns,
                live_turns: 0,
            };
            self.slots.create(id.clone(), slots);
        }
        self.made.agents.insert(id, agent);
    }

    fn set_agent_state(&mut self, id: AgentId, state: AgentState) -> Result<(), Inconsistent> {
        let slots = self
            .slots
            .get_mut(&id)
            .ok_or_else(|| Inconsistent::of(&id))?;
        slots.state = state;
        self.hints.insert(Hint::Agent(id));
        Ok(())
    }

    fn register_runtime(&mut self, runtime_id: String, description: String) {
        let now = self.now;
        if let Some(runtime) = self.runtimes.get_mut(&runtime_id) {
            runtime.incarnation += 1;
            runtime.description = description;
            runtime.register_time = now;
            runtime.receive_time = now;
        } else {
            let runtime = Runtime {
                runtime_id: runtime_id.clone(),
                incarnation: 1,
                description,
                register_time: now,
                receive_time: now,
            };
            self.runtimes.create(runtime_id, runtime);
        }
    }

    pub(super) fn create_thread(&mut self, thread: Thread) {
        self.heads
            .create(thread.thread_id, Head::new(&thread, self.now));
        self.made.threads.push(thread);
    }

    /// Writes into a thread's history, and moves what follows from it.
    pub(super) fn append_history(
        &mut self,
        thread_id: ThreadId,
        late: bool,
        kinds: Vec<EventKind>,
    ) -> Result<(), Inconsistent> {
        let now = self.now;
        let head = self.head_mut(thread_id)?;
        head.update_time = head.update_time.max(now);
        head.last_activity_time = head.update_time;
        let (time, turn_id) = (head.update_time, head.turn_id);
        let tools = kinds.iter().filter_map(EventKind::tool);
        let (calls, newest) = tools.fold((0, None), |(calls, _), tool| (calls + 1, Some(tool)));
        let newest = newest.map(str::to_owned);
        let head = self.head_mut(thread_id)?;
        // Those of a live turn come to the head when it ends.
        if turn_id.is_none() && calls > 0 {
            head.tool_calls += calls;
            head.last_tool.clone_from(&newest);
            head.last_tool_time = Some(time);
        }
        if let Some(turn) = turn_id.and_then(|id| self.turns.get_mut(&id)) {
            turn.activity_time = time;
            if calls > 0 {
                turn.activity.tool_calls += calls;
                turn.activity.last_tool = newest;
                turn.activity.last_tool_time = Some(time);
            }
        }
        for kind in kinds {
            self.record(thread_id, late, turn_id, kind)?;
        }
        Ok(())
    }

    /// Adds one numbered entry to a thread's history.
    pub(super) fn record(
        &mut self,
        thread_id: ThreadId,
        late: bool,
        turn_id: Option<TurnId>,
        kind: EventKind,
    ) -> Result<u64, Inconsistent> {
        let now = self.now;
        let head = self.head_mut(thread_id)?;
        head.event_number += 1;
        head.update_time = head.update_time.max(now);
        let event = ThreadEvent {
            thread_id,
            number: head.event_number,
            time: head.update_time,
            late,
            turn_id,
            kind,
        };
        let number = event.number;
        self.made.thread_events.push(event);
        Ok(number)
    }

    pub(super) fn head_mut(&mut self, id: ThreadId) -> Result<&mut Head, Inconsistent> {
        self.heads.get_mut(&id).ok_or_else(|| Inconsistent::of(id))
    }

    /// A thread has one more thing to do: wakes it if it is idle. A pause after a loss stands.
    pub(super) fn wake(&mut self, thread_id: ThreadId) -> Result<(), Inconsistent> {
        let now = self.now;
        let head = self.head_mut(thread_id)?;
        if head.drive == Drive::Pull || head.turn_id.is_some() || head.delete_time.is_some() {
            return Ok(());
        }
        let in_pause = head.lost_turns > 0 && head.wake_time.is_some_and(|time| time > now);
        if !in_pause {
            if head.wake_time.is_some_and(|time| time > now) {
                head.waited_time = Some(now);
            }
            head.wake_time = Some(head.wake_time.map_or(now, |time| time.min(now)));
        }
        head.wake_count += 1;
        let agent = head.agent_id.clone();
        self.hints.insert(Hint::Agent(agent));
        Ok(())
    }

    /// A thread ran or waited for something until now, or waits for the timer that its wake is. Where
    /// nothing wakes it again it may be quiet from here on, and is looked at in time.
    pub(super) fn rest(&mut self, thread_id: ThreadId) -> Result<(), Inconsistent> {
        let now = self.now;
        let reminder = now + self.rules.reminder_after;
        let head = self.head_mut(thread_id)?;
        if !head.handoff_unfinished || head.turn_id.is_some() {
            return Ok(());
        }
        head.waited_time = Some(head.wake_time.map_or(now, |wake| wake.max(now)));
        if head.wake_time.is_none() {
            head.due_time = Some(head.due_time.map_or(reminder, |due| due.min(reminder)));
        }
        Ok(())
    }
}
