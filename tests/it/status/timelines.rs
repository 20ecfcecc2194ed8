//! GetHandoffTimeline.

use std::time::Duration;

use handoffd::proto::v1;
use v1::{HandoffStatus, TimelineActorKind, TimelineReason};

use crate::handoffs::scene::{Worker, asking, boss, done, hand_off, reporting, send, timeline};
use crate::support::with_server;

#[tokio::test]
async fn a_timeline_is_numbered_without_gaps_and_says_who_did_what() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        server.clock.advance(Duration::from_secs(1)).await;
        worker.finish(done(&turn, v1::TurnNext::Continue)).await;
        let turn = worker.begin().await;
        let report = v1::SendMessageRequest {
            turn: Some(turn.clone()),
            ..reporting(&handoff, "done")
        };
        send(server, report).await;
        worker.finish(done(&turn, v1::TurnNext::Finished)).await;
        let entries = timeline(server, &handoff.handoff_id).await;
        let numbers: Vec<u64> = entries.iter().map(|it| it.number).collect();
        assert_eq!(numbers, (1..=entries.len() as u64).collect::<Vec<_>>());
        let key = |time: &Option<prost_types::Timestamp>| {
            let time = time.unwrap();
            (time.seconds, time.nanos)
        };
        assert!(entries.is_sorted_by_key(|it| key(&it.time)));
        assert!(entries.iter().all(|it| !it.text.is_empty()));
        assert_eq!(
            (entries[0].from, entries[0].to()),
            (None, HandoffStatus::Started)
        );
        let actor = entries[0].actor.clone().unwrap();
        assert_eq!(actor.kind(), TimelineActorKind::Operator);
        let began = &entries[1];
        assert_eq!(began.reason(), TimelineReason::TurnBegan);
        assert_eq!(
            (began.from(), began.to()),
            (HandoffStatus::Started, HandoffStatus::Running)
        );
        let actor = began.actor.clone().unwrap();
        assert_eq!(
            (actor.kind(), actor.id.as_str()),
            (TimelineActorKind::Runtime, "r1")
        );
        let reported = |it: &&v1::TimelineEntry| it.reason() == TimelineReason::Reported;
        let reported = entries.iter().find(reported).unwrap();
        assert_eq!(
            (reported.report_version, reported.turn_id.clone()),
            (Some(1), turn.turn_id)
        );
        assert_eq!(reported.to(), HandoffStatus::Completed);
        assert_eq!(reported.actor.clone().unwrap().id, handoff.thread_id);

        // In pages it is the same.
        let mut paged = Vec::new();
        loop {
            let request = v1::GetHandoffTimelineRequest {
                handoff_id: handoff.handoff_id.clone(),
                after_number: paged.last().map_or(0, |it: &v1::TimelineEntry| it.number),
                page_size: Some(2),
            };
            let page = server.status().get_handoff_timeline(request).await.unwrap();
            let page = page.into_inner();
            paged.extend(page.entries);
            if !page.has_more {
                break;
            }
        }
        assert_eq!(paged, entries);
        let request = v1::GetHandoffTimelineRequest {
            handoff_id: handoff.handoff_id,
            after_number: u64::MAX,
            page_size: None,
        };
        let page = server.status().get_handoff_timeline(request).await.unwrap();
        assert!(page.into_inner().entries.is_empty());
    })
    .await;
}
