//! Local joins and filters, which find rows by hash, against nested loops over loose equality.

use proptest::{
    collection::vec,
    prelude::{Just, Strategy, any, prop_oneof},
    prop_assert_eq, proptest,
    sample::select,
    test_runner::{Config, TestCaseError},
};
use qlio_data::{Object, Value, codec::json};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions};
use qlio_plan::{Catalog, CompileOptions, Origin, catalog::NoResources};
use qlio_testkit::reference::loosely_equal;

const SCALARS: [&str; 28] = [
    "null",
    "true",
    "false",
    "0",
    "1",
    "2",
    "-1",
    "1.5",
    "1e0",
    "-0",
    "9007199254740993",
    "9007199254740992",
    "1e300",
    "\"\"",
    "\" \"",
    "\"0\"",
    "\"1\"",
    "\" 1 \"",
    "\"1.0\"",
    "\"0x1\"",
    "\"1e0\"",
    "\"-1\"",
    "\"true\"",
    "\"x\"",
    "\"1,2\"",
    "\"[object Object]\"",
    "\"9007199254740993\"",
    "\"null\"",
];

fn value(text: &str) -> Value {
    json::parse_str(text).expect("valid JSON")
}

/// A joining value: a scalar, a list, an object, or missing.
fn key() -> impl Strategy<Value = Option<Value>> {
    let scalar = || select(&SCALARS[..]).prop_map(value);
    prop_oneof![
        6 => scalar().prop_map(Some),
        2 => vec(scalar(), 0..4).prop_map(|list| Some(Value::array(list))),
        1 => Just(Some(value("{\"a\":1}"))),
        1 => Just(None),
    ]
}

fn position_value(position: usize) -> Value {
    value(&position.to_string())
}

/// Rows with their position and up to two joining values.
fn rows() -> impl Strategy<Value = Vec<(Option<Value>, Option<Value>)>> {
    vec((key(), key()), 0..12)
}

fn table(rows: &[(Option<Value>, Option<Value>)]) -> Value {
    let row = |(position, (k, m)): (usize, &(Option<Value>, Option<Value>))| {
        let mut object = Object::new();
        object.insert("i", position_value(position));
        for (name, value) in [("k", k), ("m", m)] {
            if let Some(value) = value {
                object.insert(name, value.clone());
            }
        }
        Value::object(object)
    };
    rows.iter().enumerate().map(row).collect()
}

/// The values that one side offers: a list stands for its elements.
fn offered(value: Option<&Value>) -> Vec<Value> {
    match value.map(Value::into_tree) {
        Some(Value::Array(elements)) => elements.to_vec(),
        Some(other) => vec![other],
        None => Vec::new(),
    }
}

/// The values that a condition expects; a missing one is absent, which equals null.
fn wanted(value: Option<&Value>) -> Vec<Value> {
    if value.is_none() { vec![Value::Absent] } else { offered(value) }
}

fn meets(found: Option<&Value>, expected: Option<&Value>) -> bool {
    let (found, expected) = (offered(found), wanted(expected));
    found.iter().any(|found| expected.iter().any(|expected| loosely_equal(found, expected)))
}

fn run(text: &str, variables: &[(&str, &Value)]) -> Result<Value, TestCaseError> {
    run_with_warnings(text, variables).map(|(value, _)| value)
}

fn run_with_warnings(
    text: &str,
    variables: &[(&str, &Value)],
) -> Result<(Value, Vec<String>), TestCaseError> {
    outcome(text, variables, EngineOptions::default())?.map_err(TestCaseError::fail)
}

/// The value and the warnings of a script, or the message of its error.
fn outcome(
    text: &str,
    variables: &[(&str, &Value)],
    engine: EngineOptions,
) -> Result<Result<(Value, Vec<String>), String>, TestCaseError> {
    let engine = Engine::new(engine).expect("an engine");
    let options =
        CompileOptions { origin: Origin::Stored, file: "script", resources: &NoResources };
    let catalog = Catalog::default();
    let compiled = qlio_plan::compile(text, &catalog, &options)
        .map_err(|problems| TestCaseError::fail(format!("{problems:?}")))?;
    let variables = variables.iter().map(|(name, value)| (*name, (*value).clone())).collect();
    let request = ClientRequest { variables, ..ClientRequest::default() };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime");
    let answer = runtime.block_on(engine.run(&compiled.plan, &catalog, &request, Caller::Operator));
    Ok(answer.map(|answer| (answer.value, answer.warnings)).map_err(|error| error.to_string()))
}

fn same(actual: &Value, expected: &[Value], what: &str) -> Result<(), TestCaseError> {
    let expected = Value::array(expected.to_vec());
    if *actual == expected {
        return Ok(());
    }
    Err(TestCaseError::fail(format!(
        "{what}\nexpected {}\nactual   {}",
        json::to_string(&expected),
        json::to_string(actual)
    )))
}

