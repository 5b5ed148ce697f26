//! Whatever a script does, the call ends and the next one works.

use super::*;

fn tight() -> SandboxLimits {
    SandboxLimits { time_ms: 60, ..SandboxLimits::default() }
}

/// Runs `source`, expects this kind of failure and then a healthy realm.
fn ends_with(kind: ScriptErrorKind, source: &str) {
    let text = format!(
        "var n = 0; exports.fine = function (x) {{ n += 1; return [x, n]; }};
         exports.f = function () {{ {source} }};"
    );
    // Filling the heap takes longer than looping for ever may take.
    let time_ms = if kind == ScriptErrorKind::Time { 60 } else { 5_000 };
    let limits = SandboxLimits { time_ms, ..SandboxLimits::default() };
    let bench = Bench::with(limits, &[("m.js", &text)]);
    assert_eq!(bench.json("fine", "[1]"), "[1,1]");
    for _ in 0..2 {
        let error = bench.call("f", "[]").unwrap_err();
        assert_eq!(error.kind, kind, "{source}: {error}");
        let limit = if kind == ScriptErrorKind::Time { "time" } else { "memory" };
        assert_eq!(error.message, format!("UDF m.f exceeded its {limit} limit"), "{source}");
        // Built anew: module variables start over.
        assert_eq!(bench.json("fine", "[2]"), "[2,1]", "{source}");
    }
}

#[test]
fn endless_loops_end() {
    for source in [
        "for (;;) {}",
        "for (;;) { try { for (;;) {} } catch (e) {} finally { } }",
        "while (true) { new Promise(function () {}); }",
        "while (true) { (async function () { Math.max(); })(); }",
        "while (true) { (async function () { (function () {})(); })(); }",
        "return [1].map(function f() { for (;;) {} });",
        "var o = { toJSON: function () { for (;;) {} } }; return o;",
        "var o = { get a() { for (;;) {} } }; return o;",
        "return { then: function () { for (;;) {} } };",
        "throw { get message() { for (;;) {} } };",
    ] {
        ends_with(ScriptErrorKind::Time, source);
    }
}

#[test]
fn an_endless_regular_expression_ends() {
    ends_with(ScriptErrorKind::Time, "return /^(a+)+$/.test(new Array(40).join('a') + 'b');");
}

#[test]
fn endless_promises_and_timers_end() {
    for source in [
        "return Promise.resolve().then(function f() { return Promise.resolve().then(f); });",
        "return (async function () { for (;;) { await null; } })();",
        "return (async function () { await null; for (;;) {} })();",
        "Promise.resolve().then(function () { for (;;) {} }); return new Promise(function () {});",
        "(function f() { Promise.resolve().then(f); })(); return new Promise(function () {});",
        "return new Promise(function () { setTimeout(function () { for (;;) {} }, 1); });",
        "function* g() { for (;;) { yield 1; } } for (var x of g()) {}",
        "return (async function () { for await (var x of (async function* () { for (;;) { yield 1; } })()) {} })();",
    ] {
        ends_with(ScriptErrorKind::Time, source);
    }
}

#[test]
fn jobs_left_behind_do_not_reach_the_next_call() {
    let bench = Bench::with(tight(), &[(
        "m.js",
        "exports.f = function () { (function f() { Promise.resolve().then(f); })(); return 1; };
         exports.g = function () { return 2; };",
    )]);
    assert_eq!(bench.json("f", "[]"), "1");
    assert_eq!(bench.json("g", "[]"), "2");
}

#[test]
fn memory_hogs_end() {
    for source in [
        "var a = []; for (;;) { a.push(new Array(1000).join('x')); }",
        "return new Uint8Array(1e9);",
        "return 'x'.repeat(5e8);",
        "return new Buffer(1e8);",
        "var o = {}; for (var i = 0; ; i++) { o['k' + i] = { i: i }; }",
    ] {
        ends_with(ScriptErrorKind::Memory, source);
    }
}

