//! A runtime with agents that do sums, in this process or in one of its own.
//!
//! It works as the contract asks: one loop of claims, heartbeats for all turns in hand, ABORTED means
//! that a turn is somebody else's, ABORT is obeyed, and whatever is done twice has one effect.

mod held;
pub(super) mod journal;
mod task;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::env;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::rc::Rc;
use std::time::Duration;

use futures_util::future::{join, join_all};
use handoffd::proto::v1::{
    ClaimTurnsRequest, HeartbeatRequest, RegisterRuntimeRequest, ReleaseTurnsRequest, Turn,
    TurnHeartbeat, TurnLeaseState,
};
use serde::{Deserialize, Serialize};
use tokio::signal::unix::{SignalKind, signal};
use tonic::{Code, Status};

use super::link::Link;
use super::process::Process;
use super::stage::Stage;
use crate::support::pause;
use held::Held;
use journal::Journal;
pub(super) use task::{CRASHED, Task};

/// The agent that work is given to.
pub(super) const WORKER: &str = "worker";

/// Claims that one runtime keeps open at once, and so the fewest turns it can hold.
const CLAIMS: usize = 8;
/// Turns that a claim takes.
const TURNS: i32 = 4;
/// Between two heartbeats: well below a third of the lease.
const BEAT: Duration = Duration::from_millis(400);

/// The variable by which a runtime of its own process gets its orders, as JSON.
pub(super) const ORDERS: &str = "HANDOFFD_TEST_RUNTIME";

/// What becomes of the turns of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) enum Work {
    /// They are finished.
    Finish,
    /// They are kept alive, and never end.
    Hold,
}

/// What a runtime is to do.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Orders {
    pub(super) id: String,
    pub(super) work: Work,
    /// The agents it runs; they must be there.
    pub(super) agents: Vec<String>,
    pub(super) servers: Vec<SocketAddr>,
    /// Where it writes what its turns were given.
    pub(super) journal: Option<PathBuf>,
}

impl Orders {
    /// To run the worker, and write nothing down.
    pub(super) fn new(id: &str, work: Work, servers: &[SocketAddr]) -> Self {
        Self {
            id: id.to_owned(),
            work,
            agents: vec![WORKER.to_owned()],
            servers: servers.to_vec(),
            journal: None,
        }
    }
}

struct Runtime<'a> {
    link: &'a Link,
    orders: &'a Orders,
    journal: Journal,
    incarnation: Cell<u64>,
    held: RefCell<BTreeMap<String, Rc<Held<'a>>>>,
}

/// Runs a runtime until it is dropped.
pub(super) async fn run(link: &Link, orders: &Orders) {
    let runtime = Runtime::new(link, orders);
    runtime.register().await;
    runtime.work().await;
}

impl<'a> Runtime<'a> {
    fn new(link: &'a Link, orders: &'a Orders) -> Self {
        Self {
            link,
            orders,
            journal: Journal::open(orders.journal.as_deref()),
            incarnation: Cell::default(),
            held: RefCell::default(),
        }
    }

    async fn register(&self) {
        let register = RegisterRuntimeRequest {
            runtime_id: self.orders.id.clone(),
            ..RegisterRuntimeRequest::default()
        };
        let registered = self
            .link
            .accepted("the runtime is registered", async |server| {
                server.runtimes().register_runtime(register.clone()).await
            });
        self.incarnation.set(registered.await.incarnation);
    }

    async fn work(&self) {
        join(self.keep(), join_all((0..CLAIMS).map(|_| self.serve()))).await;
    }

    async fn serve(&self) {
        loop {
            let claim = ClaimTurnsRequest {
                runtime_id: self.orders.id.clone(),
                incarnation: self.incarnation.get(),
                agent_ids: self.orders.agents.clone(),
                max_turns: Some(TURNS),
                wait: Some(seconds(2)),
            };
            let claimed = self.link.call("a claim is answered", async |server| {
                server.runtimes().claim_turns(claim.clone()).await
            });
            match claimed.await {
                Ok(claimed) => {
                    join_all(claimed.turns.into_iter().map(|turn| self.turn(turn))).await;
                }
                // A registration of an earlier life, or of an answer that was lost, came in after ours.
                Err(status) if is_stale(&status) => {
                    if claim.incarnation == self.incarnation.get() {
                        self.register().await;
                    }
                }
                Err(status) => panic!("a claim was refused: {status:?}"),
            }
        }
    }

