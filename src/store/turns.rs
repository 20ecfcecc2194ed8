//! Turns and runtimes.

use crate::domain::ids::{AgentId, HandoffId, ThreadId, TurnId};
use crate::domain::runtime::Runtime;
use crate::domain::time::Timestamp;
use crate::domain::turns::{AbortRequest, Activity, FinishRecord, Turn, TurnOutcome, TurnState};
use crate::domain::world::Stored;

use super::codec::{Address, Spelled, Unknown, big, count, read_opt, spelled};

pub(super) const INSERT: &str = include_str!("sql/insert_turns.sql");
pub(super) const UPDATE: &str = include_str!("sql/update_turns.sql");
pub(super) const INSERT_RUNTIMES: &str = include_str!("sql/insert_runtimes.sql");
pub(super) const UPDATE_RUNTIMES: &str = include_str!("sql/update_runtimes.sql");

spelled!(TurnOutcome, "outcome of a turn", {
    TurnOutcome::Done => "done" = TurnOutcome::Done,
    TurnOutcome::Failed => "failed" = TurnOutcome::Failed,
    TurnOutcome::Interrupted => "interrupted" = TurnOutcome::Interrupted,
    TurnOutcome::Aborted => "aborted" = TurnOutcome::Aborted,
    TurnOutcome::Lost => "lost" = TurnOutcome::Lost,
    TurnOutcome::Released => "released" = TurnOutcome::Released,
    TurnOutcome::Unclaimed => "unclaimed" = TurnOutcome::Unclaimed,
});

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "turn_row")]
pub(super) struct TurnRow {
    address: Option<Address>,
    version: i64,
    turn_id: TurnId,
    thread_id: ThreadId,
    handoff_id: Option<HandoffId>,
    agent_id: AgentId,
    runtime_id: String,
    incarnation: i64,
    holds_slot: bool,
    token: i64,
    state: String,
    claim_time: Timestamp,
    lease_expire_time: Timestamp,
    heartbeat_time: Timestamp,
    activity_time: Timestamp,
    activity_number: i64,
    tool_calls: i64,
    last_tool: Option<String>,
    last_tool_time: Option<Timestamp>,
    partial_text: Option<String>,
    input_tokens: i64,
    output_tokens: i64,
    abort_request_time: Option<Timestamp>,
    abort_reason: Option<String>,
    check_time: Option<Timestamp>,
    end_time: Option<Timestamp>,
    outcome: Option<String>,
    finish_fingerprint: Option<Vec<u8>>,
    finish_answer: Option<Vec<u8>>,
}

impl TurnRow {
    pub(super) fn new(turn: &Turn, stored: Option<Stored>) -> Self {
        let (state, end_time, outcome) = match turn.state {
            TurnState::Assigned => ("assigned", None, None),
            TurnState::Running => ("running", None, None),
            TurnState::Ended { end_time, outcome } => ("ended", Some(end_time), Some(outcome)),
        };
        Self {
            address: stored.map(|stored| Address(stored.address)),
            version: stored.map_or(1, |stored| stored.version),
            turn_id: turn.turn_id,
            thread_id: turn.thread_id,
            handoff_id: turn.handoff_id,
            agent_id: turn.agent_id.clone(),
            runtime_id: turn.runtime_id.clone(),
            incarnation: big(turn.incarnation),
            holds_slot: turn.holds_slot,
            token: big(turn.token),
            state: state.to_owned(),
            claim_time: turn.claim_time,
            lease_expire_time: turn.lease_expire_time,
            heartbeat_time: turn.heartbeat_time,
            activity_time: turn.activity_time,
            activity_number: big(turn.activity.number),
            tool_calls: big(turn.activity.tool_calls),
            last_tool: turn.activity.last_tool.clone(),
            last_tool_time: turn.activity.last_tool_time,
            partial_text: turn.partial_text.clone(),
            input_tokens: big(turn.activity.input_tokens),
            output_tokens: big(turn.activity.output_tokens),
            abort_request_time: turn.abort.as_ref().map(|abort| abort.request_time),
            abort_reason: turn.abort.as_ref().map(|abort| abort.reason.clone()),
            check_time: turn.check_time,
            end_time,
            outcome: outcome.map(|outcome| outcome.spell().to_owned()),
            finish_fingerprint: turn
                .finish
                .as_ref()
                .map(|finish| finish.fingerprint.to_vec()),
            finish_answer: turn.finish.as_ref().map(|finish| finish.answer.clone()),
        }
    }

