//! Rows that stay text beside rows of values: whatever a [`CellTable`] accepts, the general decoder
//! accepts, and what is written of its cells is what the encoder writes of the values.

use bytes::Bytes;
use proptest::{collection::vec, prelude::*, sample::select};
use qlio_data::{
    Object, Text, Value,
    codec::{
        DecodeLimits, Stop,
        json::{self, CellTable, RowForm, RowReader, RowWriter},
    },
    projection::Projection,
    value::loose::{LooseValue, loosely_equals},
};

const COLUMNS: [&str; 3] = ["a", "b\"é", "a"];
/// The columns of [`COLUMNS`] as text has them; the escapes name the same members.
const NAMES: [&str; 6] =
    [r#""a""#, r#""b\"é""#, r#""b\u0022\u00e9""#, r#""\u0061""#, r#""c""#, r#""ab""#];
const VALUES: [&str; 22] = [
    "null",
    "true",
    "false",
    "0",
    "-1.50",
    "1e3",
    "12345678901234567890",
    "\"\"",
    "\"x\"",
    "\"1\"",
    "\" 1.0 \"",
    "\"0x10\"",
    r#""a\"b\\c\n\t\r\b\f""#,
    r#""\/ \u00e9 \ud83d\ude00 \ud800 \u0001 \u001F""#,
    r#""\u0031""#,
    r#""ends in \\""#,
    "\"東京 é\"",
    "[]",
    "{}",
    "[1, {\"a\" : [2]} ]",
    "{ \"a\":1,\"a\" : \"\\u0041\" }",
    "\"[object Object]\"",
];

/// What takes the place of a byte.
const DAMAGE: [&[u8]; 13] =
    [b"", b"{", b"]", b"\"", b",", b"}", b"[", b"0", b"\\", b"\x01", b" ", b":", b"\xff"];

fn blank() -> impl Strategy<Value = &'static str> {
    select(&["", "", "", " ", "\n\t ", "  "][..])
}

/// A row as text: members in any order, some of them twice, others missing.
fn row() -> impl Strategy<Value = String> {
    let member = (blank(), select(&NAMES[..]), blank(), blank(), select(&VALUES[..]), blank())
        .prop_map(|(a, name, b, c, value, d)| format!("{a}{name}{b}:{c}{value}{d}"));
    vec(member, 0..5).prop_map(|members| format!("{{{}}}", members.join(",")))
}

fn rows() -> impl Strategy<Value = String> {
    (blank(), vec(row(), 1..6), blank())
        .prop_map(|(a, rows, b)| format!("[{a}{}{b}]", rows.join(&format!("{b},{a}"))))
}

/// Names of lengths at which a name is compared in another way, and of the same length.
const LONG_NAMES: [&str; 9] = [
    r#""abcdefghijklm""#,
    r#""abcdefghijklM""#,
    r#""abcdefghijklmn""#,
    r#""abcdefghijklmno""#,
    r#""Abcdefghijklmno""#,
    r#""abcdefghijklmnopqrstuvwxyzabc""#,
    r#""abcdefghijklmnOpqrstuvwxyzabc""#,
    r#""abcdefghijklmnopqrstuvwxyzabcd""#,
    r#""abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyz""#,
];

/// Rows that mostly have the same members in the same order: some lack members, some have others.
fn similar_rows() -> impl Strategy<Value = String> {
    let name = || prop_oneof![select(&NAMES[..]), select(&LONG_NAMES[..])];
    let shape = vec(name(), 1..12);
    (shape, vec((vec(0_usize..20, 12), name(), select(&VALUES[..]), blank()), 1..12)).prop_map(
        |(shape, rows)| {
            let row = |(choices, other, value, blank): &(Vec<usize>, &str, &str, &str)| {
                let members = shape.iter().zip(choices).map(|(name, choice)| match choice {
                    0 => String::new(),
                    1 => format!("{other}:{value},"),
                    2 => format!("{name}{blank}:{value},"),
                    3 => format!("{other}:{blank}1,{blank}{name}:{choice},"),
                    _ => format!("{name}:{choice},"),
                });
                format!("{{{}}}", members.collect::<String>().trim_end_matches(','))
            };
            // So that the last row is not always near the end of the text.
            format!("[{}]{}", rows.iter().map(row).collect::<Vec<_>>().join(","), " ".repeat(40))
        },
    )
}

