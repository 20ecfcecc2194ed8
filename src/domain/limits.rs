//! What is bounded, by how much, and the timing rules an operator may set.

use std::time::Duration;

/// Characters (Unicode scalar values) of a message body: a report has to be readable in one turn.
pub const BODY_CHARS: usize = 16_000;
/// Characters of a final response.
pub const RESPONSE_CHARS: usize = 64_000;
/// Characters of a task.
pub const TASK_CHARS: usize = 64_000;
/// Characters of a subject or title: one line of a list.
pub const LINE_CHARS: usize = 200;
/// Characters of an agent id, runtime id, role or tool name.
pub const NAME_CHARS: usize = 128;
/// Characters of a description or summary.
pub const TEXT_CHARS: usize = 2_000;
/// Characters of a request id.
pub const REQUEST_ID_CHARS: usize = 255;
/// Characters of an idempotency key.
pub const KEY_CHARS: usize = 4_096;
/// Bytes of free-form JSON as text. In an answer it may take 5.5 times as many.
pub const JSON_BYTES: usize = 256 * 1024;
/// Nesting of free-form JSON.
pub const JSON_DEPTH: usize = 32;
/// Encoded bytes of a checkpoint.
pub const CHECKPOINT_BYTES: usize = 64 * 1024;
/// Reports acknowledged at once.
pub const REPORT_ACKS: usize = 100;
/// Artifact references of a report.
pub const ARTIFACTS: usize = 64;
/// Events of one AppendEvents.
pub const EVENTS_PER_APPEND: usize = 500;
/// Turns of one ClaimTurns.
pub const TURNS_PER_CLAIM: usize = 100;
/// Turns of one Heartbeat.
pub const TURNS_PER_HEARTBEAT: usize = 500;
/// Tool calls reported for one turn in one Heartbeat.
pub const TOOL_CALLS_PER_HEARTBEAT: usize = 100;
/// Handoffs of one BatchGetHandoffStatus.
pub const HANDOFFS_PER_BATCH: usize = 500;
/// Rows of a page when the request says nothing.
pub const PAGE_DEFAULT: usize = 50;
/// Rows of a page at most.
pub const PAGE_MAX: usize = 500;
/// Encoded bytes of a page at most, so that an answer fits gRPC's message limit with what else it
/// carries. What is alone in an answer may be larger: the largest turn has some 3.5 MB, of which each
/// JSON has 1.4 MB at most.
pub const PAGE_BYTES: usize = 3 * 1024 * 1024;
/// How far ahead a thread may ask to be woken.
pub const WAKE_AHEAD: Duration = Duration::from_hours(366 * 24);
/// How long a call may wait.
pub const WAIT_MAX: Duration = Duration::from_mins(5);
/// How long a synchronous creation watches that does not say.
pub const WATCH_DEFAULT: Duration = Duration::from_mins(5);
/// How long a synchronous creation may watch.
pub const WATCH_MAX: Duration = Duration::from_hours(1);
/// The shortest time limit of work.
pub const DEADLINE_MIN: Duration = Duration::from_secs(1);
/// How long work may be allowed to run.
pub const DEADLINE_MAX: Duration = Duration::from_hours(24);
/// How long an agent may let its work wait to be begun before it fails.
pub const CLAIM_DEADLINE_MAX: Duration = Duration::from_hours(7 * 24);
/// Unread mail of a thread; past it ordinary mail is refused.
pub const MAILBOX: u64 = 10_000;
/// Unread waking mail of a thread past which a message raises no further signal.
pub const WAKING_UNREAD: u64 = 32;
/// Bytes of mail a claim hands over with one turn; at least one message whatever its size.
pub const CLAIM_MAIL_BYTES: usize = 64 * 1024;
/// Bytes of mail that one batch reads: 64 KiB for each of the 512 heads that a claim may lock.
pub const BATCH_MAIL_BYTES: usize = 32 * 1024 * 1024;
/// Bytes of assignments that one look of claims reads: a few full answers of ClaimTurns.
pub const BATCH_WORK_BYTES: usize = 16 * 1024 * 1024;
/// Messages that the signals of one answer describe, each of 1 KiB at most; 10 for one turn.
pub const SIGNALLED_PER_ANSWER: usize = 500;
/// Messages handed over at once, by a claim or by ReadMail.
pub const MAIL_PER_READ: usize = 100;
/// Places of a pair window kept for reports.
pub const PAIR_RESERVED: u32 = 2;
/// Deepest lineage: a run-away chain ends here, whatever agents allow.
pub const DEPTH: u32 = 32;
/// Messages of a sender that a notice of mail that was set aside names one by one.
pub const SET_ASIDE_NAMED: usize = 10;
/// Newest reports in an answer of results.
pub const REPORTS_PER_RESULT: i64 = 50;
/// How long a key answers after it was bound.
pub const KEY_LIFE: Duration = Duration::from_hours(30 * 24);

