//! Why a command changes nothing: every refusal names the state and carries the facts.

use std::time::Duration;

use super::ids::{AgentId, HandoffId, ThreadId, TurnId};

/// One thing that is wrong with a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Path of the field, as in the proto.
    pub field: String,
    /// What is wrong and what to send instead.
    pub description: String,
}

impl Violation {
    /// Says what is wrong with `field`.
    pub fn new(field: impl Into<String>, description: impl Into<String>) -> Self {
        Self {
            field: field.into(),
            description: description.into(),
        }
    }
}

/// An answer that a command is refused. Each variant is one cause, and one `ErrorReason`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are the facts of the message above them"
)]
pub enum Refusal {
    /// The request breaks rules that only the stored state tells.
    #[error("{}", .0.iter().map(|v| format!("{}: {}", v.field, v.description)).collect::<Vec<_>>().join("; "))]
    Invalid(Vec<Violation>),
    /// No such thread in this namespace.
    #[error("no thread `{0}`; check the id and the namespace")]
    ThreadNotFound(ThreadId),
    /// No such handoff in this namespace.
    #[error("no handoff `{0}`; check the id and the namespace")]
    HandoffNotFound(HandoffId),
    /// No such agent in this namespace.
    #[error("no agent `{0}`; put it first, or check the name and the namespace")]
    AgentNotFound(String),
    /// No such turn in this namespace.
    #[error("no turn `{0}`; check the id and the namespace")]
    TurnNotFound(TurnId),
    /// No such runtime in this namespace.
    #[error("no runtime `{0}`; register it first")]
    RuntimeNotFound(String),
    /// The thread named is not the one of the turn that calls.
    #[error(
        "thread `{thread_id}` is not the thread of turn `{turn_id}`; leave it out or name the turn's own"
    )]
    TurnOfOtherThread {
        thread_id: ThreadId,
        turn_id: TurnId,
    },
    /// The turn was closed.
    #[error("turn `{turn_id}` is closed ({how}); stop it, and claim again")]
    TurnClosed { turn_id: TurnId, how: &'static str },
    /// The token is not the turn's.
    #[error("the token is not that of turn `{turn_id}`; use the one the claim gave")]
    StaleToken { turn_id: TurnId },
    /// A newer incarnation of the runtime registered, or this one never did.
    #[error(
        "only incarnation {current} of runtime `{runtime_id}` may claim; register again, or stop"
    )]
    StaleIncarnation { runtime_id: String, current: u64 },
    /// A thread that has had a turn reports only in one.
    #[error("thread `{thread_id}` has had turns, so its reports need `turn` of a live one")]
    TurnRequired { thread_id: ThreadId },
    /// Something that only an idle thread may do.
    #[error(
        "thread `{thread_id}` has a live turn; only peek from outside, or call with its `turn`"
    )]
    ThreadHasLiveTurn { thread_id: ThreadId },
    /// ABORTED without a request.
    #[error("nobody asked turn `{turn_id}` to abort; finish it INTERRUPTED or FAILED")]
    AbortNotRequested { turn_id: TurnId },
    /// The target takes no part.
    #[error(
        "agent `{agent_id}` is deactivated and cannot receive handoffs; activate it or choose another"
    )]
    AgentDeactivated {
        agent_id: AgentId,
        handoff_id: Option<HandoffId>,
    },
    /// The target's policy.
    #[error(
        "agent `{agent_id}` accepts no handoffs; set its handoff_policy.accepts_handoffs to ACCEPT"
    )]
    AgentAcceptsNoHandoffs { agent_id: AgentId },
    /// A display name of several agents.
    #[error("`{name}` is the display name of several agents: {candidates}; name one by its id")]
    AgentNameAmbiguous { name: String, candidates: String },
    /// Mail for a deleted thread.
    #[error("thread `{thread_id}` is deleted")]
    ThreadDeleted { thread_id: ThreadId },
    /// Work from a deleted thread.
    #[error("parent thread `{thread_id}` is deleted and may not hand off")]
    ParentThreadDeleted {
        thread_id: ThreadId,
        handoff_id: Option<HandoffId>,
    },
    /// Visible to the caller, and not its to change.
    #[error("only the parent thread of handoff `{handoff_id}` or an operator may do this")]
    NotParent { handoff_id: HandoffId },
    /// Work that has ended can be given no more time.
    #[error("handoff `{handoff_id}` has ended and can be given no more time")]
    HandoffEnded { handoff_id: HandoffId },
    /// The deadline was set since the caller saw it.
    #[error(
        "version {asked} is not that of the deadline of handoff `{handoff_id}`, which is {current}; look at \
         it again"
    )]
    StaleDeadline {
        handoff_id: HandoffId,
        asked: u64,
        current: u64,
    },
    /// The key names work of somebody else.
    #[error("the idempotency key names handoff `{handoff_id}` of another parent thread")]
    KeyOfOtherParent { handoff_id: HandoffId },
    /// The key or request id was used for something else.
    #[error(
        "the {what} was used already, with other content; send the same for a repeat, or use a new one"
    )]
    IdempotencyConflict { what: &'static str },
    /// `to_agent_id` does not own the thread.
    #[error("thread `{thread_id}` does not belong to agent `{agent_id}`")]
    WrongAgent {
        thread_id: ThreadId,
        agent_id: AgentId,
    },
    /// Mail to oneself.
    #[error("thread `{thread_id}` cannot send mail to itself")]
    MailToSelf { thread_id: ThreadId },
    /// A report without work.
    #[error("thread `{thread_id}` was given no handoff to report on; send a NOTE")]
    NoHandoff { thread_id: ThreadId },
    /// Nobody to report to.
    #[error("thread `{thread_id}` has no parent thread; name `to_thread_id`")]
    NoParentThread { thread_id: ThreadId },
    /// A report for somebody else.
    #[error(
        "a REPORT or PROGRESS goes to the parent thread; leave `to_thread_id` out or name `{parent}`"
    )]
    NotToParentThread { parent: ThreadId },
    /// The handoff named is not the sender's.
    #[error("handoff `{handoff_id}` is neither the sender's own nor one between these threads")]
    HandoffOfOtherThread { handoff_id: HandoffId },
    /// An acknowledgement beyond what was given.
    #[error("mail through {asked} was not given yet, only through {given}")]
    MailNotGiven { asked: u64, given: u64 },
    /// An acknowledgement of a version that does not exist.
    #[error("handoff `{handoff_id}` has no report version {asked}, only through {newest}")]
    ReportVersionUnknown {
        handoff_id: HandoffId,
        asked: u64,
        newest: u64,
    },
    /// Too many messages between two threads.
    #[error(
        "the limit of messages from `{from}` to `{to}` is reached: {limit} within {} s, of which the \
         last {reserved} are kept for a REPORT; wait, or say it in one message",
        window.as_secs()
    )]
    PairLimit {
        from: ThreadId,
        to: ThreadId,
        limit: u32,
        reserved: u32,
        window: Duration,
        retry: Duration,
    },
    /// Too much unread mail.
    #[error(
        "the mailbox of thread `{thread_id}` holds {limit} unread messages; wait until it reads"
    )]
    MailboxFull { thread_id: ThreadId, limit: u64 },
    /// Lineage too deep.
    #[error("handoffs may be {limit} deep, and this one would be deeper")]
    DepthLimit { limit: u32 },
}
