//! `handoffd stats`: what is open, what waits, how long things take.

use clap::Args;

use super::output::{Sheet, table};
use super::show::{span, word};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    AgentStats, GetStatsRequest, GetStatsResponse, HandoffStatus, LiveState, SpanStats, Stats,
};
use crate::redact;

/// What `stats` takes.
#[derive(Debug, Args)]
pub struct StatsArgs {
    #[command(flatten)]
    common: CommonArgs,
}

pub(super) async fn stats(args: StatsArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let answer = client.status().get_stats(GetStatsRequest {}).await?;
    output.answer(&answer.into_inner(), text)
}

fn text(answer: &GetStatsResponse) -> String {
    let counted = answer.stats.clone().unwrap_or_default();
    let mut sheet = Sheet::default();
    let more = |all: bool| if all { "" } else { " or more" };
    sheet.add(
        "open",
        format!("{}{}", counted.open_count, more(counted.counted_all)),
    );
    sheet.add("live states", live_states(&counted));
    if !counted.oldest_open_handoff_id.is_empty() {
        let age = span(counted.oldest_open_age);
        sheet.add(
            "oldest open",
            format!("{}, {age}", counted.oldest_open_handoff_id),
        );
    }
    sheet.add(
        "turns due",
        format!("{}{}", counted.queued_count, more(counted.counted_all)),
    );
    let newest = counted.newest_statuses.iter().map(|it| {
        let status = word(it.status, HandoffStatus::as_str_name);
        format!("{} {status}", it.count)
    });
    sheet.add("newest handoffs", newest.collect::<Vec<_>>().join(", "));
    sheet.add_some("time to claim", counted.time_to_claim.map(|it| spans(&it)));
    sheet.add_some("turn time", counted.turn_time.map(|it| spans(&it)));
    let header = ["AGENT", "STARTED", "RUNNING", "OLDEST", "DUE", "DUE FOR"];
    let agents = table(header, counted.agents.iter().map(row).collect());
    format!("{}\n\n{agents}", sheet.text())
}

fn live_states(counted: &Stats) -> String {
    let states = counted
        .live_states
        .iter()
        .filter(|it| it.count > 0)
        .map(|it| {
            let live = word(it.live_state, LiveState::as_str_name);
            format!("{} {live}", it.count)
        });
    let mut told = states.collect::<Vec<_>>().join(", ");
    if !counted.live_states_of_all {
        told.push_str(" of the oldest");
    }
    told
}

fn spans(spans: &SpanStats) -> String {
    if spans.count == 0 {
        return "none yet".to_owned();
    }
    let seconds = |it: Option<prost_types::Duration>| {
        let it = it.unwrap_or_default();
        format!("{}.{:03} s", it.seconds, it.nanos / 1_000_000)
    };
    format!(
        "half within {}, 90 % {}, 99 % {}, all {} ({} of them)",
        seconds(spans.p50),
        seconds(spans.p90),
        seconds(spans.p99),
        seconds(spans.max),
        spans.count
    )
}

fn row(agent: &AgentStats) -> [String; 6] {
    [
        redact::line(&agent.agent_id),
        agent.started_count.to_string(),
        agent.running_count.to_string(),
        span(agent.oldest_open_age),
        agent.queued_count.to_string(),
        span(agent.oldest_wake_age),
    ]
}
