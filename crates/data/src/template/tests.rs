use proptest::prelude::*;

use super::*;
use crate::{
    Object,
    codec::json,
    scope::{EmptyScope, SlotId},
};

/// Members of a JSON object as variables.
fn scope(text: &str) -> Object {
    match json::parse_str(text).expect("valid JSON").open().as_ref() {
        Value::Object(object) => Object::clone(object),
        other => panic!("not an object: {other:?}"),
    }
}

/// The filled template as JSON text, `absent`, or an error.
fn filled(template: &str, variables: &str) -> String {
    match Template::parse(template).fill(&scope(variables)) {
        Ok(Value::Absent) => "absent".to_owned(),
        Ok(value) => json::to_string(&value.into_tree()),
        Err(error) => error.to_string(),
    }
}

#[test]
fn one_token_becomes_its_value() {
    for (template, variables, value) in [
        ("{crew}", r#"{"crew": {"cook": 1}}"#, r#"{"cook":1}"#),
        ("{crew}", r#"{"crew": [1, "x"]}"#, r#"[1,"x"]"#),
        ("{crew.cook}", r#"{"crew": {"cook": 1}}"#, r#""1""#),
        ("{on}", r#"{"on": true}"#, r#""true""#),
        ("{n}", r#"{"n": 5}"#, r#""5""#),
        ("{n}", r#"{"n": 2.50}"#, r#""2.5""#),
        ("{n}", r#"{"n": 0}"#, r#""0""#),
        ("{n}", r#"{"n": false}"#, r#""false""#),
        ("{n}", r#"{"n": ""}"#, r#""""#),
        ("{o.n}", r#"{"o": {"n": 0}}"#, r#""0""#),
        ("{n}", r#"{"n": null}"#, "absent"),
        ("{o.n}", r#"{"o": {"n": null}}"#, "null"),
        ("{=n}", r#"{"n": 5}"#, "5"),
        ("{=o.n}", r#"{"o": {"n": false}}"#, "false"),
        ("{^n}", r#"{"n": 5}"#, r#""5""#),
        ("{gone}", "{}", "absent"),
        ("{=gone}", "{}", "absent"),
        ("{o.gone}", r#"{"o": {"n": 1}}"#, "absent"),
        ("{o.n.deeper}", r#"{"o": {"n": null}}"#, "absent"),
        ("{a}", r#"{"a": "see {b}", "b": 1}"#, r#""see {b}""#),
    ] {
        assert_eq!(filled(template, variables), value, "{template} over {variables}");
    }
}

#[test]
fn paths_map_over_a_root_array_but_not_over_inner_arrays() {
    for (template, variables, value) in [
        ("{l.k}", r#"{"l": [{"k": 12}, {"k": 30}, {"e": 6}]}"#, "[12,30,null]"),
        ("{l.k}", r#"{"l": [{"k": 1}]}"#, "[1]"),
        ("{l.k}", r#"{"l": [{"k": [1, 2]}, {"k": [3]}]}"#, "[[1,2],[3]]"),
        ("{l.k}", r#"{"l": []}"#, "[]"),
        ("{o.l.k}", r#"{"o": {"l": [{"k": 1}, {"k": 2}]}}"#, "absent"),
        ("{o.l[*].k}", r#"{"o": {"l": [{"k": 1}, {"k": 2}]}}"#, "[1,2]"),
        ("{o.l..k}", r#"{"o": {"l": [{"k": 0}, {"k": 1}]}}"#, "[0,1]"),
        ("{o.$..k}", r#"{"o": {"l": [{"k": 3}, {"k": 1}]}}"#, "[3,1]"),
        ("{o..k}", r#"{"o": {"l": [{"k": 3}]}}"#, "absent"),
        ("{l.0.k}", r#"{"l": [{"k": 1}]}"#, r#""1""#),
        ("{l.1.k}", r#"{"l": [{"k": "a"}, {"k": "b"}]}"#, r#""b""#),
        ("{l[0].k}", r#"{"l": [{"k": 1}]}"#, r#""1""#),
        ("{l[*].k}", r#"{"l": [{"k": 1}, {"k": 2}]}"#, "[1,2]"),
        ("{o.l[1].k}", r#"{"o": {"l": [{"k": 1}, {"k": "b"}]}}"#, r#""b""#),
        ("{o.l[1:3]}", r#"{"o": {"l": [5, 6, 7, 8]}}"#, "[6,7]"),
        ("{o.l[1:2]}", r#"{"o": {"l": [5, 6, 7, 8]}}"#, r#""6""#),
        ("{o['a.b']}", r#"{"o": {"a.b": 4}}"#, r#""4""#),
        ("{o.'a.b'}", r#"{"o": {"a.b": 4}}"#, r#""4""#),
        ("{l.length}", r#"{"l": [7, 8, 9]}"#, r#""3""#),
        ("{w.k}", r#"{"w": [[{"k": [1]}]]}"#, "[1]"),
        ("{w.k}", r#"{"w": [[{"k": 1}]]}"#, r#""1""#),
        ("{w}", r#"{"w": [[{"k": 1}]]}"#, r#"[[{"k":1}]]"#),
        ("{o.名}", r#"{"o": {"名": "値"}}"#, r#""値""#),
    ] {
        assert_eq!(filled(template, variables), value, "{template} over {variables}");
    }
}

#[test]
fn expressions_see_the_variables() {
    let legs = r#"{"max": 20, "log": {"legs": [
        {"nm": 12, "to": "Oban"}, {"nm": 30, "to": "Mull"}, {"nm": 18, "to": "Tiree"}]}}"#;
    assert_eq!(filled("{log.legs[?(@.nm < max)].to}", legs), r#"["Oban","Tiree"]"#);
    assert_eq!(filled("{log.legs[(@.length-1)].to}", legs), r#""Tiree""#);
    assert_eq!(filled("{log.legs[?(f(@))].to}", legs), "jsonPath: calls are not supported: f(@)");
    // A root that is not there never gets as far as the expression.
    assert_eq!(filled("{gone.legs[?(f(@))].to}", legs), "absent");
}

#[test]
fn other_strings_keep_what_does_not_resolve() {
    let some = r#"{"a": "x", "b": 7, "o": {"k": [1, {"t": null}]}, "z": null, "on": true}"#;
    for (template, text) in [
        ("{a}{b}", "x7"),
        ("{a} - {b}", "x - 7"),
        ("{a}!", "x!"),
        ("Hello {a}, {nobody}.", "Hello x, {nobody}."),
        ("{a}-{gone}", "x-{gone}"),
        ("{gone}-{lost}", "{gone}-{lost}"),
        ("got {o.k}.", r#"got [1,{"t":null}]."#),
        ("{o}-{o}", r#"{"k":[1,{"t":null}]}-{"k":[1,{"t":null}]}"#),
        ("is {on} {z}", "is true {z}"),
        ("{=b}!", "7!"),
        ("{ a }", "{ a }"),
        ("{}", "{}"),
        ("{a", "{a"),
        ("a}", "a}"),
        ("{a}`", "{a}`"),
        (r#"{"a": 1}"#, r#"{"a": 1}"#),
        (r#"{"a": "{a}"}"#, r#"{"a": "x"}"#),
        ("{{}}", "{{}}"),
        ("{a[}!", "{a[}!"),
        ("", ""),
    ] {
        let expected = json::to_string(&Value::string(text));
        assert_eq!(filled(template, some), expected, "{template}");
    }
}

#[test]
fn inner_tokens_make_the_path() {
    let some = r#"{"k": "x", "p": "a", "q": "b", "o": {"x": {"p": 1}, "a": {"b": "found"}},
        "x": 5, "h": {"x": {"m": [1, 2]}}, "s": {"deep": 1}, "dots": "x.p", "path": "[?(@ == k)]"}"#;
    for (template, value) in [
        ("{o.{k}.p}", r#""1""#),
        ("{o.{p}.{q}}", r#""found""#),
        ("{h.{k}.m}", "[1,2]"),
        ("{{k}}", r#""5""#),
        ("{={k}}", "5"),
        ("{o.{dots}}", r#""1""#),
        ("{o.{gone}.p}", "absent"),
        ("{o.{s}.p}", "absent"),
        ("{o.{k}.gone}", "absent"),
        ("on {o.{k}.p}!", r#""on 1!""#),
        ("on {o.{gone}}!", r#""on {o.{gone}}!""#),
        ("{h.x.m{path}}", "jsonPath: k is not defined: @ == k"),
    ] {
        assert_eq!(filled(template, some), value, "{template}");
    }
}

#[test]
fn roots_name_everything_known_before_filling() {
    let template = Template::parse("{a.b} {o[0].{k.l}} {{m}} {l.x[?(@.n < max)]} {=t} {^u} {'v'}");
    assert_eq!(template.roots(), ["a", "o", "k", "m", "l", "max", "t", "u"]);
    assert!(!template.single_token() && !template.is_literal() && template.has_required());
    assert!(Template::parse("{a}").single_token());
    assert!(Template::parse("{ a }").is_literal());
    assert!(Template::parse("{a").is_malformed());
}

#[test]
fn bound_names_are_asked_for_by_slot() {
    struct Slots;
    impl Scope for Slots {
        fn slot(&self, slot: SlotId) -> Value {
            Value::from(slot.index())
        }
        fn name(&self, name: &str) -> Value {
            Value::string(format!("<{name}>"))
        }
    }
    let mut template = Template::parse("{a} {b} {c} {0{a}}");
    template.bind(&mut |name| match name {
        "a" => Some(SlotId::at(3)),
        "c" => Some(SlotId::at(9)),
        _ => None,
    });
    let value = template.fill(&Slots).expect("filled");
    assert_eq!(value.as_str(), Some("3 <b> 9 <03>"));
}

#[test]
fn a_prerequisite_is_missing_if_absent_or_null() {
    let missing = |template: &str, variables: &str| {
        Template::parse(template).required_missing(&scope(variables)).expect("resolved")
    };
    assert_eq!(missing("{^a}", r#"{"a": 0}"#), None);
    assert_eq!(missing("{^a}", r#"{"a": null}"#).as_deref(), Some("a"));
    assert_eq!(missing("{a} {^o.b}", r#"{"o": {}}"#).as_deref(), Some("o.b"));
    assert_eq!(missing("{^o.b}", r#"{"o": {"b": ""}}"#), None);
    assert_eq!(missing("{o.{^k}}", "{}").as_deref(), Some("k"));
    assert_eq!(missing("{o.{k}}", "{}"), None);
}

#[test]
fn drop_mode_removes_what_is_no_scalar() {
    let some = r#"{"auth": "Bearer t1", "n": 5, "zero": 0, "no": false, "nil": null, "l": [1],
        "o": {"k": "v", "l": [{"m": 2}]}, "o.flat": "f", "which": "k"}"#;
    for (template, text) in [
        ("{auth}", "Bearer t1"),
        ("a{gone}b{n}c", "ab5c"),
        ("{zero}{no}{nil}", "0false"),
        ("[{l}{o}]", "[]"),
        ("{o.k} {o.flat} {o.l.0.m} {o.l.length}", "v f 2 1"),
        ("{o.{which}}", "v"),
        ("{o.{gone}}", ""),
        ("un{balanced", "un{balanced"),
        ("`{n}", "`{n}"),
        (r#"{"json": {n}}"#, r#"{"json": 5}"#),
    ] {
        assert_eq!(Template::parse(template).fill_drop(&scope(some)), text, "{template}");
    }
}

#[test]
fn nesting_and_length_are_harmless() {
    let deep = format!("{}a{}", "{".repeat(NESTING_MAX + 1), "}".repeat(NESTING_MAX + 1));
    assert!(Template::parse(&deep).is_malformed());
    let deepest = format!("{}a{}", "{".repeat(NESTING_MAX), "}".repeat(NESTING_MAX));
    assert!(Template::parse(&deepest).single_token());
    assert_eq!(filled(&deepest, r#"{"a": "a"}"#), r#""a""#);
    let long = "{a.b} {".repeat(50_000);
    assert!(Template::parse(&long).is_malformed());
    assert_eq!(Template::parse(&"{a}".repeat(50_000)).roots().len(), 50_000);
}

proptest! {
    #[test]
    fn any_text_is_filled_or_refused(text in "[{}a-c.\\[\\]?()@$=^'`0-2 *:]{0,40}") {
        let some = scope(r#"{"a": {"b": [1, {"c": "a"}]}, "b": "a", "c": [[2]], "ab": null}"#);
        let template = Template::parse(&text);
        let _ = template.fill(&some);
        let _ = template.fill_drop(&some);
        let _ = template.required_missing(&some);
        prop_assert_eq!(template.text(), &text);
    }

    #[test]
    fn without_variables_nothing_but_a_single_token_changes(text in "[{}a-c.=^ !]{0,30}") {
        let template = Template::parse(&text);
        match template.fill(&EmptyScope) {
            Ok(Value::Absent) => prop_assert!(template.single_token()),
            Ok(value) => prop_assert_eq!(value.as_str(), Some(&*text)),
            Err(error) => prop_assert!(false, "{}", error),
        }
    }
}
