//! Where a benchmark runs: a server, its database, and a namespace of its own.

use sqlx::Connection;
use sqlx::postgres::{PgConnection, PgPool, PgPoolOptions};
use tonic::metadata::MetadataValue;
use tonic::service::Interceptor;
use tonic::service::interceptor::InterceptedService;
use tonic::transport::Channel;
use tonic::{Request, Status};
use uuid::Uuid;

use super::meter::Meter;
use super::{BenchError, empty_call, seed};

/// The tenant that a run fills and empties. No name that somebody would give.
pub(super) const NAMESPACE: &str = "handoffd-bench";

/// A server and its database; both must be the same installation's.
#[derive(Debug, Clone, clap::Args)]
pub(super) struct Args {
    /// The server's database, which is filled with rows to work on; only the namespace
    /// `handoffd-bench` and a schema `handoffd_bench` are written, and removed afterwards
    #[arg(
        long,
        env = "HANDOFFD_DATABASE_URL",
        hide_env_values = true,
        value_name = "URL"
    )]
    pub(super) database_url: String,

    /// The server, as `host:port`
    #[arg(long, env = "HANDOFFD_ADDR", value_name = "ADDRESS")]
    pub(super) addr: String,

    /// The server's process, for its processor time; found by itself if only one runs here
    #[arg(long, value_name = "PID")]
    pub(super) server_pid: Option<u32>,

    /// Open handoffs that only take up room, and ten times as many closed ones, put there first:
    /// what a call costs must not depend on them
    #[arg(long, value_name = "OPEN", default_value_t = 0)]
    pub(super) seed_rows: usize,

    /// A second server on the same database: events must cross from one to the other
    #[arg(long, value_name = "ADDRESS")]
    pub(super) addr2: Option<String>,
}

/// A connection whose calls are made in the benchmark's namespace.
pub(super) type Wire = InterceptedService<Channel, InNamespace>;

/// Names the namespace in each call.
#[derive(Debug, Clone, Copy)]
pub(super) struct InNamespace;

impl Interceptor for InNamespace {
    fn call(&mut self, mut request: Request<()>) -> Result<Request<()>, Status> {
        let namespace = MetadataValue::from_static(NAMESPACE);
        request
            .metadata_mut()
            .insert("handoffd-namespace", namespace);
        Ok(request)
    }
}

/// See the module.
#[derive(Debug)]
pub(super) struct Site {
    /// For seeding and for the counters.
    pub(super) pool: PgPool,
    /// What an operation costs here.
    pub(super) meter: Meter,
    /// From which id on rows belong to a run; what is before stays until the end.
    pub(super) kept: Uuid,
    channels: Vec<Channel>,
    far_channels: Vec<Channel>,
}

impl Site {
    /// Connects to both, and empties the namespace, also after a run that was killed.
    pub(super) async fn open(args: &Args) -> Result<Self, BenchError> {
        // By itself: a pool would not say why it has none.
        let first = PgConnection::connect(&args.database_url).await?;
        first.close().await?;
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .test_before_acquire(false)
            .connect(&args.database_url)
            .await?;
        seed::clear(&pool, Uuid::nil()).await?;
        let kept = match args.seed_rows {
            0 => Uuid::nil(),
            open => seed::ballast(&pool, open).await?,
        };
        let far = args.addr2.as_ref().unwrap_or(&args.addr);
        Ok(Self {
            meter: Meter::new(&pool, args.server_pid).await?,
            pool,
            kept,
            channels: empty_call::connect(&args.addr).await?,
            far_channels: empty_call::connect(far).await?,
        })
    }

    /// Leaves the database as it was.
    pub(super) async fn close(&self) -> Result<(), BenchError> {
        seed::clear(&self.pool, Uuid::nil()).await
    }

    /// The connection of the caller with that number.
    pub(super) fn wire(&self, caller: usize) -> Wire {
        let channel = self.channels[caller % self.channels.len()].clone();
        InterceptedService::new(channel, InNamespace)
    }

    /// The same to the second server, where there is one.
    pub(super) fn far_wire(&self, caller: usize) -> Wire {
        let channel = self.far_channels[caller % self.far_channels.len()].clone();
        InterceptedService::new(channel, InNamespace)
    }
}
