//! What can keep the private PostgreSQL from running, said so that a reader knows the next step.

use std::io;
use std::path::{Path, PathBuf};

/// Why a private PostgreSQL could not be found, started or used.
#[derive(Debug, thiserror::Error)]
pub enum DevdbError {
    /// No usable binaries, and getting them is forbidden.
    #[error(
        "no PostgreSQL 15 or newer was found and installing one is switched off; \
         set DATABASE_URL, or install it: `{advice}`"
    )]
    NotFound {
        /// The line to copy on this platform.
        advice: String,
    },
    /// No usable binaries, and every way of getting them failed.
    #[error(
        "no PostgreSQL 15 or newer was found and getting one failed ({tried}); \
         set DATABASE_URL, or install it: `{advice}`"
    )]
    InstallFailed {
        /// Each way that was tried, with its reason.
        tried: String,
        /// The line to copy on this platform.
        advice: String,
    },
    /// `HANDOFFD_PG_BINDIR` names a folder without usable binaries.
    #[error("HANDOFFD_PG_BINDIR `{folder}` is of no use: {reason}")]
    Bindir {
        /// The folder named.
        folder: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The data belongs to a major version for which no binaries were found.
    #[error(
        "data folder `{folder}` was made by PostgreSQL {made_by}, but only PostgreSQL {found} \
         was found; install PostgreSQL {made_by} and name its bin folder in HANDOFFD_PG_BINDIR, \
         or choose another data folder; the data is left as it is"
    )]
    OtherMajor {
        /// The data folder.
        folder: PathBuf,
        /// The version of the data.
        made_by: String,
        /// The versions found on this machine.
        found: String,
    },
    /// Another living process holds the folder.
    #[error(
        "data folder `{folder}` is in use by another handoffd (process {holder}); \
         stop it or choose another data folder"
    )]
    InUse {
        /// The data folder.
        folder: PathBuf,
        /// The process id that the holder left in the lock file.
        holder: String,
    },
    /// A PostgreSQL that this module did not start runs on the folder.
    #[error(
        "data folder `{folder}` is served by a foreign PostgreSQL (process {pid}); stop it first"
    )]
    ForeignServer {
        /// The data folder.
        folder: PathBuf,
        /// Its process.
        pid: i32,
    },
    /// What an earlier server left behind does not end.
    #[error("an earlier PostgreSQL on `{folder}` does not end (processes {pids})")]
    Lingering {
        /// The data folder.
        folder: PathBuf,
        /// The processes that still work in it.
        pids: String,
    },
    /// PostgreSQL refuses root, and the account that runs it instead cannot reach the folder.
    #[error(
        "account `{account}`, which runs PostgreSQL because it refuses root, may not enter \
         `{folder}`; choose a data folder below one that everybody may enter"
    )]
    Unsearchable {
        /// The folder that is closed.
        folder: PathBuf,
        /// The account.
        account: String,
    },
    /// A folder in a shared place is not ours alone.
    #[error("folder `{folder}` belongs to somebody else or is writable by others")]
    UnsafeFolder {
        /// The folder.
        folder: PathBuf,
    },
    /// A socket path would not fit into the system's limit.
    #[error("socket folder `{folder}` is too long; choose a shorter TMPDIR")]
    LongPath {
        /// The folder.
        folder: PathBuf,
    },
    /// A file or process could not be worked with.
    #[error("cannot {action} `{path}`")]
    Io {
        /// The verb.
        action: &'static str,
        /// What it was about.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The data folder could not be made.
    #[error("initdb failed: {output}")]
    Initdb {
        /// What initdb said.
        output: String,
    },
    /// The server ended while starting, or was not ready in time.
    #[error("PostgreSQL did not start ({reason}); the end of its log: {log}")]
    NotReady {
        /// What was seen.
        reason: String,
        /// The last lines of the server's log.
        log: String,
    },
    /// A database name this module refuses to quote.
    #[error("`{name}` is no database name")]
    DatabaseName {
        /// The name.
        name: String,
    },
    /// A statement on the private PostgreSQL failed.
    #[error("statement on the private PostgreSQL failed")]
    Sql(#[from] sqlx::Error),
    /// The thread that keeps the server ended without an answer.
    #[error("the keeper of the private PostgreSQL ended")]
    KeeperGone,
}

impl DevdbError {
    /// Wraps the system's reason with what was being done to which path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io {
            action,
            path,
            source,
        }
    }
}
