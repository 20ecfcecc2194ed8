//! What is logged, and how.

use tracing_subscriber::EnvFilter;

use super::settings::settings;
use super::values::LogFormat;

settings! {
    /// What is logged, and how.
    LogSettings from LogLayer {
        /// Which lines are logged, in the syntax of `RUST_LOG` [default: info, without notices of the database]
        #[arg(id = "log_filter", long = "log-filter", env = "HANDOFFD_LOG_FILTER", value_name = "FILTER")]
        filter: String = "info,sqlx::postgres::notice=warn".to_owned(),

        /// How lines are written [default: text]
        #[arg(id = "log_format", long = "log-format", env = "HANDOFFD_LOG_FORMAT", value_name = "FORMAT")]
        format: LogFormat = LogFormat::Text,
    }
}

impl LogSettings {
    /// Adds what is wrong with these settings to `problems`.
    pub(super) fn check(&self, problems: &mut Vec<String>) {
        if let Err(error) = EnvFilter::try_new(&self.filter) {
            problems.push(format!("`log_filter` is `{}`: {error}", self.filter));
        }
    }
}
