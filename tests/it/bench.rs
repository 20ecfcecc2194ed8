//! Benchmarks seed by SQL what they work on: it must be as the server would have left it.

use sqlx::Executor;

use crate::support::{TestServer, with_server};
use crate::v1;

const NAMESPACE: &str = "handoffd-bench";
/// The time in the seeded ids: long ago.
const MILLIS: i64 = 0x0190_0000_0000;

#[tokio::test]
async fn seeded_rows_keep_every_invariant_and_can_be_worked_on() {
    with_server(async |server| {
        let agents = sqlx::query(include_str!("../../src/bench/sql/seed_agents.sql"));
        let agents = agents.bind(NAMESPACE).bind(1_i64);
        server.pool.execute(agents).await.unwrap();
        let threads = seed(include_str!("../../src/bench/sql/seed_threads.sql"), 0, 9);
        run(server, threads.bind("parent").bind(true)).await;
        let handoffs = seed(
            include_str!("../../src/bench/sql/seed_handoffs.sql"),
            10,
            19,
        );
        run(server, handoffs.bind("worker")).await;
        let closed = seed(include_str!("../../src/bench/sql/seed_closed.sql"), 20, 29);
        run(server, closed.bind("worker")).await;
        let mailboxes = seed(
            include_str!("../../src/bench/sql/seed_mailboxes.sql"),
            30,
            39,
        );
        run(server, mailboxes).await;
        let turns = seed(include_str!("../../src/bench/sql/seed_turns.sql"), 40, 49);
        run(server, turns).await;
        server.check_invariants().await;

        let mut mailbox = server.in_namespace(NAMESPACE).mailbox();
        let read = mailbox.read_mail(v1::ReadMailRequest {
            thread_id: format!("thr_{MILLIS:012x}70008000{:012x}", 30),
            ..v1::ReadMailRequest::default()
        });
        let read = read.await.unwrap().into_inner();
        assert_eq!(read.messages.len(), 1);
    })
    .await;
}

type Statement = sqlx::query::Query<'static, sqlx::Postgres, sqlx::postgres::PgArguments>;

fn seed(statement: &'static str, first: i64, last: i64) -> Statement {
    let statement = sqlx::query(statement).bind(NAMESPACE).bind(MILLIS);
    statement.bind(first).bind(last)
}

async fn run(server: &TestServer, statement: Statement) {
    let done = server.pool.execute(statement).await.unwrap();
    assert!(done.rows_affected() > 0);
}
