//! Route: ids to ids, unlocked, before the transaction of a batch.

use sqlx::Row;
use sqlx::postgres::PgConnection;

use crate::domain::command::{HandoffRoute, Route, RouteAsk, ThreadRoute, TurnRoute};
use crate::domain::ids::{AgentId, HandoffId, Namespace, ThreadId, TurnId};

use super::error::StoreError;
use super::patience::answered;

const ROUTE: &str = include_str!("sql/route_ids.sql");

/// Looks ids up without a lock, before the transaction.
///
/// # Errors
/// The database is away.
pub async fn route(
    connection: &mut PgConnection,
    namespace: &Namespace,
    ask: &RouteAsk,
) -> Result<Route, StoreError> {
    let turns: Vec<TurnId> = ask.turns.union(&ask.work).copied().collect();
    let threads: Vec<ThreadId> = ask.threads.iter().copied().collect();
    let handoffs: Vec<HandoffId> = ask.handoffs.iter().copied().collect();
    let query = sqlx::query(ROUTE)
        .bind(&namespace.0)
        .bind(turns)
        .bind(threads)
        .bind(handoffs);
    let row = answered(query.fetch_one(connection)).await?;
    let mut route = Route::default();
    for turn in row.try_get::<Vec<TurnRouteRow>, _>("turns")? {
        route.turns.insert(
            turn.turn_id,
            TurnRoute {
                thread_id: turn.thread_id,
                slot_of: turn.slot_of,
            },
        );
    }
    for thread in row.try_get::<Vec<ThreadRouteRow>, _>("threads")? {
        let known = ThreadRoute {
            parent_thread_id: thread.parent_thread_id,
            handoff_id: thread.handoff_id,
            turn_id: thread.turn_id,
            turn_running: thread.turn_running,
        };
        route.threads.insert(thread.thread_id, known);
    }
    for handoff in row.try_get::<Vec<HandoffRouteRow>, _>("handoffs")? {
        let known = HandoffRoute {
            parent_thread_id: handoff.parent_thread_id,
            child_thread_id: handoff.child_thread_id,
        };
        route.handoffs.insert(handoff.handoff_id, known);
    }
    Ok(route)
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "turn_route_row")]
struct TurnRouteRow {
    turn_id: TurnId,
    thread_id: ThreadId,
    slot_of: Option<AgentId>,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "thread_route_row")]
struct ThreadRouteRow {
    thread_id: ThreadId,
    parent_thread_id: Option<ThreadId>,
    handoff_id: Option<HandoffId>,
    turn_id: Option<TurnId>,
    turn_running: bool,
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "handoff_route_row")]
#[expect(clippy::struct_field_names, reason = "as the columns are named")]
struct HandoffRouteRow {
    handoff_id: HandoffId,
    parent_thread_id: Option<ThreadId>,
    child_thread_id: Option<ThreadId>,
}
