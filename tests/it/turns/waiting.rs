//! Claims that wait beside others: what one of them needs no look of its own for, and what it gets all
//! the same.

use std::time::Duration;

use handoffd::proto::v1::AgentState;
use tonic::Code;

use crate::support::{TestServer, told, with_server};

use super::stage::{Runtime, agent, done, mail, set_state, thread};

/// Longer than any test.
const LONG: Duration = Duration::from_mins(5);

/// Plays `story` while another runtime waits for turns of `idle`, which get nothing to do.
async fn beside_another(server: &TestServer, story: impl AsyncFnOnce()) {
    agent(server, "idle", None).await;
    let other = Runtime::register(server, "other", &["idle"]).await;
    tokio::select! {
        biased;
        answer = other.try_claim(1, LONG) => panic!("the other was answered: {answer:?}"),
        () = story() => {}
    }
}

#[tokio::test]
async fn an_older_life_that_joins_others_is_refused_soon() {
    with_server(async |server| {
        let second = server.second().await;
        beside_another(server, async || {
            let old = Runtime::register(server, "r", &["idle"]).await;
            assert!(old.claim(1).await.is_empty());
            // The server that knows the older life hears nothing of it.
            let new = Runtime::register(&second, "r", &["idle"]).await;
            assert_eq!(new.incarnation, old.incarnation + 1);
            let refused = told(old.try_claim(1, LONG).await);
            assert_eq!(refused.what(), (Code::Aborted, "STALE_INCARNATION"));
        })
        .await;
    })
    .await;
}

#[tokio::test]
async fn a_claim_that_joins_others_gets_what_comes() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let id = thread(server, "a").await;
        let runtime = Runtime::register(server, "r", &["a", "idle"]).await;
        beside_another(server, async || {
            for _ in 0..5 {
                let (claimed, _) =
                    tokio::join!(runtime.try_claim(1, LONG), mail(server, &id, "go"));
                let turns = claimed.unwrap().into_inner().turns;
                assert_eq!(turns[0].thread_id, id);
                runtime.beat(&[&turns[0]]).await;
                runtime.finish(done(&turns[0])).await;
            }
        })
        .await;
    })
    .await;
}

/// A look begins where the last one left nothing older, and what was left for other reasons is found.
#[tokio::test]
async fn work_that_became_old_while_its_agent_could_not_act_is_claimed() {
    with_server(async |server| {
        for (name, slots) in [("off", None), ("full", Some(1))] {
            agent(server, name, slots).await;
            let (first, second) = (thread(server, name).await, thread(server, name).await);
            mail(server, &first, "go").await;
            let runtime = Runtime::register(server, name, &[name]).await;
            let turn = runtime.begin_one().await;
            if slots.is_none() {
                set_state(server, name, AgentState::Deactivated).await;
            }
            mail(server, &second, "go").await;
            let able = async {
                for _ in 0..3 {
                    server.clock.advance(Duration::from_secs(20)).await;
                    runtime.beat(&[&turn]).await;
                    // A look, in which the agent has no room.
                    assert!(runtime.claim(1).await.is_empty());
                }
                runtime.finish(done(&turn)).await;
                set_state(server, name, AgentState::Active).await;
            };
            let waiter = Runtime::register(server, "waiter", &[name]).await;
            let (claimed, ()) = tokio::join!(waiter.try_claim(1, LONG), able);
            assert_eq!(claimed.unwrap().into_inner().turns[0].thread_id, second);
        }
    })
    .await;
}
