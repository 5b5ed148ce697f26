//! Objects, and texts of JSON.

use super::{Function, Group, Nulls, argument, effort_of_a_look, function};
use crate::{
    Object, Text, Value,
    codec::{DecodeLimits, json},
    compute::{
        ComputeError, Kind,
        text::{TEXT_BYTES_MAX, too_long},
    },
    path::{Options, Path},
    projection::Projection,
    scope::EmptyScope,
};

pub(super) const GROUP: Group = Group { title: "Objects and JSON", functions: &FUNCTIONS };

/// The most structures inside each other of a text that `parse_json` reads.
const DEPTH_MAX: usize = 128;

const FUNCTIONS: [Function; 11] = [
    function(
        "keys",
        "keys(object)",
        "A list of the names of the members.",
        &[("keys({a: 1, b: null})", "[\"a\",\"b\"]")],
        |_, arguments| {
            let object = argument::object(arguments, 0)?;
            argument::made(members(&object).map(|(name, _)| name.clone().into()).collect())
        },
    ),
    function(
        "values",
        "values(object)",
        "A list of the values of the members.",
        &[("values({a: 1, b: null})", "[1,null]")],
        |_, arguments| {
            let object = argument::object(arguments, 0)?;
            argument::made(members(&object).map(|(_, value)| value.clone()).collect())
        },
    ),
    function(
        "entries",
        "entries(object)",
        "A list of the members, each as an object of `key` and `value`.",
        &[("entries({a: 1})", "[{\"key\":\"a\",\"value\":1}]")],
        |_, arguments| {
            let object = argument::object(arguments, 0)?;
            let entry = |(name, value): (&Text, &Value)| {
                let members = [("key", name.clone().into()), ("value", value.clone())];
                Value::object(members.into_iter().collect())
            };
            argument::made(members(&object).map(entry).collect())
        },
    ),
    function(
        "from_entries",
        "from_entries(list)",
        "An object of such a list; of several values of one key the last.",
        &[("from_entries([{key: 'a', value: 1}, {key: 2, value: null}])", "{\"a\":1,\"2\":null}")],
        |_, arguments| from_entries(arguments),
    ),
    Function {
        nulls: Nulls::Take,
        ..function(
            "merge",
            "merge(object, …)",
            "An object with the members of all; of several values of one name the last. Null has no members.",
            &[("merge({a: 1, b: 2}, null, {b: 3})", "{\"a\":1,\"b\":3}"), ("merge(null)", "{}")],
            |_, arguments| {
                let mut out = Object::new();
                for (at, argument) in arguments.iter().enumerate() {
                    if !argument.is_nothing() {
                        for (name, value) in members(&*argument::object(arguments, at)?) {
                            out.insert(name.clone(), value.clone());
                        }
                        argument::check_count(out.len())?;
                    }
                }
                Ok(out.into())
            },
        )
    },
    function(
        "without",
        "without(object, key, …)",
        "The object without some members.",
        &[("without({a: 1, b: 2, c: 3}, 'a', 'c')", "{\"b\":2}")],
        |_, arguments| {
            let mut object = (*argument::object(arguments, 0)?).clone();
            let mut keys = Vec::new();
            for at in 1..arguments.len() {
                keys.push(argument::text(arguments, at)?);
            }
            object.retain(|name, _| !keys.contains(name));
            Ok(object.into())
        },
    ),
    Function {
        nulls: Nulls::Take,
        effort: effort_of_a_look,
        ..function(
            "has",
            "has(object, key)",
            "Whether there is a member of that name, even if it is null; false for null.",
            &[
                ("has({a: null}, 'a')", "true"),
                ("has({a: 1}, 'b')", "false"),
                ("has(null, 'a')", "false"),
            ],
            |_, arguments| {
                if arguments.iter().any(Value::is_nothing) {
                    return Ok(false.into());
                }
                let object = argument::object(arguments, 0)?;
                let key = argument::text(arguments, 1)?;
                Ok(object.get(&key).is_some_and(|value| !value.is_absent()).into())
            },
        )
    },
    function(
        "get",
        "get(x, path)",
        "What a path finds in a list or an object; a list if it finds several values, null if none.",
        &[
            ("get({a: [{b: 1}, {b: 2}]}, 'a[1].b')", "2"),
            ("get({a: [{b: 1}, {b: 2}]}, '$..b')", "[1,2]"),
            ("get({a: 1}, 'b')", "null"),
        ],
        |_, arguments| {
            let text = argument::text(arguments, 1)?;
            let invalid = |error: crate::path::PathError| {
                ComputeError::invalid(1, format!("the path `{}`: {}", error.text, error.reason))
            };
            let path = Path::parse(&text).map_err(invalid)?;
            let options = Options { flatten: path.has_descent() };
            path.select_one(&arguments[0], &EmptyScope, options).map_err(invalid)
        },
    ),
    Function {
        nulls: Nulls::Take,
        effort: effort_of_a_look,
        ..function(
            "typeof",
            "typeof(x)",
            "`null`, `missing`, `boolean`, `number`, `text`, `list` or `object`.",
            &[
                ("typeof(1)", "\"number\""),
                ("typeof([])", "\"list\""),
                ("typeof(null)", "\"null\""),
            ],
            |_, arguments| Ok(Value::String(Text::from_static(Kind::of(&arguments[0]).name()))),
        )
    },
    function(
        "json",
        "json(x)",
        "The JSON text of a value.",
        &[("json({a: [1, 'b']})", "\"{\\\"a\\\":[1,\\\"b\\\"]}\""), ("json('b')", "\"\\\"b\\\"\"")],
        |_, arguments| {
            let mut out = Vec::new();
            let written = json::encode_within(&arguments[0], &mut out, TEXT_BYTES_MAX);
            written.map_err(|_| too_long())?;
            Ok(String::from_utf8(out).unwrap_or_default().into())
        },
    ),
    function(
        "parse_json",
        "parse_json(x)",
        "The value of a JSON text.",
        &[("parse_json('{\"a\":[1.50]}')", "{\"a\":[1.50]}"), ("parse_json('null')", "null")],
        |_, arguments| {
            let text = argument::text(arguments, 0)?;
            let limits = DecodeLimits { depth_max: DEPTH_MAX, ..DecodeLimits::default() };
            json::decode(text.into_bytes(), &Projection::All, &limits).map_err(|error| {
                let reason =
                    format!("the text is no JSON: {} at byte {}", error.reason, error.offset);
                ComputeError::invalid(0, reason)
            })
        },
    ),
];

/// The members that are not absent.
fn members(object: &Object) -> impl Iterator<Item = (&Text, &Value)> {
    object.iter().filter(|(_, value)| !value.is_absent())
}

fn from_entries(arguments: &[Value]) -> Result<Value, ComputeError> {
    let mut out = Object::new();
    for entry in argument::list(arguments, 0)?.iter() {
        let object = argument::object_of(entry);
        let key = object.as_ref().and_then(|object| object.get("key")?.scalar_text());
        let (Some(object), Some(key)) = (object, key) else {
            return Err(ComputeError::wrong(0, entry, "an object with a text as `key`"));
        };
        let value = object.get("value").filter(|value| !value.is_absent());
        out.insert(key, value.cloned().unwrap_or(Value::Null));
    }
    Ok(out.into())
}
