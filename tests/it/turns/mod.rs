//! Turns through RuntimeService.

mod answers;
mod claims;
mod finish;
mod heartbeat;
mod leases;
mod requests;
mod slots;
pub(crate) mod stage;
mod waiting;
