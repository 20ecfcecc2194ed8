//! What became of a transaction whose COMMIT was not answered.
//!
//! The answer may be lost while the commit is done, still under way, or never heard of. The database
//! remembers how every recent transaction ended; a new session asks it. What it says holds only for the
//! history that the transaction was part of: another server that took over (a promoted standby) may
//! never have received it and gives its number to another. Each promotion begins a new timeline, so an
//! answer from another timeline is none.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::{interval, timeout};

use super::StoreError;
use super::patience::{self, answered};

/// How long to ask: above the time after which the database itself ends a transaction that was left
/// open, and enough for most restarts.
const LONGEST: Duration = Duration::from_secs(7);
/// Between two asks.
const PAUSE: Duration = Duration::from_millis(100);

/// The history that a session writes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Timeline(String);

/// A transaction, as later sessions know it.
#[derive(Debug)]
pub(super) struct TransactionId {
    pub(super) number: String,
    pub(super) timeline: Timeline,
}

/// How a transaction ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Committed,
    Aborted,
}

/// The timeline of a session; `None` where the database does not tell.
///
/// # Errors
/// The database is away.
pub(super) async fn timeline(
    connection: &mut PgConnection,
) -> Result<Option<Timeline>, StoreError> {
    let query = sqlx::query_scalar("SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8)");
    match answered(query.fetch_one(connection)).await {
        Ok(timeline) => Ok(Some(Timeline(timeline))),
        // A standby has none, and some managed databases keep it to themselves.
        Err(sqlx::Error::Database(_)) => Ok(None),
        Err(error) => Err(error.into()),
    }
}

/// Finds out what became of `transaction`, whose COMMIT met `error`.
///
/// # Errors
/// `Undone`: nothing happened. `Unknown`: nobody can tell.
pub(super) async fn settle(
    options: &PgConnectOptions,
    transaction: Option<&TransactionId>,
    error: sqlx::Error,
) -> Result<(), StoreError> {
    let end = match transaction {
        Some(transaction) => timeout(LONGEST, ask(options, transaction))
            .await
            .unwrap_or_default(),
        None => None,
    };
    let told = match end {
        Some(End::Committed) => "committed",
        Some(End::Aborted) => "aborted",
        None => "unknown",
    };
    tracing::info!(%error, end = told, "commit was not answered");
    match end {
        Some(End::Committed) => Ok(()),
        Some(End::Aborted) => Err(StoreError::Undone(error)),
        None => Err(StoreError::Unknown(error)),
    }
}

/// Asks until there is an answer. `None`: there is none to be had.
async fn ask(options: &PgConnectOptions, transaction: &TransactionId) -> Option<End> {
    let mut tries = interval(PAUSE);
    loop {
        tries.tick().await;
        match look(options, transaction).await {
            Ok(Seen::Ended(end)) => return Some(end),
            Ok(Seen::UnderWay) | Err(StoreError::Unavailable(_)) => {}
            Ok(Seen::Nothing) | Err(_) => return None,
        }
    }
}

/// What a look at a transaction saw.
enum Seen {
    Ended(End),
    UnderWay,
    /// Another history, or one that has forgotten it.
    Nothing,
}

/// Looks once, on a connection of its own: the one before may have died of the same cause.
async fn look(options: &PgConnectOptions, transaction: &TransactionId) -> Result<Seen, StoreError> {
    let mut connection = patience::connect(options).await?;
    if timeline(&mut connection).await?.as_ref() != Some(&transaction.timeline) {
        return Ok(Seen::Nothing);
    }
    let query = sqlx::query_scalar("SELECT pg_xact_status($1::text::xid8)");
    let status: Option<String> =
        answered(query.bind(&transaction.number).fetch_one(&mut connection)).await?;
    Ok(match status.as_deref() {
        Some("committed") => Seen::Ended(End::Committed),
        Some("aborted") => Seen::Ended(End::Aborted),
        Some("in progress") => Seen::UnderWay,
        _ => Seen::Nothing,
    })
}
