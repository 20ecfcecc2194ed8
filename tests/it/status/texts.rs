//! The texts that status reads: those that an answer carries, and no others.

use handoffd::proto::v1;
use sqlx::Row;
use uuid::Uuid;

use crate::handoffs::scene::{asking, boss, hand_off, report, send};
use crate::mailbox::scene::raw;
use crate::support::{TestServer, with_server};

/// Columns of texts, and which of them `read_status.sql` read for these wishes.
async fn read(server: &TestServer, handoff: Uuid, wanted: [bool; 3]) -> Vec<&'static str> {
    let [progress, result, report] = wanted;
    let row = sqlx::query(include_str!("../../../src/store/sql/read_status.sql"))
        .bind(vec!["default"])
        .bind(vec![handoff])
        .bind(vec![progress])
        .bind(vec![result])
        .bind(vec![report])
        .fetch_one(&server.pool)
        .await
        .unwrap();
    let all = ["latest_progress", "result", "report_subject", "report_body"];
    let read = all.into_iter().filter(|column| {
        let text: Option<String> = row.get(column);
        text.is_some()
    });
    read.collect()
}

#[tokio::test]
async fn a_text_is_read_only_for_an_answer_that_carries_it() {
    with_server(async |server| {
        let parent = boss(server).await;
        let handoff = hand_off(server, asking(&parent)).await;
        let progress = v1::SendMessageRequest {
            from_thread_id: handoff.thread_id.clone(),
            kind: v1::MessageKind::Progress as i32,
            body: "half".to_owned(),
            ..v1::SendMessageRequest::default()
        };
        send(server, progress).await;
        report(server, &handoff, "done").await;
        let id = raw(&handoff.handoff_id);
        let nothing: [&str; 0] = [];
        assert_eq!(read(server, id, [false; 3]).await, nothing);
        assert_eq!(
            read(server, id, [true, true, false]).await,
            ["latest_progress", "result"]
        );
        assert_eq!(
            read(server, id, [true, false, true]).await,
            ["latest_progress", "report_subject", "report_body"]
        );
    })
    .await;
}
