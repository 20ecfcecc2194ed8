//! ListStuck and Explain.

use std::time::Duration;

use handoffd::proto::v1;
use handoffd::workers::JobName;
use tonic::Code;
use v1::StuckKind;

use crate::handoffs::scene::{Worker, asking, boss, done, hand_off, set_state, thread};
use crate::support::{Clients, TestServer, told, with_server, with_server_of};
use crate::turns::stage::{self, Runtime};

async fn page(clients: &Clients, request: v1::ListStuckRequest) -> v1::ListStuckResponse {
    let told = clients.operators().list_stuck(request).await;
    told.unwrap().into_inner()
}

async fn stuck(clients: &Clients) -> Vec<v1::StuckItem> {
    page(clients, v1::ListStuckRequest::default()).await.items
}

fn kinds(items: &[v1::StuckItem]) -> Vec<StuckKind> {
    items.iter().map(v1::StuckItem::kind).collect()
}

fn action(item: &v1::StuckItem) -> v1::HintAction {
    item.remedy.clone().unwrap().action()
}

async fn explain(clients: &Clients, id: &str) -> v1::Explanation {
    let request = v1::ExplainRequest {
        handoff_id: id.to_owned(),
    };
    let told = clients.operators().explain(request).await;
    told.unwrap().into_inner().explanation.unwrap()
}

fn to(agent: &str, parent: &str) -> v1::CreateHandoffRequest {
    v1::CreateHandoffRequest {
        target_agent: agent.to_owned(),
        ..asking(parent)
    }
}

/// Case D21: what would stay unnoticed for months is on one list, with the remedy.
#[tokio::test]
async fn what_a_person_should_look_at_is_listed_worst_first_with_what_helps() {
    with_server(async |server| {
        use StuckKind::{NoProgress, Quiet, SlotsShort, Unclaimed};
        use v1::HintAction::{Look, RaiseSlots, StartRuntime};
        let parent = boss(server).await;
        stage::agent(server, "busy", Some(0)).await;
        let quiet = hand_off(server, asking(&parent)).await.handoff_id;
        let worker = Worker::register(server, "worker").await;
        let first = worker.begin().await;
        worker.finish(done(&first, v1::TurnNext::Wait)).await;
        let hanging = hand_off(server, asking(&parent)).await.handoff_id;
        let turn = worker.begin().await;
        let unclaimed = hand_off(server, asking(&parent)).await.handoff_id;
        let full = hand_off(server, to("busy", &parent)).await.handoff_id;
        let full_only = stuck(server).await;
        assert_eq!(kinds(&full_only), [SlotsShort], "the rest is fine so far");
        for _ in 0..90 {
            server.clock.advance(Duration::from_secs(45)).await;
            worker.beat(&turn, None).await;
        }
        let fresh = hand_off(server, asking(&parent)).await.handoff_id;

        let found = stuck(server).await;
        let ids: Vec<&str> = found.iter().map(|it| it.handoff_id.as_str()).collect();
        assert_eq!(ids, [&hanging, &unclaimed, &quiet, &full]);
        assert_eq!(kinds(&found), [NoProgress, Unclaimed, Quiet, SlotsShort]);
        let actions: Vec<v1::HintAction> = found.iter().map(action).collect();
        assert_eq!(actions, [Look, StartRuntime, Look, RaiseSlots]);
        for item in &found {
            assert!(
                item.age.unwrap().seconds > 0 && !item.title.is_empty(),
                "{item:?}"
            );
            let remedy = item.remedy.clone().unwrap();
            assert!(!remedy.text.is_empty(), "{item:?}");
            let alone = explain(server, &item.handoff_id).await.stuck.unwrap();
            assert_eq!(
                (alone.kind, alone.handoff_id),
                (item.kind, item.handoff_id.clone())
            );
        }
        assert_eq!(explain(server, &fresh).await.stuck, None);
        assert_eq!(stuck(&server.in_namespace("other")).await, []);
    })
    .await;
}

#[tokio::test]
async fn stuck_handoffs_are_found_page_by_page_and_none_twice() {
    with_server(async |server| {
        let parent = boss(server).await;
        stage::agent(server, "busy", Some(0)).await;
        let mut made = Vec::new();
        for at in 0..7 {
            let agent = if at % 2 == 0 { "busy" } else { "worker" };
            made.push(hand_off(server, to(agent, &parent)).await.handoff_id);
        }
        let mut request = v1::ListStuckRequest {
            page_size: Some(2),
            ..v1::ListStuckRequest::default()
        };
        let (mut found, mut looked_at) = (Vec::new(), 0);
        loop {
            let page = page(server, request.clone()).await;
            assert!(page.items.len() <= 2);
            found.extend(page.items.into_iter().map(|it| it.handoff_id));
            looked_at += page.looked_at;
            if page.next_page_token.is_empty() {
                break;
            }
            request.page_token = page.next_page_token;
        }
        made.sort();
        let mut expected: Vec<String> = Vec::new();
        for id in made {
            if explain(server, &id).await.stuck.is_some() {
                expected.push(id);
            }
        }
        assert_eq!((found, looked_at), (expected.clone(), 7));
        assert_eq!(expected.len(), 4);
        let wrong = v1::ListStuckRequest {
            page_size: Some(0),
            ..v1::ListStuckRequest::default()
        };
        let wrong = told(server.operators().list_stuck(wrong).await);
        assert_eq!(wrong.fields, ["page_size"]);
    })
    .await;
}

