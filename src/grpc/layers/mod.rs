//! What every call passes through before its service: the trace with its counters, the limits.

mod limits;
mod methods;
mod trace;

pub(crate) use limits::limited;
pub use limits::{MAX_CONCURRENT_STREAMS, MAX_MESSAGE_BYTES};
pub use trace::{CALL_ID_HEADER, NAMESPACE_HEADER, TraceLayer};
