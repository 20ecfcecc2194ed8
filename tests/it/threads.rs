//! ThreadService, by what it promises.

use std::collections::BTreeSet;

use handoffd::proto::v1;
use tonic::Code;

use crate::support::{Clients, told, with_server};

const MISSING: &str = "thr_00000000000070008000000000000000";

async fn agent(clients: &Clients, agent_id: &str) {
    let request = v1::PutAgentRequest {
        agent_id: agent_id.to_owned(),
        ..v1::PutAgentRequest::default()
    };
    clients.agents().put_agent(request).await.unwrap();
}

fn pull(agent_id: &str) -> v1::CreateThreadRequest {
    v1::CreateThreadRequest {
        agent_id: agent_id.to_owned(),
        drive: v1::ThreadDrive::Pull as i32,
        ..v1::CreateThreadRequest::default()
    }
}

async fn create(clients: &Clients, request: v1::CreateThreadRequest) -> v1::Thread {
    let answer = clients.threads().create_thread(request).await.unwrap();
    answer.into_inner().thread.unwrap()
}

async fn get(clients: &Clients, thread_id: &str) -> v1::Thread {
    let request = v1::GetThreadRequest {
        thread_id: thread_id.to_owned(),
    };
    let answer = clients.threads().get_thread(request).await.unwrap();
    answer.into_inner().thread.unwrap()
}

fn said(text: &str) -> v1::NewEvent {
    v1::NewEvent {
        kind: Some(v1::new_event::Kind::UserMessage(v1::UserMessage {
            text: text.to_owned(),
        })),
    }
}

fn append(thread_id: &str, events: Vec<v1::NewEvent>) -> v1::AppendEventsRequest {
    v1::AppendEventsRequest {
        thread_id: thread_id.to_owned(),
        events,
        ..v1::AppendEventsRequest::default()
    }
}

fn history(thread_id: &str, after_number: u64, size: i32) -> v1::ListEventsRequest {
    v1::ListEventsRequest {
        thread_id: thread_id.to_owned(),
        after_number,
        page_size: Some(size),
    }
}

