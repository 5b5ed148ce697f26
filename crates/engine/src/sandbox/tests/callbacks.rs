//! Scripts that answer through a callback: auth modules and transformers.

use super::{hooks::Table, *};
use qlio_data::Object;

fn auth(source: &str) -> (Result<(), ScriptError>, Object) {
    let table = Table::with(
        SandboxLimits { time_ms: 100, ..SandboxLimits::default() },
        &[("p.js", ""), ("auth.js", source)],
    );
    let module = AuthModule::load(&table.sandbox, &table.realm, Path::new("auth.js")).unwrap();
    let session = table.session(r#"{"user": "u"}"#);
    let answer = session.authorize(&module, &value(r#"{"key": "K"}"#), 1_000);
    (answer, session.overlay().clone())
}

#[test]
fn auth_modules_permit_deny_and_write_params() {
    let (answer, overlay) = auth(
        "exports.auth = function (params, config, done) { params.tok = config.key + params.user; done(); };",
    );
    assert!(answer.is_ok());
    assert_eq!(text_of(&Value::object(overlay)), r#"{"tok":"Ku"}"#);
    let (answer, overlay) =
        auth("exports.auth = function (params, done) { params.tok = params.user; done(); };");
    assert!(answer.is_ok());
    assert_eq!(text_of(&Value::object(overlay)), r#"{"tok":"u"}"#);
    assert!(auth("exports.auth = function (p, c, done) { setTimeout(function () { done(undefined, 1); }, 500); };").0.is_ok());
    assert!(
        auth("exports.auth = function (p, c, done) { Promise.resolve().then(done); };").0.is_ok()
    );
    for (source, message) in [
        ("exports.auth = function (p, c, done) { done('closed'); };", "closed"),
        ("exports.auth = function (p, done) { done('shut'); };", "shut"),
        ("exports.auth = function (p, c, done) { done(new Error('no')); };", "no"),
        ("exports.auth = function (p, c, done) { throw new Error('thrown'); };", "thrown"),
        ("exports.auth = async function () { throw new Error('rejected'); };", "rejected"),
        ("exports.auth = function (p, c, done) { };", "Auth module did not answer"),
        (
            "exports.auth = function (p, c, done) { setTimeout(done, 5000); };",
            "Auth module did not answer",
        ),
        (
            "exports.auth = function (p, c, done) { for (;;) {} };",
            "Auth module exceeded its time limit",
        ),
        ("exports.other = 1;", "the auth module exports no function `auth`"),
    ] {
        assert_eq!(auth(source).0.unwrap_err().message, message, "{source}");
    }
}

#[test]
fn transformers_decode_text() {
    let transform = |source: &str| {
        let directory = directory(&[("x.js", source)]);
        let sandbox = Sandbox::new(SandboxLimits::default());
        let realm = Realm::new(&directory);
        let transformer = Transformer::load(&sandbox, &realm, Path::new("x.js"))?;
        let value = transformer.to_value(&sandbox, "a=1", &object(r#"{"h": "2"}"#), 100)?;
        Ok::<_, ScriptError>((transformer.accept().map(str::to_owned), text_of(&value)))
    };
    let good = transform("exports.accept = 'text/x'; exports.toJson = function (text, ok, fail, headers) { ok([text, headers.h]); };").unwrap();
    assert_eq!(good, (Some("text/x".to_owned()), r#"["a=1","2"]"#.to_owned()));
    for (source, message) in [
        ("exports.toJson = function (t, ok, fail) { fail(new Error('bad')); };", "bad"),
        ("exports.toJson = function (t, ok, fail) { fail({message: 'plain'}); };", "plain"),
        ("exports.toJson = function () { throw new Error('thrown'); };", "thrown"),
        ("exports.toJson = function () { };", "Transformer x.js did not answer"),
        ("", "the transformer exports no function `toJson`"),
    ] {
        assert_eq!(transform(source).unwrap_err().message, message, "{source}");
    }
}
