//! `handoffd tree`: the tree that a handoff is part of, from its root down.

use clap::Args;

use super::client::{at_least_one, pages, token};
use super::output::table;
use super::show::{span, word};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    GetLineageRequest, GetLineageResponse, HandoffStatus, HandoffSummary, LineageNode, LiveState,
    Outcome,
};
use crate::redact;

/// What `tree` takes.
#[derive(Debug, Args)]
pub struct TreeArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoff, `hnd_...`
    handoff: String,

    /// Most threads to show, without those above the handoff
    #[arg(long, default_value_t = 1000, value_parser = at_least_one, value_name = "NUMBER")]
    limit: usize,
}

pub(super) async fn tree(args: TreeArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let mut ancestors = Vec::new();
    let read = pages(args.limit, String::new(), async |size, page_token| {
        let request = GetLineageRequest {
            handoff_id: args.handoff.clone(),
            page_size: Some(size),
            page_token,
        };
        let page = client.status().get_lineage(request).await?.into_inner();
        ancestors = page.ancestors;
        Ok((page.nodes, token(page.next_page_token)))
    })
    .await?;
    let document = GetLineageResponse {
        ancestors,
        nodes: read.rows,
        next_page_token: read.next.unwrap_or_default(),
    };
    output.answer(&document, |tree| text(tree, &args.handoff))?;
    output.cut(document.nodes.len(), !document.next_page_token.is_empty());
    Ok(())
}

fn text(tree: &GetLineageResponse, asked: &str) -> String {
    let nodes = tree.ancestors.iter().chain(&tree.nodes);
    let header = ["AGENT", "HANDOFF", "STATE", "AGE", "TITLE", ""];
    table(header, nodes.map(|node| row(node, asked)).collect())
}

fn row(node: &LineageNode, asked: &str) -> [String; 6] {
    let handoff = node.handoff.clone().unwrap_or_default();
    let asked = handoff.handoff_id == asked;
    [
        format!("{}{}", branch(node.depth), redact::line(&node.agent_id)),
        handoff.handoff_id.clone(),
        state(node.handoff.as_ref()),
        span(handoff.age),
        redact::line(&node.title),
        if asked { "<- this one" } else { "" }.to_owned(),
    ]
}

/// What stands before a node so many levels below the root.
fn branch(depth: u32) -> String {
    match depth {
        0 => String::new(),
        depth => format!("{}└ ", "  ".repeat(depth.min(64) as usize - 1)),
    }
}

/// What a handoff is doing, or how it ended.
fn state(handoff: Option<&HandoffSummary>) -> String {
    let Some(handoff) = handoff else {
        return "a root".to_owned();
    };
    match (handoff.live_state, handoff.outcome) {
        (Some(live), _) => word(live, LiveState::as_str_name),
        (None, Some(outcome)) => word(outcome, Outcome::as_str_name),
        (None, None) => word(handoff.status, HandoffStatus::as_str_name),
    }
}
