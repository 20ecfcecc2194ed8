//! Hints between servers: LISTEN and NOTIFY. They carry no data and may be lost; polling is the
//! guarantee.

use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection, PgListener, PgPoolOptions};

use super::StoreError;
use super::patience::answered;

/// The channel of all servers on one database.
const CHANNEL: &str = "handoffd_hints";

/// How long the listener's connection may take to open.
const CONNECT: Duration = Duration::from_secs(5);

/// Tells the other servers, in one statement.
///
/// # Errors
/// The database is away.
pub async fn notify(connection: &mut PgConnection, payload: &str) -> Result<(), StoreError> {
    let statement = sqlx::query("SELECT pg_notify($1, $2)");
    let statement = statement.bind(CHANNEL).bind(payload);
    answered(statement.execute(connection)).await?;
    Ok(())
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
            .acquire_timeout(CONNECT)
            .connect_with(options.clone())
            .await?;
        let mut listener = PgListener::connect_with(&pool).await?;
        answered(listener.listen(CHANNEL)).await?;
        // Whoever listens has to know at once that it hears nothing, not only when it hears again.
        listener.eager_reconnect(false);
        Ok(Self(listener))
    }

    /// The next payload; `None` when the connection was lost: connect anew.
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
