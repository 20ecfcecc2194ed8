//! Typed identifiers: a UUIDv7 inside, a type prefix and 32 hexadecimal digits outside.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

use super::time::Timestamp;

/// The text is no identifier of the wanted kind.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("must be `{prefix}_` and 32 lower-case hexadecimal digits")]
pub struct IdError {
    /// The prefix that was wanted.
    pub prefix: &'static str,
}

macro_rules! typed_id {
    ($(#[$doc:meta])* $name:ident, $prefix:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(transparent)]
        pub struct $name(Uuid);

        impl $name {
            /// What its text begins with.
            pub const PREFIX: &'static str = $prefix;

            /// The untyped value, for the store.
            #[must_use]
            pub const fn into_untyped(self) -> Uuid {
                self.0
            }
        }

        impl From<Uuid> for $name {
            fn from(value: Uuid) -> Self {
                Self(value)
            }
        }

        impl From<$name> for Uuid {
            fn from(value: $name) -> Self {
                value.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                parse(text, $prefix).map(Self)
            }
        }
    };
}

typed_id!(
    /// Identifies a thread.
    ThreadId,
    "thr"
);
typed_id!(
    /// Identifies a turn.
    TurnId,
    "trn"
);
typed_id!(
    /// Identifies a handoff.
    HandoffId,
    "hnd"
);
typed_id!(
    /// Identifies a message.
    MessageId,
    "msg"
);
typed_id!(
    /// Identifies a deferred effect.
    EffectId,
    "eff"
);

fn parse(text: &str, prefix: &'static str) -> Result<Uuid, IdError> {
    let digits = text
        .strip_prefix(prefix)
        .and_then(|rest| rest.strip_prefix('_'));
    digits
        .filter(|digits| digits.len() == 32)
        .filter(|digits| {
            digits
                .bytes()
                .all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        })
        .and_then(|digits| Uuid::try_parse(digits).ok())
        .ok_or(IdError { prefix })
}

/// The user's own name of a worker identity.
#[derive(
    Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct AgentId(pub String);

/// The name of a tenant.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Namespace(pub String);

impl fmt::Display for AgentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Namespace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Makes UUIDv7 identifiers that grow: milliseconds of the given time, a counter, 62 random bits.
pub struct IdSource {
    random: Box<dyn FnMut() -> u64 + Send>,
    millis: u64,
    counter: u16,
}

/// The counter has the 12 bits that UUIDv7 leaves between version and variant.
const COUNTER_MAX: u16 = 0x0fff;

impl fmt::Debug for IdSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("IdSource")
            .field("millis", &self.millis)
            .finish_non_exhaustive()
    }
}

impl IdSource {
    /// A source with random bits from `random`.
    #[must_use]
    pub fn new(random: impl FnMut() -> u64 + Send + 'static) -> Self {
        Self {
            random: Box::new(random),
            millis: 0,
            counter: 0,
        }
    }

