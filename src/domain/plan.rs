//! What a decision leaves: events that `World::apply` carries out, the only place that changes rows.

use super::agents::{Agent, AgentState};
use super::command::{Fingerprint, KeyHash};
use super::effects::DeferredEffect;
use super::handoffs::closing::Closing;
use super::handoffs::{
    Actor, Assignment, Deadline, Handoff, HandoffError, Outcome, ReportKind, TerminalStatus,
    TimelineReason,
};
use super::history::EventKind;
use super::ids::{AgentId, EffectId, HandoffId, ThreadId, TurnId};
use super::mailbox::Message;
use super::threads::Thread;
use super::time::Timestamp;
use super::turns::{AbortRequest, Activity, NextName, Turn, TurnError, TurnOutcome};

/// When an ended turn's thread runs again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rerun {
    /// Only if mail waits.
    IfMail,
    /// At this time, or earlier if mail waits.
    At(Timestamp),
    /// At this time, whatever mail waits: a pause after a loss.
    NotBefore(Timestamp),
}

/// What the end of a turn does with the mail it was given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GivenMail {
    /// Consumed through this number; what was given above it counts as never seen.
    ConsumedThrough(u64),
    /// All of it counts as never seen.
    Returned,
    /// Set aside through this number; the rest counts as never seen.
    SetAsideThrough(u64),
}

/// How a turn is closed.
#[derive(Clone, Debug, PartialEq)]
pub struct TurnEnd {
    /// Which.
    pub turn_id: TurnId,
    /// How.
    pub outcome: TurnOutcome,
    /// What it wanted next.
    pub next: Option<NextName>,
    /// Its final response.
    pub response: Option<String>,
    /// What went wrong.
    pub error: Option<TurnError>,
    /// What becomes of its mail.
    pub mail: GivenMail,
    /// When the thread runs again.
    pub rerun: Rerun,
    /// What FinishTurn said, for its repeat; the answer is added when the plan is complete.
    pub fingerprint: Option<Fingerprint>,
    /// The answer of FinishTurn, for its repeat.
    pub finish_answer: Vec<u8>,
}

/// A new version of what a handoff produced.
#[derive(Clone, Debug, PartialEq)]
pub struct NewReport {
    /// What it is.
    pub kind: ReportKind,
    /// What it states.
    pub outcome: Outcome,
    /// The text, where no mail carries it.
    pub body: Option<String>,
    /// Structured data.
    pub data: Option<serde_json::Value>,
    /// References.
    pub artifacts: Vec<String>,
    /// It is mailed to the parent by the message that follows in the plan.
    pub mailed: bool,
    /// The parent's turn that reads it by the answer of its own call.
    pub reader_turn_id: Option<TurnId>,
}

/// The end of a handoff.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoffEnd {
    /// Which.
    pub handoff_id: HandoffId,
    /// When the terminal status is written, and which.
    pub closing: Closing,
    /// How the work ended.
    pub outcome: Outcome,
    /// The child named the outcome itself.
    pub outcome_stated: bool,
    /// What went wrong.
    pub error: Option<HandoffError>,
    /// The version that states it.
    pub report: NewReport,
    /// By whom.
    pub actor: Actor,
    /// What the timeline calls it.
    pub reason: TimelineReason,
    /// The particulars, for people.
    pub text: String,
    /// The turn that ended it.
    pub turn_id: Option<TurnId>,
}

/// The closing of a handoff that was finished.
#[derive(Clone, Debug, PartialEq)]
pub struct HandoffClose {
    /// Which.
    pub handoff_id: HandoffId,
    /// The terminal status.
    pub status: TerminalStatus,
    /// By whom.
    pub actor: Actor,
    /// What the timeline calls it.
    pub reason: TimelineReason,
    /// The particulars, for people.
    pub text: String,
}

/// A line of a handoff's timeline that changes nothing else.
#[derive(Clone, Debug, PartialEq)]
pub struct Remark {
    /// Of which handoff.
    pub handoff_id: HandoffId,
    /// By whom.
    pub actor: Actor,
    /// What happened.
    pub reason: TimelineReason,
    /// The particulars, for people.
    pub text: String,
    /// The turn it is about.
    pub turn_id: Option<TurnId>,
    /// The version it is about.
    pub report_version: Option<u64>,
}

