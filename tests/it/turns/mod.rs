//! Turns through RuntimeService.

pub(crate) mod stage;
