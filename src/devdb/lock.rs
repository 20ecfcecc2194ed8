//! The lock file of a folder.
//!
//! It decides who is alive: the kernel drops the lock with its holder, while a process id may be
//! somebody else's by the time one looks.

use std::fs::{File, TryLockError};
use std::io::{Read, Write};
use std::path::Path;
use std::thread;
use std::time::Duration;

use super::DevdbError;

/// Tries for a lock, 20 ms apart: a process that another thread is just starting holds a copy of
/// our lock for a moment, until it runs its own program.
pub(super) const LOCK_TRIES: u32 = 25;

/// Locks the folder `root` until the answer is closed, and leaves our process id in the file.
pub(super) fn take_lock(root: &Path, tries: u32) -> Result<File, DevdbError> {
    let path = root.join("lock");
    let mut options = File::options();
    options.read(true).write(true).create(true).truncate(false);
    let mut file = options.open(&path).map_err(DevdbError::io("open", &path))?;
    for attempt in 0..tries {
        match file.try_lock() {
            Ok(()) => {
                file.set_len(0).map_err(DevdbError::io("write", &path))?;
                write!(file, "{}", std::process::id()).map_err(DevdbError::io("write", &path))?;
                return Ok(file);
            }
            Err(TryLockError::WouldBlock) if attempt + 1 < tries => {
                thread::sleep(Duration::from_millis(20));
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => return Err(DevdbError::io("lock", &path)(error)),
        }
    }
    let mut holder = String::new();
    file.read_to_string(&mut holder)
        .map_err(DevdbError::io("read", &path))?;
    Err(DevdbError::InUse {
        folder: root.to_owned(),
        holder,
    })
}
