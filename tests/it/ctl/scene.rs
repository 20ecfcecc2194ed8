//! What tests of the commands begin with.

use handoffd::proto::v1::{
    CreateHandoffRequest, CreateThreadRequest, Handoff, MessageKind, PutAgentRequest,
    SendMessageRequest, ThreadDrive,
};

use crate::support::Clients;

/// Puts an agent with a number of slots.
pub(crate) async fn agent(clients: &Clients, id: &str, slots: Option<u32>) {
    let request = PutAgentRequest {
        agent_id: id.to_owned(),
        max_concurrent_turns: slots,
        ..PutAgentRequest::default()
    };
    clients.agents().put_agent(request).await.unwrap();
}

/// Makes a thread that calls when it likes, of an agent that is there.
pub(crate) async fn pull(clients: &Clients, agent_id: &str) -> String {
    let request = CreateThreadRequest {
        agent_id: agent_id.to_owned(),
        drive: ThreadDrive::Pull.into(),
        ..CreateThreadRequest::default()
    };
    let made = clients.threads().create_thread(request).await.unwrap();
    made.into_inner().thread.unwrap().thread_id
}

/// Hands work to an agent that is there.
pub(crate) async fn hand_off(clients: &Clients, parent: &str, agent_id: &str) -> Handoff {
    let request = CreateHandoffRequest {
        parent_thread_id: parent.to_owned(),
        target_agent: agent_id.to_owned(),
        task: format!("work for {agent_id}"),
        ..CreateHandoffRequest::default()
    };
    let made = clients.handoffs().create_handoff(request).await.unwrap();
    made.into_inner().handoff.unwrap()
}

/// Lets a child that had no turn report.
pub(crate) async fn report(clients: &Clients, child: &str, body: &str) {
    let request = SendMessageRequest {
        from_thread_id: child.to_owned(),
        kind: MessageKind::Report.into(),
        body: body.to_owned(),
        ..SendMessageRequest::default()
    };
    clients.mailbox().send_message(request).await.unwrap();
}
