//! `handoffd timeline`: what happened to one handoff, in order.

use clap::Args;
use prost_types::Timestamp;

use super::client::{Client, at_least_one, pages};
use super::output::table;
use super::show::{after, time, word};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    GetHandoffTimelineRequest, GetHandoffTimelineResponse, HandoffStatus, TimelineActorKind,
    TimelineEntry, TimelineReason,
};
use crate::redact;

/// What `timeline` takes.
#[derive(Debug, Args)]
pub struct TimelineArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoff, `hnd_...`
    handoff: String,

    /// Most entries to show
    #[arg(long, default_value_t = 1000, value_parser = at_least_one, value_name = "NUMBER")]
    limit: usize,
}

pub(super) async fn timeline(args: TimelineArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let document = read(&client, &args.handoff, args.limit).await?;
    output.answer(&document, text)?;
    output.cut(document.entries.len(), document.has_more);
    Ok(())
}

/// Reads up to `limit` entries of a timeline, from its start.
pub(super) async fn read(
    client: &Client,
    handoff_id: &str,
    limit: usize,
) -> Result<GetHandoffTimelineResponse, CtlError> {
    let read = pages(limit, 0, async |size, after_number| {
        let request = GetHandoffTimelineRequest {
            handoff_id: handoff_id.to_owned(),
            after_number,
            page_size: Some(size),
        };
        let answer = client.status().get_handoff_timeline(request).await?;
        let page = answer.into_inner();
        let last = page.entries.last().map(|entry| entry.number);
        Ok((page.entries, last.filter(|_| page.has_more)))
    })
    .await?;
    Ok(GetHandoffTimelineResponse {
        entries: read.rows,
        has_more: read.next.is_some(),
    })
}

/// A timeline for people.
pub(super) fn text(timeline: &GetHandoffTimelineResponse) -> String {
    let begin = timeline.entries.first().and_then(|entry| entry.time);
    let rows = timeline.entries.iter().map(|entry| row(entry, begin));
    let header = ["NO", "TIME", "AFTER", "STATUS", "WHAT", "BY", "TEXT"];
    table(header, rows.collect())
}

fn row(entry: &TimelineEntry, begin: Option<Timestamp>) -> [String; 7] {
    let to = word(entry.to, HandoffStatus::as_str_name);
    let status = match entry.from {
        Some(from) if from != entry.to => {
            format!("{} -> {to}", word(from, HandoffStatus::as_str_name))
        }
        _ => to,
    };
    let by = entry.actor.as_ref().map_or_else(String::new, |actor| {
        let kind = word(actor.kind, TimelineActorKind::as_str_name);
        format!("{kind} {}", redact::line(&actor.id))
    });
    [
        entry.number.to_string(),
        time(entry.time),
        after(begin, entry.time),
        status,
        word(entry.reason, TimelineReason::as_str_name),
        by,
        redact::line(&entry.text),
    ]
}