#[tokio::test]
async fn a_root_thread_is_what_was_asked_for_with_the_defaults() {
    with_server(async |server| {
        agent(server, "boss").await;
        let plain = create(
            server,
            v1::CreateThreadRequest {
                agent_id: "boss".to_owned(),
                ..v1::CreateThreadRequest::default()
            },
        )
        .await;
        assert_eq!(plain.root_thread_id, plain.thread_id);
        assert_eq!((plain.depth, plain.role.as_str()), (0, "init"));
        assert_eq!(plain.drive(), v1::ThreadDrive::Runtime);
        assert_eq!(plain.visibility(), v1::Visibility::Visible);
        assert_eq!(plain.state(), v1::ThreadState::Idle);
        assert!(plain.show_in_thread_list && plain.owner.is_none());
        assert_eq!(get(server, &plain.thread_id).await, plain);

        let owner = v1::Owner {
            subject: "u1".to_owned(),
            email: String::new(),
        };
        let hidden = v1::CreateThreadRequest {
            role: Some("cron".to_owned()),
            title: "nightly".to_owned(),
            visibility: v1::Visibility::Hidden as i32,
            owner: Some(owner.clone()),
            ..pull("boss")
        };
        let hidden = create(server, hidden).await;
        assert_eq!(hidden.visibility(), v1::Visibility::Hidden);
        assert!(
            !hidden.show_in_thread_list,
            "hidden means unlisted unless it says"
        );
        assert_eq!(hidden.owner, Some(owner));
        assert_eq!(hidden.drive(), v1::ThreadDrive::Pull);
    })
    .await;
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once_by_its_path() {
    with_server(async |server| {
        let wrong = v1::CreateThreadRequest {
            agent_id: String::new(),
            role: Some("task".to_owned()),
            title: "two\nlines".to_owned(),
            visibility: 7,
            drive: 7,
            owner: Some(v1::Owner::default()),
            ..v1::CreateThreadRequest::default()
        };
        let refused = told(server.threads().create_thread(wrong).await);
        assert_eq!(refused.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        assert_eq!(
            refused.fields,
            [
                "role",
                "visibility",
                "agent_id",
                "drive",
                "title",
                "owner.subject"
            ]
        );
        let call = v1::ToolCall {
            name: "a".to_owned(),
            arguments: Some(prost_types::Struct {
                fields: [("x".to_owned(), number(f64::NAN))].into(),
            }),
            ..v1::ToolCall::default()
        };
        let events = vec![
            said("nul\0"),
            v1::NewEvent::default(),
            v1::NewEvent {
                kind: Some(v1::new_event::Kind::ToolCall(call)),
            },
            said(&"x".repeat(64_001)),
        ];
        let refused = told(server.threads().append_events(append("", events)).await);
        assert_eq!(
            refused.fields,
            [
                "thread_id",
                "events[0].user_message.text",
                "events[1].kind",
                "events[2].tool_call.call_id",
                "events[2].tool_call.arguments",
                "events[3].user_message.text"
            ]
        );
        let none = told(
            server
                .threads()
                .append_events(append(MISSING, Vec::new()))
                .await,
        );
        assert_eq!(none.fields, ["events"]);
    })
    .await;
}

fn number(value: f64) -> prost_types::Value {
    prost_types::Value {
        kind: Some(prost_types::value::Kind::NumberValue(value)),
    }
}

#[tokio::test]
async fn an_unknown_agent_gets_no_thread() {
    with_server(async |server| {
        let refused = told(server.threads().create_thread(pull("nobody")).await);
        assert_eq!(refused.what(), (Code::NotFound, "AGENT_NOT_FOUND"));
        assert_eq!(refused.metadata["agentId"], "nobody");
    })
    .await;
}

#[tokio::test]
async fn a_repeated_create_makes_one_thread_and_shows_it_as_it_is() {
    with_server(async |server| {
        agent(server, "boss").await;
        let once = v1::CreateThreadRequest {
            request_id: Some("r".to_owned()),
            ..pull("boss")
        };
        let first = server.threads().create_thread(once.clone()).await.unwrap();
        let first = first.into_inner();
        let id = first.thread.unwrap().thread_id;
        let events = append(&id, vec![said("hello")]);
        server.threads().append_events(events).await.unwrap();
        let again = server
            .threads()
            .create_thread(once)
            .await
            .unwrap()
            .into_inner();
        let thread = again.thread.unwrap();
        assert!(again.deduplicated && !first.deduplicated);
        assert_eq!((thread.thread_id, thread.last_event_number), (id, 1));
    })
    .await;
}

#[tokio::test]
async fn another_tenants_thread_is_not_found_word_for_word_as_one_that_is_none() {
    with_server(async |server| {
        let theirs = server.in_namespace("theirs");
        agent(&theirs, "boss").await;
        let id = create(&theirs, pull("boss")).await.thread_id;
        let ask = |id: &str| v1::GetThreadRequest {
            thread_id: id.to_owned(),
        };
        let foreign = told(server.threads().get_thread(ask(&id)).await);
        let unknown = told(server.threads().get_thread(ask(MISSING)).await);
        assert_eq!(foreign.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
        assert_eq!(foreign.message.replace(&id, MISSING), unknown.message);
        let refused = [
            told(server.threads().list_events(history(&id, 0, 5)).await),
            told(
                server
                    .threads()
                    .append_events(append(&id, vec![said("x")]))
                    .await,
            ),
        ];
        for refused in refused {
            assert_eq!(refused, foreign);
        }
    })
    .await;
}

#[tokio::test]
async fn a_history_is_numbered_without_gaps_and_read_by_its_numbers() {
    with_server(async |server| {
        agent(server, "boss").await;
        let id = create(server, pull("boss")).await.thread_id;
        for text in ["a", "b"] {
            let events = append(&id, vec![said(text), said(text)]);
            server.threads().append_events(events).await.unwrap();
        }
        let third = append(&id, vec![said("c")]);
        let third = server.threads().append_events(third).await.unwrap();
        let third = third.into_inner();
        assert_eq!((third.first_event_number, third.last_event_number), (5, 5));
        assert!(!third.late && third.signals.is_empty());

        let page = server
            .threads()
            .list_events(history(&id, 1, 2))
            .await
            .unwrap();
        let page = page.into_inner();
        let numbers: Vec<u64> = page.events.iter().map(|event| event.number).collect();
        assert_eq!(
            (numbers, page.has_more, page.last_event_number),
            (vec![2, 3], true, 5)
        );
        let rest = server
            .threads()
            .list_events(history(&id, 3, 500))
            .await
            .unwrap();
        let rest = rest.into_inner();
        assert_eq!((rest.events.len(), rest.has_more), (2, false));
        let beyond = server
            .threads()
            .list_events(history(&id, u64::MAX, 5))
            .await
            .unwrap();
        assert_eq!(beyond.into_inner().events, []);
    })
    .await;
}

#[tokio::test]
async fn each_kind_of_event_comes_back_as_it_went_in() {
    use v1::event::Kind as Stored;
    use v1::new_event::Kind;

    with_server(async |server| {
        agent(server, "boss").await;
        let id = create(server, pull("boss")).await.thread_id;
        let data = prost_types::Struct {
            fields: [("x".to_owned(), number(1.5)), ("y".to_owned(), number(7.0))].into(),
        };
        let answer = v1::AssistantMessage {
            text: "answer".to_owned(),
        };
        let call = v1::ToolCall {
            call_id: "c1".to_owned(),
            name: "search".to_owned(),
            arguments: None,
        };
        let result = v1::ToolResult {
            call_id: "c1".to_owned(),
            text: String::new(),
            data: Some(data.clone()),
            is_error: true,
        };
        let checkpoint = v1::NewCheckpoint {
            data: Some(data.clone()),
        };
        let kinds = [
            Kind::AssistantMessage(answer.clone()),
            Kind::ToolCall(call.clone()),
            Kind::ToolResult(result.clone()),
            Kind::Checkpoint(checkpoint),
        ];
        let events = kinds
            .into_iter()
            .map(|kind| v1::NewEvent { kind: Some(kind) });
        server
            .threads()
            .append_events(append(&id, events.collect()))
            .await
            .unwrap();
        let page = server
            .threads()
            .list_events(history(&id, 0, 9))
            .await
            .unwrap();
        let events = page.into_inner().events.into_iter();
        let stored: Vec<Stored> = events.map(|event| event.kind.unwrap()).collect();
        let expected = [
            Stored::AssistantMessage(answer),
            Stored::ToolCall(call),
            Stored::ToolResult(result),
            Stored::Checkpoint(v1::Checkpoint {
                data: Some(data),
                open_handoff_ids: Vec::new(),
            }),
        ];
        assert_eq!(stored, expected);
    })
    .await;
}

#[tokio::test]
async fn a_repeated_append_writes_once() {
    with_server(async |server| {
        agent(server, "boss").await;
        let id = create(server, pull("boss")).await.thread_id;
        let once = v1::AppendEventsRequest {
            request_id: Some("r".to_owned()),
            ..append(&id, vec![said("a"), said("b")])
        };
        let first = server.threads().append_events(once.clone()).await.unwrap();
        let again = server.threads().append_events(once.clone()).await.unwrap();
        let (first, again) = (first.into_inner(), again.into_inner());
        assert!(again.deduplicated);
        assert_eq!(again.last_event_number, first.last_event_number);
        let other = v1::AppendEventsRequest {
            events: vec![said("a")],
            ..once
        };
        let refused = told(server.threads().append_events(other).await);
        assert_eq!(
            refused.what(),
            (Code::AlreadyExists, "IDEMPOTENCY_CONFLICT")
        );
        assert_eq!(get(server, &id).await.last_event_number, 2);
    })
    .await;
}

#[tokio::test]
async fn a_runtime_thread_is_written_under_a_turn_only() {
    with_server(async |server| {
        agent(server, "boss").await;
        let runtime = v1::CreateThreadRequest {
            drive: v1::ThreadDrive::Runtime as i32,
            ..pull("boss")
        };
        let id = create(server, runtime).await.thread_id;
        let refused = told(
            server
                .threads()
                .append_events(append(&id, vec![said("x")]))
                .await,
        );
        assert_eq!(refused.what(), (Code::FailedPrecondition, "TURN_REQUIRED"));
        let unknown = v1::AppendEventsRequest {
            turn: Some(v1::TurnRef {
                turn_id: MISSING.replace("thr", "trn"),
                token: 1,
            }),
            ..append("", vec![said("x")])
        };
        let refused = told(server.threads().append_events(unknown).await);
        assert_eq!(refused.what(), (Code::NotFound, "TURN_NOT_FOUND"));
    })
    .await;
}

#[tokio::test]
async fn lists_show_what_was_asked_for_and_double_and_skip_none() {
    with_server(async |server| {
        agent(server, "boss").await;
        agent(server, "other").await;
        let mut mine = BTreeSet::new();
        for at in 0..7 {
            let owner = if at == 3 { "other" } else { "boss" };
            let request = v1::CreateThreadRequest {
                show_in_thread_list: (at == 4).then_some(false),
                visibility: i32::from(at == 5) * v1::Visibility::Hidden as i32,
                ..pull(owner)
            };
            let thread = create(server, request).await;
            if owner == "boss" && at < 4 || at == 6 {
                mine.insert(thread.thread_id);
            }
        }
        let ask = |page_token: String| v1::ListThreadsRequest {
            agent_id: "boss".to_owned(),
            page_size: Some(2),
            page_token,
            ..v1::ListThreadsRequest::default()
        };
        let mut seen = Vec::new();
        let mut page_token = String::new();
        loop {
            let page = server
                .threads()
                .list_threads(ask(page_token))
                .await
                .unwrap();
            let page = page.into_inner();
            seen.extend(page.threads.into_iter().map(|thread| thread.thread_id));
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        assert_eq!(seen, mine.into_iter().collect::<Vec<_>>(), "oldest first");
        let all = v1::ListThreadsRequest {
            include_hidden: true,
            include_unlisted: true,
            ..v1::ListThreadsRequest::default()
        };
        let all = server
            .threads()
            .list_threads(all)
            .await
            .unwrap()
            .into_inner();
        assert_eq!((all.threads.len(), all.next_page_token.as_str()), (7, ""));
    })
    .await;
}

#[tokio::test]
async fn a_filter_that_names_nothing_is_refused_and_a_token_keeps_its_filters() {
    with_server(async |server| {
        agent(server, "boss").await;
        for _ in 0..2 {
            create(server, pull("boss")).await;
        }
        let of_agent = |id: &str| v1::ListThreadsRequest {
            agent_id: id.to_owned(),
            page_size: Some(1),
            ..v1::ListThreadsRequest::default()
        };
        let refused = told(server.threads().list_threads(of_agent("nobody")).await);
        assert_eq!(refused.what(), (Code::NotFound, "AGENT_NOT_FOUND"));
        let of_parent = v1::ListThreadsRequest {
            parent_thread_id: MISSING.to_owned(),
            ..v1::ListThreadsRequest::default()
        };
        let refused = told(server.threads().list_threads(of_parent).await);
        assert_eq!(refused.what(), (Code::NotFound, "THREAD_NOT_FOUND"));

        let page = server
            .threads()
            .list_threads(of_agent("boss"))
            .await
            .unwrap();
        let other_filter = v1::ListThreadsRequest {
            include_hidden: true,
            page_token: page.into_inner().next_page_token,
            ..of_agent("boss")
        };
        let refused = told(server.threads().list_threads(other_filter).await);
        assert_eq!(
            refused.what(),
            (Code::InvalidArgument, "PAGE_TOKEN_INVALID")
        );
    })
    .await;
}

#[tokio::test]
async fn free_form_json_may_be_as_deep_as_the_limit_and_no_deeper() {
    with_server(async |server| {
        agent(server, "boss").await;
        let id = create(server, pull("boss")).await.thread_id;
        let deep = |levels: usize| {
            let inner = (1..levels).fold(prost_types::Struct::default(), |inner, _| {
                let kind = prost_types::value::Kind::StructValue(inner);
                let value = prost_types::Value { kind: Some(kind) };
                prost_types::Struct {
                    fields: [("x".to_owned(), value)].into(),
                }
            });
            let call = v1::ToolCall {
                call_id: "c".to_owned(),
                name: "n".to_owned(),
                arguments: Some(inner),
            };
            let kind = Some(v1::new_event::Kind::ToolCall(call));
            append(&id, vec![v1::NewEvent { kind }])
        };
        server.threads().append_events(deep(32)).await.unwrap();
        for levels in [33, 40, 1_000] {
            let refused = told(server.threads().append_events(deep(levels)).await);
            assert_eq!(refused.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        }
    })
    .await;
}