/// A body with rows below `r.s`, and a word of what else is in it.
fn enveloped() -> impl Strategy<Value = String> {
    let around = select(&["", "\"x\":[1,{\"r\":2}],", "\"rr\" : null , "][..]);
    let behind = select(&["", ",\"y\":{}", " , \"t\":\"r\" ", ",\"\\u0072\":1", ",\"s\":2"][..]);
    (around, rows(), behind, behind_rows()).prop_map(|(around, rows, behind, inner)| {
        format!("{{{around}\"r\":{{{around}\"s\":{rows}{inner}}}{behind}}}")
    })
}

fn behind_rows() -> impl Strategy<Value = &'static str> {
    select(&["", " ", ",\"s\":[{\"twice\":1}]", ",\"z\":[[]]"][..])
}

fn steps(names: &[&str]) -> Vec<Text> {
    names.iter().map(|name| Text::from(*name)).collect()
}

/// The general way: the rows as values, if they are rows.
fn values(body: &str, steps: &[&str]) -> Option<Vec<Vec<Value>>> {
    let mut projection = Projection::none();
    for column in COLUMNS {
        let path: Vec<&str> = steps.iter().copied().chain([column]).collect();
        projection.add_members(&path);
    }
    let bytes = Bytes::copy_from_slice(body.as_bytes());
    let mut value = json::decode(bytes, &projection, &DecodeLimits::default()).ok()?;
    for step in steps {
        value = value.member(step);
    }
    let rows = match value.elements() {
        Some(elements) => elements.into_owned(),
        None => vec![value],
    };
    Some(rows.iter().map(|row| COLUMNS.iter().map(|column| row.member(column)).collect()).collect())
}

fn written(rows: &[Vec<Value>], form: RowForm<'_>) -> String {
    let or_null = |value: &Value| if value.is_absent() { Value::Null } else { value.clone() };
    let row = |row: &Vec<Value>| match form {
        RowForm::Object(names) => {
            let members = names.iter().copied().zip(row.iter().cloned());
            Value::object(members.collect::<Object>())
        }
        RowForm::List => row.iter().map(or_null).collect(),
        RowForm::Bare => or_null(&row[0]),
    };
    json::to_string(&rows.iter().map(row).collect())
}

/// The cells as text, if the body is rows.
fn shown(cells: Option<CellTable>) -> Option<Vec<String>> {
    let cells = cells?;
    let places =
        (0..cells.len()).flat_map(|row| (0..cells.width()).map(move |column| (row, column)));
    Some(places.map(|(row, column)| format!("{:?}", cells.value(row, column))).collect())
}

/// Fails unless a body that is read whenever some more of it has come gives what the whole one does.
fn reads_alike_in_pieces(
    body: &[u8],
    path: &[&str],
    cuts: &[prop::sample::Index],
    limits: &DecodeLimits,
) -> Result<(), TestCaseError> {
    let steps = steps(path);
    let mut ends: Vec<usize> = cuts.iter().map(|cut| cut.index(body.len() + 1)).collect();
    ends.sort_unstable();
    let mut reader = RowReader::new(&steps, &COLUMNS, limits).with_pieces_of(1);
    for end in &ends {
        reader.read(&body[..*end]);
    }
    let body = Bytes::copy_from_slice(body);
    let whole = CellTable::decode(body.clone(), &steps, &COLUMNS, limits);
    prop_assert_eq!(shown(reader.finish(body)), shown(whole), "{:?}", ends);
    Ok(())
}

fn cuts() -> impl Strategy<Value = Vec<prop::sample::Index>> {
    vec(any::<prop::sample::Index>(), 0..20)
}

