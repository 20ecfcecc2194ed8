//! What is tortured: a PostgreSQL of its own, two servers behind proxies on both sides, four runtimes
//! in two languages. Nothing else is ever signalled.

use std::cell::{Cell, RefCell};
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::time::Duration;

use handoffd::devdb::{Cluster, ClusterOptions, Folder};
use rustix::process::Signal;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;

use super::python;
use crate::faults::agents::{self, Orders, Work};
use crate::faults::process::{Process, send};
use crate::faults::proxy::Proxy;
use crate::faults::workload;
use crate::support::pause;

/// How long a server that finds no database waits before it is started again.
const AGAIN: Duration = Duration::from_millis(300);

/// See the module.
pub(super) struct Stand {
    pub(super) database: Database,
    pub(super) servers: Vec<Server>,
    pub(super) runtimes: Vec<Runtime>,
    /// For looks past all proxies.
    pub(super) pool: PgPool,
    pub(super) folder: PathBuf,
}

impl Stand {
    /// Sets it up in `folder`, without runtimes: their agents are not there yet.
    pub(super) async fn set(folder: &Path) -> Self {
        // Whoever runs PostgreSQL has to get in.
        fs::set_permissions(folder, fs::Permissions::from_mode(0o755)).unwrap();
        let database = Database::start(folder.join("db")).await;
        let url = database.cluster.borrow().as_ref().unwrap().url("handoffd");
        Process::migrate(&url);
        let socket = database.socket_folder();
        let mut servers = Vec::new();
        for number in 0..2 {
            servers.push(Server::start(number, socket.clone(), folder).await);
        }
        let pool = PgPoolOptions::new().max_connections(3);
        Self {
            database,
            servers,
            runtimes: Vec::new(),
            pool: pool.connect(&url).await.unwrap(),
            folder: folder.to_owned(),
        }
    }

    /// Where servers are called: at their proxies, which stay where they are.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        self.servers.iter().map(|it| it.front.address).collect()
    }

    /// Starts two runtimes in each language. One in Python knows one server only.
    pub(super) fn start_runtimes(&mut self) {
        let journals = self.journals();
        fs::create_dir(&journals).unwrap();
        let addresses = self.addresses();
        for (id, servers) in [
            ("rust-1", &addresses[..]),
            ("rust-2", &addresses[..]),
            ("python-1", &addresses[..1]),
            ("python-2", &addresses[1..]),
        ] {
            let orders = Orders {
                agents: workload::AGENTS.map(ToOwned::to_owned).to_vec(),
                journal: Some(journals.join(id)),
                ..Orders::new(id, Work::Finish, servers)
            };
            let log = self.folder.join(format!("{id}.log"));
            self.runtimes.push(Runtime::start(orders, log));
        }
    }

    /// Where runtimes write down what they were given.
    pub(super) fn journals(&self) -> PathBuf {
        self.folder.join("journals")
    }
}

/// PostgreSQL, in processes of its own.
pub(super) struct Database {
    cluster: RefCell<Option<Cluster>>,
    options: ClusterOptions,
}

impl Database {
    async fn start(folder: PathBuf) -> Self {
        let options = ClusterOptions::new(Folder::Kept(folder));
        let cluster = Cluster::start(options.clone()).await.unwrap();
        cluster.create_database("handoffd").await.unwrap();
        Self {
            cluster: RefCell::new(Some(cluster)),
            options,
        }
    }

    fn socket_folder(&self) -> PathBuf {
        self.cluster
            .borrow()
            .as_ref()
            .unwrap()
            .socket_folder()
            .clone()
    }

    fn postmaster(&self) -> i32 {
        let pid = self.cluster.borrow().as_ref().unwrap().pid();
        pid.try_into().unwrap()
    }

    /// The processes that serve connections of ours, and all others of it.
    pub(super) fn backends(&self) -> (Vec<i32>, Vec<i32>) {
        let postmaster = self.postmaster();
        let children = format!("/proc/{postmaster}/task/{postmaster}/children");
        let children = fs::read_to_string(children).unwrap_or_default();
        let serves = |pid: &i32| {
            let title = fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            title.contains("handoffd")
        };
        let all = children.split_whitespace().map(|pid| pid.parse().unwrap());
        let (backends, mut others): (Vec<i32>, Vec<i32>) = all.partition(serves);
        others.push(postmaster);
        (backends, others)
    }

    /// An immediate shutdown: no checkpoint, no word to clients, recovery at the next start.
    pub(super) async fn crash(&self, away: Duration) {
        let cluster = self.cluster.take().unwrap();
        send(cluster.pid().try_into().unwrap(), Signal::QUIT);
        cluster.ended().await;
        drop(cluster);
        pause(away).await;
        let again = Cluster::start(self.options.clone()).await.unwrap();
        self.cluster.replace(Some(again));
    }

    /// Stops it in order, where it still runs.
    pub(super) async fn stop(&self) {
        let cluster = self.cluster.take();
        if let Some(cluster) = cluster {
            cluster.stop().await;
        }
    }
}

