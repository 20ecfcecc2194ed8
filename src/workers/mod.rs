//! Background work: a generic driver and the reconciler's jobs.
