//! `handoffd demo`: two small agents hand work to each other, and each step is told as it happens.
//!
//! Nothing of it is staged: the agents are registered, their turns claimed, kept alive and finished by
//! a runtime like any other, only that it is small enough to be read in one go (`runtime.rs`), and
//! that the agents are no models (`cast.rs`). It cleans nothing up, so that its handoffs can be looked
//! at afterwards, and takes new names each time.

mod cast;
mod narrator;
mod runtime;

use std::time::Duration;

use clap::Args;

use super::client::{Client, request_id};
use super::{CtlError, DEFAULT_ADDRESS, DEFAULT_NAMESPACE, ServerArgs, output, timeline};
use crate::proto::v1::{
    AcceptHandoffs, CreateThreadRequest, HandoffPolicy, PutAgentRequest, SendMessageRequest,
};
use cast::Cast;
use narrator::Narrator;
use runtime::Runtime;

/// Entries of a timeline that the demo shows: more than its handoffs have.
const TIMELINE: usize = 100;

/// What `demo` takes.
#[derive(Debug, Args)]
pub struct DemoArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// How long the agents take for each step
    #[arg(long, default_value = "800ms", value_parser = humantime::parse_duration)]
    pace: Duration,
}

impl DemoArgs {
    /// The demo as it is without options, on the server at `address`.
    #[must_use]
    pub fn at(address: std::net::SocketAddr) -> Self {
        Self {
            server: ServerArgs {
                address: format!("http://{address}"),
                namespace: DEFAULT_NAMESPACE.to_owned(),
            },
            pace: Duration::from_millis(800),
        }
    }
}

/// Runs the demo once.
///
/// # Errors
/// The server cannot be reached or refuses, or somebody disturbed the demo.
pub async fn demo(args: DemoArgs) -> Result<(), CtlError> {
    let client = Client::connect(&args.server).await?;
    let cast = Cast::new();
    let narrator = Narrator::begin();
    let thread_id = prepare(&client, &cast, &narrator).await?;
    let runtime = Runtime::register(&client, &cast, &narrator, args.pace).await?;
    let played = runtime.run().await?;

    output::print("\nWhat the server kept of the first handoff:\n")?;
    let entries = timeline::read(&client, &played.first_handoff_id, TIMELINE).await?;
    output::print(&timeline::text(&entries))?;
    output::print(&look_further(
        &args.server,
        &played.first_handoff_id,
        &thread_id,
    ))
}

/// Registers the agents and gives the first one something to do. Returns its thread.
async fn prepare(client: &Client, cast: &Cast, narrator: &Narrator) -> Result<String, CtlError> {
    for (agent_id, description) in [
        (&cast.writer, "Writes one line about the sea."),
        (&cast.checker, "Checks lines for mistakes."),
    ] {
        let request = PutAgentRequest {
            agent_id: agent_id.clone(),
            description: description.to_owned(),
            handoff_policy: Some(HandoffPolicy {
                accepts_handoffs: AcceptHandoffs::Accept.into(),
            }),
            request_id: Some(request_id()),
            ..PutAgentRequest::default()
        };
        client.agents().put_agent(request).await?;
        narrator.tell("operator", &format!("registers the agent {agent_id}"))?;
    }

    let request = CreateThreadRequest {
        agent_id: cast.writer.clone(),
        title: "A line about the sea".to_owned(),
        request_id: Some(request_id()),
        ..CreateThreadRequest::default()
    };
    let answer = client.threads().create_thread(request).await?.into_inner();
    let thread_id = answer.thread.unwrap_or_default().thread_id;
    narrator.tell("operator", &format!("opens a thread for it, {thread_id}"))?;

    let request = SendMessageRequest {
        to_thread_id: thread_id.clone(),
        subject: "A line, please".to_owned(),
        body: "Write one line about the sea, and have it checked.".to_owned(),
        request_id: Some(request_id()),
        ..SendMessageRequest::default()
    };
    let sent = client.mailbox().send_message(request).await?.into_inner();
    narrator.tell(
        "operator",
        "writes: \"Write one line about the sea, and have it checked.\"",
    )?;
    narrator.tell("server", &sent.note)?;
    Ok(thread_id)
}

fn look_further(server: &ServerArgs, handoff_id: &str, thread_id: &str) -> String {
    let mut elsewhere = String::new();
    if server.address != DEFAULT_ADDRESS {
        elsewhere = format!("\n  export HANDOFFD_ADDRESS={}", server.address);
    }
    if server.namespace != DEFAULT_NAMESPACE {
        elsewhere = format!(
            "{elsewhere}\n  export HANDOFFD_NAMESPACE={}",
            server.namespace
        );
    }
    format!(
        "\nLook further:\n{elsewhere}\
         \n  handoffd status {handoff_id}\
         \n  handoffd results {handoff_id}\
         \n  handoffd mail {thread_id}\
         \n  handoffd list --all\n"
    )
}
