//! A running private PostgreSQL, and the way to its databases.

use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread::{self, JoinHandle};

use sqlx::postgres::PgConnectOptions;
use sqlx::{ConnectOptions, Connection};
use tokio::sync::{oneshot, watch};

use super::keeper::{self, Never, Ready};
use super::{DevdbError, Folder, Install, Search};

/// The only role and the first database.
const SUPERUSER: &str = "postgres";

/// What a commit survives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durability {
    /// A loss of power.
    Full,
    /// The end of the server's process, but not of the machine; for tests.
    Off,
}

/// How a [`Cluster`] is found, kept and set up.
#[derive(Debug, Clone)]
pub struct ClusterOptions {
    /// Where its data is.
    pub folder: Folder,
    /// What its commits survive.
    pub durability: Durability,
    /// Where its binaries may be.
    pub search: Search,
    /// Whether missing binaries are fetched.
    pub install: Install,
    /// Connections it accepts at once; 200 holds many tests with a pool each.
    pub max_connections: u32,
}

impl ClusterOptions {
    /// A cluster for people: durable, with the machine's binaries or fetched ones.
    #[must_use]
    pub fn new(folder: Folder) -> Self {
        Self {
            folder,
            durability: Durability::Full,
            search: Search::from_env(),
            install: Install::from_env(),
            max_connections: 200,
        }
    }

    /// A cluster for tests: quick, forgotten at the end.
    #[must_use]
    pub fn for_tests() -> Self {
        Self {
            durability: Durability::Off,
            ..Self::new(Folder::Ephemeral)
        }
    }
}

/// A PostgreSQL of our own. Ends when stopped, when dropped, and with this process.
#[derive(Debug)]
pub struct Cluster {
    ready: Ready,
    /// Closing it is the order to stop.
    orders: Option<mpsc::Sender<Never>>,
    keeper: Option<JoinHandle<()>>,
    ended: watch::Receiver<bool>,
}

impl Cluster {
    /// Starts a server on the folder of `options`, making and fetching what is missing.
    ///
    /// Takes a second the first time (longer when binaries are fetched) and some 100 ms later.
    ///
    /// # Errors
    ///
    /// When no usable binaries are there or to be had, when the folder is in use, of another major
    /// version or closed to the account that runs PostgreSQL, or when the server does not start.
    pub async fn start(options: ClusterOptions) -> Result<Self, DevdbError> {
        let (orders, orders_end) = mpsc::channel();
        let (started, outcome) = oneshot::channel();
        let (ended_sender, ended) = watch::channel(false);
        let keeper = thread::Builder::new()
            .name("devdb-keeper".to_owned())
            .spawn(move || keeper::keep(&options, started, &orders_end, &ended_sender))
            .map_err(DevdbError::io("start", Path::new("devdb-keeper")))?;
        let ready = outcome.await.map_err(|_| DevdbError::KeeperGone)??;
        Ok(Self {
            ready,
            orders: Some(orders),
            keeper: Some(keeper),
            ended,
        })
    }

    /// How to connect to `database`.
    #[must_use]
    pub fn connect_options(&self, database: &str) -> PgConnectOptions {
        PgConnectOptions::new()
            .host("localhost")
            .port(5432)
            .username(SUPERUSER)
            .socket(&self.ready.socket_folder)
            .database(database)
    }

    /// The URL of `database`, which psql understands as well as `DATABASE_URL` does.
    #[must_use]
    pub fn url(&self, database: &str) -> String {
        let socket = percent_encode(&self.ready.socket_folder.to_string_lossy());
        let database = percent_encode(database);
        format!("postgres://{SUPERUSER}@localhost:5432/{database}?host={socket}")
    }

    /// Makes `database`, unless it is there.
    ///
    /// # Errors
    ///
    /// When the name is not made of 1 to 63 letters, digits, `_` and `-`, or on a failed statement.
    pub async fn create_database(&self, database: &str) -> Result<(), DevdbError> {
        let mut characters = database.chars();
        let plain = characters.all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-');
        if !plain || !(1..=63).contains(&database.len()) {
            return Err(DevdbError::DatabaseName {
                name: database.to_owned(),
            });
        }
        let mut connection = self.connect_options(SUPERUSER).connect().await?;
        let exists = "SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)";
        let there: bool = sqlx::query_scalar(exists)
            .bind(database)
            .fetch_one(&mut connection)
            .await?;
        if !there {
            #[expect(
                clippy::disallowed_methods,
                reason = "a checked name; it takes no parameter"
            )]
            let create = sqlx::AssertSqlSafe(format!("CREATE DATABASE \"{database}\""));
            sqlx::query(create).execute(&mut connection).await?;
        }
        connection.close().await?;
        Ok(())
    }

    /// The folder, with links resolved.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.ready.root
    }

    /// The folder of the socket.
    #[must_use]
    pub fn socket_folder(&self) -> &PathBuf {
        &self.ready.socket_folder
    }

    /// The process of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.ready.pid
    }

    /// The major version of the server.
    #[must_use]
    pub fn major(&self) -> u32 {
        self.ready.major
    }

    /// Waits until the server has ended, whatever the reason.
    pub async fn ended(&self) {
        // An error means that the keeper is gone, which only happens after the end.
        drop(self.ended.clone().wait_for(|ended| *ended).await);
    }

    /// Stops the server: a fast shutdown, which cuts open connections and writes all data.
    pub async fn stop(mut self) {
        self.orders = None;
        self.ended().await;
    }
}

impl Drop for Cluster {
    /// Stops the server and waits for that, so that the folder is free afterwards; blocks the
    /// thread for some 50 ms unless [`Cluster::stop`] was called.
    fn drop(&mut self) {
        self.orders = None;
        if let Some(keeper) = self.keeper.take()
            && keeper.join().is_err()
        {
            tracing::error!("the keeper of the private PostgreSQL panicked");
        }
    }
}

/// Encodes everything but letters, digits and `-._`.
fn percent_encode(text: &str) -> String {
    use std::fmt::Write;

    text.bytes()
        .fold(String::with_capacity(text.len()), |mut encoded, byte| {
            if byte.is_ascii_alphanumeric() || b"-._".contains(&byte) {
                encoded.push(char::from(byte));
            } else if write!(encoded, "%{byte:02X}").is_err() {
                // Writing to a string does not fail.
            }
            encoded
        })
}
