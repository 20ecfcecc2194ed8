//! How soon what one call committed reaches the runtime that waits for it, under light load: a new
//! handoff its worker, a report its parent.
//!
//! One lifecycle at a time, each wait parked before its event. With a second server the worker's
//! calls go there, so that each event crosses from one server to the other.

use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::timeout;

use super::load::micros;
use super::seed::{self, PARENT, Seed, WORKER};
use super::site::{Site, Wire};
use super::{BenchError, Line, Measured, Report, RunArgs};
use crate::proto::v1::handoff_service_client::HandoffServiceClient;
use crate::proto::v1::mailbox_service_client::MailboxServiceClient;
use crate::proto::v1::runtime_service_client::RuntimeServiceClient;
use crate::proto::v1::{
    ClaimTurnsRequest, CreateHandoffRequest, FinishTurnRequest, MessageKind, SendMessageRequest,
    Turn, TurnNext, TurnOutcome, TurnRef,
};

/// What is measured, by name.
pub(super) const CREATED: &str = "create answered to turn claimed";
pub(super) const REPORTED: &str = "report answered to parent woken";

/// How long a claim waits: far longer than any event takes.
const WAIT: Duration = Duration::from_secs(30);
/// How long a claim is left to park before its event.
const PARK: Duration = Duration::from_millis(15);
/// Lifecycles before the measurement.
const WARM_UP: usize = 20;

/// Measures both ways.
pub(super) async fn run(site: &Site, run: &RunArgs) -> Result<Report, BenchError> {
    let measured = measure(site, run).await;
    seed::clear(&site.pool, site.kept).await?;
    let [created, reported] = measured?;
    let mut report = Report::default();
    report.lines.push(line(CREATED, created, run));
    report.lines.push(line(REPORTED, reported, run));
    Ok(report)
}

fn line(what: &'static str, latencies: Vec<u32>, run: &RunArgs) -> Line {
    let count = latencies.len() as u64;
    Line::new(what, 1, &Measured::new(latencies, count, run.duration))
}

async fn measure(site: &Site, run: &RunArgs) -> Result<[Vec<u32>; 2], BenchError> {
    let seed = Seed::begin(&site.pool, 2).await?;
    seed.threads(PARENT, 0..1, true).await?;
    seed.end().await?;
    let parent = Runtime::new(site.wire(0), 0, PARENT);
    let worker = Runtime::new(site.far_wire(0), 1, WORKER);
    let mut turn = parent.claim().await?;
    let (mut created, mut reported) = (Vec::new(), Vec::new());
    let mut end = Instant::now() + run.duration;
    let mut rounds = 0;
    while Instant::now() < end {
        let claim = worker.parked().await;
        hand_off(&parent, &turn).await?;
        let (work, took) = claim.since(Instant::now()).await?;
        created.push(took);
        finish(&parent, &turn, TurnNext::Wait).await?;
        let claim = parent.parked().await;
        report(&worker, &work).await?;
        let (next, took) = claim.since(Instant::now()).await?;
        reported.push(took);
        finish(&worker, &work, TurnNext::Finished).await?;
        turn = next;
        rounds += 1;
        if rounds == WARM_UP {
            created.clear();
            reported.clear();
            end = Instant::now() + run.duration;
        }
    }
    Ok([created, reported])
}

/// A claim that waits.
struct Parked(JoinSet<Result<(Turn, Instant), BenchError>>);

impl Parked {
    /// Its turn, and how long after `event` it came.
    async fn since(mut self, event: Instant) -> Result<(Turn, u32), BenchError> {
        let claimed = self.0.join_next().await;
        let (turn, came) = claimed.ok_or_else(no_turn)???;
        Ok((turn, micros(came.saturating_duration_since(event))))
    }
}

/// A runtime of one agent, which takes one turn at a time.
#[derive(Clone)]
struct Runtime {
    wire: Wire,
    id: String,
    agent: &'static str,
}

impl Runtime {
    fn new(wire: Wire, number: usize, agent: &'static str) -> Self {
        Self {
            wire,
            id: seed::runtime(number),
            agent,
        }
    }

    async fn claim(&self) -> Result<Turn, BenchError> {
        let request = ClaimTurnsRequest {
            runtime_id: self.id.clone(),
            incarnation: 1,
            agent_ids: vec![self.agent.to_owned()],
            max_turns: Some(1),
            wait: prost_types::Duration::try_from(WAIT).ok(),
        };
        let answer = RuntimeServiceClient::new(self.wire.clone())
            .claim_turns(request)
            .await?;
        let turn = answer.into_inner().turns.pop();
        turn.ok_or_else(no_turn)
    }

    /// A claim that has had time to park.
    async fn parked(&self) -> Parked {
        let runtime = self.clone();
        let mut claim = JoinSet::new();
        claim.spawn(async move {
            let turn = runtime.claim().await?;
            Ok((turn, Instant::now()))
        });
        // It does not end before its event.
        drop(timeout(PARK, std::future::pending::<()>()).await);
        Parked(claim)
    }
}

fn no_turn() -> BenchError {
    BenchError::Call("a claim ended without a turn".to_owned())
}

fn reference(turn: &Turn) -> TurnRef {
    TurnRef {
        turn_id: turn.turn_id.clone(),
        token: turn.token,
    }
}

async fn hand_off(parent: &Runtime, turn: &Turn) -> Result<(), BenchError> {
    let request = CreateHandoffRequest {
        turn: Some(reference(turn)),
        target_agent: WORKER.to_owned(),
        task: "Count the words of every page and report the ten longest.".to_owned(),
        request_id: Some(turn.turn_id.clone()),
        ..CreateHandoffRequest::default()
    };
    HandoffServiceClient::new(parent.wire.clone())
        .create_handoff(request)
        .await?;
    Ok(())
}

async fn report(worker: &Runtime, turn: &Turn) -> Result<(), BenchError> {
    let request = SendMessageRequest {
        turn: Some(reference(turn)),
        kind: MessageKind::Report.into(),
        subject: "Counted".to_owned(),
        body: "12,480 words; the longest has nineteen letters.".to_owned(),
        request_id: Some(turn.turn_id.clone()),
        ..SendMessageRequest::default()
    };
    MailboxServiceClient::new(worker.wire.clone())
        .send_message(request)
        .await?;
    Ok(())
}

async fn finish(runtime: &Runtime, turn: &Turn, next: TurnNext) -> Result<(), BenchError> {
    let request = FinishTurnRequest {
        turn: Some(reference(turn)),
        outcome: TurnOutcome::Done.into(),
        next: next.into(),
        received_through: Some(turn.given_through),
        ..FinishTurnRequest::default()
    };
    RuntimeServiceClient::new(runtime.wire.clone())
        .finish_turn(request)
        .await?;
    Ok(())
}
