//! What is really going on with a handoff: computed from evidence at each call, never stored.
//!
//! Everything here is a pure function of facts that one statement read together with the time, so that
//! two fields of one answer always agree and a stale row is never trusted. Nothing is changed by it.

mod live;
pub mod next;
pub mod stuck;
#[cfg(test)]
mod tests;
mod told;

use std::time::Duration;

use super::agents::Slots;
use super::handoffs::quiet::{is_quiet, next_reminder};
use super::handoffs::{Handoff, Outcome, Progress, ReportKind};
use super::ids::{AgentId, HandoffId, MessageId, TurnId};
use super::limits::Rules;
use super::threads::Head;
use super::time::Timestamp;
use super::turns::Turn;

pub use live::live_state;
pub use told::{NotNotified, not_notified};

/// The rows from which the live state follows.
#[derive(Clone, Debug)]
pub struct Facts {
    /// What is stored of the handoff.
    pub handoff: Handoff,
    /// The child's head; none where no child was made, or its rows are lost.
    pub head: Option<Head>,
    /// The slots and state of the child's agent.
    pub slots: Option<Slots>,
    /// The child's live turn.
    pub turn: Option<Turn>,
    /// The oldest of the child's own unfinished children that it waits for.
    pub children: Vec<HandoffId>,
}

/// How far a handoff is, as far as status cares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No outcome yet.
    Unfinished,
    /// The outcome is fixed, and only the closing is due.
    Finished {
        /// Since when.
        finish_time: Timestamp,
        /// When it is closed, collected or not.
        collect_time: Timestamp,
    },
    /// The terminal status is written.
    Closed {
        /// Since when the outcome is fixed.
        finish_time: Timestamp,
        /// Since when it is closed.
        close_time: Timestamp,
    },
}

impl From<Progress> for Standing {
    fn from(progress: Progress) -> Self {
        match progress {
            Progress::Started
            | Progress::Running { .. }
            | Progress::FirstResponse { .. }
            | Progress::WatchExpired { .. } => Self::Unfinished,
            Progress::Finished {
                finish_time,
                collect_time,
                ..
            } => Self::Finished {
                finish_time,
                collect_time,
            },
            Progress::Closed {
                finish_time,
                close_time,
                ..
            } => Self::Closed {
                finish_time,
                close_time,
            },
        }
    }
}

/// What the child of an open handoff is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LiveState {
    /// A live turn progresses, a wake stands, it waits for something named, or was active just now.
    Running,
    /// Only the closing is due.
    Completed,
    /// Nothing moves, for this reason.
    Stalled(StallReason),
    /// The child thread is deleted, or its rows are lost.
    ChildMissing,
}

/// Why nothing moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StallReason {
    /// Idle, waiting for nothing, longer than the stall threshold.
    Quiet,
    /// A wake stands that no runtime claimed within the claim bound.
    Unclaimed,
    /// A live turn beats but shows no activity.
    NoProgress,
}

/// What the child waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WaitingOn {
    /// Nothing.
    Nothing,
    /// A runtime that claims turns of the agent.
    Runtime(AgentId),
    /// A free slot of the agent.
    Slot {
        /// Whose slots.
        agent_id: AgentId,
        /// How many there are.
        slots: u32,
    },
    /// The agent to be activated.
    AgentDeactivated(AgentId),
    /// The time its last turn asked for.
    Timer(Timestamp),
    /// The end of the pause after a lost turn.
    Retry(Timestamp),
    /// Its own unfinished children.
    Children {
        /// The oldest of them.
        handoff_ids: Vec<HandoffId>,
        /// How many.
        count: u64,
    },
    /// Its parent thread to collect the result, until this time.
    Collection(Timestamp),
    /// Somebody outside: the thread is not run by turns.
    Caller,
}

/// What to do about a handoff.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HintAction {
    /// Nothing.
    Wait,
    /// Look at the child.
    Look,
    /// Start a runtime for the agent.
    StartRuntime,
    /// Activate the agent.
    ActivateAgent,
    /// Give the agent more slots.
    RaiseSlots,
    /// Read the result and acknowledge its version.
    Collect,
}

/// The live state with all that belongs to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Live {
    /// The state.
    pub state: LiveState,
    /// Since when.
    pub since: Timestamp,
    /// What to do.
    pub action: HintAction,
    /// Why, one sentence.
    pub reason: String,
    /// What the child waits for.
    pub waiting_on: WaitingOn,
}

/// What follows from the facts at one moment.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessment {
    /// The live state; none once closed.
    pub live: Option<Live>,
    /// Since when: the live state, or the stored status of a closed handoff.
    pub since: Timestamp,
    /// Last activity of the child thread.
    pub last_activity_time: Option<Timestamp>,
    /// Time since then, of finished work until its finish.
    pub idle: Option<Duration>,
    /// Time since creation, of finished work until its finish.
    pub elapsed: Duration,
    /// When the child is reminded if it stays quiet.
    pub next_reminder_time: Option<Timestamp>,
    /// When the work is given up if the child stays quiet.
    pub abandon_time: Option<Timestamp>,
}

