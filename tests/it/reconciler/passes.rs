use handoffd::proto::v1;
use handoffd::workers::JobName;

use super::{DAY, HOUR, MINUTE, idle_child, pass, reminders, state};
use crate::handoffs::scene::{self, Worker};
use crate::support::{eventually, log, with_server};

#[tokio::test]
async fn two_servers_that_sweep_at_the_same_time_have_one_effect() {
    with_server(async |server| {
        let second = server.second().await;
        let (parent, _, handoff) = idle_child(server).await;
        server.clock.advance(31 * MINUTE).await;
        tokio::join!(
            server.sweep(JobName::CheckQuiet),
            second.sweep(JobName::CheckQuiet)
        );
        assert_eq!(reminders(server, &handoff).await, 1);
        server.clock.advance(7 * DAY).await;
        tokio::join!(
            server.sweep(JobName::CheckQuiet),
            second.sweep(JobName::CheckQuiet)
        );
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Abandoned);
        assert_eq!(scene::mail(server, &parent).await.len(), 1);
    })
    .await;
}

#[tokio::test]
async fn a_row_that_cannot_be_written_stops_nobody() {
    log::expect("broken by a test");
    with_server(async |server| {
        let (parent, worker, broken) = idle_child(server).await;
        let sound = scene::hand_off(server, scene::asking(&parent)).await;
        let turn = worker.begin().await;
        worker.finish(scene::done(&turn, v1::TurnNext::Wait)).await;
        // The database refuses whatever is written to the first.
        let statement = "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
            IF NEW.handoff_id = (SELECT min(handoff_id::text)::uuid FROM handoffs) THEN \
            RAISE EXCEPTION 'broken by a test' USING ERRCODE = 'check_violation'; END IF; RETURN NEW; END $$; \
            CREATE TRIGGER refuse BEFORE UPDATE ON handoffs FOR EACH ROW EXECUTE FUNCTION refuse()";
        sqlx::raw_sql(statement).execute(&server.pool).await.unwrap();
        server.clock.advance(31 * MINUTE).await;
        let report = server.sweep(JobName::CheckQuiet).await;
        assert_eq!((report.found, report.moved, report.failed), (2, 1, 1), "{report:?}");
        assert_eq!(reminders(server, &sound).await, 1);
        assert_eq!(reminders(server, &broken).await, 0);
    })
    .await;
}

/// The service was away as a whole: what is assigned gets one more lease.
#[tokio::test]
async fn after_an_outage_of_the_whole_service_leases_get_one_more() {
    with_server(async |server| {
        let parent = scene::boss(server).await;
        let handoff = scene::hand_off(server, scene::asking(&parent)).await;
        let worker = Worker::register(server, "worker").await;
        let turn = worker.begin().await;
        server.sweep(JobName::ExpireLeases).await;
        server.clock.advance(HOUR).await;
        let statement = "UPDATE service SET last_alive = '-infinity'";
        sqlx::query(statement).execute(&server.pool).await.unwrap();
        server.sweep(JobName::ExpireLeases).await;
        let beat = worker.beat(&turn, None).await;
        assert_eq!(beat.state(), v1::TurnLeaseState::Renewed);
        pass(server, 2 * MINUTE).await;
        let beat = worker.beat(&turn, None).await;
        assert_eq!(beat.state(), v1::TurnLeaseState::Closed, "only one");
        assert_eq!(state(server, &handoff).await, v1::HandoffStatus::Running);
    })
    .await;
}

/// Case D9: the database goes away in the middle of passes; the next one picks up.
#[tokio::test]
async fn passes_that_lose_the_database_are_made_up_for() {
    with_server(async |server| {
        let (parent, worker, _) = idle_child(server).await;
        for _ in 0..20 {
            scene::hand_off(server, scene::asking(&parent)).await;
            let turn = worker.begin().await;
            worker.finish(scene::done(&turn, v1::TurnNext::Wait)).await;
        }
        server.clock.advance(31 * MINUTE).await;
        let kill = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity \
            WHERE datname = current_database() AND pid <> pg_backend_pid()";
        let killing = async {
            for _ in 0..3 {
                sqlx::query(kill).execute(&server.pool).await.ok();
            }
        };
        let sweeping = server.try_sweep(JobName::CheckQuiet);
        let ((), _) = tokio::join!(killing, sweeping);
        let counted = "SELECT count(*) FROM handoffs WHERE reminders_sent = 1";
        eventually("all are reminded, each once", async || {
            server.clock.advance(MINUTE).await;
            server.try_sweep(JobName::CheckQuiet).await;
            let sent: Result<i64, _> = sqlx::query_scalar(counted).fetch_one(&server.pool).await;
            sent.is_ok_and(|sent| sent == 21)
        })
        .await;
    })
    .await;
}
