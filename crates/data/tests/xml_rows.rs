//! Rows of XML that become text at once beside the same rows as values: whatever `xml::decode_rows` accepts,
//! the general decoder accepts, and what is written of its cells is what the encoder writes of the values.

use proptest::{collection::vec, prelude::*, sample::select};
use qlio_data::{
    Object, Text, Value,
    codec::{
        DecodeLimits,
        json::{self, CellTable, RowForm, RowWriter},
        xml::{self, ArrayPaths, Coerce, XmlOptions},
    },
    projection::Projection,
};

const STEPS: [&str; 3] = ["e", "s:list", "item"];
const COLUMNS: [&str; 5] = ["title", "b", "aNameOfMoreThanSixteenBytes", "title", "$t"];
const MODES: [Coerce; 3] = [Coerce::Safe, Coerce::Original, Coerce::None];

/// Names in rows: columns and others, of lengths at which they are compared in another way.
const NAMES: [&str; 10] = [
    "title",
    "title",
    "b",
    "aNameOfMoreThanSixteenBytes",
    "aNameOfMoreThanSixteenBytesToo",
    "aNameOfMoreThanThirtyTwoBytesInAll",
    "c",
    "item",
    "title2",
    "é",
];

/// What is in elements.
const TEXTS: [&str; 38] = [
    "",
    " ",
    "5",
    "-1.5",
    "007",
    "true",
    "plain text",
    "a longer text of more than sixteen bytes",
    " trimmed\n",
    "a &amp; b",
    "\r\n5",
    "&lt;&gt;&quot;&apos;",
    "&#32;",
    "&#233;t&#xe9; \"quoted\" \\",
    "\u{a0}x\u{a0}",
    "\u{a0}",
    "é",
    "x\r\ny\tz",
    "]] > ]",
    "123456789012345678",
    "1e21",
    "1e400",
    "-0",
    "0x1f",
    "<![CDATA[<x> & ]]>",
    "<![CDATA[]]>",
    "a<![CDATA[b]]>c",
    "<!-- c -->",
    "1<!-- c -->2",
    "<?p i?>x",
    "<b>inner</b>",
    "text<b>inner</b>",
    "<b>inner</b>text",
    "<title>t</title><c/><title a='1'>u</title>",
    "<c><d><title>deep</title></d></c>",
    "&no;",
    "]]>",
    "Yes",
];

const ATTRIBUTES: [&str; 9] = [
    "",
    "",
    "",
    " a='1'",
    " title='x &amp; y'",
    "\n b = \"5\"",
    " a='&#9;' b=''",
    " item='\t'",
    " b='1' b='2'",
];

fn element(name: &str, attributes: &str, text: &str, end: &str) -> String {
    match text {
        "" => format!("<{name}{attributes}/>"),
        text => format!("<{name}{attributes}>{text}</{name}{end}"),
    }
}

fn member() -> impl Strategy<Value = String> {
    let plain = (select(&NAMES[..9]), select(&TEXTS[..24]))
        .prop_map(|(name, text)| element(name, "", text, ">"));
    let end = select(&[">", ">", ">", " >"][..]);
    let any = (select(&NAMES[..]), select(&ATTRIBUTES[..8]), select(&TEXTS[..35]), end)
        .prop_map(|(name, attributes, text, end)| element(name, attributes, text, end));
    prop_oneof![3 => plain, 1 => any]
}

/// What becomes of each member of a row and its text, another member, attributes, text.
type Row<'t> = (Vec<(usize, &'t str)>, String, &'t str, &'t str);

/// Rows that have mostly the same members with other texts: each row lacks some, and has others besides.
fn rows() -> impl Strategy<Value = String> {
    let names = vec((select(&NAMES[..9]), select(&ATTRIBUTES[..5])), 0..7);
    let choices = vec((0..12_usize, select(&TEXTS[..24])), 7);
    let of_row = (choices, member(), select(&ATTRIBUTES[..8]), select(&["", "", "", "text"][..]));
    let gap = select(&["", "", "\n  ", "\r\n", " <!-- c -->", "<c>text</c>", "text"][..]);
    (names, vec(of_row, 0..6), gap).prop_map(|(names, rows, gap)| {
        let row = |(choices, other, attributes, text): &Row| {
            let members = names.iter().zip(choices).map(|((name, attributes), (choice, text))| {
                let usual = element(name, attributes, text, ">");
                match choice {
                    0 => String::new(),
                    1 => format!("{other}{usual}"),
                    2 => format!("{usual}{other}"),
                    3 => format!("{usual}{gap}{usual}"),
                    _ => usual,
                }
            });
            let members: Vec<_> = members.collect();
            // Most rows have no attributes.
            let attributes = if choices[6].0 == 0 { attributes } else { "" };
            let text = if choices[6].0 == 1 { text } else { "" };
            format!("<item{attributes}>{gap}{text}{}{gap}</item>{gap}", members.join(gap))
        };
        rows.iter().map(row).collect()
    })
}

