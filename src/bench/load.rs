//! The driver: a closed loop of callers, each with one call open at a time.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;

use super::BenchError;

/// What a run measured.
#[derive(Debug, Clone, Default)]
pub struct Measured {
    /// Latencies in microseconds, ascending.
    latencies: Vec<u32>,
    units: u64,
    elapsed: Duration,
}

impl Measured {
    /// What `latencies` of calls say that did `units` in `elapsed`.
    #[must_use]
    pub fn new(mut latencies: Vec<u32>, units: u64, elapsed: Duration) -> Self {
        latencies.sort_unstable();
        Self {
            latencies,
            units,
            elapsed,
        }
    }

    /// Calls that ended well.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.latencies.len()
    }

    /// What the calls did, where one does several.
    #[must_use]
    pub fn units(&self) -> u64 {
        self.units
    }

    /// Units a second.
    #[must_use]
    pub fn rate(&self) -> f64 {
        real(self.units) / self.elapsed.as_secs_f64().max(f64::EPSILON)
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

/// A count as a real number; the counts of a run are far below where that loses anything.
pub(super) fn real(count: u64) -> f64 {
    f64::from(u32::try_from(count).unwrap_or(u32::MAX))
}

/// How many callers, for how long.
#[derive(Debug, Clone, Copy)]
pub struct Load {
    /// Callers at once.
    pub callers: usize,
    /// How long they are measured.
    pub duration: Duration,
    /// Calls of each before that, so that connections are open and statements prepared.
    pub warm_up_calls: usize,
}

impl Load {
    /// Makes the callers and lets them call untimed. A call tells how many units it did; 0 says that
    /// there is nothing left to do.
    ///
    /// # Errors
    /// The first call that failed.
    pub async fn warm_up<C, F>(
        &self,
        mut caller: impl FnMut(usize) -> C,
    ) -> Result<Vec<C>, BenchError>
    where
        C: FnMut() -> F + Send + 'static,
        F: Future<Output = Result<u32, BenchError>> + Send + 'static,
    {
        let mut loops = JoinSet::new();
        for number in 0..self.callers {
            loops.spawn(call_times(caller(number), self.warm_up_calls));
        }
        let mut warm = Vec::with_capacity(self.callers);
        while let Some(call) = loops.join_next().await {
            warm.push(call??);
        }
        Ok(warm)
    }

    /// Measures callers that are warm.
    ///
    /// # Errors
    /// The first call that failed.
    pub async fn measure<C, F>(&self, warm: Vec<C>) -> Result<Measured, BenchError>
    where
        C: FnMut() -> F + Send + 'static,
        F: Future<Output = Result<u32, BenchError>> + Send + 'static,
    {
        let begin = Instant::now();
        let mut loops = JoinSet::new();
        for call in warm {
            loops.spawn(repeat(call, begin, begin + self.duration));
        }
        let (mut latencies, mut units, mut end) = (Vec::new(), 0, begin);
        while let Some(run) = loops.join_next().await {
            let mut run = run??;
            latencies.append(&mut run.latencies);
            units += run.units;
            end = end.max(run.end);
        }
        Ok(Measured::new(latencies, units, end.duration_since(begin)))
    }
}

/// What one caller did.
struct Run {
    latencies: Vec<u32>,
    units: u64,
    /// When its last call that did anything ended.
    end: Instant,
}

async fn call_times<C, F>(mut call: C, times: usize) -> Result<C, BenchError>
where
    C: FnMut() -> F,
    F: Future<Output = Result<u32, BenchError>>,
{
    for _ in 0..times {
        call().await?;
    }
    Ok(call)
}

async fn repeat<C, F>(mut call: C, begin: Instant, stop: Instant) -> Result<Run, BenchError>
where
    C: FnMut() -> F,
    F: Future<Output = Result<u32, BenchError>>,
{
    let mut run = Run {
        latencies: Vec::new(),
        units: 0,
        end: begin,
    };
    let mut begin = begin;
    while begin < stop {
        let units = call().await?;
        if units == 0 {
            break;
        }
        let now = Instant::now();
        run.latencies.push(micros(now.duration_since(begin)));
        run.units += u64::from(units);
        run.end = now;
        begin = now;
    }
    Ok(run)
}

/// A latency as it is kept.
pub(super) fn micros(span: Duration) -> u32 {
    u32::try_from(span.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOAD: Load = Load {
        callers: 2,
        duration: Duration::from_secs(1),
        warm_up_calls: 1,
    };

    #[test]
    fn percentiles_are_the_nearest_rank() {
        let measured = Measured::new((1..=100).rev().collect(), 200, Duration::from_secs(2));
        assert_eq!(
            [50, 95, 99, 100].map(|percent| measured.percentile(percent)),
            [50, 95, 99, 100]
        );
        assert!((measured.rate() - 100.0).abs() < f64::EPSILON);
        assert_eq!(Measured::default().percentile(99), 0);
    }

    #[tokio::test]
    async fn a_failed_call_fails_the_run() {
        let caller = |_| || async { Err(BenchError::Call("refused".to_owned())) };
        assert!(LOAD.warm_up(caller).await.is_err());
    }

    #[tokio::test]
    async fn a_caller_with_nothing_left_to_do_ends_and_is_not_counted() {
        let warm = LOAD.warm_up(|_| || async { Ok(0) }).await.unwrap();
        let measured = LOAD.measure(warm).await.unwrap();
        assert_eq!((measured.calls(), measured.units()), (0, 0));
    }
}
