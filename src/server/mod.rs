//! Composition: configuration, telemetry, lifecycle. The only place that knows everything.
