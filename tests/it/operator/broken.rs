//! No invariant is one that cannot fail: each is broken by hand, and found.

use handoffd::proto::v1;
use handoffd::store::invariants::ALL;
use sqlx::PgPool;

use crate::handoffs::scene::asking;
use crate::support::{TestServer, invariants, with_server};
use crate::turns::stage::{Runtime, agent, done, ended, hand_off, lose, mail, report, thread};

/// How each invariant is broken in what `scene` leaves, once nothing of the database refuses it.
const BREAKS: &[(&str, &str)] = &[
    (
        "live_turns_are_counted",
        "UPDATE agent_slots SET live_turns = live_turns + 1",
    ),
    ("a_thread_has_its_head", "DELETE FROM thread_heads"),
    (
        "a_child_lies_below_its_parent",
        "UPDATE threads SET depth = 7",
    ),
    (
        "a_head_names_its_live_turn",
        "UPDATE thread_heads SET turn_running = NOT turn_running WHERE turn_id IS NOT NULL",
    ),
    (
        "a_head_agrees_with_its_handoffs",
        "UPDATE thread_heads SET handoff_unfinished = NOT handoff_unfinished",
    ),
    (
        "children_are_counted",
        "UPDATE thread_heads SET live_children = live_children + 1",
    ),
    (
        "histories_are_numbered_without_gaps",
        "DELETE FROM thread_events WHERE number = 1",
    ),
    (
        "the_latest_response_is_in_the_history",
        "UPDATE thread_heads SET response_number = 1",
    ),
    (
        "mailboxes_are_numbered_without_gaps",
        "DELETE FROM messages WHERE mail_number = 1",
    ),
    (
        "marks_are_in_order",
        "UPDATE thread_heads SET consumed_through = given_through + 1",
    ),
    (
        "unread_waking_mail_has_a_next_step",
        "UPDATE thread_heads SET wake_time = NULL WHERE waking_unread > 0",
    ),
    (
        "waking_unread_is_exact",
        "UPDATE thread_heads SET waking_unread = waking_unread + 1",
    ),
    (
        "a_wake_has_a_cause",
        "UPDATE thread_heads SET wake_count = 0 WHERE wake_time IS NOT NULL",
    ),
    (
        "unfinished_work_is_looked_at_again",
        "UPDATE thread_heads SET due_time = NULL",
    ),
    (
        "work_not_begun_has_a_turn_or_a_wake",
        "UPDATE thread_heads SET wake_time = NULL",
    ),
    (
        "a_thread_runs_again_where_its_turn_said_so",
        "UPDATE thread_heads SET wake_time = NULL",
    ),
    (
        "losses_are_counted_with_what_was_given",
        "UPDATE thread_heads SET lost_given_through = NULL",
    ),
    (
        "an_effect_has_its_thread",
        "INSERT INTO deferred_effects
            SELECT 'default', gen_random_uuid(), 'tell_sender', gen_random_uuid(), '{}', handoffd_now(), 0",
    ),
    (
        "effects_are_run",
        "INSERT INTO deferred_effects
            SELECT 'default', gen_random_uuid(), 'tell_sender', thread_id, '{}', handoffd_now(), 3
            FROM thread_heads LIMIT 1",
    ),
    (
        "set_aside_mail_is_told_to_its_sender",
        "UPDATE messages SET exception = 'set_aside' WHERE from_thread_id IS NOT NULL",
    ),
    (
        "a_live_turn_is_named_by_its_head",
        "UPDATE thread_heads SET turn_id = NULL",
    ),
    (
        "no_token_is_above_the_newest",
        "UPDATE turns SET token = token + 1 WHERE end_time IS NULL",
    ),
    (
        "a_turn_is_looked_at_while_it_lives",
        "UPDATE turns SET check_time = NULL",
    ),
    (
        "a_turn_is_of_its_thread",
        "UPDATE turns SET agent_id = 'boss'",
    ),
    (
        "closed_handoffs_have_their_times",
        "UPDATE handoffs SET close_time = NULL",
    ),
    (
        "a_handoff_has_its_child",
        "UPDATE handoffs SET child_thread_id = parent_thread_id",
    ),
    ("a_handoff_has_its_assignment", "DELETE FROM assignments"),
    ("reports_are_counted", "DELETE FROM reports"),
    (
        "a_mailed_report_is_in_the_mailbox",
        "UPDATE reports SET mail_number = mail_number + 50",
    ),
    ("an_end_is_told", "UPDATE reports SET mail_number = NULL"),
    (
        "finished_work_waits_to_be_collected",
        "UPDATE handoffs SET due_time = NULL WHERE due_time IS NOT NULL",
    ),
    (
        "time_limits_are_looked_at",
        "UPDATE handoffs SET watch_time = create_time WHERE finish_time IS NULL",
    ),
    (
        "deadlines_count_from_the_first_turn",
        "UPDATE handoffs SET deadline_version = 1",
    ),
    (
        "a_report_that_a_lost_turn_read_is_mail_again",
        "UPDATE reports SET reader_turn_id = (SELECT turn_id FROM turns LIMIT 1)",
    ),
    (
        "timelines_are_numbered_without_gaps",
        "DELETE FROM handoff_events WHERE number = 1",
    ),
    (
        "reminders_are_counted",
        "UPDATE handoffs SET reminders_sent = reminders_sent + 1",
    ),
];

