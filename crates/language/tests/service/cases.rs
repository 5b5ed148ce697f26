//! The cases in `tests/cases`: a small app, a text with the cursor at `‸`, what is asked, and what must
//! be in the answer.
//!
//! An expected object needs its members; a list under `has` needs an element for each of its own; a text
//! that begins with `~` needs to be held; all else must be equal.

use serde_json::{Value, json};

use super::client::{Client, Memory, position};

const URI: &str = "file:///app/routes/one.ql";

fn run(file: &str) {
    let cases: Vec<Value> = serde_json::from_str(file).expect("the cases are JSON");
    let mut wrong = Vec::new();
    for case in &cases {
        let name = case["name"].as_str().expect("a case has a name");
        if let Err(reason) = run_one(case) {
            wrong.push(format!("{name}: {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn run_one(case: &Value) -> Result<(), String> {
    let files = |part: &str| {
        let files = case[part].as_object().into_iter().flatten();
        let path = |name: &str| format!("/app/{part}/{name}");
        files
            .map(|(name, text)| Memory::file(&path(name), text.as_str().unwrap_or_default()))
            .collect()
    };
    let mut client = Client::new(Memory { tables: files("tables"), routes: files("routes") });
    let marked = case["text"].as_str().expect("a case has a text");
    let uri = case["uri"].as_str().unwrap_or(URI);
    let text = marked.replace('‸', "");
    let cursor = marked.find('‸').unwrap_or(0);
    client.open(uri, &text);
    let told = client.settle();
    let got = match case["ask"].as_str() {
        None => json!(told),
        Some(method) => {
            let here = position(&text, cursor);
            let mut params = json!({
                "textDocument": {"uri": uri},
                "position": here.clone(),
                "range": {"start": here.clone(), "end": here},
                "context": {"includeDeclaration": true, "diagnostics": []},
            });
            for (name, value) in case["params"].as_object().into_iter().flatten() {
                params[name] = value.clone();
            }
            match client.ask(method, params) {
                Ok(result) => result,
                Err(error) => json!({ "error": error }),
            }
        }
    };
    check(&case["expect"], &got).map_err(|reason| format!("{reason} in {got}"))
}

fn check(expected: &Value, got: &Value) -> Result<(), String> {
    match (expected, got) {
        (Value::Object(members), _) if members.contains_key("has") => {
            let elements = got.as_array().ok_or("it is no list")?;
            for one in members["has"].as_array().expect("`has` is a list") {
                if !elements.iter().any(|element| check(one, element).is_ok()) {
                    return Err(format!("there is no {one}"));
                }
            }
            Ok(())
        }
        (Value::Object(members), Value::Object(_)) => {
            members.iter().try_for_each(|(name, value)| {
                check(value, &got[name]).map_err(|reason| format!("`{name}`: {reason}"))
            })
        }
        (Value::Array(wanted), Value::Array(elements)) if wanted.len() == elements.len() => {
            wanted.iter().zip(elements).try_for_each(|(wanted, element)| check(wanted, element))
        }
        (Value::String(text), Value::String(found)) if text.starts_with('~') => {
            found.contains(&text[1..]).then_some(()).ok_or(format!("it does not hold {text}"))
        }
        _ if expected == got => Ok(()),
        _ => Err(format!("it is not {expected}")),
    }
}

macro_rules! case_files {
    ($($name:ident)*) => {$(
        #[test]
        fn $name() {
            run(include_str!(concat!("../cases/", stringify!($name), ".json")));
        }
    )*};
}

case_files!(problems completion hover signature names rename symbols tokens hints actions formatting links);
