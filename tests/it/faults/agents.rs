//! A runtime with agents that do sums, in this process or in one of its own.
//!
//! `square N` is answered with the square of N; `nest T` is handed on as T, and answered with what
//! comes back. Agents are written as the contract asks: whatever they do twice has one effect.

use std::env;
use std::process::Command;
use std::time::Duration;

use futures_util::future::join_all;
use handoffd::proto::v1::{
    ClaimTurnsRequest, CreateHandoffRequest, FinishTurnRequest, HeartbeatRequest, MessageKind,
    RegisterRuntimeRequest, SendMessageRequest, Turn, TurnHeartbeat, TurnLeaseState, TurnNext,
    TurnOutcome, TurnRef,
};
use tokio::time::interval;
use tonic::{Code, Status};

use super::link::Link;
use super::parents::agent;
use super::process::Process;
use super::stage::Stage;

/// The agent that all work is given to.
pub(super) const WORKER: &str = "worker";

/// Claims that one runtime keeps open at once, and so the fewest turns it can hold.
const CLAIMS: usize = 8;
/// Turns that a claim takes.
const TURNS: i32 = 4;

/// What a runtime of its own process is told: its name, what it does, the servers.
const ORDERS: &str = "HANDOFFD_TEST_RUNTIME";

/// What becomes of the turns of a runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Work {
    /// They are finished.
    Finish,
    /// They are kept alive, and never end.
    Hold,
}

/// The turn was closed under the agent: nothing more is to be written for it.
struct Lost;

struct Runtime<'a> {
    link: &'a Link,
    id: &'a str,
    incarnation: u64,
    work: Work,
}

/// Runs a runtime until it is dropped.
pub(super) async fn run(link: &Link, id: &str, work: Work) {
    agent(link, WORKER).await;
    let register = RegisterRuntimeRequest {
        runtime_id: id.to_owned(),
        ..RegisterRuntimeRequest::default()
    };
    let registered = link.accepted("the runtime is registered", async |server| {
        server.runtimes().register_runtime(register.clone()).await
    });
    let incarnation = registered.await.incarnation;
    let runtime = Runtime {
        link,
        id,
        incarnation,
        work,
    };
    join_all((0..CLAIMS).map(|_| runtime.serve())).await;
}

