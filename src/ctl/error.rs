//! Why a command failed, in one sentence, and the exit code that says which kind of failure it was.

use std::fmt;
use std::process::ExitCode;

use tonic::{Code, Status};
use tonic_types::StatusExt;

use crate::redact;

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
pub enum CtlError {
    /// The command makes no sense as it was typed.
    #[error("{0}")]
    Usage(String),
    /// Nobody answers at the address.
    #[error("cannot reach a server at `{address}`")]
    Unreachable {
        /// The address.
        address: String,
        /// What the transport said.
        source: tonic::transport::Error,
    },
    /// The server answered that it will not.
    #[error(transparent)]
    Refused(Box<Refused>),
    /// Some of what was named does not exist; the answer says which.
    #[error("not found: {0}")]
    Unknown(usize),
    /// Some of what was found could not be cancelled; the answer says which, and why.
    #[error("not cancelled: {0}")]
    NotCancelled(usize),
    /// It was not confirmed.
    #[error("nothing was done")]
    NotConfirmed,
    /// The server is there, and not well.
    #[error("{0}")]
    Unwell(String),
    /// The demo did not go as it always does.
    #[error("the demo stopped: {0}")]
    Demo(String),
    /// An answer cannot be written as JSON.
    #[error("cannot write the answer as JSON")]
    Json(#[from] serde_json::Error),
    /// The compiled descriptors do not fit the compiled types.
    #[error("cannot describe the answer")]
    Descriptors(#[from] prost_reflect::DescriptorError),
    /// An answer and its description do not fit.
    #[error("cannot describe the answer")]
    Undescribed(#[from] prost::DecodeError),
    /// Standard output or input is gone.
    #[error("cannot use the terminal")]
    Terminal(#[from] std::io::Error),
}

/// What a server said no with.
#[derive(Debug)]
pub struct Refused {
    code: Code,
    message: String,
    reason: Option<String>,
    wrong_fields: Vec<(String, String)>,
}

impl CtlError {
    /// The exit code, as docs/CLI.md lists them.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        ExitCode::from(self.code())
    }

    fn code(&self) -> u8 {
        match self {
            Self::Usage(_) => 2,
            Self::Unknown(_) => 3,
            Self::Unreachable { .. } => 4,
            Self::Refused(refused) => match refused.code {
                Code::InvalidArgument => 2,
                Code::NotFound => 3,
                Code::Unavailable | Code::DeadlineExceeded => 4,
                _ => 1,
            },
            _ => 1,
        }
    }
}

impl From<Status> for CtlError {
    fn from(status: Status) -> Self {
        Self::Refused(Box::new(Refused::from(&status)))
    }
}

impl From<&Status> for Refused {
    fn from(status: &Status) -> Self {
        let details = status.get_error_details();
        let wrong = details.bad_request().map(|bad| &bad.field_violations);
        // A connection that breaks in mid-call is told by tonic as an unknown error.
        let broke = status.code() == Code::Unknown && std::error::Error::source(status).is_some();
        Self {
            code: if broke {
                Code::Unavailable
            } else {
                status.code()
            },
            message: redact::line(status.message()),
            reason: details.error_info().map(|it| redact::line(&it.reason)),
            wrong_fields: wrong
                .into_iter()
                .flatten()
                .map(|it| (redact::line(&it.field), redact::line(&it.description)))
                .collect(),
        }
    }
}

impl fmt::Display for Refused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.message.as_str() {
            "" => write!(f, "the server answered {:?}", self.code)?,
            message => f.write_str(message)?,
        }
        match &self.reason {
            Some(reason) => write!(f, " ({reason})")?,
            // An answer of something else than handoffd, or of a release that lacks the call.
            None => write!(f, " ({:?})", self.code)?,
        }
        for (field, description) in &self.wrong_fields {
            if !self.message.contains(description.as_str()) {
                write!(f, "\n  {field}: {description}")?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for Refused {}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use tonic_types::ErrorDetails;

    use super::*;

    fn refused(code: Code, details: ErrorDetails) -> CtlError {
        Status::with_error_details(code, "the message\u{1b}[31m", details).into()
    }

    #[test]
    fn an_error_is_the_servers_sentence_with_its_reason() {
        let details = ErrorDetails::with_error_info("GONE", "handoffd", HashMap::new());
        let error = refused(Code::NotFound, details);
        assert_eq!(error.to_string(), "the message (GONE)");
        assert_eq!(error.code(), 3);
    }

    #[test]
    fn each_wrong_field_has_a_line_of_its_own() {
        let mut details = ErrorDetails::new();
        details
            .add_bad_request_violation("body", "is empty")
            .add_bad_request_violation("subject", "is too long");
        let error = refused(Code::InvalidArgument, details);
        assert_eq!(
            error.to_string(),
            "the message (InvalidArgument)\n  body: is empty\n  subject: is too long"
        );
        assert_eq!(error.code(), 2);
    }

    #[test]
    fn the_exit_code_tells_the_kinds_of_failure_apart() {
        for (code, exit) in [
            (Code::FailedPrecondition, 1),
            (Code::AlreadyExists, 1),
            (Code::InvalidArgument, 2),
            (Code::NotFound, 3),
            (Code::Unavailable, 4),
            (Code::DeadlineExceeded, 4),
        ] {
            assert_eq!(refused(code, ErrorDetails::new()).code(), exit, "{code:?}");
        }
    }
}
