//! BatchGetHandoffStatus.

use std::collections::BTreeSet;

use handoffd::proto::v1;
use tonic::Code;

use crate::handoffs::scene::{asking, boss, cancel, cancelling, hand_off, report, status};
use crate::support::{Clients, told, with_server};

async fn batch(clients: &Clients, ids: &[&str]) -> v1::BatchGetHandoffStatusResponse {
    let request = v1::BatchGetHandoffStatusRequest {
        handoff_ids: ids.iter().map(|&id| id.to_owned()).collect(),
    };
    let told = clients.status().batch_get_handoff_status(request).await;
    told.unwrap().into_inner()
}

#[tokio::test]
async fn many_are_told_as_one_by_one_and_in_the_order_of_asking() {
    with_server(async |server| {
        let parent = boss(server).await;
        let a = hand_off(server, asking(&parent)).await.handoff_id;
        let b = hand_off(server, asking(&parent)).await;
        let c = hand_off(server, asking(&parent)).await.handoff_id;
        report(server, &b, "done").await;
        cancel(server, cancelling(&c)).await;
        let asked = [c.as_str(), &a, &b.handoff_id, &a];
        let answer = batch(server, &asked).await;
        assert!(answer.remaining_handoff_ids.is_empty());
        assert_eq!(answer.items.len(), asked.len());
        for (item, id) in answer.items.into_iter().zip(asked) {
            assert_eq!(
                (item.handoff_id.as_str(), item.error_message),
                (id, String::new())
            );
            let (mut snapshot, mut alone) = (item.snapshot.unwrap(), status(server, id).await);
            for it in [&mut snapshot, &mut alone] {
                it.evidence.as_mut().unwrap().observe_time = None;
                it.elapsed = None;
                it.progress.as_mut().unwrap().idle = None;
                it.progress.as_mut().unwrap().hint = None;
            }
            assert_eq!(snapshot, alone);
        }
        assert_eq!(
            batch(server, &[]).await,
            v1::BatchGetHandoffStatusResponse::default()
        );
    })
    .await;
}

/// Case I1: an id of another tenant is answered as one that does not exist.
#[tokio::test]
async fn an_unknown_id_fails_nothing_else_and_a_foreign_one_is_told_alike() {
    with_server(async |server| {
        let parent = boss(server).await;
        let known = hand_off(server, asking(&parent)).await.handoff_id;
        let other = server.in_namespace("other");
        let foreign = boss(&other).await;
        let foreign = hand_off(&other, asking(&foreign)).await.handoff_id;
        let unknown = "hnd_00000000000070008000000000000000";
        let answer = batch(server, &[unknown, &known, &foreign]).await;
        let [first, second, third] = answer.items.as_slice() else {
            panic!("{answer:?}");
        };
        assert!(second.snapshot.is_some());
        for (item, id) in [(first, unknown), (third, foreign.as_str())] {
            assert_eq!(item.error_reason(), v1::ErrorReason::HandoffNotFound);
            assert!(item.snapshot.is_none());
            let message = item.error_message.replace(id, "it");
            assert_eq!(message, "no handoff `it`; check the id and the namespace");
        }
    })
    .await;
}

#[tokio::test]
async fn what_does_not_fit_an_answer_is_named_and_told_at_the_next_call() {
    with_server(async |server| {
        let parent = boss(server).await;
        // Each result has 64,000 bytes, so that all of them are more than a message.
        let long = "🦀".repeat(16_000);
        let mut made = Vec::new();
        for _ in 0..60 {
            let handoff = hand_off(server, asking(&parent)).await;
            report(server, &handoff, &long).await;
            made.push(handoff.handoff_id);
        }
        let mut left: Vec<String> = made.clone();
        left.push("hnd_00000000000070008000000000000000".to_owned());
        let (mut calls, mut told_of) = (0, BTreeSet::new());
        while !left.is_empty() {
            let asked: Vec<&str> = left.iter().map(String::as_str).collect();
            let answer = batch(server, &asked).await;
            assert!(answer.remaining_handoff_ids.len() < left.len());
            told_of.extend(answer.items.into_iter().map(|item| item.handoff_id));
            left = answer.remaining_handoff_ids;
            calls += 1;
        }
        assert_eq!((calls, told_of.len()), (2, 61));

        // One that is named again and again fills an answer as well.
        let again = vec![made[0].as_str(); 100];
        let answer = batch(server, &again).await;
        assert!(!answer.remaining_handoff_ids.is_empty() && !answer.items.is_empty());
    })
    .await;
}

#[tokio::test]
async fn malformed_ids_are_told_by_their_place_and_too_many_are_refused() {
    with_server(async |server| {
        let request = v1::BatchGetHandoffStatusRequest {
            handoff_ids: vec!["hnd_1".to_owned(), String::new()],
        };
        let wrong = told(server.status().batch_get_handoff_status(request).await);
        assert_eq!(wrong.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        assert_eq!(wrong.fields, ["handoff_ids[0]", "handoff_ids[1]"]);
        let request = v1::BatchGetHandoffStatusRequest {
            handoff_ids: vec!["hnd_00000000000070008000000000000000".to_owned(); 501],
        };
        let many = told(server.status().batch_get_handoff_status(request).await);
        assert_eq!(many.fields, ["handoff_ids"]);
    })
    .await;
}
