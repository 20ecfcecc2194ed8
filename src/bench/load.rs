//! The driver: a closed loop of callers, each with one call open at a time.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::BenchError;

/// Calls before the measurement, per caller, so that connections are open and statements prepared.
const WARM_UP_CALLS: usize = 20;

/// What a run measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Latencies in microseconds, ascending.
    latencies: Vec<u32>,
    elapsed: Duration,
    warm_up_calls: usize,
}

impl Measured {
    /// Calls that ended well.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.latencies.len()
    }

    /// Calls before the measurement.
    #[must_use]
    pub fn warm_up_calls(&self) -> usize {
        self.warm_up_calls
    }

    /// Calls a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        let calls = u32::try_from(self.calls()).unwrap_or(u32::MAX);
        f64::from(calls) / self.elapsed.as_secs_f64().max(f64::EPSILON)
    }

    /// The latency that `percent` of the calls did not exceed, in microseconds.
    #[must_use]
    pub fn percentile(&self, percent: usize) -> u32 {
        let rank = (self.calls() * percent).div_ceil(100);
        self.latencies
            .get(rank.saturating_sub(1))
            .copied()
            .unwrap_or_default()
    }
}

/// Runs `callers` loops for `duration`. `caller` makes the call of the loop with that number.
///
/// # Errors
/// The first call that failed.
pub async fn drive<M, C, F>(
    callers: usize,
    duration: Duration,
    mut caller: M,
) -> Result<Measured, BenchError>
where
    M: FnMut(usize) -> C,
    C: FnMut() -> F + Send + 'static,
    F: Future<Output = Result<(), BenchError>> + Send + 'static,
{
    let mut loops = JoinSet::new();
    for number in 0..callers {
        loops.spawn(warm_up(caller(number)));
    }
    let mut warm = Vec::with_capacity(callers);
    while let Some(call) = loops.join_next().await {
        warm.push(call??);
    }

    let begin = Instant::now();
    let mut loops = JoinSet::new();
    for call in warm {
        loops.spawn(repeat(call, begin + duration));
    }
    let mut latencies = Vec::new();
    while let Some(measured) = loops.join_next().await {
        latencies.append(&mut measured??);
    }
    let elapsed = begin.elapsed();
    latencies.sort_unstable();
    Ok(Measured {
        latencies,
        elapsed,
        warm_up_calls: callers * WARM_UP_CALLS,
    })
}

async fn warm_up<C, F>(mut call: C) -> Result<C, BenchError>
where
    C: FnMut() -> F,
    F: Future<Output = Result<(), BenchError>>,
{
    for _ in 0..WARM_UP_CALLS {
        call().await?;
    }
    Ok(call)
}

async fn repeat<C, F>(mut call: C, end: Instant) -> Result<Vec<u32>, BenchError>
where
    C: FnMut() -> F,
    F: Future<Output = Result<(), BenchError>>,
{
    let mut latencies = Vec::new();
    let mut begin = Instant::now();
    while begin < end {
        call().await?;
        let now = Instant::now();
        let micros = now.duration_since(begin).as_micros();
        latencies.push(u32::try_from(micros).unwrap_or(u32::MAX));
        begin = now;
    }
    Ok(latencies)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let measured = Measured {
            latencies: (1..=100).collect(),
            elapsed: Duration::from_secs(2),
            ..Measured::default()
        };
        assert_eq!(
            [50, 95, 99, 100].map(|percent| measured.percentile(percent)),
            [50, 95, 99, 100]
        );
        assert!((measured.rate() - 50.0).abs() < f64::EPSILON);
        assert_eq!(Measured::default().percentile(99), 0);
    }

    #[tokio::test]
    async fn a_failed_call_fails_the_run() {
        let caller = |_| || async { Err(BenchError::Call("refused".to_owned())) };
        assert!(drive(2, Duration::from_secs(1), caller).await.is_err());
    }
}
