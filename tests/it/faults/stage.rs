//! Where a test plays: a migrated database on real time, servers of the real binary, a workload.

use std::cell::RefCell;
use std::net::SocketAddr;
use std::path::PathBuf;

use futures_util::future::join;
use sqlx::PgPool;
use sqlx::postgres::PgPoolOptions;
use tempfile::TempDir;

use super::agents::{self, Orders, WORKER, Work};
use super::link::Link;
use super::parents::{Load, Parent, agent};
use super::process::Process;
use super::verdict;
use crate::support::database::TestDatabase;
use crate::support::eventually;

/// See the module.
#[derive(Debug)]
pub(super) struct Stage {
    /// To all servers.
    pub(super) link: Link,
    /// For a test's own looks.
    pub(super) pool: PgPool,
    servers: RefCell<Vec<Process>>,
    addresses: Vec<SocketAddr>,
    folder: TempDir,
    _database: Option<TestDatabase>,
}

impl Stage {
    /// Servers on a fresh database of the cluster that all tests share.
    pub(super) async fn set(servers: usize) -> Self {
        let database = TestDatabase::create_empty().await;
        let url = database.url().to_owned();
        let stage = Self::set_on(&url, &url, servers).await;
        Self {
            _database: Some(database),
            ..stage
        }
    }

    /// Servers that reach their database by `url`, which may go through a proxy; the test reaches it
    /// by `direct`.
    pub(super) async fn set_on(url: &str, direct: &str, servers: usize) -> Self {
        Process::migrate(direct);
        let folder = tempfile::tempdir().unwrap();
        let mut processes = Vec::new();
        let mut addresses = Vec::new();
        for at in 0..servers {
            let log = folder.path().join(format!("server-{at}.log"));
            let server = Process::serve(&mut Process::server(url), log).await;
            let (process, address) = server.unwrap();
            processes.push(process);
            addresses.push(address);
        }
        let pool = PgPoolOptions::new().max_connections(2);
        Self {
            link: Link::to(&addresses),
            pool: pool.connect(direct).await.unwrap(),
            servers: RefCell::new(processes),
            addresses,
            folder,
            _database: None,
        }
    }

    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// Where a process of this test writes its log.
    pub(super) fn log(&self, name: &str) -> PathBuf {
        self.folder.path().join(format!("{name}.log"))
    }

    /// SIGKILL to one server.
    pub(super) fn kill(&self, server: usize) {
        self.servers.borrow_mut()[server].kill();
    }

    /// Fails the test where a server that was to live has ended.
    pub(super) fn all_live(&self) {
        for server in self.servers.borrow_mut().iter_mut() {
            assert!(server.is_alive(), "a server ended by itself");
        }
    }

    /// Runs the workload with two runtimes while `fault` happens, and checks what came of it.
    pub(super) async fn under_load(&self, load: &Load, fault: impl AsyncFnOnce()) {
        agent(&self.link, WORKER).await;
        let orders = ["first", "second"].map(|id| Orders::new(id, Work::Finish, &[]));
        let runtimes = join(
            agents::run(&self.link, &orders[0]),
            agents::run(&self.link, &orders[1]),
        );
        let play = async {
            let (parents, ()) = join(load.run(&self.link), fault()).await;
            self.check(load, &parents).await;
        };
        tokio::select! {
            () = play => {}
            _ = runtimes => panic!("a runtime never ends by itself"),
        }
    }

    /// Nothing lost, doubled or stuck.
    pub(super) async fn check(&self, load: &Load, parents: &[Parent]) {
        verdict::check(&self.link, &self.pool, load, parents).await;
    }
}

/// Waits until so many percent of a workload are done.
pub(super) async fn reached(load: &Load, percent: usize) {
    let what = format!("{percent} percent of the work is done");
    eventually(&what, async || load.is_done(percent)).await;
}
