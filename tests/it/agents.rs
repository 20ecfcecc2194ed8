//! AgentService, by what it promises.

use std::time::Duration;

use handoffd::proto::v1;
use tonic::Code;

use crate::support::{Clients, told, with_server};

fn put(agent_id: &str) -> v1::PutAgentRequest {
    v1::PutAgentRequest {
        agent_id: agent_id.to_owned(),
        ..v1::PutAgentRequest::default()
    }
}

async fn put_all(clients: &Clients, ids: &[&str]) {
    for id in ids {
        clients.agents().put_agent(put(id)).await.unwrap();
    }
}

async fn get(clients: &Clients, id: &str) -> v1::Agent {
    let request = v1::GetAgentRequest {
        agent_id: id.to_owned(),
    };
    let answer = clients.agents().get_agent(request).await.unwrap();
    answer.into_inner().agent.unwrap()
}

#[tokio::test]
async fn a_put_replaces_the_settings_as_a_whole_and_never_the_state() {
    with_server(async |server| {
        let full = v1::PutAgentRequest {
            display_name: "Wörker".to_owned(),
            description: "does it".to_owned(),
            max_concurrent_turns: Some(0),
            handoff_policy: Some(v1::HandoffPolicy {
                accepts_handoffs: v1::AcceptHandoffs::Refuse as i32,
            }),
            default_on_turn_lost: v1::OnTurnLost::Fail as i32,
            ..put("worker")
        };
        let first = server.agents().put_agent(full.clone()).await.unwrap();
        let first = first.into_inner().agent.unwrap();
        assert_eq!(first.state(), v1::AgentState::Active);
        assert_eq!(first.max_concurrent_turns, Some(0));
        assert_eq!(first.display_name, "Wörker");
        assert_eq!(first.default_on_turn_lost(), v1::OnTurnLost::Fail);

        server.clock.advance(Duration::from_secs(5)).await;
        server.agents().put_agent(full).await.unwrap();
        assert_eq!(
            get(server, "worker").await,
            first,
            "an unchanged put changes nothing"
        );

        let off = v1::SetAgentStateRequest {
            agent_id: "worker".to_owned(),
            state: v1::AgentState::Deactivated as i32,
            request_id: None,
        };
        server.agents().set_agent_state(off).await.unwrap();
        let second = server.agents().put_agent(put("worker")).await.unwrap();
        let second = second.into_inner().agent.unwrap();
        assert_eq!(second.state(), v1::AgentState::Deactivated);
        assert_eq!(second.max_concurrent_turns, None);
        assert_eq!(second.handoff_policy, Some(v1::HandoffPolicy::default()));
        assert_eq!(second.display_name, "");
        assert_eq!(second.create_time, first.create_time);
        assert_ne!(second.update_time, first.update_time);
    })
    .await;
}

