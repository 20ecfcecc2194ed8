//! Types and stubs generated from `proto/`, and their descriptors for reflection.

/// Generated code of package `handoff.v1`.
#[expect(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unreachable_pub,
    reason = "generated code"
)]
pub mod v1 {
    tonic::include_proto!("handoff.v1");
}

/// The compiled descriptors of `proto/`, served by reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/handoff_descriptor.bin"));
