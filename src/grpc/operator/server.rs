//! `GetServer`, as the wire spells it.

use crate::app::hints::Hearing;
use crate::app::operator::{LongTransaction, ServerView};
use crate::grpc::encode::duration;
use crate::proto::v1;

/// A server and its database.
pub(super) fn encode(server: ServerView) -> v1::Server {
    let listener_state = match server.hearing {
        Hearing::Up => v1::ListenerState::Up,
        Hearing::Lost => v1::ListenerState::Lost,
        Hearing::Off => v1::ListenerState::Off,
    };
    let long = |it: LongTransaction| v1::LongTransaction {
        process_id: it.process_id,
        application: it.application,
        idle: it.idle,
        age: Some(duration(it.age)),
    };
    v1::Server {
        release: server.release.to_owned(),
        database_version: server.database_version,
        schema_version: server.schema_version,
        clock_ahead: Some(signed(server.clock_ahead_micros)),
        listener_state: listener_state.into(),
        long_transactions: server.long_transactions.into_iter().map(long).collect(),
    }
}

/// A span that may be negative: then both parts are.
fn signed(micros: i64) -> prost_types::Duration {
    prost_types::Duration {
        seconds: micros / 1_000_000,
        nanos: i32::try_from(micros % 1_000_000 * 1_000).unwrap_or(0),
    }
}
