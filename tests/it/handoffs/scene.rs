//! What tests of handoffs begin with, and the calls they make most.

use std::time::Duration;

use handoffd::proto::v1;

use crate::support::Clients;

/// Puts an agent.
pub(crate) async fn agent(clients: &Clients, id: &str) {
    let request = v1::PutAgentRequest {
        agent_id: id.to_owned(),
        ..v1::PutAgentRequest::default()
    };
    clients.agents().put_agent(request).await.unwrap();
}

/// Activates or deactivates one.
pub(crate) async fn set_state(clients: &Clients, id: &str, state: v1::AgentState) {
    let request = v1::SetAgentStateRequest {
        agent_id: id.to_owned(),
        state: state as i32,
        ..v1::SetAgentStateRequest::default()
    };
    clients.agents().set_agent_state(request).await.unwrap();
}

/// A thread of agent `boss` that calls when it likes, beside an agent `worker`.
pub(crate) async fn boss(clients: &Clients) -> String {
    agent(clients, "boss").await;
    agent(clients, "worker").await;
    thread(clients, "boss", v1::ThreadDrive::Pull).await
}

/// A root thread of an agent that is there.
pub(crate) async fn thread(clients: &Clients, id: &str, drive: v1::ThreadDrive) -> String {
    let request = v1::CreateThreadRequest {
        agent_id: id.to_owned(),
        drive: drive as i32,
        ..v1::CreateThreadRequest::default()
    };
    let made = clients.threads().create_thread(request).await.unwrap();
    made.into_inner().thread.unwrap().thread_id
}

/// Asks `worker` for something, for a thread.
pub(crate) fn asking(parent: &str) -> v1::CreateHandoffRequest {
    v1::CreateHandoffRequest {
        parent_thread_id: parent.to_owned(),
        task: "count the words".to_owned(),
        target_agent: "worker".to_owned(),
        ..v1::CreateHandoffRequest::default()
    }
}

/// Hands off what must be accepted.
pub(crate) async fn create(
    clients: &Clients,
    request: v1::CreateHandoffRequest,
) -> v1::CreateHandoffResponse {
    let made = clients.handoffs().create_handoff(request).await;
    made.unwrap().into_inner()
}

/// The same, for its record.
pub(crate) async fn hand_off(clients: &Clients, request: v1::CreateHandoffRequest) -> v1::Handoff {
    create(clients, request).await.handoff.unwrap()
}

/// A report of a child that never had a turn, by an operator.
pub(crate) fn reporting(handoff: &v1::Handoff, body: &str) -> v1::SendMessageRequest {
    v1::SendMessageRequest {
        from_thread_id: handoff.thread_id.clone(),
        kind: v1::MessageKind::Report as i32,
        body: body.to_owned(),
        ..v1::SendMessageRequest::default()
    }
}

/// Sends what must be accepted.
pub(crate) async fn send(
    clients: &Clients,
    request: v1::SendMessageRequest,
) -> v1::SendMessageResponse {
    let sent = clients.mailbox().send_message(request).await;
    sent.unwrap().into_inner()
}

/// Reports for a child.
pub(crate) async fn report(
    clients: &Clients,
    handoff: &v1::Handoff,
    body: &str,
) -> v1::SendMessageResponse {
    send(clients, reporting(handoff, body)).await
}

/// All mail of a thread that calls when it likes, read and consumed.
pub(crate) async fn mail(clients: &Clients, thread: &str) -> Vec<v1::Message> {
    let mut all = Vec::new();
    loop {
        let request = v1::ReadMailRequest {
            thread_id: thread.to_owned(),
            ..v1::ReadMailRequest::default()
        };
        let read = clients.mailbox().read_mail(request).await.unwrap();
        let messages = read.into_inner().messages;
        if messages.is_empty() {
            return all;
        }
        all.extend(messages);
    }
}

/// Status.
pub(crate) async fn status(clients: &Clients, id: &str) -> v1::HandoffSnapshot {
    let request = v1::GetHandoffStatusRequest {
        handoff_id: id.to_owned(),
    };
    let told = clients.status().get_handoff_status(request).await.unwrap();
    told.into_inner().snapshot.unwrap()
}

/// The record inside status.
pub(crate) async fn stored(clients: &Clients, id: &str) -> v1::Handoff {
    status(clients, id).await.handoff.unwrap()
}

/// The computed part of status.
pub(crate) async fn progress(clients: &Clients, id: &str) -> v1::HandoffProgress {
    status(clients, id).await.progress.unwrap()
}

/// The whole timeline.
pub(crate) async fn timeline(clients: &Clients, id: &str) -> Vec<v1::TimelineEntry> {
    let request = v1::GetHandoffTimelineRequest {
        handoff_id: id.to_owned(),
        page_size: Some(500),
        ..v1::GetHandoffTimelineRequest::default()
    };
    let told = clients.status().get_handoff_timeline(request).await;
    told.unwrap().into_inner().entries
}

/// What happened, in order.
pub(crate) async fn reasons(clients: &Clients, id: &str) -> Vec<v1::TimelineReason> {
    let entries = timeline(clients, id).await;
    entries.iter().map(v1::TimelineEntry::reason).collect()
}

