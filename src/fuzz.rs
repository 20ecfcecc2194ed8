//! Properties over random input: a few hundred cases in every run of the tests, and as many as fit into
//! `HANDOFFD_FUZZ_MINUTES` where that is set. What they find is committed as a test of its own.

use std::fmt::Debug;
use std::time::{Duration, Instant};

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, TestCaseResult, TestRunner};

/// Cases of a property in every run of the tests.
const CASES: u32 = 256;

/// Fails with the smallest value found that `property` does not hold for.
pub(crate) fn holds<S: Strategy>(strategy: S, property: impl Fn(S::Value) -> TestCaseResult)
where
    S::Value: Debug,
{
    holds_for("HANDOFFD_FUZZ_MINUTES", CASES, strategy, property);
}

/// The same for so many cases, and as many more as fit into the minutes that a variable of the
/// environment asks for.
pub(crate) fn holds_for<S: Strategy>(
    minutes: &str,
    cases: u32,
    strategy: S,
    property: impl Fn(S::Value) -> TestCaseResult,
) where
    S::Value: Debug,
{
    let minutes = std::env::var(minutes).ok();
    let minutes: u64 = minutes.map_or(0, |minutes| minutes.parse().unwrap());
    let until = Instant::now() + Duration::from_secs(60 * minutes);
    let mut runner = TestRunner::new(Config {
        cases,
        failure_persistence: None,
        ..Config::default()
    });
    loop {
        if let Err(found) = runner.run(&strategy, &property) {
            panic!("{found}");
        }
        if Instant::now() >= until {
            return;
        }
    }
}
