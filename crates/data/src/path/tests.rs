use super::*;
use crate::{Object, codec::json, scope::EmptyScope};

fn value(text: &str) -> Value {
    json::parse_str(text).expect("valid JSON")
}

fn shown(value: &Value) -> String {
    if value.is_absent() { "absent".to_owned() } else { json::to_string(&value.into_tree()) }
}

/// The matches as a JSON list, over the raw and over the decoded value.
fn listed(path: &str, text: &str, flatten: bool) -> String {
    let path = Path::parse(path).expect(path);
    let raw = value(text);
    let select = |root: &Value| {
        let matches = path.select(root, &EmptyScope, Options { flatten }).expect("evaluated");
        shown(&Value::array(matches))
    };
    let found = select(&raw);
    assert_eq!(found, select(&raw.into_tree()), "raw and decoded differ");
    found
}

fn one(path: &str, text: &str, flatten: bool) -> String {
    let path = Path::parse(path).expect(path);
    match path.select_one(&value(text), &EmptyScope, Options { flatten }) {
        Ok(found) => shown(&found),
        Err(error) => error.to_string(),
    }
}

const BOAT: &str = r#"{"name": "Tern", "sails": ["main", "jib", "gale"], "home": {"port": "Oban",
    "depth": 0, "name": null}, "log": [{"k": 1, "v": "p"}, {"k": 2, "v": "q", "tags": ["x"]},
    {"k": 3, "v": "r"}], "a.b": 7, "é": "ü🛶"}"#;

