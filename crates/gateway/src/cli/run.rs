//! `qlio run`: one script, run by the operator's own hand.

use std::path::{Path, PathBuf};

use bytes::Bytes;
use clap::Args;
use qlio_data::{Object, Text, Value, codec::json};
use qlio_engine::{Answer, Caller, ClientRequest, Engine, EngineOptions, RunError};
use qlio_plan::{CompileOptions, Origin, compile};
use qlio_syntax::diagnostic::Diagnostic;

use super::{
    CatalogArgs, Exit, report,
    script::{Script, ScriptArgs},
};
use crate::{
    config::{self, Config},
    http::compile_error,
    load::{self, CatalogFolders, FilesBeside, Loaded},
};

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    script: ScriptArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    /// A variable of the script, as `name=json`; may be repeated.
    #[arg(long = "var", value_name = "NAME=JSON")]
    variables: Vec<String>,
    /// JSON file with `query`, `headers`, `body` and `route` of a client request.
    #[arg(long, value_name = "FILE")]
    request: Option<PathBuf>,
    /// Print one object, `{value, headers}` or `{error, status}`, instead of the bare value.
    #[arg(long)]
    envelope: bool,
    /// Also print warnings.
    #[arg(long, short)]
    verbose: bool,
}

pub(super) fn run(args: &RunArgs) -> Exit {
    let (script, request) = match (args.script.read(), client_request(args)) {
        (Ok(script), Ok(request)) => (script, request),
        (Err(reason), _) | (_, Err(reason)) => {
            report::error(&reason);
            return Exit::Usage;
        }
    };
    let (mut config, problems) = config::read(args.catalog.config.as_deref());
    report::config(&problems);
    // The operator writes the script anyway, so what the request holds may override defaults.
    config.settings.client_params = qlio_engine::ClientParams::Any;
    let folders =
        CatalogFolders { tables: args.catalog.tables.clone(), routes: args.catalog.routes.clone() };
    let Loaded { catalog, problems, .. } = load::load(&folders, &config);
    report::catalog(&problems);
    let resources = FilesBeside::new(Path::new("."));
    let options =
        CompileOptions { origin: Origin::Stored, file: &script.name, resources: &resources };
    let compiled = match compile(&script.text, &catalog, &options) {
        Ok(compiled) => compiled,
        Err(problems) => return compile_failed(args, &script, &problems),
    };
    if args.verbose {
        report::diagnostics(&compiled.warnings, &script.name, &script.text);
    }
    let request_id_header = config.settings.request_id_header.clone();
    let outcome = on_runtime(config, folders.tables.clone(), |engine| async move {
        engine.run(&compiled.plan, &catalog, &request, Caller::Operator).await
    });
    match outcome {
        Ok(Ok(answer)) => succeeded(args, &answer, request_id_header),
        Ok(Err(error)) => failed(args, &error),
        Err(reason) => {
            report::error(&reason);
            Exit::Usage
        }
    }
}

/// Runs `work` on a runtime of its own, with an engine made from the settings.
fn on_runtime<F, R>(
    config: Config,
    tables_root: Option<PathBuf>,
    work: impl FnOnce(std::rc::Rc<Engine>) -> F,
) -> Result<R, String>
where
    F: Future<Output = R>,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| format!("cannot start: {error}"))?;
    runtime.block_on(async {
        let Config { settings, transport, cache, .. } = config;
        let cache = report::start_cache(cache).unwrap_or_else(|reason| {
            report::error(&reason);
            None
        });
        let module_roots = vec![PathBuf::from(".")];
        let engine =
            Engine::new(EngineOptions { settings, transport, module_roots, tables_root, cache })
                .map_err(|error| error.to_string())?;
        let engine = std::rc::Rc::new(engine);
        let done = work(std::rc::Rc::clone(&engine)).await;
        engine.end().await;
        Ok(done)
    })
}

fn succeeded(args: &RunArgs, answer: &Answer, request_id_header: String) -> Exit {
    for warning in &answer.warnings {
        if args.verbose || answer.partial.is_some() {
            report::note(&format!("warning: {warning}"));
        }
    }
    if !args.envelope {
        report::data(&json::to_string(&answer.value));
        return Exit::Success;
    }
    let mut headers = Object::new();
    headers.insert("content-type", Value::from("application/json"));
    if let Some(id) = &answer.request_id {
        headers.insert(request_id_header, Value::from(id.as_str()));
    }
    let of_script = answer.headers.iter();
    // The media type is ours (`server.md` 1.9).
    for (name, value) in of_script.filter(|(name, _)| !name.eq_ignore_ascii_case("content-type")) {
        headers.insert(name.as_str(), Value::from(value.as_str()));
    }
    let value = if answer.value.is_absent() { Value::Null } else { answer.value.clone() };
    print_envelope([("value", value), ("headers", Value::object(headers))]);
    Exit::Success
}

fn failed(args: &RunArgs, error: &RunError) -> Exit {
    let body = error.body();
    if args.envelope {
        print_envelope([("error", body), ("status", Value::int(i64::from(error.status)))]);
    } else {
        report::error(&error.message);
        report::note(&json::to_string(&body));
    }
    Exit::Failed
}

fn compile_failed(args: &RunArgs, script: &Script, problems: &[Diagnostic]) -> Exit {
    if args.envelope {
        let body = compile_error::body(problems, &script.text);
        print_envelope([("error", body), ("status", Value::int(400))]);
    } else {
        report::diagnostics(problems, &script.name, &script.text);
    }
    Exit::Failed
}

fn print_envelope<const N: usize>(members: [(&str, Value); N]) {
    let object: Object = members.into_iter().collect();
    report::data(&json::to_string(&Value::object(object)));
}

/// The client request of `--request` and the variables of `--var`.
fn client_request(args: &RunArgs) -> Result<ClientRequest, String> {
    let mut request = ClientRequest::default();
    if let Some(file) = &args.request {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("cannot read `{}`: {error}", file.display()))?;
        let value = json::parse_str(&text).map_err(|error| {
            format!("`{}` is not JSON: {} at byte {}", file.display(), error.reason, error.offset)
        })?;
        let member = |name: &str| {
            object(&value, name)
                .ok_or_else(|| format!("`{name}` in `{}` must be an object", file.display()))
        };
        request.query = member("query")?;
        request.route = member("route")?;
        let headers = member("headers")?;
        request.headers =
            headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect();
        request.body = value.member("body");
        let content_type = request.headers.get("content-type").and_then(Value::as_str);
        let content_type = content_type.map(str::to_owned);
        (request.raw_body, request.content_type) = match &request.body {
            Value::Absent => (Bytes::new(), None),
            Value::String(text) => (text.clone().into_bytes(), content_type),
            body => {
                let content_type = content_type.unwrap_or_else(|| "application/json".to_owned());
                (json::to_string(body).into(), Some(content_type))
            }
        };
    }
    for variable in &args.variables {
        let (name, text) = variable
            .split_once('=')
            .ok_or_else(|| format!("`--var {variable}` needs the form `name=json`"))?;
        let value = json::parse_str(text)
            .map_err(|error| format!("`--var {name}`: invalid JSON: {}", error.reason))?;
        request.variables.insert(Text::from(name), value);
    }
    Ok(request)
}

/// A member that is an object, or missing.
fn object(value: &Value, name: &str) -> Option<Object> {
    match &*value.member(name).open() {
        Value::Object(object) => Some(Object::clone(object)),
        Value::Absent => Some(Object::new()),
        _ => None,
    }
}
