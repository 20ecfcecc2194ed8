//! SendMessage: a note to any thread, or a child's progress and report to its parent.
//!
//! A send locks the heads of both ends. It and the finish of the recipient's turn are therefore
//! ordered: send first, and finish sees waking mail that its turn was not given; finish first, and
//! send sees no turn and makes the wake itself.

use serde::{Deserialize, Serialize};

use crate::domain::caller::{Acting, Caller};
use crate::domain::command::{
    Answer, Ask, Command, Context, Decision, Footprint, Route, RouteAsk, Stop,
};
use crate::domain::handoffs::{
    Actor, Handoff, OnCompletion, Outcome, ReportKind, TerminalStatus, TimelineReason,
};
use crate::domain::history::EventKind;
use crate::domain::ids::{AgentId, HandoffId, MessageId, ThreadId};
use crate::domain::limits;
use crate::domain::plan::{Event, HandoffEnd, NewReport, Remark};
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
        self.to
            .or(self.from)
            .map_or(0, |thread| thread.into_untyped().as_u128())
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
            MessageKind::Report => self.report(world, context, sender, acting),
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
        check_mailbox(recipient)?;
        let message = self.message(context, None, to, MessageKind::Note);
        Ok(self.sent(world, recipient, Vec::new(), message))
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
        self.check_room(world, sender, recipient, MessageKind::Note)?;
        let message = self.message(context, Some(sender), to, MessageKind::Note);
        Ok(self.sent(world, recipient, acting.begin, message))
    }

    fn progress(
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
        self.check_room(world, sender, recipient, MessageKind::Progress)?;
        let mut message = self.message(context, Some(sender), to, MessageKind::Progress);
        message.handoff_id = Some(handoff.handoff_id);
        message.late = !handoff.is_unfinished();
        let mut events = acting.begin;
        if !message.late {
            events.push(Event::ProgressReported {
                handoff_id: handoff.handoff_id,
            });
        }
        Ok(self.sent(world, recipient, events, message))
    }

    fn report(
        &self,
        world: &World,
        context: &mut Context<'_>,
        sender: &Head,
        acting: Acting,
    ) -> Result<Decision<Sent>, Stop> {
        let handoff = self.own_handoff(world, sender, &acting)?;
        let Some(to) = handoff
            .parent_thread_id
            .filter(|_| handoff.on_completion == OnCompletion::Notify)
        else {
            return Ok(self.recorded(handoff, sender, acting));
        };
        let recipient = world.head(to)?;
        self.check_room(world, sender, recipient, MessageKind::Report)?;
        let outcome = self.outcome.unwrap_or(Outcome::Succeeded);
        let mut message = self.message(context, Some(sender), to, MessageKind::Report);
        message.handoff_id = Some(handoff.handoff_id);
        message.outcome = Some(outcome);
        message.late = !handoff.is_unfinished();
        let mut events = acting.begin;
        let version = (!message.late).then_some(handoff.report_version + 1);
        message.report_version = version;
        events.push(self.history(handoff, sender, version, Some(message.message_id)));
        events.push(self.end_or_remark(handoff, sender, acting.turn_id, true));
        Ok(self.sent(world, recipient, events, message))
    }

    /// A report that nobody is to be told of: version, history and timeline only.
    fn recorded(&self, handoff: &Handoff, sender: &Head, acting: Acting) -> Decision<Sent> {
        let late = !handoff.is_unfinished();
        let version = (!late).then_some(handoff.report_version + 1);
        let mut events = acting.begin;
        events.push(self.history(handoff, sender, version, None));
        events.push(self.end_or_remark(handoff, sender, acting.turn_id, false));
        let delivery = Delivery::Recorded;
        let sent = Sent {
            message_id: None,
            to: None,
            delivery,
            late,
            deduplicated: false,
        };
        Decision {
            events,
            answer: Ok(sent),
        }
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
        turn_id: Option<crate::domain::ids::TurnId>,
        mailed: bool,
    ) -> Event {
        let actor = Actor::Thread(sender.thread_id);
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
            status: TerminalStatus::Completed,
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

    fn recipient<'w>(&self, world: &'w World, to: ThreadId) -> Result<&'w Head, Stop> {
        let recipient = world.head(to)?;
        self.check_agent(recipient)?;
        if recipient.delete_time.is_some() {
            return Err(Refusal::ThreadDeleted { thread_id: to }.into());
        }
        Ok(recipient)
    }

    fn check_agent(&self, recipient: &Head) -> Result<(), Refusal> {
        match &self.to_agent {
            Some(agent) if *agent != recipient.agent_id => {
                let thread_id = recipient.thread_id;
                Err(Refusal::WrongAgent {
                    thread_id,
                    agent_id: agent.clone(),
                })
            }
            _ => Ok(()),
        }
    }

    /// A note may name a handoff between the two threads.
    fn check_handoff(&self, sender: &Head, recipient: &Head) -> Result<(), Refusal> {
        match self.handoff {
            Some(named) if ![sender.handoff_id, recipient.handoff_id].contains(&Some(named)) => {
                Err(Refusal::HandoffOfOtherThread { handoff_id: named })
            }
            _ => Ok(()),
        }
    }

    /// The pair limit, whose last places are kept for reports, and the size of the mailbox.
    fn check_room(
        &self,
        world: &World,
        sender: &Head,
        recipient: &Head,
        kind: MessageKind,
    ) -> Result<(), Refusal> {
        let (from, to) = (sender.thread_id, recipient.thread_id);
        let rules = &world.rules;
        let limit = match kind {
            MessageKind::Report => rules.pair_limit,
            MessageKind::Progress
            | MessageKind::Note
            | MessageKind::Reminder
            | MessageKind::Notice => rules.pair_limit.saturating_sub(limits::PAIR_RESERVED),
        };
        let window = world
            .loaded
            .pairs
            .get(&(to, from))
            .copied()
            .unwrap_or_default();
        if window.count >= limit {
            let oldest = window.oldest.unwrap_or(world.now);
            let retry = (oldest + rules.pair_window).since(world.now);
            return Err(Refusal::PairLimit {
                from,
                to,
                limit,
                window: rules.pair_window,
                retry,
            });
        }
        if kind == MessageKind::Report {
            return Ok(());
        }
        check_mailbox(recipient)
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
        &self,
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

/// Whether the mailbox has room for what is neither a report nor the server's own.
fn check_mailbox(recipient: &Head) -> Result<(), Refusal> {
    if recipient.unread() < limits::MAILBOX {
        return Ok(());
    }
    Err(Refusal::MailboxFull {
        thread_id: recipient.thread_id,
        limit: limits::MAILBOX,
    })
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
