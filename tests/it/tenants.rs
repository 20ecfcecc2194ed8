//! Case I1: what belongs to another tenant does not exist, for every method and word for word.

use std::collections::BTreeSet;

use handoffd::proto::{FILE_DESCRIPTOR_SET, v1};
use prost::Message;
use tonic::{Code, Response, Status};

use crate::handoffs::scene::{asking, boss, hand_off};
use crate::support::errors::{Told, told};
use crate::support::{Clients, with_server};
use crate::turns::stage::Runtime;

/// Names of things of one tenant.
#[derive(Debug, Clone)]
struct Things {
    handoff: String,
    thread: String,
    turn: String,
    agent: String,
    runtime: String,
}

impl Things {
    /// Things that are nobody's.
    fn nobodys() -> Self {
        let id = |prefix: &str| format!("{prefix}_0000000000007000800000000000000f");
        Self {
            handoff: id("hnd"),
            thread: id("thr"),
            turn: id("trn"),
            agent: "nobody".to_owned(),
            runtime: "nobody".to_owned(),
        }
    }

    fn turn_ref(&self) -> v1::TurnRef {
        v1::TurnRef {
            turn_id: self.turn.clone(),
            token: 1,
        }
    }

    /// A text without the names of these things.
    fn nameless(&self, text: &str) -> String {
        let names = [
            &self.handoff,
            &self.thread,
            &self.turn,
            &self.agent,
            &self.runtime,
        ];
        names.iter().fold(text.to_owned(), |text, name| {
            text.replace(name.as_str(), "it")
        })
    }
}

