//! Every function by its examples, with null, with wrong kinds and with hostile sizes.

mod dates;

use proptest::prelude::*;

use super::*;
use crate::{
    Object,
    codec::json,
    compute::{
        arbitrary::{any_text, any_value},
        text::TEXT_BYTES_MAX,
    },
};

/// 2026-05-17T10:20:30.5Z
const NOW: (i64, u32) = (1_779_013_230, 500_000_000);

fn call(name: &str, arguments: &[Value]) -> Result<Value, ComputeError> {
    let patterns = PatternCache::default();
    let random = || u128::MAX;
    let context = Context::new(NOW, &random, &patterns);
    find(name).unwrap_or_else(|| panic!("no function {name}")).call(&context, arguments)
}

fn value(text: &str) -> Value {
    json::parse_str(text).unwrap()
}

/// Calls of literals and calls, as the examples are written; `try` catches.
struct Calls<'t>(&'t str);

impl<'t> Calls<'t> {
    fn evaluate(text: &'t str) -> Result<Value, ComputeError> {
        let mut calls = Self(text);
        let value = calls.value();
        assert_eq!(calls.0, "", "left of {text}");
        value
    }

    fn skip(&mut self, expected: &str) -> bool {
        self.0 = self.0.trim_start();
        match self.0.strip_prefix(expected) {
            Some(rest) => {
                self.0 = rest;
                true
            }
            None => false,
        }
    }

    fn take(&mut self, is_part: fn(char) -> bool) -> &'t str {
        self.0 = self.0.trim_start();
        let end = self.0.find(|character| !is_part(character)).unwrap_or(self.0.len());
        let (taken, rest) = self.0.split_at(end);
        self.0 = rest;
        taken
    }

    fn sequence<T>(
        &mut self,
        end: &str,
        mut element: impl FnMut(&mut Self) -> Result<T, ComputeError>,
    ) -> Result<Vec<T>, ComputeError> {
        let mut out = Vec::new();
        let mut failure = None;
        while !self.skip(end) {
            assert!(
                out.is_empty() && failure.is_none() || self.skip(","),
                "a comma before {}",
                self.0
            );
            match element(self) {
                Ok(element) => out.push(element),
                Err(error) => failure = Some(error),
            }
        }
        failure.map_or(Ok(out), Err)
    }

    fn value(&mut self) -> Result<Value, ComputeError> {
        if self.skip("'") {
            let (text, rest) = self.0.split_once('\'').unwrap();
            self.0 = rest;
            return Ok(text.into());
        }
        if self.skip("[") {
            return self.sequence("]", Self::value).map(Value::array);
        }
        if self.skip("{") {
            let members = self.sequence("}", |calls| {
                let name = calls.take(|character| character.is_ascii_alphanumeric());
                assert!(calls.skip(":"));
                Ok((name, calls.value()?))
            })?;
            return Ok(members.into_iter().collect::<Object>().into());
        }
        let word =
            self.take(|character| character.is_ascii_alphanumeric() || "_.-+".contains(character));
        if !self.skip("(") {
            return Ok(value(word));
        }
        let arguments = self.sequence(")", Self::value);
        match arguments {
            Err(_) if word == "try" => Ok(Value::Null),
            arguments => call(word, &arguments?),
        }
    }
}

#[test]
fn every_example_gives_what_it_says() {
    for function in all() {
        assert!(!function.examples.is_empty(), "{}", function.name);
        for (example, result) in function.examples {
            assert!(example.contains(&format!("{}(", function.name)), "{example}");
            let computed =
                Calls::evaluate(example).unwrap_or_else(|error| panic!("{example}: {error}"));
            assert_eq!(json::to_string(&computed), *result, "{example}");
        }
    }
}

