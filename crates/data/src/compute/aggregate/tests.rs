//! Every aggregate by values, wrong values and sizes.

use proptest::prelude::*;

use super::*;
use crate::{codec::json, compute::arbitrary::any_value};

fn value(text: &str) -> Value {
    if text == "absent" { Value::Absent } else { json::parse_str(text).unwrap() }
}

fn aggregate(name: &str, values: &[Value]) -> Result<Value, ComputeError> {
    let mut accumulator = Accumulator::new(Aggregate::find(name).unwrap());
    for value in values {
        accumulator.add(value)?;
    }
    accumulator.finish()
}

#[test]
fn each_aggregate_gives_its_value() {
    for (name, values, result) in [
        ("count", "[1,null,\"a\"]", "2"),
        ("count", "[]", "0"),
        ("sum", "[0.1,0.2,null,\" 3 \"]", "3.3"),
        ("sum", "[9223372036854775807,1]", "9223372036854775808"),
        ("sum", "[1e30,1,-1e30]", "1"),
        ("sum", "[null]", "null"),
        ("avg", "[1,2,null,4]", "2.333333333333333"),
        ("avg", "[1,2]", "1.5"),
        ("avg", "[]", "null"),
        ("min", "[3,null,1.0,1]", "1.0"),
        ("min", "[\"10\",\"9\",2]", "2"),
        ("max", "[3,1]", "3"),
        ("max", "[\"a\",[1],5]", "[1]"),
        ("max", "[null]", "null"),
        ("median", "[5,1,3]", "3"),
        ("median", "[4,1,3,2,null]", "2.5"),
        ("median", "[]", "null"),
        ("variance", "[2,4,4,4,5,5,7,9]", "4.571428571428571"),
        ("stddev", "[1,2,3]", "1"),
        ("stddev", "[1]", "null"),
        ("bool_and", "[1,true,null,\"x\"]", "true"),
        ("bool_and", "[1,0]", "false"),
        ("bool_and", "[null]", "null"),
        ("bool_or", "[0,\"\",false]", "false"),
        ("bool_or", "[0,1]", "true"),
        ("first", "[null,1]", "null"),
        ("last", "[1,null]", "null"),
        ("last", "[1,2]", "2"),
        ("any_value", "[null,1,2]", "1"),
        ("array_agg", "[1,null,[2]]", "[1,[2]]"),
        ("array_agg", "[]", "[]"),
    ] {
        let values = value(values).elements().unwrap().into_owned();
        let computed = aggregate(name, &values).unwrap();
        assert_eq!(json::to_string(&computed), result, "{name} {values:?}");
    }
    assert!(matches!(aggregate("first", &[Value::Absent]), Ok(Value::Null)));
}

#[test]
fn rows_are_counted_and_pairs_are_joined() {
    let mut count = Accumulator::new(Aggregate::Count);
    count.add_row();
    count.add_row();
    assert_eq!(count.finish().unwrap(), Value::int(2));

    let mut text = Accumulator::new(Aggregate::StringAgg);
    for part in ["\"a\"", "null", "1.50", "true"] {
        text.add_with(&value(part), &Value::from(", ")).unwrap();
    }
    assert_eq!(text.finish().unwrap(), Value::from("a, 1.5, true"));
    assert_eq!(Accumulator::new(Aggregate::StringAgg).finish().unwrap(), Value::Null);

    let mut object = Accumulator::new(Aggregate::ObjectAgg);
    for (key, member) in
        [("\"a\"", "1"), ("2", "null"), ("null", "3"), ("\"a\"", "4"), ("\"b\"", "absent")]
    {
        object.add_with(&value(key), &value(member)).unwrap();
    }
    let object = object.finish().unwrap();
    assert_eq!(json::to_string(&object), r#"{"a":4,"2":null,"b":null}"#);
}

#[test]
fn wrong_values_are_named() {
    for (name, text, message) in [
        ("sum", "\"n/a\"", "the text \"n/a\" is not a number"),
        ("avg", "true", "true is not a number"),
        ("median", "[]", "a list is not a number"),
        ("stddev", "{}", "an object is not a number"),
        ("string_agg", "{}", "an object is not a text"),
        ("object_agg", "[1]", "a list is not a text"),
        ("sum", "1e7000", "1e7000 is beyond the numbers that can be computed with"),
        ("stddev", "1e400", "1e+400 is beyond the numbers that can be computed with"),
    ] {
        let error = aggregate(name, &[value(text)]).unwrap_err();
        assert_eq!(error.to_string(), message, "{name}");
    }
    let nines: Value = value(&format!("{}e6107", "9".repeat(38)));
    let error = aggregate("sum", &[nines.clone(), nines]).unwrap_err();
    assert!(error.to_string().contains(" + 9.999"), "{error}");
}

#[test]
fn a_text_that_grows_too_long_is_refused() {
    let mut text = Accumulator::new(Aggregate::StringAgg);
    let part = Value::from("x".repeat(1 << 20));
    let outcome = (0..20).try_for_each(|_| text.add_with(&part, &Value::from("")));
    assert!(outcome.unwrap_err().to_string().contains("text_bytes_max"));
}

#[test]
fn every_aggregate_is_described_and_found_by_its_name() {
    for aggregate in Aggregate::ALL {
        let described = aggregate.describe();
        assert_eq!(Aggregate::find(described.name), Some(aggregate));
        assert!(described.signature.starts_with(described.name));
        assert!(described.summary.ends_with('.'));
        let commas = described.signature.rsplit('(').next().unwrap().matches(',').count();
        assert_eq!(commas + 1, aggregate.arguments());
    }
    assert_eq!(Aggregate::find("total"), None);
}

proptest! {
    #[test]
    fn any_values_give_a_value_or_one_error(values in prop::collection::vec(any_value(), 0..6)) {
        for kind in Aggregate::ALL {
            match aggregate(kind.describe().name, &values) {
                Ok(result) => prop_assert!(!result.is_absent()),
                Err(error) => prop_assert!(!error.to_string().is_empty()),
            }
        }
    }

    #[test]
    fn whole_numbers_sum_exactly_in_any_order(mut numbers in prop::collection::vec(any::<i64>(), 1..20)) {
        let exact: i128 = numbers.iter().map(|number| i128::from(*number)).sum();
        let sum = |numbers: &[i64]| {
            let values: Vec<_> = numbers.iter().map(|number| Value::int(*number)).collect();
            json::to_string(&aggregate("sum", &values).unwrap())
        };
        let forward = sum(&numbers);
        numbers.reverse();
        prop_assert_eq!(&forward, &sum(&numbers));
        prop_assert_eq!(forward, exact.to_string());
    }
}
