//! What must be so in every state that was ever committed: a statement each, which finds what breaks it.
//!
//! A statement is given things (agents, threads, turns, handoffs) and looks at these and what belongs to
//! them, so its cost follows them and not the table. It answers a row for each thing that breaks it: the
//! thing, and a sentence. Its first lines say what it proves. None asks what the time is: what is true
//! of a committed state stays true however long nobody writes.

use sqlx::postgres::{PgConnection, PgPool};
use sqlx::{Postgres, Transaction};
use uuid::Uuid;

use crate::domain::ids::{HandoffId, Namespace, ThreadId, TurnId};

use super::StoreError;
use super::patience::answered;

/// A snapshot that writes nothing, waits for nobody, and ends before it holds back the database's
/// cleaning.
const BEGIN: &str = "BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; \
    SET LOCAL statement_timeout = '3s'; SET LOCAL lock_timeout = '500ms'; \
    SET LOCAL idle_in_transaction_session_timeout = '5s'";

/// What an invariant is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Subject {
    /// Agents.
    Agent,
    /// Threads.
    Thread,
    /// Turns.
    Turn,
    /// Handoffs.
    Handoff,
}

/// One of them.
#[derive(Clone, Copy, Debug)]
pub struct Invariant {
    /// Its name, a sentence.
    pub name: &'static str,
    /// What it is about.
    pub subject: Subject,
    statement: &'static str,
}

/// A thing that breaks an invariant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which invariant.
    pub invariant: &'static str,
    /// Id of the thing.
    pub id: String,
    /// What is wrong with it.
    pub problem: String,
}

macro_rules! invariants {
    ($($subject:ident: $($name:literal)+;)+) => {
        /// All of them, those about one kind of thing together.
        pub static ALL: &[Invariant] = &[$($(Invariant {
            name: $name,
            subject: Subject::$subject,
            statement: include_str!(concat!("sql/invariants/", $name, ".sql")),
        }),+),+];
    };
}

invariants! {
    Agent:
        "live_turns_are_counted";
    Thread:
        "a_thread_has_its_head"
        "a_child_lies_below_its_parent"
        "a_head_names_its_live_turn"
        "a_head_agrees_with_its_handoffs"
        "children_are_counted"
        "histories_are_numbered_without_gaps"
        "the_latest_response_is_in_the_history"
        "mailboxes_are_numbered_without_gaps"
        "marks_are_in_order"
        "unread_waking_mail_has_a_next_step"
        "waking_unread_is_exact"
        "a_wake_has_a_cause"
        "unfinished_work_is_looked_at_again"
        "work_not_begun_has_a_turn_or_a_wake"
        "a_thread_runs_again_where_its_turn_said_so"
        "losses_are_counted_with_what_was_given"
        "an_effect_has_its_thread"
        "effects_are_run"
        "set_aside_mail_is_told_to_its_sender";
    Turn:
        "a_live_turn_is_named_by_its_head"
        "no_token_is_above_the_newest"
        "a_turn_is_looked_at_while_it_lives"
        "a_turn_is_of_its_thread";
    Handoff:
        "closed_handoffs_have_their_times"
        "a_handoff_has_its_child"
        "a_handoff_has_its_assignment"
        "reports_are_counted"
        "a_mailed_report_is_in_the_mailbox"
        "an_end_is_told"
        "finished_work_waits_to_be_collected"
        "time_limits_are_looked_at"
        "deadlines_count_from_the_first_turn"
        "a_report_that_a_lost_turn_read_is_mail_again"
        "timelines_are_numbered_without_gaps"
        "reminders_are_counted";
}

