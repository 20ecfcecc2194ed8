//! The way to the database is cut or frozen.

use std::time::Duration;

use handoffd::proto::v1::{
    ClaimTurnsRequest, CreateHandoffRequest, CreateThreadRequest, MessageKind, ReadMailRequest,
    RegisterRuntimeRequest, SendMessageRequest, ThreadDrive,
};
use tokio::time::{Instant, interval_at};
use tonic::Code;

use super::agents::{WORKER, seconds};
use super::parents::{Load, agent, thread};
use super::proxy::{Cut, Proxy, Then};
use super::stage::{Stage, reached};
use super::verdict::{handoffs, mailbox};
use crate::support::database::TestDatabase;
use crate::support::told;

/// A stage whose servers reach the database through a proxy.
async fn behind_a_proxy(servers: usize) -> (Stage, Proxy, TestDatabase) {
    let database = TestDatabase::create_empty().await;
    let proxy = Proxy::start(TestDatabase::socket_folder()).await;
    let url = proxy.url(database.name());
    let stage = Stage::set_on(&url, database.url(), servers).await;
    (stage, proxy, database)
}

#[tokio::test]
async fn all_connections_are_cut_under_load_and_nothing_is_lost_doubled_or_stuck() {
    let (stage, proxy, _database) = behind_a_proxy(2).await;
    let load = Load::new(4, 15);
    stage
        .under_load(&load, async || {
            for percent in [20, 40, 60] {
                reached(&load, percent).await;
                proxy.cut();
            }
        })
        .await;
    stage.all_live();
}

#[tokio::test]
async fn the_way_freezes_for_three_seconds_and_nothing_is_lost_doubled_or_stuck() {
    let (stage, proxy, _database) = behind_a_proxy(2).await;
    let load = Load::new(4, 9);
    stage
        .under_load(&load, async || {
            reached(&load, 30).await;
            proxy.freeze(true);
            let span = Duration::from_secs(3);
            interval_at(Instant::now() + span, span).tick().await;
            assert!(!load.is_done(100), "frozen under load");
            proxy.freeze(false);
        })
        .await;
    stage.all_live();
}

/// A COMMIT that is cut on either side: the database can still be asked what became of it.
#[tokio::test]
async fn a_call_whose_commit_is_cut_is_answered_and_has_one_effect() {
    let (stage, proxy, _database) = behind_a_proxy(1).await;
    let link = &stage.link;
    agent(link, WORKER).await;
    let to = thread(link, WORKER).await;
    for cut in [Cut::BeforeCommit, Cut::AfterCommit] {
        let mail = mailbox(link, &to).await.len();
        let note = note(&to, &format!("send-{cut:?}"));
        proxy.arm(cut, Then::Open);
        let sent = link.server(0).mailbox().send_message(note.clone()).await;
        assert!(!proxy.is_armed(), "no COMMIT came by");
        let sent = sent.unwrap().into_inner();
        assert!(!sent.deduplicated);
        let again = link.server(0).mailbox().send_message(note).await.unwrap();
        assert_eq!(again.into_inner().message_id, sent.message_id);
        assert_eq!(mailbox(link, &to).await.len(), mail + 1);

        let before = handoffs(link).await.len();
        let create = CreateHandoffRequest {
            parent_thread_id: to.clone(),
            task: "square 2".to_owned(),
            request_id: Some(format!("create-{cut:?}")),
            ..CreateHandoffRequest::default()
        };
        proxy.arm(cut, Then::Open);
        let created = link.server(0).handoffs().create_handoff(create).await;
        assert!(!proxy.is_armed(), "no COMMIT came by");
        let created = created.unwrap().into_inner();
        assert!(!created.deduplicated);
        assert_eq!(handoffs(link).await.len(), before + 1);
    }
    stage.all_live();
}

