//! `qlio plan`: how a script will be executed, and where the time of a run went.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::Context;
use clap::{Args, ValueEnum};
use qlio_data::{Text, redact::replaced};
use qlio_engine::{
    ClientParams,
    event::{Event, Subscription, Watch},
};
use qlio_plan::{
    CompileOptions, Origin, Plan,
    catalog::Catalog,
    compile,
    explain::{Explanation, Latency, Measured, explain, to_dot, to_json, to_svg, to_text, to_yuml},
};

use super::{
    Exit, Failure,
    app::{AppArgs, read_settings},
    measured::{self, Collected},
    progress, report,
    request::RequestArgs,
    run::on_runtime,
    script::ScriptArgs,
};
use crate::{
    config::{CommandLine, Config},
    load::{self, FilesBeside, Loaded},
};

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    script: ScriptArgs,
    #[command(flatten)]
    app: AppArgs,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    format: PlanFormat,
    /// Say where the time of an earlier run went: a JSON list of its packets, as the header `Link`
    /// or a WebSocket gave them.
    #[arg(long, value_name = "FILE", conflicts_with = "run")]
    trace: Option<PathBuf>,
    /// Run the script and say where the time went.
    #[arg(long)]
    run: bool,
    #[command(flatten)]
    request: RequestArgs,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlanFormat {
    /// Steps that run one after the other, and what runs in parallel in each.
    Text,
    /// Nodes and edges.
    Json,
    /// A Graphviz graph.
    Dot,
    /// A picture.
    Svg,
    /// The flat form of yUML.
    Yuml,
}

pub(super) fn plan(args: &PlanArgs) -> Result<Exit, Failure> {
    let script = args.script.read()?;
    let app = args.app.find_some()?;
    let config = read_settings(&app, &CommandLine::of_process(false)).map_err(Failure::failed)?;
    let Loaded { catalog, problems, .. } = load::load(&app.folders, &config);
    report::catalog(&problems);
    report::note(&format!(
        "planned `{}` with {} and {} of the app in {}",
        script.name,
        report::count(catalog.tables().len(), "table"),
        report::count(catalog.routes().len(), "route"),
        app.describe()
    ));
    let resources =
        FilesBeside::of_script(Path::new("."), &script.name, &script.text, &app.folders);
    let options =
        CompileOptions { origin: Origin::Stored, file: &script.name, resources: &resources };
    match compile(&script.text, &catalog, &options) {
        Ok(compiled) => {
            report::diagnostics(&compiled.warnings, &script.name, &script.text);
            let explanation = explain(&compiled.plan);
            let measured = if args.run {
                Some(measure(args, &Arc::new(compiled.plan), &Arc::new(catalog), config)?)
            } else {
                args.trace.as_deref().map(|file| of_trace(file, &explanation)).transpose()?
            };
            let latency = measured.map(|measured| Latency::of(&explanation, measured));
            print(args.format, &explanation, latency.as_ref());
            Ok(Exit::Success)
        }
        Err(problems) => {
            report::diagnostics(&problems, &script.name, &script.text);
            Ok(Exit::Failed)
        }
    }
}

fn print(format: PlanFormat, explanation: &Explanation, latency: Option<&Latency>) {
    match format {
        PlanFormat::Text => report::raw(&to_text(explanation, latency)),
        PlanFormat::Json => report::data(&to_json(explanation, latency)),
        PlanFormat::Dot => report::raw(&to_dot(explanation, latency)),
        PlanFormat::Svg => report::raw(&to_svg(explanation, latency)),
        PlanFormat::Yuml => report::data(&to_yuml(explanation)),
    }
}

/// The measurements in a file of packets.
fn of_trace(file: &Path, explanation: &Explanation) -> anyhow::Result<Vec<Option<Measured>>> {
    let shown = file.display();
    let text = std::fs::read_to_string(file).with_context(|| format!("cannot read `{shown}`"))?;
    measured::of_packets(&text, &explanation.nodes).with_context(|| format!("`{shown}`"))
}

/// Runs the script, by the operator's own hand; one that fails has taken its time all the same.
fn measure(
    args: &PlanArgs,
    plan: &Arc<Plan>,
    catalog: &Arc<Catalog>,
    mut config: Config,
) -> anyhow::Result<Vec<Option<Measured>>> {
    let request = args.request.read()?;
    config.settings.client_params = ClientParams::Any;
    let secrets = catalog.secrets();
    let collected = Collected::default();
    let outcome = on_runtime(config, async |engine| {
        let tell = |event: Event<'_>| collected.take(&event);
        let subscription = Subscription::all();
        let watch = Watch { subscription: &subscription, tell: &tell, stepper: None };
        progress::run(&engine, plan, catalog, &request, Some(&watch)).await
    })?;
    if let Err(error) = outcome {
        let message = replaced(&Text::from(error.message.as_str()), secrets);
        report::error(&format!("the run failed: {message}"));
    }
    let mut nodes = collected.into_nodes(plan.nodes.len());
    for node in nodes.iter_mut().flatten() {
        if let Some((uri, _)) = &mut node.slowest {
            *uri = replaced(&Text::from(uri.as_str()), secrets).to_string();
        }
    }
    Ok(nodes)
}
