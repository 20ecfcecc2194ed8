//! The operator's commands: the real binary in a process of its own, against a real server.

mod command;
mod doctor;
mod operate;
mod scene;

use std::time::Duration;

use handoffd::proto::v1::{ReadMailRequest, SendMessageRequest};
use serde_json::Value;

use crate::support::with_server;
use command::{handoffd, handoffd_at, json, table};
use scene::{agent, hand_off, pull, report};

#[tokio::test]
async fn the_demo_plays_to_its_end_as_often_as_it_is_run() {
    with_server(async |server| {
        for _ in 0..2 {
            let told = table(server, &["demo", "--pace", "0s"]).await;
            assert!(told.contains("is done: \"The sea is calm"), "{told}");
            assert!(told.contains("running -> completed"), "{told}");
        }
        let list = json(server, &["list", "--all"]).await;
        let handoffs = list["handoffs"].as_array().unwrap();
        assert_eq!(handoffs.len(), 4);
        for handoff in handoffs {
            assert_eq!(handoff["status"], "HANDOFF_STATUS_COMPLETED");
            assert_eq!(handoff["report_delivery"], "REPORT_DELIVERY_DELIVERED");
        }
        let agents = json(server, &["agents", "--limit", "3"]).await;
        assert_eq!(agents["agents"].as_array().unwrap().len(), 3);
        assert_ne!(agents["next_page_token"], "");
    })
    .await;
}

#[tokio::test]
async fn what_needs_attention_is_listed_first() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        agent(server, "busy", Some(0)).await;
        agent(server, "absent", None).await;
        let parent = pull(server, "boss").await;
        // It waits for a slot, which is no reason to worry, however long.
        let fine = hand_off(server, &parent, "busy").await.handoff_id;
        let done = hand_off(server, &parent, "absent").await;
        let stalled = hand_off(server, &parent, "absent").await.handoff_id;
        report(server, &done.thread_id, "done").await;
        server.clock.advance(Duration::from_hours(2)).await;

        let list = json(server, &["list"]).await;
        assert_eq!(ids(&list), [stalled.as_str(), &fine]);
        let all = json(server, &["list", "--all"]).await;
        assert_eq!(ids(&all), [stalled.as_str(), &done.handoff_id, &fine]);
        let first = json(server, &["list", "--all", "--limit", "1"]).await;
        assert_eq!(ids(&first), [stalled.as_str()]);
        assert_eq!(first["has_more"], true);
        let shown = table(server, &["list", "--all"]).await;
        let states: Vec<&str> = shown.lines().skip(1).map(state).collect();
        assert_eq!(states, ["stalled", "undelivered", "running"], "{shown}");

        let request = ReadMailRequest {
            thread_id: parent,
            ..ReadMailRequest::default()
        };
        server.mailbox().read_mail(request).await.unwrap();
        let all = json(server, &["list", "--all"]).await;
        assert_eq!(ids(&all), [stalled.as_str(), &fine, &done.handoff_id]);
    })
    .await;
}

#[tokio::test]
async fn a_handoff_is_given_more_time() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        let parent = pull(server, "boss").await;
        let id = hand_off(server, &parent, "boss").await.handoff_id;
        let extend = ["extend", &id, "--deadline", "90m"];
        let told = table(server, &extend).await;
        assert!(told.contains("once a turn begins (version 1)"), "{told}");
        let again = json(server, &extend).await;
        assert_eq!(again["handoff"]["deadline"], "5400s");
        assert_eq!(again["handoff"]["deadline_version"], 2);
        let shown = table(server, &["status", &id]).await;
        assert!(shown.contains("from the first turn (version 2)"), "{shown}");
        let stale = [&extend[..], &["--deadline-version", "1"]].concat();
        let refused = handoffd(server, &stale).await;
        assert_eq!(refused.code, 1);
        assert!(refused.err.contains("STALE_DEADLINE"), "{refused:?}");
    })
    .await;
}