#[test]
fn the_table_is_well_formed() {
    let mut names: Vec<_> = all().map(|function| function.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count, "a name twice");
    for function in all() {
        assert!(function.signature.starts_with(&format!("{}(", function.name)));
        assert!(function.summary.ends_with(['.', ')']), "{}", function.name);
        assert!(function.arguments().contains(function.arguments().start()));
        assert!(find(function.name).is_some_and(|found| std::ptr::eq(found, function)));
    }
    for (name, arguments) in [
        ("lower", 1..=1),
        ("trim", 1..=2),
        ("coalesce", 1..=ARGUMENTS_MAX),
        ("without", 2..=ARGUMENTS_MAX),
        ("uuid", 0..=0),
        ("if", 2..=3),
        ("array_sort", 1..=2),
        ("format", 1..=ARGUMENTS_MAX),
    ] {
        assert_eq!(find(name).unwrap().arguments(), arguments, "{name}");
    }
    assert!(find("Lower").is_none());
}

#[test]
fn null_gives_null_unless_a_function_takes_it() {
    for function in all().filter(|function| function.nulls == Nulls::Propagate) {
        let count = *function.arguments().start();
        for null_at in 0..count {
            for null in [Value::Null, Value::Absent] {
                let mut arguments = vec![Value::from("x"); count];
                arguments[null_at] = null;
                assert!(
                    matches!(call(function.name, &arguments), Ok(Value::Null)),
                    "{}",
                    function.name
                );
            }
        }
    }
    let takers: Vec<_> = all()
        .filter(|function| function.nulls == Nulls::Take)
        .map(|function| function.name)
        .collect();
    assert_eq!(
        takers.join(" "),
        "coalesce nullif if greatest least try concat array_contains merge has typeof"
    );
}

#[test]
fn a_wrong_number_of_arguments_is_refused() {
    for function in all() {
        let range = function.arguments();
        for count in [range.start().checked_sub(1), Some(range.end() + 1)].into_iter().flatten() {
            let error = call(function.name, &vec![Value::int(1); count]).unwrap_err();
            assert!(error.to_string().contains(function.signature), "{error}");
        }
    }
}

#[test]
fn wrong_arguments_are_named_by_their_place() {
    for (example, position, message) in [
        ("lower({a: 1})", 0, "an object is not a text"),
        ("length({a: 1})", 0, "an object is not a text or a list"),
        ("left('a', 1.5)", 1, "the number 1.5 is not a whole number"),
        ("left('a', 1e30)", 1, "the number 1e+30 is not a whole number"),
        ("substring('a', 1, -1)", 2, "a count of -1 is less than 0"),
        ("concat('a', [1])", 1, "a list is not a text"),
        ("format('{}')", 0, "the template has more `{}` than the 0 values"),
        ("format('{}', 1, 2)", 0, "the template has no `{}` for the last 1 values"),
        ("format('{x}', 1)", 0, "a brace alone means nothing"),
        (
            "regexp_matches('a', '(')",
            1,
            "the pattern \"(\" is no regular expression: unclosed group",
        ),
        ("regexp_extract('a', 'a', 1)", 2, "the pattern has no group `1`"),
        ("regexp_extract('a', 'a', 'b')", 2, "the pattern has no group `b`"),
        ("regexp_replace('a', 'a', '$2')", 2, "the pattern has no group `2`"),
        ("regexp_replace('a', 'a', 'US$')", 2, "write `$$` for a dollar sign"),
        ("regexp_replace('a', 'a', '${x')", 2, "is not closed"),
        ("abs('n/a')", 0, "the text \"n/a\" is not a number"),
        ("round(1, 1001)", 1, "1001 places are more than 1000 (places_max)"),
        ("format_number(1, -1)", 1, "-1 places are less than 0"),
        ("div(1, 'x')", 1, "the text \"x\" is not a number"),
        ("element_at('abc', 1)", 0, "the text \"abc\" is not a list"),
        ("element_at([1], 0)", 1, "there is no position 0"),
        ("slice([1], 1, 0)", 2, "there is no position 0"),
        ("array_join([[1]], '-')", 0, "a list is not a text"),
        ("array_sort([1], 'up')", 1, "the text \"up\" is not 'asc' or 'desc'"),
        ("array_sum(['a'])", 0, "the text \"a\" is not a number"),
        ("array_concat([1], 2)", 1, "the number 2 is not a list"),
        ("range(1, 2, 0)", 2, "a step of 0 never arrives"),
        ("keys([1])", 0, "a list is not an object"),
        ("merge({a: 1}, 5)", 1, "the number 5 is not an object"),
        ("from_entries([{value: 1}])", 0, "an object is not an object with a text as `key`"),
        ("get({a: 1}, 'a[')", 1, "the path `a[`"),
        ("parse_json('{')", 0, "the text is no JSON: "),
        ("from_base64('*')", 0, "the text is no Base64"),
        ("from_base64('/w==')", 0, "the bytes of the Base64 are no text in UTF-8"),
        ("url_decode('%zz')", 0, "the text has a `%` that is no escape"),
        ("url_part('a', 'domain')", 1, "the text \"domain\" is not 'scheme'"),
    ] {
        let error = Calls::evaluate(example).expect_err(example);
        assert!(error.to_string().contains(message), "{example}: {error}");
        assert_eq!(error.position(), Some(position), "{example}");
    }
}