fn document() -> impl Strategy<Value = String> {
    let before = select(&["", "", "<?xml version='1.0'?>", "\u{feff}<!DOCTYPE e><!-- c -->"][..]);
    let beside = select(
        &["", "", "<x/>", "text", "<y a='1'><item>5</item></y>\n", "<item/>", "<s:list/>"][..],
    );
    let attributes = select(&ATTRIBUTES[..8]);
    (before, beside.clone(), attributes, rows(), beside, rows()).prop_map(
        |(before, beside, attributes, rows, between, more)| {
            format!(
                "{before}<e>{beside}<s:list{attributes}>{rows}{between}{more}</s:list>{beside}</e>\n"
            )
        },
    )
}

fn limits(elements_max: usize, depth_max: usize, decoded_bytes_max: usize) -> DecodeLimits {
    DecodeLimits { depth_max, decoded_bytes_max, elements_max, ..DecodeLimits::default() }
}

fn cells(
    text: &str,
    steps: &[&str],
    options: &XmlOptions,
    limits: &DecodeLimits,
) -> Option<CellTable> {
    let steps: Vec<Text> = steps.iter().map(|step| Text::from(*step)).collect();
    xml::decode_rows(&Text::from(text), &steps, &COLUMNS, options, limits)
}

/// The general way: the rows as values; `None` if the document is refused or has no such rows.
fn values(
    text: &str,
    steps: &[&str],
    options: &XmlOptions,
    limits: &DecodeLimits,
) -> Option<Vec<Value>> {
    let mut projection = Projection::none();
    for column in COLUMNS {
        projection.add_members(&[steps, &[column]].concat());
    }
    let mut value = xml::decode_text(&Text::from(text), &projection, options, limits).ok()?;
    for (position, step) in steps.iter().enumerate() {
        value = value.member(step);
        // On the way a list counts as its first element.
        if position + 1 < steps.len() && value.is_array() {
            value = value.element(0);
        }
    }
    match value.elements() {
        Some(elements) => Some(elements.into_owned()),
        None if value.is_absent() => None,
        None => Some(vec![value]),
    }
}

fn written(rows: &[Value], form: RowForm<'_>) -> String {
    let or_null = |value: Value| if value.is_absent() { Value::Null } else { value };
    let row = |row: &Value| match form {
        RowForm::Object(names) => {
            let members =
                names.iter().zip(COLUMNS).map(|(name, column)| (*name, row.member(column)));
            Value::object(members.collect::<Object>())
        }
        RowForm::List => COLUMNS.iter().map(|column| or_null(row.member(column))).collect(),
        RowForm::Bare => or_null(row.member(COLUMNS[0])),
    };
    json::to_string(&rows.iter().map(row).collect())
}

/// Whether the document was taken as cells, which then are as the values.
fn agrees(
    text: &str,
    steps: &[&str],
    options: &XmlOptions,
    limits: &DecodeLimits,
) -> Result<bool, TestCaseError> {
    let Some(cells) = cells(text, steps, options, limits) else { return Ok(false) };
    let values = values(text, steps, options, limits)
        .ok_or_else(|| TestCaseError::fail(format!("the general decoder refuses {text}")))?;
    prop_assert_eq!(cells.len(), values.len(), "{}", text);
    for value in &values {
        prop_assert!(value.is_object(), "{}", text);
    }
    for form in [RowForm::Object(&["v", "w", "x", "y", "z"]), RowForm::List, RowForm::Bare] {
        let width = if form == RowForm::Bare { 1 } else { 5 };
        let mut writer = RowWriter::new(form, width);
        for row in 0..cells.len() {
            writer.push(|position| (&cells, row, position));
        }
        prop_assert_eq!(json::to_string(&writer.finish()), written(&values, form), "{}", text);
    }
    for (row, value) in values.iter().enumerate() {
        for (column, name) in COLUMNS.iter().enumerate() {
            let (cell, value) = (cells.value(row, column), value.member(name));
            prop_assert_eq!(cells.is_absent(row, column), value.is_absent());
            prop_assert!(cell == value, "{:?} {:?} in {}", cell, value, text);
        }
    }
    Ok(true)
}

fn options(mode: Coerce, arrays: &[&str]) -> XmlOptions {
    XmlOptions { coerce: mode, arrays: ArrayPaths::new(arrays) }
}

