//! Free-form JSON between `google.protobuf.Struct` and what is stored.

use std::fmt;

use prost_types::value::Kind;
use prost_types::{ListValue, Struct, Value};
use serde_json::{Map, Number, Value as Json};

use super::nesting::too_many_levels;

/// Whole numbers up to here are exact in the 64-bit floats of the wire, and are stored as integers.
const EXACT: f64 = 9_007_199_254_740_992.0;
/// Characters of a key that are shown where its value is wrong.
const KEY_SHOWN: usize = 40;
/// Characters of a place that are shown.
const PLACE_SHOWN: usize = 200;

/// Reads a struct of at most `bytes` of JSON text and `depth` levels; tells what is wrong with it.
pub(super) fn from_struct(value: Struct, bytes: usize, depth: usize) -> Result<Json, String> {
    let json = object(value, depth).map_err(|wrong| wrong.to_string())?;
    let size = json.to_string().len();
    if size > bytes {
        return Err(format!(
            "is {size} bytes of JSON and may be {bytes}; send a reference instead"
        ));
    }
    Ok(json)
}

/// What is wrong, and where: steps from the inside out.
#[derive(Debug)]
struct Wrong {
    what: What,
    steps: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Depth,
    Number,
    Nul,
    NoKind,
}

impl Wrong {
    fn within(mut self, step: impl FnOnce() -> String) -> Self {
        self.steps.push(step());
        self
    }
}

impl From<What> for Wrong {
    fn from(what: What) -> Self {
        Self {
            what,
            steps: Vec::new(),
        }
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self.what {
            What::Depth => return f.write_str(&too_many_levels()),
            What::Number => "holds a number that JSON does not know (NaN or infinite)",
            What::Nul => "holds the character NUL, which cannot be stored",
            What::NoKind => "holds a value without a kind; send `null_value` for null",
        })?;
        let place: String = self.steps.iter().rev().map(String::as_str).collect();
        let shown: String = place.chars().skip(1).take(PLACE_SHOWN).collect();
        write!(f, ", at `{shown}`")
    }
}

fn object(value: Struct, depth: usize) -> Result<Json, Wrong> {
    let depth = depth.checked_sub(1).ok_or(What::Depth)?;
    let mut map = Map::new();
    for (key, value) in value.fields {
        let read = json(value, depth).and_then(|value| Ok((text(key.clone())?, value)));
        let (key, value) = read.map_err(|wrong| wrong.within(|| member(&key)))?;
        map.insert(key, value);
    }
    Ok(Json::Object(map))
}

fn array(list: ListValue, depth: usize) -> Result<Json, Wrong> {
    let depth = depth.checked_sub(1).ok_or(What::Depth)?;
    let values = list.values.into_iter().enumerate();
    let values = values
        .map(|(at, value)| json(value, depth).map_err(|wrong| wrong.within(|| format!("[{at}]"))));
    Ok(Json::Array(values.collect::<Result<_, _>>()?))
}

/// A step into an object. Keys are text of strangers.
fn member(key: &str) -> String {
    let shown = key.chars().take(KEY_SHOWN).flat_map(char::escape_debug);
    std::iter::once('.').chain(shown).collect()
}

fn json(value: Value, depth: usize) -> Result<Json, Wrong> {
    Ok(match value.kind.ok_or(What::NoKind)? {
        Kind::NullValue(_) => Json::Null,
        Kind::BoolValue(value) => Json::Bool(value),
        Kind::NumberValue(value) => Json::Number(number(value)?),
        Kind::StringValue(value) => Json::String(text(value)?),
        Kind::StructValue(value) => object(value, depth)?,
        Kind::ListValue(list) => array(list, depth)?,
    })
}

/// A number. The database keeps decimal numbers, which know no negative zero: it is zero from the
/// beginning, so that the first answer and every later one agree.
#[expect(
    clippy::cast_possible_truncation,
    reason = "whole and within the exact range"
)]
fn number(value: f64) -> Result<Number, Wrong> {
    if value.fract() == 0.0 && value.abs() <= EXACT {
        return Ok(Number::from(value as i64));
    }
    Ok(Number::from_f64(value).ok_or(What::Number)?)
}