    async fn turn(&self, turn: Turn) {
        let id = turn.turn_id.clone();
        let incarnation = self.incarnation.get();
        let held = Rc::new(Held::new(
            self.link,
            self.journal.clone(),
            turn,
            incarnation,
        ));
        self.held.borrow_mut().insert(id.clone(), Rc::clone(&held));
        // It makes the turn running; an assigned one is not waited for long.
        self.beat(&[Rc::clone(&held)]).await;
        match self.orders.work {
            Work::Finish => task::carry_out(&held).await,
            Work::Hold => std::future::pending().await,
        }
        self.held.borrow_mut().remove(&id);
    }

    /// Heartbeats for everything in hand.
    async fn keep(&self) {
        loop {
            pause(BEAT).await;
            let held: Vec<_> = self.held.borrow().values().cloned().collect();
            if !held.is_empty() {
                self.beat(&held).await;
            }
        }
    }

    async fn beat(&self, held: &[Rc<Held<'a>>]) {
        for of_one in held.chunk_by(|one, other| one.incarnation == other.incarnation) {
            let turns = of_one.iter().map(|held| TurnHeartbeat {
                turn: Some(held.reference()),
                activity: None,
            });
            let beat = HeartbeatRequest {
                runtime_id: self.orders.id.clone(),
                incarnation: of_one[0].incarnation,
                turns: turns.collect(),
            };
            let beaten = self
                .link
                .accepted("a heartbeat is answered", async |server| {
                    server.runtimes().heartbeat(beat.clone()).await
                });
            for (held, told) in of_one.iter().zip(beaten.await.turns) {
                match told.state() {
                    TurnLeaseState::Renewed => held.obey(&told.signals),
                    _ => held.is_lost(),
                }
            }
        }
    }

    /// Gives back every turn in hand.
    async fn release(&self) {
        let release = ReleaseTurnsRequest {
            runtime_id: self.orders.id.clone(),
            incarnation: self.incarnation.get(),
            turns: Vec::new(),
        };
        let mut more = true;
        while more {
            let released = self.link.accepted("turns are given back", async |server| {
                server.runtimes().release_turns(release.clone()).await
            });
            more = released.await.has_more;
        }
    }
}

fn is_stale(status: &Status) -> bool {
    status.code() == Code::FailedPrecondition || status.code() == Code::Aborted
}

pub(super) fn seconds(seconds: i64) -> prost_types::Duration {
    prost_types::Duration { seconds, nanos: 0 }
}

/// Starts a runtime in a process of its own: this binary again, as nothing but [`runtime_process`].
pub(super) fn spawn(stage: &Stage, id: &str, work: Work) -> Process {
    let orders = Orders::new(id, work, stage.addresses());
    Process::start(&mut command(&orders), stage.log(id))
}

/// What starts one.
pub(super) fn command(orders: &Orders) -> Command {
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["faults::agents::runtime_process", "--exact", "--ignored"])
        .arg("--nocapture")
        .env(ORDERS, serde_json::to_string(orders).unwrap());
    command
}

#[tokio::test]
#[ignore = "the runtime of tests that kill one; they start it by themselves"]
async fn runtime_process() {
    let Ok(orders) = env::var(ORDERS) else {
        return;
    };
    let orders: Orders = serde_json::from_str(&orders).unwrap();
    let mut asked = signal(SignalKind::terminate()).unwrap();
    let link = Link::patient(&orders.servers);
    let runtime = Runtime::new(&link, &orders);
    runtime.register().await;
    tokio::select! {
        () = runtime.work() => {}
        _ = asked.recv() => runtime.release().await,
    }
}