impl Subject {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Agent, Self::Thread, Self::Turn, Self::Handoff];

    /// Those after `after`, in order. What one of two tables alone knows is among them.
    fn list(self) -> &'static str {
        match self {
            Self::Agent => include_str!("sql/invariants/list/agents.sql"),
            Self::Thread => include_str!("sql/invariants/list/threads.sql"),
            Self::Turn => include_str!("sql/invariants/list/turns.sql"),
            Self::Handoff => include_str!("sql/invariants/list/handoffs.sql"),
        }
    }

    /// The id as callers know it.
    #[must_use]
    pub fn id(self, stored: &str) -> String {
        let typed = |id: fn(Uuid) -> String| stored.parse().map(id);
        let id = match self {
            Self::Agent => return stored.to_owned(),
            Self::Thread => typed(|id| ThreadId::from(id).to_string()),
            Self::Turn => typed(|id| TurnId::from(id).to_string()),
            Self::Handoff => typed(|id| HandoffId::from(id).to_string()),
        };
        id.unwrap_or_else(|_| stored.to_owned())
    }
}

impl Invariant {
    /// What it proves: the first lines of its statement.
    #[must_use]
    pub fn proves(&self) -> String {
        let comment = self
            .statement
            .lines()
            .map_while(|it| it.strip_prefix("-- "));
        comment.collect::<Vec<_>>().join(" ")
    }
}

/// Opens a snapshot in which all that is looked at is of one moment.
///
/// # Errors
/// The database is away.
pub async fn snapshot(pool: &PgPool) -> Result<Transaction<'static, Postgres>, StoreError> {
    Ok(answered(pool.begin_with(BEGIN)).await?)
}

/// Lists at most `limit` things after one, as they are stored.
///
/// # Errors
/// The database is away.
pub async fn list(
    connection: &mut PgConnection,
    namespace: &Namespace,
    subject: Subject,
    after: Option<&str>,
    limit: usize,
) -> Result<Vec<String>, StoreError> {
    let query = sqlx::query_scalar(subject.list())
        .bind(&namespace.0)
        .bind(after)
        .bind(i64::try_from(limit).unwrap_or(i64::MAX));
    Ok(answered(query.fetch_all(connection)).await?)
}

/// Finds which of `things` break an invariant, each once; none where that took too long.
///
/// # Errors
/// The database is away.
pub async fn violations(
    connection: &mut PgConnection,
    namespace: &Namespace,
    invariant: &'static Invariant,
    things: &[String],
) -> Result<Option<Vec<Violation>>, StoreError> {
    let query = sqlx::query_as(invariant.statement).bind(&namespace.0);
    let query = match invariant.subject {
        Subject::Agent => query.bind(things),
        Subject::Thread | Subject::Turn | Subject::Handoff => {
            let ids = things.iter().filter_map(|id| id.parse().ok());
            query.bind(ids.collect::<Vec<Uuid>>())
        }
    };
    let rows: Vec<(String, String)> = match answered(query.fetch_all(connection)).await {
        Err(error) if is_timeout(&error) => return Ok(None),
        rows => rows?,
    };
    let violation = |(stored, problem): (String, String)| Violation {
        invariant: invariant.name,
        id: invariant.subject.id(&stored),
        problem,
    };
    Ok(Some(rows.into_iter().map(violation).collect()))
}

/// The database gave up the statement.
fn is_timeout(error: &sqlx::Error) -> bool {
    let database = error.as_database_error();
    database.is_some_and(|error| error.code().as_deref() == Some("57014"))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use super::*;

    #[test]
    fn every_file_is_an_invariant_and_says_what_it_proves() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/store/sql/invariants");
        let files = std::fs::read_dir(folder).unwrap();
        let files = files.map(|file| file.unwrap().path());
        let files: BTreeSet<String> = files
            .filter(|path| path.extension().is_some_and(|it| it == "sql"))
            .map(|path| path.file_stem().unwrap().to_string_lossy().into_owned())
            .collect();
        let names: BTreeSet<String> = ALL.iter().map(|it| it.name.to_owned()).collect();
        assert_eq!(names, files);
        assert_eq!(names.len(), ALL.len(), "a name stands twice");
        for invariant in ALL {
            assert!(
                invariant.proves().ends_with(['.', ')']),
                "{}",
                invariant.name
            );
        }
        assert!(ALL.is_sorted_by_key(|it| it.subject));
    }
}
