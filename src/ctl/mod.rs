//! The operator's commands: a gRPC client that knows the proto only.
