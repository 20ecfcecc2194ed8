//! Promise 1: mail that no turn will see ends in a notice to its sender.

use handoffd::proto::v1;
use handoffd::server::config::Config;
use handoffd::workers::JobName;
use prost_types::value::Kind;

use crate::mailbox::{note, peek, pull, raw, send};
use crate::support::{Clients, TestServer, with_server, with_server_of};
use crate::turns::stage::{
    Runtime, agent, done, hand_off, lose, mail, pass, report, results, thread,
};

/// The first loss sets aside what the turn was given.
fn at_once(config: &mut Config) {
    config.rules.max_lost_turns = 1;
}

/// A note with a subject.
fn about(from: &str, to: &str, subject: &str) -> v1::SendMessageRequest {
    v1::SendMessageRequest {
        subject: subject.to_owned(),
        ..note(from, to, "read me")
    }
}

/// Work for agent `a` whose end is told to the parent, or not.
async fn work(clients: &Clients, parent: &str, told: v1::OnCompletion) -> v1::Handoff {
    let request = v1::CreateHandoffRequest {
        parent_thread_id: parent.to_owned(),
        target_agent: "a".to_owned(),
        task: "count the words".to_owned(),
        on_completion: told as i32,
        ..v1::CreateHandoffRequest::default()
    };
    let made = clients.handoffs().create_handoff(request).await.unwrap();
    made.into_inner().handoff.unwrap()
}

/// Runs what was left behind; nothing of it may fail.
async fn run_effects(server: &TestServer) -> usize {
    let ran = server.sweep(JobName::RunEffects).await;
    assert_eq!((ran.failed, ran.already_so), (0, 0), "{ran:?}");
    ran.moved
}

async fn states(clients: &Clients, thread: &str) -> Vec<v1::MessageState> {
    let request = v1::ListMailRequest {
        thread_id: thread.to_owned(),
        ..v1::ListMailRequest::default()
    };
    let listed = clients.mailbox().list_mail(request).await.unwrap();
    let listed = listed.into_inner().messages;
    listed.iter().map(v1::Message::state).collect()
}

/// What a notice says of mail that was set aside, for programs.
fn set_aside(notice: &v1::Message) -> prost_types::Struct {
    let data = notice.data.clone().unwrap();
    match data.fields["set_aside"].kind.clone().unwrap() {
        Kind::StructValue(mail) => mail,
        other => panic!("{other:?}"),
    }
}

fn text(fields: &prost_types::Struct, name: &str) -> String {
    match fields.fields[name].kind.clone().unwrap() {
        Kind::StringValue(text) => text,
        Kind::NumberValue(number) => number.to_string(),
        other => panic!("{name}: {other:?}"),
    }
}

#[tokio::test]
async fn an_idle_sender_is_woken_by_the_notice_that_nobody_will_read_its_mail() {
    with_server(async |server| {
        agent(server, "a", None).await;
        agent(server, "writer", None).await;
        let (to, from) = (thread(server, "a").await, thread(server, "writer").await);
        let sent = send(server, about(&from, &to, "the plan")).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let writer = Runtime::register(server, "w", &["writer"]).await;
        for pause in [1, 5, 0] {
            assert_eq!(run_effects(server).await, 0, "the mail may still be read");
            assert!(writer.claim(1).await.is_empty());
            runtime.begin_one().await;
            lose(server).await;
            pass(server, pause).await;
        }
        assert_eq!(states(server, &to).await, [v1::MessageState::SetAside]);
        assert_eq!(run_effects(server).await, 1);
        assert_eq!(run_effects(server).await, 0, "once");

        let turn = writer.begin_one().await;
        assert_eq!((turn.thread_id.as_str(), turn.mail.len()), (&*from, 1));
        let notice = &turn.mail[0];
        assert_eq!(notice.kind(), v1::MessageKind::Notice);
        assert!(!notice.from_operator && notice.from_thread_id.is_empty());
        assert_eq!(notice.subject, "Mail to a was set aside");
        for told in [
            &*to,
            "agent `a`",
            "3 time(s)",
            &*sent.message_id,
            "the plan",
        ] {
            assert!(notice.body.contains(told), "{told} in {}", notice.body);
        }
        let mail = set_aside(notice);
        assert_eq!(text(&mail, "to_thread_id"), to);
        assert_eq!(text(&mail, "count"), "1");
        assert_eq!(text(&mail, "lost_turns"), "3");
        assert!(!writer.finish(done(&turn)).await.woken);
        assert!(
            runtime.claim(1).await.is_empty(),
            "it has nothing left to do"
        );
    })
    .await;
}

