//! Facts in words for people: enum values, times, spans, who.

use std::time::Duration as Span;

use prost_types::{Duration, Timestamp};

use crate::proto::v1::{HandoffProgress, LiveState};
use crate::proto::v1::{Hint, HintAction, StallReason, WaitingKind, WaitingOn};
use crate::redact;

/// The value of an enum, in lower case and without the prefix that all of its values share. A value of
/// a newer server is shown by its number.
pub(super) fn word<E: TryFrom<i32>>(value: i32, name: fn(&E) -> &'static str) -> String {
    let (Ok(zero), Ok(value)) = (E::try_from(0), E::try_from(value)) else {
        return format!("value {value}");
    };
    let prefix = name(&zero).trim_end_matches("UNSPECIFIED");
    let name = name(&value);
    let word = name.strip_prefix(prefix).unwrap_or(name);
    word.to_lowercase().replace('_', " ")
}

/// The value of an enum that a person names by its word; `prefix` is what all of its values share.
pub(super) fn value<E>(word: &str, prefix: &str, read: fn(&str) -> Option<E>) -> Result<E, String> {
    let name = word.trim().to_uppercase().replace([' ', '-'], "_");
    Some(name)
        .filter(|name| name != "UNSPECIFIED")
        .and_then(|name| read(&format!("{prefix}{name}")))
        .ok_or_else(|| format!("`{word}` is none; the page docs/STATES.md lists them"))
}

/// A time, to the second; empty where there is none.
pub(super) fn time(time: Option<Timestamp>) -> String {
    time.map_or_else(String::new, |time| {
        Timestamp { nanos: 0, ..time }.to_string()
    })
}

/// A span in its two largest units; empty where there is none.
pub(super) fn span(span: Option<Duration>) -> String {
    let Some(span) = span else {
        return String::new();
    };
    let seconds = u64::try_from(span.seconds).unwrap_or_default();
    let words = humantime::format_duration(Span::from_secs(seconds)).to_string();
    let mut units = words.split(' ');
    match (units.next(), units.next()) {
        (Some(large), Some(small)) => format!("{large} {small}"),
        _ => words,
    }
}

/// How long after `begin` a time is, in seconds.
pub(super) fn after(begin: Option<Timestamp>, time: Option<Timestamp>) -> String {
    let (Some(begin), Some(time)) = (begin, time) else {
        return String::new();
    };
    let millis = (time.seconds - begin.seconds) * 1000
        + i64::from(time.nanos / 1_000_000 - begin.nanos / 1_000_000);
    format!("+{}.{:03}s", millis / 1000, millis.rem_euclid(1000))
}

/// A text of at most `longest` characters. What is left out is counted, and whole in the JSON.
pub(super) fn excerpt(text: &str, longest: usize) -> String {
    let text = redact::text(text);
    let characters = text.chars().count();
    if characters <= longest {
        return text;
    }
    let begin: String = text.chars().take(longest).collect();
    let left = characters - longest;
    format!("{begin}... ({left} more characters, see `--output json`)")
}

/// What the child of a handoff does; empty once the handoff is closed.
pub(super) fn live(progress: &HandoffProgress) -> String {
    let Some(live) = progress.live_state else {
        return String::new();
    };
    let live = word(live, LiveState::as_str_name);
    match progress.stall_reason {
        None => live,
        Some(reason) => format!("{live}: {}", word(reason, StallReason::as_str_name)),
    }
}

/// What to do, and why.
pub(super) fn hint(hint: &Hint) -> String {
    let action = word(hint.action, HintAction::as_str_name);
    format!("{action}: {}", redact::line(&hint.text))
}

/// What a child waits for; empty where for nothing.
pub(super) fn waiting(waiting: &WaitingOn) -> String {
    let agent = redact::line(&waiting.agent_id);
    let until = time(waiting.time);
    match WaitingKind::try_from(waiting.kind) {
        Ok(WaitingKind::Unspecified | WaitingKind::Nothing) => String::new(),
        Ok(WaitingKind::Runtime) => format!("a runtime that claims turns for `{agent}`"),
        Ok(WaitingKind::Slot) => {
            format!("a free slot of `{agent}`, which has {}", waiting.count)
        }
        Ok(WaitingKind::AgentDeactivated) => format!("`{agent}` to be activated"),
        Ok(WaitingKind::Timer) => format!("{until}, when it asked to be woken"),
        Ok(WaitingKind::Retry) => format!("{until}, when it runs again after a lost turn"),
        Ok(WaitingKind::Children) => format!(
            "{} unfinished handoffs of its own: {}",
            waiting.count,
            waiting.handoff_ids.join(", ")
        ),
        Ok(WaitingKind::Collection) => {
            format!("its parent thread to collect the result, until {until}")
        }
        Ok(WaitingKind::Caller) => "a call from outside".to_owned(),
        Err(_) => word(waiting.kind, WaitingKind::as_str_name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::proto::v1::HandoffStatus;

    #[test]
    fn values_are_words_without_their_prefix() {
        let words = |value: i32| word(value, HandoffStatus::as_str_name);
        assert_eq!(words(HandoffStatus::Running.into()), "running");
        assert_eq!(
            words(HandoffStatus::MaterializeFailed.into()),
            "materialize failed"
        );
        assert_eq!(words(99), "value 99");
    }

    #[test]
    fn spans_have_their_two_largest_units() {
        let spans = |seconds| span(Some(Duration { seconds, nanos: 5 }));
        assert_eq!(spans(0), "0s");
        assert_eq!(spans(59), "59s");
        assert_eq!(spans(3_725), "1h 2m");
        assert_eq!(span(None), "");
    }

    #[test]
    fn times_are_seconds_and_differences_millis() {
        let at = |seconds, nanos| Some(Timestamp { seconds, nanos });
        assert_eq!(time(at(0, 999)), "1970-01-01T00:00:00Z");
        assert_eq!(after(at(1, 900_000_000), at(3, 150_000_000)), "+1.250s");
    }

    #[test]
    fn an_excerpt_says_what_it_leaves_out() {
        assert_eq!(excerpt("äöü", 3), "äöü");
        assert!(excerpt("äöüß", 3).starts_with("äöü... (1 more"));
    }
}
