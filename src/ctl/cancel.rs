//! `handoffd cancel`.

use clap::Args;

use super::client::{Client, request_id};
use super::output::confirmed;
use super::show::word;
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    CancelHandoffRequest, CancelHandoffResponse, GetHandoffStatusRequest, HandoffStatus,
};
use crate::redact;

/// What `cancel` takes.
#[derive(Debug, Args)]
pub struct CancelArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoff, `hnd_...`
    handoff: String,

    /// Why; the parent reads it
    #[arg(
        long,
        default_value_t,
        hide_default_value = true,
        allow_hyphen_values = true,
        value_name = "TEXT"
    )]
    reason: String,

    /// Also ask the child's running turn to stop
    #[arg(long)]
    stop_child: bool,

    /// Wake the parent with the notice
    #[arg(long)]
    wake_parent: bool,

    /// Do not ask before
    #[arg(long, short)]
    yes: bool,

    /// Marks the answer of a repeat of this command [default: a new one]
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

pub(super) async fn cancel(args: CancelArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    if !args.yes && !confirmed(&question(&client, &args.handoff).await?)? {
        return Err(CtlError::NotConfirmed);
    }
    let request = CancelHandoffRequest {
        turn: None,
        handoff_id: args.handoff,
        reason: args.reason,
        stop_child: args.stop_child,
        wake_parent: args.wake_parent,
        request_id: Some(args.request_id.unwrap_or_else(request_id)),
    };
    let answer = client.handoffs().cancel_handoff(request).await?;
    output.answer(&answer.into_inner(), text)
}

async fn question(client: &Client, handoff_id: &str) -> Result<String, CtlError> {
    let request = GetHandoffStatusRequest {
        handoff_id: handoff_id.to_owned(),
    };
    let answer = client.status().get_handoff_status(request).await?;
    let snapshot = answer.into_inner().snapshot.unwrap_or_default();
    let handoff = snapshot.handoff.unwrap_or_default();
    Ok(format!(
        "`{}` by {}, {}. Cancel it?",
        redact::line(&handoff.thread_title),
        redact::line(&handoff.agent_id),
        word(handoff.status, HandoffStatus::as_str_name),
    ))
}

fn text(answer: &CancelHandoffResponse) -> String {
    let handoff = answer.handoff.clone().unwrap_or_default();
    let status = word(handoff.status, HandoffStatus::as_str_name);
    let id = handoff.handoff_id;
    match (answer.already_ended, answer.stop_requested) {
        (true, _) => format!("{id} had ended already: {status}"),
        (false, false) => format!("{id} is {status}"),
        (false, true) => format!("{id} is {status}; its child was asked to stop"),
    }
}
