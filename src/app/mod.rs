//! Use cases: one file each, carried out by the pipeline.
