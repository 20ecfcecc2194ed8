//! The reconciler's look at a child that may have gone quiet: a reminder of what is owed, at last the
//! end of work that nobody will finish. Activity counts, never age.
//!
//! A look that finds nothing to do leaves the earliest moment at which there can be something if
//! nobody touches the thread: whoever ends what it waits for arranges an earlier look itself
//! (`World::rest`). Only a slot that becomes free and an agent that is activated tell no thread of
//! it, so these are looked at now and then.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::domain::agents::{AgentState, Slots};
use crate::domain::ask::Ask;
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::ids::ThreadId;
use crate::domain::limits::Rules;
use crate::domain::mailbox::{Message, MessageKind};
use crate::domain::plan::{Event, Remark};
use crate::domain::threads::Head;
use crate::domain::time::Timestamp;
use crate::domain::turns::assign::free_slots;
use crate::domain::world::World;

use super::notice::Ending;
use super::{
    Actor, ErrorCause, Handoff, HandoffError, OnCompletion, Outcome, TerminalStatus, TimelineReason,
};

/// The longest pause between two looks: the rules may change with a restart of the server.
const LONGEST: Duration = Duration::from_hours(24);
/// The least pause before a look at what nobody tells.
const SHORTEST: Duration = Duration::from_secs(1);

/// The command: look at one thread. It takes no other input.
#[derive(Clone, Debug, Serialize)]
pub struct CheckQuiet {
    /// Which thread.
    pub thread_id: ThreadId,
}

/// What the look came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum QuietCheck {
    /// Nothing is due; the next look is arranged.
    Rearmed,
    /// The child was reminded.
    Reminded,
    /// The work was given up.
    Abandoned,
}

impl Answer for QuietCheck {
    fn mark_deduplicated(&mut self) {}
}

impl Command for CheckQuiet {
    type Answer = QuietCheck;
    const NAME: &'static str = "handoffs.check_quiet";

    fn lane_key(&self) -> u128 {
        self.thread_id.into_untyped().as_u128()
    }

    fn route(&self) -> RouteAsk {
        let mut ask = RouteAsk::default();
        ask.threads.insert(self.thread_id);
        ask
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let known = route.threads.get(&self.thread_id);
        Footprint::default()
            .head(self.thread_id)
            .head(known.and_then(|known| known.parent_thread_id))
            .handoff(known.and_then(|known| known.handoff_id))
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        ask.agents.extend(
            world
                .heads
                .get(&self.thread_id)
                .map(|head| head.agent_id.0.clone()),
        );
        ask.waking.insert(self.thread_id);
    }

    fn decide(
        &self,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<Decision<QuietCheck>, Stop> {
        let head = world.head(self.thread_id)?;
        let Some(handoff_id) = head.unfinished_handoff() else {
            return Ok(self.rearm(None, None));
        };
        let handoff = world.handoff(handoff_id)?;
        let slots = slots_of(world, head);
        if waits_for_slot(head, slots, world.now) {
            // It counts as waiting until it is looked at again.
            let again = world.now + untold_pause(&world.rules);
            return Ok(self.rearm(Some(again), Some(again)));
        }
        if !is_quiet(head, slots, world.now) {
            return Ok(self.rearm(Some(undisturbed_look(world.now, &world.rules)), None));
        }
        let idle = world.now.since(head.quiet_since());
        if idle >= world.rules.abandon_after {
            return self.abandon(world, context, handoff);
        }
        let reminder = next_reminder(head, handoff, slots, &world.rules);
        if reminder.is_some_and(|time| time <= world.now) {
            return Ok(self.remind(world, context, head, handoff));
        }
        Ok(self.rearm(Some(next_look(world, head, handoff, slots)), None))
    }
}

/// Idle, and waiting for nothing but a runtime or a deactivated agent.
#[must_use]
pub(in crate::domain) fn is_quiet(head: &Head, slots: Option<&Slots>, now: Timestamp) -> bool {
    let waits_for_timer = head.wake_time.is_some_and(|time| time > now);
    head.turn_id.is_none()
        && head.awaited_children == 0
        && !waits_for_timer
        && !waits_for_slot(head, slots, now)
}

/// A turn is due and finds no slot free.
fn waits_for_slot(head: &Head, slots: Option<&Slots>, now: Timestamp) -> bool {
    head.wake_time.is_some_and(|time| time <= now)
        && slots.is_some_and(|slots| slots.state == AgentState::Active && free_slots(slots) == 0)
}

/// When a quiet child is reminded next; never, where something holds reminders back.
#[must_use]
pub(in crate::domain) fn next_reminder(
    head: &Head,
    handoff: &Handoff,
    slots: Option<&Slots>,
    rules: &Rules,
) -> Option<Timestamp> {
    (reminder_is_owed(head, handoff, rules) && may_act(slots))
        .then(|| reminder_time(head, handoff, rules))
}

/// Some are left, none is outstanding, and no turn is due that would come anyway.
fn reminder_is_owed(head: &Head, handoff: &Handoff, rules: &Rules) -> bool {
    let outstanding = handoff
        .reminder_mail_number
        .is_some_and(|number| number > head.consumed_through);
    handoff.reminders_sent < rules.max_reminders && !outstanding && head.wake_time.is_none()
}

fn may_act(slots: Option<&Slots>) -> bool {
    slots.is_some_and(|slots| slots.state == AgentState::Active)
}

fn reminder_time(head: &Head, handoff: &Handoff, rules: &Rules) -> Timestamp {
    let quiet = head.quiet_since() + rules.reminder_after;
    handoff
        .reminder_time
        .map_or(quiet, |last| quiet.max(last + rules.reminder_interval))
}

/// The look at a thread that runs, waits, or has a wake: as long as it does there is nobody to
/// remind, and nothing is given up before it was quiet for the whole period.
pub(in crate::domain) fn undisturbed_look(now: Timestamp, rules: &Rules) -> Timestamp {
    now + rules.abandon_after.min(LONGEST)
}

/// The pause before the next look at what nobody tells: a free slot, an activated agent.
pub(in crate::domain) fn untold_pause(rules: &Rules) -> Duration {
    rules
        .reminder_interval
        .min(rules.abandon_after / 8)
        .max(SHORTEST)
}

/// The look at a quiet child that nobody will remind.
fn abandonment_look(world: &World, head: &Head) -> Timestamp {
    let abandon = head.quiet_since() + world.rules.abandon_after;
    abandon.min(world.now + LONGEST)
}

/// The look at a quiet child with which nothing is to be done yet.
fn next_look(world: &World, head: &Head, handoff: &Handoff, slots: Option<&Slots>) -> Timestamp {
    let rules = &world.rules;
    let mut next = abandonment_look(world, head);
    if reminder_is_owed(head, handoff, rules) {
        let reminder = reminder_time(head, handoff, rules);
        next = next.min(if may_act(slots) {
            reminder
        } else {
            reminder.max(world.now + untold_pause(rules))
        });
    }
    next
}

fn slots_of<'w>(world: &'w World, head: &Head) -> Option<&'w Slots> {
    let loaded = world.loaded.agents.get(&head.agent_id);
    world
        .slots
        .get(&head.agent_id)
        .or(loaded.map(|(_, slots)| slots))
}

