//! Opening a connection, and saying what is in the way where that fails.
//!
//! A pool only tells that it gave up: it tries until its time is over and keeps the cause to itself.

use std::fmt;
use std::io;
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};
use tokio::time::{Instant, interval, timeout};

use super::{DatabaseError, options};
use crate::server::config::DatabaseUrl;

/// How long one try may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a database that is not up yet is waited for: both may be started together.
const PATIENCE: Duration = Duration::from_secs(5);
/// Between two tries.
const RETRY: Duration = Duration::from_millis(200);

/// What is in the way, and what to do about it. Never with the password.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Obstacle(String);

impl fmt::Display for Obstacle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Opens a connection; waits a little for a database that is not up yet.
///
/// # Errors
/// A URL that is none; what is in the way.
pub(super) async fn reach(url: &DatabaseUrl) -> Result<PgConnection, DatabaseError> {
    let options = options(url)?;
    let begin = Instant::now();
    let mut tries = interval(RETRY);
    loop {
        tries.tick().await;
        let source = match open(&options).await {
            Ok(connection) => return Ok(connection),
            Err(error) => error,
        };
        if begin.elapsed() >= PATIENCE || !may_come_up(&source) {
            let (url, obstacle) = (url.clone(), obstacle(&options, &source));
            return Err(DatabaseError::Connect {
                url,
                obstacle,
                source,
            });
        }
    }
}

/// What keeps a connection from being opened now; none where nothing does.
pub async fn find_obstacle(options: &PgConnectOptions) -> Option<Obstacle> {
    match open(options).await {
        Ok(connection) => {
            // It has served; how it ends is of no interest.
            drop(connection.close().await);
            None
        }
        Err(error) => Some(obstacle(options, &error)),
    }
}

async fn open(options: &PgConnectOptions) -> Result<PgConnection, sqlx::Error> {
    let silence = |_| Err(sqlx::Error::Io(io::ErrorKind::TimedOut.into()));
    timeout(ANSWER, options.connect())
        .await
        .unwrap_or_else(silence)
}

fn may_come_up(error: &sqlx::Error) -> bool {
    match error {
        sqlx::Error::Io(error) => {
            matches!(
                error.kind(),
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound
            )
        }
        sqlx::Error::Database(error) => error.code().as_deref() == Some("57P03"),
        _ => false,
    }
}

fn obstacle(options: &PgConnectOptions, error: &sqlx::Error) -> Obstacle {
    let place = match options.get_socket() {
        Some(socket) => format!("`{}`", socket.display()),
        None => format!("`{}:{}`", options.get_host(), options.get_port()),
    };
    let user = options.get_username();
    let not_postgres = format!("{place} does not answer as PostgreSQL does; check host and port");
    let text = match error {
        sqlx::Error::Io(error) => match error.kind() {
            io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => format!(
                "nothing listens on {place}; start PostgreSQL there, or correct host and port"
            ),
            io::ErrorKind::TimedOut => format!(
                "{place} does not answer within {} s; check host, port and the network between",
                ANSWER.as_secs()
            ),
            io::ErrorKind::UnexpectedEof
            | io::ErrorKind::InvalidData
            | io::ErrorKind::ConnectionReset => not_postgres,
            _ => format!("{place} cannot be reached; check the host's name and the network"),
        },
        sqlx::Error::Database(error) => match error.code().as_deref() {
            // invalid_password, invalid_authorization_specification
            Some("28P01" | "28000") => format!(
                "{place} does not let user `{user}` in; correct user and password of the URL, or \
                 the pg_hba.conf there"
            ),
            // invalid_catalog_name
            Some("3D000") => format!(
                "{place} has no database `{}`; create it, or correct the name",
                options.get_database().unwrap_or(user)
            ),
            // insufficient_privilege
            Some("42501") => format!(
                "user `{user}` may not use the database; grant it CONNECT, or take another user"
            ),
            // too_many_connections
            Some("53300") => format!(
                "{place} has no connection left; raise its max_connections, or lower \
                 `max_connections` of the servers"
            ),
            // cannot_connect_now
            Some("57P03") => format!("{place} is starting or stopping; try again"),
            _ => format!("{place} refuses the connection"),
        },
        sqlx::Error::Tls(_) => {
            format!("no TLS with {place}; check `sslmode` and the certificates of the URL")
        }
        _ => not_postgres,
    };
    Obstacle(text)
}
