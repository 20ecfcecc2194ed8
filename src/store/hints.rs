//! Hints between servers: LISTEN and NOTIFY. They carry no data and may be lost; polling is the
//! guarantee.

use sqlx::Connection;
use sqlx::postgres::{PgConnectOptions, PgConnection, PgListener, PgPoolOptions};

use super::StoreError;

/// The channel of all servers on one database.
const CHANNEL: &str = "handoffd_hints";

/// Tells the other servers, in one statement.
///
/// # Errors
/// The database is away.
pub async fn notify(connection: &mut PgConnection, payload: &str) -> Result<(), StoreError> {
    sqlx::query("SELECT pg_notify($1, $2)")
        .bind(CHANNEL)
        .bind(payload)
        .execute(connection)
        .await?;
    Ok(())
}

/// Opens a connection of its own, for the notifier.
///
/// # Errors
/// The database is away.
pub async fn connect(options: &PgConnectOptions) -> Result<PgConnection, StoreError> {
    Ok(PgConnection::connect_with(options).await?)
}

/// What the others say.
#[derive(Debug)]
pub struct Listener(PgListener);

impl Listener {
    /// Opens a connection of its own and listens. Look again after this: what came before is unheard.
    ///
    /// # Errors
    /// The database is away.
    pub async fn connect(options: &PgConnectOptions) -> Result<Self, StoreError> {
        let pool = PgPoolOptions::new()
            .max_connections(1)
            .connect_with(options.clone())
            .await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        listener.listen(CHANNEL).await?;
        Ok(Self(listener))
    }

    /// The next payload; `None` when the connection was lost and made again, so that hints may be
    /// missing.
    ///
    /// # Errors
    /// The database is away.
    pub async fn next(&mut self) -> Result<Option<String>, StoreError> {
        Ok(self
            .0
            .try_recv()
            .await?
            .map(|notification| notification.payload().to_owned()))
    }
}