/// Takes everything away by which the database refuses such rows.
const DEFENCELESS: &str = "
    DO $$
    DECLARE it record;
    BEGIN
        FOR it IN SELECT conrelid::regclass AS owner, conname AS name FROM pg_constraint
            WHERE contype = 'c' AND conislocal AND coninhcount = 0
                AND connamespace = 'public'::regnamespace AND conrelid <> 0
        LOOP
            EXECUTE format('ALTER TABLE %s DROP CONSTRAINT %I', it.owner, it.name);
        END LOOP;
    END $$;
    DROP TRIGGER handoffs_end_is_final ON handoffs;
    ALTER TABLE handoffs DROP CONSTRAINT handoffs_child_fkey;
    DROP INDEX handoffs_unfinished_child_key, handoffs_attempt_key;
    ALTER TABLE reports DROP CONSTRAINT reports_handoff_fkey;
";

/// One of everything: work that runs, that ended and that was not begun, a thread that has to run
/// again after a loss, mail that waits.
async fn scene(server: &TestServer) {
    agent(server, "boss", None).await;
    agent(server, "worker", Some(9)).await;
    let boss = thread(server, "boss").await;
    let lost = thread(server, "worker").await;
    let runtime = Runtime::register(server, "r", &["worker"]).await;

    mail(server, &lost, "go").await;
    runtime.begin_one().await;
    lose(server).await;

    let retry = v1::OnTurnLost::Retry;
    hand_off(server, &boss, "worker", retry).await;
    let ends = runtime.begin_one().await;
    report(server, &ends, "all of it").await;
    let response = Some("said".to_owned());
    let finish = v1::FinishTurnRequest {
        response_text: response,
        ..done(&ends)
    };
    runtime.finish(finish).await;
    hand_off(server, &boss, "worker", retry).await;
    let stopped = runtime.begin_one().await;
    runtime
        .finish(ended(&stopped, v1::TurnOutcome::Interrupted))
        .await;
    runtime.begin_one().await;
    hand_off(server, &boss, "worker", retry).await;
    uncollected(server, &boss).await;
}

/// Work whose result waits to be collected.
async fn uncollected(server: &TestServer, parent: &str) {
    let request = v1::CreateHandoffRequest {
        on_completion: v1::OnCompletion::Return as i32,
        ..asking(parent)
    };
    let handoff = crate::handoffs::scene::hand_off(server, request).await;
    crate::handoffs::scene::report(server, &handoff, "done").await;
}

#[tokio::test]
async fn each_invariant_finds_what_breaks_it() {
    let named: Vec<&str> = BREAKS.iter().map(|(name, _)| *name).collect();
    let all: Vec<&str> = ALL.iter().map(|it| it.name).collect();
    assert_eq!(named, all, "each is broken here, in the same order");
    with_server(async |server| {
        scene(server).await;
        server.check_invariants().await;
        sqlx::raw_sql(DEFENCELESS)
            .execute(&server.pool)
            .await
            .unwrap();
        for (name, statement) in BREAKS {
            let broken = broken_by(&server.pool, statement).await;
            let found = broken
                .iter()
                .any(|it| it.starts_with(&format!("{name} in ")));
            assert!(found, "`{statement}` is not found by {name}: {broken:#?}");
        }
    })
    .await;
}

/// What is found broken after a statement, which is then taken back.
async fn broken_by(pool: &PgPool, statement: &'static str) -> Vec<String> {
    let mut transaction = pool.begin().await.unwrap();
    let done = sqlx::query(statement).execute(&mut *transaction).await;
    assert!(done.unwrap().rows_affected() > 0, "{statement}");
    let broken = invariants::broken(&mut transaction).await.unwrap();
    transaction.rollback().await.unwrap();
    broken
}
