//! The way to the database is cut or frozen.

use std::time::Duration;

use handoffd::proto::v1::{CreateHandoffRequest, MessageKind, ReadMailRequest, SendMessageRequest};
use tokio::time::{Instant, interval_at};
use tonic::{Code, Response, Status};

use super::agents::{WORKER, seconds};
use super::parents::{Load, agent, thread};
use super::proxy::{Point, Proxy};
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

/// The database went on without an answer: not known here, but by the request id.
#[tokio::test]
async fn a_commit_whose_answer_is_lost_is_told_so_and_repeats_with_one_effect() {
    let (stage, proxy, _database) = behind_a_proxy(1).await;
    let link = &stage.link;
    agent(link, WORKER).await;
    let to = thread(link, WORKER).await;
    for (cut, happened) in [(Point::BeforeCommit, false), (Point::AfterCommit, true)] {
        let mail = mailbox(link, &to).await.len();
        let note = SendMessageRequest {
            to_thread_id: to.clone(),
            kind: MessageKind::Note.into(),
            body: format!("{cut:?}"),
            request_id: Some(format!("send-{cut:?}")),
            ..SendMessageRequest::default()
        };
        proxy.arm(cut);
        unknown(
            &proxy,
            link.server(0).mailbox().send_message(note.clone()).await,
        );
        assert_eq!(mailbox(link, &to).await.len(), mail + usize::from(happened));
        let sent = link.server(0).mailbox().send_message(note).await.unwrap();
        assert_eq!(sent.into_inner().deduplicated, happened);
        assert_eq!(mailbox(link, &to).await.len(), mail + 1);

        let before = handoffs(link).await.len();
        let create = CreateHandoffRequest {
            parent_thread_id: to.clone(),
            task: "square 2".to_owned(),
            request_id: Some(format!("create-{cut:?}")),
            ..CreateHandoffRequest::default()
        };
        proxy.arm(cut);
        let mut parents = link.server(0).handoffs();
        unknown(&proxy, parents.create_handoff(create.clone()).await);
        assert_eq!(handoffs(link).await.len(), before + usize::from(happened));
        let created = parents.create_handoff(create).await.unwrap();
        assert_eq!(created.into_inner().deduplicated, happened);
        assert_eq!(handoffs(link).await.len(), before + 1);
    }
    stage.all_live();
}

#[tokio::test]
async fn mail_consumed_by_a_read_whose_answer_is_lost_is_answered_again() {
    let (stage, proxy, _database) = behind_a_proxy(1).await;
    let link = &stage.link;
    agent(link, WORKER).await;
    let to = thread(link, WORKER).await;
    let note = SendMessageRequest {
        to_thread_id: to.clone(),
        kind: MessageKind::Note.into(),
        body: "once".to_owned(),
        ..SendMessageRequest::default()
    };
    link.server(0).mailbox().send_message(note).await.unwrap();
    let read = ReadMailRequest {
        thread_id: to,
        wait: Some(seconds(1)),
        request_id: Some("read".to_owned()),
        ..ReadMailRequest::default()
    };
    proxy.arm(Point::AfterCommit);
    unknown(
        &proxy,
        link.server(0).mailbox().read_mail(read.clone()).await,
    );
    let again = link.server(0).mailbox().read_mail(read).await.unwrap();
    let again = again.into_inner();
    assert!(again.deduplicated);
    assert_eq!(again.messages[0].body, "once");
}

/// The call was cut at its COMMIT, and says so.
fn unknown<T: std::fmt::Debug>(proxy: &Proxy, answer: Result<Response<T>, Status>) {
    assert!(!proxy.is_armed(), "no COMMIT came by");
    let told = told(answer);
    assert_eq!(told.what(), (Code::Unavailable, "OUTCOME_UNKNOWN"));
}
