//! Threads: durable conversations, and the head row that every change of one locks.

pub mod append;
pub mod create;

use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::time::Timestamp;

/// How a thread is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub enum Drive {
    /// Turns are claimed by runtimes.
    Runtime,
    /// It calls when it likes: no turns, no wakes, its mail waits to be read.
    Pull,
}

/// The person a thread's turns act for.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Owner {
    /// Stable identity of the person.
    pub subject: String,
    /// Where known.
    pub email: Option<String>,
}

/// What never changes in the life of a thread, but for its title and listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its id.
    pub thread_id: ThreadId,
    /// Whose thread.
    pub agent_id: AgentId,
    /// The thread that handed it its work.
    pub parent_thread_id: Option<ThreadId>,
    /// The top of its tree; itself at the top.
    pub root_thread_id: ThreadId,
    /// Handoffs above it.
    pub depth: u32,
    /// What it is for: `init`, `task`, or the user's own word.
    pub role: String,
    /// How it is run.
    pub drive: Drive,
    /// One line for people.
    pub title: String,
    /// Off every normal surface.
    pub hidden: bool,
    /// On the default list.
    pub listed: bool,
    /// Whom its turns act for.
    pub owner: Option<Owner>,
    /// When it was made.
    pub create_time: Timestamp,
}

/// The hot row of a thread. Its mailbox is a log with two marks: mail up to `given_through` was
/// handed to the live turn, mail up to `consumed_through` is done with.
#[derive(Clone, Debug, PartialEq)]
pub struct Head {
    /// Whose head.
    pub thread_id: ThreadId,
    /// The agent of the thread.
    pub agent_id: AgentId,
    /// The parent of the thread.
    pub parent_thread_id: Option<ThreadId>,
    /// How the thread is run.
    pub drive: Drive,
    /// The live turn.
    pub turn_id: Option<TurnId>,
    /// Turns so far; that of the live turn is its fencing token.
    pub turn_number: u64,
    /// The live turn made its first call.
    pub turn_running: bool,
    /// Last number of the history.
    pub event_number: u64,
    /// Last number of the mailbox.
    pub mail_number: u64,
    /// What the live turn was handed.
    pub given_through: u64,
    /// What is done with.
    pub consumed_through: u64,
    /// Unread mail above `given_through` that must wake.
    pub waking_unread: u64,
    /// When a turn is due.
    pub wake_time: Option<Timestamp>,
    /// What the standing wake was made for, counted.
    pub wake_count: u64,
    /// The newest handoff whose child this thread is.
    pub handoff_id: Option<HandoffId>,
    /// That handoff has no outcome yet.
    pub handoff_unfinished: bool,
    /// Turns lost in a row, since one finished.
    pub lost_turns: u32,
    /// The least that one of those lost turns was given.
    pub lost_given_through: Option<u64>,
    /// Unfinished handoffs of this thread whose end is told to it.
    pub awaited_children: u64,
    /// All unfinished handoffs of this thread.
    pub live_children: u64,
    /// Tool calls of ended turns.
    pub tool_calls: u64,
    /// The newest tool call of ended turns.
    pub last_tool: Option<String>,
    /// When that was reported.
    pub last_tool_time: Option<Timestamp>,
    /// Input tokens of ended turns.
    pub input_tokens: u64,
    /// Output tokens of ended turns.
    pub output_tokens: u64,
    /// History number of the turn end that carries the latest response.
    pub response_number: Option<u64>,
    /// When the thread last did something.
    pub last_activity_time: Timestamp,
    /// Lower bound of the reconciler's next look.
    pub due_time: Option<Timestamp>,
    /// Through when it ran or waited for something, as far as is known; may lie ahead.
    pub waited_time: Option<Timestamp>,
    /// When it was deleted.
    pub delete_time: Option<Timestamp>,
    /// Time of the newest change; the times of its events never run back.
    pub update_time: Timestamp,
}

impl Head {
    /// The head of a new thread that has done nothing yet.
    #[must_use]
    pub fn new(thread: &Thread, now: Timestamp) -> Self {
        Self {
            thread_id: thread.thread_id,
            agent_id: thread.agent_id.clone(),
            parent_thread_id: thread.parent_thread_id,
            drive: thread.drive,
            turn_id: None,
            turn_number: 0,
            turn_running: false,
            event_number: 0,
            mail_number: 0,
            given_through: 0,
            consumed_through: 0,
            waking_unread: 0,
            wake_time: None,
            wake_count: 0,
            handoff_id: None,
            handoff_unfinished: false,
            lost_turns: 0,
            lost_given_through: None,
            awaited_children: 0,
            live_children: 0,
            tool_calls: 0,
            last_tool: None,
            last_tool_time: None,
            input_tokens: 0,
            output_tokens: 0,
            response_number: None,
            last_activity_time: now,
            due_time: None,
            waited_time: None,
            delete_time: None,
            update_time: now,
        }
    }

    /// The handoff this thread works on, while that has no outcome.
    #[must_use]
    pub fn unfinished_handoff(&self) -> Option<HandoffId> {
        self.handoff_id.filter(|_| self.handoff_unfinished)
    }

    /// Since when it is quiet, where it is: what it waited for is no silence of its own.
    #[must_use]
    pub(in crate::domain) fn quiet_since(&self) -> Timestamp {
        let active = self.last_activity_time;
        self.waited_time.map_or(active, |waited| active.max(waited))
    }

    /// So much mail need not wake any more; a wake without another cause goes with it.
    pub(in crate::domain) fn drop_waking(&mut self, count: u64) {
        self.waking_unread = self.waking_unread.saturating_sub(count);
        self.wake_count = self.wake_count.saturating_sub(count);
        if count > 0 && self.wake_count == 0 && self.waking_unread == 0 {
            self.wake_time = None;
        }
    }

    /// Mail that is neither consumed nor taken out.
    #[must_use]
    pub fn unread(&self) -> u64 {
        self.mail_number - self.consumed_through
    }
}
