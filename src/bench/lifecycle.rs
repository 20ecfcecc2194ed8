//! Whole lifecycles: a parent's turn hands off and ends; a worker claims, heartbeats with a tool call,
//! reports and finishes; the report wakes the parent, whose next turn has it in its claim, and hands
//! off again.
//!
//! As many lifecycles are under way as there are callers, 16 of them to a runtime: it claims up to 16,
//! renews all of them in one call, and does the rest of each turn on its own. Parents and workers have
//! runtimes of their own. A lifecycle is counted when the parent's turn that got its report ends.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::load::micros;
use super::seed::{self, PARENT, Seed, WORKER};
use super::site::{Site, Wire};
use super::{BenchError, Line, Load, Measured};
use crate::proto::v1::handoff_service_client::HandoffServiceClient;
use crate::proto::v1::mailbox_service_client::MailboxServiceClient;
use crate::proto::v1::runtime_service_client::RuntimeServiceClient;
use crate::proto::v1::{
    ClaimTurnsRequest, CreateHandoffRequest, FinishTurnRequest, HeartbeatRequest, MessageKind,
    SendMessageRequest, ToolCallActivity, Turn, TurnActivity, TurnHeartbeat, TurnNext, TurnOutcome,
    TurnRef,
};

/// Turns a runtime has at once.
const TURNS: usize = 16;
/// How long the flow runs before it is measured.
const WARM_UP: Duration = Duration::from_secs(2);
/// How long a claim waits before it looks whether the run is over.
const WAIT: Duration = Duration::from_millis(500);

/// Measures lifecycles.
pub(super) async fn run(site: &Site, load: &Load) -> Result<Line, BenchError> {
    let pairs = load.callers.div_ceil(TURNS);
    let seed = Seed::begin(&site.pool, 2 * pairs).await?;
    seed.threads(PARENT, 0..load.callers, true).await?;
    seed.end().await?;

    let flow = Arc::new(Flow::default());
    let mut loops = JoinSet::new();
    for pair in 0..pairs {
        loops.spawn(parents(
            Runtime::new(site, 2 * pair, PARENT),
            Arc::clone(&flow),
        ));
        loops.spawn(workers(
            Runtime::new(site, 2 * pair + 1, WORKER),
            Arc::clone(&flow),
        ));
    }
    run_for(WARM_UP, &mut loops).await?;
    let before = site.meter.read().await?;
    let begin = Instant::now();
    run_for(load.duration, &mut loops).await?;
    let elapsed = begin.elapsed();
    let latencies = flow.ended_since(begin);
    let count = latencies.len() as u64;
    let cost = site.meter.since(before, count).await?;

    flow.over.store(true, Ordering::Relaxed);
    while let Some(ended) = loops.join_next().await {
        ended??;
    }
    let measured = Measured::new(latencies, count, elapsed);
    Ok(Line::new("lifecycle", load.callers, &measured).with_cost(cost))
}

/// Lets the loops run; fails with the first of them.
async fn run_for(
    span: Duration,
    loops: &mut JoinSet<Result<(), BenchError>>,
) -> Result<(), BenchError> {
    match timeout(span, loops.join_next()).await {
        Ok(Some(ended)) => ended?,
        Ok(None) | Err(_) => Ok(()),
    }
}

/// What the loops share.
#[derive(Debug, Default)]
struct Flow {
    over: AtomicBool,
    /// When a lifecycle ended and how long it took.
    ended: Mutex<Vec<(Instant, u32)>>,
    /// When the running lifecycle of a parent thread began.
    begun: Mutex<std::collections::HashMap<String, Instant>>,
}

impl Flow {
    fn is_over(&self) -> bool {
        self.over.load(Ordering::Relaxed)
    }

    fn begin(&self, parent: &str) -> Option<Instant> {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        begun.insert(parent.to_owned(), Instant::now())
    }

    fn end(&self, began: Instant) {
        let now = Instant::now();
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        ended.push((now, micros(now.duration_since(began))));
    }

    fn ended_since(&self, begin: Instant) -> Vec<u32> {
        let ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let counted = ended.iter().filter(|(end, _)| *end >= begin);
        counted.map(|(_, latency)| *latency).collect()
    }
}

/// A runtime of one agent.
#[derive(Debug, Clone)]
struct Runtime {
    wire: Wire,
    id: String,
    agent: &'static str,
}

