//! Nothing lost, nothing doubled, nothing stuck: read through the API once all is quiet.

use std::collections::{BTreeMap, BTreeSet};

use handoffd::proto::v1::{
    GetHandoffTimelineRequest, HandoffStatus, HandoffSummary, ListHandoffsRequest, ListMailRequest,
    Message, MessageKind, MessageState, TimelineEntry, TimelineReason,
};
use sqlx::PgPool;

use super::link::Link;
use super::parents::{Load, Parent};
use crate::support::{eventually, invariants};

/// Waits until all has ended, and holds it against what must have come of it.
pub(super) async fn check(link: &Link, pool: &PgPool, load: &Load, parents: &[Parent]) {
    nothing_is_left(pool).await;
    let handoffs = handoffs(link).await;
    assert_eq!(handoffs.len(), load.handoffs(), "a task is a handoff");
    for handoff in &handoffs {
        assert_eq!(handoff.status(), HandoffStatus::Completed, "{handoff:?}");
        ended_once(&timeline(link, &handoff.handoff_id).await);
    }
    for parent in parents {
        reports_are_right(parent, &parent.read);
        let kept = mailbox(link, &parent.thread_id).await;
        let consumed = |message: &Message| message.state() == MessageState::Consumed;
        assert!(kept.iter().all(consumed), "unread: {kept:?}");
        reports_are_right(parent, &kept);
    }
    invariants::check(pool).await;
}

/// Waits until nothing is left to do.
async fn nothing_is_left(pool: &PgPool) {
    eventually("all handoffs and turns have ended", async || {
        is_quiet(pool).await
    })
    .await;
}

/// No handoff is open, no turn live, no wake due.
pub(super) async fn is_quiet(pool: &PgPool) -> bool {
    let left = "SELECT (SELECT count(*) FROM handoffs WHERE close_time IS NULL)
        + (SELECT count(*) FROM turns WHERE end_time IS NULL)
        + (SELECT count(*) FROM thread_heads WHERE wake_time IS NOT NULL)";
    // The database may just be coming back.
    sqlx::query_scalar::<_, i64>(left)
        .fetch_one(pool)
        .await
        .is_ok_and(|left| left == 0)
}

/// Of one parent: one report for each of its handoffs, with the right answer, and nothing else.
fn reports_are_right(parent: &Parent, mail: &[Message]) {
    let mut told = BTreeMap::new();
    let mut ids = BTreeSet::new();
    for message in mail {
        assert_eq!(message.kind(), MessageKind::Report, "{message:?}");
        assert!(ids.insert(&message.message_id), "read twice: {message:?}");
        let earlier = told.insert(message.handoff_id.clone(), message.body.clone());
        assert_eq!(earlier, None, "reported twice: {message:?}");
    }
    assert_eq!(told, parent.expected);
}

fn ended_once(entries: &[TimelineEntry]) {
    let reports = entries
        .iter()
        .filter(|entry| entry.reason() == TimelineReason::Reported);
    assert_eq!((ends(entries), reports.count()), (1, 1), "{entries:?}");
}

/// How often a handoff reached a terminal status.
pub(super) fn ends(entries: &[TimelineEntry]) -> usize {
    let open = [HandoffStatus::Started, HandoffStatus::Running];
    let ends = entries
        .iter()
        .filter(|entry| !open.contains(&entry.to()) && entry.from != Some(entry.to));
    ends.count()
}

/// Every handoff, whoever made it.
pub(super) async fn handoffs(link: &Link) -> Vec<HandoffSummary> {
    let mut list = ListHandoffsRequest {
        include_closed: true,
        page_size: Some(200),
        ..ListHandoffsRequest::default()
    };
    let mut all = Vec::new();
    loop {
        let page = link.accepted("handoffs are listed", async |server| {
            server.status().list_handoffs(list.clone()).await
        });
        let page = page.await;
        all.extend(page.handoffs);
        list.page_token = page.next_page_token;
        if list.page_token.is_empty() {
            return all;
        }
    }
}

/// What is known of one handoff.
pub(super) async fn timeline(link: &Link, handoff_id: &str) -> Vec<TimelineEntry> {
    let get = GetHandoffTimelineRequest {
        handoff_id: handoff_id.to_owned(),
        ..GetHandoffTimelineRequest::default()
    };
    let timeline = link.accepted("a timeline is shown", async |server| {
        server.status().get_handoff_timeline(get.clone()).await
    });
    let timeline = timeline.await;
    assert!(!timeline.has_more, "an endless timeline");
    timeline.entries
}

/// All mail of a thread.
pub(super) async fn mailbox(link: &Link, thread_id: &str) -> Vec<Message> {
    let list = ListMailRequest {
        thread_id: thread_id.to_owned(),
        page_size: Some(500),
        ..ListMailRequest::default()
    };
    let page = link.accepted("mail is listed", async |server| {
        server.mailbox().list_mail(list.clone()).await
    });
    page.await.messages
}
