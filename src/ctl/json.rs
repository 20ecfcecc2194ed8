//! Answers as JSON for programs: protobuf's own JSON mapping, with the field names of the proto.
//!
//! By the descriptors and not by code for each message, so that a field added to the proto is there
//! without anybody thinking of it, and no field can be named another way.

use prost_reflect::{DescriptorPool, DynamicMessage, SerializeOptions};
use serde_json::Value;

use super::CtlError;
use crate::proto::{FILE_DESCRIPTOR_SET, v1};

/// A message whose full name in the proto is known.
pub(super) trait Document: prost::Message {
    /// The full name.
    const NAME: &'static str;
}

macro_rules! documents {
    ($($message:ident),* $(,)?) => {
        $(impl Document for v1::$message {
            const NAME: &'static str = concat!("handoff.v1.", stringify!($message));
        })*
    };
}

documents!(
    ListAgentsResponse,
    HandoffSummary,
    GetHandoffStatusResponse,
    GetHandoffTimelineResponse,
    ListMailResponse,
    SendMessageResponse,
    CancelHandoffResponse,
    GetHandoffResultsResponse,
    Server,
    CheckInvariantsResponse,
);

/// Fields that hold their zero value are written too, and absent ones are not: what the proto tells
/// apart stays apart. 64-bit numbers are numbers: none of ours comes near what a double can hold.
const OPTIONS: SerializeOptions = SerializeOptions::new()
    .use_proto_field_name(true)
    .skip_default_fields(false)
    .stringify_64_bit_integers(false);

/// `document` as JSON.
pub(super) fn value<D: Document>(document: &D) -> Result<Value, CtlError> {
    Ok(values(std::slice::from_ref(document))?.remove(0))
}

/// Each of `documents` as JSON.
pub(super) fn values<D: Document>(documents: &[D]) -> Result<Vec<Value>, CtlError> {
    let pool = DescriptorPool::decode(FILE_DESCRIPTOR_SET)?;
    let descriptor = pool
        .get_message_by_name(D::NAME)
        .ok_or_else(|| CtlError::Usage(format!("`{}` is not in the proto", D::NAME)))?;
    documents
        .iter()
        .map(|document| {
            let bytes = document.encode_to_vec();
            let message = DynamicMessage::decode(descriptor.clone(), bytes.as_slice())?;
            Ok(message.serialize_with_options(serde_json::value::Serializer, &OPTIONS)?)
        })
        .collect()
}

/// The text of `value`. JSON lets DEL and the C1 control characters stand as they are, and a terminal
/// obeys them; escaped they are the same string to every program.
pub(super) fn text(value: &Value) -> Result<String, CtlError> {
    let mut text = String::new();
    for character in serde_json::to_string_pretty(value)?.chars() {
        if matches!(character, '\u{7f}'..='\u{9f}') {
            // Each is below U+00A0, so it escapes to two digits.
            text.push_str("\\u00");
            text.extend(char::from_digit(u32::from(character) >> 4, 16));
            text.extend(char::from_digit(u32::from(character) & 0xf, 16));
        } else {
            text.push(character);
        }
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use prost_types::{Duration, Timestamp};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_has_the_names_of_the_proto() {
        let summary = v1::HandoffSummary {
            handoff_id: "hnd_1".to_owned(),
            status: v1::HandoffStatus::Started.into(),
            live_state: Some(v1::LiveState::Running.into()),
            age: Some(Duration {
                seconds: 61,
                nanos: 0,
            }),
            create_time: Some(Timestamp {
                seconds: 0,
                nanos: 0,
            }),
            ..v1::HandoffSummary::default()
        };
        let expected = json!({
            "handoff_id": "hnd_1",
            "status": "HANDOFF_STATUS_STARTED",
            "live_state": "LIVE_STATE_RUNNING",
            "age": "61s",
            "thread_id": "",
            "parent_thread_id": "",
            "agent_id": "",
            "thread_title": "",
            "reminders_sent": 0,
            "create_time": "1970-01-01T00:00:00Z",
        });
        assert_eq!(value(&summary).unwrap(), expected);
    }

    #[test]
    fn no_control_character_reaches_a_terminal() {
        let value = Value::from("a\u{9b}31m\u{7f}\u{1b}[0m");
        let text = text(&value).unwrap();
        assert!(!text.contains(|it: char| it.is_control()), "{text:?}");
        assert_eq!(serde_json::from_str::<Value>(&text).unwrap(), value);
    }
}
