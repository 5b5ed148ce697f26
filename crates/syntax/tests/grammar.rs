//! The grammar, form by form: what is read, and what is refused with which words.

use qlio_syntax::{ast::*, parse, source::LineIndex};

/// The only statement of a text that must be well-formed.
#[track_caller]
fn statement(text: &str) -> Statement {
    let parsed = parse(text);
    assert!(parsed.is_ok(), "{text}\n{:?}", parsed.diagnostics);
    match parsed.script.items.as_slice() {
        [Item::Statement(statement)] => statement.clone(),
        items => panic!("{} items in {text}", items.len()),
    }
}

#[track_caller]
fn primary(text: &str) -> Primary {
    let mut alternatives = statement(text).alternatives;
    assert_eq!(alternatives.len(), 1);
    alternatives.remove(0)
}

#[track_caller]
fn select(text: &str) -> Select {
    match primary(text) {
        Primary::Select(select) => *select,
        other => panic!("{other:?}"),
    }
}

#[track_caller]
fn verb(clauses: &str) -> Verb {
    match primary(&format!("create table t on select get from 'u' {clauses}")) {
        Primary::Create(create) => create.verbs.into_iter().next().expect("one verb"),
        other => panic!("{other:?}"),
    }
}

/// `line:column message` of the only error of a text.
#[track_caller]
fn error(text: &str) -> String {
    let diagnostics = parse(text).diagnostics;
    assert_eq!(diagnostics.len(), 1, "{text}\n{diagnostics:?}");
    let position = LineIndex::new(text).position(text, diagnostics[0].primary.span.start);
    format!("{position} {}", diagnostics[0].message)
}

#[track_caller]
fn hint(text: &str) -> String {
    parse(text)
        .diagnostics
        .first()
        .and_then(|first| first.hints.first())
        .cloned()
        .unwrap_or_default()
}

#[test]
fn every_documented_form_is_read() {
    for text in [
        "select*from a",
        "select a from t where'x'=1",
        "select x\n\n \t\n from t",
        "if(a){b=1}",
        "a = 1;;; b = 2;",
        "if (a) { throw (x); };",
        "a = 1 -- why\n/* block */ b /* in */ = -- more\n 2",
        "a = {\"k\": /* c */ 1, -- d\n 'l': [1, 2]}",
        "select = 1 limit = 2 return = 3 if = 4 where = 5",
        "a = select limit from t limit 3 offset 4 timeout 5 minDelay 6 maxDelay 7 deadline 8",
        "a = select * from t TIMEOUT 5 mindelay 6 MAXDELAY 7",
        "a = select * from t\nlimit = 2",
        "a = select * from t\nas = 1",
        "a = select b = 1",
        "a = b",
        "a = select b.c, 'x-y'['z w'] as z, l[0], l[*], l[1:2], l[-1:], l[::2], $..n, a..b from t",
        "a = select l[?(\"@.k > 1\")].v, l[(\"@.length-1\")] from t",
        "a = select u.f(x, 1, 'y', {\"z\": [true]}) as q from t as s",
        "a = select * from t where a = -1.5 and b = +2 and c = true and d = null and e = f.g",
        "a = select * from t where a in (1, 'b', c.d, false) and e in \"{list}\"",
        "a = select * from t where 'q r'[0] in (select id from u where k = 1 limit 2)",
        "a = select * from t where u.f(x) and y = 1",
        "insert into t",
        "insert into t as u (a, b.c) values ('x', y) with parts 'a', 'b' timeout 5 maxDelay 7",
        "insert into t values (\"text\")",
        "insert \"{o}\" into t with parts \"{req.parts[0]}\"",
        "update t with '{o}' with parts 'a' timeout 1",
        "delete from t",
        "delete from t where a = 1 and b in (2, 3) timeout 1",
        "create table t",
        "create table a.b via mongo on select do find at 'u' expect ^a, b using defaults c = 1",
        "create table t on select get from 'u' on insert post to \"v\" on update put to 'w' on delete delete 'x'",
        "create table t on update patch 'u' on select post to 'v'",
        "show tables",
        "show routes",
        "describe a.b",
        "desc route",
        "desc route '/x/{y}' using method delete",
        "m = require(\"a.js\")",
        "m.f()",
        "m.f(1, a.b, \"{c}\", [2])",
        "if (!a && (b || !(c.d && e))) { a1 = 1 } else if (b) { } else { c1 = 2 }",
        "try { a = 1 throw (x) } catch (x && !y || z) { } catch (w) { b = 2 } finally { c = 3 }",
        "return a",
        "return true",
        "return null || false || 5",
        "return select * from t || \"x\" via route '/x' with optional params using defaults a = 1 using method get using headers 'A-B' = 'c', d = e -- last",
        "return 5; -- fine",
        "12",
        "'text'",
        "true",
        "straße = 1 _x = 2 $t = 3 ns:item = 4 日本 = 5",
        "\u{FEFF}a\u{A0}=\u{B}1\u{C}",
    ] {
        let parsed = parse(text);
        assert!(parsed.is_ok(), "{text}\n{:?}", parsed.diagnostics);
    }
}