#[tokio::test]
async fn each_sender_is_told_once_of_all_that_it_sent_and_an_operator_is_nobody_to_tell() {
    let roomy = |config: &mut Config| {
        at_once(config);
        config.rules.pair_limit = 100;
    };
    with_server_of(roomy, async |server| {
        agent(server, "a", None).await;
        let to = thread(server, "a").await;
        let (many, one) = (pull(server, "many").await, pull(server, "one").await);
        for n in 1..=12 {
            send(server, about(&many, &to, &format!("subject {n}"))).await;
        }
        send(server, about(&one, &to, "only this")).await;
        mail(server, &to, "from above").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        runtime.begin_one().await;
        send(server, about(&one, &to, "never given")).await;
        lose(server).await;
        assert_eq!(run_effects(server).await, 2);

        let told = peek(server, &many).await.messages;
        assert_eq!(told.len(), 1, "{told:?}");
        let body = &told[0].body;
        assert!(body.contains("12 messages of this thread"), "{body}");
        assert!(
            body.contains("subject 10\n- and 2 more, up to number 12"),
            "{body}"
        );
        assert!(
            !body.contains("subject 11") && !body.contains("only this"),
            "{body}"
        );
        let told = peek(server, &one).await.messages;
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].body.contains("number 13, NOTE"), "{}", told[0].body);
        assert!(!told[0].body.contains("never given"), "{}", told[0].body);
        let turn = runtime.claim_one().await;
        assert_eq!(
            turn.mail[0].subject, "never given",
            "the thread goes on with the rest"
        );
    })
    .await;
}

#[tokio::test]
async fn a_parent_hears_of_the_failure_and_of_its_own_mail_in_one_notice() {
    with_server_of(at_once, async |server| {
        agent(server, "boss", None).await;
        agent(server, "a", None).await;
        let parent = thread(server, "boss").await;
        let handoff = work(server, &parent, v1::OnCompletion::Notify).await;
        let sent = send(server, about(&parent, &handoff.thread_id, "mind the gap")).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        runtime.begin_one().await;
        lose(server).await;
        assert_eq!(run_effects(server).await, 0, "nobody else sent anything");

        let boss = Runtime::register(server, "b", &["boss"]).await;
        let turn = boss.begin_one().await;
        assert_eq!(turn.mail.len(), 1, "{:?}", turn.mail);
        let notice = &turn.mail[0];
        assert_eq!(notice.handoff_id, handoff.handoff_id);
        assert_eq!(notice.outcome(), v1::Outcome::Failed);
        for told in ["lease ended", "mind the gap", &*sent.message_id] {
            assert!(notice.body.contains(told), "{told} in {}", notice.body);
        }
        assert_eq!(text(&set_aside(notice), "count"), "1");
        boss.finish(done(&turn)).await;
    })
    .await;
}

#[tokio::test]
async fn a_parent_that_is_not_told_of_the_end_is_told_of_its_mail() {
    with_server_of(at_once, async |server| {
        agent(server, "a", None).await;
        let parent = pull(server, "boss").await;
        let handoff = work(server, &parent, v1::OnCompletion::None).await;
        send(server, about(&parent, &handoff.thread_id, "mind the gap")).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        runtime.begin_one().await;
        lose(server).await;
        assert!(peek(server, &parent).await.messages.is_empty());
        assert_eq!(run_effects(server).await, 1);
        let told = peek(server, &parent).await.messages;
        assert!(told[0].body.contains("mind the gap"), "{told:?}");
        assert_eq!(told[0].handoff_id, "");
    })
    .await;
}

