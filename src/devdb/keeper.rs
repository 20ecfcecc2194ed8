//! The thread that starts one server, lives as long as it, and ends it.
//!
//! The kernel ties a child's life to the thread that started it, and a runtime's threads come and
//! go (each test has its own runtime). So one plain thread does everything that blocks: look for
//! binaries, fetch them, start, watch, stop.

use std::path::PathBuf;
use std::process::Child;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use tokio::sync::{oneshot, watch};

use super::DevdbError;
use super::account::Account;
use super::cluster::ClusterOptions;
use super::folder::{Home, make_private};
use super::install::find_or_install;
use super::janitor::Janitor;
use super::{initdb, launch, postmaster};

/// How often the keeper looks whether the server still lives.
const WATCH_PERIOD: Duration = Duration::from_millis(250);

/// No order is ever sent: the closing of the channel is the order to stop.
#[derive(Debug)]
pub(super) enum Never {}

/// What a caller learns of a server that is ready.
#[derive(Debug)]
pub(super) struct Ready {
    pub(super) socket_folder: PathBuf,
    pub(super) root: PathBuf,
    pub(super) pid: u32,
    pub(super) major: u32,
}

/// Starts a server, keeps it until `orders` closes, stops it.
pub(super) fn keep(
    options: &ClusterOptions,
    started: oneshot::Sender<Result<Ready, DevdbError>>,
    orders: &Receiver<Never>,
    ended: &watch::Sender<bool>,
) {
    match start(options, orders) {
        Ok((home, mut child, ready)) => {
            let janitor = Janitor::hire(&home, ready.pid);
            if let Err(error) = &janitor {
                tracing::warn!(%error, "nobody will clean up if this process is killed");
            }
            if started.send(Ok(ready)).is_ok() {
                watch_over(&mut child, &home, orders);
            }
            launch::stop(&mut child, &home);
        }
        // Nobody to tell: the caller gave up.
        Err(error) => drop(started.send(Err(error))),
    }
    // The folder is unlocked by now, and removed if it was ephemeral.
    ended.send_replace(true);
}

fn start(
    options: &ClusterOptions,
    orders: &Receiver<Never>,
) -> Result<(Home, Child, Ready), DevdbError> {
    let home = Home::open(&options.folder)?;
    let pgdata = home.pgdata();
    let account = Account::choose(&pgdata);
    account.check_reach(home.root())?;
    let data_major = initdb::data_major(&pgdata)?;
    let wanted = data_major.map(|major| (pgdata.as_path(), major));
    let binaries = find_or_install(&options.search, options.install, &account, wanted)?;
    let socket_folder = home.socket_folder()?;
    make_private(&socket_folder, &account)?;
    if data_major.is_none() {
        initdb::initialise(&binaries, &account, &home, options.durability)?;
    }
    postmaster::clear(&home, &socket_folder)?;
    let mut child = launch::spawn(&binaries, &account, &home, &socket_folder, options)?;
    if let Err(error) = launch::await_ready(&mut child, &home, orders) {
        launch::stop(&mut child, &home);
        return Err(error);
    }
    let pid = child.id();
    let root = home.root().to_owned();
    tracing::debug!(pid, folder = %root.display(), major = binaries.major, "PostgreSQL is ready");
    Ok((
        home,
        child,
        Ready {
            socket_folder,
            root,
            pid,
            major: binaries.major,
        },
    ))
}

/// Returns when `orders` closes or the server has ended.
fn watch_over(child: &mut Child, home: &Home, orders: &Receiver<Never>) {
    loop {
        match orders.recv_timeout(WATCH_PERIOD) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
            Ok(never) => match never {},
        }
        match child.try_wait() {
            Ok(None) => {}
            Ok(Some(status)) => {
                tracing::error!(%status, log = %home.log().display(), "PostgreSQL ended by itself");
                return;
            }
            Err(error) => tracing::warn!(%error, "cannot look after PostgreSQL"),
        }
    }
}