/// Cancels, with nothing asked besides.
pub(crate) fn cancelling(id: &str) -> v1::CancelHandoffRequest {
    v1::CancelHandoffRequest {
        handoff_id: id.to_owned(),
        ..v1::CancelHandoffRequest::default()
    }
}

/// Cancels what must be there.
pub(crate) async fn cancel(
    clients: &Clients,
    request: v1::CancelHandoffRequest,
) -> v1::CancelHandoffResponse {
    let told = clients.handoffs().cancel_handoff(request).await;
    told.unwrap().into_inner()
}

/// Acknowledges a version of a handoff's reports, for its parent thread.
pub(crate) async fn acknowledge(
    clients: &Clients,
    parent: &str,
    id: &str,
    version: u64,
) -> Result<tonic::Response<v1::AckMailResponse>, tonic::Status> {
    let request = v1::AckMailRequest {
        thread_id: parent.to_owned(),
        reports: vec![v1::ReportAck {
            handoff_id: id.to_owned(),
            version,
        }],
        ..v1::AckMailRequest::default()
    };
    clients.mailbox().ack_mail(request).await
}

/// A wait of so many seconds.
pub(crate) fn waiting(id: &str, until: v1::WaitUntil, seconds: i64) -> v1::WaitHandoffRequest {
    v1::WaitHandoffRequest {
        handoff_id: id.to_owned(),
        until: until as i32,
        after_version: 0,
        timeout: Some(prost_types::Duration { seconds, nanos: 0 }),
    }
}

/// Waits for what must be there.
pub(crate) async fn wait(
    clients: &Clients,
    request: v1::WaitHandoffRequest,
) -> v1::WaitHandoffResponse {
    let told = clients.handoffs().wait_handoff(request).await;
    told.unwrap().into_inner()
}

/// A runtime that runs one agent.
pub(crate) struct Worker {
    clients: Clients,
    runtime_id: String,
    agent: String,
    incarnation: u64,
}

impl Worker {
    pub(crate) async fn register(clients: &Clients, agent: &str) -> Self {
        Self::register_as(clients, "r1", agent).await
    }

    /// One of several runtimes.
    pub(crate) async fn register_as(clients: &Clients, runtime_id: &str, agent: &str) -> Self {
        let request = v1::RegisterRuntimeRequest {
            runtime_id: runtime_id.to_owned(),
            ..v1::RegisterRuntimeRequest::default()
        };
        let told = clients.runtimes().register_runtime(request).await.unwrap();
        Self {
            clients: clients.clone(),
            runtime_id: runtime_id.to_owned(),
            agent: agent.to_owned(),
            incarnation: told.into_inner().incarnation,
        }
    }

    /// The turns that are due now.
    pub(crate) async fn claim(&self) -> Vec<v1::Turn> {
        let request = v1::ClaimTurnsRequest {
            runtime_id: self.runtime_id.clone(),
            incarnation: self.incarnation,
            agent_ids: vec![self.agent.clone()],
            max_turns: Some(100),
            wait: Some(prost_types::Duration::default()),
        };
        let told = self.clients.runtimes().claim_turns(request).await;
        told.unwrap().into_inner().turns
    }

    /// The one turn that is due, with its first call made.
    pub(crate) async fn begin(&self) -> v1::TurnRef {
        let turns = self.claim().await;
        let [turn] = turns.as_slice() else {
            panic!("{} turns were due", turns.len());
        };
        let turn = reference(turn);
        self.beat(&turn, None).await;
        turn
    }

    pub(crate) async fn beat(
        &self,
        turn: &v1::TurnRef,
        activity: Option<v1::TurnActivity>,
    ) -> v1::TurnHeartbeatResult {
        let beat = v1::TurnHeartbeat {
            turn: Some(turn.clone()),
            activity,
        };
        let request = v1::HeartbeatRequest {
            runtime_id: self.runtime_id.clone(),
            incarnation: self.incarnation,
            turns: vec![beat],
        };
        let told = self.clients.runtimes().heartbeat(request).await.unwrap();
        told.into_inner().turns.remove(0)
    }

    pub(crate) async fn release(&self, turn: &v1::TurnRef) {
        let request = v1::ReleaseTurnsRequest {
            runtime_id: self.runtime_id.clone(),
            incarnation: self.incarnation,
            turns: vec![turn.clone()],
        };
        let told = self.clients.runtimes().release_turns(request).await;
        assert_eq!(told.unwrap().into_inner().turn_ids.len(), 1);
    }

    pub(crate) async fn finish(&self, request: v1::FinishTurnRequest) -> v1::FinishTurnResponse {
        let told = self.clients.runtimes().finish_turn(request).await;
        told.unwrap().into_inner()
    }
}

/// Names a claimed turn.
pub(crate) fn reference(turn: &v1::Turn) -> v1::TurnRef {
    v1::TurnRef {
        turn_id: turn.turn_id.clone(),
        token: turn.token,
    }
}

/// A finish that is done, with this next.
pub(crate) fn done(turn: &v1::TurnRef, next: v1::TurnNext) -> v1::FinishTurnRequest {
    v1::FinishTurnRequest {
        turn: Some(turn.clone()),
        outcome: v1::TurnOutcome::Done as i32,
        next: next as i32,
        ..v1::FinishTurnRequest::default()
    }
}

/// Far above what an answer that does not wait takes, far below any wait of these tests.
pub(crate) const SOON: Duration = Duration::from_secs(15);
