//! Runs a job again and again: when its next row falls due, when this server made one for it, and every
//! few seconds at the latest.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use crate::app::App;
use crate::app::reconcile::Report;

use super::jobs::Job;

/// The longest pause between two passes: polling is the guarantee.
const PERIOD: Duration = Duration::from_secs(5);
/// The pause after a pass that failed: leases must not wait long for a database that is back.
const RETRY: Duration = Duration::from_secs(1);
/// The shortest: due rows gather into one pass.
const PAUSE: Duration = Duration::from_millis(50);

/// How the last pass went, for whoever looks.
#[derive(Clone, Debug, Default)]
pub struct Status {
    /// Passes so far.
    pub passes: u64,
    /// What the last one came to, where it came to an end.
    pub report: Option<Report>,
    /// Why the last one failed.
    pub error: Option<String>,
    /// How long it took.
    pub duration: Duration,
}

/// Drives `job` until it is dropped.
pub async fn drive(job: Arc<Job>, app: Arc<App>, status: watch::Sender<Status>) {
    loop {
        let begin = Instant::now();
        let result = job.run_once(&app).await;
        let duration = begin.elapsed();
        let pause = match &result {
            // Rows that failed are left out of the next look.
            Ok(report) if report.more && report.failed < report.found => PAUSE,
            Ok(report) => report.next.unwrap_or(PERIOD).clamp(PAUSE, PERIOD),
            Err(_) => RETRY,
        };
        tell(&job, &result, duration);
        let rows = result
            .as_ref()
            .map(|report| [report.moved, report.already_so, report.failed]);
        app.metrics()
            .pass_ended(job.name().as_str(), rows.ok(), duration);
        status.send_modify(|status| {
            status.passes += 1;
            status.duration = duration;
            status.error = result.as_ref().err().map(ToString::to_string);
            status.report = result.ok();
        });
        #[expect(
            clippy::disallowed_methods,
            reason = "this is the driver that everybody else is to use"
        )]
        let rest = sleep(pause);
        tokio::select! {
            () = rest => {}
            () = job.called(&app) => {}
        }
    }
}

fn tell(job: &Job, result: &Result<Report, crate::app::error::Error>, duration: Duration) {
    let name = job.name().as_str();
    match result {
        Ok(report) if report.moved + report.failed > 0 => tracing::info!(
            job = name,
            found = report.found,
            moved = report.moved,
            already_so = report.already_so,
            failed = report.failed,
            duration_ms = u64::try_from(duration.as_millis()).unwrap_or(u64::MAX),
            "pass",
        ),
        Ok(report) => tracing::debug!(job = name, found = report.found, "nothing to do"),
        Err(error) => tracing::warn!(job = name, error = %error, "pass failed; it is tried again"),
    }
}
