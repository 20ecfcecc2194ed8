//! What happened in a run: counts, and whatever broke a promise.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::{Duration, Instant};

/// Findings kept; more tell nothing new.
const KEPT: usize = 40;

/// Where a count belongs in the account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::faults) enum Part {
    Faults,
    Work,
    Checks,
}

/// See the module.
pub(in crate::faults) struct Account {
    begin: Instant,
    counts: RefCell<BTreeMap<(Part, &'static str), u64>>,
    findings: RefCell<Vec<String>>,
    ends: Cell<u64>,
    progress: Cell<Instant>,
    stall: Cell<Duration>,
    slowest: Cell<Duration>,
}

impl Account {
    pub(in crate::faults) fn new() -> Self {
        Self {
            begin: Instant::now(),
            counts: RefCell::default(),
            findings: RefCell::default(),
            ends: Cell::default(),
            progress: Cell::new(Instant::now()),
            stall: Cell::default(),
            slowest: Cell::default(),
        }
    }

    pub(in crate::faults) fn count(&self, part: Part, what: &'static str) {
        self.add(part, what, 1);
    }

    pub(in crate::faults) fn add(&self, part: Part, what: &'static str, number: u64) {
        *self.counts.borrow_mut().entry((part, what)).or_default() += number;
    }

    /// A promise was broken.
    pub(in crate::faults) fn broken(&self, what: impl Display) {
        let mut findings = self.findings.borrow_mut();
        if findings.len() < KEPT {
            let at = self.begin.elapsed().as_secs();
            findings.push(format!("[{at} s] {what}"));
        }
    }

    /// The same, unless it holds.
    pub(in crate::faults) fn holds(&self, it_holds: bool, otherwise: impl FnOnce() -> String) {
        if !it_holds {
            self.broken(otherwise());
        }
    }

    pub(in crate::faults) fn findings(&self) -> Vec<String> {
        self.findings.borrow().clone()
    }

    /// A handoff ended that was made so long ago.
    pub(in crate::faults) fn ended_after(&self, span: Duration) {
        self.ends.set(self.ends.get() + 1);
        self.slowest.set(self.slowest.get().max(span));
        let now = Instant::now();
        let still = now - self.progress.replace(now);
        self.stall.set(self.stall.get().max(still));
    }

    /// Handoffs whose end their parent read.
    pub(in crate::faults) fn ends(&self) -> u64 {
        self.ends.get()
    }

    /// One line of how far it is.
    pub(in crate::faults) fn so_far(&self) -> String {
        let counts = self.counts.borrow();
        let of = |part| {
            let these = counts.iter().filter(move |((it, _), _)| *it == part);
            these.map(|(_, count)| count).sum::<u64>()
        };
        format!(
            "{:>5} s: {} faults, {} deeds, {} findings",
            self.begin.elapsed().as_secs(),
            of(Part::Faults),
            of(Part::Work),
            self.findings.borrow().len()
        )
    }
}

impl Display for Account {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = None;
        for ((part, what), count) in &*self.counts.borrow() {
            if before.replace(*part) != Some(*part) {
                writeln!(f, "\n{part:?}")?;
            }
            writeln!(f, "{count:>9}  {what}")?;
        }
        writeln!(f, "\nTimes")?;
        for (span, what) in [
            (self.begin.elapsed(), "the whole run"),
            (
                self.stall.get(),
                "the longest time in which no handoff ended",
            ),
            (
                self.slowest.get(),
                "the longest way from a handoff to its end",
            ),
        ] {
            writeln!(f, "{:>7.1} s  {what}", span.as_secs_f64())?;
        }
        Ok(())
    }
}
