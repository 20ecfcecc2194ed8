//! Turns: one execution of an agent on a thread, held by a runtime under a lease, and the commands that
//! begin and end one.

pub mod assign;
pub mod expire;
pub mod finish;
pub mod force_release;
pub mod heart;
pub mod heartbeat;
pub mod register;
pub mod release;
pub(in crate::domain) mod returned;

use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::time::Timestamp;

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TurnOutcome {
    /// Its runtime finished it.
    Done,
    /// Its runtime says that it failed.
    Failed,
    /// Its runtime stopped it in mid-work; the thread runs again.
    Interrupted,
    /// It stopped as asked.
    Aborted,
    /// Its lease ended.
    Lost,
    /// Its runtime gave it back.
    Released,
    /// It was assigned and never begun.
    Unclaimed,
}

/// What kind of failure ended a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum FailureClass {
    /// The model refused or broke.
    ModelError,
    /// The agent's process ended.
    ProcessExit,
    /// A record of the agent could not be read.
    InvalidRecord,
    /// The agent could not be started.
    Startup,
    /// A time limit of the runtime passed.
    Deadline,
    /// Anything else.
    Other,
}

/// What a runtime says went wrong with a turn.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct TurnError {
    /// What kind of failure.
    pub class: FailureClass,
    /// What happened, bounded.
    pub summary: String,
}

/// What a finished turn wants next, by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum NextName {
    /// Nothing: the work is done as far as this turn can tell.
    Finished,
    /// To be idle; the work goes on.
    Wait,
    /// Another turn at once.
    Continue,
    /// A turn at a time.
    WakeAt,
}

/// Where a turn stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum TurnState {
    /// Claimed. Left by its first call, or back to the queue when the short lease ends.
    Assigned,
    /// Made its first call. Left by FinishTurn, ReleaseTurns, a lost lease.
    Running,
    /// Closed: no call of it changes anything any more.
    Ended {
        /// When.
        end_time: Timestamp,
        /// How.
        outcome: TurnOutcome,
    },
}

/// What a runtime reported of a turn so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Activity {
    /// Sequence number of the newest activity report.
    pub number: u64,
    /// Tool calls.
    pub tool_calls: u64,
    /// The newest of them.
    pub last_tool: Option<String>,
    /// When that was reported.
    pub last_tool_time: Option<Timestamp>,
    /// Input tokens.
    pub input_tokens: u64,
    /// Output tokens.
    pub output_tokens: u64,
}

/// A stop asked of a turn.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct AbortRequest {
    /// When.
    pub request_time: Timestamp,
    /// Why, in one line.
    pub reason: String,
}

/// What a FinishTurn said and was told, so that its repeat is answered alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FinishRecord {
    /// Fingerprint of what it said.
    pub fingerprint: [u8; 32],
    /// The recorded answer.
    pub answer: Vec<u8>,
}

/// One turn.
#[derive(Clone, Debug, PartialEq)]
pub struct Turn {
    /// Its id.
    pub turn_id: TurnId,
    /// The thread it runs.
    pub thread_id: ThreadId,
    /// The handoff the thread worked on when it was claimed.
    pub handoff_id: Option<HandoffId>,
    /// Whose slot it takes.
    pub agent_id: AgentId,
    /// Who holds it.
    pub runtime_id: String,
    /// In which life of that runtime.
    pub incarnation: u64,
    /// It is counted against the agent's slots.
    pub holds_slot: bool,
    /// Its fencing token, the thread's turn number.
    pub token: u64,
    /// Where it stands.
    pub state: TurnState,
    /// When it was claimed.
    pub claim_time: Timestamp,
    /// When its lease ends.
    pub lease_expire_time: Timestamp,
    /// Its last call.
    pub heartbeat_time: Timestamp,
    /// Its last activity.
    pub activity_time: Timestamp,
    /// What was reported of it.
    pub activity: Activity,
    /// Text in the making; never history.
    pub partial_text: Option<String>,
    /// The stop asked of it.
    pub abort: Option<AbortRequest>,
    /// Lower bound of the next look at its lease; none once ended.
    pub check_time: Option<Timestamp>,
    /// What its FinishTurn said and was told.
    pub finish: Option<FinishRecord>,
}

impl Turn {
    /// Whether it was not closed yet.
    #[must_use]
    pub fn is_live(&self) -> bool {
        match self.state {
            TurnState::Assigned | TurnState::Running => true,
            TurnState::Ended { .. } => false,
        }
    }
}
