//! The background work, with the time moved by the test: reminders, abandonment, passes that meet.

mod abandonment;
mod cancels;
mod effects;
mod looks;
mod passes;
mod reminders;

use std::time::Duration;

use handoffd::proto::v1;
use handoffd::workers::JobName;

use crate::handoffs::scene::{self, Worker};
use crate::support::TestServer;

const MINUTE: Duration = Duration::from_mins(1);
const HOUR: Duration = Duration::from_hours(1);
const DAY: Duration = Duration::from_hours(24);

/// Moves the time and lets every job look.
async fn pass(server: &TestServer, time: Duration) {
    server.clock.advance(time).await;
    for job in JobName::ALL {
        let report = server.sweep(job).await;
        assert_eq!(report.failed, 0, "{job:?} {report:?}");
    }
}

/// Work whose child had one turn, was told to wait, and is idle since.
async fn idle_child(server: &TestServer) -> (String, Worker, v1::Handoff) {
    let parent = scene::boss(server).await;
    let handoff = scene::hand_off(server, scene::asking(&parent)).await;
    let worker = Worker::register(server, "worker").await;
    let turn = worker.begin().await;
    worker.finish(scene::done(&turn, v1::TurnNext::Wait)).await;
    (parent, worker, handoff)
}

async fn reminders(server: &TestServer, handoff: &v1::Handoff) -> u32 {
    scene::status(server, &handoff.handoff_id)
        .await
        .reminders_sent
}

async fn state(server: &TestServer, handoff: &v1::Handoff) -> v1::HandoffStatus {
    scene::stored(server, &handoff.handoff_id).await.status()
}
