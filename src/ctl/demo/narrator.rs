//! Tells what happens, who did it and when.

use std::time::Instant;

use super::super::{CtlError, output};
use crate::redact;

/// The voice of the demo.
#[derive(Debug)]
pub(super) struct Narrator {
    begin: Instant,
}

impl Narrator {
    pub(super) fn begin() -> Self {
        Self {
            begin: Instant::now(),
        }
    }

    /// Tells one thing that `who` did.
    pub(super) fn tell(&self, who: &str, what: &str) -> Result<(), CtlError> {
        let seconds = self.begin.elapsed().as_secs_f64();
        output::print(&format!("{seconds:6.1}s  {who:<8}  {}", redact::line(what)))
    }
}
