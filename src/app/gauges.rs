//! The gauges that stand in the database: read when somebody asks, at a bounded rate.

use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::domain::handoffs::Status;
use crate::store::reads::gauges::{self, Gauges};

use super::App;
use super::error::{Error, chain};

/// How old gauges may be before they are read again. Scrapers usually come every 15 to 60 s, and
/// several may watch one server.
const FRESH: Duration = Duration::from_secs(10);

/// When the gauges were read last. Whoever asks meanwhile waits for the read that runs.
pub(super) type LastRead = Mutex<Option<Instant>>;

impl App {
    /// All metrics of this server as text, the gauges at most some seconds old. A database that is away
    /// leaves them as they were.
    pub async fn metrics_text(&self) -> String {
        let mut last = self.gauges_read.lock().await;
        if last.is_none_or(|read| read.elapsed() >= FRESH) {
            match self.read_gauges().await {
                Ok(found) => self.metrics.levels.show(&found),
                Err(error) => {
                    tracing::warn!(error = %chain(&error), "gauges not read");
                    self.metrics.levels.database_is_away();
                }
            }
            *last = Some(Instant::now());
        }
        drop(last);
        self.metrics.levels.show_pool(self.pool.usage());
        self.metrics.text()
    }

    async fn read_gauges(&self) -> Result<Gauges, Error> {
        Ok(gauges::read(&*self.pool.place().await?).await?)
    }
}

/// The statuses of open handoffs: both are shown, also with 0.
pub(super) const OPEN: [(Status, &str); 2] =
    [(Status::Started, "started"), (Status::Running, "running")];
