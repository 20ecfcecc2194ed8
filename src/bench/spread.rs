//! Numbers that are handed out once each before any is handed out again, far apart.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Odd, so that it visits every number below a power of two; near the golden section of 65,536.
const STRIDE: usize = 40_503;

/// Hands out numbers below a power of two, to all callers together.
#[derive(Debug, Clone)]
pub(super) struct Spread {
    below: usize,
    next: Arc<AtomicUsize>,
}

impl Spread {
    /// Over the numbers below `below`, a power of two.
    pub(super) fn new(below: usize) -> Self {
        Self {
            below,
            next: Arc::default(),
        }
    }

    /// The next number, and how many were handed out before it.
    pub(super) fn next(&self) -> (usize, usize) {
        let count = self.next.fetch_add(1, Ordering::Relaxed);
        (count.wrapping_mul(STRIDE) % self.below, count)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_number_comes_once_a_round() {
        let spread = Spread::new(1 << 16);
        let round: HashSet<usize> = (0..1 << 16).map(|_| spread.next().0).collect();
        assert_eq!(round.len(), 1 << 16);
    }
}