impl Runtime {
    fn new(site: &Site, number: usize, agent: &'static str) -> Self {
        Self {
            wire: site.wire(number),
            id: seed::runtime(number),
            agent,
        }
    }

    async fn claim(&self) -> Result<Vec<Turn>, BenchError> {
        let request = ClaimTurnsRequest {
            runtime_id: self.id.clone(),
            incarnation: 1,
            agent_ids: vec![self.agent.to_owned()],
            max_turns: i32::try_from(TURNS).ok(),
            wait: prost_types::Duration::try_from(WAIT).ok(),
        };
        let answer = RuntimeServiceClient::new(self.wire.clone())
            .claim_turns(request)
            .await;
        Ok(answer?.into_inner().turns)
    }

    /// Renews all turns in one call; each made one tool call.
    async fn heartbeat(&self, turns: &[Turn]) -> Result<(), BenchError> {
        let tool_call = ToolCallActivity {
            name: "count_words".to_owned(),
            time: None,
        };
        let activity = TurnActivity {
            sequence: 1,
            tool_calls: vec![tool_call],
            ..TurnActivity::default()
        };
        let beat = |turn: &Turn| TurnHeartbeat {
            turn: Some(reference(turn)),
            activity: Some(activity.clone()),
        };
        let request = HeartbeatRequest {
            runtime_id: self.id.clone(),
            incarnation: 1,
            turns: turns.iter().map(beat).collect(),
        };
        let answer = RuntimeServiceClient::new(self.wire.clone())
            .heartbeat(request)
            .await;
        answer?;
        Ok(())
    }

    async fn finish(&self, turn: &Turn, next: TurnNext) -> Result<(), BenchError> {
        let request = FinishTurnRequest {
            turn: Some(reference(turn)),
            outcome: TurnOutcome::Done.into(),
            next: next.into(),
            received_through: Some(turn.given_through),
            ..FinishTurnRequest::default()
        };
        let answer = RuntimeServiceClient::new(self.wire.clone())
            .finish_turn(request)
            .await;
        answer?;
        Ok(())
    }
}

fn reference(turn: &Turn) -> TurnRef {
    TurnRef {
        turn_id: turn.turn_id.clone(),
        token: turn.token,
    }
}

async fn parents(runtime: Runtime, flow: Arc<Flow>) -> Result<(), BenchError> {
    while !flow.is_over() {
        let turns = runtime.claim().await?;
        try_join_all(turns.iter().map(|turn| parent(&runtime, turn, &flow))).await?;
    }
    Ok(())
}

/// One turn of a parent: takes the report that came with it, hands off, and waits.
async fn parent(runtime: &Runtime, turn: &Turn, flow: &Flow) -> Result<(), BenchError> {
    let before = flow
        .begin(&turn.thread_id)
        .filter(|_| !turn.mail.is_empty());
    let request = CreateHandoffRequest {
        turn: Some(reference(turn)),
        target_agent: WORKER.to_owned(),
        task: "Count the words of every page and report the ten longest.".to_owned(),
        request_id: Some(turn.turn_id.clone()),
        ..CreateHandoffRequest::default()
    };
    let answer = HandoffServiceClient::new(runtime.wire.clone())
        .create_handoff(request)
        .await;
    answer?;
    runtime.finish(turn, TurnNext::Wait).await?;
    if let Some(began) = before {
        flow.end(began);
    }
    Ok(())
}

async fn workers(runtime: Runtime, flow: Arc<Flow>) -> Result<(), BenchError> {
    while !flow.is_over() {
        let turns = runtime.claim().await?;
        if !turns.is_empty() {
            runtime.heartbeat(&turns).await?;
        }
        try_join_all(turns.iter().map(|turn| worker(&runtime, turn))).await?;
    }
    Ok(())
}

/// The rest of a worker's turn: reports, and finishes.
async fn worker(runtime: &Runtime, turn: &Turn) -> Result<(), BenchError> {
    let request = SendMessageRequest {
        turn: Some(reference(turn)),
        kind: MessageKind::Report.into(),
        subject: "Counted".to_owned(),
        body: "12,480 words; the longest has nineteen letters.".to_owned(),
        request_id: Some(turn.turn_id.clone()),
        ..SendMessageRequest::default()
    };
    let answer = MailboxServiceClient::new(runtime.wire.clone())
        .send_message(request)
        .await;
    answer?;
    runtime.finish(turn, TurnNext::Finished).await
}
