//! SendMessage: a note to any thread, or a child's progress and report to its parent.
//!
//! A send locks the heads of both ends. It and the finish of the recipient's turn are therefore
//! ordered: send first, and finish sees waking mail that its turn was not given; finish first, and
//! send sees no turn and makes the wake itself.

mod room;
mod upward;

use serde::{Deserialize, Serialize};

use crate::domain::ask::Ask;
use crate::domain::caller::{Acting, Caller};
use crate::domain::command::{
    Answer, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::handoffs::Outcome;
use crate::domain::ids::{AgentId, HandoffId, MessageId, ThreadId};
use crate::domain::limits;
use crate::domain::plan::Event;
use crate::domain::refusal::{Refusal, Violation};
use crate::domain::threads::{Drive, Head};
use crate::domain::world::World;

use super::{Delivery, Message, MessageKind};

/// The command.
#[derive(Clone, Debug, Serialize)]
pub struct SendMessage {
    /// Who calls.
    #[serde(skip)]
    pub caller: Caller,
    /// The sender, where it is named.
    pub from: Option<ThreadId>,
    /// The recipient; the parent thread where it is not named.
    pub to: Option<ThreadId>,
    /// Whose thread the recipient must be.
    pub to_agent: Option<AgentId>,
    /// What it is for; by sender and recipient where it is not said.
    pub kind: Option<MessageKind>,
    /// A note that wakes nobody.
    pub quiet: bool,
    /// One line; may be empty.
    pub subject: String,
    /// The text.
    pub body: String,
    /// Structured data.
    pub data: Option<serde_json::Value>,
    /// References to what was made.
    pub artifacts: Vec<String>,
    /// What a report states; succeeded where it does not say.
    pub outcome: Option<Outcome>,
    /// The message it answers.
    pub in_reply_to: Option<MessageId>,
    /// The handoff it is about.
    pub handoff: Option<HandoffId>,
}

/// What the sender hears.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sent {
    /// The message; none for a report that is not mailed.
    pub message_id: Option<MessageId>,
    /// Where it went.
    pub to: Option<ThreadId>,
    /// What became of it at once.
    pub delivery: Delivery,
    /// It came after its handoff had ended.
    pub late: bool,
    /// It was sent before, under the same request id.
    pub deduplicated: bool,
}

impl Answer for Sent {
    fn mark_deduplicated(&mut self) {
        self.deduplicated = true;
    }
}

impl Command for SendMessage {
    type Answer = Sent;
    const NAME: &'static str = "mailbox.send";

    fn lane_key(&self) -> u128 {
        match self.caller {
            // A turn, its thread and that thread's parent share a lane.
            Caller::Turn { turn_id, .. } => turn_id.into_untyped().as_u128(),
            Caller::Operator => self
                .to
                .or(self.from)
                .map_or(0, |thread| thread.into_untyped().as_u128()),
        }
    }

    fn caller(&self) -> &Caller {
        &self.caller
    }

    fn route(&self) -> RouteAsk {
        let mut ask = self.caller.route();
        if self.may_report() {
            ask.threads.extend(self.from);
            // With the turn comes its thread, and with that its handoff and parent.
            ask.work.append(&mut ask.turns);
        }
        ask
    }

    fn footprint(&self, route: &Route) -> Footprint {
        let sender = self.caller.thread(self.from, route);
        let mut footprint = self
            .caller
            .footprint(self.from, route)
            .head(sender)
            .head(self.to);
        if sender.is_none() {
            footprint = footprint.handoff(self.handoff);
        }
        let known = sender
            .filter(|_| self.may_report())
            .and_then(|sender| route.threads.get(&sender));
        if let Some(known) = known {
            footprint = footprint
                .head(known.parent_thread_id)
                .handoff(known.handoff_id);
        }
        footprint
    }

    fn ask(&self, world: &World, ask: &mut Ask) {
        let Some(sender) = self.caller.thread(self.from, &world.route) else {
            ask.agents.extend(
                self.to
                    .and_then(|to| world.heads.get(&to))
                    .map(|to| to.agent_id.0.clone()),
            );
            return;
        };
        let parent = world
            .heads
            .get(&sender)
            .and_then(|head| head.parent_thread_id);
        if let Some(to) = self.to.or(parent) {
            ask.pairs.insert((to, sender));
            ask.agents
                .extend(world.heads.get(&to).map(|to| to.agent_id.0.clone()));
        }
        let reminded = world.heads.get(&sender).and_then(|head| head.handoff_id);
        if reminded.is_some_and(|id| world.handoffs.get(&id).is_some()) {
            ask.waking.insert(sender);
        }
    }

    fn decide(&self, world: &World, context: &mut Context<'_>) -> Result<Decision<Sent>, Stop> {
        let Some(acting) = self.caller.acting(world, self.from)? else {
            return self.by_operator(world, context);
        };
        let sender = world.head(acting.thread_id)?;
        if sender.delete_time.is_some() {
            return Err(Refusal::ThreadDeleted {
                thread_id: sender.thread_id,
            }
            .into());
        }
        match self.kind_from(sender) {
            MessageKind::Report => self.report(world, context, sender, &acting),
            MessageKind::Progress => self.progress(world, context, sender, acting),
            MessageKind::Note | MessageKind::Reminder | MessageKind::Notice => {
                self.note(world, context, sender, acting)
            }
        }
    }
}

