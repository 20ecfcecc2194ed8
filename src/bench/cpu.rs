//! Processor time of the processes that take part, where they run on this machine.
//!
//! On a machine that load generator, server and database share it tells what bounds a figure better
//! than any other number: it adds up to the cores.

use std::fs;

/// The kernel's unit of the times in `/proc`: a hundredth of a second, in microseconds.
const TICK_MICROS: u64 = 10_000;

/// Microseconds of processor time, each where it is known.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cpu {
    /// All processes of the database.
    pub(super) postgres: Option<u64>,
    /// The server.
    pub(super) server: Option<u64>,
    /// This process, which makes the load.
    pub(super) load: Option<u64>,
}

/// Which processes to look at.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Processes {
    postmaster: Option<u32>,
    server: Option<u32>,
}

impl Processes {
    /// Those of the database that has `backend`, and the named server or the only one there is.
    pub(super) fn find(backend: u32, server: Option<u32>) -> Self {
        let of_postgres = fs::read_to_string(format!("/proc/{backend}/comm"))
            .is_ok_and(|name| name.starts_with("postgres"));
        Self {
            postmaster: Stat::of(backend)
                .filter(|_| of_postgres)
                .map(|stat| stat.parent),
            server: server.or_else(only_server),
        }
    }

    /// Resident memory of the server in kilobytes.
    pub(super) fn server_memory(&self) -> Option<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.server?)).ok()?;
        let line = status
            .lines()
            .find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Their times until now.
    pub(super) fn cpu(&self) -> Cpu {
        let own = |pid: u32| Stat::of(pid).map(|stat| stat.own * TICK_MICROS);
        Cpu {
            postgres: self.postmaster.map(|pid| cluster(pid) * TICK_MICROS),
            server: self.server.and_then(own),
            load: own(std::process::id()),
        }
    }
}

/// What `/proc/<pid>/stat` says.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    parent: u32,
    /// Ticks of the process itself.
    own: u64,
    /// Ticks of its children that ended.
    ended_children: u64,
}

impl Stat {
    fn of(pid: u32) -> Option<Self> {
        Self::parse(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(line: &str) -> Option<Self> {
        // The name stands in brackets and may hold anything.
        let (_, rest) = line.rsplit_once(')')?;
        let fields: Vec<&str> = rest.split_whitespace().collect();
        let ticks = |at: usize| fields.get(at)?.parse::<u64>().ok();
        Some(Self {
            parent: fields.get(1)?.parse().ok()?,
            own: ticks(11)? + ticks(12)?,
            ended_children: ticks(13)? + ticks(14)?,
        })
    }
}

fn pids() -> Vec<u32> {
    let Ok(folder) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    folder
        .filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok())
        .collect()
}

/// Ticks of a postmaster and everything it started.
fn cluster(postmaster: u32) -> u64 {
    let children = pids().into_iter().filter_map(Stat::of);
    let live = children.filter(|stat| stat.parent == postmaster);
    let main = Stat::of(postmaster).map_or(0, |stat| stat.own + stat.ended_children);
    main + live.map(|stat| stat.own).sum::<u64>()
}

/// The one process here that is a server of ours.
fn only_server() -> Option<u32> {
    let mut servers = pids().into_iter().filter(|pid| is_server(*pid));
    let first = servers.next()?;
    servers.next().is_none().then_some(first)
}

fn is_server(pid: u32) -> bool {
    let line = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words: Vec<&[u8]> = line.split(|byte| *byte == 0).take(2).collect();
    words.first().is_some_and(|it| it.ends_with(b"handoffd"))
        && words
            .get(1)
            .is_some_and(|it| matches!(*it, b"serve" | b"dev"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_found_behind_any_name() {
        let line = "7 (a ) b) S 3 7 7 0 -1 0 0 0 0 0 11 22 33 44 20 0";
        let read = Stat {
            parent: 3,
            own: 33,
            ended_children: 77,
        };
        assert_eq!(Stat::parse(line), Some(read));
        assert_eq!(Stat::parse("7 (cut"), None);
    }
}
