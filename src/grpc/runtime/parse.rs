//! Reads the requests of runtimes.

use std::collections::{BTreeSet, HashSet};
use std::time::Duration;

use crate::app::error::Error;
use crate::app::turns::claim::ClaimTurns;
use crate::domain::caller::Caller;
use crate::domain::ids::TurnId;
use crate::domain::limits;
use crate::domain::turns::assign::Claimer;
use crate::domain::turns::finish::{Finish, FinishTurn, Next};
use crate::domain::turns::heartbeat::{ActivityReport, Beat, ToolUse};
use crate::domain::turns::register::RegisterRuntime;
use crate::domain::turns::{FailureClass, NextName, TurnError};
use crate::grpc::check::Check;
use crate::proto::v1;

/// Characters of a runtime's description.
const DESCRIPTION_CHARS: usize = 1_000;
/// Agents of one claim.
const AGENTS: usize = 500;
/// How long a claim waits when it does not say.
const WAIT_DEFAULT: Duration = Duration::from_secs(30);

pub(super) fn register(request: v1::RegisterRuntimeRequest) -> Result<RegisterRuntime, Error> {
    let mut check = Check::default();
    let runtime_id = check.name("runtime_id", request.runtime_id, limits::NAME_CHARS);
    let description = check.text("description", request.description, DESCRIPTION_CHARS);
    check.finish(RegisterRuntime {
        runtime_id,
        description,
    })
}

pub(super) fn claim(request: v1::ClaimTurnsRequest) -> Result<ClaimTurns, Error> {
    let mut check = Check::default();
    let claimer = holder(&mut check, request.runtime_id, request.incarnation);
    if request.agent_ids.is_empty() {
        check.wrong("agent_ids", format!("is required, 1 to {AGENTS} agents"));
    }
    check.at_most("agent_ids", request.agent_ids.len(), AGENTS);
    let mut agents = BTreeSet::new();
    for (at, id) in request.agent_ids.into_iter().enumerate() {
        let field = format!("agent_ids[{at}]");
        let agent = check.agent_id(&field, id);
        if !agents.insert(agent) {
            check.wrong(&field, "names an agent twice");
        }
    }
    let most = limits::TURNS_PER_CLAIM;
    let max = match request.max_turns.map(usize::try_from) {
        None => 1,
        Some(Ok(max)) if (1..=most).contains(&max) => max,
        Some(_) => {
            check.wrong("max_turns", format!("must be 1 to {most}"));
            1
        }
    };
    let wait = request.wait.map_or(WAIT_DEFAULT, |wait| {
        check.duration("wait", wait, limits::WAIT_MAX)
    });
    check.finish(ClaimTurns {
        claimer,
        agents,
        max,
        wait,
    })
}

pub(super) fn heartbeat(request: v1::HeartbeatRequest) -> Result<(String, Vec<Beat>), Error> {
    let mut check = Check::default();
    let runtime_id = holder(&mut check, request.runtime_id, request.incarnation).runtime_id;
    check.at_most("turns", request.turns.len(), limits::TURNS_PER_HEARTBEAT);
    let mut beats = Vec::with_capacity(request.turns.len());
    let mut seen = HashSet::new();
    for (at, turn) in request.turns.into_iter().enumerate() {
        let field = format!("turns[{at}]");
        let (turn_id, token) = turn_ref(&mut check, &format!("{field}.turn"), turn.turn.as_ref());
        if !seen.insert(turn_id) {
            check.wrong(&format!("{field}.turn"), "names a turn twice");
        }
        let activity = turn
            .activity
            .map(|activity| report(&mut check, &format!("{field}.activity"), activity));
        beats.push(Beat {
            turn_id,
            token,
            activity,
            active: false,
        });
    }
    check.finish((runtime_id, beats))
}

fn report(check: &mut Check, field: &str, activity: v1::TurnActivity) -> ActivityReport {
    // What is counted is stored as a signed number.
    let largest = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    if activity.sequence == 0 || activity.sequence > largest {
        check.wrong(
            &format!("{field}.sequence"),
            "must be 1 or more, below 2^63",
        );
    }
    for (name, count) in [
        ("input_tokens", activity.input_tokens),
        ("output_tokens", activity.output_tokens),
    ] {
        if count.is_some_and(|count| count > largest) {
            check.wrong(&format!("{field}.{name}"), "must be below 2^63");
        }
    }
    let calls = format!("{field}.tool_calls");
    let most = limits::TOOL_CALLS_PER_HEARTBEAT;
    check.at_most(&calls, activity.tool_calls.len(), most);
    let tool_calls = activity.tool_calls.into_iter().enumerate();
    let tool_calls = tool_calls.map(|(at, call)| ToolUse {
        name: check.name(
            &format!("{calls}[{at}].name"),
            call.name,
            limits::NAME_CHARS,
        ),
        time: call
            .time
            .map(|time| check.timestamp(&format!("{calls}[{at}].time"), time)),
    });
    let tool_calls = tool_calls.collect();
    let text = format!("{field}.partial_text");
    ActivityReport {
        sequence: activity.sequence,
        tool_calls,
        partial_text: activity
            .partial_text
            .map(|partial| check.text(&text, partial, limits::BODY_CHARS)),
        input_tokens: activity.input_tokens,
        output_tokens: activity.output_tokens,
    }
}

