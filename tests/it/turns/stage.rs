//! Scripted runtimes, and what a test of turns says in one line.

use std::time::Duration;

use handoffd::proto::v1;
use handoffd::workers::JobName;
use tonic::{Response, Status};

use crate::support::{Clients, TestServer};

/// A runtime in one of its lives.
#[derive(Debug, Clone)]
pub(crate) struct Runtime {
    pub(crate) clients: Clients,
    pub(crate) id: String,
    pub(crate) incarnation: u64,
    pub(crate) agents: Vec<String>,
}

impl Runtime {
    /// Registers it on the server behind `clients`.
    pub(crate) async fn register(clients: &Clients, id: &str, agents: &[&str]) -> Self {
        let request = v1::RegisterRuntimeRequest {
            runtime_id: id.to_owned(),
            description: String::new(),
        };
        let answer = clients.runtimes().register_runtime(request).await.unwrap();
        Self {
            clients: clients.clone(),
            id: id.to_owned(),
            incarnation: answer.into_inner().incarnation,
            agents: agents.iter().map(|&agent| agent.to_owned()).collect(),
        }
    }

    /// The same life, calling another server.
    pub(crate) fn on(&self, clients: &Clients) -> Self {
        Self {
            clients: clients.clone(),
            ..self.clone()
        }
    }

    /// A claim of so many turns that waits so long.
    pub(crate) async fn try_claim(
        &self,
        max: i32,
        wait: Duration,
    ) -> Result<Response<v1::ClaimTurnsResponse>, Status> {
        let request = v1::ClaimTurnsRequest {
            runtime_id: self.id.clone(),
            incarnation: self.incarnation,
            agent_ids: self.agents.clone(),
            max_turns: Some(max),
            wait: Some(prost_types::Duration::try_from(wait).unwrap()),
        };
        self.clients.runtimes().claim_turns(request).await
    }

    /// What is due now.
    pub(crate) async fn claim(&self, max: i32) -> Vec<v1::Turn> {
        let answer = self.try_claim(max, Duration::ZERO).await.unwrap();
        answer.into_inner().turns
    }

    /// The one turn that must be due now.
    pub(crate) async fn claim_one(&self) -> v1::Turn {
        let mut turns = self.claim(10).await;
        assert_eq!(turns.len(), 1, "{turns:?}");
        turns.remove(0)
    }

    /// Claims the one due turn and makes its first call.
    pub(crate) async fn begin_one(&self) -> v1::Turn {
        let turn = self.claim_one().await;
        let states = self.beat(&[&turn]).await;
        assert_eq!(states[0].state(), v1::TurnLeaseState::Renewed);
        turn
    }

    /// Beats without activity.
    pub(crate) async fn beat(&self, turns: &[&v1::Turn]) -> Vec<v1::TurnHeartbeatResult> {
        let beats = turns.iter().map(|turn| v1::TurnHeartbeat {
            turn: Some(turn_ref(turn)),
            activity: None,
        });
        self.beat_with(beats.collect()).await
    }

    /// Beats as told.
    pub(crate) async fn beat_with(
        &self,
        turns: Vec<v1::TurnHeartbeat>,
    ) -> Vec<v1::TurnHeartbeatResult> {
        let request = v1::HeartbeatRequest {
            runtime_id: self.id.clone(),
            incarnation: self.incarnation,
            turns,
        };
        let answer = self.clients.runtimes().heartbeat(request).await.unwrap();
        answer.into_inner().turns
    }

    /// Finishes, as the server answers it.
    pub(crate) async fn try_finish(
        &self,
        request: v1::FinishTurnRequest,
    ) -> Result<Response<v1::FinishTurnResponse>, Status> {
        self.clients.runtimes().finish_turn(request).await
    }

    /// Finishes what must be accepted.
    pub(crate) async fn finish(&self, request: v1::FinishTurnRequest) -> v1::FinishTurnResponse {
        self.try_finish(request).await.unwrap().into_inner()
    }

