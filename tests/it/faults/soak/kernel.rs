//! What the kernel knows of processes: memory, files, processor time.

use std::fs;
use std::time::Duration;

/// The kernel's unit of processor times in `/proc`.
const TICK: Duration = Duration::from_millis(10);

/// Of one process, at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Process {
    /// Resident memory in kilobytes.
    pub(super) resident: u64,
    /// Open file descriptors.
    pub(super) files: u64,
    /// Processor time so far.
    pub(super) cpu: Duration,
}

impl Process {
    /// Of a process that is there.
    pub(super) fn of(pid: u32) -> Self {
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let resident = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let resident = resident.and_then(|rest| rest.split_whitespace().next());
        let files = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().count();
        Self {
            resident: resident.unwrap().parse().unwrap(),
            files: files.try_into().unwrap(),
            cpu: TICK * u32::try_from(ticks(pid).unwrap()[0]).unwrap(),
        }
    }
}

/// Processor time of a postmaster and all that it ever started.
pub(super) fn cluster(postmaster: u32) -> Duration {
    let children = format!("/proc/{postmaster}/task/{postmaster}/children");
    let children = fs::read_to_string(children).unwrap();
    let children = children.split_whitespace().map(|pid| pid.parse().unwrap());
    // One may just have ended; its time is with those of its parent's ended children.
    let live: u64 = children.filter_map(ticks).map(|[own, _]| own).sum();
    let [own, ended] = ticks(postmaster).unwrap();
    TICK * u32::try_from(own + ended + live).unwrap()
}

/// Of a process, and of its children that ended.
fn ticks(pid: u32) -> Option<[u64; 2]> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name stands in brackets and may hold anything.
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    let tick = |at: usize| fields[at].parse::<u64>().unwrap();
    Some([tick(11) + tick(12), tick(13) + tick(14)])
}
