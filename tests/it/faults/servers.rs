//! A server or a runtime is killed.

use handoffd::proto::v1::{HandoffStatus, TimelineReason};

use super::agents::{self, Orders, WORKER, Work};
use super::parents::{Load, agent};
use super::stage::{Stage, reached};
use super::verdict::{handoffs, timeline};
use crate::support::eventually;

#[tokio::test]
async fn one_of_two_servers_is_killed_and_nothing_is_lost_doubled_or_stuck() {
    let stage = Stage::set(2).await;
    let load = Load::new(4, 18);
    stage
        .under_load(&load, async || {
            reached(&load, 30).await;
            stage.kill(0);
            assert!(!load.is_done(100), "killed under load");
        })
        .await;
}

#[tokio::test]
async fn turns_of_a_killed_runtime_come_back_after_their_lease_and_end_once() {
    let stage = Stage::set(1).await;
    let load = Load::new(2, 4);
    agent(&stage.link, WORKER).await;
    let mut victim = agents::spawn(&stage, "victim", Work::Hold);
    let mut held = Vec::new();
    let play = async {
        eventually("the runtime works on all that is open", async || {
            let all = handoffs(&stage.link).await;
            let running = |it: &_| status(it) == HandoffStatus::Running;
            held = all.into_iter().filter(running).collect();
            held.len() == 8
        })
        .await;
        victim.kill();
        agents::run(&stage.link, &Orders::new("heir", Work::Finish, &[])).await;
    };
    let work = async {
        let parents = load.run(&stage.link).await;
        stage.check(&load, &parents).await;
    };
    tokio::select! {
        () = work => {}
        () = play => panic!("a runtime never ends by itself"),
    }
    assert_eq!(held.len(), 8);
    for handoff in &held {
        let entries = timeline(&stage.link, &handoff.handoff_id).await;
        let lost = entries
            .iter()
            .filter(|entry| entry.reason() == TimelineReason::TurnLost);
        assert_eq!(lost.count(), 1, "{entries:?}");
    }
}

fn status(handoff: &handoffd::proto::v1::HandoffSummary) -> HandoffStatus {
    handoff.status()
}
