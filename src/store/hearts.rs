//! Hearts: the few columns of turns that heartbeats read and write, without a lock in between.

use std::time::Duration;

use sqlx::Row;

use crate::domain::ids::TurnId;
use crate::domain::time::Timestamp;
use crate::domain::turns::Activity;
use crate::domain::turns::heart::{Heart, Hearts};
use crate::domain::world::{Stored, Table};

use super::StoreError;
use super::codec::{Address, Unknown, big, count};
use super::patience::answered;
use super::turns::turn_state;
use super::txn::Txn;

const READ: &str = include_str!("sql/read_hearts.sql");
const UPDATE: &str = include_str!("sql/update_hearts.sql");

#[derive(sqlx::Type)]
#[sqlx(type_name = "heart_row")]
struct HeartRow {
    address: Address,
    version: i64,
    turn_id: TurnId,
    runtime_id: String,
    token: i64,
    state: String,
    end_time: Option<Timestamp>,
    outcome: Option<String>,
    activity_time: Timestamp,
    activity_number: i64,
    tool_calls: i64,
    last_tool: Option<String>,
    last_tool_time: Option<Timestamp>,
    input_tokens: i64,
    output_tokens: i64,
    is_told: bool,
}

impl TryFrom<HeartRow> for Heart {
    type Error = Unknown;

    fn try_from(row: HeartRow) -> Result<Self, Unknown> {
        Ok(Self {
            turn_id: row.turn_id,
            runtime_id: row.runtime_id,
            token: count(row.token),
            state: turn_state(&row.state, row.end_time, row.outcome.as_deref())?,
            activity_time: row.activity_time,
            activity: Activity {
                number: count(row.activity_number),
                tool_calls: count(row.tool_calls),
                last_tool: row.last_tool,
                last_tool_time: row.last_tool_time,
                input_tokens: count(row.input_tokens),
                output_tokens: count(row.output_tokens),
            },
            partial_text: None,
            is_told: row.is_told,
        })
    }
}

#[derive(sqlx::Type)]
#[sqlx(type_name = "beat_row")]
struct BeatRow {
    address: Address,
    version: i64,
    activity_time: Timestamp,
    activity_number: i64,
    tool_calls: i64,
    last_tool: Option<String>,
    last_tool_time: Option<Timestamp>,
    partial_text: Option<String>,
    input_tokens: i64,
    output_tokens: i64,
}

impl BeatRow {
    fn new((stored, heart): (Stored, &Heart)) -> Self {
        let activity = &heart.activity;
        Self {
            address: Address(stored.address),
            version: stored.version,
            activity_time: heart.activity_time,
            activity_number: big(activity.number),
            tool_calls: big(activity.tool_calls),
            last_tool: activity.last_tool.clone(),
            last_tool_time: activity.last_tool_time,
            partial_text: heart.partial_text.clone(),
            input_tokens: big(activity.input_tokens),
            output_tokens: big(activity.output_tokens),
        }
    }
}

impl Txn<'_> {
    /// Reads the hearts of `turns`.
    ///
    /// # Errors
    /// The database is away.
    pub async fn hearts(
        &mut self,
        turns: &[TurnId],
        lease: Duration,
    ) -> Result<Hearts, StoreError> {
        let query = sqlx::query(READ).bind(&self.namespace.0).bind(turns);
        let row = answered(query.fetch_one(&mut *self.transaction)).await?;
        let mut of = Table::default();
        for row in row.try_get::<Vec<HeartRow>, _>("hearts")? {
            let stored = Stored {
                address: row.address.0,
                version: row.version,
            };
            of.load(row.turn_id, Heart::try_from(row)?, stored);
        }
        Ok(Hearts {
            now: row.try_get("now")?,
            lease,
            of,
        })
    }

    /// Writes those that beat.
    ///
    /// # Errors
    /// One of them changed since it was read, or is held by somebody; the database is away.
    pub async fn beat(&mut self, hearts: &Hearts) -> Result<(), StoreError> {
        let rows: Vec<BeatRow> = hearts.of.updates().map(BeatRow::new).collect();
        let beaten = rows.len() as u64;
        let query = sqlx::query(UPDATE)
            .bind(&self.namespace.0)
            .bind(rows)
            .bind(hearts.now)
            .bind(hearts.lease_expire_time());
        let written = answered(query.execute(&mut *self.transaction)).await?;
        if written.rows_affected() == beaten {
            Ok(())
        } else {
            Err(StoreError::Conflict)
        }
    }
}