    /// Gives turns back, or all.
    pub(crate) async fn release(&self, turns: &[&v1::Turn]) -> v1::ReleaseTurnsResponse {
        let request = v1::ReleaseTurnsRequest {
            runtime_id: self.id.clone(),
            incarnation: self.incarnation,
            turns: turns.iter().map(|turn| turn_ref(turn)).collect(),
        };
        let answer = self.clients.runtimes().release_turns(request).await;
        answer.unwrap().into_inner()
    }
}

/// The name and right of a claimed turn.
pub(crate) fn turn_ref(turn: &v1::Turn) -> v1::TurnRef {
    v1::TurnRef {
        turn_id: turn.turn_id.clone(),
        token: turn.token,
    }
}

/// A finish that says nothing but DONE.
pub(crate) fn done(turn: &v1::Turn) -> v1::FinishTurnRequest {
    v1::FinishTurnRequest {
        turn: Some(turn_ref(turn)),
        outcome: v1::TurnOutcome::Done as i32,
        ..v1::FinishTurnRequest::default()
    }
}

/// A finish that received mail through `number` only.
pub(crate) fn done_through(turn: &v1::Turn, number: u64) -> v1::FinishTurnRequest {
    v1::FinishTurnRequest {
        received_through: Some(number),
        ..done(turn)
    }
}

/// A finish with this outcome.
pub(crate) fn ended(turn: &v1::Turn, outcome: v1::TurnOutcome) -> v1::FinishTurnRequest {
    v1::FinishTurnRequest {
        outcome: outcome as i32,
        ..done(turn)
    }
}

/// Puts an agent with so many slots.
pub(crate) async fn agent(clients: &Clients, id: &str, slots: Option<u32>) {
    let request = v1::PutAgentRequest {
        agent_id: id.to_owned(),
        max_concurrent_turns: slots,
        ..v1::PutAgentRequest::default()
    };
    clients.agents().put_agent(request).await.unwrap();
}

/// Activates or deactivates one.
pub(crate) async fn set_state(clients: &Clients, id: &str, state: v1::AgentState) {
    let request = v1::SetAgentStateRequest {
        agent_id: id.to_owned(),
        state: state as i32,
        request_id: None,
    };
    clients.agents().set_agent_state(request).await.unwrap();
}

/// Makes a root thread.
pub(crate) async fn thread(clients: &Clients, agent: &str) -> String {
    let request = v1::CreateThreadRequest {
        agent_id: agent.to_owned(),
        ..v1::CreateThreadRequest::default()
    };
    let made = clients.threads().create_thread(request).await.unwrap();
    made.into_inner().thread.unwrap().thread_id
}

/// A thread as it is now.
pub(crate) async fn get(clients: &Clients, thread: &str) -> v1::Thread {
    let request = v1::GetThreadRequest {
        thread_id: thread.to_owned(),
    };
    let got = clients.threads().get_thread(request).await.unwrap();
    got.into_inner().thread.unwrap()
}

/// An operator's note.
pub(crate) fn note(to: &str, body: &str) -> v1::SendMessageRequest {
    v1::SendMessageRequest {
        to_thread_id: to.to_owned(),
        body: body.to_owned(),
        ..v1::SendMessageRequest::default()
    }
}

/// Sends an operator's note.
pub(crate) async fn mail(clients: &Clients, to: &str, body: &str) -> v1::SendMessageResponse {
    let sent = clients.mailbox().send_message(note(to, body)).await;
    sent.unwrap().into_inner()
}

/// Reads in a turn.
pub(crate) async fn read(clients: &Clients, turn: &v1::Turn) -> v1::ReadMailResponse {
    let request = v1::ReadMailRequest {
        turn: Some(turn_ref(turn)),
        ..v1::ReadMailRequest::default()
    };
    let read = clients.mailbox().read_mail(request).await;
    read.unwrap().into_inner()
}

/// The bodies of mail, in order.
pub(crate) fn bodies(mail: &[v1::Message]) -> Vec<&str> {
    mail.iter().map(|message| message.body.as_str()).collect()
}

