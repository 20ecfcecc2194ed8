//! `handoffd dev`: everything on this machine, nothing to set up.

use std::net::SocketAddr;
use std::path::PathBuf;

use super::cli::{CliError, load, print, serve};
use super::config::{Config, ConfigArgs, RuleSettings};
use super::{database, telemetry};

/// What `dev` takes besides the configuration.
#[derive(Debug, clap::Args)]
pub(super) struct DevArgs {
    #[command(flatten)]
    config: ConfigArgs,

    /// Folder of the private database [default: one for this user, or for this checkout]
    #[arg(long, env = "HANDOFFD_DATA_DIR", value_name = "FOLDER")]
    data_dir: Option<PathBuf>,

    /// Forget everything at the end
    #[arg(long, conflicts_with = "data_dir")]
    ephemeral: bool,

    /// Never install PostgreSQL, only use what is there
    #[arg(long, env = "HANDOFFD_NO_INSTALL", value_parser = clap::builder::BoolishValueParser::new())]
    no_install: bool,
}

/// Runs a database of its own unless one was named, migrates it, and serves.
pub(super) async fn run(args: DevArgs) -> Result<(), CliError> {
    let DevArgs {
        config,
        data_dir,
        ephemeral,
        no_install,
    } = args;
    let config = load(config, defaults())?;
    // Integration point with the private database, not wired yet: where no URL was given, start
    // `devdb::Cluster::start(devdb::Options { data_dir, durability, install })` here, put its URL
    // into `config.database.url`, and keep the cluster until `serve` has returned.
    let _ = (data_dir, ephemeral, no_install);
    config.check()?;
    telemetry::init(&config.log)?;
    database::migrate(&config.database.url).await?;
    serve(config, |address| print(&try_this(address))).await
}

/// In development an agent accepts handoffs unless it says otherwise: nobody has to set up a policy
/// before the first one.
fn defaults() -> Config {
    Config {
        rules: RuleSettings {
            default_accept_handoffs: true,
            ..RuleSettings::default()
        },
        ..Config::default()
    }
}

fn try_this(address: SocketAddr) -> String {
    format!(
        "handoffd listens on {address}. Try this:\n\
         \n  grpcurl -plaintext {address} list\
         \n  grpcurl -plaintext -d '{{\"service\": \"readiness\"}}' {address} grpc.health.v1.Health/Check\n"
    )
}