#[test]
fn every_step_finds_what_the_dialect_says() {
    for (path, found) in [
        ("name", r#"["Tern"]"#),
        ("$.name", r#"["Tern"]"#),
        ("gone", "[]"),
        ("home.depth", "[0]"),
        ("home.name", "[null]"),
        ("home.name.x", "[]"),
        ("sails[1]", r#"["jib"]"#),
        ("sails.1", r#"["jib"]"#),
        ("sails.01", "[]"),
        ("sails[3]", "[]"),
        ("sails.length", "[3]"),
        ("name.length", "[4]"),
        ("name[0]", r#"["T"]"#),
        ("é.length", "[3]"),
        ("é.0", r#"["ü"]"#),
        ("['a.b']", "[7]"),
        (r#"["a.b"]"#, "[7]"),
        ("a.b", "[]"),
        ("sails.*", r#"["main","jib","gale"]"#),
        ("home[*]", r#"["Oban",0,null]"#),
        ("name.*", "[]"),
        ("log[*].v", r#"["p","q","r"]"#),
        ("log.v", "[]"),
        ("sails[0,2]", r#"["main","gale"]"#),
        ("home[depth,'port']", r#"[0,"Oban"]"#),
        ("sails[1:]", r#"["jib","gale"]"#),
        ("sails[:2]", r#"["main","jib"]"#),
        ("sails[-2:]", r#"["jib","gale"]"#),
        ("sails[:-1]", r#"["main","jib"]"#),
        ("sails[::2]", r#"["main","gale"]"#),
        ("sails[::-1]", r#"["gale","jib","main"]"#),
        ("sails[2:0:-1]", r#"["gale","jib"]"#),
        ("sails[-9:9]", r#"["main","jib","gale"]"#),
        ("sails[2:1]", "[]"),
        ("sails[-1]", r#"["gale"]"#),
        ("sails[-4]", "[]"),
        ("sails[::9223372036854775807]", r#"["main"]"#),
        ("home[1:2]", "[]"),
        ("sails[(@.length-1)]", r#"["gale"]"#),
        ("home[('po' + 'rt')]", r#"["Oban"]"#),
        ("log[?(@.k > 1)].v", r#"["q","r"]"#),
        ("log[?(@.tags)].v", r#"["q"]"#),
        ("log[?(@.k == $.log.length)].v", r#"["r"]"#),
        ("home[?(@)]", r#"["Oban"]"#),
        ("name[?(@)]", "[]"),
        ("$..v", r#"["p","q","r"]"#),
        ("..v", "[]"),
        (".name", "[]"),
        ("log..v", r#"["p","q","r"]"#),
        ("log..k", "[1,2,3]"),
        ("$..name", r#"["Tern",null]"#),
        ("$..['port']", r#"["Oban"]"#),
        ("$..[?(@.k == 2)].v", r#"["q"]"#),
        ("home..*", r#"["Oban",0,null]"#),
        ("log[1].$.name", r#"["Tern"]"#),
        ("", "[]"),
    ] {
        assert_eq!(listed(path, BOAT, false), found, "{path}");
    }
    assert_eq!(listed("$", "5", false), "[5]");
}

#[test]
fn a_descent_visits_parents_before_children_and_the_node_itself() {
    let nested = r#"{"v": 1, "a": {"v": 2, "b": [{"v": {"v": 3}}]}, "c": {"v": 4}}"#;
    assert_eq!(listed("$..v", nested, false), r#"[1,2,{"v":3},3,4]"#);
    assert_eq!(listed("a..v", nested, false), r#"[2,{"v":3},3]"#);
    assert_eq!(listed("$..v..v", nested, false), "[3]");
    assert_eq!(
        listed("$..*", r#"{"a": [1, {"b": 2}], "c": 3}"#, false),
        r#"[[1,{"b":2}],3,1,{"b":2},2]"#
    );
}

#[test]
fn flatten_opens_matches_one_level() {
    let lists = r#"{"a": {"v": [1, [2]]}, "b": {"v": [3]}, "c": {"v": 0}}"#;
    assert_eq!(listed("$..v", lists, true), "[1,[2],3,0]");
    assert_eq!(listed("a.v", lists, true), "[1,[2]]");
    assert_eq!(listed("a.v", lists, false), "[[1,[2]]]");
}

#[test]
fn one_match_stays_itself_and_several_are_a_list() {
    let some = r#"{"n": 0, "l": [5], "m": [[1], [2]], "d": {"a": {"v": [1]}, "b": {"v": 2}}}"#;
    for (path, plain, flat) in [
        ("n", "0", "0"),
        ("gone", "absent", "absent"),
        ("l", "[5]", "[5]"),
        ("l[0]", "5", "5"),
        ("l[*]", "5", "5"),
        ("m[*]", "[[1],[2]]", "[1,2]"),
        ("m[0:1]", "[1]", "[1]"),
        ("d..v", "[[1],2]", "[1,2]"),
        ("$.d.a..v", "[1]", "[1]"),
    ] {
        assert_eq!(one(path, some, false), plain, "{path}");
        assert_eq!(one(path, some, true), flat, "{path} flattened");
    }
}

fn evaluated(expression: &str) -> String {
    let root =
        r#"{"l": [{"n": 7, "t": "7", "x": null, "on": true, "s": "abc", "e": [], "o": {}}]}"#;
    let scope: Object = [
        ("max", Value::int(10)),
        ("o", value(r#"{"k": {"n": [4, 5]}}"#)),
        ("big", Value::int(9_007_199_254_740_993)),
    ]
    .into_iter()
    .collect();
    let path = match Path::parse(&format!("l[?({expression})]")) {
        Ok(path) => path,
        Err(error) => return error.to_string(),
    };
    match path.select(&value(root), &scope, Options::default()) {
        Ok(found) => (!found.is_empty()).to_string(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn expressions_convert_as_javascript_does() {
    for (expression, outcome) in [
        ("@.n == '7'", "true"),
        ("@.n === '7'", "false"),
        ("@.n === 7.0", "true"),
        ("@.n !== @.t", "true"),
        ("@.n != @.t", "false"),
        ("@.n + 1 == 8", "true"),
        ("@.t + 1 == '71'", "true"),
        ("@.t - 1 == 6", "true"),
        ("@.t * '2' == 14", "true"),
        ("@.n / 2 == 3.5", "true"),
        ("@.n % 4 == 3", "true"),
        ("-@.n < 0", "true"),
        ("- -@.n > 0", "true"),
        ("1 + 2 * 3 - 4 == 3", "true"),
        ("(1 + 2) * 3 == 9", "true"),
        ("10 - 4 - 3 == 3", "true"),
        ("'b' > 'a'", "true"),
        ("'10' < '9'", "true"),
        ("'10' < 9", "false"),
        ("@.gone == null", "true"),
        ("@.gone === null", "false"),
        ("@.gone == undefined", "true"),
        ("@.x == null", "true"),
        ("@.x == 0", "false"),
        ("@.x >= 0", "true"),
        ("@.gone >= 0", "false"),
        ("@.gone < 0", "false"),
        ("@.on == 1", "true"),
        ("@.on == '1'", "true"),
        ("true + 1 == 2", "true"),
        ("@.e == ''", "true"),
        ("@.o == '[object Object]'", "true"),
        ("o.k.n == '4,5'", "true"),
        ("@.e == @.e", "true"),
        ("'0x1f' == 31", "true"),
        ("' 7 ' == @.n", "true"),
        ("'inf' == 'nan' * 1", "false"),
        ("'a' * 1 == 'a' * 1", "false"),
        ("1 / 0 > 1e308", "true"),
        ("@.n < max", "true"),
        ("o.k.n[1] == 5", "true"),
        ("o['k'].n.length == 2", "true"),
        ("@.s.length == 3 && @.s[1] == 'b'", "true"),
        ("!@.gone && !(@.n > 7)", "true"),
        ("@.gone || @.n", "true"),
        ("@.x && nowhere", "false"),
        ("big == 9007199254740992", "false"),
        ("18446744073709551615 == 18446744073709551614", "false"),
        ("18446744073709551615 > 18446744073709551614", "true"),
        ("18446744073709551615 === 18446744073709551615", "true"),
        ("9223372036854775808 < 9223372036854775807", "false"),
        ("9223372036854775807 + 1 == 9223372036854775808", "true"),
        ("-9223372036854775808 == -9223372036854775807", "false"),
        ("-big == -9007199254740992", "false"),
        ("-9223372036854775808 < -9223372036854775807", "true"),
        ("18446744073709551616 == 18446744073709551617", "true"),
        ("'18446744073709551615' == 18446744073709551614", "false"),
        ("' 18446744073709551615 ' == 18446744073709551615", "true"),
        ("1e18 == 1000000000000000000", "true"),
        ("1e18 == 1000000000000000001", "false"),
        ("18446744073709551615 + '' == '18446744073709551615'", "true"),
        ("0.1 + 0.2 == 0.3", "false"),
        ("'\\u0061\\n' == \"a\\n\"", "true"),
        ("nowhere > 1", "jsonPath: nowhere is not defined: nowhere > 1"),
        ("@.gone.k", "jsonPath: cannot read `k` of an absent value: @.gone.k"),
        ("@.x.k", "jsonPath: cannot read `k` of null: @.x.k"),
    ] {
        assert_eq!(evaluated(expression), outcome, "{expression}");
    }
}

#[test]
fn falsy_elements_are_never_asked() {
    assert_eq!(
        one("l[?(@.k.n == 1)]", r#"{"l": [null, 0, "", {"k": {"n": 1}}]}"#, false),
        r#"{"k":{"n":1}}"#
    );
    assert_eq!(one("l[?(true)]", r#"{"l": [false, [], {}]}"#, false), "[[],{}]");
}

#[test]
fn the_work_of_one_selection_is_bounded() {
    let wide = format!("[{}]", vec!["[1]"; 1100].join(","));
    let path = Path::parse("[*].$[*].$[*]").expect("valid");
    let error = path.select(&value(&wide), &EmptyScope, Options::default()).expect_err("too many");
    assert_eq!(error.kind, PathErrorKind::Limit);
    let deep = format!("{}1{}", "[".repeat(400), "]".repeat(400));
    let path = Path::parse("$..[0]..[0]..[0]..x").expect("valid");
    let error = path.select(&value(&deep), &EmptyScope, Options::default()).expect_err("too much");
    assert_eq!(error.kind, PathErrorKind::Limit);
}

#[test]
fn the_alias_of_a_source_is_the_first_member() {
    let path = Path::parse("x.l[0].v").expect("valid");
    assert_eq!(path.first_member(), Some("x"));
    assert_eq!(path.without_first().text(), "l[0].v");
    assert_eq!(Path::parse("x..v").expect("valid").without_first().text(), "$..v");
    assert_eq!(Path::parse("x").expect("valid").without_first().text(), "$");
    assert_eq!(Path::parse("$..v").expect("valid").first_member(), None);
    assert!(Path::parse("a.b.'c.d'").expect("valid").is_plain());
    assert!(!Path::parse("a[0]").expect("valid").is_plain());
    let segments = vec![Segment::Root, Segment::Descendant("v".into())];
    assert_eq!(Path::from_segments(segments), Path::parse("$..v").expect("valid"));
}

#[test]
fn a_step_back_to_the_root_behind_a_descent_reads_back() {
    let path = Path::parse("..$").expect("valid");
    let printed = path.to_string();
    assert_eq!(Path::parse(&printed).expect(&printed).segments(), path.segments());
}
