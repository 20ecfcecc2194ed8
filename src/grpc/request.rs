//! What a call says beside its message: for which tenant, by when.

use std::time::Duration;

use tokio::time::Instant;
use tonic::metadata::MetadataMap;

use super::layers::NAMESPACE_HEADER;
use crate::app::error::Error;
use crate::app::pipeline;
use crate::domain::ids::Namespace;

/// The tenant of a call that names none.
const DEFAULT_NAMESPACE: &str = "default";

/// How long a change whose caller set no deadline may wait for rows that somebody holds.
const MUTATION_DEADLINE: Duration = Duration::from_secs(30);

/// The longest timeout taken at its word; beyond it a caller means that it waits for ever.
const LONGEST_TIMEOUT: Duration = Duration::from_hours(24 * 365);

/// The circumstances of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    /// The tenant.
    pub(crate) namespace: Namespace,
    /// When the caller stops waiting, where it said so.
    pub(crate) deadline: Option<Instant>,
    size: usize,
}

impl Call {
    /// Reads them, and takes the message out.
    ///
    /// # Errors
    /// The namespace is no name, or is given more than once.
    pub(crate) fn open<M: prost::Message>(request: tonic::Request<M>) -> Result<(Self, M), Error> {
        let call = Self {
            namespace: namespace(request.metadata())?,
            deadline: timeout(request.metadata()).map(|timeout| Instant::now() + timeout),
            size: request.get_ref().encoded_len(),
        };
        Ok((call, request.into_inner()))
    }

    /// The same for the pipeline, where a wait always has an end.
    pub(crate) fn mutating(&self, request_id: Option<String>) -> pipeline::Request {
        pipeline::Request {
            namespace: self.namespace.clone(),
            request_id,
            size: self.size,
            deadline: Some(
                self.deadline
                    .unwrap_or_else(|| Instant::now() + MUTATION_DEADLINE),
            ),
        }
    }
}

fn namespace(metadata: &MetadataMap) -> Result<Namespace, Error> {
    let mut values = metadata.get_all(NAMESPACE_HEADER.as_str()).iter();
    let Some(value) = values.next() else {
        return Ok(Namespace(DEFAULT_NAMESPACE.to_owned()));
    };
    // Whichever was meant, the other would get what is not its own.
    if values.next().is_some() {
        return Err(Error::NamespaceRepeated);
    }
    let name = value.to_str().ok().filter(|name| is_namespace(name));
    name.map(|name| Namespace(name.to_owned()))
        .ok_or(Error::NamespaceInvalid)
}

fn is_namespace(name: &str) -> bool {
    let alphanumeric = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = name.as_bytes();
    bytes.len() <= 63
        && bytes.first().is_some_and(alphanumeric)
        && bytes
            .iter()
            .all(|byte| alphanumeric(byte) || b"._-".contains(byte))
}

/// The header `grpc-timeout`. A value that is none counts as absent, as gRPC demands of servers; of
/// several the shortest holds, so that no call outlives a time after which its caller may be gone.
fn timeout(metadata: &MetadataMap) -> Option<Duration> {
    let values = metadata.get_all("grpc-timeout").iter();
    values
        .filter_map(|value| read_timeout(value.to_str().ok()?))
        .min()
}

/// Up to eight digits and a unit.
fn read_timeout(text: &str) -> Option<Duration> {
    let (digits, unit) = text.split_at_checked(text.len().checked_sub(1)?)?;
    if digits.is_empty() || digits.len() > 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let count: u64 = digits.parse().ok()?;
    let timeout = match unit {
        "H" => Duration::from_secs(count * 3_600),
        "M" => Duration::from_secs(count * 60),
        "S" => Duration::from_secs(count),
        "m" => Duration::from_millis(count),
        "u" => Duration::from_micros(count),
        "n" => Duration::from_nanos(count),
        _ => return None,
    };
    Some(timeout.min(LONGEST_TIMEOUT))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_are_short_lower_case_names() {
        let longest = "a".repeat(63);
        for name in ["default", "0", "a.b_c-d", &longest] {
            assert!(is_namespace(name), "{name}");
        }
        let too_long = "a".repeat(64);
        for name in ["", "A", ".a", "-", "a b", "a/b", "ä", &too_long] {
            assert!(!is_namespace(name), "{name}");
        }
    }

    fn metadata(name: &'static str, values: &[&'static str]) -> MetadataMap {
        let mut metadata = MetadataMap::new();
        for value in values {
            metadata.append(name, value.parse().unwrap());
        }
        metadata
    }

    #[test]
    fn a_namespace_is_given_once() {
        let read = |values: &[&'static str]| namespace(&metadata("handoffd-namespace", values));
        assert_eq!(read(&[]).unwrap().0, "default");
        assert_eq!(read(&["a"]).unwrap().0, "a");
        for twice in [["a", "b"], ["a", "a"], ["", "a"]] {
            assert!(matches!(read(&twice), Err(Error::NamespaceRepeated)));
        }
    }

    #[test]
    fn of_several_timeouts_the_shortest_holds() {
        let read = |values: &[&'static str]| timeout(&metadata("grpc-timeout", values));
        assert_eq!(read(&["2S", "1S", "x"]), Some(Duration::from_secs(1)));
        assert_eq!(read(&["x"]), None);
    }

    #[test]
    fn the_timeout_is_read_in_every_unit_and_nonsense_is_no_timeout() {
        let read = |text: &'static str| timeout(&metadata("grpc-timeout", &[text]));
        assert_eq!(read("2H"), Some(Duration::from_hours(2)));
        assert_eq!(read("3M"), Some(Duration::from_mins(3)));
        assert_eq!(read("99999999n"), Some(Duration::from_nanos(99_999_999)));
        assert_eq!(read("99999999H"), Some(LONGEST_TIMEOUT));
        for nonsense in ["", "S", "1", "1x", "-1S", "999999999S", "1.5S"] {
            assert_eq!(read(nonsense), None, "{nonsense}");
        }
    }
}
