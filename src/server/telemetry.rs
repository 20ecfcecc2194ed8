//! Logs: what is written, in which form, and where to.

mod repeats;

use std::io::IsTerminal;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;
use tracing_subscriber::util::TryInitError;

use super::config::{LogFormat, LogSettings};
use repeats::Repeats;

/// Why logging cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum TelemetryError {
    /// The filter is not in the syntax of `RUST_LOG`.
    #[error("the log filter cannot be read")]
    Filter(#[from] ParseError),
    /// Something in this process logs already.
    #[error("logging has already begun")]
    Twice(#[from] TryInitError),
    /// There is no thread to be had.
    #[error("cannot start the thread that counts repeated lines")]
    Thread(#[from] std::io::Error),
}

/// Begins logging, to standard error: standard output belongs to what a command prints.
///
/// # Errors
/// A filter that cannot be read, a second call in one process, or no thread to be had.
pub fn init(settings: &LogSettings) -> Result<(), TelemetryError> {
    use tracing_subscriber::layer::SubscriberExt;
    use tracing_subscriber::util::SubscriberInitExt;

    let filter = EnvFilter::try_new(&settings.filter)?;
    let repeats = Repeats::default();
    let counted = repeats.clone();
    let lines = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    match settings.format {
        LogFormat::Text => lines.finish().with(counted).try_init()?,
        // The innermost span carries all fields of a call; the list would repeat them.
        LogFormat::Json => lines
            .json()
            .flatten_event(true)
            .with_span_list(false)
            .finish()
            .with(counted)
            .try_init()?,
    }
    Ok(repeats.tell_in_background()?)
}
