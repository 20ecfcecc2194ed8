//! The one dequeuer of a server: claims for all waiting runtimes at once.
//!
//! Many concurrent dequeuers get slower; one that locks for all waiters in one transaction does not.
//! It looks when a claim comes in, when a hint names an agent that is waited for, when a wake falls
//! due, and every few seconds whatever hints were lost.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::{Arc, Weak};
use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};

use crate::app::App;
use crate::app::error::Error;
use crate::app::id_source;
use crate::app::metrics::Metrics;
use crate::app::registry::Registry;
use crate::domain::command::Context;
use crate::domain::ids::{AgentId, IdSource, Namespace, ThreadId};
use crate::domain::limits::Rules;
use crate::domain::time::Timestamp;
use crate::domain::turns::assign;
use crate::domain::world::{Hint, World};
use crate::store::session::Session;
use crate::store::txn::{Claimable, Durability, Txn};
use crate::store::{Composer, StoreError};

use super::claim::Waiter;
use super::group::{Group, HELD, moved};
use super::received::Received;
use super::share::{Quotas, Share, ask, in_turn};

/// Heads locked in one look.
const HEADS: usize = 512;
/// The longest pause between two looks while a wake is known to fall due: clocks drift.
const LONGEST: Duration = Duration::from_mins(1);
/// Claims that may wait; each holds an open call.
const WAITERS: usize = 65_536;

/// Where claims go to wait.
#[derive(Debug)]
pub(in crate::app) struct Dispatcher {
    entrance: mpsc::Sender<Waiter>,
}

impl Dispatcher {
    /// A dispatcher and the work that `run` does for it.
    pub(in crate::app) fn new() -> (Self, mpsc::Receiver<Waiter>) {
        let (entrance, waiters) = mpsc::channel(WAITERS);
        (Self { entrance }, waiters)
    }

    /// Takes a claim in.
    pub(super) fn enter(&self, waiter: Waiter) -> Result<(), Error> {
        self.entrance
            .try_send(waiter)
            .map_err(|_| Error::Overloaded)
    }

    /// Serves claims until the app is gone. `moved` tells which agents have something to do.
    pub(in crate::app) async fn run(
        app: Weak<App>,
        options: PgConnectOptions,
        rules: Arc<Rules>,
        registry: Arc<Registry>,
        metrics: Arc<Metrics>,
        seed: u64,
        mut waiters: mpsc::Receiver<Waiter>,
    ) {
        let mut desk = Desk {
            app,
            options,
            rules,
            registry,
            metrics,
            ids: id_source(seed),
            composer: Composer::default(),
            session: None,
            groups: HashMap::new(),
            received: Received::default(),
            looks: 0,
        };
        loop {
            desk.look().await;
            if !desk.wait(&mut waiters).await {
                return;
            }
        }
    }
}

struct Desk {
    app: Weak<App>,
    options: PgConnectOptions,
    rules: Arc<Rules>,
    registry: Arc<Registry>,
    metrics: Arc<Metrics>,
    ids: IdSource,
    composer: Composer,
    session: Option<Session>,
    groups: HashMap<Namespace, Group>,
    received: Received,
    /// Claims so far: moves which agent comes first.
    looks: usize,
}

