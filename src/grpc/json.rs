//! Free-form JSON between `google.protobuf.Struct` and what is stored.

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::{Map, Number, Value as Json};

/// Whole numbers up to here are exact in the 64-bit floats of the wire, and are stored as integers.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads a struct of at most `bytes` of JSON text and `depth` levels; tells what is wrong with it.
pub(super) fn from_struct(value: Struct, bytes: usize, depth: usize) -> Result<Json, String> {
    let json = object(value, depth).map_err(|wrong| match wrong {
        Wrong::Depth => format!("may be {depth} levels deep; flatten it"),
        Wrong::Number => "holds a number that JSON does not know (NaN or infinite)".to_owned(),
        Wrong::Nul => "holds the character NUL, which cannot be stored".to_owned(),
    })?;
    let size = json.to_string().len();
    if size > bytes {
        return Err(format!(
            "is {size} bytes of JSON and may be {bytes}; send a reference instead"
        ));
    }
    Ok(json)
}

enum Wrong {
    Depth,
    Number,
    Nul,
}

fn object(value: Struct, depth: usize) -> Result<Json, Wrong> {
    let depth = depth.checked_sub(1).ok_or(Wrong::Depth)?;
    let mut map = Map::new();
    for (key, value) in value.fields {
        map.insert(text(key)?, json(value, depth)?);
    }
    Ok(Json::Object(map))
}

fn json(value: Value, depth: usize) -> Result<Json, Wrong> {
    Ok(match value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::BoolValue(value)) => Json::Bool(value),
        Some(Kind::NumberValue(value)) => Json::Number(number(value)?),
        Some(Kind::StringValue(value)) => Json::String(text(value)?),
        Some(Kind::StructValue(value)) => object(value, depth)?,
        Some(Kind::ListValue(list)) => {
            let depth = depth.checked_sub(1).ok_or(Wrong::Depth)?;
            let values = list.values.into_iter().map(|value| json(value, depth));
            Json::Array(values.collect::<Result<_, _>>()?)
        }
    })
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "whole and within the exact range"
)]
fn number(value: f64) -> Result<Number, Wrong> {
    // A negative zero has no integer.
    let whole =
        value.fract() == 0.0 && value.abs() <= EXACT && (value != 0.0 || value.is_sign_positive());
    if whole {
        return Ok(Number::from(value as i64));
    }
    Number::from_f64(value).ok_or(Wrong::Number)
}

fn text(text: String) -> Result<String, Wrong> {
    if text.contains('\0') {
        Err(Wrong::Nul)
    } else {
        Ok(text)
    }
}

/// Writes stored JSON as a struct. What is stored is always an object; anything else would be lost.
pub(crate) fn to_struct(json: &Json) -> Struct {
    let members = json.as_object().into_iter().flatten();
    Struct {
        fields: members
            .map(|(key, value)| (key.clone(), to_value(value)))
            .collect(),
    }
}

fn to_value(json: &Json) -> Value {
    let kind = match json {
        Json::Null => Kind::NullValue(0),
        Json::Bool(value) => Kind::BoolValue(*value),
        Json::Number(value) => Kind::NumberValue(value.as_f64().unwrap_or_default()),
        Json::String(value) => Kind::StringValue(value.clone()),
        Json::Array(values) => Kind::ListValue(ListValue {
            values: values.iter().map(to_value).collect(),
        }),
        Json::Object(_) => Kind::StructValue(to_struct(json)),
    };
    Value { kind: Some(kind) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn with(kind: Kind) -> Struct {
        Struct {
            fields: [("a".to_owned(), Value { kind: Some(kind) })].into(),
        }
    }

    #[test]
    fn json_survives_the_way_there_and_back() {
        let all = json!({"null": null, "yes": true, "n": 7, "f": -1.5, "big": 1e300,
            "s": "ä", "list": [1, [2], {"x": []}], "deep": {"y": {}}});
        assert_eq!(from_struct(to_struct(&all), 1_000, 32), Ok(all));
    }

    #[test]
    fn what_json_or_the_database_cannot_hold_is_refused() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(from_struct(with(Kind::NumberValue(number)), 100, 32).is_err());
        }
        assert!(from_struct(with(Kind::StringValue("\0".to_owned())), 100, 32).is_err());
    }

    #[test]
    fn size_and_depth_are_limits_that_may_be_reached() {
        assert!(from_struct(to_struct(&json!({"a": "1234"})), 12, 1).is_ok());
        assert!(from_struct(to_struct(&json!({"a": "12345"})), 12, 1).is_err());
        assert!(from_struct(to_struct(&json!({"a": [{}]})), 100, 3).is_ok());
        assert!(from_struct(to_struct(&json!({"a": [{}]})), 100, 2).is_err());
    }
}