/// Whether the body was taken as cells, which then are as the values.
fn agrees(body: &str, path: &[&str]) -> Result<bool, TestCaseError> {
    let bytes = Bytes::copy_from_slice(body.as_bytes());
    let limits = DecodeLimits::default();
    let Some(cells) = CellTable::decode(bytes, &steps(path), &COLUMNS, &limits) else {
        return Ok(false);
    };
    let values = values(body, path)
        .ok_or_else(|| TestCaseError::fail(format!("the general decoder refuses {body}")))?;
    prop_assert_eq!(cells.len(), values.len(), "{}", body);
    for form in [RowForm::Object(&["x", "\u{1}y", "z"]), RowForm::List, RowForm::Bare] {
        let width = if form == RowForm::Bare { 1 } else { 3 };
        let mut writer = RowWriter::new(form, width);
        writer.reserve(cells.len(), cells.json_bytes(&[0, 1, 2]));
        for row in 0..cells.len() {
            writer.push(|position| (&cells, row, position));
        }
        let text = writer.finish();
        prop_assert!(matches!(text, Value::Raw(_)));
        prop_assert_eq!(json::to_string(&text), written(&values, form), "{}", body);
    }
    for (row, values) in values.iter().enumerate() {
        for (column, value) in values.iter().enumerate() {
            prop_assert_eq!(cells.is_absent(row, column), value.is_absent());
            prop_assert_eq!(json::to_string(&cells.value(row, column)), json::to_string(value));
            prop_assert_eq!(cells.loose(row, column).is_none(), value.is_array());
        }
    }
    Ok(true)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(1024) })]

    #[test]
    fn rows_are_cells(body in rows()) {
        prop_assert!(agrees(&body, &[])?, "{}", body);
        let raw = Text::from(&*body);
        prop_assert!(CellTable::of_raw(&raw, &COLUMNS, Stop::default()).is_some());
    }

    #[test]
    fn rows_that_came_one_by_one_are_the_same_cells(rows in vec(row(), 0..6), other in select(&VALUES[..])) {
        let raw = |text: &str| Value::Raw(Text::from(text));
        let elements: Vec<Value> = rows.iter().map(|row| raw(row)).collect();
        let together = CellTable::of_raw(&Text::from(format!("[{}]", rows.join(","))), &COLUMNS, Stop::default());
        prop_assert_eq!(together.is_some(), !rows.is_empty());
        prop_assert_eq!(shown(CellTable::of_elements(&elements, &COLUMNS, Stop::default())), shown(together));
        for other in [raw("[{}]"), json::decode(Bytes::from(other), &Projection::All, &DecodeLimits::default()).unwrap()] {
            if !matches!(&other, Value::Raw(text) if text.starts_with('{')) {
                let elements = [&elements[..], &[other]].concat();
                prop_assert!(CellTable::of_elements(&elements, &COLUMNS, Stop::default()).is_none());
            }
        }
    }

    #[test]
    fn rows_like_the_one_before_are_the_same_cells(
        body in similar_rows(),
        cuts in cuts(),
        at in any::<prop::sample::Index>(),
        put in select(&["", "x", "\"", ":", ","][..]),
    ) {
        prop_assert!(agrees(&body, &[])?, "{}", body);
        reads_alike_in_pieces(body.as_bytes(), &[], &cuts, &DecodeLimits::default())?;
        let mut characters: Vec<char> = body.chars().collect();
        let at = at.index(characters.len());
        characters.splice(at..=at, put.chars());
        agrees(&characters.into_iter().collect::<String>(), &[])?;
    }

    #[test]
    fn rows_in_an_envelope_are_cells_unless_a_name_comes_twice(body in enveloped()) {
        let is_repeated = body.contains(",\"s\":[{\"twice\":1}]") || body.contains("\"\\u0072\":1");
        prop_assert_eq!(agrees(&body, &["r", "s"])?, !is_repeated, "{}", body);
    }

    #[test]
    fn one_object_is_one_row(body in row()) {
        prop_assert!(agrees(&body, &[])?, "{}", body);
    }

    #[test]
    fn damaged_bodies_are_left_to_the_general_decoder(
        body in enveloped(),
        at in any::<prop::sample::Index>(),
        put in select(&["", "{", "]", "\"", ",", "}", "[", "0", "\\", "\u{1}", " ", ":"][..]),
    ) {
        let mut characters: Vec<char> = body.chars().collect();
        let at = at.index(characters.len());
        characters.splice(at..=at, put.chars());
        agrees(&characters.into_iter().collect::<String>(), &["r", "s"])?;
    }

    #[test]
    fn rows_in_pieces_are_the_same_rows(
        body in rows(),
        envelope in enveloped(),
        object in row(),
        cuts in cuts(),
        depth_max in 1_usize..6,
        elements_max in 0_usize..40,
    ) {
        let default = DecodeLimits::default();
        for limits in [default.clone(), DecodeLimits { depth_max, ..default.clone() }, DecodeLimits { elements_max, ..default.clone() }] {
            reads_alike_in_pieces(body.as_bytes(), &[], &cuts, &limits)?;
            reads_alike_in_pieces(envelope.as_bytes(), &["r", "s"], &cuts, &limits)?;
            reads_alike_in_pieces(object.as_bytes(), &[], &cuts, &limits)?;
        }
    }

    #[test]
    fn damaged_rows_in_pieces_are_judged_as_a_whole(
        body in enveloped(),
        at in any::<prop::sample::Index>(),
        put in select(&DAMAGE[..]),
        is_cut in any::<bool>(),
        cuts in cuts(),
    ) {
        let mut body = body.into_bytes();
        let at = at.index(body.len());
        if is_cut {
            body.truncate(at);
        } else {
            body.splice(at..=at, put.iter().copied());
        }
        reads_alike_in_pieces(&body, &["r", "s"], &cuts, &DecodeLimits::default())?;
    }

    #[test]
    fn a_cut_keeps_the_rows_between(body in rows(), skip in 0_usize..8, take in 0_usize..8) {
        let mut cells = CellTable::of_raw(&Text::from(&*body), &COLUMNS, Stop::default()).unwrap();
        let all: Vec<String> = (0..cells.len()).map(|row| json::to_string(&cells.value(row, 0))).collect();
        cells.cut(skip, take);
        let kept: Vec<String> = (0..cells.len()).map(|row| json::to_string(&cells.value(row, 0))).collect();
        let expected: Vec<String> = all.into_iter().skip(skip).take(take).collect();
        prop_assert_eq!(kept, expected);
    }

    #[test]
    fn what_is_kept_are_the_rows_and_columns_asked_for(
        body in rows(),
        is_kept in prop::collection::vec(any::<bool>(), 8),
        width in 1..=COLUMNS.len(),
    ) {
        let mut cells = CellTable::of_raw(&Text::from(&*body), &COLUMNS, Stop::default()).unwrap();
        let row = |cells: &CellTable, row| -> String {
            (0..width).map(|column| json::to_string(&cells.value(row, column)) + ";").collect()
        };
        let numbers: Vec<u32> = (0_u32..).zip(&is_kept).take(cells.len()).filter(|(_, is_kept)| **is_kept)
            .map(|(number, _)| number).collect();
        let expected: Vec<String> = numbers.iter().map(|number| row(&cells, *number as usize)).collect();
        cells.keep(&numbers, width);
        prop_assert_eq!(cells.width(), width);
        let kept: Vec<String> = (0..cells.len()).map(|number| row(&cells, number)).collect();
        prop_assert_eq!(kept, expected);
    }

    #[test]
    fn scalars_compare_as_their_values(left in row(), right in row()) {
        let tables = [&left, &right].map(|row| CellTable::decode(
            Bytes::copy_from_slice(row.as_bytes()), &[], &COLUMNS, &DecodeLimits::default()).unwrap());
        for (a, b) in (0..3).flat_map(|a| (0..3).map(move |b| (a, b))) {
            let (Some(x), Some(y)) = (tables[0].loose(0, a), tables[1].loose(0, b)) else { continue };
            let (v, w) = (tables[0].value(0, a), tables[1].value(0, b));
            prop_assert_eq!(x == y, loosely_equals(&v, &w), "{:?} {:?}", v, w);
            prop_assert!(x != y || hash(&x) == hash(&y), "{:?} {:?}", v, w);
            for (cell, value) in [(&x, &v), (&y, &w)] {
                prop_assert_eq!(hash(cell), hash(&LooseValue::of(value)), "{:?}", value);
            }
        }
    }
}

