//! Mail that no turn will see, since every turn that was given it was lost. It stays in the mailbox, for
//! people, and its sender is told what became of it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::domain::command::Context;
use crate::domain::ids::{AgentId, ThreadId, TurnId};
use crate::domain::limits;
use crate::domain::threads::Head;

use super::{Envelope, Message, MessageKind};

/// What a sender need not do.
const SETTLED: &str = "A report is recorded with its handoff all the same, where GetHandoffResults \
    shows it; neither it nor progress need be sent again.";
/// What a sender may do.
const UNSETTLED: &str = "Look for what ends the runtime of that agent before you send the same again: \
    it may be the mail itself. ListMail of that thread shows it as SET_ASIDE.";

/// Mail of one sender that was set aside at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SetAside {
    /// Whose mailbox.
    pub to_thread_id: ThreadId,
    /// The agent of that thread.
    pub to_agent_id: AgentId,
    /// The turn that was lost last.
    pub turn_id: TurnId,
    /// So many turns were lost in a row.
    pub lost_turns: u32,
    /// So many messages.
    pub count: u64,
    /// So many of them ask for nothing more.
    pub settled: u64,
    /// The number of the first.
    pub first_mail_number: u64,
    /// The number of the last.
    pub last_mail_number: u64,
    /// The first of them, by name.
    pub messages: Vec<Envelope>,
}

impl SetAside {
    /// What `envelopes` of a mailbox are to each of their senders.
    #[must_use]
    pub fn by_sender(
        head: &Head,
        turn_id: TurnId,
        lost_turns: u32,
        envelopes: Vec<Envelope>,
    ) -> BTreeMap<ThreadId, Self> {
        let mut senders = BTreeMap::new();
        for envelope in envelopes {
            let own = senders
                .entry(envelope.from_thread_id)
                .or_insert_with(|| Self {
                    to_thread_id: head.thread_id,
                    to_agent_id: head.agent_id.clone(),
                    turn_id,
                    lost_turns,
                    count: 0,
                    settled: 0,
                    first_mail_number: envelope.mail_number,
                    last_mail_number: envelope.mail_number,
                    messages: Vec::new(),
                });
            own.add(envelope);
        }
        senders
    }

    fn add(&mut self, envelope: Envelope) {
        self.count += 1;
        self.settled += u64::from(envelope.is_settled());
        self.last_mail_number = envelope.mail_number;
        if self.messages.len() < limits::SET_ASIDE_NAMED {
            self.messages.push(envelope);
        }
    }

    /// The mail that tells the sender. It wakes, unless nothing of it asks for anything more.
    #[must_use]
    pub fn notice(&self, sender: ThreadId, context: &mut Context<'_>) -> Message {
        let wakes = self.count > self.settled;
        Message {
            to_thread_id: sender,
            mail_number: 0,
            message_id: context.ids.next(context.now),
            from_thread_id: None,
            from_agent_id: None,
            handoff_id: None,
            kind: MessageKind::Notice,
            subject: format!("Mail to {} was set aside", self.to_agent_id),
            body: self.text(),
            data: Some(self.data()),
            artifacts: Vec::new(),
            outcome: None,
            in_reply_to: None,
            report_version: None,
            quiet: !wakes,
            wakes,
            rated: false,
            late: false,
            exception: None,
            create_time: context.now,
        }
    }

    /// The same for an agent to read: what, where, why, and what to do.
    #[must_use]
    pub fn text(&self) -> String {
        let (mail, it) = match self.count {
            1 => ("A message".to_owned(), "it"),
            more => (format!("{more} messages"), "them"),
        };
        let (thread, agent, lost) = (self.to_thread_id, &self.to_agent_id, self.lost_turns);
        let what = format!(
            "{mail} of this thread to thread `{thread}` of agent `{agent}` will not be read: every \
             turn that was given {it} was lost, {lost} time(s) in a row."
        );
        let mut lines = vec![what, String::new()];
        lines.extend(self.messages.iter().map(line));
        let named = u64::try_from(self.messages.len()).unwrap_or(u64::MAX);
        if self.count > named {
            let (more, through) = (self.count - named, self.last_mail_number);
            lines.push(format!("- and {more} more, up to number {through}"));
        }
        if self.settled > 0 {
            lines.extend([String::new(), SETTLED.to_owned()]);
        }
        if self.count > self.settled {
            lines.extend([String::new(), UNSETTLED.to_owned()]);
        }
        lines.join("\n")
    }

