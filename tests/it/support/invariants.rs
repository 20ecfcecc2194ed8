//! What must be true of the database after every test: what `CheckInvariants` proves.

use handoffd::domain::ids::Namespace;
use handoffd::store::invariants::{ALL, Subject, list, violations};
use sqlx::{PgConnection, PgPool};

/// More things than any test makes.
const EVERYTHING: usize = 100_000;

/// Fails with whatever breaks an invariant, in any namespace.
pub(crate) async fn check(pool: &PgPool) {
    let mut connection = pool.acquire().await.unwrap();
    let broken = broken(&mut connection).await;
    assert!(
        broken.is_empty(),
        "invariants broken:\n{}",
        broken.join("\n")
    );
}

/// What breaks an invariant now, as this connection sees it: the invariant, the thing, what is wrong.
pub(crate) async fn broken(connection: &mut PgConnection) -> Vec<String> {
    let namespaces: Vec<String> = sqlx::query_scalar("SELECT namespace FROM namespaces ORDER BY 1")
        .fetch_all(&mut *connection)
        .await
        .unwrap();
    let mut broken = Vec::new();
    for namespace in namespaces.into_iter().map(Namespace) {
        for subject in Subject::ALL {
            let things = list(connection, &namespace, subject, None, EVERYTHING)
                .await
                .unwrap();
            for invariant in ALL.iter().filter(|it| it.subject == subject) {
                let found = violations(connection, &namespace, invariant, &things).await;
                let found = found.unwrap().unwrap();
                broken.extend(found.iter().map(|it| {
                    format!("{} in {namespace}: {}: {}", it.invariant, it.id, it.problem)
                }));
            }
        }
    }
    broken
}