/// Processes that stand still; they go on when this is dropped.
pub(super) struct Frozen(Vec<i32>);

impl Frozen {
    pub(super) fn all(pids: Vec<i32>) -> Self {
        for pid in &pids {
            send(*pid, Signal::STOP);
        }
        Self(pids)
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        for pid in &self.0 {
            send(*pid, Signal::CONT);
        }
    }
}

/// What a server takes for the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Clock {
    Right,
    /// One hour off, ahead or behind.
    Ahead,
    Behind,
}

/// A server, in whatever process it is now.
pub(super) struct Server {
    /// Where it is called.
    pub(super) front: Proxy,
    /// Its way to the database.
    pub(super) back: Proxy,
    process: RefCell<Option<Process>>,
    number: usize,
    starts: Cell<u32>,
    folder: PathBuf,
}

impl Server {
    async fn start(number: usize, socket: PathBuf, folder: &Path) -> Self {
        let server = Self {
            front: Proxy::before_a_server().await,
            back: Proxy::start(socket).await,
            process: RefCell::default(),
            number,
            starts: Cell::default(),
            folder: folder.to_owned(),
        };
        server.start_again(Clock::Right).await;
        server
    }

    /// Starts it; one that finds no database ends, and is started again. Answers how often that was.
    pub(super) async fn start_again(&self, clock: Clock) -> u64 {
        for vain in 0..200 {
            self.starts.set(self.starts.get() + 1);
            let name = format!("server-{}.{}.log", self.number, self.starts.get());
            let mut command = Process::server(&self.back.url("handoffd"));
            workload::rules(&mut command);
            shift(&mut command, clock);
            if let Some((process, address)) =
                Process::serve(&mut command, self.folder.join(name)).await
            {
                self.front.lead_to(address);
                self.process.replace(Some(process));
                return vain;
            }
            pause(AGAIN).await;
        }
        panic!("server {} does not start", self.number);
    }

    /// SIGKILL; what its connections held is gone.
    pub(super) fn kill(&self) {
        self.process.take().unwrap().kill();
        self.front.cut();
        self.back.cut();
    }

    pub(super) fn signal(&self, signal: Signal) {
        let process = self.process.borrow();
        process.as_ref().unwrap().signal(signal);
    }

    /// How it ended by itself, where it did.
    pub(super) fn end(&self) -> Option<ExitStatus> {
        self.process.borrow_mut().as_mut().and_then(Process::end)
    }

    /// Whatever all of its processes said.
    pub(super) fn logs(&self) -> String {
        let names =
            (1..=self.starts.get()).map(|start| format!("server-{}.{start}.log", self.number));
        names
            .map(|name| fs::read_to_string(self.folder.join(name)).unwrap_or_default())
            .collect()
    }
}

/// Makes a process live at another time. Its monotonic clock is right: that is never set.
fn shift(command: &mut Command, clock: Clock) {
    let offset = match clock {
        Clock::Right => return,
        Clock::Ahead => "+1h",
        Clock::Behind => "-1h",
    };
    let library = faketime().unwrap();
    command
        .env("LD_PRELOAD", library)
        .env("FAKETIME", offset)
        .env("FAKETIME_DONT_FAKE_MONOTONIC", "1")
        .env("FAKETIME_DISABLE_SHM", "1");
}

/// The library that makes a process live at another time, where it is installed.
pub(super) fn faketime() -> Option<PathBuf> {
    let name = "faketime/libfaketimeMT.so.1";
    let folders = fs::read_dir("/usr/lib").ok()?.flatten();
    let mut found = folders.map(|folder| folder.path().join(name));
    found.find(|path| path.exists())
}

/// A runtime, in whatever process it is now.
pub(super) struct Runtime {
    orders: Orders,
    log: PathBuf,
    process: RefCell<Option<Process>>,
}

impl Runtime {
    fn start(orders: Orders, log: PathBuf) -> Self {
        let runtime = Self {
            orders,
            log,
            process: RefCell::default(),
        };
        runtime.start_again();
        runtime
    }

    pub(super) fn start_again(&self) {
        let mut command = if self.orders.id.starts_with("python") {
            python::command(&self.orders)
        } else {
            agents::command(&self.orders)
        };
        let process = Process::start(&mut command, self.log.clone());
        self.process.replace(Some(process));
    }

    /// SIGKILL.
    pub(super) fn kill(&self) {
        if let Some(mut process) = self.process.take() {
            process.kill();
        }
    }

    pub(super) fn signal(&self, signal: Signal) {
        if let Some(process) = &*self.process.borrow() {
            process.signal(signal);
        }
    }

    /// How it ended by itself, where it did.
    pub(super) fn end(&self) -> Option<ExitStatus> {
        self.process.borrow_mut().as_mut().and_then(Process::end)
    }

    pub(super) fn id(&self) -> &str {
        &self.orders.id
    }

    pub(super) fn said(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }
}
