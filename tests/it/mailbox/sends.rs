//! What a sender is told, and what reaches the recipient.

use handoffd::proto::v1::{
    AgentState, MessageDelivery, MessageKind, MessageState, SendMessageRequest,
    SetAgentStateRequest, ThreadDrive,
};
use tonic::Code;

use super::scene::{begin_turn, bodies, note, peek, pull, read, runtime, send, thread, wakes};
use crate::support::{told, with_server};

/// Promise 1: accepted for an idle thread, and a turn is due in the same breath.
#[tokio::test]
async fn a_note_to_an_idle_thread_makes_a_turn_due() {
    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        let sent = send(server, note(&boss, &worker, "hello")).await;
        assert_eq!(sent.delivery(), MessageDelivery::WakeQueued);
        assert_eq!(sent.to_thread_id, worker);
        assert!(sent.message_id.starts_with("msg_"));
        assert!(sent.note.ends_with('.') && !sent.late && !sent.deduplicated);
        assert_eq!(wakes(server).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_pull_thread_gets_no_wake_and_its_mail_waits() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let sent = send(server, note(&boss, &script, "hello")).await;
        assert_eq!(sent.delivery(), MessageDelivery::Waiting);
        assert_eq!(wakes(server).await, 0);
        assert_eq!(bodies(&read(server, &script).await.messages), ["hello"]);
    })
    .await;
}

/// Case B13 in part: ordinary mail for a thread mid-turn tells the turn, and aborts nothing.
#[tokio::test]
async fn a_note_to_a_thread_in_a_turn_is_told_by_a_signal() {
    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        let turn = begin_turn(server, &worker).await;
        let sent = send(server, note(&boss, &worker, "hello")).await;
        assert_eq!(sent.delivery(), MessageDelivery::NoticeQueued);
        assert_eq!(wakes(server).await, 0);
        let request = handoffd::proto::v1::ReadMailRequest {
            turn: Some(turn),
            max_messages: Some(1),
            ..Default::default()
        };
        let answer = super::scene::read_with(server, request).await;
        assert_eq!(bodies(&answer.messages), ["hello"]);
        assert_eq!(answer.messages[0].state(), MessageState::Given);
        assert_eq!(answer.signals, []);
    })
    .await;
}

#[tokio::test]
async fn mail_for_a_deactivated_agent_is_held_and_the_wake_stands() {
    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        let request = SetAgentStateRequest {
            agent_id: "worker".to_owned(),
            state: AgentState::Deactivated as i32,
            ..SetAgentStateRequest::default()
        };
        server.agents().set_agent_state(request).await.unwrap();
        let sent = send(server, note(&boss, &worker, "hello")).await;
        assert_eq!(sent.delivery(), MessageDelivery::Held);
        assert_eq!(wakes(server).await, 1);
    })
    .await;
}

#[tokio::test]
async fn a_quiet_note_wakes_nobody() {
    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        let quiet = SendMessageRequest {
            quiet: true,
            ..note(&boss, &worker, "psst")
        };
        let sent = send(server, quiet).await;
        assert_eq!(sent.delivery(), MessageDelivery::Waiting);
        assert_eq!(wakes(server).await, 0);
        let seen = peek(server, &worker).await;
        assert!(seen.messages[0].quiet);
    })
    .await;
}

#[tokio::test]
async fn a_body_is_kept_byte_for_byte() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let longest = "\u{10FFFF}".repeat(16_000);
        let texts = [
            "crlf\r\nand lf\n and cr\r and tab\t ",
            "שלום עולם \u{202E}abc\u{202C} مرحبا",
            "👩‍👩‍👧‍👦 🏳️‍🌈 e\u{301} é \u{FEFF}\u{200B}",
            "\u{1}\u{7f}\u{1b}[31mred\u{1b}[0m \\u0000 %s ' \" $1 \\",
            " ",
            &longest,
        ];
        for text in texts {
            send(server, note(&boss, &script, text)).await;
        }
        assert_eq!(bodies(&read(server, &script).await.messages), texts);
    })
    .await;
}

