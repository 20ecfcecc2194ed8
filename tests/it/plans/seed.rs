//! A database that was filled, for all tests that only look at plans.

use sqlx::{Connection, PgConnection};
use tokio::sync::OnceCell;

use super::plan::raw;
use crate::support::database::TestDatabase;
use crate::support::invariants;

const SEED: &str = include_str!("seed.sql");

/// Every row is looked at, so that the statistics are the same each time.
const ANALYSE: &str = "SET default_statistics_target = 1000";

static SEEDED: OnceCell<TestDatabase> = OnceCell::const_new();

/// A connection to it.
pub(super) async fn connect() -> PgConnection {
    let database = SEEDED.get_or_init(seed).await;
    PgConnection::connect_with(&database.connect_options())
        .await
        .unwrap()
}

async fn seed() -> TestDatabase {
    let database = TestDatabase::create().await;
    let mut connection = PgConnection::connect_with(&database.connect_options())
        .await
        .unwrap();
    raw(&mut connection, SEED).await;
    raw(&mut connection, ANALYSE).await;
    raw(&mut connection, "VACUUM (ANALYZE)").await;
    connection.close().await.unwrap();
    database
}

#[tokio::test]
async fn the_seed_keeps_every_invariant() {
    let mut connection = connect().await;
    let broken = invariants::broken(&mut connection).await.unwrap();
    connection.close().await.unwrap();
    assert_eq!(broken, Vec::<String>::new());
}
