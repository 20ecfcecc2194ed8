//! The commands of the binary.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio::net::TcpListener;

use crate::devdb::DevdbError;

use super::config::{Config, ConfigArgs, ConfigError};
use super::dev::{self, DevArgs};
use super::lifecycle::{Lifecycle, chain};
use super::{RunError, database, telemetry};
use crate::{bench, ctl};

/// A coordination server for AI agents, on PostgreSQL
#[derive(Debug, Parser)]
#[command(name = "handoffd", version, max_term_width = 100)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Run everything on this machine, for development
    Dev(DevArgs),
    /// Run a server against a database that `migrate` prepared
    Serve(ConfigArgs),
    /// Bring the database's schema up to this release's, and exit
    Migrate(ConfigArgs),
    /// Print the effective configuration as TOML, secrets hidden
    Config(ConfigArgs),
    /// Measure a server, and the database's own floor
    Bench(bench::Args),
    #[command(flatten)]
    Operate(ctl::Command),
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The configuration cannot be printed.
    #[error("cannot print the configuration")]
    Print(#[from] toml::ser::Error),
    /// Logging cannot begin.
    #[error(transparent)]
    Telemetry(#[from] telemetry::TelemetryError),
    /// The address cannot be listened on.
    #[error("cannot listen on `{address}`")]
    Listen {
        /// The address.
        address: std::net::SocketAddr,
        /// What the system said.
        source: std::io::Error,
    },
    /// The system does not hand over signals.
    #[error("cannot wait for signals")]
    Signals(#[source] std::io::Error),
    /// The database cannot be used.
    #[error(transparent)]
    Database(#[from] database::DatabaseError),
    /// The private database cannot be had.
    #[error(transparent)]
    Devdb(#[from] DevdbError),
    /// The server did not start, or did not end well.
    #[error(transparent)]
    Run(#[from] RunError),
    /// The measurement failed.
    #[error(transparent)]
    Bench(#[from] bench::BenchError),
    /// A command to a running server failed.
    #[error(transparent)]
    Ctl(#[from] ctl::CtlError),
}

impl CliError {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Ctl(error) => error.exit_code(),
            _ => ExitCode::FAILURE,
        }
    }
}

impl Cli {
    /// Carries out the command, and says what failed on standard error.
    pub async fn run(self) -> ExitCode {
        match self.command.run().await {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                tell(&format!("handoffd: {}", chain(&error)));
                error.exit_code()
            }
        }
    }
}

impl Command {
    async fn run(self) -> Result<(), CliError> {
        match self {
            Self::Dev(args) => dev::run(args).await,
            Self::Serve(args) => {
                let config = load(args, Config::default())?;
                config.check()?;
                telemetry::init(&config.log)?;
                serve(config, |_| ()).await
            }
            Self::Migrate(args) => {
                let config = load(args, Config::default())?;
                config.check()?;
                telemetry::init(&config.log)?;
                database::migrate(&config.database.url).await?;
                tracing::info!(schema = database::SUPPORTED_SCHEMA.own, "migrated");
                Ok(())
            }
            Self::Config(args) => {
                let config = load(args, Config::default())?;
                print(config.to_toml()?.trim_end());
                Ok(config.check()?)
            }
            Self::Bench(args) => Ok(bench::run(args).await?),
            Self::Operate(command) => Ok(ctl::run(command).await?),
        }
    }
}

/// Reads the configuration, with the environment's `DATABASE_URL`.
pub(super) fn load(args: ConfigArgs, defaults: Config) -> Result<Config, ConfigError> {
    Config::load(args, std::env::var("DATABASE_URL").ok(), defaults)
}

/// Serves until a signal ends it. `listening` is told the address, once callers can reach it.
pub(super) async fn serve(
    config: Config,
    listening: impl FnOnce(std::net::SocketAddr),
) -> Result<(), CliError> {
    let address = config.server.listen;
    let refused = |source| CliError::Listen { address, source };
    let listener = TcpListener::bind(address).await.map_err(refused)?;
    listening(listener.local_addr().map_err(refused)?);
    let life = Lifecycle::new(config.server.drain_timeout.0);
    tokio::select! {
        ended = super::run(config, listener, life.clone()) => Ok(ended?),
        refused = life.stop_on_signals() => match refused {
            Err(source) => Err(CliError::Signals(source)),
            Ok(never) => match never {},
        },
    }
}

/// Prints what a command is for.
#[expect(
    clippy::print_stdout,
    reason = "the output of a command belongs on standard output"
)]
pub(super) fn print(text: &str) {
    println!("{text}");
}

/// Says what failed, also where logging has not begun.
#[expect(
    clippy::print_stderr,
    reason = "a command that fails says why on standard error"
)]
pub(super) fn tell(text: &str) {
    eprintln!("{text}");
}