#[test]
fn refused_forms_name_the_place_and_what_was_expected() {
    for (text, message) in [
        ("retrn 1", "1:7 expected '=' or '(', found \"1\""),
        ("a = }", "1:5 expected a JSON value, a call, a statement or a variable, found \"}\""),
        ("create tabel t", "1:8 expected 'table', found \"tabel\""),
        ("fetch x from y", "1:7 expected '=' or '(', found \"x\""),
        ("SELECT * from t", "1:8 expected '=' or '(', found \"*\"; did you mean `select`?"),
        ("a = select x", "1:13 expected 'as', ',' or 'from', found the end of the text"),
        ("if (a) b = 1", "1:8 expected '{', found \"b\""),
        ("throw (x)", "1:1 throw outside of if or try"),
        ("a = throw(x)", "1:5 throw outside of if or try"),
        ("try { a = 1 } catch (b) { } finally { throw (x) }", "1:39 throw outside of if or try"),
        ("try { a = 1 }", "1:14 expected 'catch', found the end of the text"),
        ("try { } catch (a) { }", "1:5 `try` needs at least one statement"),
        ("a = [1, ]", "1:9 expected a JSON value, found \"]\""),
        ("a = {\"b\": 1,}", "1:13 expected a quoted key, found \"}\""),
        ("a = .5", "1:5 expected a JSON value, a call, a statement or a variable, found \".\""),
        ("a = [0x1F]", "1:7 expected ',' or ']', found \"x1F\""),
        ("a = [b]", "1:6 expected a JSON value, found \"b\""),
        ("a.b = 1", "1:2 a variable name is a single word"),
        ("a = b.c", "1:6 a path is not a value here"),
        ("a = 'x", "1:5 this quote is never closed"),
        ("a = \"x\ny\"", "1:5 this text has no closing quote on its line"),
        ("a = \"\\q\"", "1:6 `\\q` is no escape"),
        ("a = 1 /* b", "1:7 this comment is never closed"),
        ("a = select x from t where a ~ 1", "1:29 there is no operator `~` in `where`"),
        ("a = select x from t where a < 1 < 2", "1:33 comparisons do not chain"),
        (
            "a = select x from t where 'a' < 1",
            "1:27 a quoted text to the left of `<` is neither name nor value",
        ),
        (
            "a = select x + 'a' || 'b' from t",
            "1:20 `||` stands between statements, not between values",
        ),
        (
            "a = select x from t where a is 5",
            "1:32 expected 'null', 'missing', 'text', 'number', 'boolean', 'list' or 'object', found \"5\"",
        ),
        ("a = select x from t where a lik 'x'", "1:29 expected '=' or 'in', found \"lik\""),
        (
            "a = select x from t order by 1",
            "1:30 rows are not ordered by what is the same for all of them",
        ),
        ("a = select value x as y from t", "1:23 `select value` gives the value without a name"),
        ("a = select {=b from t", "1:12 this brace is never closed"),
        ("a = select {b[0]} from t", "1:13 this member has no name"),
        ("a = select `b from t", "1:12 this backtick begins no name"),
        ("a = select x from t limit {=} offset 2", "1:27 this token names nothing"),
        ("a = select x from t where a = 1 where b = 2", "1:33 `where` stands twice or too late"),
        ("a = select x from t offset 1 limit 2", "1:30 `limit` stands twice or too late"),
        (
            "a = select x from t where a in ()",
            "1:33 expected a quoted text, a number or a name, found \")\"",
        ),
        ("a = select l[-1] from t", "1:14 an index cannot be negative"),
        ("a = select x from t where l.* = 1", "1:29 `.*` is not available here"),
        ("return 5\na = 1", "2:1 only comments may follow `return`"),
        ("return(5)", "1:7 `return` takes no parentheses"),
        ("if (a) { return 1 }", "1:10 `return` inside braces"),
        ("return 5 via route '/x'", "1:24 expected 'with' or 'using', found the end of the text"),
        (
            "return 5 via route '/x' using method head",
            "1:38 expected 'get', 'post', 'put', 'delete' or 'patch', found \"head\"",
        ),
        (
            "create table t on select get from 'u' using headers a = 1 using headers b = 2",
            "1:59 `using headers` stands twice",
        ),
        ("create table t on select get from 'u' expect a", "1:39 `expect` belongs to `do … at`"),
        (
            "create table t on select get from 'u' using headers X-Y = 1",
            "1:54 a name with a hyphen must be quoted",
        ),
        (
            "create table t on select get from 'u' using oauth2 client 'a' secret 'b'",
            "1:45 `using oauth2` needs `token`",
        ),
        ("a = 1 }", "1:7 expected a statement, a JSON value or a call, found \"}\""),
        ("; a = 1", "1:1 expected a statement, a JSON value or a call, found \";\""),
    ] {
        let found = error(text);
        assert_eq!(found, message, "{text}");
    }
}