/// Calls that name one thing, each by the name of its method: `method(request)`.
macro_rules! calls {
    ($clients:ident, $things:ident, { $($method:literal: $service:ident.$call:ident($request:ident {
        $($field:ident: $value:expr,)*
    }),)+ }) => {{
        let mut answers: Vec<(&'static str, Told)> = Vec::new();
        $(
            let mut request = v1::$request::default();
            $(request.$field = $value;)*
            answers.push(($method, refused($method, $clients.$service().$call(request).await)));
        )+
        answers
    }};
}

fn refused<T: std::fmt::Debug>(method: &str, answer: Result<Response<T>, Status>) -> Told {
    assert!(answer.is_err(), "{method} answers {answer:?}");
    told(answer)
}

/// What every method that names a thing says of these.
async fn ask(clients: &Clients, it: &Things) -> Vec<(&'static str, Told)> {
    calls!(clients, it, {
        "GetAgent": agents.get_agent(GetAgentRequest { agent_id: it.agent.clone(), }),
        "SetAgentState": agents.set_agent_state(SetAgentStateRequest {
            agent_id: it.agent.clone(),
            state: v1::AgentState::Deactivated.into(),
        }),
        "CreateThread": threads.create_thread(CreateThreadRequest { agent_id: it.agent.clone(), }),
        "GetThread": threads.get_thread(GetThreadRequest { thread_id: it.thread.clone(), }),
        "ListThreads": threads.list_threads(ListThreadsRequest {
            parent_thread_id: it.thread.clone(),
        }),
        "AppendEvents": threads.append_events(AppendEventsRequest {
            turn: Some(it.turn_ref()),
            events: vec![event()],
        }),
        "ListEvents": threads.list_events(ListEventsRequest { thread_id: it.thread.clone(), }),
        "SendMessage": mailbox.send_message(SendMessageRequest {
            to_thread_id: it.thread.clone(),
            body: "hello".to_owned(),
        }),
        "ReadMail": mailbox.read_mail(ReadMailRequest { thread_id: it.thread.clone(), }),
        "AckMail": mailbox.ack_mail(AckMailRequest {
            turn: Some(it.turn_ref()),
            received_through: Some(1),
        }),
        "ListMail": mailbox.list_mail(ListMailRequest { thread_id: it.thread.clone(), }),
        "CreateHandoff": handoffs.create_handoff(CreateHandoffRequest {
            parent_thread_id: it.thread.clone(),
            target_agent: "worker".to_owned(),
            task: "work".to_owned(),
        }),
        "CancelHandoff": handoffs.cancel_handoff(CancelHandoffRequest {
            handoff_id: it.handoff.clone(),
        }),
        "ExtendDeadline": handoffs.extend_deadline(ExtendDeadlineRequest {
            handoff_id: it.handoff.clone(),
            deadline: Some(prost_types::Duration { seconds: 60, nanos: 0 }),
        }),
        "GetHandoffResults": handoffs.get_handoff_results(GetHandoffResultsRequest {
            handoff_id: it.handoff.clone(),
        }),
        "WaitHandoff": handoffs.wait_handoff(WaitHandoffRequest {
            handoff_id: it.handoff.clone(),
            timeout: Some(prost_types::Duration::default()),
        }),
        "GetHandoffStatus": status.get_handoff_status(GetHandoffStatusRequest {
            handoff_id: it.handoff.clone(),
        }),
        "ListHandoffs": status.list_handoffs(ListHandoffsRequest {
            root_thread_id: it.thread.clone(),
        }),
        "GetHandoffTimeline": status.get_handoff_timeline(GetHandoffTimelineRequest {
            handoff_id: it.handoff.clone(),
        }),
        "GetLineage": status.get_lineage(GetLineageRequest { handoff_id: it.handoff.clone(), }),
        "ClaimTurns": runtimes.claim_turns(ClaimTurnsRequest {
            runtime_id: it.runtime.clone(),
            incarnation: 1,
            agent_ids: vec!["worker".to_owned()],
            wait: Some(prost_types::Duration::default()),
        }),
        "FinishTurn": runtimes.finish_turn(FinishTurnRequest {
            turn: Some(it.turn_ref()),
            outcome: v1::TurnOutcome::Done.into(),
        }),
        "Explain": operators.explain(ExplainRequest { handoff_id: it.handoff.clone(), }),
        "BulkCancel": operators.bulk_cancel(BulkCancelRequest {
            parent_thread_id: it.thread.clone(),
        }),
        "ForceEnd": operators.force_end(ForceEndRequest { handoff_id: it.handoff.clone(), }),
        "CancelReminder": operators.cancel_reminder(CancelReminderRequest {
            handoff_id: it.handoff.clone(),
        }),
        "ForceRelease": operators.force_release(ForceReleaseRequest { turn_id: it.turn.clone(), }),
    })
}

fn event() -> v1::NewEvent {
    let text = "hello".to_owned();
    let message = v1::AssistantMessage { text };
    v1::NewEvent {
        kind: Some(v1::new_event::Kind::AssistantMessage(message)),
    }
}

/// Methods that name nothing that could be another tenant's, or that answer of each thing by itself, which
/// their own tests look at.
const OTHERS: &[&str] = &[
    "PutAgent",
    "ListAgents",
    "RegisterRuntime",
    "Heartbeat",
    "ReleaseTurns",
    "BatchGetHandoffStatus",
    "GetStats",
    "CheckInvariants",
    "GetServer",
    "ListStuck",
];

#[tokio::test]
async fn what_belongs_to_another_tenant_is_told_as_what_does_not_exist() {
    with_server(async |server| {
        boss(server).await;
        let theirs = server.in_namespace("theirs");
        let parent = boss(&theirs).await;
        let put = v1::PutAgentRequest {
            agent_id: "theirs-only".to_owned(),
            ..v1::PutAgentRequest::default()
        };
        theirs.agents().put_agent(put).await.unwrap();
        let handoff = hand_off(&theirs, asking(&parent)).await;
        let runtime = Runtime::register(&theirs, "their-runtime", &["worker"]).await;
        let foreign = Things {
            turn: runtime.begin_one().await.turn_id,
            handoff: handoff.handoff_id,
            thread: parent,
            agent: "theirs-only".to_owned(),
            runtime: "their-runtime".to_owned(),
        };
        let nobodys = Things::nobodys();
        let told_of_foreign = ask(server, &foreign).await;
        let told_of_nobodys = ask(server, &nobodys).await;
        for ((method, foreign_told), (_, told)) in told_of_foreign.iter().zip(&told_of_nobodys) {
            assert_eq!(told.code, Code::NotFound, "{method}: {told:?}");
            assert_eq!(foreign_told.what(), told.what(), "{method}");
            let [of_foreign, of_nobodys] = [
                foreign.nameless(&foreign_told.message),
                nobodys.nameless(&told.message),
            ];
            assert_eq!(of_foreign, of_nobodys, "{method}");
            let keys = |told: &Told| told.metadata.keys().cloned().collect::<Vec<_>>();
            assert_eq!(keys(foreign_told), keys(told), "{method}");
        }
        let asked: BTreeSet<String> = told_of_foreign
            .iter()
            .map(|(method, _)| (*method).to_owned())
            .chain(OTHERS.iter().map(|&method| method.to_owned()))
            .collect();
        assert_eq!(
            asked,
            methods(),
            "a method is asked of, or listed with a reason"
        );
    })
    .await;
}

/// Every method of the API.
fn methods() -> BTreeSet<String> {
    let set = prost_types::FileDescriptorSet::decode(FILE_DESCRIPTOR_SET).unwrap();
    let services = set.file.iter().flat_map(|file| &file.service);
    let methods = services.flat_map(|service| &service.method);
    methods.map(|method| method.name().to_owned()).collect()
}
