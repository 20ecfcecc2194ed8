//! Making the data folder, and telling what made an existing one.

use std::fs;
use std::path::Path;

use rustix::process::Signal;

use super::DevdbError;
use super::account::Account;
use super::cluster::Durability;
use super::find::Binaries;
use super::folder::{Home, make_private};
use super::tie::end_with_this_thread;

/// The major version that made the data in `pgdata`; none when there is no data yet.
pub(super) fn data_major(pgdata: &Path) -> Result<Option<u32>, DevdbError> {
    let path = pgdata.join("PG_VERSION");
    match fs::read_to_string(&path) {
        Ok(text) => text
            .trim()
            .parse()
            .map(Some)
            .map_err(|_| DevdbError::OtherMajor {
                folder: pgdata.to_owned(),
                made_by: text.trim().to_owned(),
                found: "15 or newer".to_owned(),
            }),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(DevdbError::io("read", &path)(error)),
    }
}

/// Makes the data folder, beside its place first: a killed initdb leaves no half of one.
pub(super) fn initialise(
    binaries: &Binaries,
    account: &Account,
    home: &Home,
    durability: Durability,
) -> Result<(), DevdbError> {
    let unfinished = home.unfinished_pgdata();
    if unfinished.exists() {
        fs::remove_dir_all(&unfinished).map_err(DevdbError::io("remove", &unfinished))?;
    }
    make_private(&unfinished, account)?;
    let mut command = account.command(&binaries.initdb);
    command.args([
        "--username=postgres",
        "--auth=trust",
        "--encoding=UTF8",
        "--locale=C",
    ]);
    command
        .arg("--no-instructions")
        .arg("--pgdata")
        .arg(&unfinished);
    if durability == Durability::Off {
        command.arg("--no-sync");
    }
    end_with_this_thread(&mut command, Signal::KILL);
    let output = command
        .output()
        .map_err(DevdbError::io("run", &binaries.initdb))?;
    if !output.status.success() {
        let output = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(DevdbError::Initdb { output });
    }
    let pgdata = home.pgdata();
    fs::rename(&unfinished, &pgdata).map_err(DevdbError::io("rename", &unfinished))
}