#[test]
fn misspelt_keywords_get_a_hint() {
    for (text, expected) in [
        ("retrn 1", "did you mean `return`?"),
        ("create tabel t", "did you mean `table`?"),
        ("SELECT * from t", "keywords are written in lower case"),
        ("a = selct x from t", "did you mean `select`?"),
        ("return selct x from t", "did you mean `select`?"),
        ("a = select x form t", "did you mean `from`?"),
        ("a = [b]", "a variable inside JSON is written as a text: `\"{b}\"`"),
        ("a = .5", "a number starts with a digit: write `0.5`, not `.5`"),
    ] {
        assert_eq!(hint(text), expected, "{text}");
    }
}

#[test]
fn independent_errors_are_all_reported_and_nothing_else() {
    let text = "a = }\nb = 1\ncreate tabel t\n  on select get from 'u'\nc = select x\n  form t where y = 1\nif (x) {\n  d = ]\n  e = 2\n}\nreturn [1,]\n";
    let parsed = parse(text);
    let lines = LineIndex::new(text);
    let found: Vec<u32> =
        parsed.diagnostics.iter().map(|one| lines.line(one.primary.span.start)).collect();
    assert_eq!(found, [1, 3, 6, 8, 11]);
    assert_eq!(parsed.script.items.len(), 2, "the sound statements are kept");
}

#[test]
fn a_grammar_failure_carries_the_found_character() {
    let diagnostics = parse("retrn 1").diagnostics;
    assert_eq!(diagnostics[0].found.as_deref(), Some("1"));
    assert_eq!(diagnostics[0].expected, ["=", "("]);
    assert_eq!(parse("a = ").diagnostics[0].found, None);
}

#[test]
fn the_last_of_equal_keys_wins() {
    let Primary::Json(json) = primary("{\"a\": 1, \"b\": 2, 'a': 3}") else { panic!("no JSON") };
    let JsonKind::Object(members) = json.kind else { panic!("no object") };
    let pairs: Vec<_> = members.iter().map(|member| (&*member.key, &member.value.kind)).collect();
    let number = |text: &str| JsonKind::Number(text.to_owned());
    assert_eq!(pairs, [("a", &number("3")), ("b", &number("2"))]);
}

#[test]
fn quoted_segments_are_atomic() {
    let node = select("select 'a.b'['c.d'].e from t");
    let Columns::List(columns) = node.columns else { panic!("no list") };
    let ColumnValue::Path(path) = &columns[0].value else { panic!("no path") };
    let member = |name: &str, is_quoted| Segment::Member { name: name.to_owned(), is_quoted };
    assert_eq!(path.segments, [member("a.b", true), member("c.d", true), member("e", false)]);
}

