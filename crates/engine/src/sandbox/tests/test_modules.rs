//! Hooks of tests.

use super::*;

const DEADLINE_MS: u64 = 1000;

struct Hooks {
    sandbox: Sandbox,
    module: Result<TestModule, ScriptError>,
}

fn hooks(source: &str) -> Hooks {
    let directory = directory(&[("t.js", source), ("lib.js", "exports.five = 5;")]);
    let sandbox = Sandbox::new(SandboxLimits::default());
    let module = TestModule::load(&sandbox, &directory, Path::new("t.js"));
    Hooks { sandbox, module }
}

impl Hooks {
    fn module(&self) -> &TestModule {
        self.module.as_ref().unwrap()
    }

    fn test(&self, root: &str) -> Result<Vec<FailedAssertion>, ScriptError> {
        self.module().test(&self.sandbox, false, &value(root), DEADLINE_MS)
    }
}

#[test]
fn failed_assertions_are_collected_with_their_lines() {
    let hooks = hooks(
        "exports.test = function (test, err, result) {\n\
           test.equal(result.statusCode, 200, 'the status');\n\
           test.deepEqual(result.body, [1, 2]);\n\
           test.ok(err === null);\n\
           test.equal(result.body.length, 3, 'the length');\n\
           test.throws(function () { throw new Error('x'); });\n\
           test.done();\n\
         };",
    );
    assert!(hooks.module().has_test());
    let failures = hooks.test(r#"{"statusCode": 500, "body": [1, 2]}"#).unwrap();
    assert_eq!(failures, [(Some(2), "the status".to_owned()), (Some(5), "the length".to_owned())]);
}

#[test]
fn what_setup_makes_reaches_the_other_hooks() {
    let hooks = hooks(
        "var lib = require('./lib'); var gone;\n\
         exports.setup = function (cb) { setTimeout(cb, 10); return { five: lib.five, f: function () {} }; };\n\
         exports.test = function (test, err, result, ctx) { test.equal(ctx.five, 5); test.equal(typeof ctx.f, 'function'); test.done(); };\n\
         exports.tearDown = function (cb, ctx) { if (ctx.five !== 5) { throw new Error('lost'); } cb(); };",
    );
    hooks.module().set_up(&hooks.sandbox, DEADLINE_MS).unwrap();
    assert_eq!(hooks.test("{}").unwrap(), []);
    hooks.module().tear_down(&hooks.sandbox, DEADLINE_MS).unwrap();
}

#[test]
fn the_error_of_a_failed_run_comes_first() {
    let hooks = hooks(
        "exports.test = function (test, err, result) { test.expect(2); test.equal(err.message, 'no'); test.equal(result, undefined); test.done(); };",
    );
    let root = value(r#"{"message": "no"}"#);
    let failures = hooks.module().test(&hooks.sandbox, true, &root, DEADLINE_MS).unwrap();
    assert_eq!(failures, []);
}

#[test]
fn hooks_that_are_not_there_are_not_called() {
    let hooks = hooks("exports.other = 1;");
    assert!(!hooks.module().has_test());
    hooks.module().set_up(&hooks.sandbox, DEADLINE_MS).unwrap();
    assert_eq!(hooks.test("{}").unwrap(), []);
    hooks.module().tear_down(&hooks.sandbox, DEADLINE_MS).unwrap();
}

#[test]
fn hooks_that_throw_hang_or_run_too_long_are_errors() {
    let message = |source: &str| hooks(source).test("{}").unwrap_err().message;
    let late = "exports.test = function () { setTimeout(function () {}, 5); };";
    assert_eq!(message(late), "the hook never called `test.done`");
    assert_eq!(message("exports.test = function () { throw new Error('oops'); };"), "oops");
    assert!(message("exports.test = function () { while (true) {} };").contains("time limit"));
    let silent = hooks("exports.setup = function (cb) { setTimeout(function () {}, 5); };");
    let error = silent.module().set_up(&silent.sandbox, DEADLINE_MS).unwrap_err();
    assert_eq!(error.message, "the hook `setup` never called its callback");
    let refused = hooks("exports.setup = function (cb) { cb(new Error('not today')); };");
    let error = refused.module().set_up(&refused.sandbox, DEADLINE_MS).unwrap_err();
    assert_eq!(error.message, "not today");
    assert!(hooks("exports.test = (").module.is_err());
}

#[test]
fn an_expected_number_of_assertions_is_counted() {
    let hooks =
        hooks("exports.test = function (test) { test.expect(2); test.ok(1); test.done(); };");
    let failures = hooks.test("{}").unwrap();
    assert_eq!(failures, [(None, "expected 2 assertions, 1 were made".to_owned())]);
}

#[test]
fn a_hook_that_leaves_nothing_behind_is_over_when_it_returns() {
    let hooks = hooks(
        "exports.setup = function (cb) { return {five: 5}; };\n\
         exports.test = function (test, err, result, ctx) {\n\
           test.expect(3);\n\
           test.equals(ctx.five, 5); test.equals(1, 2, 'one is two');\n\
         };\n\
         exports.tearDown = function (cb) {};",
    );
    hooks.module().set_up(&hooks.sandbox, DEADLINE_MS).unwrap();
    let counted = (None, "expected 3 assertions, 2 were made".to_owned());
    assert_eq!(hooks.test("{}").unwrap(), [(Some(4), "one is two".to_owned()), counted]);
    hooks.module().tear_down(&hooks.sandbox, DEADLINE_MS).unwrap();
}

#[test]
fn nobody_has_servers_who_runs_no_tests() {
    let hooks = hooks(
        "exports.setup = function (cb) {\n\
           var http = require('http');\n\
           http.createServer().listen(0, cb);\n\
         };",
    );
    let error = hooks.module().set_up(&hooks.sandbox, DEADLINE_MS).unwrap_err();
    assert_eq!(
        (error.message.as_str(), error.line),
        ("only hooks of tests may have servers", Some(3))
    );
}

#[test]
fn what_jobs_and_timers_of_a_hook_find_counts() {
    for later in ["Promise.resolve().then(f)", "setTimeout(f, 9)", "process.nextTick(f)"] {
        let hooks = hooks(&format!(
            "exports.test = function (test) {{\n\
               var f = function () {{ test.ok(false, 'late'); test.done(); }};\n\
               {later};\n\
             }};"
        ));
        assert_eq!(hooks.test("{}").unwrap(), [(Some(2), "late".to_owned())], "{later}");
    }
}

#[test]
fn the_one_object_that_setup_hands_to_its_callback_is_the_context() {
    let test = "exports.test = function (test, err, result, ctx) { test.equal(ctx.five, 5); };";
    for setup in [
        "cb({five: 5});",
        "setTimeout(function () { cb({five: 5}); }, 5);",
        "cb(); return {five: 5};",
        "return Promise.resolve({five: 5});",
    ] {
        let hooks = hooks(&format!("exports.setup = function (cb) {{ {setup} }};\n{test}"));
        hooks.module().set_up(&hooks.sandbox, DEADLINE_MS).unwrap();
        assert_eq!(hooks.test("{}").unwrap(), [], "{setup}");
    }
    for (setup, message) in [("cb('no luck');", "no luck"), ("cb(new Error('oops'));", "oops")] {
        let hooks = hooks(&format!("exports.setup = function (cb) {{ {setup} }};"));
        let error = hooks.module().set_up(&hooks.sandbox, DEADLINE_MS).unwrap_err();
        assert_eq!(error.message, message);
    }
}

#[test]
fn a_module_that_is_not_there_fails_when_it_is_used() {
    let hooks = hooks(
        "var net = require('net'), nodeunit = require('nodeunit');\n\
         exports.test = function (test) {\n\
           test.ok(true);\n\
           if (false) { nodeunit(); }\n\
           net.connect('/x');\n\
         };",
    );
    let error = hooks.test("{}").unwrap_err();
    assert_eq!(error.message, "module `net` is not available in the sandbox");
    assert_eq!(error.line, Some(5));
    let unused = self::hooks("var net = require('net'); exports.test = function (test) {};");
    assert_eq!(unused.test("{}").unwrap(), []);
    let partial = self::hooks("exports.test = function () { require('http').get('/x'); };");
    let error = partial.test("{}").unwrap_err();
    let wanted = "`http.get` is not there for hooks of tests, which have `createServer`";
    assert_eq!(error.message, wanted);
    let own = self::hooks("require('./nowhere');");
    assert!(own.module.unwrap_err().message.contains("can not find module `./nowhere`"));
}