/// Members as text has them: with blanks, escapes, repeated names, structures.
const MEMBERS: [&str; 20] = [
    r#""k":1"#,
    r#""k" : "1""#,
    r#""k":" 1.0""#,
    r#""k":null"#,
    r#""k":"x""#,
    r#""k":"\u0078""#,
    r#""k":true"#,
    r#""k":[1, "x"]"#,
    r#""k":{"a":1}"#,
    r#""m":2"#,
    r#""m":"2""#,
    r#""m":"\/""#,
    r#""m":"""#,
    r#""i" :1.50"#,
    r#""i":false"#,
    r#""i":"a\n\"b\"""#,
    r#""i":[ 1 ]"#,
    r#""i":"\ud800""#,
    r#""z":{"i":1}"#,
    r#""\u0069":3"#,
];

const SELECTS: [&str; 21] = [
    "select i as a, k as b from main",
    "select i, k, m from main",
    "select i from main",
    "select i from main limit 2 offset 1",
    "select i as a, m as a from main",
    "select i as a, i as b from main limit 3",
    "select z.i as a, k as b from main",
    "select nothing as n, k as b from main",
    "select i as a, k as b from main where k = 1",
    "select i from main where m = '2' and k in (1, 'x', null) limit 2 offset 1",
    "select i, m from main where nothing = null",
    "select m as a from main where k in (9, 8, 7, 6, 5, 4, 3, 2, 1, 'x', '')",
    "select p.i as a, q.i as b from main as p, other as q where p.k = q.k and p.m = '2'",
    "select i as a, length as b, '0' as c from main",
    "select p.i as a, q.i as b, q.m as c from main as p, other as q where p.k = q.k",
    "select p.i, q.k from main as p, other as q where p.k = q.k",
    "select p.k, q.k, q.i from main as p, other as q where p.k = q.k limit 3 offset 1",
    "select p.i as a, q.i as b from main as p, other as q where p.k = q.k and q.m = p.m",
    "select p.i as a, q.nothing as b from main as p, other as q where p.k = q.nothing",
    "select p.i as a, q.i as b from main as p, other as q where p.k = q.k and q.m = '2'",
    "select p.i as a, q.i as b from main as p, other as q where p.nothing = q.k",
];

/// An array as text; mostly of rows.
fn raw_rows() -> impl Strategy<Value = Value> {
    let row =
        vec(select(&MEMBERS[..]), 0..5).prop_map(|members| format!("{{{}}}", members.join(" , ")));
    let element = prop_oneof![40 => row, 1 => Just("null".to_owned()), 1 => Just("[7]".to_owned())];
    vec(element, 0..9).prop_map(|rows| value(&format!("[{}]", rows.join(", "))))
}

/// The same with each row a text of its own, as answers that were gathered are.
fn gathered_rows(raw: &Value) -> Value {
    Value::array(raw.elements().expect("an array").into_owned())
}

/// The same with rows that are decoded, their members still being text.
fn decoded_rows(raw: &Value) -> Value {
    let rows = raw.elements().expect("an array");
    rows.iter().map(|row| row.open().into_owned()).collect()
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::with_cases(2_000) })]

    #[test]
    fn rows_that_stay_text_give_what_their_values_give(
        main in raw_rows(),
        other in raw_rows(),
        text in select(&SELECTS[..]),
        is_gathered in any::<[bool; 2]>(),
    ) {
        let as_they_came = |rows: &Value, is_gathered| {
            if is_gathered { gathered_rows(rows) } else { rows.clone() }
        };
        let came = [as_they_came(&main, is_gathered[0]), as_they_came(&other, is_gathered[1])];
        let text_rows = run_with_warnings(text, &[("main", &came[0]), ("other", &came[1])])?;
        let (main, other) = (decoded_rows(&main), decoded_rows(&other));
        let decoded = run_with_warnings(text, &[("main", &main), ("other", &other)])?;
        let what = format!("{text}: {} {}", json::to_string(&main), json::to_string(&other));
        prop_assert_eq!(json::to_string(&text_rows.0), json::to_string(&decoded.0), "{}", what);
        prop_assert_eq!(text_rows.1, decoded.1, "{}", what);
    }
}

