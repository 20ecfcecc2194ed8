//! Which field of a request is nested deeper than its reader goes.
//!
//! prost stops after 100 messages inside each other and tells no place that a caller knows. Only
//! free-form JSON nests without end, and of that no more than [`limits::JSON_DEPTH`] levels may be
//! sent, far less than prost's limit. So the bytes are gone through once more, by the descriptors,
//! for the path of the field. Nothing but a message that was refused comes here.

use std::collections::HashMap;
use std::sync::LazyLock;

use prost::Name;
use prost_reflect::{DescriptorPool, Kind, MessageDescriptor};

use crate::domain::limits;
use crate::proto::FILE_DESCRIPTOR_SET;

/// Messages inside each other that prost reads.
const READ: usize = 100;
/// The package of the messages that free-form JSON is made of.
const JSON: &str = "google.protobuf";

static DESCRIPTORS: LazyLock<Option<DescriptorPool>> =
    LazyLock::new(|| DescriptorPool::decode(FILE_DESCRIPTOR_SET).ok());

/// The path of the first field of an `M` that nests deeper than prost reads, and what is wrong.
pub(super) fn too_deep<M: Name>(bytes: &[u8]) -> Option<(String, String)> {
    let message = DESCRIPTORS.as_ref()?.get_message_by_name(&M::full_name())?;
    let path = deepest(&message, bytes, "", READ)?;
    Some((path, too_many_levels()))
}

/// What a caller is told whose JSON is too deep.
pub(super) fn too_many_levels() -> String {
    format!("may be {} levels deep; flatten it", limits::JSON_DEPTH)
}

fn deepest(
    message: &MessageDescriptor,
    mut bytes: &[u8],
    path: &str,
    left: usize,
) -> Option<String> {
    let mut seen: HashMap<u32, usize> = HashMap::new();
    while let Some((number, content)) = next_field(&mut bytes) {
        let (Some(field), Some(content)) = (message.get_field(number), content) else {
            continue;
        };
        let Kind::Message(inner) = field.kind() else {
            continue;
        };
        let at = seen.entry(number).or_default();
        let place = match (message.package_name() == JSON, field.is_list()) {
            (true, _) => path.to_owned(),
            (false, true) => format!("{path}{}[{at}]", field.name()),
            (false, false) => format!("{path}{}", field.name()),
        };
        *at += 1;
        if left == 0 {
            return Some(place);
        }
        let within = if inner.package_name() == JSON {
            place
        } else {
            format!("{place}.")
        };
        if let Some(found) = deepest(&inner, content, &within, left - 1) {
            return Some(found);
        }
    }
    None
}

