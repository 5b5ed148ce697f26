//! Calls that are not done within the slice of their thread, and go on elsewhere.

use std::time::Duration;

use bytes::Bytes;
use qlio_data::codec::Stop;

use super::*;

const SLICE: Duration = Duration::from_millis(2);

/// Far more than a slice, far less than the limit; counted, because a thread that has to wait works for less than the
/// clock says.
const WORK: &str = "function work() { for (var i = 0; i < 2000000; i += 1) {} }";

fn sliced() -> SandboxLimits {
    SandboxLimits { time_ms: 10_000, slice: Some(SLICE), ..SandboxLimits::default() }
}

fn patch_of(source: &str) -> (Sandbox, Realm, Patch) {
    let sandbox = Sandbox::new(sliced());
    let realm = Realm::new(&directory(&[("p.js", source)]));
    let patch = Patch::load(&sandbox, &realm, Path::new("p.js")).unwrap();
    (sandbox, realm, patch)
}

/// What the call gives on another thread, with its session taken there and back.
fn apart(session: &HookSession, patch: &Patch, args: &HookArgs<'_>) -> HookResult {
    let limits = sliced();
    let (there, given, patch) =
        (SessionApart::of(session, None), ArgsApart::of(args), patch.clone());
    let (result, changes) = std::thread::scope(|scope| {
        let calling = scope.spawn(move || {
            with_own_sandbox(&limits, Stop::default(), |sandbox| {
                there.run(sandbox, |session| given.lend(|args| session.call(&patch, args)))
            })
        });
        calling.join().unwrap()
    });
    session.take_over(changes);
    result.unwrap()
}

#[test]
fn what_takes_longer_than_a_slice_is_unfinished_here_and_done_elsewhere() {
    let source =
        format!("{WORK} var n = 0; exports.f = function (x) {{ n += 1; work(); return [x, n]; }};");
    let bench = Bench::with(sliced(), &[("m.js", &source)]);
    let error = bench.call("f", "[7]").unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Unfinished);
    assert!(bench.sandbox.take_used_us() >= 1_000, "its time is known");
    let call =
        |sandbox: &Sandbox| bench.module.call(sandbox, "f", "m.f", &[Value::int(7)], None, 1_000);
    // The module is one of its own there, and stays.
    assert_eq!(text_of(&with_own_sandbox(&sliced(), Stop::default(), call).unwrap()), "[7,1]");
    assert_eq!(text_of(&with_own_sandbox(&sliced(), Stop::default(), call).unwrap()), "[7,2]");
}

#[test]
fn what_nobody_waits_for_ends() {
    let bench = Bench::with(sliced(), &[("m.js", "exports.f = function () { for (;;) {} };")]);
    let limits = SandboxLimits { time_ms: 3_600_000, ..sliced() };
    let stop = Stop::new();
    let asking = stop.clone();
    let call = |sandbox: &Sandbox| bench.module.call(sandbox, "f", "m.f", &[], None, 3_600_000);
    std::thread::scope(|scope| {
        scope.spawn(move || asking.ask());
        // It would take an hour.
        assert!(with_own_sandbox(&limits, stop, call).is_err());
    });
    let next = |sandbox: &Sandbox| bench.module.call(sandbox, "g", "m.g", &[], None, 1_000);
    let error = with_own_sandbox(&limits, Stop::default(), next).unwrap_err();
    assert_ne!(error.kind, ScriptErrorKind::Time, "the next call has its time: {error:?}");
}

#[test]
fn what_takes_long_to_load_is_loaded_elsewhere_and_called_there() {
    let source = format!("{WORK} work(); exports.f = function (x) {{ return x + 1; }};");
    let folders = ModuleFolders::new(vec![directory(&[("m.js", source.as_str())])]);
    let module = FunctionModule::find("m.js", &folders).unwrap();
    let sandbox = Sandbox::new(sliced());
    assert!(!sandbox.is_slow(module.script("f")));
    let error = module.ensure_loaded(&sandbox).unwrap_err();
    assert_eq!(error.kind, ScriptErrorKind::Unfinished, "{error}");
    sandbox.note_unloaded(module.realm());
    for name in ["f", "g"] {
        assert!(sandbox.is_slow(module.script(name)));
        (0..20).for_each(|_| sandbox.note_apart(module.script(name), SLICE / 8));
        assert!(sandbox.is_slow(module.script(name)), "quick calls do not load it here");
    }
    let call = |sandbox: &Sandbox| module.call(sandbox, "f", "m.f", &[Value::int(1)], None, 1_000);
    assert_eq!(text_of(&with_own_sandbox(&sliced(), Stop::default(), call).unwrap()), "2");
}

