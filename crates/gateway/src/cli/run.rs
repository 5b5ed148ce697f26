//! `qlio run`: one script, run by the operator's own hand.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use qlio_data::{
    Object, Text, Value,
    codec::json,
    redact::{redact, replaced},
};
use qlio_engine::{Answer, Engine, EngineOptions, RunError, heavy::Heavy};
use qlio_plan::{CompileOptions, Origin, compile};
use qlio_syntax::diagnostic::Diagnostic;

use super::{
    Exit, Failure,
    app::{AppArgs, read_settings},
    output::{Output, TableSize},
    progress, report,
    request::RequestArgs,
    script::{Script, ScriptArgs},
};
use crate::{
    config::{CommandLine, Config},
    http::{compile_error, run_error},
    load::{self, FilesBeside, Loaded},
};

#[derive(Debug, Args)]
pub(super) struct RunArgs {
    #[command(flatten)]
    script: ScriptArgs,
    #[command(flatten)]
    app: AppArgs,
    #[command(flatten)]
    request: RequestArgs,
    /// Print one object, `{value, headers}` or `{error, status}`, instead of the bare value.
    #[arg(long, conflicts_with = "output")]
    envelope: bool,
    /// How to print the value.
    #[arg(long, value_enum, default_value_t = Output::Json)]
    output: Output,
    /// Also print warnings.
    #[arg(long, short)]
    verbose: bool,
}

pub(super) fn run(args: &RunArgs) -> Result<Exit, Failure> {
    let (script, request) = (args.script.read()?, args.request.read()?);
    let app = args.app.find()?;
    let mut config =
        read_settings(&app, &CommandLine::of_process(false)).map_err(Failure::failed)?;
    // The operator writes the script anyway, so what the request holds may override defaults.
    config.settings.client_params = qlio_engine::ClientParams::Any;
    let Loaded { catalog, problems, .. } = load::load(&app.folders, &config);
    report::catalog(&problems);
    let resources =
        FilesBeside::of_script(Path::new("."), &script.name, &script.text, &app.folders);
    let options =
        CompileOptions { origin: Origin::Stored, file: &script.name, resources: &resources };
    let compiled = match compile(&script.text, &catalog, &options) {
        Ok(compiled) => compiled,
        Err(problems) => return Ok(compile_failed(args, &script, &problems)),
    };
    if args.verbose {
        report::diagnostics(&compiled.warnings, &script.name, &script.text);
    }
    let request_id_header = config.settings.request_id_header.clone();
    let secrets = catalog.secrets().to_vec();
    let outcome = on_runtime(config, |engine| async move {
        progress::run(&engine, &compiled.plan, &catalog, &request, None).await
    })?;
    match outcome {
        Ok(answer) => succeeded(args, &script.text, &answer, request_id_header),
        Err(error) => Ok(report_failure(args, &error, &secrets)),
    }
}

/// Runs `work` on a runtime of its own, with an engine made from the settings.
pub(super) fn on_runtime<F, R>(
    config: Config,
    work: impl FnOnce(std::rc::Rc<Engine>) -> F,
) -> anyhow::Result<R>
where
    F: Future<Output = R>,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start")?.block_on(async {
        let Config { settings, transport, cache, .. } = config;
        let cache = report::start_cache(cache).unwrap_or_else(|error| {
            report::error(&error.to_string());
            None
        });
        let engine = Engine::new(EngineOptions {
            settings,
            transport,
            cache,
            describe_error: run_error::body,
            heavy: Heavy::default(),
            meter: None,
        })?;
        let engine = std::rc::Rc::new(engine);
        let done = work(std::rc::Rc::clone(&engine)).await;
        engine.end().await;
        Ok(done)
    })
}

fn succeeded(
    args: &RunArgs,
    script: &str,
    answer: &Answer,
    request_id_header: String,
) -> Result<Exit, Failure> {
    for warning in &answer.warnings {
        if args.verbose || answer.partial.is_some() {
            report::note(&format!("warning: {warning}"));
        }
    }
    if !args.envelope {
        let size = TableSize { rows_max: usize::MAX, width: report::terminal_width() };
        let pieces = args.output.pieces(&answer.value, script, size).map_err(Failure::failed)?;
        report::pieces(pieces);
        return Ok(Exit::Success);
    }
    let mut headers = Object::new();
    headers.insert("content-type", Value::from("application/json"));
    if let Some(id) = &answer.request_id {
        headers.insert(request_id_header, Value::from(id.as_str()));
    }
    let of_script = answer.headers.iter();
    // The media type is ours (SRV-28).
    for (name, value) in of_script.filter(|(name, _)| !name.eq_ignore_ascii_case("content-type")) {
        headers.insert(name.as_str(), Value::from(value.as_str()));
    }
    let value = if answer.value.is_absent() { Value::Null } else { answer.value.clone() };
    print_envelope([("value", value), ("headers", Value::object(headers))]);
    Ok(Exit::Success)
}

fn report_failure(args: &RunArgs, error: &RunError, secrets: &[String]) -> Exit {
    let body = redact(run_error::body(error), secrets);
    if args.envelope {
        print_envelope([
            ("error", body),
            ("status", Value::int(i64::from(run_error::status(error)))),
        ]);
    } else {
        report::error(&replaced(&Text::from(error.message.as_str()), secrets));
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
