//! Processes that a test starts, and that end with it whatever happens.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::support::within;

const BINARY: &str = env!("CARGO_BIN_EXE_handoffd");

/// How long a server may take to say where it listens, also where its database is frozen for a while.
const START: Duration = Duration::from_mins(1);

/// A running process. Dropping it kills it.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts `command`; what it says goes to `log`.
    pub(super) fn start(command: &mut Command, log: PathBuf) -> Self {
        let file = File::options()
            .create(true)
            .append(true)
            .open(&log)
            .unwrap();
        let child = command
            .stdin(Stdio::null())
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Self { child, log }
    }

    /// `handoffd serve` on a port of its own, as it comes.
    pub(super) fn plain_server(database: &str) -> Command {
        let mut command = Command::new(BINARY);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--default-accept-handoffs", "--database-url", database]);
        command
    }

    /// The same with leases that a test can wait for.
    pub(super) fn server(database: &str) -> Command {
        let mut command = Self::plain_server(database);
        command.args(["--lease", "2s", "--assign-lease", "1s"]);
        // A database that is away for long costs a thread many turns, which is not what is tested.
        command.args(["--max-lost-turns", "50"]);
        command.args(["--poll-interval", "2s", "--max-connections", "4"]);
        command
    }

    /// Starts a server, and finds where it listens. None: it ended before.
    pub(super) async fn serve(command: &mut Command, log: PathBuf) -> Option<(Self, SocketAddr)> {
        let mut process = Self::start(command, log);
        let mut address = None;
        let told = within(START, async || {
            address = process.serving_at();
            address.is_some() || !process.is_alive()
        });
        assert!(told.await, "a server neither listens nor ends");
        address.map(|address| (process, address))
    }

    /// `handoffd migrate`, to its end.
    pub(super) fn migrate(database: &str) {
        let done = Command::new(BINARY)
            .args(["migrate", "--database-url", database])
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "migrate: {said}");
    }

    /// SIGKILL: no word to anybody.
    pub(super) fn kill(&mut self) {
        // Fails only where it has ended and was waited for.
        drop(self.child.kill());
        drop(self.child.wait());
    }

    /// Sends a signal; one that ended by itself hears nothing.
    pub(super) fn signal(&self, signal: Signal) {
        send(self.child.id().try_into().unwrap(), signal);
    }

    /// Its number in the system.
    pub(super) fn id(&self) -> u32 {
        self.child.id()
    }

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        self.end().is_none()
    }

    /// How it ended, where it did.
    pub(super) fn end(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap()
    }

    /// What it said so far.
    pub(super) fn log(&self) -> String {
        let log = std::fs::read(&self.log).unwrap_or_default();
        String::from_utf8_lossy(&log).into_owned()
    }

    fn serving_at(&self) -> Option<SocketAddr> {
        let log = self.log();
        let line = log.lines().find(|line| line.contains("serving"))?;
        let (_, rest) = line.split_once("address=")?;
        rest.split_whitespace()
            .next()?
            .trim_matches('"')
            .parse()
            .ok()
    }
}

/// Sends a signal to a process of ours.
pub(super) fn send(pid: i32, signal: Signal) {
    // It may just have ended.
    let _ = kill_process(Pid::from_raw(pid).unwrap(), signal);
}

impl Drop for Process {
    fn drop(&mut self) {
        self.kill();
        if std::thread::panicking() {
            let log = self.log();
            let from = log.len().saturating_sub(4_000);
            let from = (from..log.len()).find(|at| log.is_char_boundary(*at));
            #[expect(
                clippy::print_stderr,
                reason = "a failed test says what the server said"
            )]
            {
                eprintln!("--- {}\n{}", self.log.display(), &log[from.unwrap_or(0)..]);
            }
        }
    }
}
