//! What R is asked: its parts and parameters.

use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::Query;

use crate::domain::ask::Ask;
use crate::domain::ids::{EffectId, HandoffId, Namespace, ThreadId, TurnId};
use crate::domain::limits;
use crate::domain::world::World;

use super::codec::big;
use super::parts::needed;

pub(super) const READ: &str = include_str!("sql/read_rows.sql");

/// The parts of R that `ask` needs.
pub(super) fn parts(ask: &Ask) -> Vec<&'static str> {
    needed([
        ("agents", !ask.agents.is_empty()),
        ("names", !ask.names.is_empty()),
        ("threads", !ask.threads.is_empty()),
        ("pairs", !ask.pairs.is_empty()),
        ("mail", !ask.mail.is_empty()),
        ("waking", !ask.waking.is_empty()),
        ("envelopes", !ask.envelopes.is_empty()),
        ("open_children", !ask.open_children.is_empty()),
        ("reports", !ask.reports.is_empty()),
        ("read_reports", !ask.read_reports.is_empty()),
        ("work", !ask.work.is_empty()),
        ("effects", !ask.effects.is_empty()),
        ("named", !ask.named.is_empty()),
    ])
}

type Statement<'q> = Query<'q, Postgres, PgArguments>;

/// Gives R its parameters; marks are those of the locked heads.
pub(super) fn bind<'q>(
    query: Statement<'q>,
    namespace: &Namespace,
    ask: &Ask,
    world: &World,
) -> Statement<'q> {
    let consumed = |id: &ThreadId| {
        world
            .heads
            .get(id)
            .map_or(0, |head| big(head.consumed_through))
    };
    let waking: Vec<i64> = ask.waking.iter().map(consumed).collect();
    let unread: Vec<i64> = ask.envelopes.iter().map(consumed).collect();
    let (recipients, senders): (Vec<ThreadId>, Vec<ThreadId>) = ask.pairs.iter().copied().unzip();
    query
        .bind(namespace.0.clone())
        .bind(ask.agents.iter().cloned().collect::<Vec<String>>())
        .bind(ask.threads.iter().copied().collect::<Vec<ThreadId>>())
        .bind(recipients)
        .bind(senders)
        .bind(world.now - world.rules.pair_window)
        .bind(ask.mail.keys().copied().collect::<Vec<ThreadId>>())
        .bind(
            ask.mail
                .values()
                .map(|mail| big(mail.above))
                .collect::<Vec<i64>>(),
        )
        .bind(
            ask.mail
                .values()
                .map(|mail| i64::try_from(mail.limit).unwrap_or(i64::MAX))
                .collect::<Vec<_>>(),
        )
        .bind(ask.waking.iter().copied().collect::<Vec<ThreadId>>())
        .bind(waking)
        .bind(ask.open_children.iter().copied().collect::<Vec<ThreadId>>())
        .bind(ask.reports.iter().copied().collect::<Vec<HandoffId>>())
        .bind(ask.work.iter().copied().collect::<Vec<HandoffId>>())
        .bind(ask.named.iter().copied().collect::<Vec<HandoffId>>())
        .bind(ask.envelopes.iter().copied().collect::<Vec<ThreadId>>())
        .bind(unread)
        .bind(ask.effects.iter().copied().collect::<Vec<EffectId>>())
        .bind(
            ask.mail
                .values()
                .map(|mail| i64::try_from(ask.mail_bytes(mail)).unwrap_or(i64::MAX))
                .collect::<Vec<_>>(),
        )
        .bind(ask.names.iter().cloned().collect::<Vec<String>>())
        .bind(big(limits::BATCH_WORK_BYTES as u64))
        .bind(big(limits::JSON_BYTES as u64))
        .bind(ask.read_reports.iter().copied().collect::<Vec<TurnId>>())
}
