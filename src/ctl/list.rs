//! `handoffd list`: what needs somebody's attention comes first.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use clap::Args;
use serde_json::{Value, json};

use super::client::{Client, at_least_one, pages, token};
use super::output::table;
use super::show::{span, value, word};
use super::status::of_many;
use super::{CommonArgs, CtlError};
use crate::ctl::json;
use crate::proto::v1::{
    HandoffStatus, HandoffSummary, ListHandoffsRequest, LiveState, Outcome, ReportDelivery,
};
use crate::redact;

/// Handoffs that are read at most to find those that need attention: the list of the server is by
/// age, and the youngest may need it most.
const MOST_READ: usize = 20_000;

/// What `list` takes.
#[derive(Debug, Args)]
pub struct ListArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// Also closed handoffs, and whether their reports reached the parents
    #[arg(long)]
    all: bool,

    #[command(flatten)]
    filter: FilterArgs,

    /// Most handoffs to show
    #[arg(long, default_value_t = 200, value_parser = at_least_one, value_name = "NUMBER")]
    limit: usize,
}

/// Which handoffs, joined by and.
#[derive(Debug, Args)]
pub(super) struct FilterArgs {
    /// Only handoffs to this agent
    #[arg(long, value_name = "AGENT")]
    agent: Option<String>,

    /// Only handoffs of this parent thread
    #[arg(long, value_name = "THREAD")]
    parent: Option<String>,

    /// Only handoffs in the tree of this root thread
    #[arg(long, value_name = "THREAD")]
    tree: Option<String>,

    /// Only handoffs in this status, also a closed one, such as `error`; may be given several times
    #[arg(long = "status", value_parser = status_word, value_name = "STATUS")]
    statuses: Vec<HandoffStatus>,

    /// Only open handoffs in this live state, such as `stalled`; may be given several times
    #[arg(long = "live", value_parser = live_word, value_name = "STATE")]
    live_states: Vec<LiveState>,

    /// Only handoffs at least so old, such as `2h`
    #[arg(long, value_parser = humantime::parse_duration, value_name = "SPAN")]
    min_age: Option<Duration>,

    /// Only handoffs at most so old
    #[arg(long, value_parser = humantime::parse_duration, value_name = "SPAN")]
    max_age: Option<Duration>,

    /// Only handoffs with this in title or task
    #[arg(long, value_name = "TEXT", default_value_t, hide_default_value = true)]
    text: String,
}

/// How much a handoff needs somebody, most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Attention {
    /// Its child went quiet or makes no progress.
    Stalled,
    /// Its child is gone.
    Missing,
    /// It ended, and its parent has not read how.
    Undelivered,
    /// It goes on by itself.
    Open,
    /// It ended.
    Closed,
}

/// A handoff of the list, and what is known beside it.
#[derive(Debug)]
struct Row {
    handoff: HandoffSummary,
    /// Whether its newest report reached the parent; known of closed ones only.
    delivery: Option<ReportDelivery>,
}

pub(super) async fn list(args: ListArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let read = pages(MOST_READ, String::new(), async |size, page_token| {
        let request = ListHandoffsRequest {
            include_closed: args.all,
            page_size: Some(size),
            page_token,
            ..args.filter.request()
        };
        let page = client.status().list_handoffs(request).await?.into_inner();
        Ok((page.handoffs, token(page.next_page_token)))
    })
    .await?;
    let mut rows = with_delivery(&client, read.rows).await?;
    rows.sort_by_key(Row::order);
    let more = read.next.is_some() || rows.len() > args.limit;
    rows.truncate(args.limit);
    output.value(|| document(&rows, more), || text(&rows))?;
    output.cut(rows.len(), more);
    Ok(())
}

/// Asks whether the reports of closed handoffs were read. The list does not say it.
async fn with_delivery(
    client: &Client,
    handoffs: Vec<HandoffSummary>,
) -> Result<Vec<Row>, CtlError> {
    let told = handoffs
        .iter()
        .filter(|it| it.outcome.is_some() && !it.parent_thread_id.is_empty());
    let told = told.map(|it| it.handoff_id.clone()).collect();
    let items = of_many(client, told).await?.into_iter();
    let deliveries = items.filter_map(|item| {
        let delivery = item.snapshot?.report_delivery();
        Some((item.handoff_id, delivery))
    });
    let deliveries: HashMap<String, ReportDelivery> = deliveries.collect();
    let rows = handoffs.into_iter().map(|handoff| Row {
        delivery: deliveries.get(&handoff.handoff_id).copied(),
        handoff,
    });
    Ok(rows.collect())
}

