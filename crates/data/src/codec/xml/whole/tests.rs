//! Elements in one pass beside the same elements one by one, and beside the plain mapping.

use proptest::prelude::*;

use super::{
    super::{Fault, XmlOptions, build::Builder, keep::Keep, plainly, tests::mixed_document},
    *,
};
use crate::{
    Text, Value,
    codec::{DecodeLimits, json},
    projection::Projection,
};

/// Decodes a document to its JSON text, or to the place and reason of its fault.
fn decoded(
    text: &str,
    mode: Coerce,
    limits: &DecodeLimits,
    is_at_once: bool,
) -> Result<String, (usize, String)> {
    projected(text, &Projection::All, mode, limits, is_at_once)
}

/// The same of the parts that are asked for.
fn projected(
    text: &str,
    projection: &Projection,
    mode: Coerce,
    limits: &DecodeLimits,
    is_at_once: bool,
) -> Result<String, (usize, String)> {
    let (text, options) = (Text::from(text), XmlOptions { coerce: mode, ..Default::default() });
    let shown = |fault: Fault| (fault.offset, fault.reason);
    let scanner = Scanner::new(&text, limits.depth_max).map_err(shown)?;
    let builder = Builder::new(&text, Keep::new(projection), &options, limits);
    let builder = if is_at_once { builder } else { builder.element_by_element() };
    builder.build(scanner).map(|value| json::to_string(&value)).map_err(shown)
}

/// Texts of elements, usual and unusual ones.
const TEXTS: &[&str] = &[
    "",
    " ",
    "5",
    "-1.5",
    "007",
    "true",
    "false",
    "t",
    "plain text",
    " trimmed\n",
    "a &amp; b",
    "\r\n5",
    "&lt;&gt;&quot;&apos;",
    "&#32;",
    "&#233;t&#xe9;",
    "x&#9;",
    "\u{a0}x",
    "x\u{a0}",
    "\u{a0}",
    "é",
    "\r",
    "a longer text of more than sixteen bytes, ]] \"quoted\" \\ and \t\n more",
    "]]",
    "x\r\ny",
    "1234567890123456",
    "123456789012345",
    "1152921504606847000",
    "0",
    "-0",
    "0x1f",
    "12.50",
    "12.5",
    "<![CDATA[<]]>",
    "<!-- c -->",
    "&no;",
    "1e21",
    "-",
    "2012-05-17T20:30:50.000Z",
    "5 &amp; 6",
];
const ATTRIBUTES: &[&str] =
    &[" a='1'", " type=\"x &amp; y\"", " c=''", "\n  d = '5'", " e='\t<'", " f='é\n'", " a='2'"];
const NAMES: &[&str] = &[
    "a",
    "b",
    "title",
    "aNameOfMoreThanSixteenBytes",
    "aNameOfMoreThanSixteenBytesToo",
    "ab",
    "title2",
    "aNameOfMoreThanThirtyTwoBytesInAll",
    "n:s",
    "x-1",
    "é",
];

/// Rows of members, nearly alike.
fn records() -> impl Strategy<Value = String> {
    let attributes = proptest::sample::subsequence(ATTRIBUTES, 0..=2);
    let name = prop::sample::select(NAMES);
    let end = prop::sample::select(&[">", ">", ">", ">", ">", " >"]);
    let text = prop::sample::select(TEXTS);
    let leaf =
        (name.clone(), attributes.clone(), text, end).prop_map(|(name, attributes, text, end)| {
            match text {
                "" => format!("<{name}{}/>", attributes.concat()),
                text => format!("<{name}{}>{text}</{name}{end}", attributes.concat()),
            }
        });
    let member = leaf.prop_recursive(3, 12, 4, move |inner| {
        let gap = prop::sample::select(&["", "\n  ", "\r\n"]);
        (name.clone(), attributes.clone(), proptest::collection::vec(inner, 0..4), gap).prop_map(
            |(name, attributes, inner, gap)| {
                let (attributes, inner) = (attributes.concat(), inner.join(gap));
                format!("<{name}{attributes}>{gap}{inner}{gap}</{name}>")
            },
        )
    });
    let row = proptest::collection::vec((member, any::<bool>(), 1..3_usize), 0..7);
    (row, 0..4_usize).prop_map(|(members, rows)| {
        let row = |number: usize| -> Vec<String> {
            let kept = members.iter().filter(|(_, is_always, _)| *is_always || number != 1);
            kept.map(|(member, _, times)| member.repeat(*times)).collect()
        };
        let rows: Vec<_> = (0..rows).map(|number| row(number).concat()).collect();
        format!("<rows><row>{}</row></rows>", rows.join("</row>\n<row>"))
    })
}

const MODES: [Coerce; 3] = [Coerce::Safe, Coerce::Original, Coerce::None];

#[test]
fn records_are_written_in_one_pass() {
    let text = "<rows>\n<row a='1'><id>5</id><t>x &amp; y</t><t>&quot;</t><in><b>true</b></in></row>\n\
        <row a=\"\"><id>6</id><in/><e></e><p type='x'>7.5</p></row></rows>";
    let scanner = Scanner::new(text, 9).ok().unwrap();
    let mut whole = Whole::new(Coerce::Safe, &Stop::default());
    let room = Room { elements: 15, copied_bytes: 11 };
    let written = whole.element(&scanner, 0, 0, room).unwrap();
    assert_eq!((written.built, written.copied_bytes, written.end), (15, 6, text.len()));
    let json = r#"{"row":[{"a":1,"id":5,"t":["x & y","\""],"in":{"b":true}},"#.to_owned()
        + r#"{"a":"","id":6,"in":{},"e":{},"p":{"type":"x","$t":7.5}}]}"#;
    assert_eq!(str::from_utf8(&whole.out), Ok(&*json));
    let mut whole = Whole::new(Coerce::Safe, &Stop::default());
    let room = Room { elements: 14, copied_bytes: 11 };
    assert!(whole.element(&scanner, 0, 0, room).is_none());
    assert!(!whole.is_tried(0) && !whole.is_tried(text.len()));
}

