use proptest::prelude::*;

use super::*;
use crate::{Object, Value, codec::json, percent};

fn params(text: &str) -> Object {
    match json::parse_str(text).expect("valid JSON").open().as_ref() {
        Value::Object(object) => Object::clone(object),
        other => panic!("not an object: {other:?}"),
    }
}

/// The URIs separated by blanks, or the error.
fn expanded(template: &str, values: &str) -> String {
    match UriTemplate::parse(template).expect(template).expand(&params(values)) {
        Ok(expansion) => expansion.uris.join(" "),
        Err(error) => error.to_string(),
    }
}

#[test]
fn values_fill_tokens() {
    for (template, values, uris) in [
        ("/t?a={a}&b={b}", r#"{"a": "x y"}"#, "/t?a=x%20y&b="),
        ("/t?a={a}", r#"{"a": "/?&=+#%"}"#, "/t?a=%2F%3F%26%3D%2B%23%25"),
        ("/t?a={a}", r#"{"a": "A-z_0.9!~*'()"}"#, "/t?a=A-z_0.9!~*'()"),
        ("/t?a={a}", r#"{"a": 0}"#, "/t?a=0"),
        ("/t?a={a}", r#"{"a": false}"#, "/t?a=false"),
        ("/t?a={a}", r#"{"a": ""}"#, "/t?a="),
        ("/t?a={a}", r#"{"a": null}"#, "/t?a="),
        ("/t?a={a}", r#"{"a": 1.50}"#, "/t?a=1.5"),
        ("/t?a={^a}", r#"{"a": 0}"#, "/t?a=0"),
        ("/t/{p}/x", r#"{"p": "a/b"}"#, "/t/a%2Fb/x"),
        ("/t/{p}", r#"{"p": "it's"}"#, "/t/it%27s"),
        ("/t/{`p}/x", r#"{"p": "a/b"}"#, "/t/a/b/x"),
        ("/t?k={`p}", r#"{"p": "1&z=2"}"#, "/t?k=1&z=2"),
        ("/t?pt={`p}", r#"{"p": "59.9,10.7 r+5"}"#, "/t?pt=59.9%2C10.7%20r%205"),
        ("/t?q={a.b}", r#"{"a.b": 1, "a": {"b": 2}}"#, "/t?q=1"),
        ("/t?q={o.l.n}", r#"{"o": {"l": [{"n": "p"}, {"n": "q"}]}}"#, "/t?q=p"),
        ("/t?q={o.n}", r#"{"o": [{"n": 1}, {"n": 2}]}"#, "/t?q=1"),
        ("/t?x={p}y{p}", r#"{"p": "é"}"#, "/t?x=%C3%A9y%C3%A9"),
        ("http://{h}.test", r#"{"h": "API"}"#, "http://api.test/"),
        ("http://H.test{p}", r#"{"p": ""}"#, "http://h.test/"),
        ("http://h.test/x?WAL&t=a+b;c&e={e}", "{}", "http://h.test/x?WAL=&t=a%20b%3Bc&e="),
        ("http://H.test?{n}={v}", r#"{"n": "k k", "v": 1}"#, "http://h.test/?k%20k=1"),
        ("http://h.test/?b={b}&7={s}", r#"{"b": 1, "s": 2}"#, "http://h.test/?7=2&b=1"),
        ("/?b={b}&a={a}&b=3", r#"{"b": 1, "a": 2}"#, "/?b=1&b=3&a=2"),
        ("/?a=%4{a}", r#"{"a": 1}"#, "/?a=A"),
        ("/x?a={a}#part-{b}", r#"{"a": 1, "b": "ø"}"#, "/x?a=1#part-%C3%B8"),
    ] {
        assert_eq!(expanded(template, values), uris, "{template} with {values}");
    }
}

#[test]
fn a_value_that_makes_a_dot_segment_is_refused_by_the_name_of_its_token() {
    let refused = |name: &str| {
        format!(
            "the value of token {name} makes a segment `.` or `..` of the path, which would lead elsewhere"
        )
    };
    for (template, values, name) in [
        ("http://h.test/t/{p}", r#"{"p": ".."}"#, "p"),
        ("http://h.test/t/{p}/x", r#"{"p": "."}"#, "p"),
        ("http://h.test/t/{p}/x", r#"{"p": "%2e%2E"}"#, "p"),
        ("http://h.test/t/{p}/x", r#"{"p": ".%2e"}"#, "p"),
        ("http://h.test/t/{p}/x", r#"{"p": "%252e."}"#, "p"),
        ("http://h.test/t/{p}/x", r#"{"p": "a/../../b"}"#, "p"),
        ("http://h.test/t/{p}/x", r#"{"p": "..\\b"}"#, "p"),
        ("http://h.test/t/{p}/x", r#"{"p": "..;a"}"#, "p"),
        ("http://h.test/t/.{p}/x", r#"{"p": "."}"#, "p"),
        ("http://h.test/t/{p}./x", r#"{"p": "."}"#, "p"),
        ("http://h.test/t/.{p}/x", r#"{"p": ""}"#, "p"),
        ("http://h.test/t/{p}{q}", r#"{"p": ".", "q": "."}"#, "p"),
        ("http://h.test/t/{p}{q}", r#"{"p": "", "q": ".."}"#, "q"),
        ("http://h.test/t/{p}?q={q}", r#"{"p": "..", "q": ".."}"#, "p"),
        ("http://h.test/t/{`p}/x", r#"{"p": "a/../b"}"#, "p"),
        ("http://h.test/{a}/{p}", r#"{"a": 1, "p": ["x", ".."]}"#, "p"),
        ("{`host}/t/{p}", r#"{"host": "http://h.test", "p": ".."}"#, "p"),
    ] {
        assert_eq!(expanded(template, values), refused(name), "{template} with {values}");
    }
    for (template, values, uri) in [
        ("http://h.test/t/{p}", r#"{"p": "..."}"#, "http://h.test/t/..."),
        ("http://h.test/t/{p}.json", r#"{"p": "a.b"}"#, "http://h.test/t/a.b.json"),
        ("http://h.test/t/../{p}", r#"{"p": "a"}"#, "http://h.test/t/../a"),
        ("http://h.test/t?q={p}", r#"{"p": ".."}"#, "http://h.test/t?q=.."),
        ("http://h.test/t/{|p}", r#"{"p": ["..", ".."]}"#, "http://h.test/t/..%2C.."),
    ] {
        assert_eq!(expanded(template, values), uri, "{template} with {values}");
    }
}

#[test]
fn missing_required_values_show_the_text_so_far() {
    let error = "Token a not specified. Processed http://H.test/t?b=x%20&a=";
    for values in ["{}", r#"{"a": ""}"#, r#"{"a": null}"#, r#"{"a": [""]}"#] {
        let values = values.replacen('{', r#"{"b": "x ","#, 1).replace(",}", "}");
        assert_eq!(expanded("http://H.test/t?b={b}&a={^a}", &values), error, "{values}");
    }
    assert_eq!(
        expanded("/{b}?a={^a}", r#"{"b": ["1", "2"]}"#),
        "Token a not specified. Processed /1?a=,/2?a="
    );
    assert_eq!(
        expanded("/?a={^a}", r#"{"a": ["x", ""]}"#),
        "Token a not specified. Processed /?a="
    );
}

#[test]
fn lists_fork_join_or_batch() {
    for (template, values, uris) in [
        ("/t?a={a}", r#"["u", "v", "u"]"#, "/t?a=u /t?a=v /t?a=u"),
        ("/t?a={a}&z=1", r#"["u"]"#, "/t?a=u&z=1"),
        ("/t?a={a}", "[]", ""),
        ("/t?a={|a}", r#"["u", "v", "u"]"#, "/t?a=u%2Cv%2Cu"),
        ("/t?a={|a}", "[]", "/t?a="),
        ("/t?a={0|a}", "[]", "/t?a="),
        ("/t?a={2|a}", "[]", ""),
        ("/t?a={^a}", "[]", ""),
        ("/t?a={^|a}", "[]", ""),
        ("/t?a={^|a}", r#"["x"]"#, "/t?a=x"),
        ("/t?a={2|a}", r#"["c", "a", "b", "a"]"#, "/t?a=a%2Cb /t?a=c"),
        ("/t?a={2|a}", r#"["7", "3", "9", "3"]"#, "/t?a=3%2C7 /t?a=9"),
        ("/t?a={2|a}", r#"["b", "a", "b", "a"]"#, "/t?a=a%2Cb"),
        ("/t?a={2|a}", "[10, 9, 8]", "/t?a=10%2C8 /t?a=9"),
        (
            "/t?a={2|a}",
            r#"["\ud83d\udef6", "\uff5e", "a"]"#,
            "/t?a=a%2C%F0%9F%9B%B6 /t?a=%EF%BD%9E",
        ),
        ("/t?a={3|a}", r#"["c", "a", "c"]"#, "/t?a=c%2Ca%2Cc"),
        ("/t?a={0|a}", r#"["c", "a", "c"]"#, "/t?a=c%2Ca%2Cc"),
        ("/t?a={#^2|a}", r#"["1", "2", "3"]"#, "/t?a=1%2C2 /t?a=3"),
        ("/t?a={a}", "[0, null, false]", "/t?a=0 /t?a= /t?a=false"),
        ("/t?a={a}&b={a}", r#"["1", "2"]"#, &ExpandError::MultipleForks.to_string()),
        ("/t/{a}/x?b={|a}", r#"["1", "2"]"#, "/t/1/x?b=1%2C2 /t/2/x?b=1%2C2"),
        ("/t?a={a}&b={b}", "[]", ""),
        ("/t?a={a}", r#"{"x": 1}"#, "Param a is an object"),
        ("/t?a={a}", r#"[1, {"x": 1}]"#, "Param a is an object"),
        ("/t?a={a}", "[[1, 2], [3]]", "/t?a=1%2C2 /t?a=3"),
    ] {
        let values = format!(r#"{{"a": {values}}}"#);
        assert_eq!(expanded(template, &values), uris, "{template} with {values}");
    }
}

/// Whether the values ask once for each part of a list; a template has the one token `a`.
fn is_scatter(template: &str, value: &str) -> bool {
    let values = params(&format!(r#"{{"a": {value}}}"#));
    UriTemplate::parse(template).expect(template).expand(&values).expect("expanded").is_scatter
}

#[test]
fn a_list_scatters_whatever_its_length() {
    for value in ["[]", "[1]", "[1, 2]", "[1, 1, 1, 1]"] {
        for template in ["/t?a={a}", "/t?a={^a}", "/t/{a}", "/t?a={2|a}", "/{`a}", "http://{a}.h"] {
            assert!(is_scatter(template, value), "{template} {value}");
        }
        for template in ["/t?a={|a}", "/t?a={0|a}", "/t"] {
            assert!(!is_scatter(template, value), "{template} {value}");
        }
    }
    for value in ["1", r#""x""#, "null", "false"] {
        assert!(!is_scatter("/t?a={a}", value) && !is_scatter("/t?a={2|a}", value), "{value}");
    }
}

#[test]
fn batching_leaves_the_callers_list_as_it_is() {
    let values = params(r#"{"a": ["c", "a", "b"]}"#);
    let template = UriTemplate::parse("/t?a={2|a}").expect("valid");
    assert_eq!(template.expand(&values).expect("expanded").uris.len(), 2);
    let after = json::to_string(&values.get("a").expect("present").into_tree());
    assert_eq!(after, r#"["c","a","b"]"#);
}

#[test]
fn nested_tokens_make_the_name() {
    let config = r#"{"region": "north", "config": {"north": {"key": "N/1"}, "l": [1, 2]}}"#;
    assert_eq!(expanded("/?k={config.{region}.key}", config), "/?k=N%2F1");
    assert_eq!(expanded("/?k={`config.{region}.key}&x", config), "/?k=N%2F1&x=");
    assert_eq!(expanded("/?k={config.{gone}.key}", config), "/?k=");
    assert_eq!(
        expanded("/?k={^config.{gone}.key}", config),
        "Token config.{gone}.key not specified. Processed /?k="
    );
    assert_eq!(
        expanded("/?k={^config.{region}.lock}", config),
        "Token config.north.lock not specified. Processed /?k="
    );
    assert_eq!(
        expanded("/?k={config.{^gone}.key}", config),
        "Token gone not specified. Processed /?k="
    );
    assert_eq!(expanded("/?k={{region}}", r#"{"region": "r", "r": 5}"#), "/?k=5");
    assert_eq!(expanded("/?k={config.{config.l}}", config), "/?k=");
}

#[test]
fn limits_are_loud() {
    let template = UriTemplate::parse("/t?a={a}").expect("valid");
    let values = params(r#"{"a": [1, 2, 3]}"#);
    assert_eq!(template.expand_limited(&values, 3).map(|found| found.uris.len()), Ok(3));
    assert_eq!(
        template.expand_limited(&values, 2),
        Err(ExpandError::TooMany { asked: 3, limit: 2 })
    );
    let long = "x".repeat(EXPANDED_BYTES_MAX / 4);
    let values: Object =
        [("a", Value::array((0..10).map(Value::int).collect())), ("b", Value::string(long))]
            .into_iter()
            .collect();
    let template = UriTemplate::parse("/{a}?{`b}").expect("valid");
    assert_eq!(template.expand(&values), Err(ExpandError::TooLong { limit: EXPANDED_BYTES_MAX }));
}

#[test]
fn malformed_templates_are_refused_with_the_offset() {
    for (template, reason, offset) in [
        ("/a b", "a blank is not allowed here", 2),
        ("/a\nb", "white space is not allowed here", 2),
        ("/a|b", "`|` is not allowed here", 2),
        ("/é'", "`'` is not allowed here", 3),
        ("/{a", "`{` is not closed", 1),
        ("/a}", "`}` without `{`", 2),
        ("/{}", "a token needs a name", 2),
        ("/{^}", "a token needs a name", 3),
        ("/{a^}", "`^` is not allowed here", 3),
        ("/{a.{}}", "a token needs a name", 5),
        ("/{a b}", "a blank is not allowed here", 3),
        ("/{2a|}", "`|` is not allowed here", 4),
    ] {
        let error = UriTemplate::parse(template).expect_err(template);
        assert_eq!((error.reason.as_str(), error.offset), (reason, offset), "{template}");
    }
    let deep = "{".repeat(100_000);
    assert_eq!(UriTemplate::parse(&deep).expect_err("deep").offset, NESTING_MAX);
}

#[test]
fn tokens_describe_themselves() {
    let template = UriTemplate::parse("/b/{^id}?t={20|#tag}&k={c.{`e}}&n={7}").expect("valid");
    let shown: Vec<String> = template
        .tokens()
        .iter()
        .map(|token| {
            format!(
                "{}{}{}{}{}{}",
                token.name,
                if token.is_required { " required" } else { "" },
                if token.is_multi { format!(" multi {}", token.max) } else { String::new() },
                if token.is_block { " block" } else { "" },
                if token.is_raw { " raw" } else { "" },
                if token.is_nested { " nested" } else { "" },
            )
        })
        .collect();
    assert_eq!(shown, ["id required", "tag multi 20 block", "c.{`e}", "e raw nested", "7"]);
    assert!(template.is_block_merge());
    assert!(!UriTemplate::parse("/{a}").expect("valid").is_block_merge());
}

#[test]
fn forms_are_encoded_but_not_normalised() {
    let form = UriTemplate::parse_form("id={id}&q={^q}&z={z}&Z\n").expect("valid");
    let expanded =
        |values: &str| form.expand_form(&params(values)).map_err(|error| error.to_string());
    let body = |values: &str| expanded(values).map(|form| form.text);
    assert_eq!(body(r#"{"id": "a b", "q": "x&y"}"#).as_deref(), Ok("id=a%20b&q=x%26y&z=&Z"));
    assert_eq!(body(r#"{"id": 1}"#), Err("Token q not specified. Processed id=1&q=".to_owned()));
    let first = Form { text: "id=1&q=1&z=&Z".to_owned(), shortened: Some(("id".to_owned(), 2)) };
    assert_eq!(expanded(r#"{"id": [1, 2], "q": 1}"#), Ok(first));
    assert!(body(r#"{"id": [1, 2], "q": 1, "z": [3, 4]}"#).is_err());
    assert_eq!(body(r#"{"id": [], "q": [1]}"#).as_deref(), Ok("id=&q=1&z=&Z"));
}

#[test]
fn settings_are_filled_in_as_raw_text() {
    let lookup = |path: &str| match path {
        "host" => Some("api.harbor.test".to_owned()),
        "env" => Some("dev".to_owned()),
        "dev.key" => Some("{key}".to_owned()),
        _ => None,
    };
    for (text, filled) in [
        ("http://{config.host}/b?k={key}", "http://api.harbor.test/b?k={key}"),
        ("{config.gone}/{^config.host}/{a.{config.env}}", "{config.gone}/{^config.host}/{a.dev}"),
        ("{config.{config.env}.key}!", "{key}!"),
        ("{config.host}{`raw}", "{config.host}{`raw}"),
        ("{config.host}{", "{config.host}{"),
        ("{config.host}}", "{config.host}}"),
        ("plain", "plain"),
    ] {
        assert_eq!(UriTemplate::substitute_config(text, &lookup), filled, "{text}");
    }
    let deep = format!("{}config.host{}", "{".repeat(20_000), "}".repeat(20_000));
    assert_eq!(UriTemplate::substitute_config(&deep, &lookup), deep);
}

#[test]
fn common_templates_are_expanded_directly() {
    for template in [
        "http://api.test/find?q={^q}&n={n}",
        "http://API.test/b/{id}/x?ids={2|id}&WAL&a=b+c&&d={d}-{e}",
        "http://api.test?k={config.{e}.k}",
        "/t/{a}",
        "http://api.test",
    ] {
        assert!(UriTemplate::parse(template).expect(template).direct.is_some(), "{template}");
    }
    for template in
        ["http://{h}/x", "/t?{n}=1", "/t?{a}", "/t?k={`p}", "/?b={b}&b={c}", "/?2={b}", "/{a}#f"]
    {
        assert!(UriTemplate::parse(template).expect(template).direct.is_none(), "{template}");
    }
}

/// Templates whose literals are likely to be special.
fn template_text() -> impl Strategy<Value = String> {
    let literal = "[/?&=%a-cA1-2ø;+#@:.~(]{0,5}";
    let token = prop::sample::select(vec![
        "{a}", "{^b}", "{`c}", "{|d}", "{2|d}", "{x.{a}}", "{#a}", "{e}", "{`b}", "{n}",
    ]);
    let start = prop::sample::select(vec!["http://H.test", "http://h.test/", "/", "", "http://"]);
    (start, prop::collection::vec((literal, token), 0..4), literal).prop_map(
        |(start, parts, end)| {
            let parts: String =
                parts.iter().flat_map(|(text, token)| [text.as_str(), *token]).collect();
            format!("{start}{parts}{end}")
        },
    )
}

fn param_value() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        any::<String>().prop_map(Value::string),
        "[/?&=%a-c '0-9#]{0,6}".prop_map(Value::string),
        any::<i64>().prop_map(Value::int),
        Just(Value::Null),
        Just(Value::Absent),
    ];
    prop_oneof![
        4 => scalar.clone(),
        1 => prop::collection::vec(scalar, 0..5).prop_map(Value::array),
    ]
}

fn param_values() -> impl Strategy<Value = Object> {
    prop::collection::vec(param_value(), 5)
        .prop_map(|values| ["a", "b", "c", "d", "n"].into_iter().zip(values).collect::<Object>())
}

#[test]
fn fixed_parts_that_a_missing_value_leaves_alone_are_looked_at() {
    for text in
        ["http://h.test/{|d}.;{|d}1", "http://h.test/{|d}%2e%3b{|d}", "http://h.test/{|d}../x"]
    {
        let template = UriTemplate::parse(text).expect("a template");
        let mut values = Object::new();
        assert_eq!(
            template.expand(&values),
            Err(ExpandError::DotSegment { name: "d".to_owned() }),
            "{text}"
        );
        values.insert("d", Value::from("a"));
        assert!(template.expand(&values).is_ok(), "{text}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn both_ways_give_the_same_uris(text in template_text(), values in param_values()) {
        let template = UriTemplate::parse(&text).expect("only allowed characters");
        prop_assert_eq!(template.expand(&values), template.expand_written(&values, URIS_MAX, true));
    }

    #[test]
    fn no_value_makes_a_dot_segment(
        text in "(http://h\\.test)?(/(a|\\.|\\{a\\}|\\{`a\\}|\\{\\|b\\}|\\{b\\}|x){1,3}){1,3}(\\?q=\\{a\\})?",
        a in "[./%2eE5;ax\\\\]{0,8}",
        b in proptest::collection::vec("[./%2eE5ax]{0,4}", 1..3),
    ) {
        let template = UriTemplate::parse(&text).expect("only allowed characters");
        let mut values = Object::new();
        values.insert("a", Value::from(a.as_str()));
        values.insert("b", b.iter().map(|value| Value::from(value.as_str())).collect());
        let path = text.split('?').next().expect("a part");
        let written = path.split('/').filter(|segment| matches!(*segment, "." | "..")).count();
        match template.expand(&values) {
            Ok(expansion) => {
                for uri in expansion.uris {
                    let mut path = uri.split('?').next().expect("a part").to_owned();
                    for _ in 0..9 {
                        path = percent::decode_lossy(path.as_bytes());
                    }
                    let found = path.split(['/', '\\']).filter(|part| matches!(*part, "." | ".."));
                    prop_assert!(found.count() <= written, "{} from {} with {:?}", uri, text, a);
                }
            }
            Err(ExpandError::DotSegment { name }) => {
                prop_assert!(name == "a" || name == "b", "{}", name);
                let is_harmless = |value: &str| !value.is_empty() && !value.contains(['.', '%', '/', ';', '\\']);
                prop_assert!(
                    !is_harmless(&a) || !b.iter().all(|value| is_harmless(value)),
                    "{} with {:?} and {:?}", text, a, b
                );
            }
            Err(_) => {}
        }
    }

    #[test]
    fn a_uri_is_printable_and_normal(text in template_text(), values in param_values()) {
        let template = UriTemplate::parse(&text).expect("only allowed characters");
        for uri in template.expand(&values).map(|found| found.uris).unwrap_or_default() {
            prop_assert!(uri.bytes().all(|byte| byte.is_ascii_graphic()), "{}", uri);
            prop_assert_eq!(mutable_uri::normalize(&uri), uri);
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>(), braces in "[{}a.^#|2`]{0,20}") {
        for text in [&text, &braces] {
            if let Ok(template) = UriTemplate::parse(text) {
                let _ = template.expand(&Object::new());
                let _ = template.expand_form(&Object::new());
            }
            let _ = UriTemplate::substitute_config(text, &|_| None);
        }
    }
}