/// The database cannot be asked either: the call says that nobody knows, and its repeat finds out.
#[tokio::test]
async fn a_commit_that_nobody_can_ask_about_is_told_so_and_repeats_with_one_effect() {
    for (cut, happened) in [(Cut::BeforeCommit, false), (Cut::AfterCommit, true)] {
        let (stage, proxy, _database) = behind_a_proxy(1).await;
        let link = &stage.link;
        agent(link, WORKER).await;
        let to = thread(link, WORKER).await;
        let note = note(&to, "send");
        proxy.arm(cut, Then::Frozen);
        let lost = link.server(0).mailbox().send_message(note.clone()).await;
        assert!(!proxy.is_armed(), "no COMMIT came by");
        let told = told(lost);
        assert_eq!(told.what(), (Code::Unavailable, "OUTCOME_UNKNOWN"));
        proxy.freeze(false);
        let sent = link.server(0).mailbox().send_message(note).await.unwrap();
        assert_eq!(sent.into_inner().deduplicated, happened);
        assert_eq!(mailbox(link, &to).await.len(), 1);
        stage.all_live();
    }
}

#[tokio::test]
async fn mail_consumed_by_a_read_whose_commit_is_cut_is_answered() {
    let (stage, proxy, _database) = behind_a_proxy(1).await;
    let link = &stage.link;
    agent(link, WORKER).await;
    let to = thread(link, WORKER).await;
    let note = note(&to, "once");
    link.server(0).mailbox().send_message(note).await.unwrap();
    let read = ReadMailRequest {
        thread_id: to,
        wait: Some(seconds(1)),
        request_id: Some("read".to_owned()),
        ..ReadMailRequest::default()
    };
    proxy.arm(Cut::AfterCommit, Then::Open);
    for again in [false, true] {
        let read = link.server(0).mailbox().read_mail(read.clone()).await;
        let read = read.unwrap().into_inner();
        assert_eq!(read.deduplicated, again);
        assert_eq!(read.messages[0].body, "once");
    }
    assert!(!proxy.is_armed(), "no COMMIT came by");
}

#[tokio::test]
async fn turns_of_a_claim_whose_commit_is_cut_are_answered() {
    let (stage, proxy, _database) = behind_a_proxy(1).await;
    let link = &stage.link;
    agent(link, WORKER).await;
    let server = link.server(0);
    let register = RegisterRuntimeRequest {
        runtime_id: "runtime".to_owned(),
        ..RegisterRuntimeRequest::default()
    };
    let registered = server.runtimes().register_runtime(register).await.unwrap();
    let claim = ClaimTurnsRequest {
        runtime_id: "runtime".to_owned(),
        incarnation: registered.into_inner().incarnation,
        agent_ids: vec![WORKER.to_owned()],
        max_turns: Some(1),
        wait: Some(seconds(2)),
    };
    // The first claim commits another thing: that this runtime asks for turns.
    server.runtimes().claim_turns(claim.clone()).await.unwrap();
    for cut in [Cut::BeforeCommit, Cut::AfterCommit] {
        let create = CreateThreadRequest {
            agent_id: WORKER.to_owned(),
            drive: ThreadDrive::Runtime.into(),
            ..CreateThreadRequest::default()
        };
        let created = server.threads().create_thread(create).await.unwrap();
        let to = created.into_inner().thread.unwrap().thread_id;
        let note = note(&to, &format!("{cut:?}"));
        server.mailbox().send_message(note).await.unwrap();
        proxy.arm(cut, Then::Open);
        let claimed = server.runtimes().claim_turns(claim.clone()).await;
        assert!(!proxy.is_armed(), "no COMMIT came by");
        assert_eq!(claimed.unwrap().into_inner().turns[0].thread_id, to);
    }
}

/// A note to `thread` whose body is its request id.
fn note(thread: &str, request_id: &str) -> SendMessageRequest {
    SendMessageRequest {
        to_thread_id: thread.to_owned(),
        kind: MessageKind::Note.into(),
        body: request_id.to_owned(),
        request_id: Some(request_id.to_owned()),
        ..SendMessageRequest::default()
    }
}