fn text(text: String) -> Result<String, Wrong> {
    if text.contains('\0') {
        Err(What::Nul.into())
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
    use prost::Message as _;
    use serde_json::json;

    use super::*;
    use crate::domain::weight;

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
    fn the_weight_of_json_is_what_it_takes_on_the_wire() {
        let nested = (0..20).fold(
            json!({"a": "b".repeat(200)}),
            |inner, at| json!({"k": inner, "list": vec![at; 30]}),
        );
        let ones = json!({"list": vec![1; 100_000]});
        for value in [
            json!({}),
            json!({"null": null, "yes": true, "n": -1.5, "s": "ä", "list": [[], {}, [[]]]}),
            nested,
            ones.clone(),
        ] {
            let struct_bytes = to_struct(&value).encoded_len();
            assert_eq!(weight::json(&value), struct_bytes, "{value}");
        }
        // The worst there is: a digit and a comma.
        let text = ones.to_string().len();
        assert!(weight::json(&ones) * 2 <= text * 11);
    }

    #[test]
    fn what_json_or_the_database_cannot_hold_is_refused() {
        for number in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert!(from_struct(with(Kind::NumberValue(number)), 100, 32).is_err());
        }
        assert!(from_struct(with(Kind::StringValue("\0".to_owned())), 100, 32).is_err());
    }

    #[test]
    fn a_negative_zero_is_zero() {
        let read = from_struct(with(Kind::NumberValue(-0.0)), 100, 32);
        assert_eq!(read.unwrap().to_string(), r#"{"a":0}"#);
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place() {
        let deep = |value: Value| {
            let list = ListValue {
                values: vec![Value::from(1.0), value],
            };
            with(Kind::StructValue(with(Kind::ListValue(list))))
        };
        let place = |value| from_struct(deep(value), 100, 32).unwrap_err();
        let unset = place(Value { kind: None });
        assert!(
            unset.ends_with("`null_value` for null, at `a.a[1]`"),
            "{unset}"
        );
        let nan = place(Value::from(f64::NAN));
        assert!(nan.ends_with("at `a.a[1]`"), "{nan}");
        let fields = [(format!("\u{1b}\0{}", "k".repeat(9_000)), Value::from(1.0))];
        let key = from_struct(
            Struct {
                fields: fields.into(),
            },
            10_000,
            32,
        )
        .unwrap_err();
        assert!(key.contains(r"at `\u{1b}\0kk") && key.len() < 200, "{key}");
    }

    #[test]
    fn size_and_depth_are_limits_that_may_be_reached() {
        assert!(from_struct(to_struct(&json!({"a": "1234"})), 12, 1).is_ok());
        assert!(from_struct(to_struct(&json!({"a": "12345"})), 12, 1).is_err());
        assert!(from_struct(to_struct(&json!({"a": [{}]})), 100, 3).is_ok());
        assert!(from_struct(to_struct(&json!({"a": [{}]})), 100, 2).is_err());
    }
}

#[cfg(test)]
mod fuzz {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::limits;
    use crate::fuzz::holds;

    fn value() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(None),
            Just(Some(Kind::NullValue(0))),
            any::<bool>().prop_map(|it| Some(Kind::BoolValue(it))),
            any::<f64>().prop_map(|it| Some(Kind::NumberValue(it))),
            any::<i32>().prop_map(|it| Some(Kind::NumberValue(it.into()))),
            any::<String>().prop_map(|it| Some(Kind::StringValue(it))),
        ];
        let leaf = leaf.prop_map(|kind| Value { kind });
        leaf.prop_recursive(8, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6)
                    .prop_map(|values| Kind::ListValue(ListValue { values })),
                prop::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|fields| Kind::StructValue(Struct { fields })),
            ]
            .prop_map(|kind| Value { kind: Some(kind) })
        })
    }

    fn structs() -> impl Strategy<Value = Struct> {
        prop::collection::btree_map(any::<String>(), value(), 0..6)
            .prop_map(|fields| Struct { fields })
    }

    fn depth(json: &Json) -> usize {
        match json {
            Json::Array(values) => 1 + values.iter().map(depth).max().unwrap_or(0),
            Json::Object(map) => 1 + map.values().map(depth).max().unwrap_or(0),
            Json::Null | Json::Bool(_) | Json::Number(_) | Json::String(_) => 0,
        }
    }

    #[test]
    fn what_is_taken_keeps_the_limits_and_comes_back_the_same() {
        let levels = prop_oneof![1..10_usize, Just(limits::JSON_DEPTH)];
        holds(
            (structs(), 2..2_000_usize, levels),
            |(sent, bytes, levels)| {
                let Ok(json) = from_struct(sent, bytes, levels) else {
                    return Ok(());
                };
                prop_assert!(depth(&json) <= levels);
                let text = json.to_string();
                prop_assert!(text.len() <= bytes && !text.contains("\\u0000"));
                prop_assert_eq!(serde_json::from_str(&text).ok(), Some(json.clone()));
                prop_assert_eq!(from_struct(to_struct(&json), bytes, levels), Ok(json));
                Ok(())
            },
        );
    }

    #[test]
    fn what_is_wrong_is_told_in_a_few_words_without_control_characters() {
        holds(
            (structs(), 2..200_usize, 1..6_usize),
            |(sent, bytes, levels)| {
                if let Err(wrong) = from_struct(sent, bytes, levels) {
                    prop_assert!(wrong.chars().count() < 300, "{}", wrong);
                    prop_assert!(!wrong.contains(char::is_control), "{:?}", wrong);
                }
                Ok(())
            },
        );
    }
}
