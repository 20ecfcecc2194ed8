//! What an earlier server left in a folder: its pid file, itself, or its orphaned children.
//!
//! We hold the folder's lock here, so whoever started that server is gone. A server that stands or
//! is just stopping is stopped and waited for. Orphaned backends of a killed one end by themselves
//! in a moment; until then PostgreSQL must not start, and `postmaster.pid` is what keeps it from
//! that, so the file goes only when no process works in the folder. It has to go then, because
//! PostgreSQL takes any living process of that number for a server: after a restart of a container
//! that is the rule, not the exception.

use std::fs;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use super::DevdbError;
use super::folder::Home;

/// How long an earlier server may take to end; its last checkpoint may be long on a slow disk.
const END_LIMIT: Duration = Duration::from_mins(1);

/// Between two looks.
const LOOK_PERIOD: Duration = Duration::from_millis(10);

/// `postmaster.pid`, as far as we read it.
#[derive(Debug)]
pub(super) struct PidFile {
    pub(super) pid: i32,
    socket_folder: PathBuf,
    status: String,
}

impl PidFile {
    pub(super) fn read(pgdata: &Path) -> Option<Self> {
        let text = fs::read_to_string(pgdata.join("postmaster.pid")).ok()?;
        let line = |number| text.lines().nth(number).unwrap_or_default().trim();
        Some(Self {
            pid: line(0).parse().ok()?,
            socket_folder: PathBuf::from(line(4)),
            status: line(7).to_owned(),
        })
    }

    /// Tells whether the server accepts connections.
    pub(super) fn is_ready(&self) -> bool {
        self.status == "ready"
    }
}

/// Ends whatever an earlier server left running in `home`, and waits for it.
pub(super) fn clear(home: &Home, socket_folder: &Path) -> Result<(), DevdbError> {
    let pgdata = home.pgdata();
    let Some(file) = PidFile::read(&pgdata) else {
        return Ok(());
    };
    let mut residents = residents(&pgdata, &file);
    if residents.contains(&file.pid) {
        // A server with another socket was started by hand.
        if file.socket_folder != socket_folder {
            return Err(DevdbError::ForeignServer {
                folder: pgdata,
                pid: file.pid,
            });
        }
        tracing::info!(
            pid = file.pid,
            "stopping a PostgreSQL whose handoffd is gone"
        );
        signal(
            file.pid,
            if home.is_ephemeral() {
                Signal::QUIT
            } else {
                Signal::INT
            },
        );
    }
    let limit = Instant::now() + END_LIMIT;
    while !residents.is_empty() {
        if Instant::now() > limit {
            let pids: Vec<String> = residents.iter().map(ToString::to_string).collect();
            return Err(DevdbError::Lingering {
                folder: pgdata,
                pids: pids.join(", "),
            });
        }
        thread::sleep(LOOK_PERIOD);
        residents = self::residents(&pgdata, &file);
    }
    remove_stale(&pgdata)
}

/// Sends `signal`; a process that is gone has what we want.
pub(super) fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid)
        && let Err(error) = kill_process(pid, signal)
    {
        tracing::debug!(pid = pid.as_raw_pid(), %error, "could not signal");
    }
}

/// The processes that work in `pgdata`: PostgreSQL and all its children stand in that folder.
#[cfg(target_os = "linux")]
fn residents(pgdata: &Path, _file: &PidFile) -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    let stands_there =
        |pid: &i32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == pgdata);
    numbers.filter(stands_there).collect()
}

/// The server of the pid file, if the process of that number has the folder among its arguments.
#[cfg(not(target_os = "linux"))]
fn residents(pgdata: &Path, file: &PidFile) -> Vec<i32> {
    let pid = file.pid.to_string();
    let output = std::process::Command::new("ps")
        .args(["-o", "args=", "-p", &pid])
        .output();
    let arguments = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let serves = arguments.is_ok_and(|line| line.contains(&*pgdata.to_string_lossy()));
    if serves { vec![file.pid] } else { Vec::new() }
}

#[cfg(target_os = "linux")]
fn remove_stale(pgdata: &Path) -> Result<(), DevdbError> {
    let path = pgdata.join("postmaster.pid");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(DevdbError::io("remove", &path)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}

/// Orphaned backends cannot be seen here, so PostgreSQL itself must judge the file.
#[cfg(not(target_os = "linux"))]
fn remove_stale(_pgdata: &Path) -> Result<(), DevdbError> {
    Ok(())
}
