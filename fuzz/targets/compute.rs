//! Any call of a function, any computation, order, test and aggregate of any values gives a value or
//! one error; orders and decimals keep their laws. The first line of the input is the name of a
//! function, the rest a list of JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use qlio_data::{
    Value,
    codec::json,
    compute::{
        Decimal,
        aggregate::{Accumulator, Aggregate},
        function::{self, Context, PatternCache},
        number,
        order::{self, Key},
        pattern::Pattern,
        test::{self, Comparison},
    },
};

/// Arguments beyond these say nothing new.
const ARGUMENTS_MAX: usize = 5;

fuzz_target!(|text: &str| {
    let (name, list) = text.split_once('\n').unwrap_or((text, "[]"));
    let Ok(list) = json::parse_str(list) else { return };
    let Some(values) = list.elements() else { return };
    let values = &values[..values.len().min(ARGUMENTS_MAX)];
    let patterns = PatternCache::default();
    let random = || 0;
    let context = Context::new((0, 0), &random, &patterns);
    if let Some(function) = function::find(name)
        && let Ok(result) = function.call(&context, values)
    {
        assert!(!result.is_absent());
    }
    for aggregate in Aggregate::ALL {
        let mut accumulator = Accumulator::new(aggregate);
        if values.iter().all(|value| accumulator.add(value).is_ok()) {
            let _ = accumulator.finish();
        }
    }
    if let Ok(pattern) = Pattern::like(name) {
        for value in values {
            let _ = test::matches(value, &pattern);
        }
    }
    for left in values {
        for right in values {
            check_pair(left, right);
        }
    }
});

fn check_pair(left: &Value, right: &Value) {
    for operation in
        [number::add, number::subtract, number::multiply, number::divide, number::remainder]
    {
        let _ = operation(left, right);
    }
    assert_eq!(test::equals(left, right), test::equals(right, left));
    assert_eq!(Comparison::Less.holds(left, right), Comparison::Greater.holds(right, left));
    let (Ok(left_key), Ok(right_key)) = (Key::of(left), Key::of(right)) else { return };
    assert_eq!(left_key.cmp(&right_key), right_key.cmp(&left_key).reverse());
    assert_eq!(left_key.cmp(&right_key).is_eq(), left_key == right_key);
    assert_eq!(order::compare(left, right), Ok(left_key.cmp(&right_key)));
    if let (Ok(Some(left)), Ok(Some(right))) = (number::read(left), number::read(right)) {
        check_decimals(left, right);
    }
}

fn check_decimals(left: Decimal, right: Decimal) {
    let printed = left.to_string();
    assert_eq!(Decimal::read(&printed), Some(Ok(left)), "{printed}");
    assert_eq!(left.plus(right), right.plus(left));
    assert_eq!(left.times(right), right.times(left));
    if let Some(rest) = left.remainder_of(right) {
        assert!(rest.absolute() < right.absolute());
    }
}
