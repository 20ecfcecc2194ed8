//! One batch, from route to answers: the only way state changes.

use std::collections::HashMap;
use std::sync::Arc;

use sqlx::postgres::PgConnectOptions;

use crate::app::error::{Error, chain};
use crate::app::id_source;
use crate::app::registry::Registry;
use crate::domain::ask::{Ask, Beside};
use crate::domain::command::{Context, Footprint, Route, RouteAsk, TurnRoute};
use crate::domain::ids::{IdSource, Namespace, TurnId};
use crate::domain::limits::Rules;
use crate::domain::world::World;
use crate::store::route;
use crate::store::session::Session;
use crate::store::txn::{Durability, OnLocked, Txn};
use crate::store::{Composer, StoreError};

use super::job::{Job, Verdict};

/// How often a batch may find that a row or key was somebody else's before it is cut up, or that its
/// transaction was undone before its callers hear of it.
const CONFLICTS: u32 = 3;
/// Routes of turns that a lane remembers; they never change.
const REMEMBERED_TURNS: usize = 65_536;

type Jobs = Vec<Box<dyn Job>>;

/// What becomes of commands that a batch could not carry out.
#[derive(Default)]
pub(super) struct Leftover {
    /// They go with the next batch.
    pub(super) again: Jobs,
    /// Their rows are held by somebody: they wait alone.
    pub(super) held: Jobs,
}

/// A lane's own connection and everything it needs to carry out batches.
pub(super) struct Executor {
    options: PgConnectOptions,
    session: Option<Session>,
    rules: Arc<Rules>,
    ids: IdSource,
    composer: Composer,
    registry: Arc<Registry>,
    /// By namespace: what one tenant knows of a turn tells another nothing.
    turns: HashMap<Namespace, HashMap<TurnId, TurnRoute>>,
}

/// An attempt that did not fail: committed, or nothing was to be changed.
#[derive(Default)]
struct Attempt {
    decided: Jobs,
    /// These did not take part.
    again: Jobs,
    held: Jobs,
}

impl Attempt {
    fn of(jobs: Jobs, fates: Vec<Fate>) -> Self {
        let mut attempt = Self::default();
        for (job, fate) in jobs.into_iter().zip(fates) {
            match fate {
                Fate::Decided => attempt.decided.push(job),
                Fate::Again => attempt.again.push(job),
                Fate::Held => attempt.held.push(job),
            }
        }
        attempt
    }
}

impl Executor {
    pub(super) fn new(
        options: PgConnectOptions,
        rules: Arc<Rules>,
        seed: u64,
        registry: Arc<Registry>,
    ) -> Self {
        Self {
            options,
            session: None,
            rules,
            ids: id_source(seed),
            composer: Composer::default(),
            registry,
            turns: HashMap::new(),
        }
    }

    /// Carries out a batch as far as it can be.
    pub(super) async fn run(&mut self, namespace: &Namespace, jobs: Jobs) -> Leftover {
        let mut leftover = Leftover::default();
        let mut work = vec![(jobs, OnLocked::Wait, 0)];
        while let Some((jobs, on_locked, conflicts)) = work.pop() {
            let mut jobs: Jobs = jobs.into_iter().filter(|job| !job.is_moot()).collect();
            if jobs.is_empty() {
                continue;
            }
            let reused = self.session.is_some();
            match self.attempt(namespace, &mut jobs, on_locked).await {
                Ok(mut attempt) => {
                    for job in &mut attempt.decided {
                        job.answer();
                    }
                    leftover.again.extend(attempt.again);
                    leftover.held.extend(attempt.held);
                }
                Err(StoreError::Busy(_)) if on_locked == OnLocked::Wait => {
                    work.push((jobs, OnLocked::Skip, conflicts));
                }
                Err(StoreError::Busy(_)) => leftover.held.extend(jobs),
                // Less at once takes less time; what is slow by itself waits where it holds up nobody,
                // until its caller's deadline.
                Err(StoreError::Slow(_)) if jobs.len() == 1 => leftover.held.extend(jobs),
                Err(StoreError::Slow(_)) => work.extend(halves(jobs, on_locked)),
                Err(StoreError::Conflict) if conflicts < CONFLICTS => {
                    for job in &mut jobs {
                        job.read_keys();
                    }
                    work.push((jobs, on_locked, conflicts + 1));
                }
                Err(
                    error @ (StoreError::Conflict | StoreError::Data(_) | StoreError::Corrupt(_)),
                ) => {
                    work.extend(bisect(jobs, on_locked, error));
                }
                Err(StoreError::Undone(_)) if conflicts < CONFLICTS => {
                    work.push((jobs, on_locked, conflicts + 1));
                }
                // A session that died unnoticed is replaced once; nothing happened in it.
                Err(StoreError::Unavailable(_)) if reused => {
                    work.push((jobs, on_locked, conflicts));
                }
                // A silence in a new one may have been a slow moment.
                Err(error) if error.is_silence() && conflicts < CONFLICTS => {
                    work.push((jobs, on_locked, CONFLICTS));
                }
                Err(
                    error @ (StoreError::Unavailable(_)
                    | StoreError::Undone(_)
                    | StoreError::Unknown(_)),
                ) => {
                    fail_all(jobs, error);
                }
            }
        }
        leftover
    }

    async fn attempt(
        &mut self,
        namespace: &Namespace,
        jobs: &mut Jobs,
        on_locked: OnLocked,
    ) -> Result<Attempt, StoreError> {
        let mut session = match self.session.take() {
            Some(session) => session,
            None => Session::open(&self.options).await?,
        };
        let result = self
            .transact(&mut session, namespace, jobs, on_locked)
            .await;
        // After an error the transaction was rolled back, or the connection is closed with its locks.
        self.session = session.after(&result).await;
        result
    }