#[test]
fn what_is_loaded_in_a_few_slices_is_called_here() {
    let bench = Bench::with(sliced(), &[("m.js", "exports.f = function (x) { return x + 1; };")]);
    assert_eq!(bench.json("f", "[1]"), "2");
    assert!(!bench.sandbox.is_slow(bench.module.script("f")));
}

#[test]
fn the_limit_holds_elsewhere() {
    let limits = SandboxLimits { time_ms: 60, ..sliced() };
    let bench =
        Bench::with(limits.clone(), &[("m.js", "exports.f = function () { for (;;) {} };")]);
    assert_eq!(bench.call("f", "[]").unwrap_err().kind, ScriptErrorKind::Unfinished);
    let error = with_own_sandbox(&limits, Stop::default(), |sandbox| {
        bench.module.call(sandbox, "f", "m.f", &[], None, 1_000)
    });
    let error = error.unwrap_err();
    assert_eq!((error.kind, error.line), (ScriptErrorKind::Time, Some(1)), "{error}");
}

#[test]
fn names_that_are_written_elsewhere_are_seen_here_and_the_other_way_round() {
    let (sandbox, realm, patch) = patch_of(
        "exports['patch uri'] = function (args) {
             args.params.seen = [args.params.mine, args.params.given];
             args.params.mine = 'there';
             delete args.params.gone;
             return args.uri;
         };
         exports['patch status'] = function (args) {
             args.params.mine = 'here'; args.params.gone = 1;
             return Object.keys(args.params).length;
         };
         exports['patch mediaType'] = function (args) {
             return JSON.stringify([args.params.mine, args.params.gone, args.params.seen]);
         };",
    );
    let session = HookSession::new(&sandbox, &realm, object(r#"{"given": 1.50}"#), Value::Absent);
    let (headers, body) = (Lazy::from(Value::Null), Lazy::from(Value::Null));
    let status =
        HookArgs::PatchStatus { uri: "http://h/", status: 200, headers: &headers, body: &body };
    session.call(&patch, status).unwrap();
    apart(&session, &patch, &HookArgs::PatchUri { uri: "http://h/" });
    let overlay = text_of(&Value::object(session.overlay().clone()));
    assert_eq!(overlay, r#"{"mine":"there","seen":["here",1.5]}"#);
    let args =
        HookArgs::PatchMediaType { uri: "http://h/", status: 200, headers: &headers, body: &body };
    let HookResult::MediaType(Some(seen)) = session.call(&patch, args).unwrap() else {
        panic!("a text")
    };
    assert_eq!(seen, r#"["there",null,["here",1.5]]"#);
}

/// A patch whose hooks give all that they get.
const MIRROR: &str = "
    function all(args) {
        var own = {};
        Object.keys(args).forEach(function (name) {
            var value = args[name];
            if (typeof value !== 'function') { own[name] = name === 'uri' ? String(value.format ? value.format() : value) : value; }
        });
        return JSON.stringify(own);
    }
    ['compute key', 'patch mediaType', 'patch response'].forEach(function (name) { exports[name] = all; });
    exports['validate param'] = function (args, name, value) { return value !== 'bad'; };
    exports['patch uri'] = function (args) { args.uri.setParam('x', args.params.given); return [args.uri, args.uri]; };
    exports['patch headers'] = function (args) { args.headers['x-all'] = all(args); };
    ['body template', 'patch body', 'parse response'].forEach(function (name) {
        exports[name] = function (args) { return {content: all(args), type: 'text/x'}; };
    });
    exports['patch status'] = function (args) { return args.status + args.body.list.length; };";

#[test]
fn every_hook_gets_and_gives_the_same_elsewhere() {
    let (sandbox, realm, patch) = patch_of(MIRROR);
    let session =
        HookSession::new(&sandbox, &realm, object(r#"{"given": "a b"}"#), object(r#"{"line": 3}"#));
    let headers = Lazy::from(value(r#"{"accept": ["a", "b"], "x": "1"}"#));
    let body = Lazy::from(value(r#"{"list": [1.50, "two"]}"#));
    let params = object(r#"{"fine": "good", "wrong": "bad"}"#);
    let payload = Payload {
        content: Some(Content::Bytes(Bytes::from_static(b"\xff\x00"))),
        media_type: Some("a/b".into()),
    };
    let bytes = Bytes::from_static(b"{}");
    let (uri, status, headers, body) = ("http://h/p?q=1", 201, &headers, &body);
    let calls = [
        HookArgs::ValidateParam { params: &params },
        HookArgs::PatchUri { uri },
        HookArgs::PatchHeaders { uri, headers },
        HookArgs::BodyTemplate { uri, headers },
        HookArgs::PatchBody { uri, headers, body: &payload },
        HookArgs::ComputeKey {
            table: "t",
            method: "get",
            uri,
            body: Some("text"),
            headers,
            request_id_name: "id",
        },
        HookArgs::ParseResponse { uri, status, headers, body: &bytes },
        HookArgs::PatchMediaType { uri, status, headers, body },
        HookArgs::PatchStatus { uri, status, headers, body },
        HookArgs::PatchResponse { uri, status, headers, body },
    ];
    assert_eq!(calls.len(), Hook::ALL.len());
    for args in calls {
        let here = session.call(&patch, args).unwrap();
        assert_eq!(format!("{here:?}"), format!("{:?}", apart(&session, &patch, &args)));
    }
}

#[test]
fn a_slow_row_ends_the_call_here_and_elsewhere_it_can_be_stopped() {
    let source =
        format!("{WORK} exports.f = function () {{ work(); return this.next(null, this.row); }};");
    let bench = Bench::with(sliced(), &[("m.js", &source)]);
    let call = RowCall {
        function: "f".into(),
        display_name: "m.f".into(),
        rows: Rows::Each((0..64).map(Value::int).collect()),
        arguments: Vec::new(),
        scope: None,
        deadline_ms: 1_000,
        is_column: false,
    };
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let here = runtime.block_on(bench.module.call_rows(&bench.sandbox, &call));
    assert_eq!(here.unwrap_err().kind, ScriptErrorKind::Unfinished);
    let stopped = with_own_sandbox(&sliced(), Stop::default(), |sandbox| {
        bench.module.call_rows_at_once(sandbox, &call, &|| false)
    });
    assert_eq!(stopped.unwrap_err().message, "m.f was stopped between two rows");
    let done = with_own_sandbox(&sliced(), Stop::default(), |sandbox| {
        bench.module.call_rows_at_once(sandbox, &call, &|| true)
    });
    assert!(done.unwrap() == (0..64).map(Value::int).collect::<Vec<_>>());
}

#[test]
fn a_slow_script_is_tried_here_again_after_some_quick_calls_in_a_row() {
    let (sandbox, realm, patch) = patch_of("exports['patch uri'] = function () {};");
    let (script, other) = (patch.script(Hook::PatchUri), patch.script(Hook::PatchHeaders));
    assert!(!sandbox.is_slow(script));
    sandbox.note_unfinished(script);
    assert!(sandbox.is_slow(script) && !sandbox.is_slow(other));
    let without_files = Realm::without_files();
    assert!(!sandbox.is_slow(Script { realm: &without_files, ..script }));
    let note = |count: usize, time| (0..count).for_each(|_| sandbox.note_apart(script, time));
    note(15, SLICE / 4);
    note(1, SLICE);
    note(15, SLICE / 4);
    assert!(sandbox.is_slow(script), "a slow one came in between");
    note(1, SLICE / 4);
    assert!(!sandbox.is_slow(script));
    // What is known does not grow without end.
    for number in 0..2_000 {
        sandbox.note_unfinished(Script { realm: &realm, name: &number.to_string() });
    }
    assert!(!sandbox.is_slow(Script { realm: &realm, name: "0" }));
    assert!(sandbox.is_slow(Script { realm: &realm, name: "1999" }));
}
