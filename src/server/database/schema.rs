//! Which schemas this release runs with.
//!
//! A schema's version is that of its newest migration. A rolling upgrade migrates first and replaces
//! servers after, so a release must run with its own schema and the next release's; and a server
//! that comes up before its migration job must run with the one before. The older two it knows. What
//! a *later* schema still supports only the later release knows, so it says so in the database, in
//! the one row of `_handoffd_schema`, when it migrates: the oldest server version it bears.

use std::fmt;

use sqlx::{PgConnection, PgPool};

use super::DatabaseError;
use super::migrate::MIGRATOR;

/// The newest migration of the release before this one; none where this is the first.
const PREVIOUS_RELEASE: Option<i64> = None;

/// The schema versions that a release runs with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaRange {
    /// The release before.
    pub oldest: i64,
    /// The release's own; a later one is accepted where it says that it bears this.
    pub own: i64,
}

/// What a database has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SchemaFound {
    /// Its newest migration; none where it was never migrated.
    pub newest: Option<i64>,
    /// The oldest server version that it bears, as the release that migrated it says.
    pub bears: Option<i64>,
    /// How many of our migrations up to `newest` it lacks.
    pub gaps: usize,
}

/// The schema versions that this release runs with.
pub static SUPPORTED_SCHEMA: std::sync::LazyLock<SchemaRange> = std::sync::LazyLock::new(|| {
    let own = MIGRATOR
        .iter()
        .map(|migration| migration.version)
        .max()
        .unwrap_or_default();
    SchemaRange {
        oldest: PREVIOUS_RELEASE.unwrap_or(own),
        own,
    }
});

impl fmt::Display for SchemaRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.oldest < self.own {
            write!(f, "{} to ", self.oldest)?;
        }
        write!(f, "{} and that of the release after", self.own)
    }
}

impl fmt::Display for SchemaFound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.newest, self.gaps) {
            (None, _) => f.write_str("none"),
            (Some(newest), 0) => write!(f, "{newest}"),
            (Some(newest), gaps) => write!(f, "{newest} (migrations left out: {gaps})"),
        }
    }
}

/// Checks that this release runs with the database's schema.
///
/// # Errors
/// It does not, or the database does not answer.
pub async fn check_schema(pool: &PgPool) -> Result<SchemaFound, DatabaseError> {
    let mut connection = pool.acquire().await?;
    let found = find(&mut connection).await?;
    judge(found, *SUPPORTED_SCHEMA)?;
    Ok(found)
}

fn judge(found: SchemaFound, supported: SchemaRange) -> Result<(), DatabaseError> {
    let advice = match found.newest {
        None => "; run `handoffd migrate`",
        Some(newest) if newest < supported.oldest || found.gaps > 0 => "; run `handoffd migrate`",
        Some(newest) if newest <= supported.own => return Ok(()),
        Some(_) if found.bears.is_some_and(|bears| bears <= supported.own) => return Ok(()),
        Some(_) => "; run a newer server",
    };
    Err(DatabaseError::Schema {
        found,
        supported,
        advice,
    })
}

async fn find(connection: &mut PgConnection) -> Result<SchemaFound, sqlx::Error> {
    let (migrated, recorded): (bool, bool) = sqlx::query_as(
        "SELECT to_regclass('_sqlx_migrations') IS NOT NULL,
                to_regclass('_handoffd_schema') IS NOT NULL",
    )
    .fetch_one(&mut *connection)
    .await?;
    let applied: Vec<i64> = if migrated {
        sqlx::query_scalar("SELECT version FROM _sqlx_migrations WHERE success")
            .fetch_all(&mut *connection)
            .await?
    } else {
        Vec::new()
    };
    let bears = if recorded {
        sqlx::query_scalar("SELECT oldest_server FROM _handoffd_schema")
            .fetch_optional(&mut *connection)
            .await?
    } else {
        None
    };
    let newest = applied.iter().copied().max();
    let gaps = MIGRATOR
        .iter()
        .filter(|known| newest.is_some_and(|newest| known.version <= newest))
        .filter(|known| !applied.contains(&known.version))
        .count();
    Ok(SchemaFound {
        newest,
        bears,
        gaps,
    })
}

/// Leaves word of the oldest server that this release's schema bears. An older release that runs
/// its `migrate` late changes nothing.
pub(super) async fn record_compatibility(connection: &mut PgConnection) -> Result<(), sqlx::Error> {
    sqlx::query(
        "CREATE TABLE IF NOT EXISTS _handoffd_schema (
             only_row      boolean NOT NULL DEFAULT true,
             schema        bigint  NOT NULL,
             oldest_server bigint  NOT NULL,
             CONSTRAINT _handoffd_schema_pkey PRIMARY KEY (only_row),
             CONSTRAINT _handoffd_schema_only_row_check CHECK (only_row)
         )",
    )
    .execute(&mut *connection)
    .await?;
    sqlx::query(
        "INSERT INTO _handoffd_schema AS held (schema, oldest_server)
         VALUES ($1, $2)
         ON CONFLICT (only_row) DO UPDATE
         SET schema = EXCLUDED.schema, oldest_server = EXCLUDED.oldest_server
         WHERE held.schema < EXCLUDED.schema",
    )
    .bind(SUPPORTED_SCHEMA.own)
    .bind(SUPPORTED_SCHEMA.oldest)
    .execute(&mut *connection)
    .await?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const RELEASE: SchemaRange = SchemaRange {
        oldest: 20,
        own: 30,
    };

    fn verdict(newest: Option<i64>, bears: Option<i64>, gaps: usize) -> Result<(), String> {
        judge(
            SchemaFound {
                newest,
                bears,
                gaps,
            },
            RELEASE,
        )
        .map_err(|error| error.to_string())
    }

    #[test]
    fn its_own_the_one_before_and_the_one_after_are_accepted() {
        verdict(Some(30), Some(20), 0).unwrap();
        verdict(Some(20), Some(10), 0).unwrap();
        verdict(Some(40), Some(30), 0).unwrap();
    }

    #[test]
    fn anything_else_is_refused_and_says_which() {
        for (newest, bears, gaps) in [
            (None, None, 0),
            (Some(10), Some(10), 0),
            (Some(30), Some(20), 1),
            (Some(40), None, 0),
            (Some(50), Some(40), 0),
        ] {
            let refusal = verdict(newest, bears, gaps).unwrap_err();
            assert!(refusal.contains("20 to 30"), "{refusal}");
        }
    }

    #[test]
    fn the_previous_release_is_one_of_our_migrations() {
        assert!(MIGRATOR.version_exists(SUPPORTED_SCHEMA.oldest));
    }
}
