//! Tests of the sandbox at its interface: small script files in a directory of their own.

mod callbacks;
mod functions;
mod hooks;
mod limits;
mod modules;
mod slices;
mod templates;
mod test_modules;
mod uris;

use std::{path::Path, sync::Arc};

use qlio_data::{Value, codec::json};
use qlio_plan::catalog::{ModuleFolders, SourceFolder};

use super::*;

/// A directory with the given files.
fn directory(files: &[(&str, &str)]) -> Arc<SourceFolder> {
    let files = files.iter().map(|(name, text)| (format!("/{name}"), Ok(text.as_bytes().into())));
    Arc::new(SourceFolder::new("/app".into(), "app".to_owned(), files.collect()))
}

/// The value of a JSON text.
fn value(text: &str) -> Value {
    json::parse_str(text).unwrap().into_tree()
}

/// The members of a JSON object.
fn object(text: &str) -> qlio_data::Object {
    match value(text) {
        Value::Object(object) => (*object).clone(),
        _ => panic!("not an object: {text}"),
    }
}

fn text_of(value: &Value) -> String {
    json::to_string(value)
}

/// A sandbox, and one loaded module with this source.
struct Bench {
    sandbox: Sandbox,
    module: FunctionModule,
}

impl Bench {
    fn new(source: &str) -> Self {
        Self::with(SandboxLimits::default(), &[("m.js", source)])
    }

    fn with(limits: SandboxLimits, files: &[(&str, &str)]) -> Self {
        let sandbox = Sandbox::new(limits);
        let folders = ModuleFolders::new(vec![directory(files)]);
        let module = FunctionModule::load(&sandbox, "m.js", &folders).unwrap();
        Self { sandbox, module }
    }

    fn call(&self, function: &str, arguments: &str) -> Result<Value, ScriptError> {
        let Value::Array(arguments) = value(arguments) else { panic!("a list of arguments") };
        let name = format!("m.{function}");
        self.module.call(&self.sandbox, function, &name, &arguments, None, 1_000)
    }

    /// The JSON of what a call returns.
    fn json(&self, function: &str, arguments: &str) -> String {
        text_of(&self.call(function, arguments).unwrap())
    }
}

/// The JSON of an expression evaluated in a module; `require` and all globals are there.
fn evaluate(expression: &str) -> String {
    Bench::new(&format!("exports.f = function () {{ return {expression}; }};")).json("f", "[]")
}

/// The error of an expression evaluated in a module.
fn failure(expression: &str) -> ScriptError {
    let bench = Bench::new(&format!("exports.f = function () {{ return {expression}; }};"));
    bench.call("f", "[]").unwrap_err()
}