#[tokio::test]
async fn a_handoff_is_shown_cancelled_and_told_about() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        let parent = pull(server, "boss").await;
        let id = hand_off(server, &parent, "boss").await.handoff_id;
        let status = table(server, &["status", &id]).await;
        assert!(status.contains("a runtime that claims turns for `boss`"));

        let refused = handoffd(server, &["cancel", &id]).await;
        assert_eq!(refused.code, 2, "nobody was there to confirm: {refused:?}");
        let cancel = ["cancel", &id, "--yes", "--reason", "no need"];
        let first = json(server, &cancel).await;
        assert_eq!(first["handoff"]["status"], "HANDOFF_STATUS_CANCELLED");
        assert_eq!(first["already_ended"], false);
        let second = table(server, &cancel).await;
        assert!(second.contains("had ended already"), "{second}");

        let results = table(server, &["results", &id]).await;
        assert!(results.contains("cancelled: no need"), "{results}");
        for shown in [results, table(server, &["status", &id]).await] {
            let labels: Vec<&str> = shown
                .lines()
                .filter_map(|it| it.split("  ").next())
                .collect();
            assert!(labels.contains(&"closed"), "{shown}");
            assert!(
                !shown.contains("since"),
                "nothing says since when what: {shown}"
            );
        }
        let timeline = json(server, &["timeline", &id]).await;
        let entries = timeline["entries"].as_array().unwrap();
        assert_eq!(entries[0]["reason"], "TIMELINE_REASON_CREATED");
        assert_eq!(entries[1]["reason"], "TIMELINE_REASON_CANCELLED");
    })
    .await;
}

#[tokio::test]
async fn mail_is_sent_once_for_one_request_id() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        let thread = pull(server, "boss").await;
        let send = ["send", &thread, "--body", "- hello", "--request-id", "one"];
        let first = json(server, &send).await;
        let second = json(server, &send).await;
        assert_eq!(first["message_id"], second["message_id"]);
        assert_eq!(second["deduplicated"], true);
        let mail = json(server, &["mail", &thread, "--state", "unread"]).await;
        assert_eq!(mail["messages"].as_array().unwrap().len(), 1);
        assert_eq!(mail["messages"][0]["from_operator"], true);
    })
    .await;
}

#[tokio::test]
async fn a_body_cannot_drive_the_terminal_nor_show_a_password() {
    with_server(async |server| {
        agent(server, "boss", None).await;
        let thread = pull(server, "boss").await;
        let body = "a\u{1b}[2Jb \u{9b}31mc password=hunter22";
        let request = SendMessageRequest {
            to_thread_id: thread.clone(),
            body: body.to_owned(),
            ..SendMessageRequest::default()
        };
        server.mailbox().send_message(request).await.unwrap();

        let shown = table(server, &["mail", &thread]).await;
        assert!(shown.contains("ab c password=[hidden]"), "{shown}");
        assert!(!shown.contains(|it: char| it != '\n' && it.is_control()));
        let exact = json(server, &["mail", &thread]).await;
        assert_eq!(exact["messages"][0]["body"], body);
    })
    .await;
}

#[tokio::test]
async fn the_exit_code_tells_what_kind_of_failure_it_was() {
    with_server(async |server| {
        let unknown = "hnd_00000000000070008000000000000000";
        for (args, code, told) in [
            (vec!["status", unknown], 3, "(HANDOFF_NOT_FOUND)"),
            (vec!["status", "hnd_1"], 2, "(INVALID_FIELD)"),
            (vec!["list", "--agent", "nobody"], 3, "(AGENT_NOT_FOUND)"),
            (vec!["agents", "--namespace", "A"], 2, "(NAMESPACE_INVALID)"),
            (vec!["agents", "--limit", "0"], 2, "--limit"),
            (vec!["agents", "--address", "https://a"], 2, "https"),
        ] {
            let ran = handoffd(server, &args).await;
            assert_eq!(ran.code, code, "{args:?}: {ran:?}");
            assert!(ran.err.contains(told), "{args:?}: {ran:?}");
            assert_eq!(ran.out, "");
        }
    })
    .await;
    // Nothing listens on the port of discard.
    let ran = handoffd_at("127.0.0.1:9", &["agents"]).await;
    assert_eq!(ran.code, 4, "{ran:?}");
}

fn ids(list: &Value) -> Vec<&str> {
    let handoffs = list["handoffs"].as_array().unwrap();
    let ids = handoffs.iter().map(|it| it["handoff_id"].as_str().unwrap());
    ids.collect()
}

/// The second column of a line.
fn state(line: &str) -> &str {
    line.split_whitespace().nth(1).unwrap_or_default()
}
