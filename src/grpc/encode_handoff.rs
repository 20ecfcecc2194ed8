//! Handoffs and reports as the wire spells them.

use super::encode::{Wire, duration, json, opt_id, timestamp};
use crate::domain::handoffs::{Handoff, HandoffError, Progress};
use crate::domain::ids::{AgentId, HandoffId};
use crate::domain::status::ReportView;
use crate::proto::v1;

/// A handoff.
pub(crate) fn handoff(handoff: &Handoff, parent_agent_id: Option<&AgentId>) -> v1::Handoff {
    let mut wire = v1::Handoff {
        handoff_id: handoff.handoff_id.to_string(),
        thread_id: opt_id(handoff.child_thread_id.as_ref()),
        parent_thread_id: opt_id(handoff.parent_thread_id.as_ref()),
        parent_agent_id: opt_id(parent_agent_id),
        agent_id: handoff.agent_id.0.clone(),
        thread_title: handoff.title.clone(),
        status: handoff.status().wire(),
        outcome: handoff.outcome().map(Wire::wire),
        error: handoff.error.as_ref().map(error),
        on_completion: handoff.on_completion.wire(),
        on_turn_lost: handoff.on_turn_lost.wire(),
        attempt: handoff.attempt,
        report_version: handoff.report_version,
        idempotency_key: handoff.idempotency_key.clone().unwrap_or_default(),
        create_time: Some(timestamp(handoff.create_time)),
        deadline: handoff.deadline.map(|deadline| duration(deadline.limit)),
        deadline_time: handoff
            .deadline
            .and_then(|deadline| deadline.time)
            .map(timestamp),
        deadline_version: handoff.deadline_version(),
        watch_time: handoff.watch.map(|watch| timestamp(watch.end_time)),
        first_turn_time: handoff.first_turn_time().map(timestamp),
        ..v1::Handoff::default()
    };
    match handoff.progress {
        Progress::Started
        | Progress::Running { .. }
        | Progress::FirstResponse { .. }
        | Progress::WatchExpired { .. } => {}
        Progress::Finished {
            outcome_stated,
            finish_time,
            ..
        } => {
            wire.outcome_stated = outcome_stated;
            wire.finish_time = Some(timestamp(finish_time));
        }
        Progress::Closed {
            outcome_stated,
            finish_time,
            close_time,
            ..
        } => {
            wire.outcome_stated = outcome_stated;
            wire.finish_time = Some(timestamp(finish_time));
            wire.close_time = Some(timestamp(close_time));
        }
    }
    wire
}

fn error(error: &HandoffError) -> v1::HandoffError {
    v1::HandoffError {
        cause: error.cause.wire(),
        failure_class: error.failure_class.map(Wire::wire),
        summary: error.summary.clone(),
        advice: error.advice.clone(),
    }
}

/// One version of a handoff's reports.
pub(crate) fn report(handoff_id: HandoffId, report: &ReportView) -> v1::Report {
    v1::Report {
        handoff_id: handoff_id.to_string(),
        version: report.version,
        kind: report.kind.wire(),
        outcome: report.outcome.wire(),
        subject: report.subject.clone(),
        body: report.body.clone(),
        data: report.data.as_ref().map(json),
        artifacts: report.artifacts.clone(),
        message_id: opt_id(report.message_id.as_ref()),
        create_time: Some(timestamp(report.create_time)),
        deliver_time: report.deliver_time.map(timestamp),
        delivery: report.delivery.wire(),
    }
}