#[test]
fn literals_in_clauses_are_values_and_other_words_are_paths() {
    let node = select("select * from t where a = true and b = null and c = trueb and d = -007.50");
    let kinds: Vec<_> = node
        .conditions
        .into_iter()
        .map(|condition| match condition {
            Condition::Equals { operand, .. } => operand.kind,
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(kinds[0], OperandKind::Bool(true));
    assert_eq!(kinds[1], OperandKind::Null);
    assert!(matches!(&kinds[2], OperandKind::Path(path) if path.segments.len() == 1));
    assert_eq!(kinds[3], OperandKind::Number("-7.50".to_owned()));
}

#[test]
fn clauses_come_in_any_order() {
    let verb = verb(
        "no retry expires 5 resultset 'r' auth using 'a.js' using xml arrays 'a', 'b.c' \
         using bodyTemplate 'b.mu' type 'application/json' foreach 'x' using patch 'p.js' \
         using defaults a.b = 1, 'c d' = e using headers 'X-Y' = \"{z}\" with aliases limit = 'n' \
         using format 'protobuf' from 'x.proto' message 'M' defaults on paging upstream \
         using oauth2 client 'i' token 'u' secret 's' using request format 'json' \
         using xml coerce 'none' using transformer 't.js' \
         paginate by cursor 'after' from 'next' up to 7 pages total 'n' size 'k' 10 \
         with columns a.b = 'x', 'c d' >= 'y', e like 'z'",
    );
    let tests: Vec<_> = verb.columns.iter().map(|column| column.test).collect();
    assert_eq!(tests, [ColumnTest::Equals, ColumnTest::GreaterOrEqual, ColumnTest::Like]);
    assert!(verb.is_retry_off && verb.is_paged_upstream);
    assert_eq!(verb.expires.map(|count| count.value), Some(5));
    assert_eq!(verb.xml_arrays.len(), 2);
    assert_eq!(verb.defaults[0].name.text, "a.b");
    assert!(!verb.defaults[0].is_quoted && verb.defaults[1].is_quoted);
    let format = verb.format.expect("a format");
    let names: Vec<_> = format.options.iter().map(|option| option.name.text.as_str()).collect();
    assert_eq!(names, ["from", "message", "defaults"]);
    assert_eq!(verb.oauth2.expect("credentials").options.len(), 3);
    assert_eq!(verb.body.expect("a template").foreach.expect("a parameter").text, "x");
}

/// A condition with a pair of parentheses per operator.
fn shape(logic: &Logic) -> String {
    match logic {
        Logic::Or(left, right) => format!("({} | {})", shape(left), shape(right)),
        Logic::And(left, right) => format!("({} & {})", shape(left), shape(right)),
        Logic::Not(inner) => format!("!{}", shape(inner)),
        Logic::Name(path) => match &path.segments[0] {
            Segment::Member { name, .. } => name.clone(),
            other => panic!("{other:?}"),
        },
    }
}

#[test]
fn conditions_bind_not_before_and_before_or() {
    let text = "if (a || !b && c || (d || e) && f) { }";
    let parsed = parse(text);
    let Item::If(node) = &parsed.script.items[0] else { panic!("no if") };
    assert_eq!(shape(&node.condition), "((a | (!b & c)) | ((d | e) & f))");
}

#[test]
fn comments_document_the_next_statement() {
    let text = "-- one\n/* two */\na = 1 -- three\n-- four\nb = /* inside */ 2\nif (x) { -- block\n}\n-- five\nreturn b -- six\n/* seven */";
    let script = parse(text).script;
    let docs =
        |docs: &[Comment]| docs.iter().map(|one| one.text.trim().to_owned()).collect::<Vec<_>>();
    let Item::Statement(a) = &script.items[0] else { panic!("no statement") };
    let Item::Statement(b) = &script.items[1] else { panic!("no statement") };
    assert_eq!(docs(&a.docs), ["one", "two"]);
    assert_eq!(docs(&b.docs), ["three", "four"]);
    assert_eq!(docs(&script.result.as_ref().expect("a return").docs), ["five"]);
    assert_eq!(docs(&script.trailing), ["six", "seven"]);
    assert_eq!(parse(text).comments.len(), 9);
}

#[test]
fn only_comments_are_trailing() {
    let script = parse("-- a\n-- b").script;
    assert_eq!((script.items.len(), script.trailing.len()), (0, 2));
}
