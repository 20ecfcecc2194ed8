//! What the reconciler does: finds what is due, and acts on it through the pipeline like any call.
//!
//! Listing and acting are two functions, so that another server may always come between them; acting
//! decides anew under the locks. A row that fails is counted, waits, and holds up nobody.

mod skipped;

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::{self, StreamExt};
use tokio::time::Instant;

use crate::domain::command::Command;
use crate::domain::effects::EffectRef;
use crate::domain::effects::put_off::PutOffEffect;
use crate::domain::effects::run::{EffectRun, RunEffect};
use crate::domain::handoffs::due::{CheckDue, DueCheck};
use crate::domain::handoffs::quiet::{CheckQuiet, QuietCheck};
use crate::domain::ids::Namespace;
use crate::domain::turns::expire::{ExpireLease, Expiry};
use crate::store::due::{self, Due};

use super::App;
use super::error::Error;
use super::pipeline::Request;

pub use skipped::Skipped;

/// Rows of one look.
const ROWS: usize = 500;
/// Rows acted on at the same time: they meet in the same batches.
const AT_ONCE: usize = 256;
/// How long an action may wait for rows that somebody holds.
const PATIENCE: Duration = Duration::from_secs(10);

/// What a pass came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// Rows that were due.
    pub found: usize,
    /// Rows that were changed.
    pub moved: usize,
    /// Rows that turned out to need nothing.
    pub already_so: usize,
    /// Rows that could not be acted on now.
    pub failed: usize,
    /// More may be due than one look takes.
    pub more: bool,
    /// When the next row falls due, from now.
    pub next: Option<Duration>,
}

impl App {
    /// Closes turns whose lease ended.
    ///
    /// # Errors
    /// The database is away.
    pub async fn expire_leases(self: &Arc<Self>, skipped: &Skipped) -> Result<Report, Error> {
        due::mark_alive(&*self.pool.place().await?).await?;
        let due = due::leases(&*self.pool.place().await?, &skipped.ids(), limit()).await?;
        let act = |namespace, turn_id| self.act(namespace, ExpireLease { turn_id });
        let moves = |expiry: &Expiry| match expiry {
            Expiry::AlreadyEnded | Expiry::Alive => false,
            Expiry::Unclaimed | Expiry::Lost => {
                self.metrics.lease_lost(*expiry == Expiry::Lost);
                true
            }
        };
        pass(due, skipped, act, moves).await
    }

    /// Reminds children that went quiet, and gives up work that nobody will finish.
    ///
    /// # Errors
    /// The database is away.
    pub async fn check_quiet(self: &Arc<Self>, skipped: &Skipped) -> Result<Report, Error> {
        let due = due::quiet(&*self.pool.place().await?, &skipped.ids(), limit()).await?;
        let act = |namespace, thread_id| self.act(namespace, CheckQuiet { thread_id });
        pass(due, skipped, act, |check| *check != QuietCheck::Rearmed).await
    }

    /// Acts on handoffs of which a time limit passed: a deadline, a claim bound, the window of a watch, that
    /// in which a result can be collected.
    ///
    /// # Errors
    /// The database is away.
    pub async fn check_due(self: &Arc<Self>, skipped: &Skipped) -> Result<Report, Error> {
        let due = due::handoffs(&*self.pool.place().await?, &skipped.ids(), limit()).await?;
        let act = |namespace, handoff_id| self.act(namespace, CheckDue { handoff_id });
        pass(due, skipped, act, |check| *check != DueCheck::NotDue).await
    }

    /// Runs what transactions left to be done.
    ///
    /// # Errors
    /// The database is away.
    pub async fn run_effects(self: &Arc<Self>, skipped: &Skipped) -> Result<Report, Error> {
        let due = due::effects(&*self.pool.place().await?, &skipped.ids(), limit()).await?;
        let act = |namespace, effect| self.run_effect(namespace, effect);
        pass(due, skipped, act, |run| *run == EffectRun::Done).await
    }

    /// Waits until a batch of this server left something to `run_effects`.
    pub async fn effects_left(&self) {
        self.registry.effects_left().await;
    }

    /// One that cannot be read, or that the database refuses, is put off for all servers; whatever else
    /// stands in the way is no fault of the effect.
    async fn run_effect(
        self: &Arc<Self>,
        namespace: Namespace,
        effect: EffectRef,
    ) -> Result<EffectRun, Error> {
        let run = self.act(namespace.clone(), RunEffect { effect }).await;
        match &run {
            Ok(EffectRun::Unreadable(why)) => {
                let effect_id = effect.effect_id;
                tracing::error!(%effect_id, kind = ?effect.kind, error = why, "effect cannot be read; it is put off");
                return Err(Error::Bug(why.clone()));
            }
            Err(Error::Bug(_)) => {
                self.act(namespace, PutOffEffect { effect }).await?;
            }
            Ok(EffectRun::Done | EffectRun::AlreadyDone) | Err(_) => {}
        }
        run
    }

    async fn act<C: Command>(
        self: &Arc<Self>,
        namespace: Namespace,
        command: C,
    ) -> Result<C::Answer, Error> {
        let deadline = Some(Instant::now() + PATIENCE);
        let request = Request {
            deadline,
            ..Request::internal(namespace)
        };
        self.pipeline
            .submit(request, command)
            .await
            .map(|(answer, _)| answer)
    }
}

fn limit() -> i64 {
    i64::try_from(ROWS).unwrap_or(i64::MAX)
}

/// Acts on every row that is due.
async fn pass<T: Copy + Into<uuid::Uuid>, A, F: Future<Output = Result<A, Error>>>(
    due: Due<T>,
    skipped: &Skipped,
    act: impl Fn(Namespace, T) -> F,
    moves: impl Fn(&A) -> bool,
) -> Result<Report, Error> {
    let found = due.rows.len();
    let mut report = Report {
        found,
        more: found >= ROWS,
        next: due.next,
        ..Report::default()
    };
    let acting = due.rows.into_iter().map(|(namespace, row)| {
        let act = act(namespace, row);
        async move { (row.into(), act.await) }
    });
    let mut acted = stream::iter(acting).buffer_unordered(AT_ONCE);
    while let Some((row, result)) = acted.next().await {
        match result {
            Ok(answer) if moves(&answer) => report.moved += 1,
            Ok(_) => report.already_so += 1,
            Err(error) => {
                tracing::warn!(row = %row, error = %super::error::chain(&error), "row not reconciled; it is tried again");
                skipped.skip(row);
                report.failed += 1;
            }
        }
    }
    Ok(report)
}
