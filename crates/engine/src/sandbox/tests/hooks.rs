//! Hooks, auth modules and transformers.

use super::*;
use bytes::Bytes;
use qlio_data::{Object, Text};

/// A patch `p.js` with this source, and sessions of it.
pub(super) struct Table {
    pub(super) sandbox: Sandbox,
    pub(super) realm: Realm,
    patch: Patch,
}

const STATEMENT: &str = r#"{"type": "select", "table": "t", "line": 3, "offset": 30, "limit": 10,
    "exec": {"type": "select", "offset": 30}}"#;

/// Arguments that are made when they are asked for.
fn lazy(text: &str) -> Lazy {
    Lazy::from(value(text))
}

fn no_headers() -> Lazy {
    lazy("{}")
}

impl Table {
    fn new(source: &str) -> Self {
        Self::with(SandboxLimits::default(), &[("p.js", source)])
    }

    pub(super) fn with(limits: SandboxLimits, files: &[(&str, &str)]) -> Self {
        let directory = directory(files);
        let sandbox = Sandbox::new(limits);
        let realm = Realm::new(&directory);
        let patch = Patch::load(&sandbox, &realm, Path::new("p.js")).unwrap();
        Self { sandbox, realm, patch }
    }

    pub(super) fn session(&self, lower: &str) -> HookSession {
        HookSession::new(&self.sandbox, &self.realm, object(lower), object(STATEMENT))
    }

    fn call(&self, args: HookArgs<'_>) -> Result<HookResult, ScriptError> {
        self.session("{}").call(&self.patch, args)
    }

