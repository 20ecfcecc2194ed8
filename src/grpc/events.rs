//! The history of a thread, as the wire spells it, both ways.

use super::check::Check;
use super::encode::{Wire, json, opt_id, timestamp};
use super::threads::assignment;
use crate::app::threads::EventView;
use crate::domain::history::EventKind;
use crate::domain::limits;
use crate::domain::turns::{TurnError, TurnOutcome};
use crate::proto::v1;

/// Reads one event to append; an answer is given even where it is wrong.
pub(super) fn read(check: &mut Check, at: usize, event: v1::NewEvent) -> EventKind {
    use v1::new_event::Kind;

    let path = |field: &str| format!("events[{at}].{field}");
    match event.kind {
        None => {
            check.wrong(&path("kind"), "is required; set one of the kinds");
            EventKind::UserMessage {
                text: String::new(),
            }
        }
        Some(Kind::UserMessage(it)) => EventKind::UserMessage {
            text: said(check, &path("user_message.text"), it.text),
        },
        Some(Kind::AssistantMessage(it)) => EventKind::AssistantMessage {
            text: said(check, &path("assistant_message.text"), it.text),
        },
        Some(Kind::ToolCall(it)) => EventKind::ToolCall {
            call_id: call_id(check, &path("tool_call.call_id"), it.call_id),
            name: check.name(&path("tool_call.name"), it.name, limits::NAME_CHARS),
            arguments: check
                .json(
                    &path("tool_call.arguments"),
                    it.arguments,
                    limits::JSON_BYTES,
                )
                .unwrap_or_default(),
        },
        Some(Kind::ToolResult(it)) => EventKind::ToolResult {
            call_id: call_id(check, &path("tool_result.call_id"), it.call_id),
            text: check.text(&path("tool_result.text"), it.text, limits::RESPONSE_CHARS),
            data: check.json(&path("tool_result.data"), it.data, limits::JSON_BYTES),
            is_error: it.is_error,
        },
        Some(Kind::Checkpoint(it)) => EventKind::Checkpoint {
            data: checkpoint(check, &path("checkpoint.data"), it.data),
            open_handoff_ids: Vec::new(),
        },
    }
}

fn said(check: &mut Check, field: &str, text: String) -> String {
    check.required_text(field, text, limits::RESPONSE_CHARS)
}

fn call_id(check: &mut Check, field: &str, text: String) -> String {
    check.required_text(field, text, limits::REQUEST_ID_CHARS)
}

fn checkpoint(
    check: &mut Check,
    field: &str,
    data: Option<prost_types::Struct>,
) -> serde_json::Value {
    if data.is_none() {
        check.wrong(field, "is required");
    }
    check
        .json(field, data, limits::CHECKPOINT_BYTES)
        .unwrap_or_default()
}

/// Writes down one entry.
pub(super) fn encode(view: EventView) -> v1::Event {
    let EventView {
        event,
        assignment: given,
        mailed_body,
    } = view;
    let turn_id = opt_id(event.turn_id.as_ref());
    let given = given.as_ref().map(assignment);
    v1::Event {
        number: event.number,
        time: Some(timestamp(event.time)),
        late: event.late,
        turn_id: turn_id.clone(),
        kind: Some(kind(event.kind, turn_id, given, mailed_body)),
    }
}

#[expect(
    clippy::too_many_lines,
    reason = "one arm a kind, and none that decides anything"
)]
fn kind(
    kind: EventKind,
    turn_id: String,
    assignment: Option<v1::Assignment>,
    mailed_body: Option<String>,
) -> v1::event::Kind {
    match kind {
        EventKind::Assignment {
            handoff_id,
            attempt,
        } => v1::event::Kind::Assignment(v1::AssignmentGiven {
            handoff_id: handoff_id.to_string(),
            attempt,
            assignment,
        }),
        EventKind::Report {
            handoff_id,
            version,
            outcome,
            message_id,
            body,
        } => v1::event::Kind::Report(v1::ReportSent {
            handoff_id: handoff_id.to_string(),
            version,
            outcome: outcome.wire(),
            message_id: opt_id(message_id.as_ref()),
            body: body.or(mailed_body).unwrap_or_default(),
        }),
        EventKind::TurnStarted {
            runtime_id,
            incarnation,
            handoff_id,
        } => v1::event::Kind::TurnStarted(v1::TurnStarted {
            turn_id,
            runtime_id,
            incarnation,
            handoff_id: opt_id(handoff_id.as_ref()),
        }),
        EventKind::TurnEnded {
            outcome,
            next,
            response_text,
            error,
        } => v1::event::Kind::TurnEnded(v1::TurnEnded {
            turn_id,
            close_reason: close_reason(outcome) as i32,
            outcome: stated(outcome).map(|it| it as i32),
            next: next.map(Wire::wire),
            response_text,
            error: error.map(turn_error),
        }),
        EventKind::UserMessage { text } => v1::event::Kind::UserMessage(v1::UserMessage { text }),
        EventKind::AssistantMessage { text } => {
            v1::event::Kind::AssistantMessage(v1::AssistantMessage { text })
        }
        EventKind::ToolCall {
            call_id,
            name,
            arguments,
        } => v1::event::Kind::ToolCall(v1::ToolCall {
            call_id,
            name,
            arguments: arguments.is_object().then(|| json(&arguments)),
        }),
        EventKind::ToolResult {
            call_id,
            text,
            data,
            is_error,
        } => v1::event::Kind::ToolResult(v1::ToolResult {
            call_id,
            text,
            data: data.as_ref().map(json),
            is_error,
        }),
        EventKind::Checkpoint {
            data,
            open_handoff_ids,
        } => v1::event::Kind::Checkpoint(v1::Checkpoint {
            data: Some(json(&data)),
            open_handoff_ids: open_handoff_ids.iter().map(ToString::to_string).collect(),
        }),
        EventKind::ThreadSpawned {
            handoff_id,
            thread_id,
            agent_id,
            title,
        } => v1::event::Kind::ThreadSpawned(v1::ThreadSpawned {
            handoff_id: handoff_id.to_string(),
            thread_id: thread_id.to_string(),
            agent_id: agent_id.0,
            title,
        }),
        EventKind::Mail { numbers, kinds } => v1::event::Kind::Mail(v1::MailGiven {
            mail_numbers: numbers,
            kinds: kinds.into_iter().map(Wire::wire).collect(),
        }),
    }
}

/// Why a turn that ended so is not live any more.
pub(crate) fn close_reason(outcome: TurnOutcome) -> v1::TurnCloseReason {
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

/// What its runtime said, where it finished the turn.
pub(crate) fn stated(outcome: TurnOutcome) -> Option<v1::TurnOutcome> {
    match outcome {
        TurnOutcome::Done => Some(v1::TurnOutcome::Done),
        TurnOutcome::Failed => Some(v1::TurnOutcome::Failed),
        TurnOutcome::Interrupted => Some(v1::TurnOutcome::Interrupted),
        TurnOutcome::Aborted => Some(v1::TurnOutcome::Aborted),
        TurnOutcome::Released | TurnOutcome::Lost | TurnOutcome::Unclaimed => None,
    }
}

fn turn_error(error: TurnError) -> v1::TurnError {
    v1::TurnError {
        failure_class: error.class.wire(),
        summary: error.summary,
    }
}
