//! What tests of mail begin with, and the calls they make most.

use std::time::Duration;

use handoffd::proto::v1::{
    CreateThreadRequest, Message, MessageKind, PutAgentRequest, ReadMailRequest, ReadMailResponse,
    RegisterRuntimeRequest, SendMessageRequest, SendMessageResponse, ThreadDrive, TurnRef,
};

use crate::support::{Clients, TestServer};

/// Puts an agent.
pub(crate) async fn agent(clients: &Clients, id: &str) {
    let request = PutAgentRequest {
        agent_id: id.to_owned(),
        ..PutAgentRequest::default()
    };
    clients.agents().put_agent(request).await.unwrap();
}

/// Makes a thread that calls when it likes, of an agent of its own name.
pub(crate) async fn pull(clients: &Clients, agent_id: &str) -> String {
    agent(clients, agent_id).await;
    thread(clients, agent_id, ThreadDrive::Pull).await
}

/// Makes a thread whose turns are claimed, of an agent of its own name.
pub(crate) async fn runtime(clients: &Clients, agent_id: &str) -> String {
    agent(clients, agent_id).await;
    thread(clients, agent_id, ThreadDrive::Runtime).await
}

/// Makes a thread of an agent that is there.
pub(crate) async fn thread(clients: &Clients, agent_id: &str, drive: ThreadDrive) -> String {
    let request = CreateThreadRequest {
        agent_id: agent_id.to_owned(),
        drive: drive as i32,
        ..CreateThreadRequest::default()
    };
    let made = clients.threads().create_thread(request).await.unwrap();
    made.into_inner().thread.unwrap().thread_id
}

/// A note from thread to thread.
pub(crate) fn note(from: &str, to: &str, body: &str) -> SendMessageRequest {
    SendMessageRequest {
        from_thread_id: from.to_owned(),
        to_thread_id: to.to_owned(),
        kind: MessageKind::Note as i32,
        body: body.to_owned(),
        ..SendMessageRequest::default()
    }
}

/// Sends what must be accepted.
pub(crate) async fn send(clients: &Clients, request: SendMessageRequest) -> SendMessageResponse {
    let sent = clients.mailbox().send_message(request).await;
    sent.unwrap().into_inner()
}

/// Reads outside a turn, and consumes.
pub(crate) async fn read(clients: &Clients, thread: &str) -> ReadMailResponse {
    read_with(clients, reading(thread)).await
}

/// Looks, and changes nothing.
pub(crate) async fn peek(clients: &Clients, thread: &str) -> ReadMailResponse {
    let request = ReadMailRequest {
        peek: true,
        ..reading(thread)
    };
    read_with(clients, request).await
}

/// Reads as asked.
pub(crate) async fn read_with(clients: &Clients, request: ReadMailRequest) -> ReadMailResponse {
    let answer = clients.mailbox().read_mail(request).await;
    answer.unwrap().into_inner()
}

/// A read outside a turn that does not wait.
pub(crate) fn reading(thread: &str) -> ReadMailRequest {
    ReadMailRequest {
        thread_id: thread.to_owned(),
        ..ReadMailRequest::default()
    }
}

/// A read outside a turn that waits so many seconds.
pub(crate) fn wait_for(thread: &str, seconds: i64) -> ReadMailRequest {
    ReadMailRequest {
        wait: Some(prost_types::Duration { seconds, nanos: 0 }),
        ..reading(thread)
    }
}

/// The bodies of messages, in order.
pub(crate) fn bodies(messages: &[Message]) -> Vec<&str> {
    messages.iter().map(|it| it.body.as_str()).collect()
}

/// The id inside an id's text, as the database keeps it.
pub(crate) fn raw(id: &str) -> uuid::Uuid {
    id.split_once('_').unwrap().1.parse().unwrap()
}

/// Puts a live turn on an idle thread, as a claim and its first call would.
pub(crate) async fn begin_turn(server: &TestServer, thread: &str) -> TurnRef {
    let runtime = RegisterRuntimeRequest {
        runtime_id: "by-hand".to_owned(),
        description: String::new(),
    };
    server.runtimes().register_runtime(runtime).await.unwrap();
    let token: i64 = sqlx::query_scalar(
        "WITH head AS (
            UPDATE thread_heads SET turn_number = turn_number + 1, turn_running = true,
                turn_id = gen_random_uuid(), wake_time = NULL, wake_count = 0
            WHERE thread_id = $1 RETURNING *)
        INSERT INTO turns (namespace, turn_id, thread_id, agent_id, runtime_id, incarnation,
            holds_slot, token, state, claim_time, lease_expire_time, heartbeat_time,
            activity_time, activity_number, tool_calls, input_tokens, output_tokens, check_time,
            version)
        SELECT namespace, turn_id, thread_id, agent_id, 'by-hand', 1, false, turn_number,
            'running', handoffd_now(), handoffd_now() + interval '1 day',
            handoffd_now(), handoffd_now(), 0, 0, 0, 0, handoffd_now() + interval '1 day', 1
        FROM head RETURNING token",
    )
    .bind(raw(thread))
    .fetch_one(&server.pool)
    .await
    .unwrap();
    let turn: uuid::Uuid =
        sqlx::query_scalar("SELECT turn_id FROM thread_heads WHERE thread_id = $1")
            .bind(raw(thread))
            .fetch_one(&server.pool)
            .await
            .unwrap();
    TurnRef {
        turn_id: format!("trn_{}", turn.simple()),
        token: u64::try_from(token).unwrap(),
    }
}

/// How many wakes stand in the database.
pub(crate) async fn wakes(server: &TestServer) -> i64 {
    sqlx::query_scalar("SELECT count(*) FROM thread_heads WHERE wake_time IS NOT NULL")
        .fetch_one(&server.pool)
        .await
        .unwrap()
}

/// Far above what an answer that does not wait takes, far below any wait of these tests.
pub(crate) const SOON: Duration = Duration::from_secs(15);
