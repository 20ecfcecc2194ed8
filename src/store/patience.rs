//! How long the database may keep silent.
//!
//! Every statement of ours has a limit on the database's side. Where the database, or the way to it,
//! is frozen or gone without a word, that limit is never heard of, and whoever waits for the answer
//! would wait for ever: a lane, and with it all calls of its threads. So each wait has a limit here too.

use std::io;
use std::time::Duration;

use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use tokio::time::timeout;

use super::StoreError;

/// Above the statement timeout of any statement, so that a living database always answers first.
const SILENCE: Duration = Duration::from_secs(8);
/// How long a connection may take to open.
const CONNECT: Duration = Duration::from_secs(5);

/// Waits for an answer, but not for ever. The connection is unusable after a silence.
pub(super) async fn answered<T>(
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    bounded(SILENCE, answer).await
}

/// Opens a connection of one's own.
///
/// # Errors
/// The database is away, or does not answer.
pub async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    Ok(bounded(CONNECT, PgConnection::connect_with(options)).await?)
}

async fn bounded<T>(
    limit: Duration,
    answer: impl Future<Output = Result<T, sqlx::Error>>,
) -> Result<T, sqlx::Error> {
    let silence = |_| Err(sqlx::Error::Io(io::ErrorKind::TimedOut.into()));
    timeout(limit, answer).await.unwrap_or_else(silence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_database_that_never_answers_is_away() {
        let never = std::future::pending::<Result<(), sqlx::Error>>();
        let silence = bounded(Duration::from_millis(1), never).await;
        let silence = silence.map_err(StoreError::from);
        assert!(silence.is_err_and(|error| error.is_silence()));
    }
}