impl Desk {
    /// Waits for a reason to look; false when no claim can come any more.
    async fn wait(&mut self, waiters: &mut mpsc::Receiver<Waiter>) -> bool {
        let timers = self.groups.values();
        let timer = timers
            .flat_map(|group| [group.look_at, group.join_at])
            .flatten()
            .min();
        let pause = async {
            match timer {
                Some(at) => sleep_until(at).await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            waiter = waiters.recv() => match waiter {
                Some(waiter) => self.enter(waiter),
                None => return false,
            },
            () = moved(&mut self.groups) => {}
            () = pause => {}
        }
        while let Ok(waiter) = waiters.try_recv() {
            self.enter(waiter);
        }
        true
    }

    fn enter(&mut self, waiter: Waiter) {
        let group = self.groups.entry(waiter.namespace.clone()).or_default();
        let namespace = waiter.namespace.clone();
        let agents = waiter.agents.clone();
        group.join(waiter);
        for agent in agents {
            if !group.watches.contains_key(&agent) {
                let watch = self.registry.watch(&namespace, &Hint::Agent(agent.clone()));
                group.watches.insert(agent.clone(), watch);
                group.moved.insert(agent);
            }
        }
    }

    async fn look(&mut self) {
        let namespaces: Vec<Namespace> = self.groups.keys().cloned().collect();
        for namespace in namespaces {
            let Some(mut group) = self.groups.remove(&namespace) else {
                continue;
            };
            group.waiters.retain(|waiter| !waiter.reply.is_closed());
            if group.waiters.is_empty() {
                continue;
            }
            group.forget();
            for (agent, watch) in &mut group.watches {
                if watch.has_moved() {
                    group.moved.insert(agent.clone());
                }
            }
            if group.look_at.is_some_and(|at| at <= Instant::now()) {
                group.moved.extend(group.watches.keys().cloned());
                group.look_at = None;
            }
            if group.join_is_due() || !group.moved.is_empty() {
                self.claim(&namespace, &mut group).await;
                group.forget();
            }
            if !group.waiters.is_empty() {
                self.groups.insert(namespace, group);
            }
        }
    }

    async fn claim(&mut self, namespace: &Namespace, group: &mut Group) {
        let (parked, agents) = group.part();
        // Whoever was to have a look may be gone.
        if !group.waiters.is_empty() {
            self.claim_for(namespace, group, &agents).await;
        }
        group.waiters.extend(parked);
    }

    /// Claims for waiters that all want one of `agents`.
    async fn claim_for(
        &mut self,
        namespace: &Namespace,
        group: &mut Group,
        agents: &BTreeSet<AgentId>,
    ) {
        let quotas = Quotas::of(&group.waiters, agents, HEADS);
        let runtimes: BTreeSet<String> = group
            .waiters
            .iter()
            .map(|waiter| waiter.claimer.runtime_id.clone())
            .collect();
        let reused = self.session.is_some();
        let session = match self.session.take() {
            Some(session) => Ok(session),
            None => Session::open(&self.options).await,
        };
        let mut session = match session {
            Ok(session) => session,
            Err(error) => return group.failed(error, false),
        };
        let result = self
            .transact(&mut session, namespace, group, &quotas, &runtimes)
            .await;
        if let Ok(now) = result {
            let asked = runtimes.iter();
            self.received
                .mark(&mut session, namespace, asked, now)
                .await;
        }
        self.session = session.after(&result).await;
        match result {
            Ok(_) => group.slow_looks = 0,
            Err(error) => group.failed(error, reused),
        }
    }

    async fn transact(
        &mut self,
        session: &mut Session,
        namespace: &Namespace,
        group: &mut Group,
        quotas: &Quotas,
        runtimes: &BTreeSet<String>,
    ) -> Result<Timestamp, StoreError> {
        session.renew_plans().await?;
        let mut txn = Txn::begin(session, namespace.clone(), Durability::Full).await?;
        let result = self.assign(&mut txn, group, quotas, runtimes).await;
        let look = match result {
            Ok(look) => look,
            Err(error) => return Err(txn.give_up(error).await),
        };
        if look.shares.iter().all(|share| share.turns.is_empty()) {
            txn.rollback().await?;
        } else {
            let ended = txn.commit().await;
            if matches!(ended, Ok(()) | Err(StoreError::Unknown(_))) {
                self.registry.publish(namespace, &look.world);
            }
            ended?;
            for waited in &look.waits {
                self.metrics.turn_claimed(*waited);
            }
        }
        let now = look.now;
        self.settle(namespace, group, look, quotas);
        Ok(now)
    }

    /// Locks, decides and writes; tells what each waiter gets.
    async fn assign(
        &mut self,
        txn: &mut Txn<'_>,
        group: &Group,
        quotas: &Quotas,
        runtimes: &BTreeSet<String>,
    ) -> Result<Look, StoreError> {
        let Claimable {
            mut world,
            due,
            incarnations,
            held,
            next_wake,
        } = txn
            .claim(&quotas.of, runtimes, Arc::clone(&self.rules))
            .await?;
        let ask = ask(&world, &due);
        if !ask.is_empty() {
            txn.read(&ask, &mut world, &mut self.composer).await?;
        }
        let mut shares: Vec<Share> = group
            .waiters
            .iter()
            .map(|waiter| Share::of(waiter, &incarnations, &world))
            .collect();
        let now = world.now;
        let (mut first, mut waits) = (0, Vec::new());
        self.looks = self.looks.wrapping_add(1);
        for (agent, thread_id) in in_turn(&world, &due, self.looks) {
            let since = world.heads.get(&thread_id).and_then(|head| head.wake_time);
            let due = (&agent, thread_id);
            let taker = self.hand_out(&mut world, &group.waiters, &mut shares, due, first)?;
            // A waiter is filled before the next one gets any: fewer, larger answers.
            first = taker.unwrap_or(first);
            waits.extend(taker.and(since).map(|since| now.since(since)));
        }
        if world.is_changed() {
            txn.write(&world, &mut self.composer).await?;
        }
        let left = !world.loaded.work_left.is_empty();
        let again = if held || left || quotas.left_out(&world, &due) {
            Some(HELD)
        } else {
            next_wake.map(|time| time.since(now).min(LONGEST))
        };
        Ok(Look {
            shares,
            incarnations,
            world,
            again,
            now,
            waits,
        })
    }

    /// Assigns the due turn of a thread to the first waiter, from `first` on, that may have it and whose
    /// answer it fits; tells to which.
    fn hand_out(
        &mut self,
        world: &mut World,
        waiters: &[Waiter],
        shares: &mut [Share],
        (agent, thread_id): (&AgentId, ThreadId),
        first: usize,
    ) -> Result<Option<usize>, StoreError> {
        for at in (first..first + shares.len()).map(|at| at % waiters.len()) {
            let (share, waiter) = (&mut shares[at], &waiters[at]);
            if !share.takes(waiter, agent) {
                continue;
            }
            let mut context = Context {
                now: world.now,
                ids: &mut self.ids,
            };
            let decided = assign::decide(world, &mut context, thread_id, &waiter.claimer);
            let Ok(Some((events, turn))) = decided else {
                break;
            };
            if share.fits(&turn) {
                let applied = world.apply(events);
                applied
                    .map_err(|error| StoreError::Data(sqlx::Error::Protocol(error.to_string())))?;
                share.give(turn);
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Answers the waiters that got something or may get nothing, and arranges the next look.
    fn settle(&mut self, namespace: &Namespace, group: &mut Group, look: Look, quotas: &Quotas) {
        group.note(look.incarnations);
        let mut waiting = Vec::new();
        for (mut waiter, share) in std::mem::take(&mut group.waiters)
            .into_iter()
            .zip(look.shares)
        {
            if let Some(refusal) = share.refusal {
                drop(waiter.reply.send(Err(refusal.into())));
            } else if share.turns.is_empty() {
                waiter.unseen = None;
                waiting.push(waiter);
            } else if let Err(Ok(turns)) = waiter.reply.send(Ok(share.turns))
                && let Some(app) = self.app.upgrade()
            {
                app.give_back(namespace, turns);
            }
        }
        group.waiters = waiting;
        group.moved.retain(|agent| !quotas.of.contains_key(agent));
        // An earlier time may stand for an agent that was no part of this look.
        let again = look.again.map(|pause| Instant::now() + pause);
        group.look_at = again.into_iter().chain(group.look_at).min();
    }
}

/// What a look came to.
struct Look {
    shares: Vec<Share>,
    /// The present lives of the runtimes that asked.
    incarnations: BTreeMap<String, u64>,
    world: World,
    /// When to look again whatever moves.
    again: Option<Duration>,
    /// Database time.
    now: Timestamp,
    /// For how long each turn that was assigned had been due.
    waits: Vec<Duration>,
}
