//! `qlio plan`: how a script will be executed.

use std::path::Path;

use clap::{Args, ValueEnum};
use qlio_plan::{
    CompileOptions, Origin, compile,
    explain::{explain, to_dot, to_json, to_text, to_yuml},
};

use super::{CatalogArgs, Exit, report, script::ScriptArgs};
use crate::{
    config,
    load::{self, CatalogFolders, FilesBeside, Loaded},
};

#[derive(Debug, Args)]
pub(super) struct PlanArgs {
    #[command(flatten)]
    script: ScriptArgs,
    #[command(flatten)]
    catalog: CatalogArgs,
    /// How to print it.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    format: PlanFormat,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum PlanFormat {
    /// Steps that run one after the other, and what runs in parallel in each.
    Text,
    /// Nodes and edges.
    Json,
    /// A Graphviz graph.
    Dot,
    /// The flat form of yUML.
    Yuml,
}

pub(super) fn plan(args: &PlanArgs) -> Exit {
    let script = match args.script.read() {
        Ok(script) => script,
        Err(reason) => {
            report::error(&reason);
            return Exit::Usage;
        }
    };
    let (config, problems) = config::read(args.catalog.config.as_deref());
    report::config(&problems);
    let folders =
        CatalogFolders { tables: args.catalog.tables.clone(), routes: args.catalog.routes.clone() };
    let Loaded { catalog, problems, .. } = load::load(&folders, &config);
    report::catalog(&problems);
    let resources = FilesBeside::new(Path::new("."));
    let options =
        CompileOptions { origin: Origin::Stored, file: &script.name, resources: &resources };
    match compile(&script.text, &catalog, &options) {
        Ok(compiled) => {
            report::diagnostics(&compiled.warnings, &script.name, &script.text);
            let explanation = explain(&compiled.plan);
            match args.format {
                PlanFormat::Text => report::raw(&to_text(&explanation)),
                PlanFormat::Json => report::data(&to_json(&explanation)),
                PlanFormat::Dot => report::raw(&to_dot(&explanation)),
                PlanFormat::Yuml => report::data(&to_yuml(&explanation)),
            }
            Exit::Success
        }
        Err(problems) => {
            report::diagnostics(&problems, &script.name, &script.text);
            Exit::Failed
        }
    }
}
