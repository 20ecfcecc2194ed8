//! Processes that a test starts, and that end with it whatever happens.

use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use crate::support::eventually;

const BINARY: &str = env!("CARGO_BIN_EXE_handoffd");

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

    /// `handoffd serve` on a port of its own, with leases that a test can wait for.
    pub(super) async fn serve(database: &str, log: PathBuf) -> (Self, SocketAddr) {
        let mut command = Command::new(BINARY);
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        command.args(["--lease", "2s", "--assign-lease", "1s"]);
        // A database that is away for long costs a thread many turns, which is not what is tested.
        command.args(["--max-lost-turns", "50", "--default-accept-handoffs"]);
        command.args(["--poll-interval", "2s", "--max-connections", "4"]);
        command.args(["--database-url", database]);
        let process = Self::start(&mut command, log);
        let mut address = None;
        eventually("the server says where it listens", async || {
            address = process.serving_at();
            address.is_some()
        })
        .await;
        (process, address.unwrap())
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

    /// Whether it still runs.
    pub(super) fn is_alive(&mut self) -> bool {
        self.child.try_wait().unwrap().is_none()
    }

    /// What it said so far.
    pub(super) fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
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