#[test]
fn native_loops_over_huge_arrays_are_refused() {
    for expression in [
        "new Array(1e9).join('x')",
        "new Array(1e9) + ''",
        "new Array(1e9).indexOf(1)",
        "new Array(4e9).forEach(function () {})",
        "new Array(1e9).fill(0)",
        "[1].concat(new Array(1e9))",
        "Array.prototype.includes.call({length: 1e15}, 1)",
        "Array.prototype.lastIndexOf.call({length: 1e15}, 1)",
        "new Array(1e9).sort()",
        "new Array(1e9).flat()",
    ] {
        let error = failure(expression);
        assert!(error.kind != ScriptErrorKind::Result, "{expression}: {error}");
    }
    assert_eq!(evaluate("[3, 1, 2].sort().concat([4], 5).map(String).join('-')"), r#""1-2-3-4-5""#);
}

#[test]
fn deep_recursion_ends() {
    for source in [
        "function f() { return f() + 1; } return f();",
        "var o = {}; for (var i = 0; i < 1e5; i++) { o = [o]; } return JSON.stringify(o);",
        "var s = new Array(1e5).join('['); return JSON.parse(s);",
    ] {
        ends_with(ScriptErrorKind::Memory, source);
    }
}

#[test]
fn a_caught_limit_of_memory_is_the_scripts_own_affair() {
    let bench = Bench::new(
        "exports.f = function () { try { 'x'.repeat(5e8); } catch (e) { return 'caught'; } };",
    );
    assert_eq!(bench.json("f", "[]"), r#""caught""#);
}

#[test]
fn arguments_do_not_count_as_the_scripts_memory() {
    let limits = SandboxLimits { memory_bytes: 1 << 20, ..SandboxLimits::default() };
    let bench = Bench::with(limits, &[("m.js", "exports.f = function (l) { return l.length; };")]);
    let list: Vec<Value> = (0..100_000).map(Value::int).collect();
    let argument = Value::array(vec![Value::array(list.clone()), Value::from("x".repeat(1 << 21))]);
    for _ in 0..3 {
        let got =
            bench.module.call(&bench.sandbox, "f", "m.f", std::slice::from_ref(&argument), None, 0);
        assert_eq!(text_of(&got.unwrap()), "2");
    }
}

#[test]
fn a_result_with_too_many_elements_is_refused() {
    let limits = SandboxLimits { result_elements: 1_000, ..SandboxLimits::default() };
    let bench =
        Bench::with(limits, &[("m.js", "exports.f = function () { return new Array(4e9); };")]);
    assert_eq!(bench.call("f", "[]").unwrap_err().kind, ScriptErrorKind::Result);
}

#[test]
fn a_module_that_never_ends_loading_fails_to_load() {
    let directory =
        directory(&[("m.js", "for (;;) {}"), ("big.js", "var a = []; for (;;) { a.push([]); }")]);
    let sandbox = Sandbox::new(SandboxLimits { load_time_ms: 50, ..SandboxLimits::default() });
    let folders = ModuleFolders::new(vec![directory]);
    let error = FunctionModule::load(&sandbox, "m.js", &folders).unwrap_err();
    assert_eq!(error.message, "Module m.js exceeded its time limit");
}

#[test]
fn code_can_not_be_made_from_text() {
    for expression in [
        "eval('1')",
        "new Function('return 1')()",
        "(function () {}).constructor('return 1')()",
        "(async function () {}).constructor('return 1')()",
        "(function* () {}).constructor('return 1')()",
    ] {
        let error = failure(expression);
        assert_eq!(error.kind, ScriptErrorKind::Thrown, "{expression}");
    }
    assert_eq!(evaluate("(function () {}) instanceof Function"), "true");
}

#[test]
fn odd_scripts_do_no_harm() {
    for source in [
        "",
        "throw undefined",
        "throw null",
        "throw Symbol('x')",
        "throw {toString: null}",
        "throw Object.create(null)",
        "throw new Proxy({}, {get: function () { throw 1; }})",
        "Error.prototype.toString = null; Error.prepareStackTrace = function () { throw 1; }; throw new Error('x')",
        "Object.prototype.toJSON = function () { throw 2; }; return {}",
        "Array.prototype.push = null; Object.keys = null; JSON.stringify = null; return [{}]",
        "globalThis.Promise = null; globalThis.Object = null; globalThis.String = null; return '\\ud800'",
        "return new Proxy({}, {ownKeys: function () { throw 3; }})",
        "return this.next",
        "Object.setPrototypeOf(Object.prototype.__proto__ || {}, null); return 1",
        "delete globalThis.Uint8Array; delete globalThis.Buffer; return 1",
        "return {then: 1}",
        "return Object.defineProperty({}, 'then', {get: function () { throw 4; }})",
        "process = null; console = null; return 1",
    ] {
        let text = format!("exports.f = function () {{ {source} }};");
        let bench = Bench::with(tight(), &[("m.js", &text)]);
        for _ in 0..2 {
            // Only that it comes back counts.
            let _ = bench.call("f", "[]");
        }
    }
}

#[test]
fn a_realm_is_made_however_long_ago_the_last_call_was() {
    let limits = SandboxLimits { time_ms: 40, ..SandboxLimits::default() };
    let bench = Bench::with(limits, &[("m.js", "exports.f = function () { return 1; };")]);
    assert_eq!(bench.json("f", "[]"), "1");
    let called = crate::clock::instant();
    while called.elapsed() < std::time::Duration::from_millis(50) {
        std::thread::yield_now();
    }
    for _ in 0..40 {
        let template = EjsTemplate::new("n.ejs", "<%= params.n %>");
        let realm = Realm::without_files();
        let session = HookSession::new(&bench.sandbox, &realm, object(r#"{"n": 1}"#), object("{}"));
        assert_eq!(session.render(&template).unwrap(), "1");
        // The next realm is made as if nothing had run for a while.
        drop(session);
        let called = crate::clock::instant();
        while called.elapsed() < std::time::Duration::from_millis(41) {
            std::thread::yield_now();
        }
    }
}

#[test]
fn a_call_has_its_memory_beside_all_that_was_loaded() {
    let sandbox = Sandbox::new(SandboxLimits { time_ms: 5_000, ..SandboxLimits::default() });
    // More than a call may allocate, in realms whose loading takes less time than measuring all of them.
    let table = "var table = new Array(1000).fill(0).map(function (_, i) { return new Array(100).fill(i); });";
    let source = format!(
        "{table} exports.f = function () {{ return new Array(1 << 20).fill(7).length + table.length; }};"
    );
    let folders = ModuleFolders::new(vec![directory(&[("m.js", &source)])]);
    let load = |_| FunctionModule::load(&sandbox, "m.js", &folders).unwrap();
    let modules: Vec<FunctionModule> = (0..40).map(load).collect();
    for module in &modules {
        let value = module.call(&sandbox, "f", "m.f", &[], None, 1_000).unwrap();
        assert_eq!(text_of(&value), "1049576");
    }
}