/// Takes the next field off `bytes`: its number and, where it has a length, its content. None at the
/// end, and where the bytes are no message.
fn next_field<'a>(bytes: &mut &'a [u8]) -> Option<(u32, Option<&'a [u8]>)> {
    let key = varint(bytes)?;
    let number = u32::try_from(key >> 3).ok()?;
    let length = match key & 7 {
        0 => {
            varint(bytes)?;
            return Some((number, None));
        }
        1 => 8,
        2 => usize::try_from(varint(bytes)?).ok()?,
        5 => 4,
        _ => return None,
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    *bytes = rest;
    Some((number, (key & 7 == 2).then_some(content)))
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use prost::Message as _;
    use prost_types::value::Kind as Json;
    use prost_types::{ListValue, Struct, Value};

    use super::*;
    use crate::proto::v1;

    fn lists(levels: usize) -> Struct {
        let mut value = Value {
            kind: Some(Json::BoolValue(true)),
        };
        for _ in 0..levels {
            value = Value {
                kind: Some(Json::ListValue(ListValue {
                    values: vec![value],
                })),
            };
        }
        Struct {
            fields: [("a".to_owned(), value)].into(),
        }
    }

    fn appends(levels: &[usize]) -> v1::AppendEventsRequest {
        let events = levels.iter().map(|levels| {
            let result = v1::ToolResult {
                data: Some(lists(*levels)),
                ..v1::ToolResult::default()
            };
            v1::NewEvent {
                kind: Some(v1::new_event::Kind::ToolResult(result)),
            }
        });
        v1::AppendEventsRequest {
            events: events.collect(),
            ..v1::AppendEventsRequest::default()
        }
    }

    #[test]
    fn the_field_is_named_by_its_path() {
        let sent = v1::SendMessageRequest {
            body: "b".to_owned(),
            data: Some(lists(60)),
            ..v1::SendMessageRequest::default()
        };
        let (path, _) = too_deep::<v1::SendMessageRequest>(&sent.encode_to_vec()).unwrap();
        assert_eq!(path, "data");
        let bytes = appends(&[3, 60]).encode_to_vec();
        let (path, wrong) = too_deep::<v1::AppendEventsRequest>(&bytes).unwrap();
        assert_eq!(path, "events[1].tool_result.data");
        assert_eq!(wrong, "may be 32 levels deep; flatten it");
    }

    /// What is read here ends where prost's own reading does.
    #[test]
    fn no_message_that_prost_reads_is_called_too_deep() {
        for levels in 30..60 {
            let bytes = appends(&[levels]).encode_to_vec();
            let read = v1::AppendEventsRequest::decode(bytes.as_slice()).is_ok();
            let found = too_deep::<v1::AppendEventsRequest>(&bytes);
            assert_eq!(read, found.is_none(), "{levels} levels");
        }
    }

    #[test]
    fn bytes_that_are_no_message_end_the_search() {
        let whole = appends(&[60]).encode_to_vec();
        for length in 0..whole.len() {
            too_deep::<v1::AppendEventsRequest>(&whole[..length]);
        }
        for byte in 0..=u8::MAX {
            assert_eq!(too_deep::<v1::AppendEventsRequest>(&[byte; 40]), None);
        }
    }
}

#[cfg(test)]
mod fuzz {
    use proptest::prelude::*;
    use prost::Message as _;
    use prost_types::value::Kind as Json;
    use prost_types::{ListValue, Struct, Value};

    use super::*;
    use crate::fuzz::holds;
    use crate::proto::v1;

    fn nested(steps: &[bool]) -> Struct {
        let fields = |value| Struct {
            fields: [("a".to_owned(), value)].into(),
        };
        let inner = steps.iter().fold(Value::default(), |value, list| {
            let kind = if *list {
                let values = vec![Value::default(), value];
                Json::ListValue(ListValue { values })
            } else {
                Json::StructValue(fields(value))
            };
            Value { kind: Some(kind) }
        });
        fields(inner)
    }

    fn message(steps: &[bool]) -> v1::SendMessageRequest {
        v1::SendMessageRequest {
            body: "b".to_owned(),
            data: Some(nested(steps)),
            ..v1::SendMessageRequest::default()
        }
    }

    /// Lists and structs in any order: each costs prost another number of messages.
    #[test]
    fn a_message_is_too_deep_exactly_where_prost_stops() {
        holds(prop::collection::vec(any::<bool>(), 20..60), |steps| {
            let bytes = message(&steps).encode_to_vec();
            let read = v1::SendMessageRequest::decode(bytes.as_slice()).is_ok();
            let found = too_deep::<v1::SendMessageRequest>(&bytes);
            prop_assert_eq!(read, found.is_none());
            prop_assert!(found.is_none_or(|(path, _)| path == "data"));
            Ok(())
        });
    }

    #[test]
    fn damaged_bytes_end_the_search_and_are_not_called_too_deep_where_prost_reads_them() {
        let damage = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6);
        let steps = prop::collection::vec(any::<bool>(), 0..60);
        let any_bytes = prop::collection::vec(any::<u8>(), 0..200);
        let damaged = (steps, damage).prop_map(|(steps, damage)| {
            let mut bytes = message(&steps).encode_to_vec();
            for (place, byte) in damage {
                let at = place.index(bytes.len());
                bytes[at] = byte;
            }
            bytes
        });
        holds(prop_oneof![damaged, any_bytes], |bytes| {
            let read = v1::SendMessageRequest::decode(bytes.as_slice()).is_ok();
            let found = too_deep::<v1::SendMessageRequest>(&bytes);
            prop_assert!(!read || found.is_none());
            Ok(())
        });
    }
}
