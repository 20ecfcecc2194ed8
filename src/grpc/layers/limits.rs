//! Limits that the transport holds for every service.

use http::HeaderMap;
use tonic::{Code, Status};

use crate::app::error::Error;
use crate::domain::refusal::Violation;

/// Calls one connection may have open. A runtime parks its claim and a front end thousands of
/// waits on one connection, so far above the usual hundred; each costs a few kilobytes.
pub const MAX_CONCURRENT_STREAMS: u32 = 10_000;

/// Largest message either way, in bytes: the limit that gRPC clients have by default, so that no
/// answer is one that a client cannot take.
pub const MAX_MESSAGE_BYTES: usize = 4 * 1024 * 1024;

/// Sets the message limit on a generated server, whose setters no trait names.
macro_rules! limited {
    ($server:expr) => {
        $server
            .max_decoding_message_size($crate::grpc::layers::MAX_MESSAGE_BYTES)
            .max_encoding_message_size($crate::grpc::layers::MAX_MESSAGE_BYTES)
    };
}

pub(crate) use limited;

/// Gives the transport's own refusal of a message that is too large a reason, like any of ours, which
/// are never `OUT_OF_RANGE`.
pub(super) fn tell_size(headers: &mut HeaderMap) {
    let code = headers.get("grpc-status");
    let code = code.map(|code| Code::from_bytes(code.as_bytes()));
    if code != Some(Code::OutOfRange) {
        return;
    }
    let most = MAX_MESSAGE_BYTES / (1024 * 1024);
    let wrong = Violation::new(
        "message",
        format!("may have {most} MiB at most; send less at once"),
    );
    let status = Status::from(Error::Invalid(vec![wrong]));
    // Its texts are ours, so that they fit into headers; if they did not, the old ones stand.
    drop(status.add_header(headers));
}
