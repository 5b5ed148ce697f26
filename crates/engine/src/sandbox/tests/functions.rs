//! Functions of scripts: definitions, rows, columns.

use super::*;
use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

#[test]
fn a_function_gets_values_and_gives_one_back() {
    let bench = Bench::new(
        "exports.add = function (a, b) { return a + b; };
         exports.keys = function (o) { return Object.keys(o).length; };
         exports.pick = function (l, i) { return l[i]; };
         exports.rev = function (s) { return s.split('').reverse().join(''); };
         exports.deep = { er: { f: function () { return this.own === undefined; } } };",
    );
    assert_eq!(bench.json("add", "[40, 2]"), "42");
    assert_eq!(bench.json("keys", r#"[{"a": 1, "b": 2}]"#), "2");
    assert_eq!(bench.json("pick", r#"[[5, {"k": 6}], 1]"#), r#"{"k":6}"#);
    assert_eq!(bench.json("rev", r#"["åß日"]"#), r#""日ßå""#);
    assert_eq!(bench.json("deep.er.f", "[]"), "true");
    let missing = bench.call("nope", "[]").unwrap_err();
    assert_eq!(missing.kind, ScriptErrorKind::NotFound);
    assert_eq!(missing.message, "UDF m.nope not found");
}

#[test]
fn values_keep_their_shape_on_the_way_through() {
    let bench = Bench::new("exports.id = function (x) { return x; };");
    for text in [
        r#"{"1":0.5,"b":1,"a":[true,null,"x",{"__proto__":{"y":1},"length":2}],"é\u0000":"\u0000"}"#,
        "[[],{},\"\",-3,1e+21,9007199254740991]",
    ] {
        // Members named like indexes come first in JavaScript; that is the only difference.
        assert_eq!(bench.json("id", &format!("[{text}]")), text);
    }
}

#[test]
fn results_become_plain_values() {
    assert_eq!(evaluate("undefined"), "null");
    assert_eq!(
        evaluate("({a: undefined, f: function () {}, s: Symbol('x'), n: NaN})"),
        r#"{"n":null}"#
    );
    assert_eq!(evaluate("[undefined, function () {}]"), "[null,null]");
    assert_eq!(evaluate("new Date(0)"), r#""1970-01-01T00:00:00.000Z""#);
    assert_eq!(
        evaluate("[new String('s'), new Number(4), new Boolean(false)]"),
        r#"["s",4,false]"#
    );
    assert_eq!(evaluate("2n ** 70n"), "1180591620717411303424");
    assert_eq!(evaluate("'a\\ud800b'"), "\"a\u{fffd}b\"");
    assert_eq!(evaluate("({'\\ud800': 1})"), "{\"\u{fffd}\":1}");
    assert_eq!(evaluate("({toJSON: function () { return [1]; }})"), "[1]");
}

#[test]
fn a_cyclic_result_is_an_error() {
    let error = failure("(function () { var a = {}; a.a = a; return a; })()");
    assert_eq!(error.kind, ScriptErrorKind::Result);
    assert!(error.message.contains("refers to itself"), "{error}");
}

#[test]
fn a_thrown_error_has_its_message_and_place() {
    let bench = Bench::new(
        "exports.bad = function () {\n  throw new Error('broken');\n};\nexports.text = function () { throw 'plain'; };\n\
         exports.object = function () { throw {code: 7}; };\nexports.first = function () { null.x; };",
    );
    let error = bench.call("bad", "[]").unwrap_err();
    assert_eq!((error.kind, error.message.as_str()), (ScriptErrorKind::Thrown, "broken"));
    assert_eq!((error.file.as_deref(), error.line), (Some("m.js"), Some(2)));
    assert_eq!(error.function, "m.bad");
    assert_eq!(bench.call("text", "[]").unwrap_err().message, "plain");
    let error = bench.call("object", "[]").unwrap_err();
    assert_eq!(error.message, r#"{"code":7}"#);
    assert_eq!(error.thrown.map(|thrown| text_of(&thrown)).as_deref(), Some(r#"{"code":7}"#));
}

#[test]
fn an_error_without_a_stack_has_the_place_of_its_function() {
    let bench = Bench::new(
        "var silent = function () {};\nexports.text = function () {\n throw 'plain'; };\n\
         exports.next =\n  function () { this.next('refused'); };\nexports.never = silent;\n\
         exports.endless = function () { for (;;) {} };\n\
         exports.cycle = () => { var a = []; a.push(a); return a; };\n\
         exports.wait = async () => new Promise(function () {});\n\
         exports.bound = silent.bind(null);\nexports.native = Array.prototype.indexOf;",
    );
    let place = |error: ScriptError| {
        let file = error.file.unwrap_or_default();
        format!("{:?} {file}:{}", error.kind, error.line.unwrap_or_default())
    };
    for (function, expected) in [
        ("text", "Thrown m.js:2"),
        ("endless", "Time m.js:7"),
        ("cycle", "Result m.js:8"),
        ("wait", "Unanswered m.js:9"),
    ] {
        assert_eq!(place(bench.call(function, "[]").unwrap_err()), expected);
    }
    for (function, expected) in [
        ("text", "Thrown m.js:2"),
        ("next", "Thrown m.js:5"),
        ("never", "Unanswered m.js:1"),
        ("bound", "Unanswered :0"),
        ("native", "Unanswered :0"),
        ("nope", "NotFound :0"),
    ] {
        let error = rows(&bench, function, each("[1, 2]"), vec![]).unwrap_err();
        assert_eq!(place(error), expected, "{function}");
    }
}

#[test]
fn columns_of_errors_on_the_first_line_do_not_count_the_wrapper() {
    let bench = Bench::new("exports.f = function () { null.x; };");
    let error = bench.call("f", "[]").unwrap_err();
    assert_eq!((error.line, error.column), (Some(1), Some(26)), "{error:?}");
}

#[test]
fn this_reads_the_variables_of_the_script() {
    let bench = Bench::new(
        "exports.f = function () { return [this.a.b, this.c, this.d, 'a' in this, this.nope === undefined, typeof this.toString]; };",
    );
    let scope = Scope {
        variables: Arc::new(object(r#"{"a": {"b": 3}}"#)),
        outer: [value(r#"{"a": 1, "c": 2}"#), value(r#"{"c": 3, "d": 4}"#)].into(),
    };
    let got = bench.module.call(&bench.sandbox, "f", "m.f", &[], Some(&scope), 0).unwrap();
    assert_eq!(text_of(&got), r#"[3,2,4,true,true,"function"]"#);
    // The next call does not see them.
    let error = bench.module.call(&bench.sandbox, "f", "m.f", &[], None, 0).unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Thrown);
}

#[test]
fn a_promise_is_waited_for() {
    let bench = Bench::new(
        "exports.later = async function (x) { await null; return x + 1; };
         exports.timer = function (x) { return new Promise(function (ok) { setTimeout(ok, 900, x); }); };
         exports.never = function () { return new Promise(function () {}); };
         exports.no = async function () { throw new Error('refused'); };",
    );
    assert_eq!(bench.json("later", "[1]"), "2");
    assert_eq!(bench.json("timer", "[5]"), "5");
    assert_eq!(bench.call("never", "[]").unwrap_err().kind, ScriptErrorKind::Unanswered);
    assert_eq!(bench.call("no", "[]").unwrap_err().message, "refused");
}

#[test]
fn a_promise_inside_of_a_value_is_no_empty_object() {
    let bench = Bench::new(
        "exports.member = function () { return {a: [new Promise(function () {})]}; };
         exports.ended = async function () { return {a: Promise.resolve(1)}; };
         exports.json = function () { return {toJSON: function () { return Promise.resolve(1); }}; };
         exports.thenable = function () { return {a: {then: 1}}; };",
    );
    for function in ["member", "ended", "json"] {
        let error = bench.call(function, "[]").unwrap_err();
        assert_eq!(error.kind, ScriptErrorKind::Result, "{function}");
        assert!(error.message.contains("a promise inside of the value"), "{}", error.message);
    }
    assert_eq!(bench.json("thenable", "[]"), r#"{"a":{"then":1}}"#);
}

fn rows(
    bench: &Bench,
    function: &str,
    rows: Rows,
    arguments: Vec<RowArgument>,
) -> Result<String, ScriptError> {
    let call = RowCall {
        function: function.into(),
        display_name: "m.f".into(),
        rows,
        arguments,
        scope: None,
        deadline_ms: 1_000,
        is_column: false,
    };
    to_end(bench.module.call_rows(&bench.sandbox, &call)).map(|rows| text_of(&Value::array(rows)))
}

fn turn<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Takes one turn after the other.
fn to_end<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(output) = turn(future.as_mut()) {
            return output;
        }
    }
}

fn each(text: &str) -> Rows {
    match value(text) {
        Value::Array(rows) => Rows::Each(rows.to_vec()),
        _ => panic!("a list of rows"),
    }
}

#[test]
fn a_row_function_keeps_changes_and_removes_rows() {
    let bench = Bench::new(
        "exports.heavy = function (kg) { return this.next(null, kg > 2 ? this.row : null); };
         exports.up = function () { this.row.loud = this.row.n.toUpperCase(); return this.next(null, this.row); };
         exports.pos = function () { return this.next(null, {i: this.index, of: this.rows.length, own: this.rows[this.index] === this.row}); };
         exports.tag = function (kg, unit) { this.row.push(kg + unit); return this.next(null, this.row); };",
    );
    let kg = vec![RowArgument::Column(vec![Value::int(3), Value::int(1)])];
    let two = || each(r#"[["cod", 3], ["dab", 1]]"#);
    assert_eq!(rows(&bench, "heavy", two(), kg.clone()).unwrap(), r#"[["cod",3],null]"#);
    let names = each(r#"[{"n": "ida"}, {"n": "olu"}]"#);
    assert_eq!(
        rows(&bench, "up", names.clone(), vec![]).unwrap(),
        r#"[{"n":"ida","loud":"IDA"},{"n":"olu","loud":"OLU"}]"#
    );
    assert_eq!(
        rows(&bench, "pos", names, vec![]).unwrap(),
        r#"[{"i":0,"of":2,"own":true},{"i":1,"of":2,"own":true}]"#
    );
    let mut tag = kg;
    tag.push(RowArgument::Literal(Value::from("kg")));
    assert_eq!(
        rows(&bench, "tag", each(r#"[["cod"], ["dab"]]"#), tag).unwrap(),
        r#"[["cod","3kg"],["dab","1kg"]]"#
    );
}

#[test]
fn a_star_calls_once_with_the_whole_value() {
    let bench = Bench::new(
        "exports.count = function () { return this.next(null, {n: this.rows.length, same: this.rows === this.row, i: this.index}); };",
    );
    let whole = Rows::Whole(value(r#"[{"n": 1}, {"n": 2}]"#));
    assert_eq!(rows(&bench, "count", whole, vec![]).unwrap(), r#"[{"n":2,"same":true,"i":0}]"#);
}

#[test]
fn rows_may_answer_later_and_come_out_in_order() {
    let bench = Bench::new(
        "exports.f = function () {
             var self = this;
             if (this.index === 1) { Promise.resolve().then(function () { self.next(null, 'job'); }); }
             else { setTimeout(function () { self.next(null, 'timer' + self.index); }, 50 - this.index); }
         };
         exports.never = function () { if (this.index) { this.next(null, 1); } };
         exports.late = function () { setTimeout(this.next, 2000); };",
    );
    assert_eq!(
        rows(&bench, "f", each("[1, 2, 3]"), vec![]).unwrap(),
        r#"["timer0","job","timer2"]"#
    );
    for silent in ["never", "late"] {
        let error = rows(&bench, silent, each("[1, 2]"), vec![]).unwrap_err();
        assert_eq!(error.kind, ScriptErrorKind::Unanswered, "{silent}");
    }
    // The machine is fit for the next call.
    assert_eq!(rows(&bench, "f", each("[1]"), vec![]).unwrap(), r#"["timer0"]"#);
}

#[test]
fn an_error_of_one_row_fails_all() {
    let bench = Bench::new(
        "exports.next = function () { this.next(this.index === 1 ? new Error('no') : null, 1); };
         exports.text = function () { this.next('text'); };
         exports.thrown = function () { throw new Error('thrown'); };
         exports.twice = function () { this.next(null, 1); this.next(null, 2); };
         exports.timer = function () { setTimeout(function () { throw new Error('timer'); }, 1); };
         exports.async = async function () { throw new Error('rejected'); };",
    );
    for (function, message) in [
        ("next", "no"),
        ("text", "text"),
        ("thrown", "thrown"),
        ("timer", "timer"),
        ("async", "rejected"),
    ] {
        let error = rows(&bench, function, each("[1, 2]"), vec![]).unwrap_err();
        assert_eq!((error.kind, error.message.as_str()), (ScriptErrorKind::Thrown, message));
    }
    let twice = rows(&bench, "twice", each("[1, 2]"), vec![]).unwrap_err();
    assert!(twice.message.contains("more than once"), "{twice}");
    assert_eq!(rows(&bench, "thrown", each("[]"), vec![]).unwrap(), "[]");
}

#[test]
fn a_column_function_returns_or_calls_next() {
    let bench = Bench::new(
        "exports.f = function (n) {
             if (n === 1) { return 'r'; }
             if (n === 2) { return this.next(null, 'n'); }
             if (n === 3) { return Promise.resolve('p'); }
             if (n === 4) { setTimeout(this.next, 5, null, 't'); }
         };",
    );
    let numbers = each("[1, 2, 3, 4, 5]");
    let Rows::Each(list) = numbers.clone() else { unreachable!() };
    let call = RowCall {
        function: "f".into(),
        display_name: "m.f".into(),
        rows: numbers,
        arguments: vec![RowArgument::Column(list)],
        scope: None,
        deadline_ms: 100,
        is_column: true,
    };
    let got = to_end(bench.module.call_rows(&bench.sandbox, &call)).unwrap();
    assert_eq!(text_of(&Value::array(got)), r#"["r","n","p","t",null]"#);
}

#[test]
fn a_module_is_looked_for_below_the_roots_in_order() {
    let one = directory(&[("a.js", "exports.v = 1;")]);
    let two = directory(&[
        ("a.js", "exports.v = 2;"),
        ("b.js", "exports.v = 3; exports.f = function () {};"),
    ]);
    let sandbox = Sandbox::new(SandboxLimits::default());
    let folders = ModuleFolders::new(vec![one, two]);
    let exports = |name: &str| {
        FunctionModule::load(&sandbox, name, &folders).and_then(|module| module.exports(&sandbox))
    };
    assert_eq!(text_of(&exports("a.js").unwrap()), r#"{"v":1}"#);
    assert_eq!(text_of(&exports("b").unwrap()), r#"{"v":3}"#);
    assert!(exports("underscore").is_ok());
    for name in ["no-such-file.js", "../a.js", "/etc/passwd", "qlio-ejs", ""] {
        let error = exports(name).unwrap_err();
        assert_eq!(error.kind, ScriptErrorKind::NotFound, "{name}");
        assert!(error.message.contains(name), "{error}");
    }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "the test is about threads")]
fn a_module_works_on_every_thread() {
    let bench = Bench::new("var n = 0; exports.f = function () { n += 1; return n; };");
    assert_eq!(bench.json("f", "[]"), "1");
    assert_eq!(bench.json("f", "[]"), "2");
    let module = bench.module.clone();
    let other = std::thread::spawn(move || {
        let sandbox = Sandbox::new(SandboxLimits::default());
        text_of(&module.call(&sandbox, "f", "m.f", &[], None, 0).unwrap())
    });
    assert_eq!(other.join().unwrap(), "1");
}

/// Functions that take some microseconds a row, and one that takes all memory.
const SLOW: &str = "
    var calls = 0;
    function spin() { for (let n = 0; n < 500; n += 1) {} }
    exports.f = function () { calls += 1; spin(); this.next(null, this.row * 2 + this.rows.length); };
    exports.later = async function () { calls += 1; spin(); await null; this.next(null, calls); };
    exports.calls = function () { return calls; };
    exports.add = function (a, b) { return a + b; };
    exports.huge = function () { const all = []; for (;;) { all.push(new Array(9999).fill(1)); } };";

fn slow_bench() -> Bench {
    Bench::with(SandboxLimits { time_ms: 30_000, ..SandboxLimits::default() }, &[("m.js", SLOW)])
}

fn slow_call(function: &str) -> RowCall {
    RowCall {
        function: function.into(),
        display_name: "m.f".into(),
        rows: Rows::Each((0..SLOW_ROWS).map(Value::int).collect()),
        arguments: Vec::new(),
        scope: None,
        deadline_ms: 1_000,
        is_column: false,
    }
}

const SLOW_ROWS: i64 = 2_000;

fn slow_answers() -> Vec<Value> {
    (0..SLOW_ROWS).map(|row| Value::int(row * 2 + SLOW_ROWS)).collect()
}

#[test]
fn others_get_their_turn_between_two_rows() {
    let bench = slow_bench();
    let call = slow_call("f");
    let mut rows = pin!(bench.module.call_rows(&bench.sandbox, &call));
    let mut turns = 0;
    let answers = loop {
        match turn(rows.as_mut()) {
            Poll::Ready(answers) => break answers.unwrap(),
            Poll::Pending => {
                turns += 1;
                // The same realm, meanwhile.
                assert_eq!(bench.json("add", "[40, 2]"), "42");
            }
        }
    };
    assert!(turns > 3, "{turns} turns");
    assert!(answers == slow_answers());
    assert_eq!(bench.json("calls", "[]"), SLOW_ROWS.to_string());
}

#[test]
fn one_call_at_a_time_lets_others_go_first() {
    let bench = slow_bench();
    let call = slow_call("f");
    let mut first = Box::pin(bench.module.call_rows(&bench.sandbox, &call));
    assert!(turn(first.as_mut()).is_pending());
    let second = pin!(bench.module.call_rows(&bench.sandbox, &call));
    let Poll::Ready(answers) = turn(second) else { panic!("another one has the place") };
    assert!(answers.unwrap() == slow_answers());
    // Dropping the first makes room.
    drop(first);
    let third = pin!(bench.module.call_rows(&bench.sandbox, &call));
    assert!(turn(third).is_pending());
}

#[test]
fn rows_begin_again_in_a_realm_that_was_made_anew_meanwhile() {
    let bench = slow_bench();
    let call = slow_call("f");
    let mut rows = pin!(bench.module.call_rows(&bench.sandbox, &call));
    assert!(turn(rows.as_mut()).is_pending());
    assert_eq!(bench.call("huge", "[]").unwrap_err().kind, ScriptErrorKind::Memory);
    let Poll::Ready(answers) = turn(rows) else { panic!("it hurries now") };
    assert!(answers.unwrap() == slow_answers());
}

#[test]
fn all_functions_that_wait_for_something_are_started_before_the_first_goes_on() {
    let bench = slow_bench();
    let answers = to_end(bench.module.call_rows(&bench.sandbox, &slow_call("later"))).unwrap();
    assert_eq!(answers.len(), slow_answers().len());
    assert!(answers.iter().all(|started| *started == Value::int(SLOW_ROWS)));
}
