//! Reads the fields of a request and collects everything that is wrong with them.
//!
//! Each method answers a value even where the field is wrong, so that the rest is read too;
//! [`Check::finish`] lets the result through only when nothing was wrong.

use std::str::FromStr;
use std::time::Duration;

use uuid::Uuid;

use super::encode::Wire;
use super::json;
use crate::app::error::Error;
use crate::domain::caller::Caller;
use crate::domain::ids::{AgentId, IdError, TurnId};
use crate::domain::limits;
use crate::domain::mailbox::ack::ReportAck;
use crate::domain::refusal::Violation;
use crate::domain::time::Timestamp;
use crate::proto::v1;

/// See the module.
#[derive(Debug, Default)]
#[must_use = "what is wrong is told by `finish`"]
pub(crate) struct Check {
    violations: Vec<Violation>,
}

impl Check {
    /// Lets `value` through when no field was wrong.
    ///
    /// # Errors
    /// All violations at once.
    pub(crate) fn finish<T>(self, value: T) -> Result<T, Error> {
        if self.violations.is_empty() {
            Ok(value)
        } else {
            Err(Error::Invalid(self.violations))
        }
    }

    /// Says what is wrong with a field and what to send instead.
    pub(crate) fn wrong(&mut self, field: &str, description: impl Into<String>) {
        self.violations.push(Violation::new(field, description));
    }

    /// An id that must be there.
    pub(crate) fn id<I>(&mut self, field: &str, text: &str) -> I
    where
        I: FromStr<Err = IdError> + From<Uuid>,
    {
        if text.is_empty() {
            self.wrong(field, "is required");
            return I::from(Uuid::nil());
        }
        text.parse().unwrap_or_else(|error: IdError| {
            self.wrong(field, error.to_string());
            I::from(Uuid::nil())
        })
    }

    /// An id that is absent where the text is empty.
    pub(crate) fn opt_id<I>(&mut self, field: &str, text: &str) -> Option<I>
    where
        I: FromStr<Err = IdError> + From<Uuid>,
    {
        (!text.is_empty()).then(|| self.id(field, text))
    }

    /// Text of at most `max` characters, which may be empty.
    pub(crate) fn text(&mut self, field: &str, text: String, max: usize) -> String {
        let count = text.chars().count();
        if count > max {
            self.wrong(
                field,
                format!("has {count} characters and may have {max}; shorten it"),
            );
        }
        if text.contains('\0') {
            self.wrong(
                field,
                "holds the character NUL, which cannot be stored; leave it out",
            );
        }
        text
    }

    /// Text of 1 to `max` characters.
    pub(crate) fn required_text(&mut self, field: &str, text: String, max: usize) -> String {
        if text.is_empty() {
            self.wrong(field, format!("is required, 1 to {max} characters"));
        }
        self.text(field, text, max)
    }

    /// One line of at most `max` characters, which may be empty: no control characters.
    pub(crate) fn line(&mut self, field: &str, text: String, max: usize) -> String {
        if text.chars().any(|c| c.is_control() && c != '\0') {
            self.wrong(field, "must be one line without control characters");
        }
        self.text(field, text, max)
    }

    /// A name of 1 to `max` characters without control characters.
    pub(crate) fn name(&mut self, field: &str, text: String, max: usize) -> String {
        if text.is_empty() {
            self.wrong(field, format!("is required, 1 to {max} characters"));
        }
        self.line(field, text, max)
    }

    /// The id of an agent, which must be there.
    pub(crate) fn agent_id(&mut self, field: &str, text: String) -> AgentId {
        AgentId(self.name(field, text, limits::NAME_CHARS))
    }

    /// The id of an agent, absent where the text is empty.
    pub(crate) fn opt_agent_id(&mut self, field: &str, text: String) -> Option<AgentId> {
        (!text.is_empty()).then(|| self.agent_id(field, text))
    }

    /// `request_id`.
    pub(crate) fn request_id(&mut self, id: Option<String>) -> Option<String> {
        id.map(|id| self.required_text("request_id", id, limits::REQUEST_ID_CHARS))
    }

    /// An enum, none where it is UNSPECIFIED.
    pub(crate) fn choice<W: Wire>(&mut self, field: &str, value: i32) -> Option<W> {
        let Ok(proto) = W::Proto::try_from(value) else {
            self.wrong(
                field,
                format!("has no value {value}; use one of the enum's"),
            );
            return None;
        };
        W::read(proto)
    }

    /// An enum that must be there; `stand_in` is the answer where it is not.
    pub(crate) fn required_choice<W: Wire>(&mut self, field: &str, value: i32, stand_in: W) -> W {
        let before = self.violations.len();
        let choice = self.choice(field, value);
        if choice.is_none() && self.violations.len() == before {
            self.wrong(field, "is required; use a value other than UNSPECIFIED");
        }
        choice.unwrap_or(stand_in)
    }

    /// An enum field of a message that is present or absent; UNSPECIFIED counts as absent.
    pub(crate) fn opt_choice<W: Wire>(&mut self, field: &str, value: Option<i32>) -> Option<W> {
        value.and_then(|value| self.choice(field, value))
    }

    /// Free-form JSON, absent or within `bytes` and the limit of depth.
    pub(crate) fn json(
        &mut self,
        field: &str,
        value: Option<prost_types::Struct>,
        bytes: usize,
    ) -> Option<serde_json::Value> {
        let read = json::from_struct(value?, bytes, limits::JSON_DEPTH);
        read.map_err(|wrong| self.wrong(field, wrong)).ok()
    }

