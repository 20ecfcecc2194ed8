//! The gRPC surface: parses requests, calls use cases, encodes answers.

pub mod layers;
