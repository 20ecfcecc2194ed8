//! What a transaction leaves to another one is done once, by whoever comes to it.

use std::time::Duration;

use handoffd::proto::v1;
use handoffd::server::config::Config;
use handoffd::workers::JobName;

use crate::mailbox::{note, peek, pull, raw, send};
use crate::support::{TestServer, eventually, log, with_server_of};
use crate::turns::stage::{Runtime, agent, lose, thread};

/// The first loss sets aside what the turn was given.
fn at_once(config: &mut Config) {
    config.rules.max_lost_turns = 1;
}

/// Threads whose mail was set aside and who are not told yet, so many.
async fn senders(server: &TestServer, count: usize) -> Vec<String> {
    agent(server, "a", None).await;
    let to = thread(server, "a").await;
    let mut senders = Vec::new();
    for at in 0..count {
        let from = pull(server, &format!("writer {at}")).await;
        send(server, note(&from, &to, "read me")).await;
        senders.push(from);
    }
    let runtime = Runtime::register(server, "r", &["a"]).await;
    runtime.begin_one().await;
    lose(server).await;
    senders
}

async fn notices(server: &TestServer, thread: &str) -> usize {
    let mail = peek(server, thread).await.messages;
    assert!(mail.iter().all(|it| it.kind() == v1::MessageKind::Notice));
    mail.len()
}

/// How often each effect that is left could not be run, and in how many seconds it is due.
async fn left(server: &TestServer) -> Vec<(i32, i64)> {
    let look = "SELECT attempts, extract(epoch FROM due_time - handoffd_now())::bigint \
        FROM deferred_effects ORDER BY effect_id";
    let look = sqlx::query_as(look);
    look.fetch_all(&server.pool).await.unwrap()
}

#[tokio::test]
async fn two_servers_that_run_the_same_effects_have_one_effect_each() {
    with_server_of(at_once, async |server| {
        let second = server.second().await;
        let senders = senders(server, 30).await;
        let (first, second) = tokio::join!(
            server.sweep(JobName::RunEffects),
            second.sweep(JobName::RunEffects)
        );
        assert_eq!(first.moved + second.moved, 30, "{first:?} {second:?}");
        assert_eq!(first.failed + second.failed, 0, "{first:?} {second:?}");
        for sender in &senders {
            assert_eq!(notices(server, sender).await, 1);
        }
        assert_eq!(left(server).await, []);
    })
    .await;
}

#[tokio::test]
async fn what_a_server_left_when_it_stopped_is_done_by_another() {
    with_server_of(at_once, async |server| {
        let second = server.second().await;
        let senders = senders(server, 2).await;
        server.stop_first().await;
        assert_eq!(
            left(server).await,
            [(0, 0), (0, 0)],
            "committed, and not run"
        );
        let ran = second.sweep(JobName::RunEffects).await;
        assert_eq!((ran.found, ran.moved), (2, 2), "{ran:?}");
        for sender in &senders {
            let told = peek(&second, sender).await.messages;
            assert_eq!(told.len(), 1, "{told:?}");
        }
    })
    .await;
}

/// Polling alone would take five seconds a round.
#[tokio::test]
async fn a_server_runs_at_once_what_it_left() {
    const ROUNDS: usize = 6;
    with_server_of(at_once, async |server| {
        let node = server.working().await;
        agent(server, "a", None).await;
        let (to, from) = (thread(server, "a").await, pull(server, "writer").await);
        let runtime = Runtime::register(server, "r", &["a"]).await;
        let rounds = async {
            for round in 1..=ROUNDS {
                send(server, note(&from, &to, "read me")).await;
                runtime.begin_one().await;
                node.sweep(JobName::ExpireLeases).await;
                server.clock.advance(Duration::from_mins(1)).await;
                node.sweep(JobName::ExpireLeases).await;
                eventually("the sender is told", async || {
                    notices(server, &from).await == round
                })
                .await;
            }
        };
        let rounds = tokio::time::timeout(Duration::from_secs(15), rounds).await;
        assert!(rounds.is_ok(), "it waited for its next look");
    })
    .await;
}

