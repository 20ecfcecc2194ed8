//! A database that is there and slow: calls wait for it as long as their callers do, and nothing is said
//! of a database that cannot be reached.

use std::time::Duration;

use futures_util::future::join_all;
use handoffd::proto::v1;
use tonic::{Code, Request};

use crate::mailbox::raw;
use crate::support::{TestServer, pause, told, with_server};
use crate::turns::stage::{Runtime, agent, get, mail, note, thread};

/// The first `times` statements that write to `table` do not come to an end before they are given up.
async fn slow(server: &TestServer, table: &str, times: u32) {
    let statement = format!(
        "CREATE SEQUENCE slow_{table};
        CREATE FUNCTION slow_{table}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
            IF nextval('slow_{table}') <= {times} THEN PERFORM pg_sleep(60); END IF; RETURN NULL; END $$;
        CREATE TRIGGER slow AFTER INSERT ON {table} EXECUTE FUNCTION slow_{table}()"
    );
    execute(server, &statement).await;
}

#[expect(
    clippy::disallowed_methods,
    reason = "the text is of this file and names a table"
)]
async fn execute(server: &TestServer, statement: &str) {
    sqlx::raw_sql(sqlx::AssertSqlSafe(statement.to_owned()))
        .execute(&server.pool)
        .await
        .unwrap();
}

#[tokio::test]
async fn calls_and_claims_wait_for_a_slow_database_and_have_their_effect_once() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let threads = join_all((0..3).map(|_| thread(server, "a"))).await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        slow(server, "messages", 2).await;
        join_all(threads.iter().map(|id| mail(server, id, "go"))).await;

        slow(server, "turns", 1).await;
        let turns = runtime.claim(10).await;
        assert_eq!(turns.len(), 3, "{turns:?}");
        assert!(turns.iter().all(|turn| turn.mail.len() == 1), "{turns:?}");
    })
    .await;
}

#[tokio::test]
async fn a_call_ends_with_its_deadline_where_the_database_stays_slow() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let to = thread(server, "a").await;
        slow(server, "messages", 1_000).await;
        let mut request = Request::new(note(&to, "go"));
        request.set_timeout(Duration::from_secs(7));
        let late = server.mailbox().send_message(request).await.unwrap_err();
        // Whichever end notices first; what counts is that it is told as the deadline.
        let told = [Code::DeadlineExceeded, Code::Cancelled];
        assert!(told.contains(&late.code()), "{late:?}");
        execute(server, "DROP TRIGGER slow ON messages").await;
        let sent = mail(server, &to, "again").await;
        let stored: Vec<uuid::Uuid> =
            sqlx::query_scalar("SELECT message_id FROM messages WHERE to_thread_id = $1")
                .bind(raw(&to))
                .fetch_all(&server.pool)
                .await
                .unwrap();
        assert_eq!(stored, [raw(&sent.message_id)]);
    })
    .await;
}

#[tokio::test]
async fn a_claim_that_was_just_made_hears_of_a_database_that_stays_slow() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let to = thread(server, "a").await;
        mail(server, &to, "go").await;
        let runtime = Runtime::register(server, "r", &["a"]).await;
        slow(server, "turns", 1_000).await;
        let refused = told(runtime.try_claim(1, Duration::ZERO).await);
        assert_eq!(refused.what(), (Code::Unavailable, "DATABASE_UNAVAILABLE"));
        assert!(
            refused.message.contains("does not answer in time"),
            "{refused:?}"
        );
        execute(server, "DROP TRIGGER slow ON turns").await;
        let turns: Vec<v1::Turn> = runtime.claim(1).await;
        assert_eq!(turns.len(), 1);
    })
    .await;
}

/// There are four connections for reads, and a read gives up a connection that does not come after 5 s.
#[tokio::test]
async fn reads_wait_for_other_reads_as_long_as_their_callers_do() {
    with_server(async |server| {
        agent(server, "a", None).await;
        let id = thread(server, "a").await;
        let mut transaction = server.pool.begin().await.unwrap();
        sqlx::query("LOCK TABLE threads IN ACCESS EXCLUSIVE MODE")
            .execute(&mut *transaction)
            .await
            .unwrap();
        let reads = join_all((0..12).map(|_| get(server, &id)));
        let release = async {
            pause(Duration::from_secs(7)).await;
            transaction.rollback().await.unwrap();
        };
        let (found, ()) = tokio::join!(reads, release);
        assert!(found.iter().all(|it| it.thread_id == id), "{found:?}");
    })
    .await;
}
