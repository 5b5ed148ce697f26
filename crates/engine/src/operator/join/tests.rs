use qlio_data::{
    Value,
    codec::{
        DecodeLimits,
        json::{self, CellTable},
    },
    value::loose::loosely_equals,
};

use super::{super::rows::ValueRows, *};
use crate::{budget::turns::turns_of, heavy::Heavy};

fn text(row_count: u32, row: impl Fn(u32) -> String) -> Rows {
    let rows: Vec<String> = (0..row_count).map(row).collect();
    let body = format!("[{}]", rows.join(",")).into_bytes().into();
    let limits = DecodeLimits::default();
    CellTable::decode(body, &[], &["k", "m"], &limits).expect("rows").into()
}

/// The rows as values; the columns of the joined side are lists of matches.
fn values(rows: &Rows, is_joined: bool) -> Rows {
    let mut made = ValueRows::with_capacity(2, rows.len());
    for row in rows.iter() {
        made.push([0, 1].map(|column| match row.cell(column).value() {
            value if !is_joined || value.is_array() => value,
            Value::Absent => Value::array(Vec::new()),
            value => Value::array(vec![value]),
        }));
    }
    made.into()
}

fn keys(count: usize) -> Vec<JoinKey> {
    let key = |column| JoinKey {
        main_column: column,
        joined_column: column,
        joined_name: ["k", "m"][column].into(),
    };
    (0..count).map(key).collect()
}

/// Runs what may let others go first.
fn wait<T>(future: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
    runtime.block_on(future)
}

fn find_pairs(
    main: &Rows,
    joined: &Rows,
    key_count: usize,
    pairs_max: usize,
) -> Result<Vec<(u32, u32)>, RunError> {
    let (budget, heavy) = (Budget::unlimited(), Heavy::default());
    let opener = Opener { budget: &budget, heavy: &heavy };
    wait(pairs(opener, main, joined, &keys(key_count), pairs_max))
}

/// The number of pairs and of comparisons that finding them took.
fn work(main: &Rows, joined: &Rows, key_count: usize) -> (usize, usize) {
    let keys = keys(key_count);
    let (budget, heavy) = (Budget::unlimited(), Heavy::default());
    let opener = Opener { budget: &budget, heavy: &heavy };
    let mut found = Found { pairs: Vec::new(), pairs_max: usize::MAX, budget: &budget };
    let comparisons = wait(async {
        let join = Join::of(opener, main, joined, &keys).await.expect("few rows");
        join.search(&mut found).await.expect("no limit");
        join.comparisons.get()
    });
    (found.pairs.len(), comparisons)
}

