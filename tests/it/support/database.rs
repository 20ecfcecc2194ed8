//! A database per test, on one private PostgreSQL per test process.
//!
//! The first test starts the server and migrates a template; each test gets a copy of it, which
//! takes some 30 ms. In the template `handoffd_now()` reads the one-row table `test_clock`, so that
//! all servers on one test database share a time that moves only when a test moves it.
//!
//! Nothing outlives the process: the kernel ends the server with the thread that keeps it, and the
//! folder goes a moment later.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a harness that cannot go on fails its test"
)]

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{OnceLock, mpsc};
use std::thread;
use std::time::{Duration, SystemTime};

use handoffd::devdb::{Cluster, ClusterOptions};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgPool, PgPoolOptions};
use sqlx::{AssertSqlSafe, ConnectOptions, Connection};
use tokio::sync::OnceCell;

/// The migrated database that all others are copied from; nothing ever connects to it again.
const TEMPLATE: &str = "handoffd_template";

/// The database that statements about databases are run from.
const MAINTENANCE: &str = "postgres";

/// Replaces the production clock; the time of every fresh test database is the same.
const INSTALL_TEST_CLOCK: &str = "
    CREATE TABLE public.test_clock (
        only_row boolean     NOT NULL DEFAULT true,
        at       timestamptz NOT NULL,
        CONSTRAINT test_clock_pkey PRIMARY KEY (only_row),
        CONSTRAINT test_clock_only_row_check CHECK (only_row)
    );
    INSERT INTO public.test_clock (at) VALUES ('2030-01-01T00:00:00Z');
    CREATE OR REPLACE FUNCTION handoffd_now() RETURNS timestamptz
        LANGUAGE sql VOLATILE PARALLEL SAFE
        AS $$ SELECT at FROM public.test_clock $$;
";

static CLUSTER: OnceCell<Cluster> = OnceCell::const_new();

/// One test's own database, dropped with it.
#[derive(Debug)]
pub(crate) struct TestDatabase {
    name: String,
    url: String,
    options: PgConnectOptions,
}

impl TestDatabase {
    /// Copies the template under a name of its own.
    pub(crate) async fn create() -> Self {
        // Copying files takes half the time of writing their pages through the log.
        Self::create_with(&format!("TEMPLATE {TEMPLATE} STRATEGY file_copy")).await
    }

    /// An empty one, to be migrated: its time is the real one.
    pub(crate) async fn create_empty() -> Self {
        Self::create_with("").await
    }

    async fn create_with(options: &str) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let cluster = CLUSTER.get_or_init(start_cluster).await;
        let name = format!("test_{}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let mut connection = cluster
            .connect_options(MAINTENANCE)
            .connect()
            .await
            .unwrap();
        run(&mut connection, format!("CREATE DATABASE {name} {options}"))
            .await
            .unwrap();
        connection.close().await.unwrap();
        let (url, options) = (cluster.url(&name), cluster.connect_options(&name));
        Self { name, url, options }
    }

    /// The folder of the socket of the server that all of them are on.
    pub(crate) fn socket_folder() -> PathBuf {
        CLUSTER.get().unwrap().socket_folder().clone()
    }

    /// Its name there.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    /// The URL, as a server under test gets it.
    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// The same as options.
    pub(crate) fn connect_options(&self) -> PgConnectOptions {
        self.options.clone()
    }

    /// A small pool for the test's own looks and for its clock.
    pub(crate) async fn pool(&self) -> PgPool {
        PgPoolOptions::new()
            .max_connections(4)
            .connect_with(self.connect_options())
            .await
            .unwrap()
    }
}

impl Drop for TestDatabase {
    /// Leaves the work to a thread: a test's runtime may be ending, and nobody waits for this.
    fn drop(&mut self) {
        // Fails only when that thread is gone; the database then goes with the server.
        drop(dropper().send(self.name.clone()));
    }
}

/// The time that `handoffd_now()` gives on one test database.
#[derive(Debug, Clone)]
pub(crate) struct TestClock {
    pool: PgPool,
}

