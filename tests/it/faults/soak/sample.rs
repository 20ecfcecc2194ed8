//! What is seen at one moment.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::Duration;

use super::kernel::Process;
use super::site::Site;
use super::tables::{self, Open, Sessions, Table};
use crate::faults::link::Spans;
use crate::faults::workload::Work;

/// See the module. Everything that is counted counts from the begin of the run.
#[derive(Debug)]
pub(super) struct Sample {
    /// Since the work began.
    pub(super) at: Duration,
    /// Handoffs whose end was told.
    pub(super) lifecycles: u64,
    pub(super) servers: Vec<Process>,
    pub(super) database_cpu: Duration,
    pub(super) sessions: Sessions,
    pub(super) open: Open,
    pub(super) tables: BTreeMap<String, Table>,
    /// Of calls since the last sample.
    pub(super) spans: Spans,
}

impl Sample {
    pub(super) async fn take(site: &Site, work: &Work, at: Duration) -> Self {
        Self {
            at,
            lifecycles: work.ends(),
            servers: site.servers(),
            database_cpu: site.database_cpu(),
            sessions: tables::sessions(&site.pool).await,
            open: tables::open(&site.pool).await,
            tables: tables::tables(&site.pool).await,
            spans: work.link.spans(),
        }
    }

    /// Processor time of all servers.
    pub(super) fn servers_cpu(&self) -> Duration {
        self.servers.iter().map(|it| it.cpu).sum()
    }

    /// Resident memory of all servers, in bytes.
    pub(super) fn resident(&self) -> u64 {
        self.servers.iter().map(|it| it.resident * 1024).sum()
    }

    /// Open files of all servers.
    pub(super) fn files(&self) -> u64 {
        self.servers.iter().map(|it| it.files).sum()
    }
}

impl Display for Sample {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes: i64 = self.tables.values().map(|it| it.bytes).sum();
        write!(
            f,
            "{:>6} lifecycles, {} MB and {} files of servers, {} connections, oldest transaction {} ms, \
             {} turns and {} handoffs open, database {} MB",
            self.lifecycles,
            self.resident() >> 20,
            self.files(),
            self.sessions.connections,
            self.sessions.oldest,
            self.open.live_turns,
            self.open.unfinished_handoffs,
            bytes >> 20,
        )
    }
}