impl SendMessage {
    /// Whether the sender's own handoff may be concerned, as far as the request tells.
    fn may_report(&self) -> bool {
        self.to.is_none() || matches!(self.kind, Some(MessageKind::Report | MessageKind::Progress))
    }

    /// The kind that was meant: a child of unfinished work that writes to its parent reports.
    fn kind_from(&self, sender: &Head) -> MessageKind {
        let to_parent = sender.parent_thread_id.is_some()
            && self.to.is_none_or(|to| Some(to) == sender.parent_thread_id);
        self.kind
            .unwrap_or(if to_parent && sender.handoff_unfinished && !self.quiet {
                MessageKind::Report
            } else {
                MessageKind::Note
            })
    }

    fn by_operator(
        &self,
        world: &World,
        context: &mut Context<'_>,
    ) -> Result<Decision<Sent>, Stop> {
        let mut violations = self.wrong_for_note();
        if matches!(self.kind, Some(MessageKind::Report | MessageKind::Progress)) {
            violations.push(Violation::new(
                "from_thread_id",
                "a REPORT or PROGRESS needs its sender",
            ));
        }
        let to = match self.to {
            Some(to) if violations.is_empty() => to,
            _ => return Err(Refusal::Invalid(violations).into()),
        };
        let recipient = self.recipient(world, to)?;
        if let Some(handoff) = self.handoff {
            world.handoff(handoff)?;
        }
        room::check_mailbox(recipient)?;
        let message = self.message(context, None, to, MessageKind::Note);
        Ok(Self::sent(world, recipient, Vec::new(), message))
    }

    /// What of the request does not go with a note, where the kind was left to the server.
    fn wrong_for_note(&self) -> Vec<Violation> {
        let mut violations = Vec::new();
        if self.to.is_none() {
            let missing = "is required, but for a REPORT or PROGRESS";
            violations.push(Violation::new("to_thread_id", missing));
        }
        if self.outcome.is_some() {
            violations.push(Violation::new("outcome", "is for a REPORT only"));
        }
        violations
    }

    fn note(
        &self,
        world: &World,
        context: &mut Context<'_>,
        sender: &Head,
        acting: Acting,
    ) -> Result<Decision<Sent>, Stop> {
        let wrong = self.wrong_for_note();
        let to = match self.to {
            Some(to) if wrong.is_empty() => to,
            _ => return Err(Refusal::Invalid(wrong).into()),
        };
        if to == sender.thread_id {
            return Err(Refusal::MailToSelf { thread_id: to }.into());
        }
        let recipient = self.recipient(world, to)?;
        self.check_handoff(sender, recipient)?;
        Self::check_room(world, sender, recipient, MessageKind::Note)?;
        let message = self.message(context, Some(sender), to, MessageKind::Note);
        Ok(Self::sent(world, recipient, acting.begin, message))
    }

    fn message(
        &self,
        context: &mut Context<'_>,
        sender: Option<&Head>,
        to: ThreadId,
        kind: MessageKind,
    ) -> Message {
        Message {
            to_thread_id: to,
            mail_number: 0,
            message_id: context.ids.next(context.now),
            from_thread_id: sender.map(|sender| sender.thread_id),
            from_agent_id: sender.map(|sender| sender.agent_id.clone()),
            handoff_id: self.handoff,
            kind,
            subject: self.subject.clone(),
            body: self.body.clone(),
            data: self.data.clone(),
            artifacts: self.artifacts.clone(),
            outcome: None,
            in_reply_to: self.in_reply_to,
            report_version: None,
            quiet: self.quiet,
            wakes: kind != MessageKind::Progress && !self.quiet,
            rated: sender.is_some(),
            late: false,
            exception: None,
            create_time: context.now,
        }
    }

    fn sent(
        world: &World,
        recipient: &Head,
        mut events: Vec<Event>,
        message: Message,
    ) -> Decision<Sent> {
        let sent = Sent {
            message_id: Some(message.message_id),
            to: Some(message.to_thread_id),
            delivery: delivery(world, recipient, message.wakes),
            late: message.late,
            deduplicated: false,
        };
        events.push(Event::MessageAccepted(message));
        Decision {
            events,
            answer: Ok(sent),
        }
    }
}

/// What becomes at once of a message that is accepted now.
fn delivery(world: &World, recipient: &Head, wakes: bool) -> Delivery {
    let crowded = recipient.waking_unread >= limits::WAKING_UNREAD;
    if recipient.drive == Drive::Pull || !wakes || recipient.delete_time.is_some() {
        Delivery::Waiting
    } else if recipient.turn_id.is_some() {
        if crowded {
            Delivery::Waiting
        } else {
            Delivery::NoticeQueued
        }
    } else if !world.is_active(&recipient.agent_id) {
        Delivery::Held
    } else if crowded {
        Delivery::Waiting
    } else {
        Delivery::WakeQueued
    }
}
