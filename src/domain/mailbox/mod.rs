//! Mail between threads: messages, and the commands that send, read and acknowledge them.

pub mod ack;
pub mod read;
pub mod send;
pub mod set_aside;

use crate::domain::handoffs::Outcome;
use crate::domain::ids::{AgentId, HandoffId, MessageId, ThreadId};
use crate::domain::threads::Head;
use crate::domain::time::Timestamp;
use crate::domain::weight;

/// Bytes of a message in an answer, without its texts: ids, numbers, times and what tells lengths.
const FIXED_BYTES: usize = 320;

/// What a message is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum MessageKind {
    /// A child states a result to its parent.
    Report,
    /// A child says how far it is; wakes nobody and completes nothing.
    Progress,
    /// Anything else a thread has to say.
    Note,
    /// The server asks a quiet child for what is owed.
    Reminder,
    /// The server tells of a failure, an end, a loss.
    Notice,
}

/// Where the marks of the mailbox do not tell what became of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum MailException {
    /// Done with before older mail was.
    Consumed,
    /// Given to turns that were all lost.
    SetAside,
    /// Taken back before it was read.
    Withdrawn,
}

/// One piece of mail.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a fact of its own, and a column"
)]
pub struct Message {
    /// Whose mailbox.
    pub to_thread_id: ThreadId,
    /// Its place in that mailbox.
    pub mail_number: u64,
    /// Its id.
    pub message_id: MessageId,
    /// The sender; `None` for the server and for operators.
    pub from_thread_id: Option<ThreadId>,
    /// The sender's agent.
    pub from_agent_id: Option<AgentId>,
    /// The handoff it is about.
    pub handoff_id: Option<HandoffId>,
    /// What it is for.
    pub kind: MessageKind,
    /// One line; may be empty.
    pub subject: String,
    /// The text, byte for byte as sent.
    pub body: String,
    /// Structured data.
    pub data: Option<serde_json::Value>,
    /// References to what was made.
    pub artifacts: Vec<String>,
    /// The outcome a report or a notice of an end states.
    pub outcome: Option<Outcome>,
    /// The message it answers.
    pub in_reply_to: Option<MessageId>,
    /// The version of the handoff's reports that it carries.
    pub report_version: Option<u64>,
    /// The sender asked that it wakes nobody.
    pub quiet: bool,
    /// Makes a wake or a signal.
    pub wakes: bool,
    /// Counts against the pair limit.
    pub rated: bool,
    /// It came after its handoff had ended.
    pub late: bool,
    /// What the marks do not tell.
    pub exception: Option<MailException>,
    /// When it was accepted.
    pub create_time: Timestamp,
}

/// A message from a thread without what it says.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Envelope {
    /// The sender.
    pub from_thread_id: ThreadId,
    /// Its place in the mailbox.
    pub mail_number: u64,
    /// Its id.
    pub message_id: MessageId,
    /// What it is for.
    pub kind: MessageKind,
    /// One line; may be empty.
    pub subject: String,
    /// The version of a handoff's reports that it carries.
    pub report_version: Option<u64>,
}

/// Where a mailbox stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Marks {
    /// What its live turn was handed.
    pub given_through: u64,
    /// What is done with.
    pub consumed_through: u64,
}

/// Where a message stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MessageState {
    /// No live turn was given it. Left by being given, consumed, taken out.
    Unread,
    /// The live turn was given it. Left by the end of that turn, or an acknowledgement.
    Given,
    /// Done with.
    Consumed,
    /// Given to turns that were all lost.
    SetAside,
    /// Taken back before it was read.
    Withdrawn,
}

impl Marks {
    /// The marks of a head.
    #[must_use]
    pub fn of(head: &Head) -> Self {
        Self {
            given_through: head.given_through,
            consumed_through: head.consumed_through,
        }
    }

    /// Where a message of this mailbox stands.
    #[must_use]
    pub fn state(&self, message: &Message) -> MessageState {
        match message.exception {
            Some(MailException::Consumed) => MessageState::Consumed,
            Some(MailException::SetAside) => MessageState::SetAside,
            Some(MailException::Withdrawn) => MessageState::Withdrawn,
            None if message.mail_number <= self.consumed_through => MessageState::Consumed,
            None if message.mail_number <= self.given_through => MessageState::Given,
            None => MessageState::Unread,
        }
    }
}

/// What became of an accepted message at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Delivery {
    /// The recipient is mid-turn and is being told.
    NoticeQueued,
    /// The recipient was idle, and a turn is due.
    WakeQueued,
    /// It waits in the mailbox: the wake that stands covers it, or it wakes nobody.
    Waiting,
    /// The recipient's agent is deactivated.
    Held,
    /// A report that is not mailed.
    Recorded,
}

/// Rated messages of a sender-recipient pair within the rolling window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PairWindow {
    /// How many.
    pub count: u32,
    /// When the oldest of them was accepted.
    pub oldest: Option<Timestamp>,
}

impl Message {
    /// Bytes it takes in an answer, not less and little more: its texts and data, and a fixed part. The
    /// name of the agent whose mailbox it is stands in each message too, and is not counted here.
    #[must_use]
    pub fn weight(&self) -> usize {
        let data = self.data.as_ref().map_or(0, weight::json);
        let artifacts: usize = self.artifacts.iter().map(|it| it.len() + 4).sum();
        let from = self.from_agent_id.as_ref().map_or(0, |id| id.0.len());
        FIXED_BYTES + from + self.subject.len() + self.body.len() + data + artifacts
    }
}

impl Envelope {
    /// That of a message, where a thread sent it.
    #[must_use]
    pub fn of(message: &Message) -> Option<Self> {
        Some(Self {
            from_thread_id: message.from_thread_id?,
            mail_number: message.mail_number,
            message_id: message.message_id,
            kind: message.kind,
            subject: message.subject.clone(),
            report_version: message.report_version,
        })
    }

    /// Whether nothing more is to be done when nobody reads it: what it said is recorded with its
    /// handoff, or was never meant to wake anybody. A report that came too late is recorded nowhere.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.kind == MessageKind::Progress || self.report_version.is_some()
    }
}
