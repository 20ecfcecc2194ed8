//! The real server, started and stopped by a test.

use std::net::SocketAddr;
use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use handoffd::app::reconcile::Report;
use handoffd::server::config::{Config, DatabaseUrl, Span};
use handoffd::server::lifecycle::Lifecycle;
use handoffd::server::{self, Server, Workers};
use handoffd::workers::JobName;
use sqlx::PgPool;
use tokio::net::TcpListener;
use tonic::transport::Endpoint;

use super::clients::Clients;
use super::database::{TestClock, TestDatabase};
use super::{invariants, log};

/// One server process, as far as a test can tell.
pub(crate) struct Node {
    address: SocketAddr,
    clients: Clients,
    life: Lifecycle,
    server: tokio::sync::Mutex<Option<Server>>,
}

/// The first server of a test, its database and its clock. Used through [`with_server`].
pub(crate) struct TestServer {
    /// Moves the time of all servers on this database.
    pub(crate) clock: TestClock,
    /// For a test's own looks.
    pub(crate) pool: PgPool,
    config: Config,
    seeds: Seeds,
    first: Arc<Node>,
    others: Mutex<Vec<Arc<Node>>>,
    stopped: bool,
    // Dropped last: the others hold connections to it.
    _database: TestDatabase,
}

/// Runs a test on a server, stops it, and checks every invariant.
pub(crate) async fn with_server(test: impl AsyncFnOnce(&TestServer)) {
    let server = TestServer::start().await;
    test(&server).await;
    server.stop().await;
}

/// The same with a configuration of its own.
pub(crate) async fn with_server_of(
    configure: impl FnOnce(&mut Config),
    test: impl AsyncFnOnce(&TestServer),
) {
    let server = TestServer::start_with(configure).await;
    test(&server).await;
    server.stop().await;
}

impl TestServer {
    /// Starts a server with a fresh database.
    pub(crate) async fn start() -> Self {
        Self::start_with(|_| {}).await
    }

    /// The same with a configuration of its own.
    pub(crate) async fn start_with(configure: impl FnOnce(&mut Config)) -> Self {
        log::watch();
        let database = TestDatabase::create().await;
        let pool = database.pool().await;
        let mut config = Config::default();
        config.database.url = DatabaseUrl::from(database.url().to_owned());
        config.database.max_connections = 4;
        config.rules.default_accept_handoffs = true;
        config.server.drain_timeout = Span(Duration::from_secs(20));
        configure(&mut config);
        let seeds = Seeds::new();
        let first = Arc::new(Node::start(&config, Workers::ByHand, seeds.next()).await);
        Self {
            clock: TestClock::new(pool.clone()),
            pool,
            config,
            seeds,
            first,
            others: Mutex::default(),
            stopped: false,
            _database: database,
        }
    }

    /// Starts another server on the same database; it is stopped with the first.
    pub(crate) async fn second(&self) -> Arc<Node> {
        self.another(Workers::ByHand).await
    }

    /// The same, with its background jobs running by themselves.
    pub(crate) async fn working(&self) -> Arc<Node> {
        self.another(Workers::Running).await
    }

    async fn another(&self, workers: Workers) -> Arc<Node> {
        let node = Arc::new(Node::start(&self.config, workers, self.seeds.next()).await);
        self.others.lock().unwrap().push(Arc::clone(&node));
        node
    }

    /// Of every server of the test that was not stopped.
    pub(crate) fn all_clients(&self) -> Vec<Clients> {
        let others = self.others.lock().unwrap();
        let nodes = std::iter::once(&self.first).chain(others.iter());
        let live = nodes.filter(|node| !node.life.soft().is_cancelled());
        live.map(|node| node.clients.clone()).collect()
    }

    /// One pass of a background job on the first server.
    pub(crate) async fn sweep(&self, name: JobName) -> Report {
        self.first.sweep(name).await
    }

