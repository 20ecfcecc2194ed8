//! What can go wrong between a server and its database, sorted by what to do about it.

use super::codec::Unknown;

/// A failure of the store.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A lock was not to be had in time, or a deadlock was broken: nothing happened, try again.
    #[error("a lock was not to be had in time")]
    Busy(#[source] sqlx::Error),
    /// The database did not finish in time: nothing happened, try again, with less at once.
    #[error("the database did not finish in time")]
    Slow(#[source] sqlx::Error),
    /// A row changed hands, or a key was used first: nothing happened, decide again.
    #[error("a row or key was somebody else's")]
    Conflict,
    /// The database refused a value or found an invariant broken: one command of the batch is at
    /// fault, and nothing happened.
    #[error("the database refuses what the batch wants to write")]
    Data(#[source] sqlx::Error),
    /// A stored row is no value of ours.
    #[error("a stored row breaks an invariant")]
    Corrupt(#[from] Unknown),
    /// The database cannot be reached or is not ready: nothing happened.
    #[error("the database cannot be reached")]
    Unavailable(#[source] sqlx::Error),
    /// COMMIT was not answered, and the database says that the transaction is undone: nothing happened,
    /// run it again.
    #[error("the transaction was undone")]
    Undone(#[source] sqlx::Error),
    /// The answer to COMMIT was lost, and nobody can tell whether it happened.
    #[error("the answer to COMMIT was lost")]
    Unknown(#[source] sqlx::Error),
}

impl From<sqlx::Error> for StoreError {
    fn from(error: sqlx::Error) -> Self {
        let code = match &error {
            sqlx::Error::Database(database) => database.code().map(std::borrow::Cow::into_owned),
            sqlx::Error::ColumnDecode { .. } | sqlx::Error::Decode(_) | sqlx::Error::Encode(_) => {
                return Self::Data(error);
            }
            _ => None,
        };
        match code.as_deref() {
            // lock_not_available, deadlock_detected, serialization_failure
            Some("55P03" | "40P01" | "40001") => Self::Busy(error),
            // query_canceled: by the statement timeout of the transaction.
            Some("57014") => Self::Slow(error),
            Some(code)
                if ["22", "23", "42"]
                    .iter()
                    .any(|class| code.starts_with(class)) =>
            {
                Self::Data(error)
            }
            _ => Self::Unavailable(error),
        }
    }
}

impl StoreError {
    /// It took too long, and another try may not.
    #[must_use]
    pub fn is_slow(&self) -> bool {
        matches!(self, Self::Slow(_)) || self.is_silence()
    }

    /// Nothing was heard of the database in time: it is away, or very slow.
    #[must_use]
    pub fn is_silence(&self) -> bool {
        let Self::Unavailable(sqlx::Error::Io(error)) = self else {
            return false;
        };
        error.kind() == std::io::ErrorKind::TimedOut
    }

    /// What a failed COMMIT means. Only a database that says why it refused is believed that nothing
    /// happened: one that goes down may do so behind the commit, and a pooler tells a lost server as an
    /// error of the statement.
    pub(super) fn of_commit(error: sqlx::Error) -> Self {
        if !matches!(error, sqlx::Error::Database(_)) {
            return Self::Unknown(error);
        }
        match Self::from(error) {
            Self::Unavailable(error) | Self::Slow(error) => Self::Unknown(error),
            refused => refused,
        }
    }
}
