//! What is wrong with a request is told, all at once, and nothing makes the server fail.

use std::time::Duration;

use handoffd::proto::v1;
use tonic::Code;

use crate::support::{told, with_server};

use super::stage::Runtime;

#[tokio::test]
async fn every_wrong_field_is_told_at_once() {
    with_server(async |server| {
        let mut runtimes = server.runtimes();
        let empty = told(
            runtimes
                .register_runtime(v1::RegisterRuntimeRequest::default())
                .await,
        );
        assert_eq!(empty.fields, ["runtime_id"]);
        let empty = told(runtimes.claim_turns(v1::ClaimTurnsRequest::default()).await);
        assert_eq!(empty.fields, ["runtime_id", "incarnation", "agent_ids"]);
        let claim = v1::ClaimTurnsRequest {
            runtime_id: "a\nb".to_owned(),
            incarnation: 1,
            agent_ids: vec!["a".to_owned(), "a".to_owned(), String::new()],
            max_turns: Some(0),
            wait: Some(prost_types::Duration {
                seconds: 301,
                nanos: 0,
            }),
        };
        let wrong = told(runtimes.claim_turns(claim).await);
        assert_eq!(wrong.code, Code::InvalidArgument);
        assert_eq!(
            wrong.fields,
            [
                "runtime_id",
                "agent_ids[1]",
                "agent_ids[2]",
                "max_turns",
                "wait"
            ]
        );
        let empty = told(runtimes.heartbeat(v1::HeartbeatRequest::default()).await);
        assert_eq!(empty.fields, ["runtime_id", "incarnation"]);
        let empty = told(runtimes.finish_turn(v1::FinishTurnRequest::default()).await);
        assert_eq!(empty.fields, ["turn", "outcome"]);
        let empty = told(
            runtimes
                .release_turns(v1::ReleaseTurnsRequest::default())
                .await,
        );
        assert_eq!(empty.fields, ["runtime_id", "incarnation"]);
    })
    .await;
}

#[tokio::test]
async fn fields_that_do_not_go_together_are_refused() {
    with_server(async |server| {
        let turn = Some(v1::TurnRef {
            turn_id: format!("trn_{:032x}", 1),
            token: 1,
        });
        let of = |outcome: v1::TurnOutcome| v1::FinishTurnRequest {
            turn: turn.clone(),
            outcome: outcome as i32,
            ..v1::FinishTurnRequest::default()
        };
        let error = Some(v1::TurnError::default());
        let next = v1::TurnNext::Continue as i32;
        let wake_time = Some(prost_types::Timestamp::default());
        let wrong = [
            (
                v1::FinishTurnRequest {
                    error: error.clone(),
                    ..of(v1::TurnOutcome::Done)
                },
                vec!["error"],
            ),
            (of(v1::TurnOutcome::Failed), vec!["error"]),
            (
                v1::FinishTurnRequest {
                    error,
                    ..of(v1::TurnOutcome::Failed)
                },
                vec!["error.failure_class", "error.summary"],
            ),
            (
                v1::FinishTurnRequest {
                    next,
                    ..of(v1::TurnOutcome::Interrupted)
                },
                vec!["next"],
            ),
            (
                v1::FinishTurnRequest {
                    wake_time,
                    ..of(v1::TurnOutcome::Done)
                },
                vec!["wake_time"],
            ),
            (
                v1::FinishTurnRequest {
                    next: v1::TurnNext::WakeAt as i32,
                    ..of(v1::TurnOutcome::Done)
                },
                vec!["wake_time"],
            ),
        ];
        for (request, fields) in wrong {
            let told = told(server.runtimes().finish_turn(request).await);
            assert_eq!(
                (told.code, told.fields),
                (
                    Code::InvalidArgument,
                    fields.iter().map(|&it| it.to_owned()).collect::<Vec<_>>()
                )
            );
        }
    })
    .await;
}

#[tokio::test]
async fn unknown_and_foreign_ids_are_not_found_and_never_a_defect() {
    with_server(async |server| {
        super::stage::agent(server, "a", None).await;
        let id = super::stage::thread(server, "a").await;
        super::stage::mail(server, &id, "go").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let mine = runtime.begin_one().await;
        let stranger = server.in_namespace("stranger");
        super::stage::agent(&stranger, "a", None).await;
        let foreign = Runtime::register(&stranger, "r", &["a"]).await;
        for round in 0..20_u128 {
            let random = v1::Turn {
                turn_id: format!(
                    "trn_{:032x}",
                    round.wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c)
                ),
                token: u64::MAX,
                ..v1::Turn::default()
            };
            let refused = told(runtime.try_finish(super::stage::done(&random)).await);
            assert_eq!(refused.what(), (Code::NotFound, "TURN_NOT_FOUND"));
            assert!(runtime.release(&[&random]).await.turn_ids.is_empty());
            let beat = runtime.beat(&[&random]).await.remove(0);
            assert_eq!(beat.state(), v1::TurnLeaseState::Unknown);
        }
        // Also after this server met the turn: another tenant learns nothing of it.
        let refused = told(foreign.try_finish(super::stage::done(&mine)).await);
        assert_eq!(refused.what(), (Code::NotFound, "TURN_NOT_FOUND"));
        let note = v1::SendMessageRequest {
            turn: Some(super::stage::turn_ref(&mine)),
            ..super::stage::note(&id, "hello")
        };
        let refused = told(stranger.mailbox().send_message(note).await);
        assert_eq!(refused.what(), (Code::NotFound, "TURN_NOT_FOUND"));
        assert!(!refused.message.contains(&id));
        assert!(foreign.release(&[&mine]).await.turn_ids.is_empty());
        let beat = foreign.beat(&[&mine]).await.remove(0);
        assert_eq!(beat.state(), v1::TurnLeaseState::Unknown);
        let huge = Runtime {
            incarnation: u64::MAX,
            ..runtime.clone()
        };
        let refused = told(huge.try_claim(1, Duration::ZERO).await);
        assert_eq!(refused.what(), (Code::Aborted, "STALE_INCARNATION"));
        assert!(huge.release(&[]).await.turn_ids.is_empty());
    })
    .await;
}
