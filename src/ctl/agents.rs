//! `handoffd agents`.

use clap::Args;

use super::client::{at_least_one, pages, token};
use super::output::table;
use super::show::{time, word};
use super::{CommonArgs, CtlError};
use crate::proto::v1::{AcceptHandoffs, Agent, AgentState, ListAgentsRequest, ListAgentsResponse};
use crate::redact;

/// What `agents` takes.
#[derive(Debug, Args)]
pub struct AgentsArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// Most agents to show
    #[arg(long, default_value_t = 1000, value_parser = at_least_one, value_name = "NUMBER")]
    limit: usize,
}

pub(super) async fn agents(args: AgentsArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let found = pages(args.limit, String::new(), async |size, page_token| {
        let request = ListAgentsRequest {
            page_size: Some(size),
            page_token,
        };
        let page = client.agents().list_agents(request).await?.into_inner();
        Ok((page.agents, token(page.next_page_token)))
    })
    .await?;
    let document = ListAgentsResponse {
        agents: found.rows,
        next_page_token: found.next.unwrap_or_default(),
    };
    output.answer(&document, |document| {
        let header = ["AGENT", "NAME", "STATE", "TURNS", "HANDOFFS", "UPDATED"];
        table(header, document.agents.iter().map(row).collect())
    })?;
    output.cut(document.agents.len(), !document.next_page_token.is_empty());
    Ok(())
}

fn row(agent: &Agent) -> [String; 6] {
    let slots = agent
        .max_concurrent_turns
        .map_or_else(|| "unlimited".to_owned(), |slots| slots.to_string());
    let policy = agent.handoff_policy.unwrap_or_default();
    let handoffs = match policy.accepts_handoffs() {
        AcceptHandoffs::Unspecified => "as the server",
        AcceptHandoffs::Accept => "accepted",
        AcceptHandoffs::Refuse => "refused",
    };
    [
        redact::line(&agent.agent_id),
        redact::line(&agent.display_name),
        word(agent.state, AgentState::as_str_name),
        format!("{} of {slots}", agent.live_turns),
        handoffs.to_owned(),
        time(agent.update_time),
    ]
}