#[test]
fn results_beyond_a_limit_are_refused_before_they_are_made() {
    let large = Value::from("x".repeat(TEXT_BYTES_MAX - 1));
    let blank = Value::from(" ");
    let many: Value = (0..1000).map(Value::int).collect();
    for (name, arguments, limit) in [
        ("repeat", vec!["ab".into(), Value::int(i64::MAX)], "text_bytes_max"),
        ("lpad", vec!["a".into(), Value::int(i64::MAX)], "text_bytes_max"),
        ("rpad", vec!["a".into(), Value::from(TEXT_BYTES_MAX), "é".into()], "text_bytes_max"),
        ("concat", vec![large.clone(), "ab".into()], "text_bytes_max"),
        ("replace", vec![large.clone(), "x".into(), "yy".into()], "text_bytes_max"),
        (
            "regexp_replace",
            vec!["x".repeat(4096).into(), "x".into(), "y".repeat(8000).into()],
            "text_bytes_max",
        ),
        (
            "regexp_replace",
            vec!["x".repeat(1 << 20).into(), "x".into(), "y".into()],
            "pattern_work_max",
        ),
        ("regexp_split", vec!["x".repeat(1 << 20).into(), "".into()], "pattern_work_max"),
        ("regexp_extract_all", vec!["x".repeat(1 << 20).into(), "".into()], "pattern_work_max"),
        ("split", vec![large.clone(), "".into()], "list_elements_max"),
        ("format", vec!["{}{}".into(), large.clone(), large.clone()], "text_bytes_max"),
        ("base64", vec![large.clone()], "text_bytes_max"),
        ("hex", vec![large.clone()], "text_bytes_max"),
        ("url_encode", vec![large.clone()], "text_bytes_max"),
        ("json", vec![Value::array(vec![large.clone(), large.clone()])], "text_bytes_max"),
        (
            "array_join",
            vec![Value::array(vec![large.clone(), large.clone()]), blank],
            "text_bytes_max",
        ),
        ("range", vec![Value::int(0), Value::int(i64::MAX)], "range_max"),
        ("range", vec![value("1e40"), value("2e40")], "range_max"),
        ("flatten", vec![Value::array(vec![many.clone(); 4001])], "list_elements_max"),
        ("regexp_matches", vec!["a".into(), r"(\w{100}){100}{100}".into()], "pattern_bytes_max"),
    ] {
        let error = call(name, &arguments).expect_err(name);
        assert!(error.to_string().contains(limit), "{name}: {error}");
    }
    assert!(call("range", &[Value::int(1), Value::int(1_000_000)]).is_ok());
    let error = call("exp", &[value("1000")]).unwrap_err();
    assert_eq!(error.to_string(), "exp(1000) is beyond the numbers that can be computed with");
    let error = call("power", &[value("10"), value("1e9")]).unwrap_err();
    assert_eq!(error.to_string(), "power(10, 1e9) is beyond the numbers that can be computed with");
}

