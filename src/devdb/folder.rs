//! The folder of one private PostgreSQL.
//!
//! ```text
//! <folder>/lock            held while a handoffd uses the folder; names its process
//! <folder>/postgres        PGDATA
//! <folder>/run             the socket (elsewhere when this path is too long for one)
//! <folder>/postgres.log    the server's log of this start; the one before it ends in `.1`
//! ```

use std::fs::{self, DirBuilder, File};
use std::io::ErrorKind;
use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::account::{Account, is_root};
use super::lock::{LOCK_TRIES, take_lock};
use super::{DevdbError, ephemeral};

/// Longest path of a socket folder, in bytes: the system's limit (104 or 108) less the name of the
/// socket, with some room.
const SOCKET_FOLDER_LIMIT: usize = 90;

/// Where a private PostgreSQL keeps its data.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Folder {
    /// This folder, made when missing and never removed.
    Kept(PathBuf),
    /// A new one in the system's folder for temporary files, removed at the end.
    Ephemeral,
}

/// The folder `dev` uses unless told otherwise: `XDG_DATA_HOME/handoffd` and its kin, for root
/// `/var/lib/handoffd`.
#[must_use]
pub fn default_folder() -> PathBuf {
    let set = |name| {
        std::env::var_os(name)
            .filter(|value| !value.is_empty())
            .map(PathBuf::from)
    };
    if is_root() {
        return PathBuf::from("/var/lib/handoffd");
    }
    if let Some(folder) = set("XDG_DATA_HOME") {
        return folder.join("handoffd");
    }
    match set("HOME") {
        Some(home) if cfg!(target_os = "macos") => {
            home.join("Library/Application Support/handoffd")
        }
        Some(home) => home.join(".local/share/handoffd"),
        None => PathBuf::from("handoffd-data"),
    }
}

/// A folder whose lock this process holds.
#[derive(Debug)]
pub(super) struct Home {
    pub(super) root: PathBuf,
    pub(super) ephemeral: bool,
    /// Unlocks when closed.
    pub(super) _lock: File,
}

impl Home {
    pub(super) fn open(folder: &Folder) -> Result<Self, DevdbError> {
        match folder {
            Folder::Kept(root) => {
                make_folder(root)?;
                let root = root
                    .canonicalize()
                    .map_err(DevdbError::io("resolve", root))?;
                let lock = take_lock(&root, LOCK_TRIES)?;
                Ok(Self {
                    root,
                    ephemeral: false,
                    _lock: lock,
                })
            }
            Folder::Ephemeral => ephemeral::open(),
        }
    }

    pub(super) fn root(&self) -> &Path {
        &self.root
    }

    pub(super) fn is_ephemeral(&self) -> bool {
        self.ephemeral
    }

    pub(super) fn pgdata(&self) -> PathBuf {
        self.root.join("postgres")
    }

    /// Where initdb works until it is done.
    pub(super) fn unfinished_pgdata(&self) -> PathBuf {
        self.root.join("postgres.unfinished")
    }

    pub(super) fn log(&self) -> PathBuf {
        self.root.join("postgres.log")
    }

    /// Where the socket is; only one account may enter there, so trust is safe.
    pub(super) fn socket_folder(&self) -> Result<PathBuf, DevdbError> {
        let fits = |folder: &PathBuf| folder.as_os_str().len() < SOCKET_FOLDER_LIMIT;
        let inside = self.root.join("run");
        if fits(&inside) {
            return Ok(inside);
        }
        let outside =
            ephemeral::shared_folder()?.join(format!("run-{:016x}", path_hash(&self.root)));
        if fits(&outside) {
            Ok(outside)
        } else {
            Err(DevdbError::LongPath { folder: outside })
        }
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if let Ok(socket_folder) = self.socket_folder()
            && !socket_folder.starts_with(&self.root)
        {
            // Fails on one that is not empty or was never made; either may stay.
            drop(fs::remove_dir(socket_folder));
        }
        if self.ephemeral
            && let Err(error) = fs::remove_dir_all(&self.root)
        {
            // The next ephemeral start removes it.
            tracing::debug!(folder = %self.root.display(), %error, "could not remove the folder");
        }
    }
}

/// Makes a folder that only `account` may enter, or makes an existing one such.
pub(super) fn make_private(folder: &Path, account: &Account) -> Result<(), DevdbError> {
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            return Err(DevdbError::io("create", folder)(error));
        }
        Ok(()) | Err(_) => {}
    }
    set_mode(folder, 0o700)?;
    account.own(folder)
}

/// Makes a folder and those above it; what root makes, the lent account may enter.
pub(super) fn make_folder(folder: &Path) -> Result<(), DevdbError> {
    if folder.is_dir() {
        return Ok(());
    }
    fs::create_dir_all(folder).map_err(DevdbError::io("create", folder))?;
    set_mode(folder, if is_root() { 0o755 } else { 0o700 })
}

fn set_mode(folder: &Path, mode: u32) -> Result<(), DevdbError> {
    fs::set_permissions(folder, fs::Permissions::from_mode(mode))
        .map_err(DevdbError::io("set the mode of", folder))
}

/// FNV-1a: the same for the same path in every build.
fn path_hash(path: &Path) -> u64 {
    path.as_os_str()
        .as_encoded_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        })
}
