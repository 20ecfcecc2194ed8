//! Bytes of what answers carry, so that an answer never exceeds what a client takes.
//!
//! Free-form JSON travels as `google.protobuf.Struct`, in which a digit of two bytes takes eleven: its
//! text says nothing of its size.

use serde_json::{Map, Value};

/// Bytes of a field's tag: none of these messages has a field above 15.
const TAG: usize = 1;
/// Bytes of an empty `Value`.
const SMALL: usize = 2;
/// Bytes of a number, which is a 64-bit float.
const NUMBER: usize = TAG + 8;

/// Bytes of a JSON object as a `Struct`.
#[must_use]
pub fn json(json: &Value) -> usize {
    json.as_object().map_or(0, members)
}

fn members(map: &Map<String, Value>) -> usize {
    let members = map.iter();
    members
        .map(|(key, json)| delimited(delimited(key.len()) + delimited(value(json))))
        .sum()
}

/// A `Value`, without what says how long it is.
fn value(json: &Value) -> usize {
    match json {
        Value::Null | Value::Bool(_) => SMALL,
        Value::Number(_) => NUMBER,
        Value::String(text) => delimited(text.len()),
        Value::Array(values) => delimited(values.iter().map(|it| delimited(value(it))).sum()),
        Value::Object(map) => delimited(members(map)),
    }
}

/// A field of so many bytes, with its tag and its length.
fn delimited(bytes: usize) -> usize {
    let bits = usize::BITS - bytes.leading_zeros();
    TAG + bits.div_ceil(7).max(1) as usize + bytes
}
