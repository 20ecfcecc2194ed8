//! Which database, and how the server talks to it.

use std::path::PathBuf;
use std::str::FromStr;

use sqlx::postgres::PgConnectOptions;

use super::settings::settings;
use super::values::{DatabaseUrl, Span};

settings! {
    /// Which database, and how the server talks to it.
    DatabaseSettings from DatabaseLayer {
        /// URL of the database; plain `DATABASE_URL` is taken where neither flag nor environment says
        #[arg(
            id = "database_url", long = "database-url", env = "HANDOFFD_DATABASE_URL",
            hide_env_values = true, value_name = "URL"
        )]
        url: DatabaseUrl = DatabaseUrl::default(),

        /// File that holds the URL of the database, for a mounted secret
        #[arg(
            id = "database_url_file", long = "database-url-file",
            env = "HANDOFFD_DATABASE_URL_FILE", value_name = "FILE"
        )]
        url_file: PathBuf = PathBuf::new(),

        /// Connections for reads; changes of state use a few of their own [default: 16]
        #[arg(long, env = "HANDOFFD_MAX_CONNECTIONS", value_name = "COUNT")]
        max_connections: u32 = 16,

        /// Do without LISTEN and NOTIFY, which a transaction-pooling PgBouncer does not pass on
        #[arg(
            long,
            env = "HANDOFFD_NO_LISTENER",
            value_name = "BOOL",
            num_args = 0..=1,
            require_equals = true,
            default_missing_value = "true",
            value_parser = clap::builder::BoolishValueParser::new()
        )]
        no_listener: bool = false,

        /// Longest time between two looks for work that no hint told of [default: 5s]
        #[arg(long, env = "HANDOFFD_POLL_INTERVAL", value_name = "SPAN")]
        poll_interval: Span = Span::seconds(5),
    }
}

impl DatabaseLayer {
    /// Whether this layer names a database, and so outdoes every weaker one.
    pub(super) fn names_a_database(&self) -> bool {
        self.url.is_some() || self.url_file.is_some()
    }

    /// Keeps what this layer says and takes the rest from the one below.
    ///
    /// The two ways to name a database are one fact: a flag that gives the file must not lose to a
    /// URL of the environment's or the configuration file's.
    pub(super) fn above(self, below: Self) -> Self {
        let below = if self.names_a_database() {
            Self {
                url: None,
                url_file: None,
                ..below
            }
        } else {
            below
        };
        self.or(below)
    }
}

impl DatabaseSettings {
    /// Adds what is wrong with these settings to `problems`.
    pub(super) fn check(&self, problems: &mut Vec<String>) {
        if self.url.is_empty() {
            problems.push(
                "no database: give `--database-url`, `--database-url-file` or `DATABASE_URL`"
                    .to_owned(),
            );
        } else if PgConnectOptions::from_str(self.url.expose()).is_err() {
            // The parser's own message may repeat the password.
            problems.push(format!(
                "`database_url` is no PostgreSQL URL: `{}`",
                self.url
            ));
        }
        if self.max_connections == 0 {
            problems.push("`max_connections` is 0".to_owned());
        }
        if self.poll_interval.0.is_zero() {
            problems.push("`poll_interval` is zero: the server would poll without end".to_owned());
        }
    }
}
