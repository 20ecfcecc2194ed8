//! Types and stubs generated from `proto/`, and their descriptors for reflection.

/// Generated code of package `handoff.v1`.
pub mod v1 {
    #![allow(
        clippy::all,
        clippy::pedantic,
        clippy::allow_attributes,
        clippy::allow_attributes_without_reason,
        missing_docs,
        unreachable_pub,
        unused_qualifications,
        reason = "generated code"
    )]
    tonic::include_proto!("handoff.v1");
}

/// The compiled descriptors of `proto/`, served by reflection.
pub const FILE_DESCRIPTOR_SET: &[u8] =
    include_bytes!(concat!(env!("OUT_DIR"), "/handoff_descriptor.bin"));
