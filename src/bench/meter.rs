//! What an operation cost: transactions of the database, processor time of everybody.

use std::time::Duration;

use serde::Serialize;
use sqlx::postgres::PgPool;
use tokio::time::timeout;

use super::cpu::{Cpu, Processes};
use super::database::{self, Counters};
use super::load::real;
use super::{BenchError, Load, Measured};

/// How late an idle backend may report its transactions.
const SETTLE: Duration = Duration::from_secs(11);

/// Cost of one operation.
#[derive(Debug, Clone, Copy, Default, Serialize)]
pub struct Cost {
    /// Transactions that wrote.
    pub write_transactions: f64,
    /// All transactions; the database counts them up to a second late.
    pub transactions: f64,
    /// Processor time of the database, in microseconds, where it runs on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub postgres_us: Option<f64>,
    /// Processor time of the server, in microseconds, where it runs on this machine.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub server_us: Option<f64>,
    /// Processor time of the load generator, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub load_us: Option<f64>,
}

impl Cost {
    /// Processor time of everybody, if that of the database is known; a floor has no server.
    pub(super) fn cpu_us(self) -> Option<f64> {
        let database = self.postgres_us?;
        Some(database + self.server_us.unwrap_or(0.0) + self.load_us.unwrap_or(0.0))
    }
}

/// Reads the counters before and after.
#[derive(Debug, Clone)]
pub(super) struct Meter {
    pool: PgPool,
    processes: Processes,
}

/// Counters at one moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    counters: Counters,
    cpu: Cpu,
}

impl Meter {
    /// A meter of that database, and of the server with that process number or the only one here.
    pub(super) async fn new(pool: &PgPool, server: Option<u32>) -> Result<Self, BenchError> {
        let backend = database::backend(pool).await?;
        Ok(Self {
            pool: pool.clone(),
            processes: Processes::find(backend, server),
        })
    }

    /// The counters now.
    pub(super) async fn read(&self) -> Result<Reading, BenchError> {
        Ok(Reading {
            counters: Counters::read(&self.pool).await?,
            cpu: self.processes.cpu(),
        })
    }

    /// Waits until the database has counted what was done so far: idle backends report theirs late.
    pub(super) async fn settle(&self) {
        drop(timeout(SETTLE, std::future::pending::<()>()).await);
    }

    /// Memory of the server in kilobytes, where it runs on this machine.
    pub(super) fn server_memory(&self) -> Option<u64> {
        self.processes.server_memory()
    }

    /// What each of `units` cost since `before`.
    pub(super) async fn since(&self, before: Reading, units: u64) -> Result<Cost, BenchError> {
        let after = self.read().await?;
        let each = |count: u64| real(count) / real(units.max(1));
        let counted = |before: i64, after: i64| each(u64::try_from(after - before).unwrap_or(0));
        let spent = |before: Option<u64>, after: Option<u64>| {
            before
                .zip(after)
                .map(|(before, after)| each(after.saturating_sub(before)))
        };
        Ok(Cost {
            write_transactions: counted(before.counters.writes, after.counters.writes),
            transactions: counted(before.counters.transactions, after.counters.transactions),
            postgres_us: spent(before.cpu.postgres, after.cpu.postgres),
            server_us: spent(before.cpu.server, after.cpu.server),
            load_us: spent(before.cpu.load, after.cpu.load),
        })
    }

    /// Warms up, measures, and says what it cost.
    pub(super) async fn gauge<C, F>(
        &self,
        load: &Load,
        caller: impl FnMut(usize) -> C,
    ) -> Result<(Measured, Cost), BenchError>
    where
        C: FnMut() -> F + Send + 'static,
        F: Future<Output = Result<u32, BenchError>> + Send + 'static,
    {
        let warm = load.warm_up(caller).await?;
        let before = self.read().await?;
        let measured = load.measure(warm).await?;
        let cost = self.since(before, measured.units()).await?;
        Ok((measured, cost))
    }
}
