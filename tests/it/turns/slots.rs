//! Slots: how many turns of an agent may live at once.

use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::future::join_all;
use handoffd::proto::v1;

use crate::support::with_server;

use super::stage::{Runtime, agent, done, mail, set_state, thread};

async fn live(pool: &sqlx::PgPool) -> (i64, i64) {
    sqlx::query_as(
        "SELECT (SELECT count(*) FROM turns WHERE end_time IS NULL),
            (SELECT live_turns::bigint FROM agent_slots WHERE agent_id = 'a')",
    )
    .fetch_one(pool)
    .await
    .unwrap()
}

/// Case E1.
#[tokio::test]
async fn racing_claims_never_run_more_turns_than_there_are_slots() {
    with_server(async |server| {
        agent(server, "a", Some(3)).await;
        let other = server.second().await;
        for _ in 0..40 {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
        }
        let mut runtimes = Vec::new();
        for at in 0..8 {
            let clients = if at % 2 == 0 { &**server } else { &**other };
            runtimes.push(Runtime::register(clients, &format!("r{at}"), &["a"]).await);
        }
        let ended = AtomicBool::new(false);
        let work = async {
            let work = runtimes.iter().map(|runtime| async move {
                let (mut done_turns, mut empty) = (0, 0);
                while empty < 20 {
                    let turns = runtime.claim(5).await;
                    empty = if turns.is_empty() { empty + 1 } else { 0 };
                    for turn in turns {
                        runtime.finish(done(&turn)).await;
                        done_turns += 1;
                    }
                }
                done_turns
            });
            let finished: i32 = join_all(work).await.into_iter().sum();
            ended.store(true, Ordering::Relaxed);
            finished
        };
        let samples = async {
            let mut most = 0;
            while !ended.load(Ordering::Relaxed) {
                let (turns, slots) = live(&server.pool).await;
                assert!(turns <= 3, "{turns} turns live");
                assert_eq!(turns, slots);
                most = most.max(turns);
            }
            most
        };
        let (finished, most) = tokio::join!(work, samples);
        assert_eq!(finished, 40);
        assert!(most > 0);
    })
    .await;
}

/// Case E7.
#[tokio::test]
async fn no_slots_is_none_and_unset_is_no_limit() {
    with_server(async |server| {
        agent(server, "a", Some(0)).await;
        for _ in 0..5 {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
        }
        let runtime = Runtime::register(server, "r", &["a"]).await;
        assert!(runtime.claim(10).await.is_empty());
        agent(server, "a", None).await;
        assert_eq!(runtime.claim(10).await.len(), 5);
    })
    .await;
}

#[tokio::test]
async fn a_limit_set_and_lifted_under_live_turns_stays_exact() {
    with_server(async |server| {
        agent(server, "a", Some(2)).await;
        for _ in 0..8 {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
        }
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let held = runtime.claim(10).await;
        assert_eq!(held.len(), 2);
        agent(server, "a", None).await;
        let free = runtime.claim(3).await;
        assert_eq!(free.len(), 3);
        agent(server, "a", Some(3)).await;
        assert_eq!(
            runtime.claim(10).await.len(),
            1,
            "two of three slots are held"
        );
        server.check_invariants().await;
        for turn in free.iter().chain(&held) {
            runtime.finish(done(turn)).await;
        }
        server.check_invariants().await;
        assert_eq!(runtime.claim(10).await.len(), 2);
        assert_eq!(live(&server.pool).await, (3, 3));
    })
    .await;
}

#[tokio::test]
async fn a_deactivated_agent_begins_no_turns_and_goes_on_where_it_was() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let id = thread(server, "a").await;
        mail(server, &id, "go").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.begin_one().await;
        set_state(server, "a", v1::AgentState::Deactivated).await;
        let sent = mail(server, &id, "more").await;
        assert_eq!(runtime.finish(done(&turn)).await.woken, true, "{sent:?}");
        assert!(runtime.claim(1).await.is_empty());
        let held = mail(server, &id, "held").await;
        assert_eq!(held.delivery(), v1::MessageDelivery::Held);

        let waiting = runtime.try_claim(1, std::time::Duration::from_secs(60));
        let (claimed, ()) = tokio::join!(waiting, set_state(server, "a", v1::AgentState::Active),);
        let turns = claimed.unwrap().into_inner().turns;
        assert_eq!(turns[0].mail.len(), 2);
    })
    .await;
}

#[tokio::test]
async fn a_freed_slot_wakes_a_waiting_claim_on_another_server() {
    with_server(async |server| {
        agent(server, "a", Some(1)).await;
        for _ in 0..2 {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
        }
        let other = server.second().await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let far = Runtime::register(&other, "far", &["a"]).await;
        let turn = runtime.begin_one().await;
        let waiting = far.try_claim(1, std::time::Duration::from_secs(60));
        let (claimed, _) = tokio::join!(waiting, runtime.finish(done(&turn)));
        assert_eq!(claimed.unwrap().into_inner().turns.len(), 1);
    })
    .await;
}
