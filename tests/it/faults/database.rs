//! The database restarts, or ends the connection that listens.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::time::{Duration, Instant};

use futures_util::future::join3;
use handoffd::devdb::{Cluster, ClusterOptions, Folder};
use handoffd::proto::v1::{
    ClaimTurnsRequest, CreateHandoffRequest, MessageKind, ReadMailRequest, RegisterRuntimeRequest,
    SendMessageRequest,
};
use rustix::process::{Pid, Signal, kill_process};

use super::agents::{WORKER, seconds};
use super::parents::{Load, agent, thread};
use super::stage::{Stage, reached};
use crate::support::{eventually, log};

/// Twice the polling interval of the servers: far below the waits that are made.
const POLLED: Duration = Duration::from_secs(4);

#[tokio::test]
async fn the_database_crashes_under_load_and_nothing_is_lost_doubled_or_stuck() {
    log::expect("PostgreSQL ended by itself");
    let folder = tempfile::tempdir().unwrap();
    // Whoever runs PostgreSQL has to get in.
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    let options = ClusterOptions {
        folder: Folder::Kept(folder.path().join("db")),
        ..ClusterOptions::for_tests()
    };
    let cluster = Cluster::start(options.clone()).await.unwrap();
    cluster.create_database("handoffd").await.unwrap();
    let url = cluster.url("handoffd");
    let stage = Stage::set_on(&url, &url, 2).await;
    let load = Load::new(4, 15);
    let mut again = None;
    stage
        .under_load(&load, async || {
            reached(&load, 30).await;
            let postmaster = Pid::from_raw(cluster.pid().try_into().unwrap()).unwrap();
            // An immediate shutdown: no checkpoint, no word to clients, recovery at the next start.
            kill_process(postmaster, Signal::QUIT).unwrap();
            cluster.ended().await;
            again = Some(Cluster::start(options).await.unwrap());
            assert!(!load.is_done(100), "it crashed under load");
        })
        .await;
    stage.all_live();
    stage.pool.close().await;
    drop(stage);
    again.unwrap().stop().await;
}

#[tokio::test]
async fn a_claim_and_a_read_that_wait_outlive_the_listener() {
    let stage = Stage::set(2).await;
    let (link, here, there) = (&stage.link, stage.link.server(0), stage.link.server(1));
    agent(link, WORKER).await;
    let reader = thread(link, WORKER).await;
    let register = RegisterRuntimeRequest {
        runtime_id: "waits".to_owned(),
        ..RegisterRuntimeRequest::default()
    };
    let life = here.runtimes().register_runtime(register).await.unwrap();
    let claim = ClaimTurnsRequest {
        runtime_id: "waits".to_owned(),
        incarnation: life.into_inner().incarnation,
        agent_ids: vec![WORKER.to_owned()],
        wait: Some(seconds(60)),
        ..ClaimTurnsRequest::default()
    };
    let read = ReadMailRequest {
        thread_id: reader.clone(),
        wait: Some(seconds(60)),
        ..ReadMailRequest::default()
    };
    let events = async {
        end_listeners(&stage, 2).await;
        let begin = Instant::now();
        let send = SendMessageRequest {
            to_thread_id: reader.clone(),
            kind: MessageKind::Note.into(),
            body: "are you there?".to_owned(),
            ..SendMessageRequest::default()
        };
        there.mailbox().send_message(send).await.unwrap();
        let create = CreateHandoffRequest {
            task: "square 1".to_owned(),
            target_agent: WORKER.to_owned(),
            ..CreateHandoffRequest::default()
        };
        there.handoffs().create_handoff(create).await.unwrap();
        begin
    };
    let (mut mailbox, mut runtimes) = (here.mailbox(), here.runtimes());
    let claimed = async { (runtimes.claim_turns(claim).await, Instant::now()) };
    let given = async { (mailbox.read_mail(read).await, Instant::now()) };
    let ((claimed, at), (given, then), begin) = join3(claimed, given, events).await;
    assert_eq!(claimed.unwrap().into_inner().turns.len(), 1);
    assert_eq!(
        given.unwrap().into_inner().messages[0].body,
        "are you there?"
    );
    let late = at.max(then).saturating_duration_since(begin);
    assert!(late < POLLED, "answered only after {late:?}");
    stage.all_live();
}

#[tokio::test]
async fn listeners_end_again_and_again_under_load_and_nothing_is_lost_doubled_or_stuck() {
    let stage = Stage::set(2).await;
    let load = Load::new(4, 15);
    stage
        .under_load(&load, async || {
            for percent in [10, 30, 50, 70] {
                reached(&load, percent).await;
                end_listeners(&stage, 1).await;
            }
        })
        .await;
    stage.all_live();
}

/// Ends the connections that listen, at least so many of them.
async fn end_listeners(stage: &Stage, at_least: usize) {
    let end = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE datname = current_database() AND query LIKE 'LISTEN%' AND state = 'idle'";
    let mut ended = 0;
    eventually("listeners are ended", async || {
        let told: Vec<bool> = sqlx::query_scalar(end)
            .fetch_all(&stage.pool)
            .await
            .unwrap();
        ended += told.len();
        ended >= at_least
    })
    .await;
}
