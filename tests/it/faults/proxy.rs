//! A way to PostgreSQL or to a server that can be cut, frozen, and stopped exactly around a COMMIT.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, split};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::watch;
use tokio::task::JoinSet;

/// A moment around a COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Point {
    /// The database never hears of it.
    BeforeCommit,
    /// It is done, and nobody hears the answer.
    AfterCommit,
    /// It is done and answered, and the next batch is not begun.
    BetweenBatches,
}

/// What is done with the connection of the next COMMIT.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Trap {
    /// It is cut at that point.
    Cut(Point),
    /// It stands still from that point on, until all connections are cut.
    Hold(Point),
}

impl Trap {
    fn point(self) -> Point {
        match self {
            Self::Cut(point) | Self::Hold(point) => point,
        }
    }
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
    armed: Mutex<Option<Trap>>,
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
    pub(super) fn arm(&self, point: Point) {
        *self.shared.armed() = Some(Trap::Cut(point));
    }

    /// Whether that COMMIT is still to come.
    pub(super) fn is_armed(&self) -> bool {
        self.shared.armed().is_some()
    }

    /// Waits until the next COMMIT stands at that point; only a cut ends its connection. Dropped
    /// before, it lets all pass again.
    pub(super) async fn hold(&self, point: Point) {
        let disarm = Disarm(&self.shared);
        let mut held = self.shared.held.subscribe();
        *self.shared.armed() = Some(Trap::Hold(point));
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
    fn armed(&self) -> MutexGuard<'_, Option<Trap>> {
        self.armed.lock().unwrap()
    }

    async fn thaw(&self) {
        let mut frozen = self.frozen.subscribe();
        // An error means that the proxy is gone, and with it this connection.
        drop(frozen.wait_for(|frozen| !frozen).await);
    }

    /// What is to be done about a message to the database.
    fn takes_commit(&self, bytes: &[u8]) -> Option<Trap> {
        let commits = bytes.windows(7).any(|it| it == b"COMMIT\0");
        commits.then(|| self.armed().take()).flatten()
    }

    /// Carries a trap out. Returns when the connection is to be cut.
    async fn spring(&self, trap: Trap) {
        if let Trap::Hold(_) = trap {
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
    let answers = watch::Sender::new(None);
    tokio::select! {
        () = ask(from_client, to_server, shared, &answers) => {}
        () = answer(from_server, to_client, shared, &answers) => {}
    }
}

/// Passes on what the client says. Returns when the connection is to be cut.
async fn ask(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    trapped: &watch::Sender<Option<Trap>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        shared.thaw().await;
        if let Some(trap) = shared.takes_commit(&buffer[..read]) {
            if trap.point() == Point::BeforeCommit {
                return shared.spring(trap).await;
            }
            trapped.send_replace(Some(trap));
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
    trapped: &watch::Sender<Option<Trap>>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        shared.thaw().await;
        let trap = *trapped.borrow();
        let heard = trap.is_none_or(|trap| trap.point() != Point::AfterCommit);
        if heard && to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
        if let Some(trap) = trap {
            return shared.spring(trap).await;
        }
    }
}
