//! The configuration: flags over environment over file over defaults.
//!
//! Flags and environment are one layer, since clap already orders them; the file is a second one of
//! the same shape, with one table per component. Reading and judging are two steps, so that
//! `handoffd config` can show a configuration that a start would refuse.

mod database;
mod log;
mod rules;
mod server;
mod settings;
mod values;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

pub use database::{DatabaseLayer, DatabaseSettings};
pub use log::{LogLayer, LogSettings};
pub use rules::{RuleLayer, RuleSettings};
pub use server::{ServerLayer, ServerSettings};
pub use values::{DatabaseUrl, LogFormat, MetricsAddress, Span};

/// What every command that needs a configuration takes.
#[derive(Debug, Clone, Default, clap::Args)]
pub struct ConfigArgs {
    /// TOML file with settings, weaker than flags and environment
    #[arg(long, env = "HANDOFFD_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,

    /// The settings given as flags or in the environment.
    #[command(flatten)]
    pub layer: Layer,
}

/// What one source says about every component. In the file each component is a table.
#[derive(Debug, Clone, Default, clap::Args, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[group(skip)]
pub struct Layer {
    /// `[server]`
    #[command(flatten, next_help_heading = "Server")]
    pub server: ServerLayer,
    /// `[database]`
    #[command(flatten, next_help_heading = "Database")]
    pub database: DatabaseLayer,
    /// `[log]`
    #[command(flatten, next_help_heading = "Log")]
    pub log: LogLayer,
    /// `[rules]`
    #[command(flatten, next_help_heading = "Rules of coordination")]
    pub rules: RuleLayer,
}

/// The effective configuration.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Config {
    /// Where the server listens, and how it stops.
    pub server: ServerSettings,
    /// Which database, and how the server talks to it.
    pub database: DatabaseSettings,
    /// What is logged, and how.
    pub log: LogSettings,
    /// The rules of coordination that an operator may set.
    pub rules: RuleSettings,
}

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// A named file cannot be read.
    #[error("cannot read `{}`", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The configuration file is not TOML, or has a key or value that means nothing.
    #[error("`{}` is no configuration: {reason}", path.display())]
    Parse {
        /// The file.
        path: PathBuf,
        /// Where and why, in the words of the parser.
        reason: String,
    },
    /// The configuration contradicts itself or lacks something; all problems at once.
    #[error("{0}")]
    Invalid(Problems),
}

/// Everything that is wrong with a configuration.
#[derive(Debug)]
pub struct Problems(pub Vec<String>);

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the configuration cannot be used:")?;
        self.0
            .iter()
            .try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

impl Config {
    /// Reads the configuration, laid over `defaults`. Judging it is [`Config::check`].
    ///
    /// `plain_url` is the value of `DATABASE_URL`, which many tools share: weaker than our own
    /// flags and environment, stronger than the file.
    ///
    /// # Errors
    /// A file that cannot be read or understood.
    pub fn load(
        args: ConfigArgs,
        plain_url: Option<String>,
        defaults: Self,
    ) -> Result<Self, ConfigError> {
        let file = match &args.config {
            Some(path) => parse(path, &read(path)?)?,
            None => Layer::default(),
        };
        let mut config = args.layer.over(file, plain_url, defaults);
        let url_file = &config.database.url_file;
        if config.database.url.is_empty() && !url_file.as_os_str().is_empty() {
            config.database.url = DatabaseUrl::from(read(url_file)?);
        }
        Ok(config)
    }

    /// Checks that a server can run with this.
    ///
    /// # Errors
    /// All problems at once.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut problems = Vec::new();
        self.server.check(&mut problems);
        self.database.check(&mut problems);
        self.log.check(&mut problems);
        self.rules.check(&mut problems);
        if problems.is_empty() {
            Ok(())
        } else {
            Err(ConfigError::Invalid(Problems(problems)))
        }
    }

    /// The configuration as a TOML file would say it, secrets hidden.
    ///
    /// # Errors
    /// None in practice: every value has a TOML form.
    pub fn to_toml(&self) -> Result<String, toml::ser::Error> {
        toml::to_string(self)
    }
}

impl Layer {
    fn over(self, file: Self, plain_url: Option<String>, defaults: Config) -> Config {
        let plain = DatabaseLayer {
            url: plain_url
                .map(DatabaseUrl::from)
                .filter(|url| !url.is_empty()),
            ..DatabaseLayer::default()
        };
        let database = self.database.above(plain).above(file.database);
        Config {
            server: self.server.or(file.server).over(defaults.server),
            database: database.over(defaults.database),
            log: self.log.or(file.log).over(defaults.log),
            rules: self.rules.or(file.rules).over(defaults.rules),
        }
    }
}

fn read(path: &Path) -> Result<String, ConfigError> {
    std::fs::read_to_string(path).map_err(|source| ConfigError::Read {
        path: path.to_owned(),
        source,
    })
}

fn parse(path: &Path, text: &str) -> Result<Layer, ConfigError> {
    toml::from_str(text).map_err(|error: toml::de::Error| ConfigError::Parse {
        path: path.to_owned(),
        // Not the whole error: it quotes the line, and a line may hold a password.
        reason: match error.span() {
            Some(span) => format!("line {}: {}", line_of(text, span.start), error.message()),
            None => error.message().to_owned(),
        },
    })
}

fn line_of(text: &str, offset: usize) -> usize {
    text.bytes()
        .take(offset)
        .filter(|byte| *byte == b'\n')
        .count()
        + 1
}

#[cfg(test)]
mod tests;
