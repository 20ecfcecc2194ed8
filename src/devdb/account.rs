//! Who runs PostgreSQL, and how its processes are started.
//!
//! initdb and postgres refuse root, so a handoffd that runs as root (a container, a CI job) lends
//! them another account. Every child is in a process group of its own, so that Ctrl-C reaches
//! handoffd first and PostgreSQL goes last.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use rustix::process::geteuid;

use super::DevdbError;

/// The variables of the environment that a child gets; all others (`PG...`, secrets) stay away.
const KEPT_VARIABLES: [&str; 5] = [
    "PATH",
    "TMPDIR",
    "LD_LIBRARY_PATH",
    "DYLD_LIBRARY_PATH",
    "SYSTEMROOT",
];

/// The account that owns the data and runs the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Account {
    /// The one that runs handoffd.
    Own,
    /// Another one, since handoffd runs as root.
    Lent { name: String, uid: u32, gid: u32 },
}

/// Tells whether handoffd runs as root.
pub(super) fn is_root() -> bool {
    geteuid().is_root()
}

impl Account {
    /// Chooses the owner of the existing data, else `postgres`, else `nobody`.
    pub(super) fn choose(pgdata: &Path) -> Self {
        if !is_root() {
            return Self::Own;
        }
        if let Ok(metadata) = fs::metadata(pgdata)
            && metadata.uid() != 0
        {
            let (uid, gid) = (metadata.uid(), metadata.gid());
            return Self::Lent {
                name: uid.to_string(),
                uid,
                gid,
            };
        }
        let passwd = fs::read_to_string("/etc/passwd").unwrap_or_default();
        ["postgres", "_postgres", "nobody"]
            .into_iter()
            .find_map(|name| Self::listed(&passwd, name))
            .unwrap_or_else(|| Self::Lent {
                name: "nobody".to_owned(),
                uid: 65534,
                gid: 65534,
            })
    }

    fn listed(passwd: &str, name: &str) -> Option<Self> {
        let line = passwd
            .lines()
            .find(|line| line.split(':').next() == Some(name))?;
        let mut ids = line.split(':').skip(2).map(|id| id.parse::<u32>().ok());
        let (uid, gid) = (ids.next()??, ids.next()??);
        (uid != 0).then(|| Self::Lent {
            name: name.to_owned(),
            uid,
            gid,
        })
    }

    /// A command that runs as this account, with a small environment and away from our terminal.
    pub(super) fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("LC_ALL", "C").env("TZ", "UTC");
        for name in KEPT_VARIABLES {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        // The account may not enter the folder we stand in.
        command
            .current_dir("/")
            .stdin(Stdio::null())
            .process_group(0);
        if let Self::Lent { uid, gid, .. } = self {
            // The standard library also drops root's supplementary groups here.
            command.uid(*uid).gid(*gid);
        }
        command
    }

    /// Gives `path` to this account.
    pub(super) fn own(&self, path: &Path) -> Result<(), DevdbError> {
        match self {
            Self::Own => Ok(()),
            Self::Lent { uid, gid, .. } => std::os::unix::fs::chown(path, Some(*uid), Some(*gid))
                .map_err(DevdbError::io("give away", path)),
        }
    }

    /// Checks that this account may enter `folder` and all folders above it.
    pub(super) fn check_reach(&self, folder: &Path) -> Result<(), DevdbError> {
        let Self::Lent { name, uid, gid } = self else {
            return Ok(());
        };
        for ancestor in folder.ancestors() {
            let metadata = fs::metadata(ancestor).map_err(DevdbError::io("look at", ancestor))?;
            let search_bit = match () {
                () if metadata.uid() == *uid => 0o100,
                () if metadata.gid() == *gid => 0o010,
                () => 0o001,
            };
            if metadata.mode() & search_bit == 0 {
                return Err(DevdbError::Unsearchable {
                    folder: ancestor.to_owned(),
                    account: name.clone(),
                });
            }
        }
        Ok(())
    }
}
