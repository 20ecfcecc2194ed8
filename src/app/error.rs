//! Why a call has no answer: the closed set that the gRPC layer turns into a status.

use std::time::Duration;

use crate::domain::refusal::{Refusal, Violation};
use crate::store::StoreError;

/// See the module.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The request is malformed; all violations at once.
    #[error("the request is malformed")]
    Invalid(Vec<Violation>),
    /// The namespace is no name.
    #[error(
        "`handoffd-namespace` must match `[a-z0-9][a-z0-9._-]{{0,62}}`; correct it, or leave it out for `default`"
    )]
    NamespaceInvalid,
    /// The namespace is given more than once.
    #[error(
        "`handoffd-namespace` is given more than once; send it once, or leave it out for `default`"
    )]
    NamespaceRepeated,
    /// The page token is none of this query.
    #[error("the page token does not belong to this query; start again without one")]
    PageToken,
    /// The answer is no.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// The namespace has too many commands waiting.
    #[error("too many calls of this namespace are waiting")]
    QueueFull,
    /// The server has too many commands waiting.
    #[error("too many calls are waiting")]
    Overloaded,
    /// The rows were busy until the call's time was up.
    #[error("the rows this call needs were busy for too long")]
    Contention,
    /// The caller's deadline passed before the work began.
    #[error("the deadline passed before the call was begun; nothing happened")]
    DeadlineExceeded,
    /// The server is stopping.
    #[error("the server is stopping")]
    Draining,
    /// The database is away, or does not answer in time.
    #[error("the database cannot be reached, or does not answer in time")]
    Unavailable,
    /// The answer of COMMIT was lost.
    #[error("the outcome is unknown; repeat the call with the same request_id")]
    OutcomeUnknown,
    /// A defect of ours; the chain is in the log.
    #[error("a defect of the server")]
    Bug(String),
}

/// When a caller may try again after it was turned away for load.
pub const RETRY_LOAD: Duration = Duration::from_millis(200);

impl From<StoreError> for Error {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Busy(_) | StoreError::Conflict => Self::Contention,
            StoreError::Unavailable(source) | StoreError::Undone(source) => {
                tracing::warn!(error = %chain(&source), "database unavailable");
                Self::Unavailable
            }
            StoreError::Slow(source) => {
                tracing::warn!(error = %chain(&source), "database too slow");
                Self::Unavailable
            }
            StoreError::Unknown(source) => {
                tracing::warn!(error = %chain(&source), "answer to commit lost");
                Self::OutcomeUnknown
            }
            error @ (StoreError::Data(_) | StoreError::Corrupt(_)) => Self::Bug(chain(&error)),
        }
    }
}

/// An error and its sources, in one line for the log.
#[must_use]
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(source) = next {
        text.push_str(": ");
        text.push_str(&source.to_string());
        next = source.source();
    }
    text
}