/// The history of a thread.
pub(crate) async fn history(clients: &Clients, thread: &str) -> Vec<v1::Event> {
    let request = v1::ListEventsRequest {
        thread_id: thread.to_owned(),
        after_number: 0,
        page_size: Some(500),
    };
    let listed = clients.threads().list_events(request).await.unwrap();
    listed.into_inner().events
}

/// Moves the time and lets the reconciler look at the leases.
pub(crate) async fn pass(server: &TestServer, seconds: u64) {
    // A mark of life first: else leases count from the pass, as after an outage.
    server.sweep(JobName::ExpireLeases).await;
    server.clock.advance(Duration::from_secs(seconds)).await;
    server.sweep(JobName::ExpireLeases).await;
}

/// Loses the one live turn of a runtime that was begun.
pub(crate) async fn lose(server: &TestServer) {
    behind_heartbeats(server).await;
    pass(server, 60).await;
}

/// Waits until no heartbeat is under way that a server sent after a call of a turn: it would renew the
/// lease when the time has moved. Heartbeats of a turn keep their order, so one more is behind them.
async fn behind_heartbeats(server: &TestServer) {
    let running = "SELECT turn_id, token, runtime_id, incarnation FROM turns \
        WHERE state = 'running' AND namespace = 'default'";
    let running: Vec<(uuid::Uuid, i64, String, i64)> = sqlx::query_as(running)
        .fetch_all(&server.pool)
        .await
        .unwrap();
    for (turn_id, token, id, incarnation) in running {
        let turn = v1::TurnRef {
            turn_id: format!("trn_{}", turn_id.simple()),
            token: token.try_into().unwrap(),
        };
        let beat = v1::TurnHeartbeat {
            turn: Some(turn),
            activity: None,
        };
        for clients in server.all_clients() {
            let runtime = Runtime {
                clients,
                id: id.clone(),
                incarnation: incarnation.try_into().unwrap(),
                agents: Vec::new(),
            };
            let beaten = runtime.beat_with(vec![beat.clone()]).await;
            assert_eq!(beaten[0].state(), v1::TurnLeaseState::Renewed);
        }
    }
}

/// Work for `agent`, for no thread or for `parent`.
pub(crate) async fn hand_off(
    clients: &Clients,
    parent: &str,
    agent: &str,
    lost: v1::OnTurnLost,
) -> v1::Handoff {
    let request = v1::CreateHandoffRequest {
        parent_thread_id: parent.to_owned(),
        target_agent: agent.to_owned(),
        task: "count the words".to_owned(),
        on_turn_lost: lost as i32,
        ..v1::CreateHandoffRequest::default()
    };
    let made = clients.handoffs().create_handoff(request).await.unwrap();
    made.into_inner().handoff.unwrap()
}

/// What became of work.
pub(crate) async fn results(
    clients: &Clients,
    handoff: &v1::Handoff,
) -> v1::GetHandoffResultsResponse {
    let request = v1::GetHandoffResultsRequest {
        handoff_id: handoff.handoff_id.clone(),
    };
    let got = clients.handoffs().get_handoff_results(request).await;
    got.unwrap().into_inner()
}

/// Asks the child of work to stop.
pub(crate) async fn stop_child(clients: &Clients, handoff: &v1::Handoff) {
    let request = v1::CancelHandoffRequest {
        handoff_id: handoff.handoff_id.clone(),
        stop_child: true,
        ..v1::CancelHandoffRequest::default()
    };
    clients.handoffs().cancel_handoff(request).await.unwrap();
}

/// Reports in a turn.
pub(crate) async fn report(clients: &Clients, turn: &v1::Turn, body: &str) {
    let request = v1::SendMessageRequest {
        turn: Some(turn_ref(turn)),
        body: body.to_owned(),
        kind: v1::MessageKind::Report as i32,
        ..v1::SendMessageRequest::default()
    };
    clients.mailbox().send_message(request).await.unwrap();
}