#[tokio::test]
async fn what_cannot_be_stored_or_read_is_refused_by_the_name_of_its_field() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let wrong = SendMessageRequest {
            to_thread_id: "thr_1".to_owned(),
            body: "a\0b".to_owned(),
            subject: "two\nlines".to_owned(),
            in_reply_to: script.clone(),
            artifacts: vec![String::new()],
            request_id: Some(String::new()),
            ..note(&boss, &script, "")
        };
        let refused = told(server.mailbox().send_message(wrong).await);
        assert_eq!(refused.what(), (Code::InvalidArgument, "INVALID_FIELD"));
        let fields = [
            "to_thread_id",
            "subject",
            "body",
            "artifacts[0]",
            "in_reply_to",
            "request_id",
        ];
        assert_eq!(refused.fields, fields);
        assert!(!refused.message.contains("a\0b"));

        let long = note(&boss, &script, &"ä".repeat(16_001));
        let refused = told(server.mailbox().send_message(long).await);
        assert_eq!(refused.fields, ["body"]);
        assert_eq!(read(server, &script).await.messages, []);
    })
    .await;
}

#[tokio::test]
async fn kinds_and_what_goes_with_them_are_checked() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let plain = note(&boss, &script, "hello");
        let succeeded = Some(handoffd::proto::v1::Outcome::Succeeded as i32);
        let cases = [
            (kind(&plain, MessageKind::Reminder), "kind"),
            (kind(&plain, MessageKind::Notice), "kind"),
            (
                SendMessageRequest {
                    kind: 5,
                    ..plain.clone()
                },
                "kind",
            ),
            (
                SendMessageRequest {
                    outcome: succeeded,
                    ..plain.clone()
                },
                "outcome",
            ),
            (
                SendMessageRequest {
                    outcome: succeeded,
                    ..kind(&plain, MessageKind::Unspecified)
                },
                "outcome",
            ),
            (
                SendMessageRequest {
                    quiet: true,
                    ..kind(&plain, MessageKind::Report)
                },
                "quiet",
            ),
            (
                SendMessageRequest {
                    from_thread_id: String::new(),
                    ..kind(&plain, MessageKind::Progress)
                },
                "from_thread_id",
            ),
            (
                SendMessageRequest {
                    to_thread_id: String::new(),
                    ..plain.clone()
                },
                "to_thread_id",
            ),
            (
                SendMessageRequest {
                    to_thread_id: String::new(),
                    ..kind(&plain, MessageKind::Unspecified)
                },
                "to_thread_id",
            ),
        ];
        for (request, field) in cases {
            let refused = told(server.mailbox().send_message(request).await);
            assert_eq!(refused.what(), (Code::InvalidArgument, "INVALID_FIELD"));
            assert_eq!(refused.fields, [field]);
        }
        for upward in [MessageKind::Report, MessageKind::Progress] {
            let refused = told(server.mailbox().send_message(kind(&plain, upward)).await);
            assert_eq!(refused.what(), (Code::FailedPrecondition, "NO_HANDOFF"));
        }
    })
    .await;
}

fn kind(request: &SendMessageRequest, kind: MessageKind) -> SendMessageRequest {
    SendMessageRequest {
        kind: kind as i32,
        ..request.clone()
    }
}

#[tokio::test]
async fn mail_to_oneself_to_the_wrong_agent_or_to_nobody_is_refused() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let refused = told(
            server
                .mailbox()
                .send_message(note(&boss, &boss, "me"))
                .await,
        );
        assert_eq!(refused.reason, "MAIL_TO_SELF");

        let wrong = SendMessageRequest {
            to_agent_id: "boss".to_owned(),
            ..note(&boss, &script, "hello")
        };
        let refused = told(server.mailbox().send_message(wrong).await);
        assert_eq!(refused.reason, "WRONG_AGENT");
        let right = SendMessageRequest {
            to_agent_id: "script".to_owned(),
            ..note(&boss, &script, "hello")
        };
        send(server, right).await;

        let nobody = "thr_00000000000070008000000000000000";
        for request in [note(&boss, nobody, "hello"), note(nobody, &boss, "hello")] {
            let refused = told(server.mailbox().send_message(request).await);
            assert_eq!(refused.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
        }
    })
    .await;
}

