//! Limits that the transport holds for every service.

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
