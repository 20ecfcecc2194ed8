//! A way to PostgreSQL that can be cut, frozen, and cut exactly around a COMMIT.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
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
}

/// What comes after such a cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// The way is open for new connections.
    Open,
    /// The way is frozen.
    Frozen,
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
    /// Moved on by each cut of everything.
    cuts: watch::Sender<u64>,
    frozen: watch::Sender<bool>,
    armed: Mutex<Option<(Cut, Then)>>,
}

impl Proxy {
    /// Stands before the server whose socket is in `folder`.
    pub(super) async fn start(folder: PathBuf) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let shared = Arc::new(Shared {
            cuts: watch::Sender::new(0),
            frozen: watch::Sender::new(false),
            armed: Mutex::default(),
        });
        let socket = folder.join(".s.PGSQL.5432");
        let mut work = JoinSet::new();
        work.spawn(accept(listener, socket, Arc::clone(&shared)));
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
    fn takes_commit(&self, bytes: &[u8]) -> Option<Cut> {
        let commits = bytes.windows(7).any(|it| it == b"COMMIT\0");
        let (cut, then) = commits.then(|| self.armed().take()).flatten()?;
        self.frozen.send_replace(then == Then::Frozen);
        Some(cut)
    }
}

async fn accept(listener: TcpListener, socket: PathBuf, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let (client, _) = accepted.unwrap();
                connections.spawn(connect(client, socket.clone(), Arc::clone(&shared)));
            }
            Some(_) = connections.join_next() => {}
        }
    }
}

async fn connect(mut client: TcpStream, socket: PathBuf, shared: Arc<Shared>) {
    client.set_nodelay(true).unwrap();
    let mut cuts = shared.cuts.subscribe();
    shared.thaw().await;
    // Dropped where the database is away: the client sees its end.
    let Ok(mut server) = UnixStream::connect(socket).await else {
        return;
    };
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let answers = watch::Sender::new(false);
    tokio::select! {
        () = ask(from_client, to_server, &shared, &answers) => {}
        () = answer(from_server, to_client, &shared, &answers) => {}
        _ = cuts.changed() => {}
    }
}

/// Passes on what the client says. Returns when the connection is to be cut.
async fn ask(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    shared: &Shared,
    silent: &watch::Sender<bool>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        shared.thaw().await;
        let cut = shared.takes_commit(&buffer[..read]);
        if cut == Some(Cut::BeforeCommit) {
            return;
        }
        if cut == Some(Cut::AfterCommit) {
            silent.send_replace(true);
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
    silent: &watch::Sender<bool>,
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        if *silent.borrow() {
            return;
        }
        shared.thaw().await;
        if to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
