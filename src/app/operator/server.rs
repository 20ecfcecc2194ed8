//! `GetServer`: what a server and its database are.

use std::time::{Duration, SystemTime};

use crate::app::App;
use crate::app::error::Error;
use crate::app::hints::Hearing;
use crate::store::reads::server::{self, LongTransaction};

/// From when on a transaction is long.
const LONG: Duration = Duration::from_mins(1);
/// Long transactions that are told.
const TOLD: i64 = 20;

/// A server, now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerView {
    /// The release.
    pub release: &'static str,
    /// As PostgreSQL spells it.
    pub database_version: String,
    /// The newest migration.
    pub schema_version: Option<i64>,
    /// How many microseconds the server's clock is ahead of the database's.
    pub clock_ahead_micros: i64,
    /// Whether it hears of other servers' commits.
    pub hearing: Hearing,
    /// Who holds back the database's cleaning, oldest first.
    pub long_transactions: Vec<LongTransaction>,
}

impl App {
    /// Tells what this server is.
    ///
    /// # Errors
    /// The database is away.
    pub async fn server(&self) -> Result<ServerView, Error> {
        let before = own_clock();
        let database = server::get(&*self.pool.place().await?).await?;
        let halfway = before.midpoint(own_clock());
        let long_transactions =
            server::long_transactions(&*self.pool.place().await?, LONG, TOLD).await?;
        Ok(ServerView {
            release: env!("CARGO_PKG_VERSION"),
            database_version: database.database_version,
            schema_version: database.schema_version,
            clock_ahead_micros: halfway - database.database_time.unix_micros(),
            hearing: *self.hearing.borrow(),
            long_transactions,
        })
    }
}

/// Microseconds since the epoch.
#[expect(
    clippy::disallowed_methods,
    reason = "the two clocks are compared, and nothing is decided by them"
)]
fn own_clock() -> i64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let micros = since.ok().and_then(|it| i64::try_from(it.as_micros()).ok());
    micros.unwrap_or_default()
}