    pub(super) fn stored(&self) -> Stored {
        Stored {
            address: self.address.map_or(0, |address| address.0),
            version: self.version,
        }
    }
}

/// Where a turn stands, of the columns that say so.
pub(super) fn turn_state(
    state: &str,
    end_time: Option<Timestamp>,
    outcome: Option<&str>,
) -> Result<TurnState, Unknown> {
    match (state, end_time.zip(read_opt(outcome)?)) {
        ("assigned", None) => Ok(TurnState::Assigned),
        ("running", None) => Ok(TurnState::Running),
        ("ended", Some((end_time, outcome))) => Ok(TurnState::Ended { end_time, outcome }),
        (other, _) => Err(Unknown::of("state of a turn", other)),
    }
}

impl TryFrom<TurnRow> for Turn {
    type Error = Unknown;

    fn try_from(row: TurnRow) -> Result<Self, Unknown> {
        let state = turn_state(&row.state, row.end_time, row.outcome.as_deref())?;
        let fingerprint = row
            .finish_fingerprint
            .and_then(|bytes| bytes.try_into().ok());
        Ok(Self {
            turn_id: row.turn_id,
            thread_id: row.thread_id,
            handoff_id: row.handoff_id,
            agent_id: row.agent_id,
            runtime_id: row.runtime_id,
            incarnation: count(row.incarnation),
            holds_slot: row.holds_slot,
            token: count(row.token),
            state,
            claim_time: row.claim_time,
            lease_expire_time: row.lease_expire_time,
            heartbeat_time: row.heartbeat_time,
            activity_time: row.activity_time,
            activity: Activity {
                number: count(row.activity_number),
                tool_calls: count(row.tool_calls),
                last_tool: row.last_tool,
                last_tool_time: row.last_tool_time,
                input_tokens: count(row.input_tokens),
                output_tokens: count(row.output_tokens),
            },
            partial_text: row.partial_text,
            abort: row
                .abort_request_time
                .zip(row.abort_reason)
                .map(|(request_time, reason)| AbortRequest {
                    request_time,
                    reason,
                }),
            check_time: row.check_time,
            finish: fingerprint
                .zip(row.finish_answer)
                .map(|(fingerprint, answer)| FinishRecord {
                    fingerprint,
                    answer,
                }),
        })
    }
}

#[derive(Clone, Debug, sqlx::Type)]
#[sqlx(type_name = "runtime_row")]
pub(super) struct RuntimeRow {
    address: Option<Address>,
    runtime_id: String,
    incarnation: i64,
    description: String,
    register_time: Timestamp,
    receive_time: Timestamp,
}

impl RuntimeRow {
    pub(super) fn new(runtime: &Runtime, stored: Option<Stored>) -> Self {
        Self {
            address: stored.map(|stored| Address(stored.address)),
            runtime_id: runtime.runtime_id.clone(),
            incarnation: big(runtime.incarnation),
            description: runtime.description.clone(),
            register_time: runtime.register_time,
            receive_time: runtime.receive_time,
        }
    }

    pub(super) fn stored(&self) -> Stored {
        Stored {
            address: self.address.map_or(0, |address| address.0),
            version: 0,
        }
    }
}

impl From<RuntimeRow> for Runtime {
    fn from(row: RuntimeRow) -> Self {
        Self {
            runtime_id: row.runtime_id,
            incarnation: count(row.incarnation),
            description: row.description,
            register_time: row.register_time,
            receive_time: row.receive_time,
        }
    }
}
