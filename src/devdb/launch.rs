//! Starting the server, waiting until it is ready, stopping it.

use std::fs::{self, File};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::account::Account;
use super::cluster::{ClusterOptions, Durability};
use super::find::Binaries;
use super::folder::Home;
use super::postmaster::{self, PidFile};
use super::tie::end_with_this_thread;
use super::{DevdbError, keeper::Never};

/// How long a start may take; after a crash it replays the log first.
const START_LIMIT: Duration = Duration::from_mins(2);

/// How long a fast shutdown may take before it is made an immediate one, and that a kill.
const STOP_LIMIT: Duration = Duration::from_secs(30);

/// Between two looks at a server that starts or stops.
const LOOK_PERIOD: Duration = Duration::from_millis(5);

/// Starts the server; its output goes to the log of the folder.
pub(super) fn spawn(
    binaries: &Binaries,
    account: &Account,
    home: &Home,
    socket_folder: &Path,
    options: &ClusterOptions,
) -> Result<Child, DevdbError> {
    let log = fresh_log(home)?;
    let copy = log
        .try_clone()
        .map_err(DevdbError::io("open", &home.log()))?;
    let mut command = account.command(&binaries.postgres);
    command
        .arg("-D")
        .arg(home.pgdata())
        .stdout(copy)
        .stderr(log)
        .stdin(Stdio::null());
    let quoted = socket_folder.to_string_lossy().replace('"', "\"\"");
    command
        .arg("-c")
        .arg(format!("unix_socket_directories=\"{quoted}\""));
    command
        .arg("-c")
        .arg(format!("max_connections={}", options.max_connections));
    for setting in settings(options.durability) {
        command.arg("-c").arg(setting);
    }
    end_with_this_thread(&mut command, end_signal(home));
    command
        .spawn()
        .map_err(DevdbError::io("run", &binaries.postgres))
}

/// What every start sets, whatever the folder's postgresql.conf says.
const SETTINGS: [&str; 9] = [
    "listen_addresses=",
    "port=5432",
    "unix_socket_permissions=0700",
    "shared_buffers=128MB",
    "logging_collector=off",
    "log_destination=stderr",
    "timezone=UTC",
    "log_timezone=UTC",
    // As production: what a commit means must not differ in tests.
    "synchronous_commit=on",
];

/// What makes commits cheap, and tests alike.
const FORGETFUL_SETTINGS: [&str; 5] = [
    "fsync=off",
    "full_page_writes=off",
    "wal_level=minimal",
    "max_wal_senders=0",
    // Plans in tests must not depend on whether it came by.
    "autovacuum=off",
];

fn settings(durability: Durability) -> impl Iterator<Item = &'static str> {
    let more = FORGETFUL_SETTINGS
        .into_iter()
        .filter(move |_| durability == Durability::Off);
    SETTINGS.into_iter().chain(more)
}

/// Fast shutdown where data matters, immediate where it goes away anyway.
fn end_signal(home: &Home) -> Signal {
    if home.is_ephemeral() {
        Signal::QUIT
    } else {
        Signal::INT
    }
}

fn fresh_log(home: &Home) -> Result<File, DevdbError> {
    let path = home.log();
    if path.exists() {
        let before = path.with_extension("log.1");
        fs::rename(&path, before).map_err(DevdbError::io("rename", &path))?;
    }
    File::options()
        .append(true)
        .create(true)
        .open(&path)
        .map_err(DevdbError::io("create", &path))
}

/// Waits until the server says `ready`; gives up when it ends, or when `orders` closes.
pub(super) fn await_ready(
    child: &mut Child,
    home: &Home,
    orders: &Receiver<Never>,
) -> Result<(), DevdbError> {
    let limit = Instant::now() + START_LIMIT;
    let not_ready = |reason: String| DevdbError::NotReady {
        reason,
        log: log_end(home),
    };
    loop {
        let exited = child
            .try_wait()
            .map_err(DevdbError::io("wait for", home.root()))?;
        if let Some(status) = exited {
            return Err(not_ready(format!("it ended with {status}")));
        }
        let file = PidFile::read(&home.pgdata());
        let ready = file.is_some_and(|file| owns(child, file.pid) && file.is_ready());
        if ready {
            return Ok(());
        }
        if Instant::now() > limit {
            return Err(not_ready(format!(
                "not ready after {} s",
                START_LIMIT.as_secs()
            )));
        }
        match orders.recv_timeout(LOOK_PERIOD) {
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(not_ready("nobody waits for it any more".to_owned()));
            }
            Ok(never) => match never {},
        }
    }
}

/// The pid file may still be an earlier server's.
fn owns(child: &Child, pid: i32) -> bool {
    u32::try_from(pid).is_ok_and(|pid| pid == child.id())
}

/// Stops the server and waits for its end, each time harder.
pub(super) fn stop(child: &mut Child, home: &Home) {
    let Ok(pid) = i32::try_from(child.id()) else {
        return;
    };
    for signal in [end_signal(home), Signal::QUIT, Signal::KILL] {
        postmaster::signal(pid, signal);
        let limit = Instant::now() + STOP_LIMIT;
        while Instant::now() < limit {
            match child.try_wait() {
                Ok(Some(_)) => return,
                Ok(None) => std::thread::sleep(LOOK_PERIOD),
                Err(error) => {
                    tracing::warn!(pid, %error, "cannot wait for PostgreSQL");
                    return;
                }
            }
        }
        tracing::warn!(pid, "PostgreSQL does not stop; asking harder");
    }
}

fn log_end(home: &Home) -> String {
    let text = fs::read(home.log()).unwrap_or_default();
    let text = String::from_utf8_lossy(&text);
    let lines: Vec<&str> = text.trim().lines().rev().take(5).collect();
    lines.into_iter().rev().collect::<Vec<_>>().join(" | ")
}