    async fn transact(
        &mut self,
        session: &mut Session,
        namespace: &Namespace,
        jobs: &mut Jobs,
        on_locked: OnLocked,
    ) -> Result<Attempt, StoreError> {
        session.renew_plans().await?;
        let route = self.route(session, namespace, jobs).await?;
        let mut footprint = Footprint::default();
        for job in jobs.iter() {
            footprint.merge(&job.footprint(&route));
        }
        let mut txn = Txn::begin(session, namespace.clone(), Durability::Full).await?;
        let outcome = self
            .decide_and_write(&mut txn, route, footprint, jobs, on_locked)
            .await;
        let (fates, changed) = match outcome {
            Ok(decided) => decided,
            Err(error) => return Err(txn.give_up(error).await),
        };
        let ended = match &changed {
            Some(_) => txn.commit().await,
            None => txn.rollback().await,
        };
        if let (Some(world), Ok(()) | Err(StoreError::Unknown(_))) = (changed, &ended) {
            // It may well have happened, and nobody else would tell those who wait.
            self.registry.publish(namespace, &world);
        }
        ended?;
        Ok(Attempt::of(std::mem::take(jobs), fates))
    }

    /// Tells the world where it is to be committed. Leaves all jobs where they are: whoever asked is told
    /// how the commit went.
    async fn decide_and_write(
        &mut self,
        txn: &mut Txn<'_>,
        route: Route,
        footprint: Footprint,
        jobs: &mut [Box<dyn Job>],
        on_locked: OnLocked,
    ) -> Result<(Vec<Fate>, Option<World>), StoreError> {
        let mut beside = Beside::default();
        for job in jobs.iter() {
            job.beside(&route, &mut beside);
        }
        let mut world = txn
            .lock(
                footprint,
                &beside,
                on_locked,
                Arc::clone(&self.rules),
                &mut self.composer,
            )
            .await?;
        world.route = route;
        let missing = match on_locked {
            OnLocked::Wait => Footprint::default(),
            OnLocked::Skip => world.missing(),
        };
        let mut ask = Ask::default();
        ask.named
            .extend(world.loaded.keys.values().filter_map(|key| key.handoff_id));
        for job in jobs.iter() {
            job.ask(&world, &mut ask);
        }
        if !ask.is_empty() {
            txn.read(&ask, &mut world, &mut self.composer).await?;
        }
        let now = world.now;
        let mut fates = Vec::with_capacity(jobs.len());
        for job in jobs.iter_mut() {
            if on_locked == OnLocked::Skip && job.footprint(&world.route).overlaps(&missing) {
                fates.push(Fate::Held);
                continue;
            }
            fates.push(match job.decide(&mut world, &mut Context { now, ids: &mut self.ids }) {
                Verdict::Decided => Fate::Decided,
                Verdict::Again if job.is_worn_out() => Fate::Held,
                Verdict::Again => Fate::Again,
                Verdict::Broken(inconsistent) => {
                    tracing::error!(command = job.name(), error = %inconsistent, "plan cannot be carried out");
                    return Err(StoreError::Data(sqlx::Error::Protocol(inconsistent.to_string())));
                }
            });
        }
        let changed = world.is_changed();
        if changed {
            txn.write(&world, &mut self.composer).await?;
        }
        Ok((fates, changed.then_some(world)))
    }

    /// Looks up what the commands want to know before the locks; turns are remembered.
    async fn route(
        &mut self,
        session: &mut Session,
        namespace: &Namespace,
        jobs: &Jobs,
    ) -> Result<Route, StoreError> {
        let mut ask = RouteAsk::default();
        for job in jobs {
            ask.merge(job.route());
        }
        let remembered = self.turns.entry(namespace.clone()).or_default();
        let known: Vec<(TurnId, TurnRoute)> = ask
            .turns
            .iter()
            .filter_map(|id| remembered.get(id).map(|turn| (*id, turn.clone())))
            .collect();
        let only_known_turns = known.len() == ask.turns.len()
            && ask.work.is_empty()
            && ask.threads.is_empty()
            && ask.handoffs.is_empty();
        let mut route = if only_known_turns {
            Route::default()
        } else {
            route::route(session.connection(), namespace, &ask).await?
        };
        route.turns.extend(known);
        let before = remembered.len();
        let turns = route.turns.iter();
        remembered.extend(turns.map(|(id, turn)| (*id, turn.clone())));
        let grew = remembered.len() > before;
        if grew && self.turns.values().map(HashMap::len).sum::<usize>() > REMEMBERED_TURNS {
            self.turns.clear();
        }
        Ok(route)
    }
}

/// What becomes of one command of an attempt.
enum Fate {
    Decided,
    Again,
    Held,
}

/// Finds the command that the database refuses: halves run by themselves, a single one fails.
fn bisect(jobs: Jobs, on_locked: OnLocked, error: StoreError) -> Vec<(Jobs, OnLocked, u32)> {
    if jobs.len() == 1 {
        if matches!(error, StoreError::Conflict) {
            fail_all(jobs, error);
        } else {
            let name = jobs.first().map_or("", |job| job.name());
            tracing::error!(command = name, error = %chain(&error), "command refused by the database");
            fail_all(jobs, error);
        }
        return Vec::new();
    }
    halves(jobs, on_locked)
}

/// Two batches of one; the first half comes first.
fn halves(mut jobs: Jobs, on_locked: OnLocked) -> Vec<(Jobs, OnLocked, u32)> {
    let rest = jobs.split_off(jobs.len() / 2);
    vec![(rest, on_locked, 0), (jobs, on_locked, 0)]
}

fn fail_all(jobs: Jobs, error: StoreError) {
    let error = Error::from(error);
    for mut job in jobs {
        job.fail(error.clone());
    }
}
