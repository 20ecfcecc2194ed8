//! A way to PostgreSQL or to a server that can be cut, frozen, and stopped exactly around a COMMIT.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// Where the way is cut when the next COMMIT passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// The database never hears of it.
    BeforeCommit,
    /// It is done, and nobody hears the answer.
    AfterCommit,
    /// It is done and answered, and the next batch is not begun.
    BetweenBatches,
}

/// What comes with such a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The way is open for new connections.
    Open,
    /// The way is frozen.
    Frozen,
    /// The connection stands still at that point, until all are cut.
    Held,
}

/// Where a way leads.
#[derive(Clone, Debug)]
enum Target {
    Socket(PathBuf),
    /// None: nobody is there.
    Address(Option<SocketAddr>),
}

/// See the module. Dropping it ends all connections.
#[derive(Debug)]
pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    shared: Arc<Shared>,
    _work: JoinSet<()>,
}

#[derive(Debug)]
struct Shared {
    target: Mutex<Target>,
    /// Moved on by each cut of everything.
    cuts: watch::Sender<u64>,
    frozen: watch::Sender<bool>,
    armed: Mutex<Option<(Cut, Then)>>,
    /// Moved on by each connection that is held.
    held: watch::Sender<u64>,
}

impl Proxy {
    /// Stands before the PostgreSQL whose socket is in `folder`.
    pub(super) async fn start(folder: PathBuf) -> Self {
        Self::before(Target::Socket(folder.join(".s.PGSQL.5432"))).await
    }

    /// Stands before a server that is still to come.
    pub(super) async fn before_a_server() -> Self {
        Self::before(Target::Address(None)).await
    }

    async fn before(target: Target) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            target: Mutex::new(target),
            cuts: watch::Sender::new(0),
            frozen: watch::Sender::new(false),
            armed: Mutex::default(),
            held: watch::Sender::new(0),
        });
        let mut work = JoinSet::new();
        work.spawn(accept(listener, Arc::clone(&shared)));
        Self {
            address,
            shared,
            _work: work,
        }
    }

    /// The URL of a database behind it.
    pub(super) fn url(&self, database: &str) -> String {
        format!(
            "postgres://postgres@{}/{database}?sslmode=disable",
            self.address
        )
    }

    /// Leads new connections to this server.
    pub(super) fn lead_to(&self, address: SocketAddr) {
        *self.shared.target.lock().unwrap() = Target::Address(Some(address));
    }

    /// Cuts every connection.
    pub(super) fn cut(&self) {
        self.shared.cuts.send_modify(|cuts| *cuts += 1);
    }

    /// Passes nothing on any more, or all again; connections stay.
    pub(super) fn freeze(&self, frozen: bool) {
        self.shared.frozen.send_replace(frozen);
    }

    /// Cuts the connection of the next COMMIT.
    pub(super) fn arm(&self, cut: Cut, then: Then) {
        *self.shared.armed() = Some((cut, then));
    }

    /// Whether that COMMIT is still to come.
    pub(super) fn is_armed(&self) -> bool {
        self.shared.armed().is_some()
    }

    /// Waits until the next COMMIT stands at that point; only a cut ends its connection. Dropped
    /// before, it lets all pass again.
    pub(super) async fn hold(&self, cut: Cut) {
        let disarm = Disarm(&self.shared);
        let mut held = self.shared.held.subscribe();
        self.arm(cut, Then::Held);
        drop(held.changed().await);
        drop(disarm);
    }
}

struct Disarm<'a>(&'a Shared);

impl Drop for Disarm<'_> {
    fn drop(&mut self) {
        *self.0.armed() = None;
    }
}

impl Shared {
    fn armed(&self) -> MutexGuard<'_, Option<(Cut, Then)>> {
        self.armed.lock().unwrap()
    }

    async fn thaw(&self) {
        let mut frozen = self.frozen.subscribe();
        // An error means that the proxy is gone, and with it this connection.
        drop(frozen.wait_for(|frozen| !frozen).await);
    }

    /// What is to be done about a message to the database.
    fn takes_commit(&self, bytes: &[u8]) -> Option<(Cut, Then)> {
        let commits = bytes.windows(7).any(|it| it == b"COMMIT\0");
        let (cut, then) = commits.then(|| self.armed().take()).flatten()?;
        self.frozen.send_replace(then == Then::Frozen);
        Some((cut, then))
    }

    /// Returns when a connection is to be cut that has come to where it is cut.
    async fn cut(&self, then: Then) {
        if then == Then::Held {
            self.held.send_modify(|held| *held += 1);
            std::future::pending::<()>().await;
        }
    }
}

async fn accept(listener: TcpListener, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (client, _) = accepted.unwrap();
                connections.spawn(connect(client, Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connect(client: TcpStream, shared: Arc<Shared>) {
    client.set_nodelay(true).unwrap();
    let mut cuts = shared.cuts.subscribe();
    tokio::select! {
        () = pass(client, &shared) => {}
        _ = cuts.changed() => {}
    }
}

/// The client of a target that is away sees its connection end.
async fn pass(client: TcpStream, shared: &Shared) {
    shared.thaw().await;
    let target = shared.target.lock().unwrap().clone();
    match target {
        Target::Socket(path) => {
            if let Ok(server) = UnixStream::connect(path).await {
                join(client, server, shared).await;
            }
        }
        Target::Address(Some(address)) => {
            if let Ok(server) = TcpStream::connect(address).await {
                server.set_nodelay(true).unwrap();
                join(client, server, shared).await;
            }
        }
        Target::Address(None) => {}
    }
}

async fn join(mut client: TcpStream, server: impl AsyncRead + AsyncWrite, shared: &Shared) {
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = split(server);
    let cut_at = watch::Sender::new(None);
    tokio::select! {
        () = ask(from_client, to_server, shared, &cut_at) => {}
        () = answer(from_server, to_client, shared, &cut_at) => {}
    }
}

/// Passes on what the client says. Returns when the connection is to be cut.
async fn ask(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    cut_at: &watch::Sender<Option<(Cut, Then)>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        shared.thaw().await;
        match shared.takes_commit(&buffer[..read]) {
            Some((Cut::BeforeCommit, then)) => return shared.cut(then).await,
            Some(later) => {
                cut_at.send_replace(Some(later));
            }
            None => {}
        }
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}

/// Passes on what the database says, but for the answer to a COMMIT that nobody is to hear.
async fn answer(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    cut_at: &watch::Sender<Option<(Cut, Then)>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let cut = *cut_at.borrow();
        if let Some((Cut::AfterCommit, then)) = cut {
            return shared.cut(then).await;
        }
        shared.thaw().await;
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
        if let Some((_, then)) = cut {
            return shared.cut(then).await;
        }
    }
}