    /// A list of at most `max` entries.
    pub(crate) fn at_most(&mut self, field: &str, count: usize, max: usize) {
        if count > max {
            self.wrong(field, format!("has {count} entries and may have {max}"));
        }
    }

    /// A span from zero to `max`.
    pub(crate) fn duration(
        &mut self,
        field: &str,
        span: prost_types::Duration,
        max: Duration,
    ) -> Duration {
        let seconds = u64::try_from(span.seconds).ok();
        let nanos = u32::try_from(span.nanos)
            .ok()
            .filter(|nanos| *nanos < 1_000_000_000);
        let (Some(seconds), Some(nanos)) = (seconds, nanos) else {
            self.wrong(field, "must be a duration from zero up");
            return Duration::ZERO;
        };
        let span = Duration::new(seconds, nanos);
        if span > max {
            self.wrong(field, format!("may be {} s at most", max.as_secs()));
            return Duration::ZERO;
        }
        span
    }

    /// A span between two, absent where it is.
    pub(crate) fn opt_duration(
        &mut self,
        field: &str,
        span: Option<prost_types::Duration>,
        (min, max): (Duration, Duration),
    ) -> Option<Duration> {
        let wrong = self.violations.len();
        let span = self.duration(field, span?, max);
        if span < min && wrong == self.violations.len() {
            self.wrong(field, format!("must be {} s at least", min.as_secs()));
        }
        Some(span)
    }

    /// A moment, to the microsecond.
    pub(crate) fn timestamp(&mut self, field: &str, time: prost_types::Timestamp) -> Timestamp {
        /// 0001-01-01 and the end of 9999, the range of the wire's type.
        const SECONDS: std::ops::RangeInclusive<i64> = -62_135_596_800..=253_402_300_799;
        if !SECONDS.contains(&time.seconds) || !(0..1_000_000_000).contains(&time.nanos) {
            self.wrong(field, "must be a timestamp of the years 1 to 9999");
            return Timestamp::MIN;
        }
        Timestamp::from_unix_micros(time.seconds * 1_000_000 + i64::from(time.nanos) / 1_000)
    }

    /// Rows of a page: the default where it is unset, lowered to the maximum.
    pub(crate) fn page_size(&mut self, size: Option<i32>) -> usize {
        let Some(size) = size else {
            return limits::PAGE_DEFAULT;
        };
        match usize::try_from(size) {
            Ok(size) if size > 0 => size.min(limits::PAGE_MAX),
            _ => {
                self.wrong(
                    "page_size",
                    "must be 1 or more; leave it out for the default",
                );
                limits::PAGE_DEFAULT
            }
        }
    }

    /// Who calls: the turn, or nobody's thread.
    pub(crate) fn caller(&mut self, turn: Option<v1::TurnRef>) -> Caller {
        turn.map_or(Caller::Operator, |turn| self.turn("turn", &turn))
    }

    /// Reports that a thread says it received. Whether a version exists only its handoff tells.
    pub(crate) fn report_acks(&mut self, reports: &[v1::ReportAck]) -> Vec<ReportAck> {
        self.at_most("reports", reports.len(), limits::REPORT_ACKS);
        let each = reports.iter().take(limits::REPORT_ACKS).enumerate();
        each.map(|(at, report)| ReportAck {
            handoff_id: self.id(&format!("reports[{at}].handoff_id"), &report.handoff_id),
            version: report.version,
        })
        .collect()
    }

    /// A turn and its token.
    pub(crate) fn turn(&mut self, field: &str, turn: &v1::TurnRef) -> Caller {
        let turn_id: TurnId = self.id(&format!("{field}.turn_id"), &turn.turn_id);
        if turn.token == 0 {
            self.wrong(
                &format!("{field}.token"),
                "is required; use the token of the claim",
            );
        }
        Caller::Turn {
            turn_id,
            token: turn.token,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::handoffs::OnTurnLost;
    use crate::domain::ids::ThreadId;

    #[test]
    fn everything_that_is_wrong_is_told_at_once_by_its_path() {
        let mut check = Check::default();
        let _: ThreadId = check.id("thread_id", "trn_1");
        let _ = check.name("agent_id", String::new(), 3);
        let _ = check.line("title", "a\nb".to_owned(), 2);
        let _ = check.text("body", "\0".to_owned(), 9);
        let _: Option<OnTurnLost> = check.choice("on_turn_lost", 99);
        let _ = check.page_size(Some(0));
        let negative = prost_types::Duration {
            seconds: -1,
            nanos: 0,
        };
        let _ = check.duration("wait", negative, Duration::MAX);
        let _ = check.caller(Some(v1::TurnRef::default()));
        let Err(Error::Invalid(violations)) = check.finish(()) else {
            panic!("nothing was wrong");
        };
        let fields: Vec<&str> = violations.iter().map(|it| it.field.as_str()).collect();
        assert_eq!(
            fields,
            [
                "thread_id",
                "agent_id",
                "title",
                "title",
                "body",
                "on_turn_lost",
                "page_size",
                "wait",
                "turn.turn_id",
                "turn.token"
            ]
        );
    }

    #[test]
    fn limits_count_characters_and_may_be_reached() {
        let mut check = Check::default();
        assert_eq!(check.text("body", "äöü".to_owned(), 3), "äöü");
        assert_eq!(check.page_size(None), limits::PAGE_DEFAULT);
        assert_eq!(check.page_size(Some(i32::MAX)), limits::PAGE_MAX);
        assert_eq!(check.opt_id::<ThreadId>("thread_id", ""), None);
        assert!(check.finish(()).is_ok());
    }
}
