//! Points in time as the database counts them: whole microseconds.

use std::fmt;
use std::time::Duration;

/// A moment, in microseconds since the Unix epoch. Only the store makes one from a clock.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(transparent)]
pub struct Timestamp(i64);

impl Timestamp {
    /// The earliest moment that can be told.
    pub const MIN: Self = Self(i64::MIN);

    /// The moment `micros` microseconds after the Unix epoch.
    #[must_use]
    pub const fn from_unix_micros(micros: i64) -> Self {
        Self(micros)
    }

    /// Microseconds since the Unix epoch.
    #[must_use]
    pub const fn unix_micros(self) -> i64 {
        self.0
    }

    /// Milliseconds since the Unix epoch, rounded down; 0 before it.
    #[must_use]
    pub fn unix_millis(self) -> u64 {
        u64::try_from(self.0.div_euclid(1_000)).unwrap_or(0)
    }

    /// How long it is since `earlier`; zero when that lies in the future.
    #[must_use]
    pub fn since(self, earlier: Self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.saturating_sub(earlier.0)).unwrap_or(0))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_add(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)),
        )
    }
}

impl std::ops::Sub<Duration> for Timestamp {
    type Output = Self;

    fn sub(self, span: Duration) -> Self {
        Self(
            self.0
                .saturating_sub(i64::try_from(span.as_micros()).unwrap_or(i64::MAX)),
        )
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0.div_euclid(1_000_000);
        let micros = self.0.rem_euclid(1_000_000);
        let (year, month, day) = civil_from_days(seconds.div_euclid(86_400));
        let of_day = seconds.rem_euclid(86_400);
        let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
        write!(
            f,
            "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{micros:06}Z"
        )
    }
}

/// The proleptic Gregorian date of a day number counted from 1970-01-01.
fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let day_of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_index = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_index + 2) / 5 + 1;
    let month = if month_index < 10 {
        month_index + 3
    } else {
        month_index - 9
    };
    (year_of_era + era * 400 + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_moment_is_written_as_rfc_3339() {
        assert_eq!(
            Timestamp(1_798_761_599_000_001).to_string(),
            "2026-12-31T23:59:59.000001Z"
        );
        assert_eq!(Timestamp(-1).to_string(), "1969-12-31T23:59:59.999999Z");
    }

    #[test]
    fn arithmetic_saturates() {
        assert_eq!(Timestamp(i64::MAX) + Duration::MAX, Timestamp(i64::MAX));
        assert_eq!(Timestamp(5).since(Timestamp(9)), Duration::ZERO);
    }
}