#[test]
fn comparisons_grow_with_the_rows_and_not_with_their_product() {
    // The first key alone would leave half of the other side to each row.
    let two_keys = |row: u32| format!(r#"{{"k":{},"m":"{}"}}"#, row % 2, row * 7 % 20_000);
    let first_is_list = |row: u32| format!(r#"{{"k":[{},"all"],"m":{row}}}"#, row % 2);
    for count in [2_000, 20_000] {
        let rows = [text(count, two_keys), text(count, first_is_list)];
        for rows in &rows {
            for joined in [rows, &values(rows, true)] {
                for main in [rows, &values(rows, false)] {
                    let (pairs, comparisons) = work(main, joined, 2);
                    assert_eq!(pairs, count as usize);
                    assert!(comparisons <= 3 * pairs, "{comparisons} for {count} rows");
                }
            }
        }
    }
}

#[test]
fn text_and_values_meet_alike() {
    let cells =
        ["1", "\"1\"", "\"1.0\"", "null", "[1,2]", "[]", "{}", "\"[object Object]\"", "[[1],3]"];
    let row = |row: u32| {
        let (k, m) = (cells[row as usize % 9], cells[row as usize / 9 % 9]);
        let members = [format!("\"k\":{k}"), format!("\"m\":{m}")];
        format!("{{{}}}", members[..2 - row as usize % 3 / 2].join(","))
    };
    let (main, joined) = (text(81, row), text(81, |number| row(80 - number)));
    for count in 0..=2 {
        let of = |main: &Rows, joined: &Rows| {
            find_pairs(main, joined, count, usize::MAX).expect("no limit")
        };
        let expected = of(&main, &joined);
        assert!(!expected.is_empty());
        assert_eq!(of(&values(&main, false), &joined), expected);
        assert_eq!(of(&main, &values(&joined, true)), expected);
        assert_eq!(of(&values(&main, false), &values(&joined, true)), expected);
    }
}

#[test]
fn more_pairs_than_allowed_are_refused() {
    let rows = text(40, |row| format!("{{\"k\":{}}}", row % 2));
    for count in 0..=1 {
        let find = |pairs_max| find_pairs(&rows, &rows, count, pairs_max);
        let all = find(usize::MAX).expect("no limit").len();
        assert!(find(all).is_ok());
        assert_eq!(find(all - 1).map_err(|error| error.code), Err(codes::TOO_MANY_ROWS));
    }
    assert_eq!(json::to_string(&rows.row(1).cell(0).value()), "1");
}

/// The pairs as the rules say them, each value beside each.
fn expected_pairs(main: &[Value], joined: &[Value]) -> Vec<(u32, u32)> {
    let elements = |value: &Value, opens_inner: bool| -> Vec<Value> {
        let Some(elements) = value.elements() else { return vec![value.clone()] };
        let inner = |element: &Value| match element.elements().filter(|_| opens_inner) {
            Some(inner) => inner.into_owned(),
            None => vec![element.clone()],
        };
        elements.iter().flat_map(inner).collect()
    };
    let mut found = Vec::new();
    for (number, main) in (0..).zip(main) {
        for (row, joined) in (0..).zip(joined) {
            let others = elements(joined, false);
            let meet = |own: &Value| others.iter().any(|other| loosely_equals(own, other));
            if elements(main, true).iter().any(meet) {
                found.push((number, row));
            }
        }
    }
    found
}

fn column(rows: &Rows) -> Vec<Value> {
    rows.iter().map(|row| row.cell(0).value()).collect()
}

/// Keys of one column: single values and lists, of which some are too large to be looked at where they stand.
fn key_of_row(row: u32) -> String {
    let number = row * 7 % 40;
    match row % 9 {
        0 => format!("\"{number}.0\""),
        1 => format!("[{number},\"{number}\",{}]", number + 1),
        2 => format!("\"{}{number}\"", "0".repeat(5_000)),
        3 => format!("[[{number}],\"{}\"]", "x".repeat(number as usize * 300)),
        4 => {
            format!("[{}]", (0..3_000).map(|n| (n % 50).to_string()).collect::<Vec<_>>().join(","))
        }
        5 => format!("\"{}\"", "x".repeat(number as usize * 300)),
        6 => "[]".to_owned(),
        7 => format!("[null,true,{{}},\"{number}\"]"),
        _ => number.to_string(),
    }
}

#[test]
fn lists_and_large_values_meet_as_each_value_beside_each() {
    let main = text(60, |row| format!("{{\"k\":{}}}", key_of_row(row)));
    let joined = text(60, |row| format!("{{\"k\":{}}}", key_of_row(59 - row)));
    let found = find_pairs(&main, &joined, 1, usize::MAX).expect("no limit");
    assert!(found.len() > 100, "{} pairs", found.len());
    assert_eq!(found, expected_pairs(&column(&main), &column(&joined)));
}

#[test]
fn two_keys_that_are_lists_meet_if_each_does() {
    let row = |row: u32| format!("{{\"k\":{},\"m\":{}}}", key_of_row(row), key_of_row(row / 2));
    let (main, joined) = (text(40, row), text(40, |number| row(39 - number)));
    let found = find_pairs(&main, &joined, 2, usize::MAX).expect("no limit");
    let second = |rows: &Rows| rows.iter().map(|row| row.cell(1).value()).collect::<Vec<_>>();
    let of_first = expected_pairs(&column(&main), &column(&joined));
    let of_second = expected_pairs(&second(&main), &second(&joined));
    let both = of_first.into_iter().filter(|pair| of_second.contains(pair));
    assert_eq!(found, both.collect::<Vec<_>>());
}

#[test]
fn a_long_list_is_compared_once_for_each_of_its_partners() {
    let count = 20_000_u32;
    let list = (0..count).map(|number| number.to_string()).collect::<Vec<_>>().join(",");
    let long = text(1, |_| format!("{{\"k\":[{list}]}}"));
    let short = text(count, |row| format!("{{\"k\":{row}}}"));
    for (main, joined) in [(&long, &short), (&short, &long), (&long, &long)] {
        let (pairs, comparisons) = work(main, joined, 1);
        assert_eq!(pairs, main.len().max(joined.len()));
        assert!(comparisons <= 2 * pairs, "{comparisons} comparisons");
    }
}

#[test]
fn elements_that_are_the_same_are_looked_up_once() {
    let same = vec!["7"; 20_000].join(",");
    let main = text(1, |_| format!("{{\"k\":[{same}]}}"));
    let joined = text(1_000, |_| "{\"k\":7}".to_owned());
    assert_eq!(work(&main, &joined, 1), (1_000, 1_000));
}

#[test]
fn rows_with_many_partners_have_them_in_order() {
    let main = text(2, |_| "{\"k\":[1,2]}".to_owned());
    let joined = text(5_000, |row| format!("{{\"k\":{}}}", row % 3));
    let found = find_pairs(&main, &joined, 1, usize::MAX).expect("no limit");
    let partners = (0..5_000).filter(|row| row % 3 > 0);
    let expected = (0..2).flat_map(|main| partners.clone().map(move |row| (main, row)));
    assert_eq!(found, expected.collect::<Vec<_>>());
}

#[test]
fn long_lists_are_opened_in_turns_and_what_they_take_is_charged() {
    let list = |from: u32| {
        let numbers = (from..from + 60_000).map(|number| number.to_string());
        format!("{{\"k\":[{}]}}", numbers.collect::<Vec<_>>().join(","))
    };
    let (main, joined) = (text(2, list), text(2, |row| list(row + 50_000)));
    let heavy = Heavy::default();
    let keys = keys(1);
    let (found, turns) = turns_of(async |budget| {
        pairs(Opener { budget, heavy: &heavy }, &main, &joined, &keys, usize::MAX).await
    });
    assert_eq!(found.len(), 4);
    assert!(turns > 4, "{turns} turns");
}
