//! ListMail: any mailbox, with the state of each message.

use handoffd::proto::v1::{
    ListMailRequest, ListMailResponse, Message, MessageState, ReadMailRequest,
};
use tonic::Code;

use super::scene::{begin_turn, note, pull, raw, read_with, runtime, send};
use crate::support::{Clients, told, with_server};

async fn list(clients: &Clients, request: ListMailRequest) -> ListMailResponse {
    clients
        .mailbox()
        .list_mail(request)
        .await
        .unwrap()
        .into_inner()
}

fn of(thread: &str) -> ListMailRequest {
    ListMailRequest {
        thread_id: thread.to_owned(),
        ..ListMailRequest::default()
    }
}

#[tokio::test]
async fn each_message_shows_its_state() {
    use MessageState::{Consumed, Given, SetAside, Unread, Withdrawn};

    with_server(async |server| {
        let (boss, worker) = (pull(server, "boss").await, runtime(server, "worker").await);
        for body in ["1", "2", "3", "4", "5", "6"] {
            // No thread sent what is set aside: nobody is to be told.
            let from = if body == "2" { "" } else { &boss };
            send(server, note(from, &worker, body)).await;
        }
        // Taken out of the normal life of mail: no call of mail alone does that.
        for (number, exception) in [(2, "set_aside"), (3, "withdrawn"), (6, "consumed")] {
            sqlx::query(
                "UPDATE messages SET exception = $3::message_exception
                WHERE to_thread_id = $1 AND mail_number = $2",
            )
            .bind(raw(&worker))
            .bind(i64::from(number))
            .bind(exception)
            .execute(&server.pool)
            .await
            .unwrap();
        }
        sqlx::query("UPDATE thread_heads SET waking_unread = 3 WHERE thread_id = $1")
            .bind(raw(&worker))
            .execute(&server.pool)
            .await
            .unwrap();
        let outside = ReadMailRequest {
            max_messages: Some(1),
            ..super::scene::reading(&worker)
        };
        read_with(server, outside).await;
        let turn = begin_turn(server, &worker).await;
        let inside = ReadMailRequest {
            turn: Some(turn),
            max_messages: Some(1),
            ..ReadMailRequest::default()
        };
        read_with(server, inside).await;

        let all = list(server, of(&worker)).await;
        let states: Vec<MessageState> = all.messages.iter().map(Message::state).collect();
        assert_eq!(
            states,
            [Consumed, SetAside, Withdrawn, Given, Unread, Consumed]
        );
        assert_eq!((all.given_through, all.consumed_through), (4, 1));
        for (state, numbers) in [
            (Consumed, vec![1, 6]),
            (SetAside, vec![2]),
            (Withdrawn, vec![3]),
            (Given, vec![4]),
            (Unread, vec![5]),
        ] {
            let of_state = ListMailRequest {
                states: vec![state as i32],
                ..of(&worker)
            };
            let found = list(server, of_state).await.messages;
            let found: Vec<u64> = found.iter().map(|it| it.mail_number).collect();
            assert_eq!(found, numbers, "{state:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn pages_follow_each_other_without_gap_or_repeat() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        for n in 0..7 {
            send(server, note(&boss, &script, &n.to_string())).await;
        }
        let mut numbers = Vec::new();
        let mut page_token = String::new();
        loop {
            let page = ListMailRequest {
                page_size: Some(3),
                page_token,
                ..of(&script)
            };
            let page = list(server, page).await;
            assert!(page.messages.len() <= 3);
            numbers.extend(page.messages.iter().map(|it| it.mail_number));
            // What is read meanwhile moves no page.
            super::scene::read(server, &script).await;
            page_token = page.next_page_token;
            if page_token.is_empty() {
                break;
            }
        }
        assert_eq!(numbers, (1..=7).collect::<Vec<u64>>());
    })
    .await;
}

#[tokio::test]
async fn a_page_is_bounded_by_bytes() {
    with_server(async |server| {
        let script = pull(server, "script").await;
        let big = "\u{10FFFF}".repeat(16_000);
        let mut sent = 0;
        for at in 0..6 {
            let from = pull(server, &format!("boss {at}")).await;
            for _ in 0..10 {
                send(server, note(&from, &script, &big)).await;
                sent += 1;
            }
        }
        let all = ListMailRequest {
            page_size: Some(500),
            ..of(&script)
        };
        let first = list(server, all.clone()).await;
        assert!(first.messages.len() > 40 && first.messages.len() < sent);
        let second = ListMailRequest {
            page_token: first.next_page_token,
            ..all
        };
        let second = list(server, second).await;
        assert_eq!(first.messages.len() + second.messages.len(), sent);
        assert_eq!(second.next_page_token, "");
        // A read is bounded alike, and consumes no more than it answers.
        let all = ReadMailRequest {
            max_messages: Some(500),
            ..super::scene::reading(&script)
        };
        let read = read_with(server, all.clone()).await;
        assert!(read.has_more && read.messages.len() == first.messages.len());
        let rest = read_with(server, all).await;
        assert_eq!(read.messages.len() + rest.messages.len(), sent);
    })
    .await;
}

#[tokio::test]
async fn a_list_of_nobody_or_with_a_foreign_token_is_refused() {
    with_server(async |server| {
        let (boss, script) = (pull(server, "boss").await, pull(server, "script").await);
        for n in 0..3 {
            send(server, note(&boss, &script, &n.to_string())).await;
        }
        let nobody = of("thr_00000000000070008000000000000000");
        let refused = told(server.mailbox().list_mail(nobody).await);
        assert_eq!(refused.what(), (Code::NotFound, "THREAD_NOT_FOUND"));
        let page = ListMailRequest {
            page_size: Some(1),
            ..of(&script)
        };
        let token = list(server, page).await.next_page_token;
        let other_thread = ListMailRequest {
            page_token: token.clone(),
            ..of(&boss)
        };
        let other_filter = ListMailRequest {
            page_token: token,
            states: vec![MessageState::Unread as i32],
            ..of(&script)
        };
        let garbage = ListMailRequest {
            page_token: "garbage".to_owned(),
            ..of(&script)
        };
        for request in [other_thread, other_filter, garbage] {
            let refused = told(server.mailbox().list_mail(request).await);
            assert_eq!(
                refused.what(),
                (Code::InvalidArgument, "PAGE_TOKEN_INVALID")
            );
        }
        let wrong = ListMailRequest {
            page_size: Some(0),
            states: vec![0, 99],
            ..ListMailRequest::default()
        };
        let refused = told(server.mailbox().list_mail(wrong).await);
        assert_eq!(
            refused.fields,
            ["states[0]", "states[1]", "thread_id", "page_size"]
        );
    })
    .await;
}
