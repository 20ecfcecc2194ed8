//! `handoffd bulk-cancel`: shows what a filter finds, and cancels it once that is confirmed.

use clap::Args;

use super::client::{Client, Pages, at_least_one, pages, token};
use super::list::FilterArgs;
use super::output::{confirmed, note, table};
use super::show::{span, word};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    BulkCancelItem, BulkCancelRequest, BulkCancelResponse, ErrorReason, LiveState,
};
use crate::redact;

/// What `bulk-cancel` takes.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "the options of a command, each by itself"
)]
pub struct BulkCancelArgs {
    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    filter: FilterArgs,

    /// Why; the parents read it
    #[arg(
        long,
        default_value_t,
        hide_default_value = true,
        allow_hyphen_values = true,
        value_name = "TEXT"
    )]
    reason: String,

    /// Also ask the children's running turns to stop
    #[arg(long)]
    stop_child: bool,

    /// Wake the parents with the notices
    #[arg(long)]
    wake_parent: bool,

    /// Cancel without asking; without it, and where nobody can be asked, nothing is cancelled
    #[arg(long, short)]
    yes: bool,

    /// Only show what would be cancelled
    #[arg(long, conflicts_with = "yes")]
    dry_run: bool,

    /// Most handoffs to cancel
    #[arg(long, default_value_t = 500, value_parser = at_least_one, value_name = "NUMBER")]
    limit: usize,
}

pub(super) async fn bulk_cancel(args: BulkCancelArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let mut confirm_token = String::new();
    let found = args.run(&client, "", &mut confirm_token).await?;
    let mut document = BulkCancelResponse {
        items: found.rows,
        next_page_token: found.next.unwrap_or_default(),
        confirm_token: confirm_token.clone(),
    };
    if !args.dry_run && !document.items.is_empty() {
        if !args.yes {
            note(&text(&document));
            let question = format!("Cancel these {}?", document.items.len());
            if !confirmed(&question)? {
                return Err(CtlError::NotConfirmed);
            }
        }
        let done = args
            .run(&client, &confirm_token, &mut String::new())
            .await?;
        document = BulkCancelResponse {
            items: done.rows,
            next_page_token: done.next.unwrap_or_default(),
            confirm_token: String::new(),
        };
    }
    output.answer(&document, text)?;
    output.cut(document.items.len(), !document.next_page_token.is_empty());
    let failed = document.items.iter().filter(|it| it.error_reason != 0);
    match failed.count() {
        0 => Ok(()),
        failed => Err(CtlError::NotCancelled(failed)),
    }
}

impl BulkCancelArgs {
    /// Looks, or cancels with the token of a look; page after page.
    async fn run(
        &self,
        client: &Client,
        confirm_token: &str,
        answered: &mut String,
    ) -> Result<Pages<BulkCancelItem, String>, CtlError> {
        pages(self.limit, String::new(), async |size, page_token| {
            let filter = self.filter.request();
            let request = BulkCancelRequest {
                parent_thread_id: filter.parent_thread_id,
                agent_id: filter.agent_id,
                root_thread_id: filter.root_thread_id,
                statuses: filter.statuses,
                live_states: filter.live_states,
                min_age: filter.min_age,
                max_age: filter.max_age,
                text: filter.text,
                confirm_token: confirm_token.to_owned(),
                reason: self.reason.clone(),
                stop_child: self.stop_child,
                wake_parent: self.wake_parent,
                page_size: Some(size),
                page_token,
            };
            let page = client.operators().bulk_cancel(request).await?.into_inner();
            *answered = page.confirm_token;
            Ok((page.items, token(page.next_page_token)))
        })
        .await
    }
}

fn text(document: &BulkCancelResponse) -> String {
    let header = ["HANDOFF", "STATE", "AGE", "AGENT", "RESULT", "TITLE"];
    table(header, document.items.iter().map(row).collect())
}

fn row(item: &BulkCancelItem) -> [String; 6] {
    let handoff = item.handoff.clone().unwrap_or_default();
    let state = handoff
        .live_state
        .map(|it| word(it, LiveState::as_str_name));
    let result = match (item.cancelled, item.already_ended, item.error_reason) {
        (true, ..) => "cancelled".to_owned(),
        (_, true, _) => "had ended".to_owned(),
        (false, false, 0) => "found".to_owned(),
        (false, false, reason) => word(reason, ErrorReason::as_str_name),
    };
    [
        handoff.handoff_id.clone(),
        state.unwrap_or_default(),
        span(handoff.age),
        redact::line(&handoff.agent_id),
        result,
        redact::line(&handoff.thread_title),
    ]
}
