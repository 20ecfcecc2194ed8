//! The reconciler's jobs, each a thin wrapper of a use case.

use std::sync::Arc;

use crate::app::App;
use crate::app::error::Error;
use crate::app::reconcile::{Report, Skipped};

/// Every job by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobName {
    /// Closes turns whose lease ended.
    ExpireLeases,
    /// Reminds quiet children and gives up work that nobody will finish.
    CheckQuiet,
    /// Ends what has a time limit that passed.
    CheckDue,
    /// Runs what transactions left to be done.
    RunEffects,
}

/// A job and the rows it leaves out for now.
#[derive(Debug)]
pub struct Job {
    name: JobName,
    skipped: Skipped,
}

impl JobName {
    /// All of them.
    pub const ALL: [Self; 4] = [
        Self::ExpireLeases,
        Self::CheckQuiet,
        Self::CheckDue,
        Self::RunEffects,
    ];

    /// As logs and commands spell it.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ExpireLeases => "expire_leases",
            Self::CheckQuiet => "check_quiet",
            Self::CheckDue => "check_due",
            Self::RunEffects => "run_effects",
        }
    }
}

impl Job {
    /// The job of that name, with nothing left out.
    #[must_use]
    pub fn new(name: JobName) -> Self {
        Self {
            name,
            skipped: Skipped::default(),
        }
    }

    /// Its name.
    #[must_use]
    pub const fn name(&self) -> JobName {
        self.name
    }

    /// One pass.
    ///
    /// # Errors
    /// The database is away.
    pub async fn run_once(&self, app: &Arc<App>) -> Result<Report, Error> {
        match self.name {
            JobName::ExpireLeases => app.expire_leases(&self.skipped).await,
            JobName::CheckQuiet => app.check_quiet(&self.skipped).await,
            JobName::CheckDue => app.check_due(&self.skipped).await,
            JobName::RunEffects => app.run_effects(&self.skipped).await,
        }
    }

    /// Waits until this server made something for it to do at once; most jobs go by their times alone.
    pub async fn called(&self, app: &App) {
        match self.name {
            JobName::ExpireLeases | JobName::CheckQuiet | JobName::CheckDue => {
                std::future::pending::<()>().await;
            }
            JobName::RunEffects => app.effects_left().await,
        }
    }
}
