//! Failures, as a client reads them.

use std::collections::BTreeMap;

use tonic::{Code, Response, Status};
use tonic_types::StatusExt;

/// What a failed call told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Told {
    pub(crate) code: Code,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) metadata: BTreeMap<String, String>,
    /// Paths of the wrong fields, in order, each once.
    pub(crate) fields: Vec<String>,
}

impl Told {
    /// Code and reason: what most tests look at.
    pub(crate) fn what(&self) -> (Code, &str) {
        (self.code, &self.reason)
    }
}

/// The failure of a call that must fail; each of ours has a reason.
pub(crate) fn told<T: std::fmt::Debug>(answer: Result<Response<T>, Status>) -> Told {
    let status = answer.unwrap_err();
    let details = status.get_error_details();
    let info = details
        .error_info()
        .unwrap_or_else(|| panic!("a failure without a reason: {status:?}"));
    let mut fields: Vec<String> = details
        .bad_request()
        .map(|it| {
            it.field_violations
                .iter()
                .map(|it| it.field.clone())
                .collect()
        })
        .unwrap_or_default();
    fields.dedup();
    Told {
        code: status.code(),
        reason: info.reason.clone(),
        message: status.message().to_owned(),
        metadata: info.metadata.clone().into_iter().collect(),
        fields,
    }
}