impl CheckQuiet {
    fn rearm(
        &self,
        due_time: Option<Timestamp>,
        waited_time: Option<Timestamp>,
    ) -> Decision<QuietCheck> {
        let event = Event::DueSet {
            thread_id: self.thread_id,
            due_time,
            waited_time,
        };
        Decision {
            events: vec![event],
            answer: Ok(QuietCheck::Rearmed),
        }
    }

    fn remind(
        &self,
        world: &World,
        context: &mut Context<'_>,
        head: &Head,
        handoff: &Handoff,
    ) -> Decision<QuietCheck> {
        let handoff_id = handoff.handoff_id;
        let remark = Remark {
            handoff_id,
            actor: Actor::Reconciler,
            reason: TimelineReason::Reminded,
            text: format!("reminder {}", handoff.reminders_sent + 1),
            turn_id: None,
            report_version: None,
        };
        // Whoever reads the reminder arranges the look that follows.
        let due_time = Some(abandonment_look(world, head));
        let events = vec![
            Event::ReminderSent { handoff_id },
            Event::Remarked(remark),
            Event::MessageAccepted(self.reminder(context, handoff)),
            Event::DueSet {
                thread_id: self.thread_id,
                due_time,
                waited_time: None,
            },
        ];
        Decision {
            events,
            answer: Ok(QuietCheck::Reminded),
        }
    }

    /// The mail that says what is owed.
    fn reminder(&self, context: &mut Context<'_>, handoff: &Handoff) -> Message {
        let owed = match handoff.on_completion {
            OnCompletion::Notify => {
                "report its result to the parent thread (SendMessage, kind REPORT), also \
                 when it is blocked or failed"
            }
            OnCompletion::Return | OnCompletion::None => {
                "finish a turn with a final response, or send a REPORT"
            }
        };
        let body = format!(
            "The handoff `{}` is unfinished and was quiet for a while. To end it, {owed}.",
            handoff.title
        );
        Message {
            to_thread_id: self.thread_id,
            mail_number: 0,
            message_id: context.ids.next(context.now),
            from_thread_id: None,
            from_agent_id: None,
            handoff_id: Some(handoff.handoff_id),
            kind: MessageKind::Reminder,
            subject: "Reminder: a result is owed".to_owned(),
            body,
            data: None,
            artifacts: Vec::new(),
            outcome: None,
            in_reply_to: None,
            report_version: None,
            quiet: false,
            wakes: true,
            rated: false,
            late: false,
            exception: None,
            create_time: context.now,
        }
    }

    fn abandon(
        &self,
        world: &World,
        context: &mut Context<'_>,
        handoff: &Handoff,
    ) -> Result<Decision<QuietCheck>, Stop> {
        let parent = handoff.parent_thread_id;
        let parent = parent.map(|parent| world.head(parent)).transpose()?;
        let quiet = span(world.rules.abandon_after);
        let ending = Ending {
            status: TerminalStatus::Abandoned,
            outcome: Outcome::Abandoned,
            error: HandoffError {
                cause: ErrorCause::Quiet,
                failure_class: None,
                summary: format!("The child was quiet for {quiet} and was given up."),
                advice: "Look at its partial results, then hand the work off anew.".to_owned(),
            },
            actor: Actor::Reconciler,
            reason: TimelineReason::Abandoned,
            turn_id: None,
            wakes: true,
            set_aside: None,
        };
        let mut events = ending.events(handoff, parent, context);
        events.push(Event::WakeWithdrawn {
            thread_id: self.thread_id,
        });
        Ok(Decision {
            events,
            answer: Ok(QuietCheck::Abandoned),
        })
    }
}

/// A span for people: whole days where it is that long, else seconds.
fn span(span: Duration) -> String {
    match span.as_secs() / 86_400 {
        0 => format!("{} s", span.as_secs()),
        1 => "a day".to_owned(),
        days => format!("{days} days"),
    }
}