const ARRAYS: [&str; 6] = ["e", "e.s:list", "e.s:list.item", "e.x", "item.b", "e.s:list.item.b"];

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(2048) })]

    #[test]
    fn rows_are_cells(
        text in document(),
        mode in select(&MODES[..]),
        arrays in proptest::sample::subsequence(&ARRAYS[..], 0..3),
    ) {
        agrees(&text, &STEPS, &options(mode, &arrays), &DecodeLimits::default())?;
        agrees(&text, &STEPS[..2], &options(mode, &arrays), &DecodeLimits::default())?;
        agrees(&text, &STEPS[..1], &options(mode, &[]), &DecodeLimits::default())?;
    }

    #[test]
    fn limits_are_those_of_values(
        text in document(),
        elements_max in 0..60_usize,
        depth_max in 1..8_usize,
        more in 0..300_usize,
    ) {
        let (options, default) = (XmlOptions::default(), DecodeLimits::default());
        let bytes_max = text.len() + more;
        agrees(&text, &STEPS, &options, &DecodeLimits { elements_max, ..default.clone() })?;
        agrees(&text, &STEPS, &options, &DecodeLimits { depth_max, ..default.clone() })?;
        agrees(&text, &STEPS, &options, &DecodeLimits { decoded_bytes_max: bytes_max, ..default.clone() })?;
        agrees(&text, &STEPS, &options, &limits(elements_max, depth_max, 2 * bytes_max))?;
    }

    #[test]
    fn damaged_documents_are_left_to_the_general_decoder(
        text in document(),
        at in any::<prop::sample::Index>(),
        put in select(&[
            "", "", "<", ">", "/", "&", "]]>", "'", " ", "a", "</item>", "<item>", "</b>", "<b>", "\u{1}",
            "\u{ffff}", "é", "<!--", "<![CDATA[", "&no;", " b='1' b='2'", "x", "\r", "<e/>",
        ][..]),
        is_inserted in any::<bool>(),
        length in 0..40_usize,
    ) {
        let mut characters: Vec<char> = text.chars().collect();
        let at = at.index(characters.len());
        let end = if is_inserted { at } else { (at + length).min(characters.len()) };
        characters.splice(at..end, put.chars());
        let text: String = characters.into_iter().collect();
        agrees(&text, &STEPS, &XmlOptions::default(), &DecodeLimits::default())?;
    }
}

#[test]
fn what_simply_are_rows_is_taken() {
    for rows in [
        "<item><title>a</title><b>5</b></item><item><title>b</title><b>6</b></item>",
        "<item><title>one row</title></item>",
        "\n  <item>\n    <c>x</c>\n    <title>a &amp; b</title>\n  </item>\n  <item>\n    <c>y</c>\n  </item>\n",
        "<item/><item></item><item> </item>",
        "<item title='x'/><item title=\"y &lt; z\"><b>5</b></item>",
        "<item title='x'>text</item>",
        "<item>text<title/></item>",
        "<item><c>a</c>text<title/></item><item><c>a</c><title/></item><item><c>a</c>text<title/></item>",
        "<item><title><![CDATA[a < b]]></title><b><![CDATA[5]]></b></item>",
        "<item><title>a</title><title>b</title><b>c</b><title>d</title></item>",
        "<item title='a'><c/><title>b</title></item>",
        "<item><title><c>a</c><c>b</c></title><b x='1'>t</b></item>",
        "<x/><item><title>a</title></item><y>text</y><item><title>b</title></item>",
        "<item><!-- c --><title>a</title><?p i?></item >",
        "<item><c k='1'>a</c><title>x</title></item><item><c k='2'>a</c><title>y</title></item>",
        "<item><c><c><d/>t</c></c><title>t</title></item>",
        "<item><c>\r\n</c><title>a\r\nb</title></item>",
        "<item><title>true</title><title/><b></b></item>",
    ] {
        let text = format!("<e><s:list count='9'>{rows}</s:list></e>");
        let (options, limits) = (XmlOptions::default(), DecodeLimits::default());
        assert_eq!(
            agrees(&text, &STEPS, &options, &limits).map_err(|e| e.to_string()),
            Ok(true),
            "{rows}"
        );
    }
}

#[test]
fn what_is_not_simply_rows_is_refused() {
    let default = DecodeLimits::default();
    let is_taken = |text: &str, limits: &DecodeLimits| {
        cells(text, &["e", "item"], &XmlOptions::default(), limits).is_some()
    };
    for text in [
        "",
        "<e/>",
        "<e><x/></e>",
        "<f><item/></f>",
        "<e><item>text</item></e>",
        "<e><item/><item>text</item></e>",
        "<e><item>text<!-- c --></item></e>",
        "<e item='x'><item/></e>",
        "<e><item><b></item></e>",
        "<e><item/></e><e/>",
        "<e><item/></e>text",
    ] {
        assert!(!is_taken(text, &default), "{text}");
    }
    let text = "<e><item><title>a</title></item></e>";
    for (limits, expected) in [
        (DecodeLimits { depth_max: 3, ..default.clone() }, true),
        (DecodeLimits { depth_max: 2, ..default.clone() }, false),
        (DecodeLimits { elements_max: 2, ..default.clone() }, false),
        (DecodeLimits { decoded_bytes_max: text.len(), ..default.clone() }, false),
    ] {
        assert_eq!(is_taken(text, &limits), expected, "{limits:?}");
    }
}
