//! What is computed of handoffs, as the wire spells it.

use super::encode::{Wire, duration, opt_id, timestamp};
use super::encode_handoff;
use crate::domain::ids::AgentId;
use crate::domain::limits::Rules;
use crate::domain::status::{
    Assessment, Evidence, Facts, HintAction, LiveState, NotNotified, Observed, StallReason,
    WaitingOn, assess, not_notified,
};
use crate::domain::time::Timestamp;
use crate::proto::v1;

/// The whole status of a handoff.
pub(crate) fn snapshot(
    observed: &Observed,
    assessment: &Assessment,
    rules: &Rules,
) -> v1::HandoffSnapshot {
    let handoff = &observed.facts.handoff;
    v1::HandoffSnapshot {
        handoff: Some(encode_handoff::handoff(
            handoff,
            observed.parent_agent_id.as_ref(),
        )),
        progress: Some(progress(observed, assessment)),
        stop: observed.stop.map(|stop| v1::StopRequest {
            request_time: Some(timestamp(stop.request_time)),
            acknowledge_time: stop.acknowledge_time.map(timestamp),
        }),
        elapsed: Some(duration(assessment.elapsed)),
        reminders_sent: handoff.reminders_sent,
        next_reminder_time: assessment.next_reminder_time.map(timestamp),
        abandon_time: assessment.abandon_time.map(timestamp),
        result: observed.result.clone(),
        report_delivery: observed.report_delivery.wire(),
        not_notified_reason: not_notified(observed, rules).map(not_notified_reason),
        evidence: Some(evidence(&observed.evidence, observed.now)),
    }
}

fn not_notified_reason(reason: NotNotified) -> v1::NotNotifiedReason {
    let (kind, span) = match reason {
        NotNotified::Finished { ago } => (v1::NotNotifiedKind::FinishedAgo, Some(ago)),
        NotNotified::ParentIdle { idle } => (v1::NotNotifiedKind::ParentIdle, Some(idle)),
        NotNotified::SubmitFailed => (v1::NotNotifiedKind::SubmitFailed, None),
    };
    v1::NotNotifiedReason {
        kind: kind as i32,
        span: span.map(duration),
    }
}

/// How far a child is.
pub(crate) fn progress(observed: &Observed, assessment: &Assessment) -> v1::HandoffProgress {
    let facts = &observed.facts;
    let live = assessment.live.as_ref();
    let stall = live.and_then(|live| stall_reason(live.state));
    v1::HandoffProgress {
        live_state: live.map(|live| live_state(live.state) as i32),
        since: Some(timestamp(assessment.since)),
        stall_reason: stall.map(|reason| reason as i32),
        hint: live.map(|live| v1::Hint {
            action: hint_action(live.action) as i32,
            text: live.reason.clone(),
        }),
        waiting_on: live.map(|live| waiting_on(&live.waiting_on)),
        last_tool_call: last_tool_call(facts),
        tool_call_count: reported(facts, |head| head.0, |turn| turn.0),
        last_activity_time: assessment.last_activity_time.map(timestamp),
        idle: assessment.idle.map(duration),
        partial_text: facts
            .turn
            .as_ref()
            .and_then(|turn| turn.partial_text.clone()),
        latest_progress: observed.latest_progress.clone(),
    }
}

/// Totals over all turns of the child.
pub(crate) fn usage(facts: &Facts, turns: u64) -> v1::UsageTotals {
    v1::UsageTotals {
        input_tokens: reported(facts, |head| head.1, |turn| turn.1),
        output_tokens: reported(facts, |head| head.2, |turn| turn.2),
        tool_calls: reported(facts, |head| head.0, |turn| turn.0),
        turns,
    }
}

/// Tool calls, input and output tokens.
type Counts = (u64, u64, u64);

/// A total over ended turns and the live one; absent where nobody reported any.
fn reported(
    facts: &Facts,
    of_head: impl Fn(Counts) -> u64,
    of_turn: impl Fn(Counts) -> u64,
) -> Option<u64> {
    let head = facts.head.as_ref().map_or((0, 0, 0), |head| {
        (head.tool_calls, head.input_tokens, head.output_tokens)
    });
    let turn = facts.turn.as_ref().map_or((0, 0, 0), |turn| {
        let activity = &turn.activity;
        (
            activity.tool_calls,
            activity.input_tokens,
            activity.output_tokens,
        )
    });
    let total = of_head(head) + of_turn(turn);
    (total > 0).then_some(total)
}

fn last_tool_call(facts: &Facts) -> Option<v1::LastToolCall> {
    let turn = facts.turn.as_ref().and_then(|turn| {
        let name = turn.activity.last_tool.clone()?;
        Some((name, turn.activity.last_tool_time))
    });
    let head = || {
        let head = facts.head.as_ref()?;
        Some((head.last_tool.clone()?, head.last_tool_time))
    };
    let (name, time) = turn.or_else(head)?;
    Some(v1::LastToolCall {
        name,
        time: time.map(timestamp),
    })
}

