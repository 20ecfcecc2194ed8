//! No answer for runtimes is larger than a client takes, however much is due.

use std::collections::BTreeSet;

use futures_util::future::join_all;
use handoffd::proto::v1;

use crate::support::{TestServer, with_server};

use super::stage::{Runtime, agent, mail, note, read, thread};

/// JSON that is small as text and large in an answer.
fn ones(count: usize) -> prost_types::Struct {
    let values = vec![prost_types::Value::from(1.0); count];
    let list = prost_types::Value::from(values);
    prost_types::Struct {
        fields: [("ones".to_owned(), list)].into(),
    }
}

async fn hand_off_with(server: &TestServer, context_data: prost_types::Struct) -> String {
    let request = v1::CreateHandoffRequest {
        target_agent: "a".to_owned(),
        task: "count the words".to_owned(),
        context_data: Some(context_data),
        ..v1::CreateHandoffRequest::default()
    };
    let made = server.handoffs().create_handoff(request).await.unwrap();
    made.into_inner().handoff.unwrap().thread_id
}

/// Claims until nothing is due: how many turns each answer had, and all of the threads.
async fn claim_all(runtime: &Runtime) -> (Vec<usize>, BTreeSet<String>) {
    let (mut counts, mut threads) = (Vec::new(), BTreeSet::new());
    loop {
        let turns = runtime.claim(100).await;
        if turns.is_empty() {
            return (counts, threads);
        }
        counts.push(turns.len());
        threads.extend(turns.into_iter().map(|turn| turn.thread_id));
    }
}

#[tokio::test]
async fn a_claim_takes_what_fits_its_answer_and_the_rest_stays_due() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let mut threads = BTreeSet::new();
        for _ in 0..5 {
            threads.insert(hand_off_with(server, ones(130_000)).await);
        }
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let (counts, claimed) = claim_all(&runtime).await;
        assert_eq!(claimed, threads);
        assert_eq!(counts, [2, 2, 1], "1.4 MB each");
    })
    .await;
}

#[tokio::test]
async fn a_look_reads_no_more_work_than_it_may_hold_and_loses_none() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let noise = |seed: u64| {
            let mut state = seed;
            let digits = std::iter::repeat_with(move || {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                format!("{state:x}")
            });
            let text = digits.take(200).collect::<String>();
            prost_types::Struct {
                fields: [("noise".to_owned(), prost_types::Value::from(text))].into(),
            }
        };
        let made = (0..80).map(|seed| hand_off_with(server, noise(seed)));
        let threads: BTreeSet<String> = join_all(made).await.into_iter().collect();
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let (counts, claimed) = claim_all(&runtime).await;
        assert_eq!(claimed, threads);
        assert!(counts.len() > 1 && counts[0] > 50, "{counts:?}");
    })
    .await;
}

#[tokio::test]
async fn mail_whose_data_is_large_in_an_answer_is_read_in_several() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let to = thread(server, "a").await;
        for _ in 0..5 {
            let request = v1::SendMessageRequest {
                data: Some(ones(130_000)),
                ..note(&to, "look")
            };
            server.mailbox().send_message(request).await.unwrap();
        }
        let list = v1::ListMailRequest {
            thread_id: to.clone(),
            ..v1::ListMailRequest::default()
        };
        let page = server.mailbox().list_mail(list).await.unwrap().into_inner();
        assert_eq!(page.messages.len(), 2);
        assert!(!page.next_page_token.is_empty());

        let runtime = Runtime::register(server, "r", &["a"]).await;
        let turn = runtime.claim_one().await;
        assert_eq!(turn.mail.len(), 1);
        let mut counts = Vec::new();
        while counts.last() != Some(&0) {
            counts.push(read(server, &turn).await.messages.len());
        }
        assert_eq!(counts, [2, 2, 0]);
    })
    .await;
}

#[tokio::test]
async fn an_answer_for_many_turns_describes_fewer_messages_of_each() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let mut turns = Vec::new();
        let runtime = Runtime::register(server, "r", &["a"]).await;
        for _ in 0..60 {
            let id = thread(server, "a").await;
            mail(server, &id, "go").await;
        }
        turns.extend(runtime.claim(100).await);
        assert_eq!(turns.len(), 60);
        runtime.beat(&turns.iter().collect::<Vec<_>>()).await;
        let sent = turns.iter().flat_map(|turn| vec![&turn.thread_id; 10]);
        join_all(sent.map(|id| mail(server, id, "more"))).await;
        let described = |beat: &v1::TurnHeartbeatResult| match &beat.signals[0].kind {
            Some(v1::signal::Kind::Mail(mail)) => (mail.unread_count, mail.messages.len()),
            other => panic!("{other:?}"),
        };
        let many = runtime.beat(&turns.iter().collect::<Vec<_>>()).await;
        assert!(
            many.iter().all(|beat| described(beat) == (10, 8)),
            "{many:?}"
        );
        let one = runtime.beat(&[&turns[0]]).await;
        assert_eq!(described(&one[0]), (10, 10));
    })
    .await;
}