#[tokio::test]
async fn an_effect_that_cannot_be_run_waits_longer_each_time_and_stops_nobody() {
    log::expect("broken by a test");
    with_server_of(at_once, async |server| {
        let senders = senders(server, 3).await;
        // The database refuses whatever is mailed to the second.
        let refuse = format!(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            IF NEW.to_thread_id = '{}' THEN \
            RAISE EXCEPTION 'broken by a test' USING ERRCODE = 'check_violation'; END IF; RETURN NEW; END $$; \
            CREATE TRIGGER refuse BEFORE INSERT ON messages FOR EACH ROW EXECUTE FUNCTION refuse()",
            raw(&senders[1])
        );
        execute(server, &refuse).await;
        let report = server.sweep(JobName::RunEffects).await;
        assert_eq!((report.found, report.moved, report.failed), (3, 2, 1), "{report:?}");
        assert_eq!(left(server).await, [(1, 5)]);

        // Every server leaves it alone meanwhile; then any tries again.
        let second = server.second().await;
        let early = second.sweep(JobName::RunEffects).await;
        assert_eq!((early.found, early.next), (0, Some(Duration::from_secs(5))));
        server.clock.advance(Duration::from_secs(5)).await;
        assert_eq!(second.sweep(JobName::RunEffects).await.failed, 1);
        assert_eq!(left(server).await, [(2, 10)]);

        execute(server, "DROP TRIGGER refuse ON messages").await;
        server.clock.advance(Duration::from_secs(10)).await;
        let third = server.second().await;
        assert_eq!(third.sweep(JobName::RunEffects).await.moved, 1);
        for sender in &senders {
            assert_eq!(notices(server, sender).await, 1);
        }
    })
    .await;
}

/// Its facts are of a release that this one does not know, or somebody changed them by hand.
#[tokio::test]
async fn an_effect_that_cannot_be_read_is_put_off_for_all_servers_and_shown_until_it_can() {
    log::expect("effect cannot be read");
    with_server_of(at_once, async |server| {
        let senders = senders(server, 2).await;
        let damage = "UPDATE deferred_effects SET facts = jsonb_build_object('was', facts) \
            WHERE subject_id = $1";
        let damage = sqlx::query(damage).bind(raw(&senders[0]));
        damage.execute(&server.pool).await.unwrap();
        let report = server.sweep(JobName::RunEffects).await;
        assert_eq!(
            (report.found, report.moved, report.failed),
            (2, 1, 1),
            "{report:?}"
        );
        assert_eq!(left(server).await, [(1, 5)]);

        for (pause, next) in [(5, (2, 10)), (10, (3, 20))] {
            let another = server.second().await;
            assert_eq!(another.sweep(JobName::RunEffects).await.found, 0);
            server.clock.advance(Duration::from_secs(pause)).await;
            assert_eq!(another.sweep(JobName::RunEffects).await.failed, 1);
            assert_eq!(left(server).await, [next]);
        }
        let request = v1::CheckInvariantsRequest {
            names: vec!["effects_are_run".to_owned()],
            ..v1::CheckInvariantsRequest::default()
        };
        let checked = server.operators().check_invariants(request).await.unwrap();
        let violations = checked.into_inner().violations;
        assert_eq!(violations.len(), 1, "{violations:?}");
        assert_eq!(violations[0].id, senders[0]);

        execute(server, "UPDATE deferred_effects SET facts = facts -> 'was'").await;
        server.clock.advance(Duration::from_secs(20)).await;
        let third = server.second().await;
        assert_eq!(third.sweep(JobName::RunEffects).await.moved, 1);
        for sender in &senders {
            assert_eq!(notices(server, sender).await, 1);
        }
    })
    .await;
}

/// A newer server may leave what an older one does not know.
#[tokio::test]
async fn an_effect_of_a_kind_that_is_not_known_is_left_to_whoever_knows_it() {
    with_server_of(at_once, async |server| {
        let senders = senders(server, 2).await;
        execute(server, "ALTER TYPE effect_kind ADD VALUE 'of_tomorrow'").await;
        let newer = "UPDATE deferred_effects SET kind = 'of_tomorrow' WHERE subject_id = $1";
        let newer = sqlx::query(newer).bind(raw(&senders[0]));
        newer.execute(&server.pool).await.unwrap();
        let ran = server.sweep(JobName::RunEffects).await;
        assert_eq!((ran.found, ran.moved, ran.failed), (1, 1, 0), "{ran:?}");
        assert_eq!(left(server).await, [(0, 0)]);
        let known = "UPDATE deferred_effects SET kind = 'tell_sender'";
        sqlx::query(known).execute(&server.pool).await.unwrap();
        assert_eq!(server.sweep(JobName::RunEffects).await.moved, 1);
    })
    .await;
}

#[expect(
    clippy::disallowed_methods,
    reason = "the text is of this file and names an id"
)]
async fn execute(server: &TestServer, statement: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
        .execute(&server.pool)
        .await
        .unwrap();
}