/// Children of an element, simple ones and others, of one name and of several, with text between them.
const SIBLINGS: &[&str] = &[
    "<row><a>1</a></row>",
    "<row b='2'><a>x</a></row>",
    "<row>\n<a>1</a><a>2</a></row>",
    "<row>5</row>",
    "<row/>",
    "<row><a>1</a><b>2</b><a>3</a></row>",
    "<row>text<a>1</a></row>",
    "<other><a>1</a></other>",
    "<passed><a>1</a></passed>",
    "<passed>1</passed>",
    "<!-- nothing -->",
    " \n ",
    "text",
    "<![CDATA[data]]>",
];

#[test]
fn siblings_are_one_list_of_text() {
    let text = "<rows><row><a>1</a></row>\n<row><a>2</a></row><passed/><row><a>3</a></row></rows>";
    let options = XmlOptions::default();
    let (text, limits) = (Text::from(text), DecodeLimits::default());
    let mut projection = Projection::none();
    projection.add_members(&["rows", "row"]);
    let scanner = Scanner::new(&text, limits.depth_max).ok().unwrap();
    let keep = Keep::new(&projection);
    let value = Builder::new(&text, keep, &options, &limits).build(scanner).ok().unwrap();
    let list = value.member("rows").member("row");
    assert!(matches!(list, Value::Raw(text) if *text == *r#"[{"a":1},{"a":2},{"a":3}]"#));
}

#[test]
fn what_was_given_up_is_not_tried_again() {
    let text = "<rows><row><a>1</a><b>2</b><a>3</a></row><row><a>1</a></row></rows>";
    let scanner = Scanner::new(text, 9).ok().unwrap();
    let mut whole = Whole::new(Coerce::Safe, &Stop::default());
    let room = Room { elements: 99, copied_bytes: 0 };
    assert!(whole.element(&scanner, 0, 0, room).is_none());
    let third = text.find("<a>3").unwrap();
    assert!(!whole.is_tried(third) && whole.is_tried(third + 1));
    let second = text.rfind("<row>").unwrap();
    assert!(whole.element(&scanner, second, 1, room).is_some());
}

#[test]
fn what_is_mostly_in_vain_is_given_up() {
    let row = format!("<row><a>{}</a><b>2</b><a>3</a></row>", "x".repeat(1000));
    let text = format!("<rows>{}</rows>", row.repeat(20));
    let scanner = Scanner::new(&text, 9).ok().unwrap();
    let mut whole = Whole::new(Coerce::Safe, &Stop::default());
    let room = Room { elements: 99, copied_bytes: 0 };
    let rows = text.match_indices("<row>").map(|(at, _)| at);
    let tried = rows.filter(|at| {
        let is_tried = whole.is_tried(*at);
        assert!(!is_tried || whole.element(&scanner, *at, 1, room).is_none());
        is_tried
    });
    assert_eq!(tried.count(), 7);
}

#[test]
fn many_names_end_all_tries() {
    let children: Vec<_> = (0..70).map(|name| format!("<n{name}/>")).collect();
    let text = format!("<a><r>{}</r><r/></a>", children.concat());
    let scanner = Scanner::new(&text, 9).ok().unwrap();
    let mut whole = Whole::new(Coerce::Safe, &Stop::default());
    let room = Room { elements: 99, copied_bytes: 0 };
    assert!(whole.element(&scanner, 0, 0, room).is_none());
    assert!(!whole.is_tried(text.len()));
}

proptest! {
    #[test]
    fn records_are_what_the_plain_mapping_says(text in records()) {
        let limits = DecodeLimits::default();
        for mode in MODES {
            let tree = plainly::tree(&text, mode, &[]).map(|tree| json::to_string(&tree));
            prop_assert_eq!(decoded(&text, mode, &limits, true).ok(), tree);
        }
    }

    #[test]
    fn siblings_are_what_single_elements_are(
        children in proptest::collection::vec(prop::sample::select(SIBLINGS), 0..9),
        has_text in any::<bool>(),
        mode in prop::sample::select(MODES.to_vec()),
    ) {
        let text = format!("<rows>{}</rows>", children.concat());
        let limits = DecodeLimits::default();
        let mut projection = Projection::none();
        projection.add_members(&["rows", "row"]);
        projection.add_members(&["rows", "other"]);
        if has_text {
            projection.add_members(&["rows", "$t"]);
        }
        prop_assert_eq!(
            projected(&text, &projection, mode, &limits, true),
            projected(&text, &projection, mode, &limits, false)
        );
    }

    #[test]
    fn limits_and_errors_are_those_of_single_elements(
        text in prop_oneof![records(), mixed_document()],
        mode in prop::sample::select(MODES.to_vec()),
        elements_max in prop_oneof![0..40_usize, Just(9999)],
        depth_max in prop_oneof![1..6_usize, Just(99)],
        more in prop_oneof![0..60_usize, Just(9999)],
        cut in any::<prop::sample::Index>(),
        is_cut in any::<bool>(),
    ) {
        let mut text = text;
        if is_cut {
            text.remove(cut.get(&text.char_indices().collect::<Vec<_>>()).0);
        }
        let decoded_bytes_max = text.len() + more;
        let limits = DecodeLimits {
            depth_max,
            decoded_bytes_max,
            elements_max,
            ..DecodeLimits::default()
        };
        prop_assert_eq!(
            decoded(&text, mode, &limits, true),
            decoded(&text, mode, &limits, false)
        );
    }
}
