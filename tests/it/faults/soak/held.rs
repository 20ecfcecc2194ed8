//! Somebody keeps a transaction open, with a snapshot, and does nothing: what a forgotten session, a
//! backup or a replica does. The database can then clean up nothing, and every change leaves its old row.

use std::str::FromStr;

use handoffd::proto::v1::GetServerRequest;
use sqlx::postgres::{PgConnectOptions, PgConnection};
use sqlx::{ConnectOptions, Connection};

use super::plan::Plan;
use super::site::Site;
use crate::faults::workload::Work;
use crate::faults::workload::account::Part;
use crate::support::pause;

const NAME: &str = "sleeper";
/// From this age on a server tells of such transactions.
const TOLD: u64 = 60;

/// Keeps one open for the phase that is meant for it.
pub(super) async fn keep(site: &Site, work: &Work, plan: &Plan) {
    pause(plan.steady()).await;
    let options = PgConnectOptions::from_str(&site.url).unwrap();
    let mut session = options.application_name(NAME).connect().await.unwrap();
    sqlx::raw_sql("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM service")
        .execute(&mut session)
        .await
        .unwrap();
    pause(plan.held).await;
    let held_back = held_back(site).await;
    work.holds(held_back > 0, || {
        "nothing was held back: the phase showed nothing".to_owned()
    });
    work.add(
        Part::Checks,
        "transactions begun while one was kept open",
        held_back.try_into().unwrap(),
    );
    if plan.held.as_secs() > TOLD {
        is_told(work).await;
    }
    end(session).await;
}

async fn end(mut session: PgConnection) {
    sqlx::raw_sql("COMMIT").execute(&mut session).await.unwrap();
    session.close().await.unwrap();
}

/// Transactions whose leftovers cannot be cleaned up for it.
async fn held_back(site: &Site) -> i64 {
    let age = "SELECT coalesce(max(age(backend_xmin)), 0)::bigint FROM pg_stat_activity
        WHERE application_name = $1 AND state = 'idle in transaction'";
    let age = sqlx::query_scalar(age).bind(NAME);
    age.fetch_one(&site.pool).await.unwrap()
}

/// An operator is told who it is.
async fn is_told(work: &Work) {
    let get = GetServerRequest::default();
    let server = work
        .link
        .accepted("a server tells what it is", async |server| {
            server.operators().get_server(get).await
        });
    let told = server.await.server.unwrap().long_transactions;
    let named = told.iter().any(|it| it.application == NAME && it.idle);
    work.holds(named, || {
        format!("no server tells who holds back the cleaning: {told:?}")
    });
    let own = told.iter().filter(|it| it.application == "handoffd");
    let own: Vec<_> = own.collect();
    work.holds(own.is_empty(), || {
        format!("a server holds back the cleaning itself: {own:?}")
    });
}
