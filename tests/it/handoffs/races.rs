//! Promise 3: a handoff ends once, for everybody.

use futures_util::future::join;
use handoffd::proto::v1;

use super::scene::{
    asking, boss, cancel, cancelling, hand_off, mail, report, status, stored, timeline,
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