impl TestClock {
    /// The clock of the database behind `pool`.
    pub(crate) fn new(pool: PgPool) -> Self {
        Self { pool }
    }

    /// Moves the time forward, by whole microseconds.
    pub(crate) async fn advance(&self, by: Duration) {
        let microseconds = i64::try_from(by.as_micros()).unwrap();
        let statement = "UPDATE public.test_clock SET at = at + $1 * interval '1 microsecond'";
        let done = sqlx::query(statement)
            .bind(microseconds)
            .execute(&self.pool)
            .await
            .unwrap();
        assert_eq!(done.rows_affected(), 1, "the clock is one row");
    }

    /// The time now.
    pub(crate) async fn now(&self) -> SystemTime {
        let statement = "SELECT (extract(epoch FROM handoffd_now()) * 1000000)::bigint";
        let microseconds: i64 = sqlx::query_scalar(statement)
            .fetch_one(&self.pool)
            .await
            .unwrap();
        SystemTime::UNIX_EPOCH + Duration::from_micros(u64::try_from(microseconds).unwrap())
    }
}

async fn start_cluster() -> Cluster {
    let cluster = Cluster::start(ClusterOptions::for_tests())
        .await
        .unwrap_or_else(|error| panic!("the tests need a PostgreSQL: {error}"));
    cluster.create_database(TEMPLATE).await.unwrap();
    let mut connection = cluster.connect_options(TEMPLATE).connect().await.unwrap();
    let mut migrator = sqlx::migrate!("./migrations");
    // Nobody else is here, and an advisory lock is one more thing to wait for.
    migrator.set_locking(false);
    migrator.run(&mut connection).await.unwrap();
    sqlx::raw_sql(INSTALL_TEST_CLOCK)
        .execute(&mut connection)
        .await
        .unwrap();
    connection.close().await.unwrap();

    let mut connection = cluster
        .connect_options(MAINTENANCE)
        .connect()
        .await
        .unwrap();
    let seal = format!("ALTER DATABASE {TEMPLATE} IS_TEMPLATE true ALLOW_CONNECTIONS false");
    run(&mut connection, seal).await.unwrap();
    connection.close().await.unwrap();
    cluster
}

/// Where names of databases to drop are sent; the thread behind it never ends.
fn dropper() -> &'static mpsc::Sender<String> {
    static DROPPER: OnceLock<mpsc::Sender<String>> = OnceLock::new();
    DROPPER.get_or_init(|| {
        let (sender, names) = mpsc::channel();
        thread::spawn(move || drop_databases(&names));
        sender
    })
}

fn drop_databases(names: &mpsc::Receiver<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    // An error means that the server is ending with this process, and the databases with it.
    drop(runtime.block_on(async {
        let cluster = CLUSTER.get().ok_or(sqlx::Error::PoolClosed)?;
        let mut connection = cluster.connect_options(MAINTENANCE).connect().await?;
        // This runtime has nothing else to do while it waits for a name.
        for name in names {
            let statement = format!("DROP DATABASE {name} WITH (FORCE)");
            run(&mut connection, statement).await?;
        }
        Ok::<(), sqlx::Error>(())
    }));
}

/// Runs a statement about a database; the names in it are made above.
#[expect(
    clippy::disallowed_methods,
    reason = "statements about databases take no parameters"
)]
async fn run(connection: &mut PgConnection, statement: String) -> Result<(), sqlx::Error> {
    sqlx::query(AssertSqlSafe(statement))
        .execute(connection)
        .await
        .map(drop)
}

#[tokio::test]
async fn each_test_has_a_migrated_database_and_its_own_time() {
    let (mine, other) = (TestDatabase::create().await, TestDatabase::create().await);
    assert_ne!(mine.url(), other.url());
    let clock = TestClock::new(mine.pool().await);
    let still = TestClock::new(other.pool().await);
    let start = clock.now().await;
    assert_eq!(start, still.now().await);

    clock.advance(Duration::from_micros(1_500_001)).await;
    assert_eq!(clock.now().await, start + Duration::from_micros(1_500_001));
    assert_eq!(still.now().await, start);
}
