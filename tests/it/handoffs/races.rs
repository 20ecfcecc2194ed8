//! Promise 3: a handoff ends once, for everybody.

use std::time::Duration;

use futures_util::future::join;
use handoffd::proto::v1;
use handoffd::workers::JobName;

use super::collections::collected;
use super::scene::{
    acknowledge, asking, boss, cancel, cancelling, hand_off, mail, report, status, stored, timeline,
};
use crate::support::with_server;

const ROUNDS: usize = 40;

/// Cases C1 and C5.
#[tokio::test]
async fn a_report_racing_a_cancel_ends_in_one_status_on_every_reader() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        let mut cancelled = 0;
        for round in 0..ROUNDS {
            let handoff = hand_off(server, asking(&parent)).await;
            let id = &handoff.handoff_id;
            let (sent, told) = if round % 2 == 0 {
                join(
                    report(server, &handoff, "done"),
                    cancel(&second, cancelling(id)),
                )
                .await
            } else {
                let (told, sent) = join(
                    cancel(server, cancelling(id)),
                    report(&second, &handoff, "done"),
                )
                .await;
                (sent, told)
            };
            let (here, there) = join(stored(server, id), stored(&second, id)).await;
            assert_eq!(here, there);
            assert_eq!(
                Some(&here),
                told.handoff.as_ref(),
                "the cancel told the same"
            );
            let lost = here.status() == v1::HandoffStatus::Cancelled;
            cancelled += usize::from(lost);
            assert_eq!(sent.late, lost);
            assert_eq!(told.already_ended, !lost);
            assert!(lost || here.status() == v1::HandoffStatus::Completed);
            assert_eq!(here.report_version, 1);
            let entries = timeline(&second, id).await;
            let ends = entries.iter().filter(|it| it.from != Some(it.to));
            assert_eq!(ends.count(), 2, "created, and ended once: {entries:?}");
            assert_eq!(status(server, id).await.result.is_some(), !lost);
        }
        let mail = mail(server, &parent).await;
        assert_eq!(
            mail.len(),
            ROUNDS + cancelled,
            "each end is told, late reports too"
        );
    })
    .await;
}

/// Case C3.
#[tokio::test]
async fn two_cancels_are_one_transition_and_both_see_the_same_end() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        for _ in 0..ROUNDS {
            let handoff = hand_off(server, asking(&parent)).await;
            let id = &handoff.handoff_id;
            let (one, other) = join(
                cancel(server, cancelling(id)),
                cancel(&second, cancelling(id)),
            )
            .await;
            assert_ne!(one.already_ended, other.already_ended);
            assert_eq!(one.handoff, other.handoff);
            assert_eq!(timeline(server, id).await.len(), 2);
        }
        assert_eq!(mail(server, &parent).await.len(), ROUNDS);
    })
    .await;
}

/// Of an acknowledgement and the end of the collection window one closes the work, for everybody.
#[tokio::test]
async fn an_acknowledgement_racing_the_end_of_the_window_closes_the_work_once() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        for round in 0..ROUNDS {
            let handoff = collected(server, &parent).await;
            let id = &handoff.handoff_id;
            report(server, &handoff, "done").await;
            server.clock.advance(Duration::from_hours(1)).await;
            let swept = if round % 2 == 0 {
                let (swept, acked) = join(
                    second.sweep(JobName::CheckDue),
                    acknowledge(server, &parent, id, 1),
                )
                .await;
                acked.unwrap();
                swept
            } else {
                let (acked, swept) = join(
                    acknowledge(&second, &parent, id, 1),
                    server.sweep(JobName::CheckDue),
                )
                .await;
                acked.unwrap();
                swept
            };
            let (here, there) = join(stored(server, id), stored(&second, id)).await;
            assert_eq!(here, there);
            let expired = here.status() == v1::HandoffStatus::ExpiredUnnotified;
            assert!(expired || here.status() == v1::HandoffStatus::Completed);
            assert_eq!(swept.moved, usize::from(expired));
            let delivered = status(server, id).await.report_delivery();
            assert_eq!(delivered, v1::ReportDelivery::Delivered);
            let entries = timeline(&second, id).await;
            let ends = entries.iter().filter(|it| it.from != Some(it.to));
            assert_eq!(ends.count(), 2, "created, and closed once: {entries:?}");
        }
    })
    .await;
}

/// Case C5, for work whose parent collects the end: who cancels what has finished hears that it has.
#[tokio::test]
async fn a_report_racing_a_cancel_of_collected_work_is_finished_or_cancelled() {
    with_server(async |server| {
        let parent = boss(server).await;
        let second = server.second().await;
        for _ in 0..ROUNDS {
            let handoff = collected(server, &parent).await;
            let id = &handoff.handoff_id;
            let (sent, told) = join(
                report(server, &handoff, "done"),
                cancel(&second, cancelling(id)),
            )
            .await;
            let (here, there) = join(stored(server, id), stored(&second, id)).await;
            assert_eq!(here, there);
            assert_eq!(Some(&here), told.handoff.as_ref());
            let lost = here.status() == v1::HandoffStatus::Cancelled;
            assert_eq!((sent.late, told.already_ended), (lost, !lost));
            assert_eq!(here.close_time.is_some(), lost);
            acknowledge(server, &parent, id, 1).await.unwrap();
            let closed = stored(&second, id).await.status();
            assert_eq!(closed == v1::HandoffStatus::Completed, !lost);
        }
        assert!(mail(server, &parent).await.is_empty());
    })
    .await;
}