/// Case I1 and promise 10: a thread of another tenant is as unknown as one that never was.
#[tokio::test]
async fn a_thread_of_another_namespace_does_not_exist() {
    with_server(async |server| {
        let other = server.in_namespace("other");
        let (boss, theirs) = (pull(server, "boss").await, pull(&other, "boss").await);
        let nobody = "thr_00000000000070008000000000000000";
        let foreign = told(
            server
                .mailbox()
                .send_message(note(&boss, &theirs, "x"))
                .await,
        );
        let unknown = told(
            server
                .mailbox()
                .send_message(note(&boss, nobody, "x"))
                .await,
        );
        assert_eq!(foreign.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
        assert_eq!(foreign.message.replace(&theirs, nobody), unknown.message);
        let from = told(
            server
                .mailbox()
                .send_message(note(&theirs, &boss, "x"))
                .await,
        );
        assert_eq!(from.reason, "THREAD_NOT_FOUND");
        let read = told(
            server
                .mailbox()
                .read_mail(super::scene::reading(&theirs))
                .await,
        );
        assert_eq!(read.reason, "THREAD_NOT_FOUND");
        assert_eq!(super::scene::read(&other, &theirs).await.messages, []);
    })
    .await;
}

/// What the server says of a sender is the server's own knowledge.
#[tokio::test]
async fn a_message_carries_its_sender_and_its_age() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        let operators = SendMessageRequest {
            from_thread_id: String::new(),
            ..note(&boss, &script, "from above")
        };
        send(server, operators).await;
        let subject = SendMessageRequest {
            subject: "news".to_owned(),
            in_reply_to: "msg_00000000000070008000000000000001".to_owned(),
            artifacts: vec!["s3://bucket/key".to_owned()],
            ..note(&boss, &script, "from below")
        };
        let sent = send(server, subject).await;
        server
            .clock
            .advance(std::time::Duration::from_millis(90_500))
            .await;
        let mail = read(server, &script).await.messages;
        assert!(mail[0].from_operator && mail[0].from_thread_id.is_empty());
        assert!(mail[0].from_agent_id.is_empty());
        assert!(!mail[1].from_operator);
        assert_eq!(
            (&*mail[1].from_thread_id, &*mail[1].from_agent_id),
            (&*boss, "boss")
        );
        assert_eq!(
            (&*mail[1].to_thread_id, &*mail[1].to_agent_id),
            (&*script, "script")
        );
        assert_eq!((mail[0].mail_number, mail[1].mail_number), (1, 2));
        assert_eq!(mail[1].message_id, sent.message_id);
        assert_eq!(
            (&*mail[1].subject, mail[1].kind()),
            ("news", MessageKind::Note)
        );
        assert_eq!(mail[1].in_reply_to, "msg_00000000000070008000000000000001");
        assert_eq!(mail[1].artifacts, ["s3://bucket/key"]);
        let age = mail[1].age.unwrap();
        assert_eq!((age.seconds, age.nanos), (90, 500_000_000));
        assert_eq!(mail[1].report_version, None);
    })
    .await;
}

/// Order per pair is the order of acceptance, however many send at once.
#[tokio::test]
async fn mail_is_read_in_the_order_it_was_accepted() {
    with_server(async |server| {
        let script = pull(server, "script").await;
        let mut senders = Vec::new();
        for _ in 0..4 {
            senders.push(thread(server, "script", ThreadDrive::Pull).await);
        }
        let script = &script;
        let all = senders.iter().map(async |from| {
            for n in 0..8 {
                send(server, note(from, script, &n.to_string())).await;
            }
        });
        futures_util::future::join_all(all).await;
        let mail = read(server, script).await.messages;
        let numbers: Vec<u64> = mail.iter().map(|it| it.mail_number).collect();
        assert_eq!(numbers, (1..=32).collect::<Vec<u64>>());
        for from in &senders {
            let of_pair = mail.iter().filter(|it| it.from_thread_id == *from);
            let of_pair: Vec<&str> = of_pair.map(|it| it.body.as_str()).collect();
            assert_eq!(of_pair, ["0", "1", "2", "3", "4", "5", "6", "7"]);
        }
    })
    .await;
}
