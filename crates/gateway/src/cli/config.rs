//! `qlio config`: the settings that hold, and all that there are.

use clap::{Args, Subcommand};
use qlio_data::codec::json;

use super::{Exit, Failure, app::AppArgs, report};
use crate::config::{self, CommandLine};

#[derive(Debug, Args)]
pub(super) struct ConfigArgs {
    #[command(subcommand)]
    command: ConfigCommand,
}

#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// Print the settings that hold; secrets are redacted.
    Show(ShowArgs),
    /// Print a JSON schema (2020-12) of the settings file, for editors.
    Schema,
    /// Print all settings as Markdown, which is `docs/reference/settings.md`.
    Docs(DocsArgs),
}

#[derive(Debug, Args)]
struct DocsArgs {
    /// Print only what is bounded, and what happens beyond it: `docs/reference/limits.md`.
    #[arg(long)]
    limits: bool,
}

#[derive(Debug, Args)]
struct ShowArgs {
    #[command(flatten)]
    app: AppArgs,
    /// Also print where each value comes from: file, line and column, environment, or default.
    #[arg(long)]
    origin: bool,
    /// With the defaults of development mode.
    #[arg(long)]
    dev: bool,
}

pub(super) fn config(args: &ConfigArgs) -> Result<Exit, Failure> {
    match &args.command {
        ConfigCommand::Show(args) => return show(args),
        ConfigCommand::Schema => report::data(&config::schema()),
        ConfigCommand::Docs(DocsArgs { limits: true }) => report::raw(&config::limits()),
        ConfigCommand::Docs(_) => report::raw(&config::reference()),
    }
    Ok(Exit::Success)
}

fn show(args: &ShowArgs) -> Result<Exit, Failure> {
    let app = args.app.find()?;
    let command_line = CommandLine::of_process(args.dev);
    let (settings, problems) = config::effective(app.config.as_deref(), &command_line);
    let (errors, _) = report::config(&problems);
    for setting in settings {
        let value = json::to_string(&setting.value);
        let line = format!("{} = {value}", setting.name);
        report::data(&if args.origin { format!("{line}  # {}", setting.origin) } else { line });
    }
    Ok(if errors > 0 { Exit::Failed } else { Exit::Success })
}