proptest! {
    #![proptest_config(Config { failure_persistence: None, ..Config::default() })]

    #[test]
    fn a_join_by_hash_is_a_nested_loop(main in rows(), joined in rows(), has_two in any::<bool>()) {
        let mut expected = Vec::new();
        for (i, (k, m)) in main.iter().enumerate() {
            for (j, (joined_k, joined_m)) in joined.iter().enumerate() {
                let is_match = meets(joined_k.as_ref(), k.as_ref())
                    && (!has_two || meets(joined_m.as_ref(), m.as_ref()));
                if is_match {
                    let pair = vec![position_value(i), position_value(j)];
                    expected.push(Value::array(pair));
                }
            }
        }
        let second = if has_two { " and q.m = p.m" } else { "" };
        let text =
            format!("return select p.i, q.i from main as p, other as q where p.k = q.k{second}");
        let (main, joined) = (table(&main), table(&joined));
        let actual = run(&text, &[("main", &main), ("other", &joined)])?;
        let what = format!("{} with {}", json::to_string(&main), json::to_string(&joined));
        same(&actual, &expected, &what)?;
    }

    #[test]
    fn a_filter_by_hash_is_a_linear_search(rows in rows(), list in vec(key(), 0..24)) {
        let list: Vec<Value> = list.into_iter().flatten().collect();
        let mut wanted = Vec::new();
        for value in &list {
            wanted.extend(offered(Some(value)));
        }
        let is_match = |k: &Option<Value>| {
            let found = offered(k.as_ref());
            found.iter().any(|found| wanted.iter().any(|wanted| loosely_equal(found, wanted)))
        };
        let kept: Vec<Value> = rows
            .iter()
            .enumerate()
            .filter(|(_, (k, _))| is_match(k))
            .map(|(position, _)| position_value(position))
            .collect();
        let (rows, list) = (table(&rows), Value::array(list));
        let text = "return select i from rows where k in (\"{=list}\")";
        // A list of one list is unwrapped by the template, not by the filter (SEL-3).
        if list.len() != 1 {
            let actual = run(text, &[("rows", &rows), ("list", &list)])?;
            let what = format!("{} in {}", json::to_string(&rows), json::to_string(&list));
            same(&actual, &kept, &what)?;
        }
    }
}

/// `count` rows whose keys come several times, as text.
fn many_rows(count: usize, keys: usize) -> Value {
    let row = |position| format!(r#"{{"i":{position},"k":"{}"}}"#, position * 31 % keys);
    value(&format!("[{}]", (0..count).map(row).collect::<Vec<_>>().join(",")))
}

// More rows and pairs than are taken at once, and more bare values than are kept as values.
#[test]
fn many_rows_that_stay_text_give_what_their_values_give() {
    let (main, other) = (many_rows(300, 70), many_rows(290, 70));
    let (main_values, other_values) = (decoded_rows(&main), decoded_rows(&other));
    for text in [
        "select i from main",
        "select nothing from main",
        "select p.i as a, q.i as b from main as p, other as q where p.k = q.k",
        "select p.i, q.i from main as p, other as q where p.k = q.k limit 200 offset 600",
        "select p.i, q.i from main as p, other as q where p.k = q.k offset 5000",
        "select p.i, q.i from main as p, other as q where p.k = q.i",
    ] {
        let raw = run_with_warnings(text, &[("main", &main), ("other", &other)]);
        let decoded = run_with_warnings(text, &[("main", &main_values), ("other", &other_values)]);
        let written = |(value, warnings): (Value, _)| (json::to_string(&value), warnings);
        let (raw, decoded) = (raw.expect("a value"), decoded.expect("a value"));
        assert_eq!(written(raw), written(decoded), "{text}");
    }
}

#[test]
fn a_join_of_rows_that_stay_text_may_not_give_too_many_rows() {
    let text = "select p.i as i from main as p, other as q where p.k = q.k limit 1";
    let (main, other) = (many_rows(40, 2), many_rows(40, 2));
    let (main_values, other_values) = (decoded_rows(&main), decoded_rows(&other));
    for (rows_max, is_refused) in [(800, false), (799, true), (0, true)] {
        let run = |main, other| {
            let mut engine = EngineOptions::default();
            engine.settings.join_rows_max = rows_max;
            outcome(text, &[("main", main), ("other", other)], engine).expect("compiles")
        };
        let (raw, decoded) = (run(&main, &other), run(&main_values, &other_values));
        assert_eq!(raw.is_err(), is_refused, "{rows_max}");
        assert_eq!(raw, decoded);
    }
}

/// The rows of a join of two literal variables.
fn joined(main: &str, other: &str, condition: &str) -> Value {
    let text = format!("return select p.i, q.i from main as p, other as q where {condition}");
    run(&text, &[("main", &value(main)), ("other", &value(other))]).expect("a value")
}

// A list in a list of joining values stands for its elements (SEL-13, JOI-6),
// as it does in filters.
#[test]
fn a_joining_list_in_a_list_stands_for_its_elements() {
    let rows =
        joined(r#"[{"i":1,"k":[[1,2],9]}]"#, r#"[{"i":1,"k":1},{"i":2,"k":"1,2"}]"#, "p.k = q.k");
    assert!(rows == value("[[1,1]]"), "{}", json::to_string(&rows));
}

// Matches of the joined path that are lists contribute their elements, as in filters.
#[test]
fn several_matches_of_a_joining_path_contribute_their_elements() {
    let rows = joined(
        r#"[{"i":1,"k":1},{"i":2,"k":2}]"#,
        r#"[{"i":1,"l":[{"k":[1,2]},{"k":[3]}]}]"#,
        "p.k = q.l[*].k",
    );
    assert!(rows == value("[[1,1],[2,1]]"), "the join gives {}", json::to_string(&rows));
}