pub(super) fn finish(request: v1::FinishTurnRequest) -> Result<FinishTurn, Error> {
    let mut check = Check::default();
    let (turn_id, token) = turn_ref(&mut check, "turn", request.turn.as_ref());
    let finish = how(&mut check, &request);
    let response = request
        .response_text
        .filter(|text| !text.is_empty())
        .map(|text| check.text("response_text", text, limits::RESPONSE_CHARS));
    let reports = check.report_acks(&request.reports);
    check.finish(FinishTurn {
        turn_id,
        token,
        finish,
        response,
        received_through: request.received_through,
        reports,
    })
}

fn how(check: &mut Check, request: &v1::FinishTurnRequest) -> Finish {
    let outcome = v1::TurnOutcome::try_from(request.outcome);
    let next = next(check, request);
    let done = matches!(outcome, Ok(v1::TurnOutcome::Done));
    let failed = matches!(outcome, Ok(v1::TurnOutcome::Failed));
    if !done && next != Next::Finished {
        check.wrong("next", "is FINISHED unless `outcome` is DONE; leave it out");
    }
    if !failed && request.error.is_some() {
        check.wrong("error", "belongs to `outcome` FAILED; leave it out");
    }
    match outcome {
        Ok(v1::TurnOutcome::Done) => Finish::Done { next },
        Ok(v1::TurnOutcome::Interrupted) => Finish::Interrupted,
        Ok(v1::TurnOutcome::Aborted) => Finish::Aborted,
        Ok(v1::TurnOutcome::Failed) => Finish::Failed(error(check, request.error.as_ref())),
        Ok(v1::TurnOutcome::Unspecified) | Err(_) => {
            check.wrong(
                "outcome",
                "is required: DONE, FAILED, INTERRUPTED or ABORTED",
            );
            Finish::Interrupted
        }
    }
}

fn error(check: &mut Check, error: Option<&v1::TurnError>) -> TurnError {
    let Some(error) = error else {
        check.wrong("error", "is required with `outcome` FAILED");
        return TurnError {
            class: FailureClass::Other,
            summary: String::new(),
        };
    };
    let class = error.failure_class;
    TurnError {
        class: check.required_choice("error.failure_class", class, FailureClass::Other),
        summary: check.required_text("error.summary", error.summary.clone(), limits::TEXT_CHARS),
    }
}

fn next(check: &mut Check, request: &v1::FinishTurnRequest) -> Next {
    let named = check
        .choice("next", request.next)
        .unwrap_or(NextName::Finished);
    let time = request
        .wake_time
        .map(|time| check.timestamp("wake_time", time));
    match (named, time) {
        (NextName::WakeAt, Some(time)) => Next::WakeAt(time),
        (NextName::WakeAt, None) => {
            check.wrong("wake_time", "is required with `next` WAKE_AT");
            Next::Finished
        }
        (NextName::Finished | NextName::Wait | NextName::Continue, Some(_)) => {
            check.wrong("wake_time", "belongs to `next` WAKE_AT; leave it out");
            Next::Finished
        }
        (NextName::Finished, None) => Next::Finished,
        (NextName::Wait, None) => Next::Wait,
        (NextName::Continue, None) => Next::Continue,
    }
}

pub(super) fn release(
    request: v1::ReleaseTurnsRequest,
) -> Result<(Claimer, Vec<(TurnId, u64)>), Error> {
    let mut check = Check::default();
    let holder = holder(&mut check, request.runtime_id, request.incarnation);
    check.at_most("turns", request.turns.len(), limits::TURNS_PER_HEARTBEAT);
    let turns = request.turns.iter().enumerate();
    let turns = turns
        .map(|(at, turn)| turn_ref(&mut check, &format!("turns[{at}]"), Some(turn)))
        .collect();
    check.finish((holder, turns))
}

fn holder(check: &mut Check, runtime_id: String, incarnation: u64) -> Claimer {
    let runtime_id = check.name("runtime_id", runtime_id, limits::NAME_CHARS);
    if incarnation == 0 {
        check.wrong(
            "incarnation",
            "is required; use the one RegisterRuntime gave",
        );
    }
    Claimer {
        runtime_id,
        incarnation,
    }
}

/// A turn and its token.
fn turn_ref(check: &mut Check, field: &str, turn: Option<&v1::TurnRef>) -> (TurnId, u64) {
    let missing = v1::TurnRef::default();
    if turn.is_none() {
        check.wrong(field, "is required");
    }
    match turn.map_or(Caller::Operator, |turn| check.turn(field, turn)) {
        Caller::Turn { turn_id, token } => (turn_id, token),
        Caller::Operator => (TurnId::from(uuid::Uuid::nil()), missing.token),
    }
}
