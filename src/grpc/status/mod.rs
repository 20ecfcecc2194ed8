//! The only place that makes a status: why a call has no answer, as its caller is told.
//!
//! Every status has a sentence, a stable reason and all facts of the sentence as metadata; details
//! that a program can act on follow from the kind of failure.

mod refusal;

use std::collections::HashMap;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::{ErrorDetails, StatusExt};

use crate::app::error::{Error, RETRY_LOAD};
use crate::domain::refusal::{Refusal, Violation};
use crate::proto::v1::ErrorReason;

/// Bytes of violations in the details, and in the sentence. A status travels in trailers, and a client
/// that takes 8 KiB of them, as gRPC has it, closes the whole connection over more.
const DETAIL_BYTES: usize = 3_000;
const MESSAGE_BYTES: usize = 1_000;
/// The domain of every reason.
const DOMAIN: &str = "handoffd";

/// When a caller may try again after the database or the server went away.
const RETRY_AWAY: Duration = Duration::from_secs(1);

/// What the prefix of every value of the enum is.
const PREFIX: &str = "ERROR_REASON_";

/// A failure, ready to be told.
struct Told {
    code: Code,
    reason: ErrorReason,
    facts: HashMap<String, String>,
    details: ErrorDetails,
}

impl Told {
    fn new(code: Code, reason: ErrorReason) -> Self {
        Self {
            code,
            reason,
            facts: HashMap::new(),
            details: ErrorDetails::new(),
        }
    }

    /// With a variable of the sentence, by its lowerCamel name.
    fn fact(mut self, name: &str, value: &(impl ToString + ?Sized)) -> Self {
        self.facts.insert(name.to_owned(), value.to_string());
        self
    }

    fn opt_fact(self, name: &str, value: Option<&impl ToString>) -> Self {
        match value {
            Some(value) => self.fact(name, value),
            None => self,
        }
    }

    fn quota(mut self, subject: &str, description: &str) -> Self {
        self.details
            .add_quota_failure_violation(subject, description);
        self
    }

    fn retry(mut self, after: Duration) -> Self {
        self.details.set_retry_info(Some(after));
        self
    }

    fn violations(mut self, violations: &[Violation]) -> Self {
        let told = fitting(violations, DETAIL_BYTES);
        for violation in &violations[..told] {
            self.details
                .add_bad_request_violation(&violation.field, &violation.description);
        }
        if let Some(first) = violations.get(told) {
            let left = violations.len() - told;
            let more = format!("and {left} more from here on; correct the others first");
            self.details.add_bad_request_violation(&first.field, more);
        }
        self
    }

    fn status(mut self, message: &str) -> Status {
        self.details
            .set_error_info(reason_name(self.reason), DOMAIN, self.facts);
        Status::with_error_details(self.code, message, self.details)
    }
}

/// How many violations take so many bytes at most; one at least.
fn fitting(violations: &[Violation], bytes: usize) -> usize {
    let mut size = 0;
    let fits = violations.iter().take_while(|it| {
        size += it.field.len() + it.description.len() + 16;
        size <= bytes
    });
    fits.count().max(1).min(violations.len())
}

/// The name that callers know a reason by.
fn reason_name(reason: ErrorReason) -> &'static str {
    let name = reason.as_str_name();
    name.strip_prefix(PREFIX).unwrap_or(name)
}

impl From<Error> for Status {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Refused(Refusal::Invalid(violations)) | Error::Invalid(violations) => {
                invalid(&violations)
            }
            Error::Refused(refusal) => refusal::told(&refusal).status(&message),
            Error::Bug(chain) => bug(&chain),
            Error::NamespaceInvalid
            | Error::NamespaceRepeated
            | Error::PageToken
            | Error::QueueFull
            | Error::Overloaded
            | Error::Contention
            | Error::DeadlineExceeded
            | Error::Draining
            | Error::Unavailable
            | Error::OutcomeUnknown => plain(&error).status(&message),
        }
    }
}

/// Failures whose sentence has no variables.
fn plain(error: &Error) -> Told {
    match error {
        Error::NamespaceInvalid | Error::NamespaceRepeated => {
            Told::new(Code::InvalidArgument, ErrorReason::NamespaceInvalid)
        }
        Error::PageToken => Told::new(Code::InvalidArgument, ErrorReason::PageTokenInvalid)
            .violations(&[Violation::new("page_token", error.to_string())]),
        Error::QueueFull => Told::new(Code::ResourceExhausted, ErrorReason::QueueFull)
            .retry(RETRY_LOAD)
            .quota("waiting calls of the namespace", &error.to_string()),
        Error::Overloaded => {
            Told::new(Code::Unavailable, ErrorReason::Overloaded).retry(RETRY_LOAD)
        }
        Error::Contention => {
            Told::new(Code::Unavailable, ErrorReason::Contention).retry(RETRY_LOAD)
        }
        Error::DeadlineExceeded => Told::new(Code::DeadlineExceeded, ErrorReason::DeadlineExceeded),
        Error::Draining => Told::new(Code::Unavailable, ErrorReason::Draining).retry(RETRY_AWAY),
        Error::OutcomeUnknown => {
            Told::new(Code::Unavailable, ErrorReason::OutcomeUnknown).retry(RETRY_AWAY)
        }
        Error::Unavailable => {
            Told::new(Code::Unavailable, ErrorReason::DatabaseUnavailable).retry(RETRY_AWAY)
        }
        // These are told with their variables, above.
        Error::Refused(_) | Error::Bug(_) | Error::Invalid(_) => {
            Told::new(Code::Internal, ErrorReason::InternalBug)
        }
    }
}

fn invalid(violations: &[Violation]) -> Status {
    let told = fitting(violations, MESSAGE_BYTES);
    let mut sentences: Vec<String> = violations[..told]
        .iter()
        .map(|it| format!("`{}` {}", it.field, it.description))
        .collect();
    if told < violations.len() {
        sentences.push(format!("and {} more", violations.len() - told));
    }
    let message = format!("the request is malformed: {}", sentences.join("; "));
    invalid_told(violations).status(&message)
}

fn invalid_told(violations: &[Violation]) -> Told {
    Told::new(Code::InvalidArgument, ErrorReason::InvalidField).violations(violations)
}

/// Logs what went wrong and tells the caller under which id.
fn bug(chain: &str) -> Status {
    let error_id = format!("{:016x}", rand::random::<u64>());
    tracing::error!(
        error_id,
        error = chain,
        "a call failed through a defect of the server"
    );
    Told::new(Code::Internal, ErrorReason::InternalBug)
        .fact("errorId", &error_id)
        .status(&format!(
            "the server has a defect; report error id `{error_id}`, which its log explains"
        ))
}

#[cfg(test)]
mod tests;