fn hash(scalar: &LooseValue<'_>) -> u64 {
    use std::hash::{DefaultHasher, Hash, Hasher};
    let mut hasher = DefaultHasher::new();
    scalar.hash(&mut hasher);
    hasher.finish()
}

#[test]
fn what_is_not_simply_rows_is_refused() {
    let limits = DecodeLimits::default();
    let decode = |body: &'static str, limits: &DecodeLimits| {
        CellTable::decode(Bytes::from_static(body.as_bytes()), &[], &["a"], limits)
    };
    for body in [
        "",
        "[]",
        "1",
        "null",
        "\"a\"",
        "[1]",
        "[{},null]",
        "[[]]",
        "[{}] []",
        "\u{feff}[{}]",
        "[{},]",
    ] {
        assert!(decode(body, &limits).is_none(), "{body}");
    }
    assert!(
        CellTable::decode(Bytes::from_static(b"[{\"a\":\"\xff\"}]"), &[], &["a"], &limits)
            .is_none()
    );
    let body = r#"[{"a":[1]},{"a":2}]"#;
    for (limits, is_taken) in [
        (DecodeLimits { depth_max: 3, ..limits.clone() }, true),
        (DecodeLimits { depth_max: 2, ..limits.clone() }, false),
        (DecodeLimits { elements_max: 4, ..limits.clone() }, true),
        (DecodeLimits { elements_max: 3, ..limits.clone() }, false),
        (DecodeLimits { decoded_bytes_max: body.len() - 1, ..limits.clone() }, false),
    ] {
        assert_eq!(decode(body, &limits).is_some(), is_taken, "{limits:?}");
        // The general decoder agrees.
        let projection = Projection::Members(vec![("a".into(), Projection::All)]);
        let bytes = Bytes::from_static(body.as_bytes());
        assert_eq!(json::decode(bytes, &projection, &limits).is_ok(), is_taken, "{limits:?}");
    }
}
