//! `handoffd extend`: gives a handoff more time, or less.

use std::time::Duration;

use clap::Args;

use super::client::{Client, request_id};
use super::show::time;
use super::{CommonArgs, CtlError};
use crate::proto::v1::{ExtendDeadlineRequest, ExtendDeadlineResponse, GetHandoffStatusRequest};

/// What `extend` takes.
#[derive(Debug, Args)]
pub struct ExtendArgs {
    #[command(flatten)]
    common: CommonArgs,

    /// The handoff, `hnd_...`
    handoff: String,

    /// The new limit: from now, or from the first turn where none began, for example `90m`
    #[arg(long, value_parser = humantime::parse_duration, value_name = "SPAN")]
    deadline: Duration,

    /// The version of the deadline that is known [default: the present one]
    #[arg(long, value_name = "VERSION")]
    deadline_version: Option<u64>,

    /// Marks the answer of a repeat of this command [default: a new one]
    #[arg(long, value_name = "ID")]
    request_id: Option<String>,
}

pub(super) async fn extend(args: ExtendArgs) -> Result<(), CtlError> {
    let (client, output) = args.common.open().await?;
    let deadline_version = match args.deadline_version {
        Some(version) => version,
        None => present_version(&client, &args.handoff).await?,
    };
    let request = ExtendDeadlineRequest {
        turn: None,
        handoff_id: args.handoff,
        deadline_version,
        deadline: Some(prost_types::Duration {
            seconds: i64::try_from(args.deadline.as_secs()).unwrap_or(i64::MAX),
            nanos: i32::try_from(args.deadline.subsec_nanos()).unwrap_or(0),
        }),
        request_id: Some(args.request_id.unwrap_or_else(request_id)),
    };
    let answer = client.handoffs().extend_deadline(request).await?;
    output.answer(&answer.into_inner(), text)
}

async fn present_version(client: &Client, handoff_id: &str) -> Result<u64, CtlError> {
    let request = GetHandoffStatusRequest {
        handoff_id: handoff_id.to_owned(),
    };
    let answer = client.status().get_handoff_status(request).await?;
    let snapshot = answer.into_inner().snapshot.unwrap_or_default();
    Ok(snapshot.handoff.unwrap_or_default().deadline_version)
}

fn text(answer: &ExtendDeadlineResponse) -> String {
    let handoff = answer.handoff.clone().unwrap_or_default();
    let id = handoff.handoff_id;
    let version = handoff.deadline_version;
    match handoff.deadline_time {
        None => format!("{id} may run for its new limit once a turn begins (version {version})"),
        until => format!("{id} may run until {} (version {version})", time(until)),
    }
}
