//! How plain domain values travel to and from PostgreSQL.

use std::error::Error;
use std::time::Duration;

use sqlx::encode::IsNull;
use sqlx::postgres::types::Oid;
use sqlx::postgres::{PgArgumentBuffer, PgHasArrayType, PgTypeInfo, PgValueRef};
use sqlx::{Decode, Encode, Postgres, Type};
use uuid::Uuid;

use crate::domain::ids::{AgentId, EffectId, HandoffId, MessageId, ThreadId, TurnId};
use crate::domain::time::Timestamp;

type Boxed = Box<dyn Error + Send + Sync>;

/// A stored value that the code does not know: a row that breaks an invariant, by name.
#[derive(Debug, thiserror::Error)]
#[error("`{value}` is no {what}")]
pub struct Unknown {
    what: &'static str,
    value: String,
}

/// Writes down once how the variants of an enum are spelled in SQL.
macro_rules! spelled {
    ($name:ty, $what:literal, { $($variant:pat => $text:literal = $value:expr),+ $(,)? }) => {
        impl $crate::store::codec::Spelled for $name {
            fn spell(self) -> &'static str {
                match self { $($variant => $text),+ }
            }

            fn read(text: &str) -> Result<Self, $crate::store::codec::Unknown> {
                match text {
                    $($text => Ok($value),)+
                    other => Err($crate::store::codec::Unknown::of($what, other)),
                }
            }
        }
    };
}
pub(crate) use spelled;

/// An enum with a fixed spelling in SQL.
pub(crate) trait Spelled: Sized {
    /// The text the database stores.
    fn spell(self) -> &'static str;
    /// The variant of a stored text.
    fn read(text: &str) -> Result<Self, Unknown>;
}

impl Unknown {
    pub(crate) fn of(what: &'static str, value: &str) -> Self {
        Self {
            what,
            value: value.to_owned(),
        }
    }
}

/// Reads an optional spelling.
pub(crate) fn read_opt<T: Spelled>(text: Option<&str>) -> Result<Option<T>, Unknown> {
    text.map(T::read).transpose()
}

/// A count as PostgreSQL keeps it; none of ours comes near the limit.
pub(crate) fn big(count: u64) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// A stored count; the CHECKs keep them from being negative.
pub(crate) fn count(stored: i64) -> u64 {
    u64::try_from(stored).unwrap_or(0)
}

/// A span as PostgreSQL keeps it: whole microseconds.
pub(crate) fn micros(span: Duration) -> i64 {
    i64::try_from(span.as_micros()).unwrap_or(i64::MAX)
}

/// A stored span.
pub(crate) fn span(micros: i64) -> Duration {
    Duration::from_micros(count(micros))
}

/// A small count as PostgreSQL keeps it.
pub(crate) fn int(count: u32) -> i32 {
    i32::try_from(count).unwrap_or(i32::MAX)
}

/// A stored small count.
pub(crate) fn small(stored: i32) -> u32 {
    u32::try_from(stored).unwrap_or(0)
}

macro_rules! uuid_backed {
    ($($name:ty),+) => {$(
        impl Type<Postgres> for $name {
            fn type_info() -> PgTypeInfo {
                <Uuid as Type<Postgres>>::type_info()
            }
        }

        impl PgHasArrayType for $name {
            fn array_type_info() -> PgTypeInfo {
                <Uuid as PgHasArrayType>::array_type_info()
            }
        }

        impl Encode<'_, Postgres> for $name {
            fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, Boxed> {
                <Uuid as Encode<'_, Postgres>>::encode_by_ref(&self.into_untyped(), buffer)
            }
        }

        impl Decode<'_, Postgres> for $name {
            fn decode(value: PgValueRef<'_>) -> Result<Self, Boxed> {
                <Uuid as Decode<'_, Postgres>>::decode(value).map(Self::from)
            }
        }
    )+};
}

uuid_backed!(ThreadId, TurnId, HandoffId, MessageId, EffectId);

impl Type<Postgres> for AgentId {
    fn type_info() -> PgTypeInfo {
        <String as Type<Postgres>>::type_info()
    }

    fn compatible(ty: &PgTypeInfo) -> bool {
        <String as Type<Postgres>>::compatible(ty)
    }
}

impl PgHasArrayType for AgentId {
    fn array_type_info() -> PgTypeInfo {
        <String as PgHasArrayType>::array_type_info()
    }
}

impl Encode<'_, Postgres> for AgentId {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, Boxed> {
        <&str as Encode<'_, Postgres>>::encode(self.0.as_str(), buffer)
    }
}

impl Decode<'_, Postgres> for AgentId {
    fn decode(value: PgValueRef<'_>) -> Result<Self, Boxed> {
        <String as Decode<'_, Postgres>>::decode(value).map(Self)
    }
}

/// `timestamptz` counts from 2000-01-01; this is that moment in Unix microseconds.
const POSTGRES_EPOCH: i64 = 946_684_800_000_000;
const TIMESTAMPTZ: Oid = Oid(1184);
const TIMESTAMPTZ_ARRAY: Oid = Oid(1185);

impl Type<Postgres> for Timestamp {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ)
    }
}

impl PgHasArrayType for Timestamp {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TIMESTAMPTZ_ARRAY)
    }
}

impl Encode<'_, Postgres> for Timestamp {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, Boxed> {
        let micros = self.unix_micros().saturating_sub(POSTGRES_EPOCH);
        <i64 as Encode<'_, Postgres>>::encode_by_ref(&micros, buffer)
    }
}

impl Decode<'_, Postgres> for Timestamp {
    fn decode(value: PgValueRef<'_>) -> Result<Self, Boxed> {
        let bytes: [u8; 8] = value.as_bytes()?.try_into()?;
        Ok(Self::from_unix_micros(
            i64::from_be_bytes(bytes).saturating_add(POSTGRES_EPOCH),
        ))
    }
}

/// The physical address of a row (its ctid): block and offset in one number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address(pub(crate) u64);

const TID: Oid = Oid(27);
const TID_ARRAY: Oid = Oid(1010);

impl Type<Postgres> for Address {
    fn type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TID)
    }
}

impl PgHasArrayType for Address {
    fn array_type_info() -> PgTypeInfo {
        PgTypeInfo::with_oid(TID_ARRAY)
    }
}

impl Encode<'_, Postgres> for Address {
    fn encode_by_ref(&self, buffer: &mut PgArgumentBuffer) -> Result<IsNull, Boxed> {
        buffer.extend_from_slice(&self.0.to_be_bytes()[2..]);
        Ok(IsNull::No)
    }
}

impl Decode<'_, Postgres> for Address {
    fn decode(value: PgValueRef<'_>) -> Result<Self, Boxed> {
        let mut bytes = [0; 8];
        let tid: [u8; 6] = value.as_bytes()?.try_into()?;
        bytes[2..].copy_from_slice(&tid);
        Ok(Self(u64::from_be_bytes(bytes)))
    }
}
