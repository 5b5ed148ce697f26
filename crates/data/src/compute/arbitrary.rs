//! Random values for property tests: of every kind, in both forms of structures, with what is
//! unusual more often than in answers.

use proptest::prelude::*;

use crate::{Number, Object, Value, codec::json};

/// Any value; structures are small.
pub(super) fn any_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Absent),
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any_number(),
        any_text().prop_map(Value::from),
    ];
    scalar.prop_recursive(3, 24, 4, |inner| {
        let structure = prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::array),
            prop::collection::vec(("[a-c]", inner), 0..4)
                .prop_map(|members| Value::object(members.into_iter().collect::<Object>())),
        ];
        (structure, any::<bool>()).prop_map(|(structure, is_raw)| {
            if is_raw { json::parse_str(&json::to_string(&structure)).unwrap() } else { structure }
        })
    })
}

/// Any number.
pub(super) fn any_number() -> impl Strategy<Value = Value> {
    prop_oneof![
        (-3..4_i64).prop_map(Value::int),
        any::<i64>().prop_map(Value::int),
        any::<f64>()
            .prop_filter("finite", |float| float.is_finite())
            .prop_map(|float| Value::Number(Number::Float(float))),
        "-?(0|[1-9][0-9]{0,45})([.][0-9]{1,45})?([eE][+-]?[0-9]{1,12})?"
            .prop_map(|text| Value::Number(Number::Source(text.into()))),
        "-?[0-9][.][05]0?".prop_map(|text| Value::Number(Number::Source(text.into()))),
    ]
}

/// Any text: numbers, dates and patterns among others.
pub(super) fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[ -~]{0,8}",
        any::<String>(),
        " ?[-+]?[0-9]{0,3}[.]?[0-9]{0,3}(e-?[0-9]{1,4})? ?",
        "[0-9]{4}-[01][0-9]-[0-3][0-9](T[0-2][0-9]:[0-5][0-9]:[0-5][0-9](Z|[+]0[0-9]:00)?)?",
        "[%_a-c\\\\\\[\\]()*+?.|^$]{0,8}",
        "P[0-9]{1,3}[YMDTHS]([0-9]{1,9}[YMDHS])?",
    ]
}