    /// The same for a program.
    #[must_use]
    pub fn data(&self) -> serde_json::Value {
        let messages: Vec<_> = self
            .messages
            .iter()
            .map(|message| {
                json!({
                    "message_id": message.message_id.to_string(),
                    "mail_number": message.mail_number,
                    "kind": word(message.kind),
                    "subject": message.subject,
                })
            })
            .collect();
        json!({ "set_aside": {
            "to_thread_id": self.to_thread_id.to_string(),
            "to_agent_id": self.to_agent_id,
            "turn_id": self.turn_id.to_string(),
            "lost_turns": self.lost_turns,
            "count": self.count,
            "first_mail_number": self.first_mail_number,
            "last_mail_number": self.last_mail_number,
            "messages": messages,
        }})
    }
}

/// A message by name.
fn line(message: &Envelope) -> String {
    let name = format!(
        "- number {}, {} `{}`",
        message.mail_number,
        word(message.kind),
        message.message_id
    );
    if message.subject.is_empty() {
        name
    } else {
        format!("{name}: {}", message.subject)
    }
}

/// The kind as the API spells it.
fn word(kind: MessageKind) -> &'static str {
    match kind {
        MessageKind::Report => "REPORT",
        MessageKind::Progress => "PROGRESS",
        MessageKind::Note => "NOTE",
        MessageKind::Reminder => "REMINDER",
        MessageKind::Notice => "NOTICE",
    }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;

    fn id<I: From<Uuid>>(number: u128) -> I {
        I::from(Uuid::from_u128(number))
    }

    fn envelope(mail_number: u64, kind: MessageKind, report_version: Option<u64>) -> Envelope {
        Envelope {
            from_thread_id: id(2),
            mail_number,
            message_id: id(u128::from(mail_number)),
            kind,
            subject: "the plan".repeat(usize::from(mail_number == 1)),
            report_version,
        }
    }

    fn set_aside(envelopes: Vec<Envelope>) -> SetAside {
        let mut mail = SetAside {
            to_thread_id: id(1),
            to_agent_id: AgentId("a".to_owned()),
            turn_id: id(3),
            lost_turns: 3,
            count: 0,
            settled: 0,
            first_mail_number: 1,
            last_mail_number: 1,
            messages: Vec::new(),
        };
        for envelope in envelopes {
            mail.add(envelope);
        }
        mail
    }

    #[test]
    fn a_sender_reads_what_was_set_aside_where_and_what_to_do() {
        let note = envelope(1, MessageKind::Note, None);
        assert_eq!(
            set_aside(vec![note]).text(),
            "A message of this thread to thread `thr_00000000000000000000000000000001` of agent `a` will \
             not be read: every turn that was given it was lost, 3 time(s) in a row.\n\n\
             - number 1, NOTE `msg_00000000000000000000000000000001`: the plan\n\n\
             Look for what ends the runtime of that agent before you send the same again: it may be the \
             mail itself. ListMail of that thread shows it as SET_ASIDE."
        );
    }

    #[test]
    fn only_what_is_recorded_or_was_no_call_for_anybody_asks_nothing_of_its_sender() {
        let recorded = envelope(2, MessageKind::Report, Some(1));
        let progress = envelope(3, MessageKind::Progress, None);
        let late = envelope(4, MessageKind::Report, None);
        let settled = set_aside(vec![recorded.clone(), progress]);
        assert_eq!((settled.count, settled.settled), (2, 2));
        let text = settled.text();
        assert!(
            text.contains(SETTLED) && !text.contains(UNSETTLED),
            "{text}"
        );
        let mixed = set_aside(vec![recorded, late]);
        assert_eq!((mixed.count, mixed.settled), (2, 1));
        let text = mixed.text();
        assert!(text.contains(SETTLED) && text.contains(UNSETTLED), "{text}");
    }
}
