//! Tests of the sandbox at its interface: small script files in a directory of their own.

mod callbacks;
mod functions;
mod hooks;
mod limits;
mod modules;
mod templates;
mod test_modules;
mod uris;

use std::path::Path;

use qlio_data::{Value, codec::json};
use tempfile::TempDir;

use super::*;

/// A directory with the given files.
fn directory(files: &[(&str, &str)]) -> TempDir {
    let directory = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = directory.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap_or_else(|| Path::new("/"))).unwrap();
        std::fs::write(path, text).unwrap();
    }
    directory
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
    _directory: TempDir,
}

impl Bench {
    fn new(source: &str) -> Self {
        Self::with(SandboxLimits::default(), &[("m.js", source)])
    }

    fn with(limits: SandboxLimits, files: &[(&str, &str)]) -> Self {
        let directory = directory(files);
        let sandbox = Sandbox::new(limits);
        let roots = [directory.path().to_owned()];
        let module = FunctionModule::load(&sandbox, "m.js", &roots).unwrap();
        Self { sandbox, module, _directory: directory }
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
