//! The typed, append-only history of a thread.

use super::handoffs::Outcome;
use super::ids::{AgentId, HandoffId, MessageId, ThreadId, TurnId};
use super::mailbox::MessageKind;
use super::time::Timestamp;
use super::turns::{NextName, TurnError, TurnOutcome};

/// What happened in a thread.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "content")]
pub enum EventKind {
    /// A person or an outside place said something.
    UserMessage {
        /// What.
        text: String,
    },
    /// The agent said something.
    AssistantMessage {
        /// What.
        text: String,
    },
    /// The agent called a tool.
    ToolCall {
        /// The runtime's own id of the call.
        call_id: String,
        /// Which tool.
        name: String,
        /// With what.
        arguments: serde_json::Value,
    },
    /// A tool answered.
    ToolResult {
        /// Of which call.
        call_id: String,
        /// The text it gave.
        text: String,
        /// Structured data it gave.
        data: Option<serde_json::Value>,
        /// The tool says that it failed.
        is_error: bool,
    },
    /// The runtime saved where it is.
    Checkpoint {
        /// The runtime's own data.
        data: serde_json::Value,
        /// Handoffs of this thread that were unfinished then.
        open_handoff_ids: Vec<HandoffId>,
    },
    /// The thread was given work.
    Assignment {
        /// Which.
        handoff_id: HandoffId,
        /// In which attempt.
        attempt: u32,
    },
    /// The thread gave work to another.
    ThreadSpawned {
        /// Which.
        handoff_id: HandoffId,
        /// To which thread.
        thread_id: ThreadId,
        /// Of which agent.
        agent_id: AgentId,
        /// One line for people.
        title: String,
    },
    /// Mail was handed over.
    Mail {
        /// The numbers, in order.
        numbers: Vec<u64>,
        /// What each is for.
        kinds: Vec<MessageKind>,
    },
    /// The thread stated a result.
    Report {
        /// Of which handoff.
        handoff_id: HandoffId,
        /// The version it became; none where the handoff had ended.
        version: Option<u64>,
        /// What it states.
        outcome: Outcome,
        /// The mail that carries it.
        message_id: Option<MessageId>,
        /// The text, where no mail carries it.
        body: Option<String>,
    },
    /// A turn made its first call.
    TurnStarted {
        /// Who holds it.
        runtime_id: String,
        /// In which life of that runtime.
        incarnation: u64,
        /// The handoff it works on.
        handoff_id: Option<HandoffId>,
    },
    /// A turn was closed.
    TurnEnded {
        /// How.
        outcome: TurnOutcome,
        /// What its runtime wanted next, where it finished.
        next: Option<NextName>,
        /// Its final response.
        response_text: Option<String>,
        /// What its runtime says went wrong.
        error: Option<TurnError>,
    },
}

impl EventKind {
    /// The tool that was called, where one was.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self {
            Self::ToolCall { name, .. } => Some(name),
            Self::UserMessage { .. }
            | Self::AssistantMessage { .. }
            | Self::ToolResult { .. }
            | Self::Checkpoint { .. }
            | Self::Assignment { .. }
            | Self::ThreadSpawned { .. }
            | Self::Mail { .. }
            | Self::Report { .. }
            | Self::TurnStarted { .. }
            | Self::TurnEnded { .. } => None,
        }
    }
}

/// One entry of a thread's history.
#[derive(Clone, Debug, PartialEq)]
pub struct ThreadEvent {
    /// Of which thread.
    pub thread_id: ThreadId,
    /// Its number there, without gaps.
    pub number: u64,
    /// When.
    pub time: Timestamp,
    /// It came for a handoff that had ended.
    pub late: bool,
    /// The turn it belongs to.
    pub turn_id: Option<TurnId>,
    /// What happened.
    pub kind: EventKind,
}
