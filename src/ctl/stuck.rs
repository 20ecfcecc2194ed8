//! `handoffd stuck`: what a person should look at, worst first, with what helps.

use std::cmp::Reverse;

use clap::Args;

use super::client::{at_least_one, pages, token};
use super::output::table;
use super::show::{hint, span, word};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{ListStuckRequest, ListStuckResponse, StuckItem, StuckKind};
use crate::redact;

/// Items that are read at most to find the worst: a page is sorted in itself alone.
const MOST_READ: usize = 20_000;

/// What `stuck` takes.
#[derive(Debug, Args)]
pub struct StuckArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// Most things to show
    #[arg(long, default_value_t = 200, value_parser = at_least_one, value_name = "NUMBER")]
    limit: usize,
}

pub(super) async fn stuck(args: StuckArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let mut looked_at = 0;
    let read = pages(MOST_READ, String::new(), async |size, page_token| {
        let request = ListStuckRequest {
            page_size: Some(size),
            page_token,
        };
        let page = client.operators().list_stuck(request).await?.into_inner();
        looked_at += page.looked_at;
        Ok((page.items, token(page.next_page_token)))
    })
    .await?;
    let mut document = ListStuckResponse {
        items: read.rows,
        next_page_token: read.next.unwrap_or_default(),
        looked_at,
    };
    document.items.sort_by_key(order);
    let more = !document.next_page_token.is_empty() || document.items.len() > args.limit;
    document.items.truncate(args.limit);
    output.answer(&document, text)?;
    output.cut(document.items.len(), more);
    Ok(())
}

/// Worst first, and of one kind the longest stuck.
fn order(item: &StuckItem) -> (i32, Reverse<i64>) {
    let age = item.age.map_or(0, |age| age.seconds);
    (item.kind, Reverse(age))
}

fn text(document: &ListStuckResponse) -> String {
    let header = ["WHAT", "WHY", "FOR", "AGENT", "WHAT TO DO"];
    table(header, document.items.iter().map(row).collect())
}

fn row(item: &StuckItem) -> [String; 5] {
    let ids = [&item.handoff_id, &item.thread_id, &item.agent_id];
    let id = ids.into_iter().find(|id| !id.is_empty());
    [
        id.map(|id| redact::line(id)).unwrap_or_default(),
        word(item.kind, StuckKind::as_str_name),
        span(item.age),
        redact::line(&item.agent_id),
        item.remedy.as_ref().map(hint).unwrap_or_default(),
    ]
}