/// One row of a list.
pub(crate) fn summary(facts: &Facts, now: Timestamp, rules: &Rules) -> v1::HandoffSummary {
    let handoff = &facts.handoff;
    let assessment = assess(facts, now, rules);
    v1::HandoffSummary {
        handoff_id: handoff.handoff_id.to_string(),
        status: handoff.status().wire(),
        live_state: assessment.live.map(|live| live_state(live.state) as i32),
        age: Some(duration(now.since(handoff.create_time))),
        thread_id: opt_id(handoff.child_thread_id.as_ref()),
        parent_thread_id: opt_id(handoff.parent_thread_id.as_ref()),
        agent_id: handoff.agent_id.0.clone(),
        thread_title: handoff.title.clone(),
        reminders_sent: handoff.reminders_sent,
        outcome: handoff.outcome().map(Wire::wire),
        create_time: Some(timestamp(handoff.create_time)),
    }
}

fn live_state(state: LiveState) -> v1::LiveState {
    match state {
        LiveState::Running => v1::LiveState::Running,
        LiveState::Completed => v1::LiveState::Completed,
        LiveState::Stalled(_) => v1::LiveState::Stalled,
        LiveState::ChildMissing => v1::LiveState::ChildMissing,
    }
}

fn stall_reason(state: LiveState) -> Option<v1::StallReason> {
    match state {
        LiveState::Stalled(StallReason::Quiet) => Some(v1::StallReason::Quiet),
        LiveState::Stalled(StallReason::Unclaimed) => Some(v1::StallReason::Unclaimed),
        LiveState::Stalled(StallReason::NoProgress) => Some(v1::StallReason::NoProgress),
        LiveState::Running | LiveState::Completed | LiveState::ChildMissing => None,
    }
}

pub(crate) fn hint_action(action: HintAction) -> v1::HintAction {
    match action {
        HintAction::Wait => v1::HintAction::Wait,
        HintAction::Look => v1::HintAction::Look,
        HintAction::StartRuntime => v1::HintAction::StartRuntime,
        HintAction::ActivateAgent => v1::HintAction::ActivateAgent,
        HintAction::RaiseSlots => v1::HintAction::RaiseSlots,
        HintAction::Collect => v1::HintAction::Collect,
    }
}

fn waiting_on(waiting: &WaitingOn) -> v1::WaitingOn {
    let of = |kind: v1::WaitingKind| v1::WaitingOn {
        kind: kind as i32,
        ..v1::WaitingOn::default()
    };
    let agent = |kind, agent_id: &AgentId| v1::WaitingOn {
        agent_id: agent_id.0.clone(),
        ..of(kind)
    };
    let until = |kind, time: Timestamp| v1::WaitingOn {
        time: Some(timestamp(time)),
        ..of(kind)
    };
    match waiting {
        WaitingOn::Nothing => of(v1::WaitingKind::Nothing),
        WaitingOn::Runtime(id) => agent(v1::WaitingKind::Runtime, id),
        WaitingOn::Slot { agent_id, slots } => v1::WaitingOn {
            count: u64::from(*slots),
            ..agent(v1::WaitingKind::Slot, agent_id)
        },
        WaitingOn::AgentDeactivated(id) => agent(v1::WaitingKind::AgentDeactivated, id),
        WaitingOn::Timer(time) => until(v1::WaitingKind::Timer, *time),
        WaitingOn::Retry(time) => until(v1::WaitingKind::Retry, *time),
        WaitingOn::Children { handoff_ids, count } => v1::WaitingOn {
            handoff_ids: handoff_ids.iter().map(ToString::to_string).collect(),
            count: *count,
            ..of(v1::WaitingKind::Children)
        },
        WaitingOn::Collection(time) => until(v1::WaitingKind::Collection, *time),
        WaitingOn::Caller => of(v1::WaitingKind::Caller),
    }
}

fn evidence(evidence: &Evidence, now: Timestamp) -> v1::Evidence {
    v1::Evidence {
        last_heartbeat_time: evidence.last_heartbeat_time.map(timestamp),
        last_poll_time: evidence.last_poll_time.map(timestamp),
        last_event_time: evidence.last_event_time.map(timestamp),
        last_delivery_time: evidence.last_delivery_time.map(timestamp),
        turn_id: opt_id(evidence.turn_id.as_ref()),
        runtime_id: evidence.runtime_id.clone().unwrap_or_default(),
        lease_expire_time: evidence.lease_expire_time.map(timestamp),
        wake_time: evidence.wake_time.map(timestamp),
        observe_time: Some(timestamp(now)),
    }
}