#[test]
fn what_a_call_reads_and_makes_is_known_before() {
    const ENOUGH: usize = 32 << 10;
    let effort = |name: &str, arguments: &[Value]| find(name).unwrap().effort(arguments, ENOUGH);
    let text = Value::from("x".repeat(ENOUGH + 1));
    let list: Value = (0..ENOUGH).map(Value::from).collect();
    let raw = json::parse_str(&json::to_string(&list)).unwrap();
    for (name, arguments) in [
        ("upper", vec![text.clone()]),
        ("length", vec![raw.clone()]),
        ("array_sort", vec![list.clone()]),
        ("json", vec![Value::array(vec![list.clone()])]),
        ("array_join", vec!["[1,2]".into(), text.clone()]),
        ("array_join", vec![(0..1000).map(Value::int).collect(), "x".repeat(1000).into()]),
        ("range", vec![Value::int(1), Value::int(1_000_000)]),
        ("range", vec![value("1e300"), value("-1e300"), value("-1e-300")]),
        ("repeat", vec!["ab".into(), Value::int(1_000_000)]),
        ("lpad", vec!["ab".into(), value("100000")]),
        ("replace", vec!["x".repeat(1000).into(), "x".into(), "y".repeat(1000).into()]),
        ("regexp_matches", vec![text.clone(), "x".into()]),
    ] {
        let counted = effort(name, &arguments);
        assert!(counted > ENOUGH, "{name}: {counted}");
    }
    for (name, arguments) in [
        ("length", vec![list.clone()]),
        ("element_at", vec![list.clone(), Value::int(7)]),
        ("typeof", vec![list]),
        ("range", vec![Value::int(1), Value::int(9)]),
        ("range", vec![Value::int(9), Value::int(1)]),
        ("range", vec![Value::int(1), Value::int(9), Value::int(0)]),
        ("range", vec!["a".into(), Value::int(9)]),
        ("repeat", vec!["ab".into(), Value::int(-1)]),
        ("round", vec![value("1e400"), Value::int(2)]),
    ] {
        let counted = effort(name, &arguments);
        assert!(counted < 1_000, "{name}: {counted}");
    }
}

#[test]
fn who_has_no_time_is_told_that_a_pattern_takes_some() {
    let (patterns, random) = (PatternCache::default(), || u128::MAX);
    let text = Value::from("a b ".repeat(2_000));
    for (name, arguments) in [
        ("regexp_split", vec![text.clone(), " ".into()]),
        ("regexp_extract_all", vec![text.clone(), "a".into()]),
        ("regexp_replace", vec![text.clone(), "a".into(), "b".into()]),
    ] {
        let function = find(name).unwrap();
        let context = Context::new(NOW, &random, &patterns).in_haste();
        assert_eq!(function.call(&context, &arguments), Err(ComputeError::TooLong), "{name}");
        assert!(call(name, &arguments).is_ok(), "{name}");
        let few = [&[Value::from("a b")], &arguments[1..]].concat();
        assert_eq!(function.call(&context, &few), call(name, &few), "{name}");
    }
}