    /// The next identifier, greater than all that this source made before.
    pub fn next<I: From<Uuid>>(&mut self, now: Timestamp) -> I {
        let millis = now.unix_millis();
        if millis > self.millis {
            self.millis = millis;
            self.counter = 0;
        } else if self.counter == COUNTER_MAX {
            self.millis += 1;
            self.counter = 0;
        } else {
            self.counter += 1;
        }
        let high =
            (u128::from(self.millis & 0xffff_ffff_ffff) << 16) | 0x7000 | u128::from(self.counter);
        let low = (u128::from((self.random)()) & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000;
        I::from(Uuid::from_u128((high << 64) | low))
    }

    /// The next identifier, of something that belongs to `kin`: they have their last byte in common,
    /// by which commands choose their lane. So everything that is done for a family of threads goes
    /// through one lane, and lanes do not wait for each other's locks.
    pub fn next_kin<I: From<Uuid> + Into<Uuid>>(&mut self, now: Timestamp, kin: Uuid) -> I {
        let own: Uuid = self.next::<I>(now).into();
        I::from(Uuid::from_u128(
            (own.as_u128() & !0xff) | (kin.as_u128() & 0xff),
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_survives_its_text_and_no_other_text_is_taken() {
        let id: ThreadId = IdSource::new(|| 1).next(Timestamp::from_unix_micros(1_000_000));
        assert_eq!(id.to_string().parse(), Ok(id));
        let upper = id.to_string().to_uppercase();
        let hyphenated = format!("thr_{}", id.into_untyped());
        for wrong in [
            "",
            "thr_",
            "thr_12",
            &upper,
            &hyphenated,
            &id.to_string()[4..],
        ] {
            assert_eq!(
                wrong.parse::<ThreadId>(),
                Err(IdError { prefix: "thr" }),
                "{wrong}"
            );
        }
        assert!(id.to_string().parse::<TurnId>().is_err());
    }

    #[test]
    fn ids_grow_even_when_time_stands_or_runs_back() {
        let mut source = IdSource::new(|| 7);
        let mut last: ThreadId = source.next(Timestamp::from_unix_micros(9_000_000));
        for step in 0..10_000 {
            let next: ThreadId = source.next(Timestamp::from_unix_micros(9_000_000 - step));
            assert!(next > last);
            assert_eq!(next.into_untyped().get_version_num(), 7);
            last = next;
        }
    }

    #[test]
    fn kin_share_their_last_byte_and_grow_all_the_same() {
        let mut source = IdSource::new(|| 0x1234);
        let now = Timestamp::from_unix_micros(9_000_000);
        let parent: ThreadId = source.next(now);
        let kin = parent.into_untyped();
        let (first, second): (TurnId, TurnId) =
            (source.next_kin(now, kin), source.next_kin(now, kin));
        assert!(first < second);
        assert_eq!(first.into_untyped().as_bytes()[15], kin.as_bytes()[15]);
    }
}

#[cfg(test)]
mod fuzz {
    use proptest::prelude::*;

    use super::*;
    use crate::fuzz::holds;

    /// The last moment that the API can tell, in microseconds.
    const LAST: i64 = 253_402_300_799_999_999;

    #[test]
    fn an_id_survives_its_text_and_is_of_one_kind() {
        holds(any::<u128>(), |value| {
            let id = ThreadId::from(Uuid::from_u128(value));
            let text = id.to_string();
            prop_assert_eq!(text.parse(), Ok(id));
            prop_assert!(text.parse::<TurnId>().is_err());
            prop_assert!(text.parse::<HandoffId>().is_err());
            prop_assert!(text.parse::<MessageId>().is_err());
            Ok(())
        });
    }

    #[test]
    fn text_is_taken_only_as_an_id_is_written() {
        let near = "(thr|trn|thr_|Thr_|thr-|thr__)[0-9a-fA-F-]{30,36}";
        let text = prop_oneof![any::<String>(), near, "thr_[0-9a-f]{32}"];
        holds(text, |text| {
            if let Ok(id) = text.parse::<ThreadId>() {
                prop_assert_eq!(id.to_string(), text);
            }
            Ok(())
        });
    }

    #[test]
    fn ids_are_ordered_as_their_texts_and_their_bytes_are() {
        holds(any::<(u128, u128)>(), |(one, other)| {
            let (one, other) = (Uuid::from_u128(one), Uuid::from_u128(other));
            let order = ThreadId::from(one).cmp(&ThreadId::from(other));
            let texts = (
                ThreadId::from(one).to_string(),
                ThreadId::from(other).to_string(),
            );
            prop_assert_eq!(order, texts.0.cmp(&texts.1));
            prop_assert_eq!(order, one.as_bytes().cmp(other.as_bytes()));
            Ok(())
        });
    }

    #[test]
    fn a_source_grows_whatever_the_time_does() {
        let times = prop::collection::vec((-1..=LAST, any::<bool>(), any::<u64>()), 1..40);
        holds(times, |times| {
            let mut random: Vec<u64> = times.iter().map(|(_, _, random)| *random).collect();
            let mut source = IdSource::new(move || random.pop().unwrap_or_default());
            let kin = Uuid::from_u128(7);
            let mut last = None;
            for (time, of_kin, _) in times {
                let time = Timestamp::from_unix_micros(time);
                let next: TurnId = if of_kin {
                    source.next_kin(time, kin)
                } else {
                    source.next(time)
                };
                prop_assert!(last.is_none_or(|last| last < next));
                prop_assert_eq!(next.into_untyped().get_version_num(), 7);
                last = Some(next);
            }
            Ok(())
        });
    }
}
