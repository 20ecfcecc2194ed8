//! Types of single settings: spans of time, secrets, the format of the log.

use std::fmt;
use std::net::{AddrParseError, SocketAddr};
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A span of time, written as `90s`, `30m` or `7days`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Span(pub Duration);

impl Span {
    /// A span of whole seconds.
    #[must_use]
    pub const fn seconds(seconds: u64) -> Self {
        Self(Duration::from_secs(seconds))
    }
}

impl FromStr for Span {
    type Err = humantime::DurationError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        humantime::parse_duration(text).map(Self)
    }
}

impl TryFrom<String> for Span {
    type Error = humantime::DurationError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<Span> for String {
    fn from(span: Span) -> Self {
        span.to_string()
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        humantime::format_duration(self.0).fmt(f)
    }
}

/// Where metrics are shown: an address, or `off`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct MetricsAddress(pub Option<SocketAddr>);

impl FromStr for MetricsAddress {
    type Err = AddrParseError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text {
            "off" => Ok(Self(None)),
            address => address.parse().map(|address| Self(Some(address))),
        }
    }
}

impl TryFrom<String> for MetricsAddress {
    type Error = AddrParseError;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        text.parse()
    }
}

impl From<MetricsAddress> for String {
    fn from(address: MetricsAddress) -> Self {
        address
            .0
            .map_or_else(|| "off".to_owned(), |address| address.to_string())
    }
}

/// A URL that may hold a password. It shows itself without; only [`DatabaseUrl::expose`] gives it.
///
/// Empty means that none was given.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct DatabaseUrl(String);

impl DatabaseUrl {
    /// The URL as it was given, password included.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether none was given.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for DatabaseUrl {
    fn from(url: String) -> Self {
        Self(url.trim().to_owned())
    }
}

impl FromStr for DatabaseUrl {
    type Err = std::convert::Infallible;

    fn from_str(url: &str) -> Result<Self, Self::Err> {
        Ok(Self::from(url.to_owned()))
    }
}

impl fmt::Display for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&redacted(&self.0))
    }
}

impl fmt::Debug for DatabaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", redacted(&self.0))
    }
}

impl Serialize for DatabaseUrl {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&redacted(&self.0))
    }
}

/// What stands in place of a secret.
const HIDDEN: &str = "***";

/// The URL without its password, whether that stands before the host or among the parameters.
fn redacted(url: &str) -> String {
    if url.is_empty() {
        return String::new();
    }
    // What is no URL is hidden whole: better unreadable than told.
    let Some((scheme, rest)) = url.split_once("://") else {
        return HIDDEN.to_owned();
    };
    let (place, parameters) = match rest.split_once('?') {
        Some((place, parameters)) => (place, Some(parameters)),
        None => (rest, None),
    };
    let mut shown = format!("{scheme}://{}", without_password(place));
    if let Some(parameters) = parameters {
        let kept: Vec<&str> = parameters.split('&').map(hide_parameter).collect();
        shown.push('?');
        shown.push_str(&kept.join("&"));
    }
    shown
}

fn without_password(place: &str) -> String {
    // The last `@`: an unescaped one in the password must not end it early.
    match place.rsplit_once('@') {
        Some((user, host)) => match user.split_once(':') {
            Some((name, _)) => format!("{name}:{HIDDEN}@{host}"),
            None => place.to_owned(),
        },
        None => place.to_owned(),
    }
}

fn hide_parameter(parameter: &str) -> &str {
    let name = parameter.split('=').next().unwrap_or_default();
    if name.eq_ignore_ascii_case("password") {
        "password=***"
    } else {
        parameter
    }
}

/// How log lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_never_shown() {
        for (url, shown) in [
            ("postgres://me:secret@db/x", "postgres://me:***@db/x"),
            (
                "postgres://me:se@cr:et@db:5432/x",
                "postgres://me:***@db:5432/x",
            ),
            ("postgres://me@db/x", "postgres://me@db/x"),
            (
                "postgres:///x?host=/run&password=secret",
                "postgres:///x?host=/run&password=***",
            ),
            ("host=db password=secret", "***"),
            ("", ""),
        ] {
            let url = DatabaseUrl::from(url.to_owned());
            assert_eq!(url.to_string(), shown);
            assert_eq!(format!("{url:?}"), format!("{shown:?}"));
        }
    }

    #[test]
    fn metrics_are_shown_at_an_address_or_not_at_all() {
        for text in ["off", "127.0.0.1:9464", "[::]:9464"] {
            let address: MetricsAddress = text.parse().unwrap();
            assert_eq!(String::from(address), text);
        }
        assert!("9464".parse::<MetricsAddress>().is_err());
    }

    #[test]
    fn a_span_reads_what_it_writes() {
        for text in ["60s", "1h 30m", "7d", "250ms"] {
            let span: Span = text.parse().unwrap();
            assert_eq!(span.to_string().parse::<Span>().unwrap(), span);
        }
    }
}