/// The longest pause before a deferred effect is tried again.
pub const EFFECT_PAUSE_MAX: Duration = Duration::from_mins(10);

/// Timing and counting rules that an operator may set for the whole server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How long a running turn lives after its last call.
    pub lease: Duration,
    /// How long a claimed turn may take to its first call.
    pub assign_lease: Duration,
    /// The loss in a row that ends the work.
    pub max_lost_turns: u32,
    /// Quiet time before the first reminder.
    pub reminder_after: Duration,
    /// Least time between two reminders of one handoff.
    pub reminder_interval: Duration,
    /// Reminders in the whole life of a handoff.
    pub max_reminders: u32,
    /// Quiet time after which work is abandoned.
    pub abandon_after: Duration,
    /// Quiet time after which idle work shows as stalled.
    pub stall_after: Duration,
    /// Silence of a live turn after which its work shows as stalled.
    pub no_progress_after: Duration,
    /// Wait for a runtime after which unclaimed work shows as stalled.
    pub claim_deadline: Duration,
    /// How long the result of a RETURN handoff waits to be collected.
    pub collection_window: Duration,
    /// How long a parent may have no turn after an end was mailed before status says so.
    pub parent_idle_after: Duration,
    /// Rated messages of a sender-recipient pair within `pair_window`.
    pub pair_limit: u32,
    /// The rolling window of `pair_limit`.
    pub pair_window: Duration,
    /// Whether an agent whose policy says nothing accepts handoffs.
    pub default_accept_handoffs: bool,
}

impl Default for Rules {
    fn default() -> Self {
        Self {
            lease: Duration::from_mins(1),
            assign_lease: Duration::from_secs(10),
            max_lost_turns: 3,
            reminder_after: Duration::from_mins(30),
            reminder_interval: Duration::from_hours(1),
            max_reminders: 3,
            abandon_after: Duration::from_hours(7 * 24),
            stall_after: Duration::from_mins(2),
            no_progress_after: Duration::from_mins(15),
            claim_deadline: Duration::from_hours(1),
            collection_window: Duration::from_hours(1),
            parent_idle_after: Duration::from_hours(1),
            pair_limit: 12,
            pair_window: Duration::from_mins(5),
            default_accept_handoffs: false,
        }
    }
}

/// The pause before a thread runs again after its `lost`-th lost turn in a row.
#[must_use]
pub fn lost_turn_pause(lost: u32) -> Duration {
    Duration::from_secs(match lost {
        0 | 1 => 1,
        2 => 5,
        _ => 25,
    })
}

/// The pause before a deferred effect is tried again after its `failed`-th failure: 5 s, doubled each
/// time, 10 min at most.
#[must_use]
pub fn effect_pause(failed: u32) -> Duration {
    let doubled = 5_u64 << failed.saturating_sub(1).min(7);
    Duration::from_secs(doubled).min(EFFECT_PAUSE_MAX)
}