/// One thing that happens.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// An agent was put; slots follow.
    AgentPut {
        /// As it is now.
        agent: Agent,
        /// Its slots.
        max_turns: Option<u32>,
    },
    /// An agent was activated or deactivated.
    AgentStateSet {
        /// Which.
        agent_id: AgentId,
        /// To what.
        state: AgentState,
    },
    /// A runtime began a new life.
    RuntimeRegistered {
        /// Which.
        runtime_id: String,
        /// For people.
        description: String,
    },
    /// A thread was made.
    ThreadCreated(Thread),
    /// Mail was accepted; number, wake and signal follow.
    MessageAccepted(Message),
    /// Mail was handed to the live turn, or to a reader outside turns.
    MailGiven {
        /// To which thread.
        thread_id: ThreadId,
        /// Through which number.
        through: u64,
        /// The messages, for the history.
        messages: Vec<MailTag>,
    },
    /// Mail is done with through a number.
    MailConsumed {
        /// Of which thread.
        thread_id: ThreadId,
        /// Through which number.
        through: u64,
    },
    /// The parent acknowledged a report by version.
    ReportAcknowledged {
        /// Of which handoff.
        handoff_id: HandoffId,
        /// Which version and all older ones.
        version: u64,
    },
    /// A turn was assigned to a runtime.
    TurnAssigned(Turn),
    /// A turn made its first call.
    TurnBegan {
        /// Which.
        turn_id: TurnId,
        /// When its lease ends now.
        lease_expire_time: Timestamp,
    },
    /// A turn made a call: its lease is renewed.
    LeaseRenewed {
        /// Which.
        turn_id: TurnId,
        /// When its lease ends now.
        lease_expire_time: Timestamp,
    },
    /// A runtime reported activity of a turn: totals so far.
    TurnActive {
        /// Which.
        turn_id: TurnId,
        /// The totals.
        activity: Activity,
        /// Text in the making; none leaves what there was.
        partial_text: Option<String>,
    },
    /// The look at a lease came too early.
    LeaseChecked {
        /// Which turn.
        turn_id: TurnId,
        /// When to look again.
        check_time: Timestamp,
    },
    /// A turn was asked to stop.
    AbortRequested {
        /// Which.
        turn_id: TurnId,
        /// When and why.
        request: AbortRequest,
    },
    /// A turn was closed.
    TurnEnded(TurnEnd),
    /// Something was written into a thread's history.
    HistoryAppended {
        /// Of which thread.
        thread_id: ThreadId,
        /// It came for a handoff that had ended.
        late: bool,
        /// What, in order.
        kinds: Vec<EventKind>,
    },
    /// Work was accepted.
    HandoffCreated {
        /// Which.
        handoff: Handoff,
        /// What is to be done.
        assignment: Assignment,
        /// When the reconciler looks first.
        due_time: Timestamp,
        /// By whom.
        actor: Actor,
        /// The record of an earlier refusal of the same request.
        earlier: Option<HandoffId>,
    },
    /// Work was refused for the life cycle of its target, and leaves a record.
    HandoffRefused {
        /// The record.
        handoff: Handoff,
        /// What was to be done.
        assignment: Assignment,
        /// By whom.
        actor: Actor,
    },
    /// The child said how far it is.
    ProgressReported {
        /// Of which handoff.
        handoff_id: HandoffId,
    },
    /// Work ended.
    HandoffEnded(HandoffEnd),
    /// Finished work was closed.
    HandoffClosed(HandoffClose),
    /// The watch of a synchronous creation closed.
    WatchExpired {
        /// Of which handoff.
        handoff_id: HandoffId,
    },
    /// The execution limit was set anew.
    DeadlineSet {
        /// Of which handoff.
        handoff_id: HandoffId,
        /// As it is now.
        deadline: Deadline,
        /// By whom.
        actor: Actor,
    },
    /// Work that a runtime was just given has a little longer to be begun.
    ClaimDeadlineMoved {
        /// Which.
        handoff_id: HandoffId,
        /// Until when.
        time: Timestamp,
    },
    /// A turn that had read a report by the answer of its own call was lost: it is mail again.
    ReportReturned {
        /// Of which handoff.
        handoff_id: HandoffId,
        /// Which version.
        version: u64,
        /// The mail that carries it now.
        message: Message,
    },
    /// The timeline got a line.
    Remarked(Remark),
    /// The wake of an idle thread was withdrawn, unless unread mail must wake it.
    WakeWithdrawn {
        /// Of which thread.
        thread_id: ThreadId,
    },
    /// A reminder was mailed; the message follows in the plan.
    ReminderSent {
        /// For which handoff.
        handoff_id: HandoffId,
    },
    /// An operator took back a reminder that no turn was given; it stays counted.
    ReminderCancelled {
        /// Of which handoff.
        handoff_id: HandoffId,
    },
    /// The reconciler looked at a thread and will look again.
    DueSet {
        /// Which thread.
        thread_id: ThreadId,
        /// When; never, where nothing is due.
        due_time: Option<Timestamp>,
        /// Through when it counts as waiting for something; none leaves that as it is.
        waited_time: Option<Timestamp>,
    },
    /// Something is left to be done in another transaction.
    EffectDeferred(DeferredEffect),
    /// What was left is done; the events before this one did it.
    EffectRun {
        /// Which.
        effect_id: EffectId,
    },
    /// What was left could not be done, and is tried again.
    EffectPutOff {
        /// Which.
        effect_id: EffectId,
        /// When.
        due_time: Timestamp,
    },
    /// A key was bound.
    KeyBound {
        /// Its hash.
        hash: KeyHash,
        /// What it was used for.
        fingerprint: Fingerprint,
        /// The work it names.
        handoff_id: Option<HandoffId>,
        /// The answer it records.
        answer: Option<Vec<u8>>,
    },
}

/// What the history says of a message that was handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MailTag {
    /// Its number.
    pub number: u64,
    /// What it is for.
    pub kind: super::mailbox::MessageKind,
}
