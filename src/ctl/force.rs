//! `handoffd force-end`, `force-release` and `cancel-reminder`: by hand what nothing does by itself.

use clap::Args;

use super::client::request_id;
use super::output::confirmed;
use super::show::word;
use super::{CommonArgs, CtlError};
use crate::proto::v1::{
    CancelReminderRequest, CancelReminderResponse, ForceEndRequest, ForceEndResponse,
    ForceReleaseRequest, ForceReleaseResponse, HandoffStatus,
};

/// What `force-end` takes.
#[derive(Debug, Args)]
pub struct ForceEndArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoff, `hnd_...`
    handoff: String,

    #[command(flatten)]
    force: ForceArgs,
}

/// What `force-release` takes.
#[derive(Debug, Args)]
pub struct ForceReleaseArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The turn, `trn_...`, as `explain` shows it
    turn: String,

    #[command(flatten)]
    force: ForceArgs,
}

/// What `cancel-reminder` takes.
#[derive(Debug, Args)]
pub struct CancelReminderArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoff, `hnd_...`
    handoff: String,

    #[command(flatten)]
    force: ForceArgs,
}

/// What all take.
#[derive(Debug, Args)]
struct ForceArgs {
    /// Why; the timeline tells it
    #[arg(
        long,
        default_value_t,
        hide_default_value = true,
        allow_hyphen_values = true,
        value_name = "TEXT"
    )]
    reason: String,

    /// Do not ask before
    #[arg(long, short)]
    yes: bool,

    /// Marks the answer of a repeat of this command [default: a new one]
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

impl ForceArgs {
    fn confirm(&self, question: &str) -> Result<(), CtlError> {
        if self.yes || confirmed(question)? {
            Ok(())
        } else {
            Err(CtlError::NotConfirmed)
        }
    }
}

pub(super) async fn force_end(args: ForceEndArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    args.force.confirm(&format!(
        "`{}` ends as failed, and its child's turn is closed. Go on?",
        args.handoff
    ))?;
    let request = ForceEndRequest {
        handoff_id: args.handoff,
        reason: args.force.reason,
        request_id: Some(args.force.request_id.unwrap_or_else(request_id)),
    };
    let answer = client.operators().force_end(request).await?;
    output.answer(&answer.into_inner(), ended)
}

fn ended(answer: &ForceEndResponse) -> String {
    let handoff = answer.handoff.clone().unwrap_or_default();
    let status = word(handoff.status, HandoffStatus::as_str_name);
    let id = handoff.handoff_id;
    match (answer.already_ended, answer.turn_id.as_str()) {
        (true, _) => format!("{id} had ended already: {status}"),
        (false, "") => format!("{id} is {status}"),
        (false, turn) => format!("{id} is {status}, and turn {turn} of its child is closed"),
    }
}

pub(super) async fn force_release(args: ForceReleaseArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    args.force.confirm(&format!(
        "`{}` is taken from its runtime, and its thread runs again. Go on?",
        args.turn
    ))?;
    let request = ForceReleaseRequest {
        turn_id: args.turn,
        reason: args.force.reason,
        request_id: Some(args.force.request_id.unwrap_or_else(request_id)),
    };
    let answer = client.operators().force_release(request).await?;
    output.answer(&answer.into_inner(), released)
}

fn released(answer: &ForceReleaseResponse) -> String {
    if answer.released {
        format!("released; thread {} runs again", answer.thread_id)
    } else {
        "it had ended already".to_owned()
    }
}

pub(super) async fn cancel_reminder(args: CancelReminderArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    args.force.confirm(&format!(
        "The reminder of `{}` that is outstanding is taken back. Go on?",
        args.handoff
    ))?;
    let request = CancelReminderRequest {
        handoff_id: args.handoff,
        reason: args.force.reason,
        request_id: Some(args.force.request_id.unwrap_or_else(request_id)),
    };
    let answer = client.operators().cancel_reminder(request).await?;
    output.answer(&answer.into_inner(), |answer| taken_back(*answer))
}

fn taken_back(answer: CancelReminderResponse) -> String {
    let told = if answer.cancelled {
        "taken back"
    } else {
        "none is outstanding that could be taken back"
    };
    told.to_owned()
}
