//! The operator's commands: a gRPC client like any other, which knows the proto and nothing else of
//! the server. So a command can be run against any server, of this release or another.

mod agents;
mod bulk_cancel;
mod cancel;
mod client;
pub mod demo;
mod doctor;
mod error;
mod explain;
mod extend;
mod force;
mod json;
mod list;
mod mail;
mod output;
mod results;
mod send;
mod show;
mod stats;
mod status;
mod stuck;
mod timeline;
mod tree;

use clap::{Args, Subcommand};

use client::Client;
pub use error::CtlError;
use output::{Format, Output};

/// The commands that speak to a running server.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List the agents of a namespace
    Agents(agents::AgentsArgs),
    /// List handoffs, first those that need somebody's attention
    List(list::ListArgs),
    /// Show the true state of handoffs, and what it rests on
    Status(status::StatusArgs),
    /// Show what a person should look at, worst first, and what helps
    Stuck(stuck::StuckArgs),
    /// Tell the whole story of a handoff: why it is as it is, and what comes next
    Explain(explain::ExplainArgs),
    /// Show what is open, what waits, and how long things take
    Stats(stats::StatsArgs),
    /// Show the tree that a handoff is part of, from its root down
    Tree(tree::TreeArgs),
    /// Show what happened to a handoff, and who did it
    Timeline(timeline::TimelineArgs),
    /// Show the mailbox of a thread; nothing is marked read
    Mail(mail::MailArgs),
    /// Send mail to a thread
    Send(send::SendArgs),
    /// Stop tracking a handoff, and its child if asked
    Cancel(cancel::CancelArgs),
    /// Give a handoff more time, or less
    Extend(extend::ExtendArgs),
    /// Cancel every open handoff that a filter finds, after showing them
    BulkCancel(bulk_cancel::BulkCancelArgs),
    /// End a handoff by force, and the turn that its child is in
    ForceEnd(force::ForceEndArgs),
    /// Take back the reminder that a handoff's child was not given yet
    CancelReminder(force::CancelReminderArgs),
    /// Take a turn from the runtime that holds it; its thread runs again
    ForceRelease(force::ForceReleaseArgs),
    /// Show what a handoff produced so far
    Results(results::ResultsArgs),
    /// Look whether a server is well, and prove that what is stored keeps every promise
    Doctor(doctor::DoctorArgs),
    /// Let two small agents hand work to each other, and tell what happens
    Demo(demo::DemoArgs),
}

/// Where `handoffd dev` listens unless told otherwise.
const DEFAULT_ADDRESS: &str = "http://127.0.0.1:7420";

/// The namespace of whoever names none.
const DEFAULT_NAMESPACE: &str = "default";

/// Which server is asked, and for which namespace.
#[derive(Debug, Args)]
pub struct ServerArgs {
    /// Address of the server
    #[arg(
        long,
        env = "HANDOFFD_ADDRESS",
        default_value = DEFAULT_ADDRESS,
        value_name = "ADDRESS",
        help_heading = "Server"
    )]
    pub(crate) address: String,

    /// Namespace that is looked at
    #[arg(
        long,
        env = "HANDOFFD_NAMESPACE",
        default_value = DEFAULT_NAMESPACE,
        value_name = "NAME",
        help_heading = "Server"
    )]
    pub(crate) namespace: String,
}

/// What nearly all of the commands take.
#[derive(Debug, Args)]
pub struct CommonArgs {
    #[command(flatten)]
    server: ServerArgs,

    /// For people, or for programs
    #[arg(long, value_enum, default_value_t = Format::Table)]
    output: Format,
}

impl CommonArgs {
    async fn open(&self) -> Result<(Client, Output), CtlError> {
        let client = Client::connect(&self.server).await?;
        Ok((client, Output::new(self.output)))
    }
}

/// Carries out a command.
///
/// # Errors
/// The server cannot be reached or refuses, or the command makes no sense.
pub async fn run(command: Command) -> Result<(), CtlError> {
    match command {
        Command::Agents(args) => agents::agents(args).await,
        Command::List(args) => list::list(args).await,
        Command::Status(args) => status::status(args).await,
        Command::Stuck(args) => stuck::stuck(args).await,
        Command::Explain(args) => explain::explain(args).await,
        Command::Stats(args) => stats::stats(args).await,
        Command::Tree(args) => tree::tree(args).await,
        Command::Timeline(args) => timeline::timeline(args).await,
        Command::Mail(args) => mail::mail(args).await,
        Command::Send(args) => send::send(args).await,
        Command::Cancel(args) => cancel::cancel(args).await,
        Command::Extend(args) => extend::extend(args).await,
        Command::BulkCancel(args) => bulk_cancel::bulk_cancel(args).await,
        Command::ForceEnd(args) => force::force_end(args).await,
        Command::CancelReminder(args) => force::cancel_reminder(args).await,
        Command::ForceRelease(args) => force::force_release(args).await,
        Command::Results(args) => results::results(args).await,
        Command::Doctor(args) => doctor::doctor(args).await,
        Command::Demo(args) => demo::demo(args).await,
    }
}
