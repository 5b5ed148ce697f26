//! What calls cost. Run with `--release --ignored --nocapture` to read the numbers.

use std::time::Instant;

use super::*;
use qlio_data::Object;

const COUNT: u32 = 20_000;

fn print(what: &str, count: u32, work: impl FnOnce()) {
    let start = Instant::now();
    work();
    println!("{what}: {:?} each", start.elapsed() / count);
}

#[test]
#[ignore = "measures, does not judge"]
fn cost_of_calls() {
    let bench = Bench::new(
        "exports.add = function (a, b) { return a + b; };
         exports.heavy = function (kg) { return this.next(null, kg > 2 ? this.row : null); };",
    );
    let arguments = [Value::int(1), Value::int(2)];
    print("definition call of two numbers", COUNT, || {
        for _ in 0..COUNT {
            bench.module.call(&bench.sandbox, "add", "m.add", &arguments, None, 0).unwrap();
        }
    });
    let row = value(r#"{"sp": "cod", "kg": 3, "at": {"x": 1.5}}"#);
    let call = RowCall {
        function: "heavy",
        display_name: "m.heavy",
        rows: Rows::Each(vec![row; COUNT as usize]),
        arguments: vec![RowArgument::Column(vec![Value::int(3); COUNT as usize])],
        scope: None,
        deadline_ms: 0,
        is_column: false,
    };
    print("row of three members, kept", COUNT, || {
        bench.module.call_rows(&bench.sandbox, &call).unwrap();
    });
    let directory = directory(&[(
        "p.js",
        "exports['patch uri'] = function (args) { args.uri.removeEmptyParams(); return args.uri; };",
    )]);
    let realm = Realm::new(directory.path()).unwrap();
    print("first call in a new realm", 20, || {
        for _ in 0..20 {
            let realm = Realm::new(directory.path()).unwrap();
            Patch::load(&bench.sandbox, &realm, Path::new("p.js")).unwrap();
        }
    });
    let patch = Patch::load(&bench.sandbox, &realm, Path::new("p.js")).unwrap();
    let (params, statement) = (object(r#"{"a": 1, "b": "x"}"#), object(r#"{"type": "select"}"#));
    print("session with one patch uri", COUNT, || {
        for _ in 0..COUNT {
            let session =
                HookSession::new(&bench.sandbox, &realm, params.clone(), statement.clone());
            session.call(&patch, HookArgs::PatchUri { uri: "http://h/q?a=1&b=" }).unwrap();
        }
    });
    let template = EjsTemplate::new("n.ejs", "<n><%= params.a %></n>");
    let session = HookSession::new(&bench.sandbox, &realm, params, Object::new());
    print("rendering a small template", COUNT, || {
        for _ in 0..COUNT {
            session.render(&template).unwrap();
        }
    });
}