/// Draws the conclusions.
#[must_use]
pub fn assess(facts: &Facts, now: Timestamp, rules: &Rules) -> Assessment {
    let standing = Standing::from(facts.handoff.progress);
    let live = live_state(standing, facts, now, rules);
    let create_time = facts.handoff.create_time;
    let (end, closed_since) = match standing {
        Standing::Unfinished => (now, create_time),
        Standing::Finished { finish_time, .. } => (finish_time, finish_time),
        Standing::Closed {
            finish_time,
            close_time,
        } => (finish_time, close_time),
    };
    let last_activity_time = facts.last_activity();
    let quiet = facts
        .head
        .as_ref()
        .filter(|head| standing == Standing::Unfinished && head.delete_time.is_none())
        .filter(|head| is_quiet(head, facts.slots.as_ref(), now));
    Assessment {
        since: live.as_ref().map_or(closed_since, |live| live.since),
        live,
        last_activity_time,
        idle: last_activity_time.map(|active| end.since(active)),
        elapsed: end.since(create_time),
        next_reminder_time: quiet
            .and_then(|head| next_reminder(head, &facts.handoff, facts.slots.as_ref(), rules)),
        abandon_time: quiet.map(|head| head.quiet_since() + rules.abandon_after),
    }
}

impl Facts {
    /// When the child last did something.
    #[must_use]
    pub fn last_activity(&self) -> Option<Timestamp> {
        let head = self.head.as_ref()?.last_activity_time;
        let turn = self.turn.as_ref().map(|turn| turn.activity_time);
        Some(turn.map_or(head, |turn| turn.max(head)))
    }
}

/// One version of a handoff's reports with what its mail says.
#[derive(Clone, Debug, PartialEq)]
pub struct ReportView {
    /// Its number.
    pub version: u64,
    /// What made it.
    pub kind: ReportKind,
    /// What it states.
    pub outcome: Outcome,
    /// One line; may be empty.
    pub subject: String,
    /// The text.
    pub body: String,
    /// Structured data.
    pub data: Option<serde_json::Value>,
    /// References.
    pub artifacts: Vec<String>,
    /// The mail that carried it.
    pub message_id: Option<MessageId>,
    /// When it was recorded.
    pub create_time: Timestamp,
    /// When the parent acknowledged it by version.
    pub deliver_time: Option<Timestamp>,
    /// Whether the parent has it.
    pub delivery: Delivery,
}

/// Whether a report reached the parent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Delivery {
    /// Nobody is to be told.
    None,
    /// Told, and not consumed yet.
    Pending,
    /// Consumed or acknowledged.
    Delivered,
}

/// A stop that was asked of the child's turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// When.
    pub request_time: Timestamp,
    /// When that turn ended.
    pub acknowledge_time: Option<Timestamp>,
}

/// The facts an answer shows, each none where it never was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evidence {
    /// Last sign of life of the live or last turn: a heartbeat, or another call of it, as far as those
    /// are noted.
    pub last_heartbeat_time: Option<Timestamp>,
    /// When the runtime that holds or held it last asked for turns.
    pub last_poll_time: Option<Timestamp>,
    /// Last event of the child's history.
    pub last_event_time: Option<Timestamp>,
    /// Last time mail was given to the child.
    pub last_delivery_time: Option<Timestamp>,
    /// The live turn.
    pub turn_id: Option<TurnId>,
    /// Who holds it.
    pub runtime_id: Option<String>,
    /// When its lease ends.
    pub lease_expire_time: Option<Timestamp>,
    /// Since when the wake stands, or when it is due.
    pub wake_time: Option<Timestamp>,
}

/// Texts that an answer carries beside the state: what no answer shows is not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Texts {
    /// Partial text and the newest PROGRESS.
    pub progress: bool,
    /// The recorded result.
    pub result: bool,
    /// The newest report, whole.
    pub report: bool,
}

impl Texts {
    /// The state alone.
    pub const NONE: Self = Self {
        progress: false,
        result: false,
        report: false,
    };
    /// What status and results show.
    pub const OF_STATUS: Self = Self {
        progress: true,
        result: true,
        report: false,
    };
    /// What a wait tells.
    pub const OF_NEWS: Self = Self {
        progress: true,
        result: false,
        report: true,
    };

    /// What either of two asks wants.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self {
            progress: self.progress || other.progress,
            result: self.result || other.result,
            report: self.report || other.report,
        }
    }
}

/// The mail that carried the newest report, and the thread it was sent to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mailed {
    /// When.
    pub create_time: Timestamp,
    /// It was given to turns that were all lost.
    pub set_aside: bool,
    /// The parent has a live turn.
    pub in_turn: bool,
    /// When the parent last did something.
    pub active_time: Timestamp,
}

/// Everything that was read of one handoff, in one statement.
#[derive(Clone, Debug)]
pub struct Observed {
    /// The time of that statement.
    pub now: Timestamp,
    /// What the live state follows from.
    pub facts: Facts,
    /// Whose thread the parent is.
    pub parent_agent_id: Option<AgentId>,
    /// Whether the newest report reached the parent.
    pub report_delivery: Delivery,
    /// The mail of the newest report, where it went by mail.
    pub mailed: Option<Mailed>,
    /// The newest report, where it was asked for.
    pub newest_report: Option<ReportView>,
    /// The text of the recorded result, where it was asked for.
    pub result: Option<String>,
    /// The newest PROGRESS, where it was asked for.
    pub latest_progress: Option<String>,
    /// The stop that was asked.
    pub stop: Option<Stop>,
    /// For the answer.
    pub evidence: Evidence,
}
