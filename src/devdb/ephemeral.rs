//! Folders that are forgotten at the end, and the shared folder they lie in.
//!
//! Whoever makes one first removes those that nobody holds any more.

use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use rustix::process::geteuid;

use super::DevdbError;
use super::folder::{Home, make_folder};
use super::lock::{LOCK_TRIES, take_lock};
use super::postmaster;

/// Makes and locks a new one.
pub(super) fn open() -> Result<Home, DevdbError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let shared = shared_folder()?;
    let gate_path = shared.join("gate");
    let gate = File::create(&gate_path).map_err(DevdbError::io("create", &gate_path))?;
    // Held until our own lock stands: nobody may take the new folder for a stale one.
    gate.lock().map_err(DevdbError::io("lock", &gate_path))?;
    sweep(&shared);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let root = shared.join(format!("{}-{number}", std::process::id()));
    make_folder(&root)?;
    let lock = take_lock(&root, LOCK_TRIES)?;
    Ok(Home {
        root,
        ephemeral: true,
        _lock: lock,
    })
}

/// Removes ephemeral folders whose holders are gone, and stops what still runs in them.
fn sweep(shared: &Path) {
    for entry in fs::read_dir(shared).into_iter().flatten().flatten() {
        let root = entry.path();
        let name = entry.file_name();
        let ephemeral = name
            .to_string_lossy()
            .starts_with(|first: char| first.is_ascii_digit());
        if !ephemeral {
            continue;
        }
        let Ok(lock) = take_lock(&root, 1) else {
            continue;
        };
        let mut stale = Home {
            root,
            ephemeral: true,
            _lock: lock,
        };
        let cleared = stale
            .socket_folder()
            .and_then(|socket| postmaster::clear(&stale, &socket));
        if let Err(error) = cleared {
            tracing::warn!(%error, "could not stop what runs in a stale folder; it stays");
            stale.ephemeral = false;
        }
    }
}

/// The folder for everything temporary, one per user.
pub(super) fn shared_folder() -> Result<PathBuf, DevdbError> {
    let folder = std::env::temp_dir().join(format!("handoffd-{}", geteuid().as_raw()));
    make_folder(&folder)?;
    // Anybody may make names in /tmp: accept only a real folder of our own.
    let metadata = fs::symlink_metadata(&folder).map_err(DevdbError::io("look at", &folder))?;
    let ours = metadata.uid() == geteuid().as_raw() && metadata.mode() & 0o022 == 0;
    if !metadata.is_dir() || !ours {
        return Err(DevdbError::UnsafeFolder { folder });
    }
    folder
        .canonicalize()
        .map_err(DevdbError::io("resolve", &folder))
}