#[tokio::test]
async fn work_that_is_claimed_again_and_again_and_never_begun_is_stuck() {
    with_server(async |server| {
        let parent = boss(server).await;
        let id = hand_off(server, asking(&parent)).await.handoff_id;
        let worker = Worker::register(server, "worker").await;
        // The first server of all finds no mark of life, and gives leases one more time.
        server.sweep(JobName::ExpireLeases).await;
        for _ in 0..9 {
            assert_eq!(worker.claim().await.len(), 1);
            server.clock.advance(Duration::from_secs(11)).await;
            server.sweep(JobName::ExpireLeases).await;
        }
        assert_eq!(stuck(server).await, [], "a poller may be gone for once");
        assert_eq!(worker.claim().await.len(), 1);
        let found = stuck(server).await;
        assert_eq!(kinds(&found), [StuckKind::NeverBegan]);
        assert_eq!(found[0].handoff_id, id);
        assert_eq!(action(&found[0]), v1::HintAction::Look);
    })
    .await;
}

#[tokio::test]
async fn mail_that_is_held_or_was_set_aside_and_effects_put_off_are_stuck() {
    with_server_of(
        |config| config.rules.max_lost_turns = 1,
        async |server| {
            use StuckKind::{EffectPutOff, MailHeld, MailSetAside};
            stage::agent(server, "a", None).await;
            let to = stage::thread(server, "a").await;
            let from = crate::mailbox::pull(server, "writer").await;
            crate::mailbox::send(server, crate::mailbox::note(&from, &to, "read me")).await;
            let runtime = Runtime::register(server, "r", &["a"]).await;
            runtime.begin_one().await;
            stage::lose(server).await;
            put_off(server).await;
            stage::mail(server, &to, "and me").await;
            set_state(server, "a", v1::AgentState::Deactivated).await;

            let found = stuck(server).await;
            let expected = [EffectPutOff, MailHeld, MailSetAside];
            assert_eq!(kinds(&found), expected, "{found:?}");
            assert_eq!(
                (found[0].thread_id.as_str(), found[0].count),
                (from.as_str(), 3)
            );
            assert_eq!((found[1].agent_id.as_str(), found[1].count), ("a", 1));
            assert_eq!(action(&found[1]), v1::HintAction::ActivateAgent);
            assert_eq!(
                (found[2].thread_id.as_str(), found[2].count),
                (to.as_str(), 1)
            );

            set_state(server, "a", v1::AgentState::Active).await;
            server.sweep(JobName::RunEffects).await;
            server.clock.advance(Duration::from_hours(7 * 24 + 1)).await;
            let found = stuck(server).await;
            assert_eq!(kinds(&found), [EffectPutOff], "{found:?}");
            server.clock.advance(Duration::from_hours(1)).await;
            server.sweep(JobName::RunEffects).await;
            assert_eq!(stuck(server).await, []);
        },
    )
    .await;
}

/// As if the database had refused what was left to be done, three times.
async fn put_off(server: &TestServer) {
    let later = "UPDATE deferred_effects SET attempts = 3, due_time = handoffd_now() + interval '7 days 1 h'";
    let rows = sqlx::query(later).execute(&server.pool).await.unwrap();
    assert_eq!(rows.rows_affected(), 1);
}

#[tokio::test]
async fn a_story_follows_what_waits_for_what_down_to_who_holds_everything_up() {
    with_server(async |server| {
        boss(server).await;
        stage::agent(server, "busy", Some(1)).await;
        let root = thread(server, "boss", v1::ThreadDrive::Pull).await;
        let top = hand_off(server, asking(&root)).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        let handing = v1::CreateHandoffRequest {
            turn: Some(turn.clone()),
            ..to("busy", "")
        };
        let holds = hand_off(server, to("busy", &root)).await;
        let busy = Runtime::register(server, "r2", &["busy"]).await;
        let held = busy.begin_one().await;
        let below = hand_off(server, handing).await;
        worker.finish(done(&turn, v1::TurnNext::Wait)).await;

        let story = explain(server, &top.handoff_id).await;
        let chain: Vec<String> = story
            .waits_for
            .iter()
            .map(|it| it.handoff.clone().unwrap().handoff_id)
            .collect();
        assert_eq!(chain, std::slice::from_ref(&below.handoff_id));
        let [holder] = story.slot_holders.as_slice() else {
            panic!("{story:?}");
        };
        assert_eq!(holder.turn_id, held.turn_id);
        assert_eq!(
            (holder.handoff_id.as_str(), holder.runtime_id.as_str()),
            (holds.handoff_id.as_str(), "r2")
        );
        assert!(holder.running && holder.lease_expire_time.is_some());
        assert_eq!(story.thread.clone().unwrap().thread_id, top.thread_id);
        let reasons: Vec<v1::TimelineReason> = story
            .entries
            .iter()
            .map(v1::TimelineEntry::reason)
            .collect();
        assert_eq!(reasons[0], v1::TimelineReason::Created);
        assert!(!story.has_earlier_entries);
        assert_eq!(
            story.snapshot.unwrap().handoff.unwrap().handoff_id,
            top.handoff_id
        );

        let running = explain(server, &holds.handoff_id).await;
        let kinds: Vec<v1::NextStepKind> =
            running.next_steps.iter().map(v1::NextStep::kind).collect();
        assert!(kinds.contains(&v1::NextStepKind::LeaseEnd), "{kinds:?}");
        assert!(running.waits_for.is_empty() && running.slot_holders.is_empty());

        let unknown = v1::ExplainRequest {
            handoff_id: "hnd_00000000000070008000000000000000".to_owned(),
        };
        let unknown = told(server.operators().explain(unknown).await);
        assert_eq!(unknown.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));
    })
    .await;
}
