//! What servers cost that have nothing to do, with a thousand runtimes that wait.

use std::collections::BTreeMap;
use std::fmt::{self, Display};
use std::time::Duration;

use super::crowd::RUNTIMES;
use super::kernel::Process;
use super::site::Site;
use crate::faults::workload::Work;
use crate::support::pause;

/// How long what went on before may need to come to rest.
const RESTS: Duration = Duration::from_secs(4);
/// Statements a second that an idle server may make.
const STATEMENTS: f64 = 5.0;
/// By how much the memory of all servers may differ between two times of rest.
const MORE: (f64, f64) = (1.3, 32.0);
/// Files likewise: connections to the database that are kept once they were needed, and of the runtimes.
const MORE_FILES: u64 = 48;

/// See the module.
pub(super) struct Still {
    made: BTreeMap<String, usize>,
    span: Duration,
    servers: Vec<Process>,
}

impl Still {
    /// Measures for so long.
    pub(super) async fn measure(site: &Site, span: Duration) -> Self {
        pause(RESTS).await;
        Self {
            made: site.statements(span).await,
            span,
            servers: site.servers(),
        }
    }

    /// Statements a second that each server made.
    fn statements(&self) -> f64 {
        let all: usize = self.made.values().sum();
        let all = u32::try_from(all).unwrap();
        f64::from(all) / self.span.as_secs_f64() / f64::from(self.servers())
    }

    fn servers(&self) -> u32 {
        self.servers.len().try_into().unwrap()
    }

    /// Of all servers.
    fn megabytes(&self) -> f64 {
        let kilobytes: u64 = self.servers.iter().map(|it| it.resident).sum();
        f64::from(u32::try_from(kilobytes).unwrap()) / 1_024.0
    }

    fn files(&self) -> u64 {
        self.servers.iter().map(|it| it.files).sum()
    }

    /// Holds it against what it may be.
    pub(super) fn judge(&self, work: &Work) {
        let statements = self.statements();
        work.holds(statements < STATEMENTS, || {
            format!(
                "an idle server makes {statements:.1} statements a second: {:?}",
                self.made
            )
        });
    }

    /// The same at the end of a long life, against what it was at its begin.
    pub(super) fn judge_end(&self, work: &Work, begin: &Self) {
        self.judge(work);
        work.holds(self.files() <= begin.files() + MORE_FILES, || {
            format!(
                "{} open files at rest, and {} at the begin",
                self.files(),
                begin.files()
            )
        });
        let (times, megabytes) = MORE;
        work.holds(
            self.megabytes() <= begin.megabytes() * times + megabytes,
            || {
                format!(
                    "{:.0} MB at rest, and {:.0} at the begin",
                    self.megabytes(),
                    begin.megabytes()
                )
            },
        );
    }
}

impl Display for Still {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "at rest with {RUNTIMES} runtimes, {} s: {:.1} statements a second of each server, {:.0} MB, {} files",
            self.span.as_secs(),
            self.statements(),
            self.megabytes(),
            self.files()
        )
    }
}