#[tokio::test]
async fn everything_that_is_wrong_is_told_at_once() {
    with_server(async |server| {
        let wrong = v1::PutAgentRequest {
            agent_id: "a\nb".to_owned(),
            display_name: "n".repeat(201),
            description: "nul\0".to_owned(),
            max_concurrent_turns: Some(1_000_001),
            handoff_policy: Some(v1::HandoffPolicy {
                accepts_handoffs: 9,
            }),
            default_on_turn_lost: 9,
            request_id: Some(String::new()),
            ..v1::PutAgentRequest::default()
        };
        let told = told(server.agents().put_agent(wrong).await);
        assert_eq!(told.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        assert_eq!(
            told.fields,
            [
                "request_id",
                "handoff_policy.accepts_handoffs",
                "max_concurrent_turns",
                "agent_id",
                "display_name",
                "description",
                "default_on_turn_lost"
            ]
        );
    })
    .await;
}

#[tokio::test]
async fn a_request_id_gives_one_effect_and_one_answer() {
    with_server(async |server| {
        let once = v1::PutAgentRequest {
            request_id: Some("r".to_owned()),
            ..put("worker")
        };
        let first = server.agents().put_agent(once.clone()).await.unwrap();
        let first = first.into_inner();
        assert!(!first.deduplicated);
        let second = server.second().await;
        let again = second.agents().put_agent(once.clone()).await.unwrap();
        let again = again.into_inner();
        assert!(again.deduplicated);
        assert_eq!(again.agent, first.agent);

        let other = v1::PutAgentRequest {
            description: "secret".to_owned(),
            ..once.clone()
        };
        let conflict = (Code::AlreadyExists, "IDEMPOTENCY_CONFLICT");
        let refused = told(server.agents().put_agent(other).await);
        assert_eq!(refused.what(), conflict);
        assert!(!refused.message.contains("secret"));
        let other_method = v1::SetAgentStateRequest {
            agent_id: "worker".to_owned(),
            state: v1::AgentState::Active as i32,
            request_id: once.request_id.clone(),
        };
        let refused = told(server.agents().set_agent_state(other_method).await);
        assert_eq!(refused.what(), conflict);

        let elsewhere = server.in_namespace("elsewhere");
        let fresh = elsewhere.agents().put_agent(once).await.unwrap();
        assert!(
            !fresh.into_inner().deduplicated,
            "its scope is the namespace"
        );
    })
    .await;
}

#[tokio::test]
async fn only_a_committed_answer_binds_a_request_id() {
    with_server(async |server| {
        let state = |agent_id: &str| v1::SetAgentStateRequest {
            agent_id: agent_id.to_owned(),
            state: v1::AgentState::Deactivated as i32,
            request_id: Some("r".to_owned()),
        };
        let refused = told(server.agents().set_agent_state(state("nobody")).await);
        assert_eq!(refused.what(), (Code::NotFound, "AGENT_NOT_FOUND"));
        put_all(server, &["nobody"]).await;
        let judged = server.agents().set_agent_state(state("nobody")).await;
        let judged = judged.unwrap().into_inner();
        assert!(!judged.deduplicated);
        assert_eq!(judged.agent.unwrap().state(), v1::AgentState::Deactivated);
    })
    .await;
}

#[tokio::test]
async fn another_tenants_agent_is_not_found_word_for_word_as_one_that_is_none() {
    with_server(async |server| {
        put_all(&server.in_namespace("theirs"), &["worker"]).await;
        let ask = v1::GetAgentRequest {
            agent_id: "worker".to_owned(),
        };
        let foreign = told(server.agents().get_agent(ask.clone()).await);
        let unknown = told(server.in_namespace("nowhere").agents().get_agent(ask).await);
        assert_eq!(foreign.what(), (Code::NotFound, "AGENT_NOT_FOUND"));
        assert_eq!(foreign, unknown);
        let all = v1::ListAgentsRequest::default;
        let mine = server.agents().list_agents(all()).await.unwrap();
        assert_eq!(mine.into_inner().agents, []);

        let nameless = server.in_namespace("Not A Name");
        let refused = nameless.agents().list_agents(all()).await;
        let what = (Code::InvalidArgument, "NAMESPACE_INVALID");
        assert_eq!(told(refused).what(), what);
    })
    .await;
}

#[tokio::test]
async fn a_call_that_names_two_namespaces_is_refused_whichever_comes_first() {
    with_server(async |server| {
        put_all(&server.in_namespace("theirs"), &["worker"]).await;
        for names in [["theirs", "mine"], ["mine", "theirs"], ["theirs", "theirs"]] {
            let mut request = tonic::Request::new(v1::ListAgentsRequest::default());
            for name in names {
                let name = name.parse().unwrap();
                request.metadata_mut().append("handoffd-namespace", name);
            }
            let refused = told(server.agents().list_agents(request).await);
            let what = (Code::InvalidArgument, "NAMESPACE_INVALID");
            assert_eq!(refused.what(), what);
            assert!(refused.message.contains("more than once"), "{refused:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn pages_go_by_the_bytes_of_ids_and_skip_and_double_none() {
    with_server(async |server| {
        put_all(server, &["b", "Ä", "a", "B", "c"]).await;
        let mut seen: Vec<String> = Vec::new();
        let mut page_token = String::new();
        loop {
            let ask = v1::ListAgentsRequest {
                page_size: Some(2),
                page_token: page_token.clone(),
            };
            let page = server.agents().list_agents(ask).await.unwrap().into_inner();
            seen.extend(page.agents.into_iter().map(|agent| agent.agent_id));
            page_token = page.next_page_token;
            // What comes meanwhile behind the cursor is not seen, and moves nothing.
            put_all(server, &["A"]).await;
            if page_token.is_empty() {
                break;
            }
        }
        assert_eq!(seen, ["B", "a", "b", "c", "Ä"]);
    })
    .await;
}

#[tokio::test]
async fn a_page_token_of_another_query_is_refused() {
    with_server(async |server| {
        put_all(server, &["a", "b"]).await;
        put_all(&server.in_namespace("other"), &["a", "b"]).await;
        let ask = |page_token: &str, size| v1::ListAgentsRequest {
            page_size: Some(size),
            page_token: page_token.to_owned(),
        };
        let page = server.agents().list_agents(ask("", 1)).await.unwrap();
        let token = page.into_inner().next_page_token;
        let other = server.in_namespace("other");
        let what = (Code::InvalidArgument, "PAGE_TOKEN_INVALID");
        let foreign = told(other.agents().list_agents(ask(&token, 1)).await);
        assert_eq!(foreign.what(), what);
        assert_eq!(foreign.fields, ["page_token"]);
        let garbage = told(server.agents().list_agents(ask("garbage", 1)).await);
        assert_eq!(garbage.what(), what);
        let with_nul = format!("{}00", &token[..16]);
        let forged = told(server.agents().list_agents(ask(&with_nul, 1)).await);
        assert_eq!(forged.what(), what);
        let resized = server.agents().list_agents(ask(&token, 500)).await.unwrap();
        assert_eq!(resized.into_inner().agents.len(), 1);
        let none = told(server.agents().list_agents(ask("", 0)).await);
        assert_eq!(none.fields, ["page_size"]);
    })
    .await;
}

#[tokio::test]
async fn an_answer_never_exceeds_the_message_limit() {
    with_server(async |server| {
        for at in 0..70 {
            let big = v1::PutAgentRequest {
                description: "𝄞".repeat(16_000),
                ..put(&format!("agent-{at:02}"))
            };
            server.agents().put_agent(big).await.unwrap();
        }
        let ask = v1::ListAgentsRequest {
            page_size: Some(500),
            page_token: String::new(),
        };
        let page = server.agents().list_agents(ask).await.unwrap().into_inner();
        assert!(page.agents.len() < 70);
        let rest = v1::ListAgentsRequest {
            page_size: Some(500),
            page_token: page.next_page_token,
        };
        let rest = server
            .agents()
            .list_agents(rest)
            .await
            .unwrap()
            .into_inner();
        assert_eq!(page.agents.len() + rest.agents.len(), 70);
        assert_eq!(rest.next_page_token, "");
    })
    .await;
}

#[tokio::test]
async fn twenty_puts_of_one_new_agent_make_one() {
    with_server(async |server| {
        let second = server.second().await;
        let puts = (0..20).map(|at| {
            let mut agents = if at % 2 == 0 {
                server.agents()
            } else {
                second.agents()
            };
            async move { agents.put_agent(put("worker")).await }
        });
        let answers = futures_util::future::join_all(puts).await;
        let first = answers[0].as_ref().unwrap().get_ref().agent.clone();
        for answer in answers {
            assert_eq!(answer.unwrap().into_inner().agent, first);
        }
    })
    .await;
}
