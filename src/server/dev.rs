//! `handoffd dev`: everything on this machine, nothing to set up.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::path::PathBuf;

use tokio::sync::oneshot;

use super::cli::{CliError, load, print, serve, tell};
use super::config::{Config, ConfigArgs, DatabaseUrl, RuleSettings};
use super::lifecycle::chain;
use super::{database, telemetry};
use crate::ctl::demo::{DemoArgs, demo};
use crate::devdb::{Cluster, ClusterOptions, Folder, Install, default_folder};

/// The database of `dev` in its private PostgreSQL.
const DATABASE: &str = "handoffd";

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

    /// Also run `handoffd demo` once, and keep serving
    #[arg(long)]
    demo: bool,
}

/// Runs a database of its own unless one was named, migrates it, and serves.
pub(super) async fn run(args: DevArgs) -> Result<(), CliError> {
    let DevArgs {
        config,
        data_dir,
        ephemeral,
        no_install,
        demo,
    } = args;
    let mut config = load(config, defaults())?;
    telemetry::init(&config.log)?;
    let cluster = if config.database.url.expose().is_empty() {
        let folder = match (ephemeral, data_dir) {
            (true, _) => Folder::Ephemeral,
            (false, Some(folder)) => Folder::Kept(folder),
            (false, None) => Folder::Kept(default_folder()),
        };
        let mut options = ClusterOptions::new(folder);
        if no_install {
            options.install = Install::Forbidden;
        }
        let cluster = Cluster::start(options).await?;
        cluster.create_database(DATABASE).await?;
        config.database.url = DatabaseUrl::from(cluster.url(DATABASE));
        Some(cluster)
    } else {
        None
    };
    config.check()?;
    database::migrate(&config.database.url).await?;
    let (listening, address) = oneshot::channel();
    let served = serve(config, |address| {
        print(&try_this(address));
        // Nobody listens where there is no demo.
        let _ = listening.send(address);
    });
    let served = tokio::select! {
        served = served => served,
        never = show_demo(address), if demo => match never {},
    };
    if let Some(cluster) = cluster {
        cluster.stop().await;
    }
    served
}

/// Runs the demo once the server listens. Whatever becomes of it, the server stays.
async fn show_demo(address: oneshot::Receiver<SocketAddr>) -> Infallible {
    if let Ok(address) = address.await
        && let Err(error) = demo(DemoArgs::at(address)).await
    {
        tell(&format!("handoffd: {}", chain(&error)));
    }
    std::future::pending().await
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

/// What to do next, in words that can be pasted.
fn try_this(address: SocketAddr) -> String {
    let program = std::env::args().next();
    let program = program.as_deref().unwrap_or("handoffd");
    let at = if address == Config::default().server.listen {
        String::new()
    } else {
        format!(" --address {address}")
    };
    format!(
        "handoffd listens on {address}. Try this in another terminal:\n\
         \n  {program} demo{at}      two agents hand work to each other\
         \n  {program} list{at} --all\n\
         \nREADME.md hands work off by hand, with grpcurl, under \"A handoff, by hand\".\n"
    )
}
