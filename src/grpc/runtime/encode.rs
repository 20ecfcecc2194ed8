//! Writes the answers for runtimes.

use crate::app::signals::TurnSignals;
use crate::domain::handoffs::Assignment;
use crate::domain::ids::TurnId;
use crate::domain::mailbox::Marks;
use crate::domain::threads::Owner;
use crate::domain::turns::TurnOutcome;
use crate::domain::turns::assign::ClaimedTurn;
use crate::domain::turns::finish::Finished;
use crate::domain::turns::heartbeat::Pulse;
use crate::grpc::encode::{Wire, json, opt_id, timestamp};
use crate::grpc::mail::message;
use crate::grpc::signals;
use crate::proto::v1;

pub(super) fn turn((turn, told): (ClaimedTurn, TurnSignals)) -> v1::Turn {
    let marks = Marks {
        given_through: turn.given_through,
        consumed_through: turn.consumed_through,
    };
    let mail = turn.mail.iter();
    let mail = mail.map(|mail| message(mail, &turn.agent_id, marks, turn.claim_time));
    v1::Turn {
        mail: mail.collect(),
        turn_id: turn.turn_id.to_string(),
        token: turn.token,
        thread_id: turn.thread_id.to_string(),
        agent_id: turn.agent_id.0,
        handoff_id: opt_id(turn.handoff_id.as_ref()),
        attempt: turn.attempt,
        lease_expire_time: Some(timestamp(turn.lease_expire_time)),
        parent_thread_id: opt_id(turn.parent_thread_id.as_ref()),
        parent_agent_id: opt_id(turn.parent_agent_id.as_ref()),
        report_owed: turn.report_owed,
        assignment: turn.assignment.map(assignment),
        given_through: turn.given_through,
        owner: turn.owner.map(owner),
        signals: signals::encode(told),
        lost_turns: turn.lost_turns,
    }
}

fn assignment(work: Assignment) -> v1::Assignment {
    v1::Assignment {
        task: work.task,
        context_data: work.context_data.as_ref().map(json),
    }
}

fn owner(owner: Owner) -> v1::Owner {
    v1::Owner {
        subject: owner.subject,
        email: owner.email.unwrap_or_default(),
    }
}

pub(super) fn pulse(turn_id: TurnId, pulse: &Pulse, told: TurnSignals) -> v1::TurnHeartbeatResult {
    let mut result = v1::TurnHeartbeatResult {
        turn_id: turn_id.to_string(),
        ..v1::TurnHeartbeatResult::default()
    };
    match pulse {
        Pulse::Renewed {
            lease_expire_time, ..
        } => {
            result.set_state(v1::TurnLeaseState::Renewed);
            result.lease_expire_time = Some(timestamp(*lease_expire_time));
            result.signals = signals::encode(told);
        }
        Pulse::Closed(outcome) => {
            result.set_state(v1::TurnLeaseState::Closed);
            result.set_close_reason(close_reason(*outcome));
        }
        Pulse::Unknown => result.set_state(v1::TurnLeaseState::Unknown),
    }
    result
}

fn close_reason(outcome: TurnOutcome) -> v1::TurnCloseReason {
    match outcome {
        TurnOutcome::Done
        | TurnOutcome::Failed
        | TurnOutcome::Interrupted
        | TurnOutcome::Aborted => v1::TurnCloseReason::Finished,
        TurnOutcome::Released => v1::TurnCloseReason::Released,
        TurnOutcome::Lost => v1::TurnCloseReason::Lost,
        TurnOutcome::Unclaimed => v1::TurnCloseReason::NeverBegan,
    }
}

pub(super) fn finished(finished: Finished) -> v1::FinishTurnResponse {
    v1::FinishTurnResponse {
        handoff_open: finished.open,
        report_owed: finished.report_owed,
        why: finished.why,
        handoff_status: finished.status.map(Wire::wire),
        woken: finished.woken,
    }
}
