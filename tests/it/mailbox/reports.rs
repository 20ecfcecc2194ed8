//! Reports as mail: their places, their versions, their acknowledgement.

use handoffd::proto::v1::{
    AckMailRequest, CreateHandoffRequest, MessageDelivery, MessageKind, Outcome, ReportAck,
    SendMessageRequest,
};
use tonic::Code;

use super::scene::{agent, bodies, note, peek, pull, read, send};
use crate::support::{Clients, TestServer, told, with_server};

/// Work that `parent` hands off: the handoff and the child's thread, which has had no turn yet.
async fn hand_off(server: &TestServer, parent: &str) -> (String, String) {
    agent(server, "worker").await;
    let request = CreateHandoffRequest {
        parent_thread_id: parent.to_owned(),
        task: "look".to_owned(),
        target_agent: "worker".to_owned(),
        ..CreateHandoffRequest::default()
    };
    let made = server.handoffs().create_handoff(request).await.unwrap();
    let handoff = made.into_inner().handoff.unwrap();
    (handoff.handoff_id, handoff.thread_id)
}

/// A report by a child to whoever its parent is.
fn report(from: &str, body: &str) -> SendMessageRequest {
    SendMessageRequest {
        kind: MessageKind::Report as i32,
        to_thread_id: String::new(),
        ..note(from, "", body)
    }
}

async fn ack(
    clients: &Clients,
    thread: &str,
    handoff: &str,
    version: u64,
) -> Result<tonic::Response<handoffd::proto::v1::AckMailResponse>, tonic::Status> {
    let request = AckMailRequest {
        thread_id: thread.to_owned(),
        reports: vec![ReportAck {
            handoff_id: handoff.to_owned(),
            version,
        }],
        ..AckMailRequest::default()
    };
    clients.mailbox().ack_mail(request).await
}

/// A talkative child can always still report.
#[tokio::test]
async fn two_places_of_a_window_are_kept_for_reports() {
    with_server(async |server| {
        let boss = pull(server, "boss").await;
        let (_, child) = hand_off(server, &boss).await;
        for n in 0..10 {
            send(server, note(&child, &boss, &n.to_string())).await;
        }
        let refused = told(
            server
                .mailbox()
                .send_message(note(&child, &boss, "x"))
                .await,
        );
        assert_eq!(refused.reason, "PAIR_LIMIT");
        assert!(refused.message.contains("12 within 300 s"), "{refused:?}");
        assert!(
            refused.message.contains("last 2 are kept for a REPORT"),
            "{refused:?}"
        );
        let progress = SendMessageRequest {
            kind: MessageKind::Progress as i32,
            ..report(&child, "almost")
        };
        let refused = told(server.mailbox().send_message(progress).await);
        assert_eq!(refused.reason, "PAIR_LIMIT");

        let first = send(server, report(&child, "done")).await;
        assert!(!first.late);
        let second = send(server, report(&child, "one more thing")).await;
        assert!(second.late && second.note.contains("late"));
        let third = told(server.mailbox().send_message(report(&child, "x")).await);
        assert_eq!(third.what(), (Code::ResourceExhausted, "PAIR_LIMIT"));

        let mail = read(server, &boss).await.messages;
        let (done, late) = (&mail[10], &mail[11]);
        assert_eq!(bodies(&mail[10..]), ["done", "one more thing"]);
        assert_eq!(
            (done.kind(), done.outcome()),
            (MessageKind::Report, Outcome::Succeeded)
        );
        assert_eq!((done.report_version, done.late), (Some(1), false));
        assert_eq!((late.report_version, late.late), (None, true));
    })
    .await;
}

/// A child that names nobody, and no kind, reports; and a report finds room in a full mailbox.
#[tokio::test]
async fn a_child_that_names_nobody_reports_even_to_a_full_mailbox() {
    with_server(async |server| {
        let boss = pull(server, "boss").await;
        let (handoff, child) = hand_off(server, &boss).await;
        super::limits::seed_mail(&server.pool, &boss, 10_000).await;
        let refused = told(
            server
                .mailbox()
                .send_message(note(&child, &boss, "x"))
                .await,
        );
        assert_eq!(refused.reason, "MAILBOX_FULL");
        let unnamed = SendMessageRequest {
            kind: MessageKind::Unspecified as i32,
            ..report(&child, "done")
        };
        let sent = send(server, unnamed).await;
        assert_eq!(sent.delivery(), MessageDelivery::Waiting);
        assert_eq!(sent.to_thread_id, boss);
        ack(server, &boss, &handoff, 1).await.unwrap();
    })
    .await;
}

/// A report that the parent has from elsewhere is taken out of its mailbox by version, and only by the
/// parent.
#[tokio::test]
async fn a_report_is_acknowledged_by_its_version() {
    with_server(async |server| {
        let boss = pull(server, "boss").await;
        let (handoff, child) = hand_off(server, &boss).await;
        send(server, note("", &boss, "before")).await;
        send(server, report(&child, "done")).await;
        send(server, note("", &boss, "after")).await;

        for version in [0, 2] {
            let unknown = told(ack(server, &boss, &handoff, version).await);
            assert_eq!(unknown.reason, "REPORT_VERSION_UNKNOWN");
        }
        let by_child = told(ack(server, &child, &handoff, 1).await);
        assert_eq!(by_child.what(), (Code::PermissionDenied, "NOT_PARENT"));
        let stranger = pull(server, "stranger").await;
        let strangers = told(ack(server, &stranger, &handoff, 1).await);
        assert_eq!(strangers.what(), (Code::NotFound, "HANDOFF_NOT_FOUND"));

        for _ in 0..2 {
            let acked = ack(server, &boss, &handoff, 1).await.unwrap().into_inner();
            assert_eq!((acked.consumed_through, acked.unread_count), (0, 2));
        }
        assert_eq!(
            bodies(&peek(server, &boss).await.messages),
            ["before", "after"]
        );
    })
    .await;
}
