//! Any bytes are an ejs template that renders or fails within its limits. What must hold: no panic;
//! a call takes little more than its time; a place that an error names lies in the template; a
//! realm that failed renders the next template.
#![no_main]

use std::{
    cell::RefCell,
    time::{Duration, Instant},
};

use libfuzzer_sys::fuzz_target;
use qlio_data::{Object, Value, codec::json::parse_str};

use qlio_engine::sandbox::{
    EjsTemplate, HookSession, Realm, Sandbox, SandboxLimits, ScriptErrorKind,
};

const FILE: &str = "order.ejs";

/// What templates of tables ask for: texts, numbers, a list, a list of rows, a tree.
const PARAMS: &str = r#"{"id": "B7", "text": "x < 'y' & z", "n": 3, "none": null, "yes": true,
    "list": ["a", "b"], "rows": [{"id": 1, "name": "Ada"}, {"id": 2, "name": "Bo"}],
    "config": {"key": "k"}, "a.b": "flat"}"#;
const STATEMENT: &str = r#"{"type": "select", "line": 2, "limit": 10, "table": "t"}"#;

const LIMITS: SandboxLimits = SandboxLimits {
    time_ms: 40,
    slice: None,
    load_time_ms: 400,
    memory_bytes: 8 << 20,
    stack_bytes: 256 << 10,
    template_bytes: 1 << 16,
    depth: 64,
    result_elements: 10_000,
    log_lines: 10,
    log_line_chars: 100,
    realms: 2,
    hooks_async: false,
};

/// The longest that one call may take on the clock of the wall. Far above [`LIMITS`], because
/// loops inside the interpreter are bounded by their work and the machine may be busy.
const LONGEST: Duration = Duration::from_secs(15);

fn object(text: &str) -> Object {
    match parse_str(text).map(|value| value.into_tree()) {
        Ok(Value::Object(members)) => Object::clone(&members),
        _ => panic!("an object is written above"),
    }
}

/// Renders and checks; gives the text or whether a limit ended it.
fn render(sandbox: &Sandbox, realm: &Realm, text: &str) -> Result<String, bool> {
    let session = HookSession::new(sandbox, realm, object(PARAMS), object(STATEMENT));
    let start = Instant::now();
    let rendered = session.render(&EjsTemplate::new(FILE, text));
    assert!(start.elapsed() < LONGEST, "{:?}", start.elapsed());
    rendered.map_err(|error| {
        let is_limit = matches!(error.kind, ScriptErrorKind::Time | ScriptErrorKind::Memory);
        assert!(!is_limit || error.message.contains(" limit"), "{error}");
        if error.file.as_deref() == Some(FILE) {
            let line = error.line.expect("a file is named with a line") as usize;
            // A comment that ends with its tag puts the rest of its line one line too far.
            let ends = text.matches(['\n', '\r', '\u{2028}', '\u{2029}']).count();
            let lines = 1 + ends - text.matches("\r\n").count() + text.matches("//").count();
            assert!((1..=lines).contains(&line), "line {line}: {error}");
        }
        is_limit
    })
}

/// How many templates run in one realm: making one takes longer than most templates do.
const TEMPLATES_PER_REALM: u32 = 50;

thread_local! {
    static SANDBOX: Sandbox = Sandbox::new(LIMITS);
    static REALM: RefCell<(Realm, u32)> = RefCell::new((Realm::without_files(), 0));
}

fuzz_target!(|bytes: &[u8]| {
    let text = String::from_utf8_lossy(bytes);
    SANDBOX.with(|sandbox| {
        REALM.with_borrow_mut(|(realm, uses)| {
            *uses += 1;
            let rendered = render(sandbox, realm, &text);
            if rendered == Err(true) {
                // The sandbox has built the realm anew.
                assert_eq!(render(sandbox, realm, "<%= params.id %>").as_deref(), Ok("B7"));
            }
            if *uses == TEMPLATES_PER_REALM {
                (*realm, *uses) = (Realm::without_files(), 0);
            }
        });
    });
});