    fn uris(&self, uri: &str) -> Vec<String> {
        let session = self.session(r#"{"a": "日"}"#);
        match session.call(&self.patch, HookArgs::PatchUri { uri }).unwrap() {
            HookResult::Uris { uris, .. } => uris,
            other => panic!("{other:?}"),
        }
    }

    fn response(&self, body: &str) -> Result<Value, ScriptError> {
        let (headers, body) = (no_headers(), Lazy::from(value(body)));
        let args = HookArgs::PatchResponse {
            uri: "http://h/",
            status: 200,
            headers: &headers,
            body: &body,
        };
        match self.call(args)? {
            HookResult::Response(value) => Ok(value),
            other => panic!("{other:?}"),
        }
    }

    fn status(&self, body: &str) -> Option<i64> {
        let (headers, body) = (no_headers(), Lazy::from(value(body)));
        let args =
            HookArgs::PatchStatus { uri: "http://h/", status: 404, headers: &headers, body: &body };
        match self.call(args).unwrap() {
            HookResult::Status(status) => status,
            other => panic!("{other:?}"),
        }
    }

    fn parse(&self, bytes: &'static [u8]) -> Result<Parsed, ScriptError> {
        let headers = lazy(r#"{"content-type": "text/x"}"#);
        let body = Bytes::from_static(bytes);
        let args = HookArgs::ParseResponse {
            uri: "http://h/",
            status: 200,
            headers: &headers,
            body: &body,
        };
        match self.call(args)? {
            HookResult::Parsed(parsed) => Ok(parsed),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn a_patch_tells_its_hooks_and_warns_of_other_exports() {
    let table = Table::new(
        "exports['patch uri'] = function () {}; exports['patch status'] = function () {};
         exports['patch body'] = 7; exports.helper = function () {}; exports.udf = function () {};",
    );
    assert_eq!(table.patch.hooks(), [Hook::PatchUri, Hook::PatchStatus]);
    assert_eq!(
        table.patch.warnings(),
        [
            "the export `patch body` of patch `p.js` is no hook",
            "the export `helper` of patch `p.js` is no hook",
            "the hook `udf` of patch `p.js` is no longer called",
        ]
    );
}

#[test]
fn patch_uri_changes_drops_and_multiplies() {
    let set = Table::new(
        "exports['patch uri'] = function (args) { args.uri.setParam('z', 9); return args.uri; };",
    );
    assert_eq!(set.uris("http://h/q?a=1&b="), ["http://h/q?a=1&b=&z=9"]);
    let page = Table::new(
        "exports['patch uri'] = function (args) {
             args.uri.setParam('page', args.statement.offset / args.statement.limit);
             args.uri.removeEmptyParams(); return args.uri; };",
    );
    assert_eq!(page.uris("http://h/q?page=&s=1"), ["http://h/q?s=1&page=3"]);
    let thrice = Table::new(
        "exports['patch uri'] = function (args) { return [args.uri, null, args.uri, 'HTTP://H']; };",
    );
    assert_eq!(thrice.uris("http://h/q"), ["http://h/q", "http://h/q", "http://h/"]);
    let text = Table::new(
        "exports['patch uri'] = function (args) { return args.uri.format() + '?x=a b'; };",
    );
    assert_eq!(text.uris("http://h/q"), ["http://h/q?x=a%20b"]);
    let drop = Table::new("exports['patch uri'] = function () {};");
    assert!(drop.uris("http://h/q").is_empty());
    let unicode = Table::new(
        "exports['patch uri'] = function (args) { args.uri.setParam('a', args.params.a + 'ø'); return args.uri; };",
    );
    assert_eq!(unicode.uris("http://h/q?a=x"), ["http://h/q?a=%E6%97%A5%C3%B8"]);
    let wrong = Table::new("exports['patch uri'] = function () { return 7; };");
    let error = wrong.call(HookArgs::PatchUri { uri: "http://h/" }).unwrap_err();
    assert_eq!(error.message, "patch uri must return a URI or a list of URIs");
}

#[test]
fn patch_headers_returns_or_changes_them() {
    let headers = lazy(r#"{"accept": "x", "n": "1"}"#);
    let args = HookArgs::PatchHeaders { uri: "http://h/q?b=2", headers: &headers };
    let given = |body: &str| {
        let source = format!("exports['patch headers'] = function (args) {{ {body} }};");
        match Table::new(&source).call(args).unwrap() {
            HookResult::Headers(change) => described(change),
            other => panic!("{other:?}"),
        }
    };
    for (body, expected) in [
        ("", "none"),
        ("args.headers['x-own'] = args.uri.getParam('b');", r#"some {"x-own":"2"}"#),
        ("args.headers.n = 2; return args.headers;", r#"some {"n":"2"}"#),
        (
            "args.headers.n = 2; args.headers.m = args.headers.accept;",
            r#"all {"accept":"x","n":"2","m":"x"}"#,
        ),
        ("args.headers.m = '3'; delete args.headers.accept;", r#"all {"n":"1","m":"3"}"#),
        ("args.headers.accept = null;", r#"all {"n":"1"}"#),
        ("args.headers.m = 3; args.headers.accept = undefined;", r#"all {"n":"1","m":"3"}"#),
        (
            "args.headers.b = 2; return {names: Object.keys(args.headers)};",
            r#"all {"names":["accept","n","b"]}"#,
        ),
        (
            "return {a: 1, b: true, c: null, d: ['x', 2], e: {}};",
            r#"all {"a":"1","b":"true","d":["x","2"]}"#,
        ),
    ] {
        assert_eq!(given(body), expected, "{body}");
    }
}

/// A change of headers as text.
fn described(change: HeaderChange) -> String {
    match change {
        HeaderChange::None => "none".to_owned(),
        HeaderChange::Some(written) => {
            let written = written.into_iter().map(|(name, value)| (Text::from(name), value.into()));
            format!("some {}", text_of(&Value::object(written.collect())))
        }
        HeaderChange::All(all) => format!("all {}", text_of(&Value::object(all))),
    }
}

#[test]
fn a_hook_that_was_shown_no_headers_gets_none_of_an_earlier_call() {
    let table = Table::new(
        "exports['patch headers'] = function (args) {
             if (args.statement.line === 4) { var all = args; all.headers = null; return null; }
             args.headers.secret = 's'; return args.headers; };",
    );
    let headers = lazy(r#"{"accept": "x"}"#);
    let args = HookArgs::PatchHeaders { uri: "http://h/", headers: &headers };
    let called = |line: &str| {
        let statement = object(&format!(r#"{{"line": {line}}}"#));
        let session = HookSession::new(&table.sandbox, &table.realm, Object::new(), statement);
        session.call(&table.patch, args)
    };
    let Ok(HookResult::Headers(change)) = called("3") else { panic!("no headers") };
    assert_eq!(described(change), r#"some {"secret":"s"}"#);
    assert_eq!(called("4").unwrap_err().message, "the headers must be an object");
}

/// A hook that names members of its argument and one that hands it on are given it in two ways, which nobody can tell.
#[test]
fn a_hook_cannot_tell_in_which_way_it_is_given_its_argument() {
    let (headers, body) = (lazy(r#"{"accept": "x"}"#), lazy(r#"{"code": 44, "list": [1]}"#));
    let status = |code: &str| {
        let table = Table::new(&format!("exports['patch response'] = {code};"));
        let session = table.session(r#"{"q": "a b", "config": {"key": "k"}}"#);
        let args = HookArgs::PatchResponse {
            uri: "http://h/?b=1",
            status: 404,
            headers: &headers,
            body: &body,
        };
        match session.call(&table.patch, args) {
            Ok(HookResult::Response(value)) => {
                format!(
                    "{} {}",
                    text_of(&value),
                    text_of(&Value::object(session.overlay().clone()))
                )
            }
            Ok(other) => panic!("{other:?}"),
            Err(error) => error.message,
        }
    };
    for (code, expected) in [
        ("return [args.status, args.uri, args.headers.accept];", r#"[404,"http://h/?b=1","x"] {}"#),
        ("args.status = 7; args.uri = [args.status]; return args.uri;", "[7] {}"),
        ("args.headers.a = 1; return args.headers;", r#"{"accept":"x","a":1} {}"#),
        ("args.headers = null; return args.headers;", "null {}"),
        (
            "args.params.seen = args.params.q; return args.params.config;",
            r#"{"key":"k"} {"seen":"a b"}"#,
        ),
        (
            "args.body.list.push(args.body.code); return args.body;",
            r#"{"code":44,"list":[1,44]} {}"#,
        ),
        ("return [this === args.statement, args.statement.limit];", "[true,10] {}"),
        ("return [typeof args.log, args.log('info', 'x')];", r#"["function",null] {}"#),
        (
            "return (function () { return args.uri.getParam('b') + args.status; }());",
            r#""1404" {}"#,
        ),
        (
            "delete args.status; return [args.status, typeof args.status];",
            r#"[null,"undefined"] {}"#,
        ),
        ("delete args.body; return typeof args.body;", r#""undefined" {}"#),
        (
            "return Object.keys(args).sort();",
            r#"["body","headers","log","params","statement","status","uri"] {}"#,
        ),
        ("args.uri = function () { return Object.keys(this).length; }; return args.uri();", "7 {}"),
        ("return arguments[0] === args && args.hasOwnProperty('body');", "true {}"),
        (
            "return [args['status'], 'body' in args, args.toString()];",
            r#"[404,true,"[object Object]"] {}"#,
        ),
        ("args.status.x.y;", "cannot read property 'y' of undefined"),
    ] {
        let named = status(&format!("function (args) {{ {code} }}"));
        let handed_on = status(&format!("function (args) {{ var all = args; {code} }}"));
        assert_eq!(named, expected, "{code}");
        assert_eq!(handed_on, expected, "{code}");
    }
}

#[test]
fn an_argument_kept_beyond_its_call_has_what_was_looked_at() {
    let table = Table::new(
        "var kept; exports['patch status'] = function (args) {
             if (kept) { return kept.status + (kept.headers.n | 0); }
             args.headers.n; kept = args; };
         exports['patch mediaType'] = function (args) {
             var look = function () { return args.body; };
             if (exports.look) { return exports.look(); }
             exports.look = look; };",
    );
    assert_eq!(table.status("1"), None);
    assert_eq!(table.status("1"), Some(404));
    let (headers, body) = (no_headers(), lazy("7"));
    let args =
        HookArgs::PatchMediaType { uri: "http://h/", status: 200, headers: &headers, body: &body };
    assert!(matches!(table.call(args), Ok(HookResult::MediaType(None))));
    let error = table.call(args).unwrap_err();
    assert_eq!(error.message, "what a hook was given can not be kept beyond its call");
}

#[test]
fn headers_that_were_written_are_whole_wherever_they_go() {
    let headers = lazy(r#"{"accept": "x"}"#);
    let args = HookArgs::PatchHeaders { uri: "http://h/", headers: &headers };
    let table = Table::new(
        "exports['patch headers'] = function (args) { args.headers.m = '3'; args.params.seen = args.headers; return {}; };",
    );
    let session = table.session("{}");
    session.call(&table.patch, args).unwrap();
    let overlay = session.overlay();
    assert_eq!(text_of(overlay.get("seen").unwrap()), r#"{"accept":"x","m":"3"}"#);
}

#[test]
fn body_hooks_give_payloads_and_keep_header_changes() {
    let headers = lazy(r#"{"a": "1"}"#);
    let body = Payload {
        content: Some(Content::Text("abc".into())),
        media_type: Some("text/plain".into()),
    };
    let args = HookArgs::PatchBody { uri: "http://h/", headers: &headers, body: &body };
    let given = |source: &str| match Table::new(source).call(args).unwrap() {
        HookResult::Body { payload, headers } => (payload, described(headers)),
        other => panic!("{other:?}"),
    };
    let (payload, headers) = given(
        "exports['patch body'] = function (args) { args.headers.b = '2'; return {content: args.body.content.toUpperCase(), type: args.body.type + ';x'}; };",
    );
    let payload = payload.unwrap();
    assert!(matches!(&payload.content, Some(Content::Text(text)) if *text == "ABC"), "{payload:?}");
    assert_eq!(payload.media_type.as_deref(), Some("text/plain;x"));
    assert_eq!(headers, r#"some {"b":"2"}"#);
    assert!(given("exports['patch body'] = function (args) { };").0.is_none());
    let (payload, _) =
        given("exports['patch body'] = function () { return {content: new Buffer([0, 255])}; };");
    assert!(
        matches!(payload.unwrap().content, Some(Content::Bytes(bytes)) if bytes[..] == [0, 255])
    );
    // Bytes in are a buffer.
    let body =
        Payload { content: Some(Content::Bytes(Bytes::from_static(b"hi"))), media_type: None };
    let none = no_headers();
    let table = Table::new(
        "exports['patch body'] = function (args) { return {content: Buffer.isBuffer(args.body.content) + args.body.content.toString()}; };",
    );
    match table.call(HookArgs::PatchBody { uri: "http://h/", headers: &none, body: &body }).unwrap()
    {
        HookResult::Body {
            payload: Some(Payload { content: Some(Content::Text(text)), .. }),
            ..
        } => assert_eq!(text, "truehi"),
        other => panic!("{other:?}"),
    }
    let table = Table::new(
        "exports['body template'] = function (args) { return {content: '<%= 1 %>', type: 'x/y'}; };",
    );
    match table.call(HookArgs::BodyTemplate { uri: "http://h/", headers: &none }).unwrap() {
        HookResult::Body { payload: Some(payload), .. } => {
            assert_eq!(payload.media_type.as_deref(), Some("x/y"));
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn compute_key_and_media_type_get_text_uris() {
    let headers = lazy(r#"{"a": "1"}"#);
    let table = Table::new(
        "exports['compute key'] = function (args) { return [args.table, args.method, args.uri, args.body, args.headers.a, args.reqIdName, typeof args.log].join('|'); };
         exports['patch mediaType'] = function (args) { return args.body === 'x' ? 'application/json' : typeof args.uri === 'string' ? '' : 'no'; };",
    );
    let args = HookArgs::ComputeKey {
        table: "t",
        method: "post",
        uri: "http://h/",
        body: Some("b"),
        headers: &headers,
        request_id_name: "request-id",
    };
    match table.call(args).unwrap() {
        HookResult::Key(key) => {
            assert_eq!(key.as_deref(), Some("t|post|http://h/|b|1|request-id|function"));
        }
        other => panic!("{other:?}"),
    }
    for (body, expected) in [("x", Some("application/json")), ("y", None)] {
        let body = Lazy::from(Value::from(body));
        let args = HookArgs::PatchMediaType {
            uri: "http://h/",
            status: 200,
            headers: &headers,
            body: &body,
        };
        match table.call(args).unwrap() {
            HookResult::MediaType(media_type) => assert_eq!(media_type.as_deref(), expected),
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn parse_response_gets_buffers_and_gives_text_values_or_bytes() {
    let lines = Table::new(
        "exports['parse response'] = function (args) { var s = ''; args.body.forEach(function (b) { s += b.toString('UTF-8'); });
           var o = {}; s.split('\\n').forEach(function (l) { var p = l.split('='); o[p[0]] = p[1]; });
           return {type: 'application/json', content: JSON.stringify(o)}; };",
    );
    match lines.parse(b"sid=7\nttl=60").unwrap() {
        Parsed::Content { content: Content::Text(text), media_type } => {
            assert_eq!(text, r#"{"sid":"7","ttl":"60"}"#);
            assert_eq!(media_type.as_deref(), Some("application/json"));
        }
        other => panic!("{other:?}"),
    }
    let sum = Table::new(
        "exports['parse response'] = function (args) { var n = 0; args.body.forEach(function (b) { for (var i = 0; i < b.length; i++) { n += b[i]; } });
           return {value: {sum: n, length: args.length, same: args.bytes === args.body[0], status: args.status, one: args.body.length}}; };",
    );
    match sum.parse(b"\xff\x00\x02\x80").unwrap() {
        Parsed::Value(value) => assert_eq!(
            text_of(&value),
            r#"{"sum":385,"length":4,"same":true,"status":200,"one":1}"#
        ),
        other => panic!("{other:?}"),
    }
    let bytes = Table::new(
        "exports['parse response'] = function (args) { return {content: args.bytes.slice(1)}; };",
    );
    assert!(
        matches!(bytes.parse(b"abc").unwrap(), Parsed::Content { content: Content::Bytes(bytes), .. } if bytes[..] == *b"bc")
    );
    let old = Table::new(
        "exports['parse response'] = function (args) { var n = 0, b; args.body.forEach(function (c) { n += c.length; });
           b = new Buffer(n); n = 0; args.body.forEach(function (c) { c.copy(b, n); n += c.length; }); return {content: b.toString('UTF-8')}; };",
    );
    assert!(
        matches!(old.parse("åß".as_bytes()).unwrap(), Parsed::Content { content: Content::Text(text), .. } if text == "åß")
    );
    let nothing = Table::new("exports['parse response'] = function () {};");
    assert!(matches!(nothing.parse(b"x").unwrap(), Parsed::Unchanged));
    let null = Table::new("exports['parse response'] = function () { return {value: null}; };");
    assert!(matches!(null.parse(b"x").unwrap(), Parsed::Value(Value::Null)));
}

#[test]
fn patch_status_is_a_number_or_the_upstreams() {
    let table = Table::new(
        "exports['patch status'] = function (args) { return args.body.code || (args.body.same && args.status); };",
    );
    assert_eq!(table.status(r#"{"code": 422}"#), Some(422));
    assert_eq!(table.status(r#"{"code": "500"}"#), Some(500));
    assert_eq!(table.status(r#"{"same": 1}"#), Some(404));
    assert_eq!(table.status("{}"), None);
}

#[test]
fn patch_response_is_taken_as_it_is() {
    let table = Table::new(
        "exports['patch response'] = function (args) { return args.body.l && {n: args.body.l.length, first: args.body.l[0], array: args.body.l instanceof Array}; };",
    );
    assert_eq!(
        text_of(&table.response(r#"{"l": [4, 5]}"#).unwrap()),
        r#"{"n":2,"first":4,"array":true}"#
    );
    assert!(table.response("{}").unwrap().is_absent());
}

#[test]
fn what_a_hook_looks_at_is_what_it_was() {
    let table = Table::new(
        "exports['patch response'] = function (args) {
             var b = args.body, rows = b.rows, seen = [];
             for (var name in b) { seen.push(name); }
             rows.forEach(function (row) { seen.push(row.id); });
             return [seen.join(), Array.isArray(rows), rows instanceof Array, rows.length, rows.concat([1]).length,
                 JSON.stringify(b.o), 'k' in b.o, b.o.hasOwnProperty('gone'), Object.keys(b).length,
                 b.o === b.o, b.n === null, typeof b.gone, Object.prototype.toString.call(rows)];
         };",
    );
    let body = r#"{"rows": [{"id": 1}, {"id": 2}], "o": {"k": [true, {}], "é": "ø"}, "n": null}"#;
    assert_eq!(
        text_of(&table.response(body).unwrap()),
        r#"["rows,o,n,1,2",true,true,2,3,"{\"k\":[true,{}],\"é\":\"ø\"}",true,false,3,true,true,"undefined","[object Array]"]"#
    );
}

#[test]
fn what_a_hook_does_not_look_at_stays_as_it_was() {
    let table = Table::new(
        "exports['patch response'] = function (args) {
             if (args.status === 201) { return args.body; }
             if (args.status === 202) { return {list: args.body.list, same: args.body.list}; }
             args.body.added = args.body.list[1]; args.body.o.x = 1; delete args.body.gone;
             return args.body; };",
    );
    let respond = |status| {
        let body =
            r#"{"list": [12345678901234567890, {"deep": 1.50}], "o": {"y": [0.10]}, "gone": 1}"#;
        let (headers, body) = (no_headers(), Lazy::from(json::parse_str(body).unwrap()));
        let args =
            HookArgs::PatchResponse { uri: "http://h/", status, headers: &headers, body: &body };
        match table.call(args).unwrap() {
            HookResult::Response(value) => text_of(&value),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(
        respond(201),
        r#"{"list": [12345678901234567890, {"deep": 1.50}], "o": {"y": [0.10]}, "gone": 1}"#
    );
    assert_eq!(
        respond(202),
        r#"{"list":[12345678901234567890, {"deep": 1.50}],"same":[12345678901234567890, {"deep": 1.50}]}"#
    );
    assert_eq!(
        respond(200),
        r#"{"list":[12345678901234567000,{"deep": 1.50}],"o":{"y":[0.10],"x":1},"added":{"deep": 1.50}}"#
    );
}

#[test]
fn arguments_are_made_for_those_who_ask() {
    let table = Table::new(
        "exports['patch status'] = function (args) { return args.params.look ? args.body.code : args.status; };
         exports['patch response'] = function (args) {
             var copy = Object.assign({}, args);
             return [Object.keys(copy).sort().join(), 'uri' in args, args.uri === copy.uri, args.body]; };",
    );
    let made = std::rc::Rc::new(std::cell::Cell::new(0));
    let count = std::rc::Rc::clone(&made);
    let body = Lazy::new(0, move || {
        count.set(count.get() + 1);
        value(r#"{"code": 299}"#)
    });
    let headers = no_headers();
    for (params, status, times) in [("{}", 200, 0), (r#"{"look": 1}"#, 299, 1)] {
        let args =
            HookArgs::PatchStatus { uri: "http://h/", status: 200, headers: &headers, body: &body };
        match table.session(params).call(&table.patch, args).unwrap() {
            HookResult::Status(found) => assert_eq!(found, Some(status)),
            other => panic!("{other:?}"),
        }
        assert_eq!(made.get(), times);
    }
    assert_eq!(
        text_of(&table.response("[1]").unwrap()),
        r#"["body,headers,log,params,statement,status,uri",true,true,[1]]"#
    );
}

#[test]
fn arguments_end_with_their_call_but_what_was_seen_stays() {
    let table = Table::new(
        "var kept, seen;
         exports['patch status'] = function (args) { kept = args; seen = args.body; };
         exports['patch response'] = function (args) {
             try { return kept.headers.accept; } catch (error) { return [error.message, seen.list[1].a]; } };",
    );
    assert_eq!(table.status(r#"{"list": [0, {"a": 7}]}"#), None);
    assert_eq!(
        text_of(&table.response("1").unwrap()),
        r#"["what a hook was given can not be kept beyond its call",7]"#
    );
}

#[test]
fn the_record_of_the_statement_is_read_only_below_its_top() {
    let table = Table::new(
        "exports['patch response'] = function (args) {
             'use strict';
             try { args.statement.exec.offset = 1; } catch (error) { return [error.name, this.exec.offset]; } };",
    );
    assert_eq!(text_of(&table.response("1").unwrap()), r#"["TypeError",30]"#);
}

#[test]
fn params_show_all_layers_and_serialise_what_hooks_wrote() {
    let table = Table::new(
        "exports['patch uri'] = function (args) { args.params.zone = 'N'; args.params.a = 2; args.seen = 1; return args.uri; };
         exports['patch response'] = function (args) {
             if (args.status === 201) { var names = []; for (var n in args.params) { names.push(n + '=' + args.params[n]); } return names; }
             return args.params; };",
    );
    let session = table.session(r#"{"a": 1, "b": "x"}"#);
    session.call(&table.patch, HookArgs::PatchUri { uri: "http://h/" }).unwrap();
    let (headers, body) = (no_headers(), Lazy::from(value("[1]")));
    let respond = |status| {
        let args =
            HookArgs::PatchResponse { uri: "http://h/", status, headers: &headers, body: &body };
        match session.call(&table.patch, args).unwrap() {
            HookResult::Response(value) => text_of(&value),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(respond(200), r#"{"zone":"N","a":2}"#);
    assert_eq!(respond(201), r#"["zone=N","a=2","b=x"]"#);
    assert_eq!(text_of(&Value::object(session.overlay().clone())), r#"{"zone":"N","a":2}"#);
    // Another execution has a bag of its own.
    let other = table.session(r#"{"a": 1}"#);
    assert!(other.overlay().is_empty());
}

/// `config` is shown when it is asked for; whoever asks sees no difference.
#[test]
fn the_settings_among_the_params_are_a_member_like_others() {
    let table = Table::new(
        "function names(params) { var all = []; for (var name in params) { all.push(name); } return all.join(); }
         var kept;
         exports['patch uri'] = function (args) {
             kept = args.params;
             args.params.config.key += '!';
             args.params.config = {a: args.params.config};
             args.params.n = Object.create(args.params).config.a.key;
             return args.uri; };
         exports['patch response'] = function (args) {
             var params = args.params;
             return args.status === 201
                 ? ['config' in params, names(params), params.config, kept === undefined]
                 : ['config' in params, names(params), params.config, delete params.config, params.config, kept === params];
         };",
    );
    let (headers, body) = (no_headers(), Lazy::from(value("[1]")));
    let respond = |session: &HookSession, status| {
        let args =
            HookArgs::PatchResponse { uri: "http://h/", status, headers: &headers, body: &body };
        match session.call(&table.patch, args).unwrap() {
            HookResult::Response(value) => text_of(&value),
            other => panic!("{other:?}"),
        }
    };
    // Not looked at, a scalar, and none.
    for (lower, shown) in [
        (r#"{"a": 1, "config": {"key": "k"}}"#, r#"[true,"a,config",{"key":"k"},true]"#),
        (r#"{"a": 1, "config": "k"}"#, r#"[true,"a,config","k",true]"#),
        (r#"{"a": 1}"#, r#"[false,"a",null,true]"#),
    ] {
        assert_eq!(respond(&table.session(lower), 201), shown, "{lower}");
    }
    let session = table.session(r#"{"config": {"key": "k"}}"#);
    session.call(&table.patch, HookArgs::PatchUri { uri: "http://h/" }).unwrap();
    let overlay = text_of(&Value::object(session.overlay().clone()));
    assert_eq!(overlay, r#"{"config":{"a":{"key":"k!"}},"n":"k!"}"#);
    assert_eq!(
        respond(&session, 200),
        r#"[true,"config,n",{"a":{"key":"k!"}},true,{"key":"k!"},true]"#
    );
    // What was kept of one execution is not that of another.
    assert_eq!(
        respond(&table.session(r#"{"config": {"b": 1}}"#), 200),
        r#"[true,"config",{"b":1},true,{"b":1},false]"#
    );
}

#[test]
fn what_all_params_inherit_is_out_of_reach_of_scripts() {
    let table = Table::new(
        "exports['patch uri'] = function (args) {
             var shared = Object.getPrototypeOf(Object.getPrototypeOf(args.params));
             if (args.params.writes) { shared.left = 1; delete shared.config; }
             return args.uri + '?' + [args.params.left, args.params.config.key]; };",
    );
    for writes in [true, false] {
        let session =
            table.session(&format!(r#"{{"writes": {writes}, "config": {{"key": "k"}}}}"#));
        let HookResult::Uris { uris, .. } =
            session.call(&table.patch, HookArgs::PatchUri { uri: "http://h/" }).unwrap()
        else {
            panic!("no addresses");
        };
        assert_eq!(uris, ["http://h/?%2Ck="], "{writes}");
    }
}

#[test]
fn validators_see_every_name_and_refuse_one() {
    let table = Table::new(
        "exports['validate param'] = function (args, name, value) { args.params.count = (args.params.count || 0) + 1; return name !== 'x' || value > 5; };",
    );
    for (params, refused) in
        [(r#"{"v": 1, "x": 9}"#, None), (r#"{"v": 1, "x": 2, "y": 3}"#, Some("x"))]
    {
        let params = object(params);
        match table.call(HookArgs::ValidateParam { params: &params }).unwrap() {
            HookResult::Refused(found) => {
                assert_eq!(found.as_ref().map(|(name, _)| name.as_str()), refused);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn this_is_the_statement_and_changes_stay_inside() {
    let table = Table::new(
        "exports['patch response'] = function (args) { args.statement.limit = 1; return [this === args.statement, this.table, this.exec.offset, this.limit]; };",
    );
    for _ in 0..2 {
        assert_eq!(text_of(&table.response("1").unwrap()), r#"[true,"t",30,1]"#);
    }
}

#[test]
fn throwing_hooks_tell_hook_file_and_line() {
    let table = Table::new(
        "\n\nexports['patch uri'] = function () {\n    throw new Error('no uri today');\n};",
    );
    let error = table.call(HookArgs::PatchUri { uri: "http://h/" }).unwrap_err();
    assert_eq!(error.message, "no uri today");
    assert_eq!(
        (error.function.as_str(), error.file.as_deref(), error.line, error.column),
        ("patch uri", Some("p.js"), Some(4), Some(15)),
        "{error:?}"
    );
}

#[test]
fn errors_in_required_files_name_those() {
    let table = Table::with(
        SandboxLimits::default(),
        &[
            (
                "p.js",
                "var h = require('./lib/h'); exports['patch response'] = function (a) { return h(a.body); };",
            ),
            ("lib/h.js", "module.exports = function (b) {\n  return b.x.y;\n};"),
        ],
    );
    let error = table.response("{}").unwrap_err();
    assert_eq!((error.file.as_deref(), error.line), (Some("lib/h.js"), Some(2)), "{error:?}");
}

#[test]
fn a_hook_over_its_limit_fails_and_what_was_written_stays() {
    let limits = SandboxLimits { time_ms: 80, ..SandboxLimits::default() };
    let table = Table::with(limits, &[(
        "p.js",
        "exports['patch uri'] = function (args) { if (args.params.zone) { for (;;) {} } args.params.zone = ['N']; return args.uri; };
         exports['patch response'] = function (args) { return [args.params.zone, args.params.zone instanceof Array, args.params.low]; };
         exports['patch status'] = function (args) { var s = []; for (;;) { s.push(new Uint8Array(1e6)); } };",
    )]);
    let session = table.session(r#"{"low": 1}"#);
    let uri = HookArgs::PatchUri { uri: "http://h/" };
    session.call(&table.patch, uri).unwrap();
    let error = session.call(&table.patch, uri).unwrap_err();
    assert_eq!(error.message, "Hook patch uri exceeded its time limit");
    let (headers, body) = (no_headers(), Lazy::from(value("1")));
    let status =
        HookArgs::PatchStatus { uri: "http://h/", status: 200, headers: &headers, body: &body };
    assert_eq!(
        session.call(&table.patch, status).unwrap_err().message,
        "Hook patch status exceeded its memory limit"
    );
    let args =
        HookArgs::PatchResponse { uri: "http://h/", status: 200, headers: &headers, body: &body };
    match session.call(&table.patch, args).unwrap() {
        HookResult::Response(value) => assert_eq!(text_of(&value), r#"[["N"],true,1]"#),
        other => panic!("{other:?}"),
    }
}

#[test]
fn promises_of_hooks_need_the_setting() {
    let source =
        "exports['patch response'] = async function (args) { await null; return args.body; };";
    let error = Table::new(source).response("7").unwrap_err();
    assert!(error.message.contains("hooks.async"), "{error}");
    let limits = SandboxLimits { hooks_async: true, ..SandboxLimits::default() };
    let table = Table::with(limits, &[("p.js", source)]);
    assert_eq!(text_of(&table.response("7").unwrap()), "7");
}

#[test]
fn tables_do_not_see_each_other() {
    let source = "leak = (typeof leak === 'undefined' ? 0 : leak) + 1; Array.prototype.mine = 1;
        exports['patch response'] = function () { leak += 1; return [leak, [].mine, typeof other]; };";
    let one = Table::new(source);
    let directory = directory(&[(
        "p.js",
        "other = 1; exports['patch response'] = function () { return [typeof leak, typeof [].mine]; };",
    )]);
    let realm = Realm::new(&directory);
    let patch = Patch::load(&one.sandbox, &realm, Path::new("p.js")).unwrap();
    assert_eq!(text_of(&one.response("1").unwrap()), r#"[2,1,"undefined"]"#);
    let session = HookSession::new(&one.sandbox, &realm, Object::new(), Object::new());
    let (headers, body) = (no_headers(), Lazy::from(value("1")));
    let args =
        HookArgs::PatchResponse { uri: "http://h/", status: 200, headers: &headers, body: &body };
    match session.call(&patch, args).unwrap() {
        HookResult::Response(value) => assert_eq!(text_of(&value), r#"["undefined","undefined"]"#),
        other => panic!("{other:?}"),
    }
}

#[test]
fn logs_are_collected_and_bounded() {
    let limits = SandboxLimits { log_lines: 5, log_line_chars: 10, ..SandboxLimits::default() };
    let table = Table::with(limits, &[(
        "p.js",
        "exports['patch response'] = function (args) { args.log('error'); args.log('warn', 'w'); args.log('x', {a: 1});
             console.error('%d of %s', 3, 'é'); console.log('a very long line'); console.log('6'); console.log('7'); };",
    )]);
    table.response("1").unwrap();
    let lines: Vec<_> =
        table.sandbox.take_log().into_iter().map(|line| (line.severity, line.message)).collect();
    assert_eq!(
        lines,
        [
            (Severity::Error, "(no messag…".to_owned()),
            (Severity::Warn, "w".to_owned()),
            (Severity::Info, "{ a: 1 }".to_owned()),
            (Severity::Error, "3 of é".to_owned()),
            (Severity::Info, "a very lon…".to_owned()),
            (Severity::Warn, "2 further lines were dropped".to_owned()),
        ]
    );
    assert!(table.sandbox.take_log().is_empty());
}

#[test]
fn patches_that_can_not_load_say_why() {
    let load = |source: &str| {
        let directory = directory(&[("p.js", source)]);
        let sandbox = Sandbox::new(SandboxLimits::default());
        let realm = Realm::new(&directory);
        Patch::load(&sandbox, &realm, Path::new("p.js")).unwrap_err()
    };
    let error = load("var a = 1;\nvar = 2;");
    assert_eq!((error.kind, error.line), (ScriptErrorKind::Load, Some(2)), "{error:?}");
    let error = load("\nthrow new Error('not today');");
    assert_eq!(
        (error.kind, error.message.as_str(), error.line),
        (ScriptErrorKind::Load, "not today", Some(2))
    );
    let error = load("require('http');");
    assert!(error.message.contains("`http`"), "{error}");
    let error = load("require('./gone');");
    assert!(error.message.contains("./gone"), "{error}");
    let error = load("require('../../etc/passwd');");
    assert!(error.message.contains("passwd"), "{error}");
    assert_eq!(load("a\0b").kind, ScriptErrorKind::Load);
    let sandbox = Sandbox::new(SandboxLimits::default());
    let empty = directory(&[]);
    let realm = Realm::new(&empty);
    let error = Patch::load(&sandbox, &realm, Path::new("../x.js")).unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::NotFound);
}

#[test]
fn a_realm_that_made_room_for_others_keeps_what_hooks_wrote() {
    let limits = SandboxLimits { realms: 2, ..SandboxLimits::default() };
    let table = Table::with(
        limits,
        &[(
            "p.js",
            "exports['patch uri'] = function (args) { args.params.n = (args.params.n || 0) + 1; return args.uri; };",
        )],
    );
    let session = table.session("{}");
    let mut others = Vec::new();
    for _ in 0..2 {
        session.call(&table.patch, HookArgs::PatchUri { uri: "http://h/" }).unwrap();
        for _ in 0..3 {
            let directory = directory(&[("p.js", "")]);
            let realm = Realm::new(&directory);
            let other = Patch::load(&table.sandbox, &realm, Path::new("p.js")).unwrap();
            assert!(other.hooks().is_empty());
            others.push(other);
        }
    }
    assert_eq!(text_of(&Value::object(session.overlay().clone())), r#"{"n":2}"#);
}