/// A report that the parent never sees is recorded all the same: its sender, who is done, is told
/// without being woken.
#[tokio::test]
async fn a_finished_child_is_told_of_its_report_and_not_woken_for_it() {
    with_server_of(at_once, async |server| {
        agent(server, "boss", None).await;
        agent(server, "a", None).await;
        let parent = thread(server, "boss").await;
        let handoff = hand_off(server, &parent, "a", v1::OnTurnLost::Retry).await;
        let child = Runtime::register(server, "r", &["a"]).await;
        let turn = child.begin_one().await;
        report(server, &turn, "there are 7 words").await;
        child.finish(done(&turn)).await;

        let boss = Runtime::register(server, "b", &["boss"]).await;
        boss.begin_one().await;
        lose(server).await;
        assert_eq!(run_effects(server).await, 1);
        assert!(
            child.claim(1).await.is_empty(),
            "nothing is left for it to do"
        );
        let told = peek(server, &handoff.thread_id).await.messages;
        assert_eq!((told.len(), told[0].kind()), (1, v1::MessageKind::Notice));
        assert!(
            told[0].body.contains("GetHandoffResults"),
            "{}",
            told[0].body
        );
        let results = results(server, &handoff).await;
        assert_eq!(results.result.as_deref(), Some("there are 7 words"));
        assert_eq!(results.reports[0].body, "there are 7 words");

        // It reads that with whatever wakes it next.
        mail(server, &handoff.thread_id, "and how many lines?").await;
        assert_eq!(child.claim_one().await.mail.len(), 2);
    })
    .await;
}

/// What came after the end is recorded nowhere else: only the child can say it again.
#[tokio::test]
async fn a_child_whose_late_report_nobody_read_is_woken() {
    with_server_of(at_once, async |server| {
        agent(server, "boss", None).await;
        agent(server, "a", None).await;
        let parent = thread(server, "boss").await;
        let handoff = hand_off(server, &parent, "a", v1::OnTurnLost::Retry).await;
        let child = Runtime::register(server, "r", &["a"]).await;
        let turn = child.begin_one().await;
        let cancel = v1::CancelHandoffRequest {
            handoff_id: handoff.handoff_id.clone(),
            ..v1::CancelHandoffRequest::default()
        };
        server.handoffs().cancel_handoff(cancel).await.unwrap();
        report(server, &turn, "too late").await;
        child.finish(done(&turn)).await;
        let boss = Runtime::register(server, "b", &["boss"]).await;
        boss.begin_one().await;
        lose(server).await;
        assert_eq!(run_effects(server).await, 1);
        assert_eq!(
            child.claim_one().await.mail[0].kind(),
            v1::MessageKind::Notice
        );
    })
    .await;
}

#[tokio::test]
async fn a_full_mailbox_takes_the_notice() {
    with_server_of(at_once, async |server| {
        agent(server, "a", None).await;
        let (to, from) = (thread(server, "a").await, pull(server, "writer").await);
        send(server, about(&from, &to, "the plan")).await;
        crate::mailbox::seed_mail(&server.pool, &from, 10_000).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        runtime.begin_one().await;
        lose(server).await;
        assert_eq!(run_effects(server).await, 1);
        let last: String = sqlx::query_scalar(
            "SELECT kind::text FROM messages WHERE to_thread_id = $1 AND mail_number = 10001",
        )
        .bind(raw(&from))
        .fetch_one(&server.pool)
        .await
        .unwrap();
        assert_eq!(last, "notice");
    })
    .await;
}

#[tokio::test]
async fn a_deleted_sender_is_nobody_to_tell() {
    with_server_of(at_once, async |server| {
        agent(server, "a", None).await;
        let (to, from) = (thread(server, "a").await, pull(server, "writer").await);
        send(server, about(&from, &to, "the plan")).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        runtime.begin_one().await;
        lose(server).await;
        let delete = "UPDATE thread_heads SET delete_time = handoffd_now() WHERE thread_id = $1";
        let delete = sqlx::query(delete).bind(raw(&from));
        delete.execute(&server.pool).await.unwrap();
        assert_eq!(run_effects(server).await, 1);
        assert_eq!(run_effects(server).await, 0);
        let number: i64 =
            sqlx::query_scalar("SELECT mail_number FROM thread_heads WHERE thread_id = $1")
                .bind(raw(&from))
                .fetch_one(&server.pool)
                .await
                .unwrap();
        assert_eq!(number, 0);
    })
    .await;
}