impl FilterArgs {
    /// The filters as a list takes them.
    pub(super) fn request(&self) -> ListHandoffsRequest {
        let span = |span: Option<Duration>| span.and_then(|span| span.try_into().ok());
        ListHandoffsRequest {
            parent_thread_id: self.parent.clone().unwrap_or_default(),
            root_thread_id: self.tree.clone().unwrap_or_default(),
            agent_id: self.agent.clone().unwrap_or_default(),
            statuses: self.statuses.iter().map(|&it| it.into()).collect(),
            live_states: self.live_states.iter().map(|&it| it.into()).collect(),
            min_age: span(self.min_age),
            max_age: span(self.max_age),
            text: self.text.clone(),
            ..ListHandoffsRequest::default()
        }
    }
}

fn status_word(text: &str) -> Result<HandoffStatus, String> {
    value(text, "HANDOFF_STATUS_", HandoffStatus::from_str_name)
}

fn live_word(text: &str) -> Result<LiveState, String> {
    value(text, "LIVE_STATE_", LiveState::from_str_name)
}

impl Row {
    fn attention(&self) -> Attention {
        let undelivered = self.delivery == Some(ReportDelivery::Pending)
            || self.handoff.status() == HandoffStatus::ExpiredUnnotified;
        match self.handoff.live_state.map(LiveState::try_from) {
            Some(Ok(LiveState::Stalled)) => Attention::Stalled,
            Some(Ok(LiveState::ChildMissing)) => Attention::Missing,
            _ if undelivered => Attention::Undelivered,
            Some(_) => Attention::Open,
            None => Attention::Closed,
        }
    }

    /// By attention; the oldest first, but of what is over the newest.
    fn order(&self) -> (Attention, Result<String, Reverse<String>>) {
        let id = self.handoff.handoff_id.clone();
        match self.attention() {
            Attention::Closed => (Attention::Closed, Err(Reverse(id))),
            attention => (attention, Ok(id)),
        }
    }

    fn cells(&self) -> [String; 7] {
        let handoff = &self.handoff;
        let live = handoff
            .live_state
            .map(|it| word(it, LiveState::as_str_name));
        let outcome = handoff.outcome.map(|it| word(it, Outcome::as_str_name));
        let state = match self.attention() {
            Attention::Undelivered => Some("undelivered".to_owned()),
            _ => live.or(outcome),
        };
        [
            handoff.handoff_id.clone(),
            state.unwrap_or_default(),
            word(handoff.status, HandoffStatus::as_str_name),
            span(handoff.age),
            redact::line(&handoff.agent_id),
            handoff.reminders_sent.to_string(),
            redact::line(&handoff.thread_title),
        ]
    }
}

fn text(rows: &[Row]) -> String {
    let header = [
        "HANDOFF", "STATE", "STATUS", "AGE", "AGENT", "REMINDED", "TITLE",
    ];
    table(header, rows.iter().map(Row::cells).collect())
}

/// The rows as the server answers them, with `report_delivery` where it was asked for.
fn document(rows: &[Row], more: bool) -> Result<Value, CtlError> {
    let mut handoffs = Vec::with_capacity(rows.len());
    let summaries: Vec<HandoffSummary> = rows.iter().map(|row| row.handoff.clone()).collect();
    for (row, mut value) in rows.iter().zip(json::values(&summaries)?) {
        if let (Some(delivery), Some(fields)) = (row.delivery, value.as_object_mut()) {
            fields.insert("report_delivery".to_owned(), delivery.as_str_name().into());
        }
        handoffs.push(value);
    }
    Ok(json!({ "handoffs": handoffs, "has_more": more }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: &str, live: Option<LiveState>, delivery: Option<ReportDelivery>) -> Row {
        let handoff = HandoffSummary {
            handoff_id: id.to_owned(),
            live_state: live.map(Into::into),
            ..HandoffSummary::default()
        };
        Row { handoff, delivery }
    }

    #[test]
    fn what_needs_attention_comes_first() {
        let pending = Some(ReportDelivery::Pending);
        let mut rows = [
            row("1", None, None),
            row("2", Some(LiveState::Running), None),
            row("3", None, pending),
            row("4", Some(LiveState::ChildMissing), None),
            row("5", Some(LiveState::Stalled), None),
            row("6", Some(LiveState::Stalled), None),
            row("7", None, Some(ReportDelivery::Delivered)),
            row("8", Some(LiveState::Running), None),
        ];
        rows.sort_by_key(Row::order);
        let ids = rows.map(|row| row.handoff.handoff_id).join("");
        assert_eq!(ids, "56432871");
    }
}
