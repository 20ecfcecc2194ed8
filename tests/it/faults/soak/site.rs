//! What lives long: a durable PostgreSQL of its own that cleans up by itself, two servers of the real
//! binary as they come, two runtimes in processes of their own.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use handoffd::devdb::{Cluster, ClusterOptions, Folder};
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::kernel;
use crate::faults::agents::{self, Orders, Work};
use crate::faults::process::Process;
use crate::faults::workload;
use crate::support::pause;

/// A lease that lost turns need not wait long for.
const LEASE: &str = "5s";
/// How long a setting of the database needs to reach all of its processes.
const SET: Duration = Duration::from_secs(1);

/// See the module.
pub(super) struct Site {
    cluster: Cluster,
    pub(super) url: String,
    pub(super) pool: PgPool,
    servers: RefCell<Vec<Process>>,
    pub(super) addresses: Vec<SocketAddr>,
    runtimes: RefCell<Vec<Process>>,
    folder: PathBuf,
}

impl Site {
    /// Sets it up in `folder`, without runtimes: their agents are not there yet.
    pub(super) async fn set(folder: &Path) -> Self {
        // Whoever runs PostgreSQL has to get in.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        let kept = Folder::Kept(folder.join("db"));
        let cluster = Cluster::start(ClusterOptions::new(kept)).await.unwrap();
        cluster.create_database("handoffd").await.unwrap();
        let url = cluster.url("handoffd");
        Process::migrate(&url);
        let (mut servers, mut addresses) = (Vec::new(), Vec::new());
        for number in 0..2 {
            let mut command = Process::plain_server(&url);
            command.args(["--lease", LEASE]);
            workload::rules(&mut command);
            let log = folder.join(format!("server-{number}.log"));
            let (server, address) = Process::serve(&mut command, log).await.unwrap();
            servers.push(server);
            addresses.push(address);
        }
        let pool = PgPoolOptions::new().max_connections(2);
        Self {
            cluster,
            pool: pool.connect(&url).await.unwrap(),
            url,
            servers: RefCell::new(servers),
            addresses,
            runtimes: RefCell::default(),
            folder: folder.to_owned(),
        }
    }

    /// Starts the runtimes that work.
    pub(super) fn start_runtimes(&self) {
        fs::create_dir(self.journals()).unwrap();
        for id in ["rust-1", "rust-2"] {
            let orders = Orders {
                agents: workload::AGENTS.map(ToOwned::to_owned).to_vec(),
                journal: Some(self.journals().join(id)),
                ..Orders::new(id, Work::Finish, &self.addresses)
            };
            let log = self.folder.join(format!("{id}.log"));
            let process = Process::start(&mut agents::command(&orders), log);
            self.runtimes.borrow_mut().push(process);
        }
    }

    /// Ends them; they must have nothing in hand.
    pub(super) fn end_runtimes(&self) {
        self.runtimes.borrow_mut().clear();
    }

    /// The servers as the kernel sees them.
    pub(super) fn servers(&self) -> Vec<kernel::Process> {
        let servers = self.servers.borrow();
        servers
            .iter()
            .map(|it| kernel::Process::of(it.id()))
            .collect()
    }

    /// All that the servers said so far.
    pub(super) fn logs(&self) -> String {
        self.servers.borrow().iter().map(Process::log).collect()
    }

    /// Where runtimes write down what they were given.
    pub(super) fn journals(&self) -> PathBuf {
        self.folder.join("journals")
    }

    /// Processor time of the database so far.
    pub(super) fn database_cpu(&self) -> Duration {
        kernel::cluster(self.cluster.pid())
    }

    /// Which processes ended, of which none may.
    pub(super) fn ended(&self) -> Vec<String> {
        let (mut servers, mut runtimes) = (self.servers.borrow_mut(), self.runtimes.borrow_mut());
        let all = servers.iter_mut().chain(runtimes.iter_mut());
        let ended = all.filter_map(|process| Some((process.end()?, process.log())));
        ended
            .map(|(end, log)| {
                let said: Vec<&str> = log.lines().rev().take(5).collect();
                format!("a process ended by itself with {end}: {said:?}")
            })
            .collect()
    }

    /// Statements that sessions of the servers make while `span` passes, as the database itself logs them.
    pub(super) async fn statements(&self, span: Duration) -> BTreeMap<String, usize> {
        self.log_statements(true).await;
        let before = self.database_log().len();
        pause(span).await;
        let log = self.database_log();
        self.log_statements(false).await;
        let mut made = BTreeMap::new();
        for line in String::from_utf8_lossy(&log[before..]).lines() {
            let Some(line) = line.strip_prefix("handoffd|") else {
                continue;
            };
            // Of a statement in parts it is the execution that counts.
            let [simple, parts] =
                [" ms  statement: ", " ms  execute "].map(|it| line.split_once(it));
            let text = simple.or(parts.and_then(|(_, named)| named.split_once(": ")));
            if let Some((_, text)) = text {
                let head: String = text.chars().take(60).collect();
                *made.entry(head).or_default() += 1;
            }
        }
        made
    }

    /// Whether the database is to log every statement.
    async fn log_statements(&self, all: bool) {
        let least = if all {
            "ALTER SYSTEM SET log_min_duration_statement = 0"
        } else {
            "ALTER SYSTEM RESET log_min_duration_statement"
        };
        let named = "ALTER SYSTEM SET log_line_prefix = '%a|'";
        for statement in [named, least, "SELECT pg_reload_conf()"] {
            sqlx::query(statement).execute(&self.pool).await.unwrap();
        }
        pause(SET).await;
    }

    fn database_log(&self) -> Vec<u8> {
        fs::read(self.cluster.folder().join("postgres.log")).unwrap()
    }

    /// Stops all of it.
    pub(super) async fn stop(self) {
        self.end_runtimes();
        self.servers.borrow_mut().clear();
        self.pool.close().await;
        self.cluster.stop().await;
    }
}