impl Runtime<'_> {
    async fn serve(&self) {
        loop {
            let claim = ClaimTurnsRequest {
                runtime_id: self.id.to_owned(),
                incarnation: self.incarnation,
                agent_ids: vec![WORKER.to_owned()],
                max_turns: Some(TURNS),
                wait: Some(seconds(2)),
            };
            let claimed = self.link.accepted("a claim is answered", async |server| {
                server.runtimes().claim_turns(claim.clone()).await
            });
            let turns = claimed.await.turns;
            // A lost turn is somebody else's by now.
            join_all(turns.iter().map(|turn| self.turn(turn))).await;
        }
    }

    async fn turn(&self, turn: &Turn) -> Result<(), Lost> {
        self.beat(turn).await?;
        if self.work == Work::Hold {
            let mut tick = interval(Duration::from_millis(300));
            loop {
                tick.tick().await;
                self.beat(turn).await?;
            }
        }
        let task = turn.assignment.as_ref().map_or("", |it| it.task.as_str());
        let next = if !turn.report_owed {
            TurnNext::Finished
        } else if let Some(inner) = task.strip_prefix("nest ") {
            let mut mail = turn.mail.iter();
            match mail.find(|it| it.kind() == MessageKind::Report) {
                Some(report) => self.report(turn, report.body.clone()).await?,
                None => self.hand_on(turn, inner).await?,
            }
        } else {
            self.report(turn, answer(task)).await?
        };
        self.finish(turn, next).await
    }

    async fn beat(&self, turn: &Turn) -> Result<(), Lost> {
        let beat = HeartbeatRequest {
            runtime_id: self.id.to_owned(),
            incarnation: self.incarnation,
            turns: vec![TurnHeartbeat {
                turn: Some(reference(turn)),
                activity: None,
            }],
        };
        let beaten = self
            .link
            .accepted("a heartbeat is answered", async |server| {
                server.runtimes().heartbeat(beat.clone()).await
            });
        match beaten.await.turns[0].state() {
            TurnLeaseState::Renewed => Ok(()),
            _ => Err(Lost),
        }
    }

    async fn hand_on(&self, turn: &Turn, task: &str) -> Result<TurnNext, Lost> {
        let create = CreateHandoffRequest {
            turn: Some(reference(turn)),
            task: task.to_owned(),
            // The same work also in another turn, after this one was lost.
            idempotency_key: Some(turn.handoff_id.clone()),
            request_id: Some(format!("{}-hand-on", turn.turn_id)),
            ..CreateHandoffRequest::default()
        };
        let created = self.link.call("a handoff is created", async |server| {
            server.handoffs().create_handoff(create.clone()).await
        });
        under_turn(created.await)?;
        Ok(TurnNext::Wait)
    }

    async fn report(&self, turn: &Turn, body: String) -> Result<TurnNext, Lost> {
        let report = SendMessageRequest {
            turn: Some(reference(turn)),
            kind: MessageKind::Report.into(),
            body,
            request_id: Some(format!("{}-report", turn.turn_id)),
            ..SendMessageRequest::default()
        };
        let sent = self.link.call("a report is sent", async |server| {
            server.mailbox().send_message(report.clone()).await
        });
        under_turn(sent.await)?;
        Ok(TurnNext::Finished)
    }

    async fn finish(&self, turn: &Turn, next: TurnNext) -> Result<(), Lost> {
        let finish = FinishTurnRequest {
            turn: Some(reference(turn)),
            outcome: TurnOutcome::Done.into(),
            next: next.into(),
            received_through: Some(turn.given_through),
            ..FinishTurnRequest::default()
        };
        let finished = self.link.call("a turn is finished", async |server| {
            server.runtimes().finish_turn(finish.clone()).await
        });
        under_turn(finished.await).map(drop)
    }
}

/// What the agents answer to `square N`.
pub(super) fn answer(task: &str) -> String {
    let number = task.strip_prefix("square ").unwrap();
    let number: u64 = number.parse().unwrap();
    (number * number).to_string()
}

fn under_turn<T>(answer: Result<T, Status>) -> Result<T, Lost> {
    match answer {
        Ok(answer) => Ok(answer),
        Err(status) if status.code() == Code::Aborted => Err(Lost),
        Err(status) => panic!("an agent was refused: {status:?}"),
    }
}

fn reference(turn: &Turn) -> TurnRef {
    TurnRef {
        turn_id: turn.turn_id.clone(),
        token: turn.token,
    }
}

pub(super) fn seconds(seconds: i64) -> prost_types::Duration {
    prost_types::Duration { seconds, nanos: 0 }
}

/// Starts a runtime in a process of its own: this binary again, as nothing but [`runtime_process`].
pub(super) fn spawn(stage: &Stage, id: &str, work: Work) -> Process {
    let addresses: Vec<String> = stage.addresses().iter().map(ToString::to_string).collect();
    let mut command = Command::new(env::current_exe().unwrap());
    command
        .args(["faults::agents::runtime_process", "--exact", "--ignored"])
        .arg("--nocapture")
        .env(ORDERS, format!("{id};{work:?};{}", addresses.join(",")));
    Process::start(&mut command, stage.log(id))
}

#[tokio::test]
#[ignore = "the runtime of tests that kill one; they start it by themselves"]
async fn runtime_process() {
    let Ok(orders) = env::var(ORDERS) else {
        return;
    };
    let [id, work, addresses] = orders.split(';').collect::<Vec<_>>()[..] else {
        panic!("unknown orders: {orders}");
    };
    let addresses: Vec<_> = addresses.split(',').map(|it| it.parse().unwrap()).collect();
    let work = if work == "Hold" {
        Work::Hold
    } else {
        Work::Finish
    };
    run(&Link::to(&addresses), id, work).await;
}
