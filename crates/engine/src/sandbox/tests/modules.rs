//! Globals and bundled modules.

use super::*;

/// Every line of a table holds: expression, then the JSON of its value.
fn all_hold(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(evaluate(expression), *expected, "{expression}");
    }
}

#[test]
fn buffers_hold_bytes() {
    all_hold(&[
        ("new Buffer(3)", r#"{"type":"Buffer","data":[0,0,0]}"#),
        ("new Buffer('åß').length", "4"),
        ("Buffer('6869', 'hex').toString('UTF-8')", r#""hi""#),
        ("new Buffer([104, 105]).toString()", r#""hi""#),
        ("new Buffer('aGk=', 'BASE64').toString('ascii')", r#""hi""#),
        ("Buffer.from('hi').toString('base64')", r#""aGk=""#),
        ("Buffer.from('hi').toString('hex')", r#""6869""#),
        ("Buffer.from('ÿ', 'latin1').toString('binary')", r#""ÿ""#),
        (
            "Buffer.from('日', 'ucs2').length + Buffer.from('日', 'utf16le').toString('ucs-2')",
            r#""2日""#,
        ),
        ("new Buffer([0xff, 0x41]).toString()", "\"\u{fffd}A\""),
        ("Buffer.byteLength('日本')", "6"),
        (
            "Buffer.isBuffer(new Buffer(1)) && !Buffer.isBuffer([]) && new Buffer(1) instanceof Uint8Array",
            "true",
        ),
        ("Buffer.concat([Buffer.from('a'), Buffer.from('bc')]).toString()", r#""abc""#),
        ("Buffer.concat([Buffer.from('a'), Buffer.from('bc')], 2).toString()", r#""ab""#),
        ("Buffer.from('abc').equals(Buffer.from('abc'))", "true"),
        (
            "(function () { var b = Buffer.from('abcd'), s = b.slice(1, 3); s[0] = 120; return b.toString() + s + b.slice(-1); })()",
            r#""axcdxcd""#,
        ),
        (
            "(function () { var a = Buffer.from('abc'), b = Buffer.alloc(5, '.'); return [a.copy(b, 1, 1), b.toString()]; })()",
            r#"[2,".bc.."]"#,
        ),
        (
            "(function () { var b = Buffer.alloc(4, 46); return [b.write('日x'), b.write('zz', 3), b.toString('latin1', 3)]; })()",
            r#"[4,1,"z"]"#,
        ),
        ("(function () { var b = Buffer.alloc(2); return [b.write('日'), b[0]]; })()", "[0,0]"),
        (
            "(function () { var b = Buffer.alloc(12); b.writeUInt16BE(258, 0); b.writeInt32LE(-2, 2); b.writeDoubleBE(1.5, 4); return [b[1], b.readUInt16BE(0), b.readDoubleBE(4)]; })()",
            "[2,258,1.5]",
        ),
        ("Buffer.from('abcabc').indexOf('ca') + Buffer.from('abc').indexOf(99)", "4"),
        ("Buffer.alloc(0).toString()", r#""""#),
        ("String(Buffer.from('x'))", r#""x""#),
        ("new Buffer(2).inspect()", r#""<Buffer 00 00>""#),
        ("require('buffer').Buffer === Buffer", "true"),
    ]);
    for expression in [
        "new Buffer('x', 'klingon')",
        "new Buffer(-1)",
        "new Buffer({})",
        "new Buffer(1).readUInt16BE(0)",
    ] {
        failure(expression);
    }
}

#[test]
fn text_codings_and_process() {
    all_hold(&[
        ("new TextDecoder().decode(new TextEncoder().encode('å日'))", r#""å日""#),
        ("new TextDecoder('latin1').decode(new Uint8Array([255]))", r#""ÿ""#),
        (
            "typeof process.version + JSON.stringify(process.env) + typeof process.exit",
            r#""string{}undefined""#,
        ),
        (
            "[typeof __dirname, __filename, typeof module, typeof exports]",
            r#"["string","/m.js","object","object"]"#,
        ),
        ("typeof setTimeout(function () {}, 1)", r#""number""#),
    ]);
    failure("new TextDecoder('utf-8', {fatal: true}).decode(new Uint8Array([255]))");
}

#[test]
fn crypto_digests() {
    all_hold(&[
        (
            "require('crypto').createHash('md5').update('abc').digest('hex')",
            r#""900150983cd24fb0d6963f7d28e17f72""#,
        ),
        (
            "require('crypto').createHash('sha1').update('a').update('bc').digest('hex')",
            r#""a9993e364706816aba3e25717850c26c9cd0d89d""#,
        ),
        (
            "require('crypto').createHash('sha256').update('abc').digest('base64')",
            r#""ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0=""#,
        ),
        (
            "require('crypto').createHash('SHA512').update(new Buffer('abc')).digest('hex').slice(0, 16)",
            r#""ddaf35a193617aba""#,
        ),
        (
            "require('crypto').createHmac('sha1', 'key').update('The quick brown fox jumps over the lazy dog').digest('hex')",
            r#""de7c9b85b8b78aa6bc8a7a36f70a90701c9db4d9""#,
        ),
        (
            "require('crypto').createHmac('md5', 'key').update('The quick brown fox jumps over the lazy dog').digest('hex')",
            r#""80070713463e7749b90c2dc24911e275""#,
        ),
        ("require('crypto').randomBytes(8).length", "8"),
    ]);
    for expression in [
        "require('crypto').createHash('sha3')",
        "require('crypto').randomBytes(1e9)",
        "require('crypto').createHmac('sha1')",
    ] {
        failure(expression);
    }
}

#[test]
fn oauth_signs_as_the_standard_says() {
    // The example of RFC 5849, 1.2, with its fixed nonce and time.
    let source = "var OAuth = require('oauth').OAuth;
        var o = new OAuth('', '', 'dpf43f3p2l4k3l03', 'kd94hf93k423kf44', '1.0', null, 'HMAC-SHA1');
        o._getTimestamp = function () { return '137131202'; }; o._getNonce = function () { return 'chapoH'; };
        exports.header = function () { return o.authHeader('http://photos.example.net/photos?file=vacation.jpg&size=original', 'nnch734d00sl2jdk', 'pfkkdhi9sl3r4s00', 'GET'); };
        exports.base = function () { return o._createSignatureBase('GET', 'HTTP://Example.com:80/r%20v/X?id=1', 'a=b'); };
        exports.signature = function () { return o._getSignature('GET', 'http://photos.example.net/photos', o._normaliseRequestParams({file: 'vacation.jpg', size: 'original', oauth_consumer_key: 'dpf43f3p2l4k3l03', oauth_token: 'nnch734d00sl2jdk', oauth_signature_method: 'HMAC-SHA1', oauth_timestamp: '137131202', oauth_nonce: 'chapoH'}), 'pfkkdhi9sl3r4s00'); };";
    let bench = Bench::new(source);
    assert_eq!(bench.json("signature", "[]"), r#""MdpQcU8iPSUjWoN/UDMsK2sui9I=""#);
    assert_eq!(bench.json("base", "[]"), r#""GET&http%3A%2F%2Fexample.com%2Fr%2520v%2FX&a%3Db""#);
    let header = bench.json("header", "[]");
    assert!(header.starts_with(r#""OAuth oauth_consumer_key="#), "{header}");
    assert!(header.contains("oauth_signature=") && !header.contains("file="), "{header}");
}

#[test]
fn url_querystring_and_path() {
    all_hold(&[
        (
            "(function () { var u = require('url').parse('http://u:p@H.test:81/a/b?x=1&y=%20#z'); return [u.protocol, u.auth, u.host, u.hostname, u.port, u.pathname, u.search, u.query, u.hash, u.path]; })()",
            r##"["http:","u:p","h.test:81","h.test","81","/a/b","?x=1&y=%20","x=1&y=%20","#z","/a/b?x=1&y=%20"]"##,
        ),
        ("require('url').parse('/a?b=1&b=2', true).query", r#"{"b":["1","2"]}"#),
        (
            "require('url').format({protocol: 'http', host: 'h', pathname: 'p', query: {a: [1, 2]}})",
            r#""http://h/p?a=1&a=2""#,
        ),
        (
            "['/x', 'y', '../z', '?q', '//o/p', 'https://s/'].map(function (t) { return require('url').resolve('http://h/a/b/c?d', t); })",
            r#"["http://h/x","http://h/a/b/y","http://h/a/z","http://h/a/b/c?q","http://o/p","https://s/"]"#,
        ),
        (
            "require('querystring').parse('a=1&b=%C3%A5+x&a=2&c')",
            r#"{"a":["1","2"],"b":"å x","c":""}"#,
        ),
        (
            "require('querystring').stringify({a: [1, 'x y'], b: true, c: null})",
            r#""a=1&a=x%20y&b=true&c=""#,
        ),
        ("require('path').join('/a', '..', './b', 'c/')", r#""/b/c/""#),
        (
            "[require('path').dirname('/a/b.js'), require('path').basename('/a/b.js', '.js'), require('path').extname('b.tar.gz'), require('path').resolve('/a', '../b'), require('path').relative('/a/b', '/a/c')]",
            r#"["/a","b",".gz","/b","../c"]"#,
        ),
    ]);
}

#[test]
fn underscore_has_what_patches_use() {
    all_hold(&[
        (
            "(function () { var s = 0; require('underscore').each([1, 2], function (x, i) { s += x * i; }); require('underscore').each({a: 5}, function (x, k) { s += k; }); return s; })()",
            r#""2a""#,
        ),
        (
            "require('underscore').chain([3, 1, 2]).sortBy(function (x) { return x; }).map(function (x) { return x * 2; }).value()",
            "[2,4,6]",
        ),
        (
            "(function (_) { return [_.pluck([{a: 1}, {a: 2}], 'a'), _.where([{a: 1}, {a: 2}], {a: 2}), _.uniq([1, 2, 1]), _.flatten([1, [2, [3]]]), _.last([1, 2]), _.without([1, 2, 3], 2)]; })(require('underscore'))",
            r#"[[1,2],[{"a":2}],[1,2],[1,2,3],2,[1,3]]"#,
        ),
        (
            "(function (_) { return [_.extend({}, {a: 1}), _.defaults({a: 1}, {a: 2, b: 3}), _.pick({a: 1, b: 2}, 'a'), _.omit({a: 1, b: 2}, 'a'), _.isEqual({a: [1]}, {a: [1]}), _.isEmpty({}), _.keys({x: 1}), _.invert({a: 'b'})]; })(require('underscore'))",
            r#"[{"a":1},{"a":1,"b":3},{"a":1},{"b":2},true,true,["x"],{"b":"a"}]"#,
        ),
        (
            "(function (_) { return [_.groupBy([1, 2, 3], function (x) { return x % 2 ? 'odd' : 'even'; }), _.max([1, 3, 2]), _.reduce([1, 2], function (a, b) { return a + b; }), _.zip([1], ['a']), _.range(3), _([1, 2]).contains(2), _.find([1, 2], function (x) { return x > 1; })]; })(require('underscore'))",
            r#"[{"odd":[1,3],"even":[2]},3,3,[[1,"a"]],[0,1,2],true,2]"#,
        ),
        ("require('underscore').escape('<a href=\"x\">')", r#""&lt;a href=&quot;x&quot;&gt;""#),
        (
            "(function (_) { return [_.template('a\\n<%= x // note\\n%>|<%- y %>|<% print(1, \"\\u2028\"); %>', {x: null, y: '<'}), _.template('<%= this.x %>')({x: 1}), _.template('{x}<%', {x: 2}, {interpolate: /\\{(\\w)\\}/})]; })(require('underscore'))",
            "[\"a\\n|&lt;|1\u{2028}\",\"1\",\"2<%\"]",
        ),
        (
            "(function (_) { var late = _.before(2, function () { return 7; }); return [_.unescape('&lt;a&#x27;&amp;lt;'), _.sortedIndex([10, 20, 30], 25), _.sortedIndex([{n: 1}, {n: 3}], {n: 2}, 'n'), late(), late()]; })(require('underscore'))",
            r#"["<a'&lt;",2,1,7,7]"#,
        ),
    ]);
}

#[test]
fn assert_util_and_sys() {
    all_hold(&[
        (
            "(function () { try { require('assert').equal(1, 2, 'differ'); } catch (e) { return [e.name, e.message, e instanceof Error, e instanceof require('assert').AssertionError]; } })()",
            r#"["AssertionError","differ",true,true]"#,
        ),
        (
            "(function (a) { a(true); a.ok(1); a.deepEqual({a: [1]}, {a: [1]}); a.throws(function () { throw 1; }); a.notEqual(1, 2); return 1; })(require('assert'))",
            "1",
        ),
        (
            "require('util').format('%s %d %j %%', 'a', 1.5, {b: 1}, 'x')",
            r#""a 1.5 {\"b\":1} % x""#,
        ),
        (
            "require('sys').inspect({a: [1, 'x'], f: function g() {}, d: {e: {f: {}}}})",
            r#""{ a: [ 1, 'x' ], f: [Function: g], d: { e: { f: [Object] } } }""#,
        ),
        (
            "(function () { function A() {} function B() {} A.prototype.x = 1; require('util').inherits(B, A); return [new B().x, B.super_ === A]; })()",
            "[1,true]",
        ),
    ]);
    assert_eq!(failure("require('assert').ok(0)").kind, ScriptErrorKind::Thrown);
}

#[test]
fn templates_of_the_other_kinds() {
    all_hold(&[
        (
            "require('mustache').to_html('{{a}} {{#l}}<{{.}}>{{/l}}', {a: '<', l: [1, 2]})",
            r#""&lt; <1><2>""#,
        ),
        (
            "require('mustache').to_html('{{p.a}}{{#p}}{{b}}{{l.1}}{{/p}}', {p: Object.create({a: 1, l: [3, 4]}, {b: {value: 2, enumerable: true}})})",
            r#""124""#,
        ),
        (
            "require('ql.io-uri-template').parse('http://h/{a}?b={|b}').format({a: 'x', b: [1, 2]})",
            r#"["http://h/x?b=1%2C2"]"#,
        ),
        ("require('ql.io-uri-template').parse('http://h/?b={#b}').merge()", r#""block""#),
        ("require('ql.io-uri-template').parse('http://h/?b={^b}').tokens[0].required", "true"),
        ("require('ql.io-str-template').parse('a{x.y}b{no}').format({x: [{y: 1}]})", r#""a1b""#),
        ("Object.getPrototypeOf(require('ql.io-mutable-uri')) === Function.prototype", "true"),
    ]);
    assert!(
        failure("require('ql.io-uri-template').parse('http://h/?b={^b}').format({})")
            .message
            .contains("Token b not specified")
    );
    failure("require('ql.io-uri-template').parse('http://h/{a')");
    failure("require('mustache').render(new Array(100).join('{{#x}}'), {})");
}

#[test]
fn files_are_read_while_loading_only() {
    let bench = Bench::with(SandboxLimits::default(), &[
        ("m.js", "var fs = require('fs'); var text = fs.readFileSync(__dirname + '/d/t.txt', 'utf8'); var data = require('./d/x.json'); var there = [fs.existsSync('d/t.txt'), fs.existsSync('/d/none'), fs.existsSync('../x')];
                  exports.f = function () { return [text, data, there, fs.readFileSync.length, require('./d/y').z]; };
                  exports.late = function () { return fs.readFileSync('d/t.txt'); };"),
        ("d/t.txt", "ø"),
        ("d/x.json", "\u{feff}{\"a\": 1}"),
        ("d/y/index.js", "exports.z = __filename + ' ' + __dirname;"),
    ]);
    assert_eq!(bench.json("f", "[]"), r#"["ø",{"a":1},[true,false,false],2,"/d/y/index.js /d/y"]"#);
    assert!(bench.call("late", "[]").unwrap_err().message.contains("while a module loads"));
}

#[test]
fn modules_are_cached_and_may_require_each_other() {
    let bench = Bench::with(
        SandboxLimits::default(),
        &[
            (
                "m.js",
                "exports.early = 1; var b = require('./b'); exports.f = function () { return [b.seen, require('./b') === b, require('./b.js') === b]; };",
            ),
            ("b.js", "#!/usr/bin/node\nexports.seen = require('./m').early;"),
        ],
    );
    assert_eq!(bench.json("f", "[]"), "[1,true,true]");
}

#[test]
fn other_modules_do_not_exist() {
    for name in [
        "http",
        "net",
        "child_process",
        "os",
        "vm",
        "qlio-none",
        "lodash",
        "constructor",
        "__proto__",
    ] {
        let error = failure(&format!("require('{name}')"));
        assert!(error.message.contains(&format!("`{name}`")), "{error}");
    }
}

#[test]
fn protobuf_schemas_parse_and_serialise() {
    let error = failure("new (require('protobuf').Schema)(new Buffer('no descriptor'))");
    assert!(error.message.contains("descriptor"), "{error}");
    // A descriptor set with `message M { optional string s = 1; optional int32 n = 2; }` in package p.
    let source = "var P = require('protobuf');
        function field(n, bytes) { return Buffer.concat([new Buffer([n << 3 | 2, bytes.length]), bytes]); }
        function number(n, v) { return new Buffer([n << 3, v]); }
        var s = Buffer.concat([field(1, new Buffer('s')), number(3, 1), number(4, 1), number(5, 9)]);
        var n = Buffer.concat([field(1, new Buffer('n')), number(3, 2), number(4, 1), number(5, 5)]);
        var m = Buffer.concat([field(1, new Buffer('M')), field(2, s), field(2, n)]);
        var file = Buffer.concat([field(1, new Buffer('m.proto')), field(2, new Buffer('p')), field(4, m)]);
        var schema = new P.Schema(field(1, file));
        exports.f = function () { var M = schema['p.M']; var bytes = M.serialize({s: 'ø', n: 7}); return [bytes.toString('hex'), M.parse(bytes)]; };";
    assert_eq!(Bench::new(source).json("f", "[]"), r#"["0a02c3b81007",{"s":"ø","n":7}]"#);
}

#[test]
fn nothing_can_be_imported_not_even_what_the_sandbox_is_made_of() {
    for name in ["qlio:kernel", "qlio:buffer", "buffer", "./m.js", "m.js", "fs"] {
        let import = format!(
            "(require('buffer'), import('{name}').then(Object.keys, function (e) {{ return e.message; }}))"
        );
        let expected = r#""`import` is not available in the sandbox; use `require`""#;
        assert_eq!(evaluate(&import), expected, "{name}");
    }
}
