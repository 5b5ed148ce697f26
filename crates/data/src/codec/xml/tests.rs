use proptest::prelude::*;

use super::*;
use crate::{
    Number,
    codec::{json, prune::prune},
};

fn with(text: &str, coerce: Coerce, arrays: &[&str], projection: &Projection) -> String {
    let options = XmlOptions { coerce, arrays: ArrayPaths::new(arrays) };
    let limits = DecodeLimits::default();
    match decode(Bytes::copy_from_slice(text.as_bytes()), projection, &options, &limits) {
        Ok(value) => json::to_string(&value),
        Err(error) => format!("{}: {error}", error.offset),
    }
}

fn safe(text: &str) -> String {
    with(text, Coerce::Safe, &[], &Projection::All)
}

fn original(text: &str) -> String {
    with(text, Coerce::Original, &[], &Projection::All)
}

fn keeping(text: &str, paths: &[&[&str]]) -> String {
    let mut projection = Projection::none();
    for path in paths {
        projection.add_members(path);
    }
    with(text, Coerce::Safe, &[], &projection)
}

#[test]
fn empty_and_blank_elements_are_objects() {
    for text in ["<e/>", "<e></e>", "<e>  </e>", "<e> \n\t\u{a0}\u{feff}</e>", "<e>&#32;</e >"] {
        assert_eq!(safe(text), r#"{"e":{}}"#, "{text}");
    }
}

#[test]
fn text_is_coerced_as_the_mode_says() {
    for (text, expected_original, expected_safe) in [
        ("5", "5", "5"),
        (" 5 ", "5", "5"),
        ("5.", "5", r#""5.""#),
        ("+5", "5", r#""+5""#),
        ("1e3", "1000", r#""1e3""#),
        ("0x1f", "31", r#""0x1f""#),
        ("007", "7", r#""007""#),
        ("1.10", "1.1", r#""1.10""#),
        ("1,000", r#""1,000""#, r#""1,000""#),
        ("1 2", r#""1 2""#, r#""1 2""#),
        ("1.10.0", r#""1.10.0""#, r#""1.10.0""#),
        ("2020-01-01", r#""2020-01-01""#, r#""2020-01-01""#),
        ("NaN", r#""NaN""#, r#""NaN""#),
        ("null", r#""null""#, r#""null""#),
        ("Infinity", r#""Infinity""#, r#""Infinity""#),
        ("Yes", "true", r#""Yes""#),
        ("NO", "false", r#""NO""#),
        ("TRUE", "true", r#""TRUE""#),
        ("true", "true", "true"),
        ("false", "false", "false"),
        ("on", r#""on""#, r#""on""#),
        ("9007199254740993", "9007199254740992", r#""9007199254740993""#),
    ] {
        let document = format!("<e>{text}</e>");
        assert_eq!(original(&document), format!(r#"{{"e":{expected_original}}}"#), "{text}");
        assert_eq!(safe(&document), format!(r#"{{"e":{expected_safe}}}"#), "{text}");
        let none = with(&document, Coerce::None, &[], &Projection::All);
        assert_eq!(none, format!(r#"{{"e":"{}"}}"#, text.trim()), "{text}");
    }
}

#[test]
fn attributes_are_members_and_are_coerced() {
    assert_eq!(original(r#"<e a="4.50" b="no"/>"#), r#"{"e":{"a":4.5,"b":false}}"#);
    assert_eq!(safe(r#"<e a="4.50" b="no"/>"#), r#"{"e":{"a":"4.50","b":"no"}}"#);
    assert_eq!(original("<e a='' b=' '/>"), r#"{"e":{"a":0,"b":0}}"#);
    assert_eq!(safe("<e a='' b=' '/>"), r#"{"e":{"a":"","b":" "}}"#);
    assert_eq!(safe("<e a = 'x&lt;\ty\r\nz'\n/>"), r#"{"e":{"a":"x< y z"}}"#);
    assert_eq!(safe(r#"<e a="1">x</e>"#), r#"{"e":{"a":1,"$t":"x"}}"#);
    assert_eq!(safe(r#"<e i="3"><i>4</i></e>"#), r#"{"e":{"i":[3,4]}}"#);
}

#[test]
fn children_of_one_name_are_one_array() {
    assert_eq!(safe("<e><i>1</i></e>"), r#"{"e":{"i":1}}"#);
    assert_eq!(safe("<e><i>1</i><j/><i>2</i></e>"), r#"{"e":{"i":[1,2],"j":{}}}"#);
    assert_eq!(
        safe(r#"<e><i/><i>1</i><i k="z">2</i></e>"#),
        r#"{"e":{"i":[{},1,{"k":"z","$t":2}]}}"#
    );
}

#[test]
fn text_between_children_is_joined_and_keeps_its_place() {
    assert_eq!(safe("<e>a<i/>b</e>"), r#"{"e":{"$t":"ab","i":{}}}"#);
    assert_eq!(safe("<e> <i/> b </e>"), r#"{"e":{"i":{},"$t":"b"}}"#);
    assert_eq!(safe("<e>0<i/>5</e>"), r#"{"e":{"$t":"05","i":{}}}"#);
    assert_eq!(original("<e>0<i/>5</e>"), r#"{"e":{"$t":5,"i":{}}}"#);
    assert_eq!(safe("<e>a <i/> b &amp; <i/>c</e>"), r#"{"e":{"$t":"ab &c","i":[{},{}]}}"#);
}

#[test]
fn one_run_of_text_is_taken_whole() {
    assert_eq!(safe("<e><![CDATA[ 3 < 4 ]]></e>"), r#"{"e":"3 < 4"}"#);
    assert_eq!(safe("<e>fish &amp; chips</e>"), r#"{"e":"fish & chips"}"#);
    assert_eq!(safe("<e>1&#50;3</e>"), r#"{"e":123}"#);
    assert_eq!(safe("<e>0&#53;x</e>"), r#"{"e":"05x"}"#);
    assert_eq!(safe("<e> two\r\nlines </e>"), r#"{"e":"two\nlines"}"#);
    assert_eq!(safe("<e>1<!-- c -->2<?p x?>3<![CDATA[4]]></e>"), r#"{"e":1234}"#);
    assert_eq!(safe("<größe>日本 &#x1F600;</größe>"), r#"{"größe":"日本 😀"}"#);
}

#[test]
fn prologue_comments_and_instructions_give_nothing() {
    let text = "\u{feff}<?xml version='1.0'?>\n<!-- c --><!DOCTYPE e SYSTEM \"e.dtd\" [<!-- '>' -->\
                <!ELEMENT e (#PCDATA)> <?p?> <!ATTLIST e a CDATA '>'>]>\n<e><?pi x?>7<!-- d --></e>\n<!-- end -->";
    assert_eq!(safe(text), r#"{"e":7}"#);
}

#[test]
fn names_keep_their_prefix_and_are_only_names() {
    assert_eq!(
        safe(r#"<p:e xmlns:p="u:1"><p:i>x</p:i></p:e>"#),
        r#"{"p:e":{"xmlns:p":"u:1","p:i":"x"}}"#
    );
    assert_eq!(
        safe("<e><constructor>1</constructor><toString/></e>"),
        r#"{"e":{"constructor":1,"toString":{}}}"#
    );
}

#[test]
fn the_mapping_of_the_worked_examples() {
    let berth = r#"<berth id="B7" depth="4.50" open="yes"><name>North Quay</name></berth>"#;
    assert_eq!(
        original(berth),
        r#"{"berth":{"id":"B7","depth":4.5,"open":true,"name":"North Quay"}}"#
    );
    let tides = r#"<tides><tide h="2.1">high</tide><tide h="0.3">low</tide></tides>"#;
    assert_eq!(safe(tides), r#"{"tides":{"tide":[{"h":2.1,"$t":"high"},{"h":0.3,"$t":"low"}]}}"#);
    let port = r#"<p:port xmlns:p="urn:port"><p:code>NO</p:code><p:zip>00501</p:zip></p:port>"#;
    assert_eq!(original(port), r#"{"p:port":{"xmlns:p":"urn:port","p:code":false,"p:zip":501}}"#);
    assert_eq!(safe(port), r#"{"p:port":{"xmlns:p":"urn:port","p:code":"NO","p:zip":"00501"}}"#);
    assert_eq!(safe("<note>rope &amp; fender</note>"), r#"{"note":"rope & fender"}"#);
}

#[test]
fn malformed_documents_are_told_with_their_place() {
    for (text, offset, reason) in [
        ("<fleet><ship>Ada</ship>", 23, "document ends inside element `fleet`"),
        ("OK", 0, "text outside the root element"),
        ("<a/>x", 4, "text outside the root element"),
        ("<a/><![CDATA[x]]>", 4, "text outside the root element"),
        ("<a/><b/>", 4, "more than one root element"),
        ("", 0, "no root element"),
        ("<!-- c -->", 10, "no root element"),
        ("<a><b></a></b>", 6, "end tag does not match element `b`"),
        ("<a></ab>", 3, "end tag does not match element `a`"),
        ("</a>", 0, "end tag without a start tag"),
        ("<a", 2, "document ends inside a tag"),
        ("<a></a", 3, "document ends inside a tag"),
        ("<a b></a>", 4, "attribute `b` without a value"),
        ("<a b=c/>", 5, "value of attribute `b` is not quoted"),
        ("<a b='c/>", 5, "document ends inside an attribute"),
        ("<a b='<'/>", 6, "`<` in an attribute"),
        ("<a b='1'c='2'/>", 8, "unexpected character in a tag"),
        ("<a b='1' b='2'/>", 9, "attribute `b` comes twice"),
        ("<a b='&x;'/>", 6, "undefined entity `x`"),
        ("<a>&nbsp;</a>", 3, "undefined entity `nbsp`"),
        ("<a>fish & chips</a>", 8, "`&` without a reference"),
        ("<a>&#0;</a>", 3, "invalid character reference `&#0;`"),
        ("<a>\u{1}</a>", 3, "character not allowed in XML"),
        ("<a>\u{ffff}</a>", 3, "character not allowed in XML"),
        ("<1a/>", 1, "name expected"),
        ("<a×/>", 2, "character not allowed in a name"),
        ("< a/>", 1, "name expected"),
        ("<a>]]></a>", 3, "`]]>` outside a CDATA section"),
        ("<a><![CDATA[x</a>", 3, "document ends inside a CDATA section"),
        ("<a><!-- x</a>", 3, "document ends inside a comment"),
        ("<a><!-- -- --></a>", 8, "`--` inside a comment"),
        ("<a><?p </a>", 6, "document ends inside a processing instruction"),
        ("<a/><?xml version='1.0'?>", 4, "XML declaration is not at the start"),
        ("<a><!ELEMENT b></a>", 3, "unknown declaration"),
        ("<a/><!DOCTYPE a>", 4, "misplaced document type"),
        ("<!DOCTYPE a", 11, "document ends inside the document type"),
    ] {
        let expected = format!("{offset}: There are errors in your xml file: {reason}");
        assert_eq!(safe(text), expected, "{text}");
    }
}

#[test]
fn declared_entities_are_refused() {
    for text in [
        "<!DOCTYPE a [<!ENTITY x 'y'>]><a>&x;</a>",
        "<!DOCTYPE a [<!ELEMENT a ANY><!ENTITY % x SYSTEM 'file:///etc/passwd'>]><a/>",
    ] {
        assert!(safe(text).contains("document types that define entities are refused"), "{text}");
    }
}

#[test]
fn parts_that_are_not_kept_are_checked_all_the_same() {
    for inside in ["<b>&nope;</b>", "<b><c></b></c>", "<b x='1' x='2'/>", "<b x=1/>", "<b>]]></b>"]
    {
        let text = format!("<a>{inside}<k/></a>");
        assert!(keeping(&text, &[&["a", "k"]]).contains("There are errors"), "{inside}");
    }
}

#[test]
fn a_projection_prunes_and_says_so_with_an_object() {
    let text = r#"<r n="1"><i k="z">t<x>1</x><y>2</y></i><i>s</i><j/></r>"#;
    assert_eq!(keeping(text, &[&["r", "i", "x"]]), r#"{"r":{"i":[{"x":1},"s"]}}"#);
    assert_eq!(keeping(text, &[&["r", "i", "$t"]]), r#"{"r":{"i":[{"$t":"t"},"s"]}}"#);
    assert_eq!(keeping(text, &[&["r", "n"]]), r#"{"r":{"n":1}}"#);
    assert_eq!(keeping(text, &[&["other"]]), "{}");
    assert_eq!(keeping("<r><i a='1'>s</i></r>", &[&["r", "i", "b"]]), r#"{"r":{"i":{}}}"#);
    assert_eq!(
        keeping(text, &[&["r", "i", "0", "x"]]),
        r#"{"r":{"i":[{"k":"z","$t":"t","x":1,"y":2},"s"]}}"#,
        "a position may be a member name as well"
    );
}

#[test]
fn declared_arrays_are_arrays_however_often_they_come() {
    let arrays = &["r.i", "r.o.p", "r.a"];
    let decode = |text| with(text, Coerce::Safe, arrays, &Projection::All);
    assert_eq!(decode("<r><i>1</i></r>"), r#"{"r":{"i":[1],"a":[]}}"#);
    assert_eq!(decode("<r a='7'><i>1</i><i/></r>"), r#"{"r":{"a":[7],"i":[1,{}]}}"#);
    assert_eq!(decode("<r>t<o/></r>"), r#"{"r":{"$t":"t","o":{"p":[]},"i":[],"a":[]}}"#);
    assert_eq!(decode("<r/>"), r#"{"r":{"i":[],"a":[]}}"#);
    assert_eq!(decode("<s/>"), r#"{"s":{}}"#);
    let mut projection = Projection::none();
    projection.add_members(&["r", "i"]);
    assert_eq!(with("<r/>", Coerce::Safe, arrays, &projection), r#"{"r":{"i":[]}}"#);
}

#[test]
fn what_is_kept_whole_is_raw_unless_its_text_says_less() {
    let decoded = |text: &str, paths: &[&[&str]]| {
        let mut projection = Projection::none();
        for path in paths {
            projection.add_members(path);
        }
        let limits = DecodeLimits::default();
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        decode(bytes, &projection, &XmlOptions::default(), &limits).unwrap()
    };
    let text = "<r><i a='1'>x</i><j><k>5</k></j><i/><l>s</l></r>";
    assert!(matches!(decoded(text, &[&[]]), Value::Raw(_)));
    let r = decoded(text, &[&["r", "i"], &["r", "j"], &["r", "l"]]).member("r");
    assert!(matches!(r, Value::Object(_)));
    assert!(matches!(r.member("i"), Value::Raw(_)) && matches!(r.member("j"), Value::Raw(_)));
    assert!(matches!(r.member("l"), Value::String(_)));
    // A float that prints fewer digits than it has compares by those it has.
    let large = decoded("<r><n>1152921504606847000</n></r>", &[&["r"]]).member("r");
    assert!(matches!(large, Value::Object(_)));
    assert!(large.member("n") == Value::Number(Number::Float(1_152_921_504_606_846_976.0)));
}

#[test]
fn limits_hold_at_their_bound() {
    let nested = |depth: usize| format!("{}{}", "<a>".repeat(depth), "</a>".repeat(depth));
    assert!(!safe(&nested(512)).contains("errors"));
    assert!(safe(&nested(513)).contains("nested deeper than 512"));
    let attributes = |count: usize| {
        let list: Vec<_> = (0..count).map(|n| format!(" a{n}=''")).collect();
        format!("<e{}/>", list.concat())
    };
    assert!(!safe(&attributes(512)).contains("errors"));
    assert!(safe(&attributes(513)).contains("more than 512 attributes"));
    assert!(
        safe(
            "<e a1='' a2='' a3='' a4='' a5='' a6='' a7='' a8='' a9='' b='' c='' d='' e='' f='' \
                  g='' h='' i='' a5=''/>"
        )
        .contains("attribute `a5` comes twice")
    );
    let within = |text: &'static str, decoded_bytes_max, elements_max| {
        let limits = DecodeLimits { decoded_bytes_max, elements_max, ..DecodeLimits::default() };
        let bytes = Bytes::from_static(text.as_bytes());
        decode(bytes, &Projection::All, &XmlOptions::default(), &limits).is_ok()
    };
    assert!(within("<a>xx</a>", 9, 1));
    assert!(!within("<a>xx</a>", 8, 1));
    assert!(!within("<a>&lt;</a>", 11, 1), "a resolved text counts besides the body");
    assert!(within("<a>&lt;</a>", 12, 1));
    assert!(!within("<a b='1'/>", 100, 1));
    assert!(within("<a b='1'/>", 100, 2));
}

#[test]
fn bytes_that_are_not_utf8_are_an_error() {
    let bytes = Bytes::from_static(b"<a>\xff</a>");
    let limits = DecodeLimits::default();
    let error = decode(bytes, &Projection::All, &XmlOptions::default(), &limits).unwrap_err();
    assert_eq!(error.offset, 3);
}

fn document() -> impl Strategy<Value = String> {
    let text =
        prop_oneof!["[ a0-9.]{0,5}", Just("&amp;".to_owned()), Just("<![CDATA[<]]>".to_owned())];
    let attributes = proptest::sample::subsequence(vec![" a='1'", " b='x'", " c=''"], 0..=2)
        .prop_map(|list| list.concat());
    text.prop_recursive(4, 40, 4, move |inner| {
        (proptest::collection::vec((attributes.clone(), "[abcd]", inner), 1..5)).prop_map(
            |children| {
                let mut out = String::new();
                for (attributes, name, inner) in children {
                    out.extend(["<", &name, &attributes, ">", &inner, "</", &name, ">"]);
                }
                out
            },
        )
    })
    .prop_map(|inside| format!("<a>{inside}</a>"))
}

/// Documents of everything that the mapping distinguishes.
pub(super) fn mixed_document() -> impl Strategy<Value = String> {
    let text = prop::sample::select(vec![
        "",
        " ",
        "x",
        " y ",
        "5",
        "1.5",
        "-0",
        "true",
        "yes",
        "1e21",
        "9007199254740993",
        "\"\\\t",
        "é\n",
        "1152921504606847000",
        "0x1000000000000001",
        "&amp;",
        "&#32;",
        "&#x1F600;",
        "\r\n",
        "\r",
        "<!-- c -->",
        "<?p i?>",
        "<![CDATA[<]]>",
        "<![CDATA[ ]]>",
        "a longer text &lt; of more than sixteen bytes",
    ]);
    let attributes = proptest::sample::subsequence(
        vec![" a='1'", " b='x\r\n&quot;'", " c=''", " d=' 5 '", " a.b='é'"],
        0..=3,
    )
    .prop_map(|list| list.concat());
    let name = prop::sample::select(vec!["a", "b", "c", "d", "a.b", "ab", "aab", "abb", "é"]);
    let leaf = text.clone().prop_map(str::to_owned);
    leaf.prop_recursive(5, 60, 8, move |inner| {
        let child = (attributes.clone(), name.clone(), inner, text.clone()).prop_map(
            |(attributes, name, inner, text)| match inner.as_str() {
                "" => format!("<{name}{attributes}/>{text}"),
                inner => format!("<{name}{attributes}>{inner}</{name}>{text}"),
            },
        );
        (text.clone(), proptest::collection::vec(child, 0..7))
            .prop_map(|(text, children)| format!("{text}{}", children.concat()))
    })
    .prop_map(|inside| format!("<a>{inside}</a>"))
}

fn member_paths() -> impl Strategy<Value = Vec<Vec<String>>> {
    let rest = proptest::collection::vec("[abcd]|\\$t", 0..4);
    let path = rest.prop_map(|mut rest| {
        rest.insert(0, "a".to_owned());
        rest
    });
    proptest::collection::vec(path, 0..4)
}

proptest! {
    #[test]
    fn arbitrary_bytes_never_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
        let limits = DecodeLimits::default();
        let _ = decode(bytes.into(), &Projection::All, &XmlOptions::default(), &limits);
    }

    #[test]
    fn almost_documents_never_panic(
        text in "(<|>|/|a|b|=|'| |&|;|#|x|1|!|\\[|CDATA|\\]\\]>|--|\\?|xml|DOCTYPE|é|\u{feff}){0,24}",
    ) {
        safe(&text);
        original(&text);
        keeping(&text, &[&["a", "b"]]);
        with(&text, Coerce::Safe, &["a.b", "a"], &Projection::All);
    }

    #[test]
    fn a_document_is_what_the_plain_mapping_says(
        text in mixed_document(),
        mode in prop::sample::select(vec![Coerce::Safe, Coerce::Original, Coerce::None]),
        arrays in proptest::sample::subsequence(vec!["a.b", "a", "a.c.d", "a.c", "a.a.b", "a.d", "a.b.$t", "a.$t"], 0..4),
    ) {
        let options = XmlOptions { coerce: mode, arrays: ArrayPaths::new(&arrays) };
        let limits = DecodeLimits::default();
        let decoded = decode(Bytes::from(text.clone()), &Projection::All, &options, &limits).unwrap();
        let tree = plainly::tree(&text, mode, &arrays).unwrap();
        prop_assert_eq!(json::to_string(&decoded), json::to_string(&tree));
        prop_assert!(decoded == tree, "{}", json::to_string(&tree));
    }

    #[test]
    fn many_names_are_told_apart(order in proptest::collection::vec(0..200_u32, 0..400)) {
        let children: Vec<_> = order.iter().map(|name| format!("<n{name}>{name}</n{name}>")).collect();
        let text = format!("<a n3='x'>{}</a>", children.concat());
        let tree = plainly::tree(&text, Coerce::Safe, &[]).unwrap();
        prop_assert_eq!(safe(&text), json::to_string(&tree));
    }

    #[test]
    fn pruning_while_decoding_is_pruning_afterwards(text in document(), paths in member_paths()) {
        let mut projection = Projection::none();
        for path in &paths {
            projection.add_members(path);
        }
        let limits = DecodeLimits::default();
        let options = XmlOptions { arrays: ArrayPaths::new(["a.b", "a.c.d"]), ..XmlOptions::default() };
        let bytes = Bytes::from(text);
        let whole = decode(bytes.clone(), &Projection::All, &options, &limits).unwrap();
        let pruned = decode(bytes, &projection, &options, &limits).unwrap();
        prop_assert_eq!(json::to_string(&pruned), json::to_string(&prune(&whole, &projection)));
    }
}