    /// Stops the first server, as SIGTERM would; the test goes on with another.
    pub(crate) async fn stop_first(&self) {
        self.first.stop().await;
    }

    /// Where the first server listens, for a process of its own that calls it.
    pub(crate) fn address(&self) -> SocketAddr {
        self.first.address
    }

    /// Where the first server shows metrics.
    pub(crate) async fn metrics_address(&self) -> SocketAddr {
        self.first.metrics_address().await
    }

    /// One pass of a background job, where the database may be away.
    pub(crate) async fn try_sweep(&self, name: JobName) -> Option<Report> {
        self.first.try_sweep(name).await
    }

    /// Fails the test with whatever breaks an invariant now.
    pub(crate) async fn check_invariants(&self) {
        invariants::check(&self.pool).await;
    }

    /// Stops every server and checks what they left.
    pub(crate) async fn stop(mut self) {
        self.stopped = true;
        let others = std::mem::take(&mut *self.others.lock().unwrap());
        for node in others {
            node.stop().await;
        }
        self.first.stop().await;
        log::check();
        self.check_invariants().await;
        self.pool.close().await;
    }
}

impl Node {
    async fn start(config: &Config, workers: Workers, seed: u64) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let life = Lifecycle::new(config.server.drain_timeout.0);
        let server = server::start(config.clone(), listener, life.clone(), workers, seed)
            .await
            .unwrap();
        let channel = Endpoint::try_from(format!("http://{address}"))
            .unwrap()
            .connect_lazy();
        Self {
            address,
            clients: Clients::new(channel),
            life,
            server: tokio::sync::Mutex::new(Some(server)),
        }
    }

    /// One pass of a background job, now; a test decides when, since it moves the time.
    pub(crate) async fn sweep(&self, name: JobName) -> Report {
        let server = self.server.lock().await;
        server.as_ref().unwrap().sweep(name).await.unwrap()
    }

    /// The same where the database may be away.
    pub(crate) async fn try_sweep(&self, name: JobName) -> Option<Report> {
        let server = self.server.lock().await;
        server.as_ref().unwrap().sweep(name).await.ok()
    }

    /// Where this server shows metrics, which it must have been told to.
    pub(crate) async fn metrics_address(&self) -> SocketAddr {
        let server = self.server.lock().await;
        server.as_ref().unwrap().metrics_address().unwrap()
    }

    /// Stops this server as SIGTERM would; a second time does nothing.
    pub(crate) async fn stop(&self) {
        if let Some(server) = self.server.lock().await.take() {
            self.life.stop();
            server.ended().await.unwrap();
        }
    }
}

impl Deref for TestServer {
    type Target = Clients;

    fn deref(&self) -> &Clients {
        &self.first.clients
    }
}

impl Deref for Node {
    type Target = Clients;

    fn deref(&self) -> &Clients {
        &self.clients
    }
}

/// What the ids of a test's servers follow from: another in each run, unless it is given.
struct Seeds {
    first: u64,
    given: AtomicU64,
}

impl Seeds {
    fn new() -> Self {
        let given = std::env::var("HANDOFFD_TEST_SEED").ok();
        Self {
            first: given.map_or_else(rand::random, |seed| seed.parse().unwrap()),
            given: AtomicU64::new(0),
        }
    }

    /// That of the next server.
    fn next(&self) -> u64 {
        let given = self.given.fetch_add(1, Ordering::Relaxed);
        self.first.wrapping_add(given.wrapping_mul(1_000_003))
    }
}

impl Drop for TestServer {
    #[expect(clippy::print_stderr, reason = "the harness shows it with the failure")]
    fn drop(&mut self) {
        if thread::panicking() {
            let seed = self.seeds.first;
            eprintln!("its ids come again with HANDOFFD_TEST_SEED={seed}");
            log::show_warnings();
        }
        assert!(
            self.stopped || thread::panicking(),
            "the test forgot `stop`, so nothing was checked"
        );
    }
}
