//! `GetStats`, as the wire spells it.

use std::cmp::Reverse;

use crate::app::status::list::LiveKind;
use crate::app::status::stats::{AgentStats, Spans, Stats};
use crate::domain::ids::AgentId;
use crate::domain::time::Timestamp;
use crate::grpc::encode::{Wire, duration, timestamp};
use crate::proto::v1;

/// Agents that an answer tells of: each may take half a kilobyte.
const AGENTS: usize = 1_000;

/// What was counted.
pub(super) fn encode(stats: Stats) -> v1::Stats {
    let now = stats.now;
    let open = |agent: &AgentStats| agent.started + agent.running;
    let open_count = stats.agents.values().map(open).sum();
    let queued_count = stats.agents.values().map(|it| it.queued).sum();
    let mut agents: Vec<(AgentId, AgentStats)> = stats.agents.into_iter().collect();
    agents.sort_by_key(|(_, it)| Reverse((open(it), it.queued)));
    agents.truncate(AGENTS);
    let live = stats
        .live
        .into_iter()
        .map(|(kind, count)| v1::LiveStateCount {
            live_state: live_state(kind).into(),
            count,
        });
    let newest = stats
        .newest
        .into_iter()
        .map(|(status, count)| v1::StatusCount {
            status: status.wire(),
            count,
        });
    v1::Stats {
        observe_time: Some(timestamp(now)),
        agents: agents.into_iter().map(|it| agent(it, now)).collect(),
        open_count,
        queued_count,
        counted_all: stats.counted_all,
        live_states: live.collect(),
        live_states_of_all: stats.assessed_all,
        oldest_open_handoff_id: stats
            .oldest_open
            .map_or_else(String::new, |(id, _)| id.to_string()),
        oldest_open_age: stats.oldest_open.map(|(_, time)| duration(now.since(time))),
        newest_statuses: newest.collect(),
        time_to_claim: Some(spans(stats.time_to_claim)),
        turn_time: Some(spans(stats.turn_time)),
    }
}

fn agent((id, stats): (AgentId, AgentStats), now: Timestamp) -> v1::AgentStats {
    let age = |time: Option<Timestamp>| time.map(|time| duration(now.since(time)));
    v1::AgentStats {
        agent_id: id.0,
        started_count: stats.started,
        running_count: stats.running,
        oldest_open_age: age(stats.oldest_open),
        queued_count: stats.queued,
        oldest_wake_age: age(stats.oldest_wake),
    }
}

fn live_state(kind: LiveKind) -> v1::LiveState {
    match kind {
        LiveKind::Running => v1::LiveState::Running,
        LiveKind::Completed => v1::LiveState::Completed,
        LiveKind::Stalled => v1::LiveState::Stalled,
        LiveKind::ChildMissing => v1::LiveState::ChildMissing,
    }
}

fn spans(spans: Spans) -> v1::SpanStats {
    v1::SpanStats {
        count: spans.count,
        p50: Some(duration(spans.p50)),
        p90: Some(duration(spans.p90)),
        p99: Some(duration(spans.p99)),
        max: Some(duration(spans.max)),
    }
}
