//! What must be true of the database after every test: what `CheckInvariants` proves.

use handoffd::domain::ids::Namespace;
use handoffd::store::StoreError;
use handoffd::store::invariants::{ALL, Subject, list, violations};
use sqlx::{PgConnection, PgPool};

/// More things than any test makes.
const EVERYTHING: usize = 1_000_000;

/// Fails with whatever breaks an invariant, in any namespace.
pub(crate) async fn check(pool: &PgPool) {
    let broken = found(pool).await.unwrap();
    assert!(
        broken.is_empty(),
        "invariants broken:\n{}",
        broken.join("\n")
    );
}

/// What breaks an invariant now. An error means that the database is away.
pub(crate) async fn found(pool: &PgPool) -> Result<Vec<String>, StoreError> {
    broken(&mut *pool.acquire().await?).await
}

/// The same, as this connection sees it: the invariant, the thing, what is wrong.
pub(crate) async fn broken(connection: &mut PgConnection) -> Result<Vec<String>, StoreError> {
    let namespaces: Vec<String> = sqlx::query_scalar("SELECT namespace FROM namespaces ORDER BY 1")
        .fetch_all(&mut *connection)
        .await?;
    let mut broken = Vec::new();
    for namespace in namespaces.into_iter().map(Namespace) {
        for subject in Subject::ALL {
            let things = list(connection, &namespace, subject, None, EVERYTHING).await?;
            for invariant in ALL.iter().filter(|it| it.subject == subject) {
                let found = violations(connection, &namespace, invariant, &things).await?;
                broken.extend(found.unwrap().iter().map(|it| {
                    format!("{} in {namespace}: {}: {}", it.invariant, it.id, it.problem)
                }));
            }
        }
    }
    Ok(broken)
}
