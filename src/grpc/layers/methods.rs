//! The names that metrics may show of a call: those of the API's own methods and codes, never what a
//! caller wrote.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use prost::Message;
use prost_types::FileDescriptorSet;
use tonic::Code;

use crate::proto::FILE_DESCRIPTOR_SET;

/// What stands for every other method: health, reflection, nonsense.
const OTHER: &str = "other";

/// `package.Service/Method` of every method, as the proto spells them.
static METHODS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let set = FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap_or_default();
    let services = set
        .file
        .iter()
        .flat_map(|file| file.service.iter().map(move |it| (file.package(), it)));
    let methods = services.flat_map(|(package, service)| {
        let path = format!("{package}.{}", service.name());
        let names = service.method.iter();
        names.map(move |method| format!("{path}/{}", method.name()))
    });
    methods.collect()
});

/// The name of the method at a path.
pub(super) fn known(path: &str) -> &'static str {
    let method = path.strip_prefix('/').unwrap_or(path);
    METHODS.get(method).map_or(OTHER, String::as_str)
}

/// A code as gRPC spells it.
pub(super) fn code_name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "CANCELLED",
        Code::Unknown => "UNKNOWN",
        Code::InvalidArgument => "INVALID_ARGUMENT",
        Code::DeadlineExceeded => "DEADLINE_EXCEEDED",
        Code::NotFound => "NOT_FOUND",
        Code::AlreadyExists => "ALREADY_EXISTS",
        Code::PermissionDenied => "PERMISSION_DENIED",
        Code::ResourceExhausted => "RESOURCE_EXHAUSTED",
        Code::FailedPrecondition => "FAILED_PRECONDITION",
        Code::Aborted => "ABORTED",
        Code::OutOfRange => "OUT_OF_RANGE",
        Code::Unimplemented => "UNIMPLEMENTED",
        Code::Internal => "INTERNAL",
        Code::Unavailable => "UNAVAILABLE",
        Code::DataLoss => "DATA_LOSS",
        Code::Unauthenticated => "UNAUTHENTICATED",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_apis_own_methods_have_a_name() {
        let create = "/handoff.v1.HandoffService/CreateHandoff";
        assert_eq!(known(create), &create[1..]);
        for other in ["/handoff.v1.HandoffService/Nothing", "", "/", "/x y"] {
            assert_eq!(known(other), OTHER);
        }
    }
}