#[test]
fn functions_differ_where_their_summaries_say_so() {
    for (example, result) in [
        ("nullif(0, '')", "null"),
        ("substring('añb', 2, 1)", "\"ñ\""),
        ("left('abc', -9)", "\"\""),
        ("right('abc', -9)", "\"\""),
        ("right('abc', 9)", "\"abc\""),
        ("position('é', 'aéé')", "2"),
        ("split('', ',')", "[\"\"]"),
        ("split('', '')", "[]"),
        ("trim(' \u{a0}x')", "\"x\""),
        ("power(2, 100)", "1267650600228229401496703205376"),
        ("power(1.1, 2)", "1.21"),
        ("power(0, -1)", "null"),
        ("power(4, -1)", "0.25"),
        ("sqrt(0.01)", "0.1"),
        ("integer('-0.9')", "0"),
        ("number('')", "0"),
        ("round(1e-400, 3)", "0"),
        ("format_number(1e21, 1)", "\"1000000000000000000000.0\""),
        ("slice([1, 2, 3], -9, 2)", "[1,2]"),
        ("slice([1, 2, 3], 2, -9)", "[]"),
        ("slice([1, 2, 3], 3, 1)", "[]"),
        ("element_at([1, 2], -3)", "null"),
        ("array_sort(['10', 9, true])", "[true,9,\"10\"]"),
        ("array_distinct([{a: 1, b: 2}, {b: 2.0, a: 1}])", "[{\"a\":1,\"b\":2}]"),
        ("array_contains([], null)", "false"),
        ("range(0.1, 0.3, 0.1)", "[0.1,0.2,0.3]"),
        ("without({a: 1}, 'b')", "{\"a\":1}"),
        ("get([{a: [1, 2]}], '[0].a')", "[1,2]"),
        ("has({a: 1}, null)", "false"),
        ("regexp_extract('ab', '(x)?b', 1)", "null"),
        ("regexp_replace('aé', '', '-')", "\"-a-é-\""),
        ("regexp_split('', ',')", "[\"\"]"),
        ("url_encode('~-._')", "\"~-._\""),
        ("md5('')", "\"d41d8cd98f00b204e9800998ecf8427e\""),
        ("uuid()", "\"ffffffff-ffff-4fff-bfff-ffffffffffff\""),
    ] {
        let computed =
            Calls::evaluate(example).unwrap_or_else(|error| panic!("{example}: {error}"));
        assert_eq!(json::to_string(&computed), result, "{example}");
    }
}

#[test]
fn raw_structures_are_taken_as_decoded_ones_are() {
    for (name, argument) in [
        ("length", "[1,[2],{}]"),
        ("reverse", "[1,[2]]"),
        ("keys", "{\"a\":1,\"b\":{}}"),
        ("values", "{\"a\":1,\"b\":{}}"),
        ("entries", "{\"a\":[1]}"),
        ("flatten", "[[1],[[2]],3]"),
        ("array_distinct", "[[1],[1.0],{\"a\":1},{\"a\":1}]"),
        ("array_sort", "[{\"b\":1},{\"a\":1},[2],[1]]"),
        ("json", "{\"a\":[1,{\"b\":null}]}"),
        ("typeof", "[]"),
        ("array_max", "[[1],[2]]"),
    ] {
        let raw = value(argument);
        assert!(matches!(raw, Value::Raw(_)));
        assert_eq!(
            call(name, std::slice::from_ref(&raw)).unwrap(),
            call(name, &[raw.into_tree()]).unwrap(),
            "{name}"
        );
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn every_call_gives_a_value_or_one_error(
        arguments in prop::collection::vec(any_value(), 4),
        texts in prop::collection::vec(any_text().prop_map(Value::from), 4),
        is_text in prop::collection::vec(any::<bool>(), 4),
    ) {
        let arguments: Vec<_> = arguments.iter().zip(&texts).zip(is_text)
            .map(|((value, text), is_text)| if is_text { text.clone() } else { value.clone() })
            .collect();
        for function in all() {
            let range = function.arguments();
            for count in *range.start()..=*range.end().min(&4) {
                match call(function.name, &arguments[..count]) {
                    Ok(result) => prop_assert!(!result.is_absent(), "{}", function.name),
                    Err(error) => prop_assert!(!error.to_string().is_empty(), "{}", function.name),
                }
            }
        }
    }

    #[test]
    fn inverse_functions_give_back_what_was_there(text in any::<String>(), value in any_value()) {
        let text = Value::from(text);
        for (there, back) in [("base64", "from_base64"), ("url_encode", "url_decode"), ("reverse", "reverse")] {
            let encoded = call(there, std::slice::from_ref(&text)).unwrap();
            prop_assert_eq!(&call(back, &[encoded]).unwrap(), &text);
        }
        if !value.is_nothing() {
            let written = call("json", std::slice::from_ref(&value)).unwrap();
            prop_assert_eq!(&call("parse_json", &[written]).unwrap(), &value);
        }
        if value.is_object() {
            let entries = call("entries", std::slice::from_ref(&value)).unwrap();
            prop_assert_eq!(call("from_entries", &[entries]).unwrap(), value);
        }
    }
}
