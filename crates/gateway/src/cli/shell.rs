//! `qlio shell`: scripts at a prompt, by the operator's own hand.
//!
//! ```text
//! terminal ─▶ Prompt (a thread) ─┐
//!                                ├─▶ Inputs ─▶ Session: compile, run, print
//! pipe, file ─▶ Given ───────────┘
//! ```
//!
//! In: inputs, typed at a terminal ([`prompt`]) or read from whatever else stdin is ([`given`]); each is a script, or a
//! command that begins with a dot ([`input`]). Out: results on stdout, everything else on stderr. At a terminal a
//! failure is told and forgotten; elsewhere it ends the shell, as what follows may rest on it.

mod given;
mod history;
mod input;
mod prompt;
mod session;

use std::{
    io::{self, IsTerminal},
    sync::Arc,
};

use clap::Args;
use qlio_engine::ClientParams;
use qlio_plan::Catalog;

use super::{
    Exit, Failure,
    app::{AppArgs, read_settings},
    output::Output,
    report,
    run::on_runtime,
};
use crate::{
    app_folder::AppFolder,
    config::{CommandLine, Config},
    load::{self, Loaded},
};
use given::Given;
use prompt::{Heard, Prompt};
use session::{Leave, Session, Ways};

#[derive(Debug, Args)]
#[command(after_help = "\
At a terminal a script runs when it is complete, and is kept in a history: in the file that the
variable QLIO_HISTORY names, in no file if it is empty. From a pipe or a file stdin is read as a
script, or as several with commands between them. `.help` lists the commands.")]
pub(super) struct ShellArgs {
    #[command(flatten)]
    app: AppArgs,
    /// How results are printed; default a table on a terminal, else JSON.
    #[arg(long, value_enum)]
    output: Option<Output>,
}

pub(super) fn shell(args: &ShellArgs) -> Result<Exit, Failure> {
    let app = args.app.find_some()?;
    let mut loaded = Opened::load(&app).map_err(Failure::failed)?;
    let mut inputs = Inputs::of_process(&loaded.catalog)?;
    if inputs.is_typed() {
        report::note(&format!("{}; .help says what can be typed", loaded.describe(&app)));
    }
    let is_shown = io::stdout().is_terminal();
    let mut ways = Ways::new(args.output, is_shown);
    loop {
        let Opened { config, catalog } = &loaded;
        let left = on_runtime(config.clone(), async |engine| {
            Session::new(&app, catalog, engine, &mut ways, inputs.is_typed())
                .serve(&mut inputs)
                .await
        })?;
        match left {
            Leave::Done => return Ok(Exit::Success),
            Leave::Failed => return Ok(Exit::Failed),
            Leave::Reload => match Opened::load(&app) {
                Ok(anew) => {
                    loaded = anew;
                    inputs.know(&loaded.catalog);
                    report::note(&loaded.describe(&app));
                }
                Err(error) => {
                    report::error(&format!("{error:#}; all stays as it was"));
                    if !inputs.is_typed() {
                        return Ok(Exit::Failed);
                    }
                }
            },
        }
    }
}

/// An app that is loaded.
struct Opened {
    config: Config,
    catalog: Arc<Catalog>,
}

impl Opened {
    /// Loads an app, and prints what is wrong with it.
    ///
    /// # Errors
    /// Its settings cannot be used.
    fn load(app: &AppFolder) -> anyhow::Result<Self> {
        let mut config = read_settings(app, &CommandLine::of_process(false))?;
        // As for `qlio run`: who writes the script may override defaults.
        config.settings.client_params = ClientParams::Any;
        let Loaded { catalog, problems, .. } = load::load(&app.folders, &config);
        report::catalog(&problems);
        Ok(Self { config, catalog: Arc::new(catalog) })
    }

    fn describe(&self, app: &AppFolder) -> String {
        format!(
            "{} and {} of the app in {}",
            report::count(self.catalog.tables().len(), "table"),
            report::count(self.catalog.routes().len(), "route"),
            app.describe()
        )
    }
}

/// Where inputs come from.
enum Inputs {
    Typed(Prompt),
    Given(Given<io::StdinLock<'static>>),
}

impl Inputs {
    /// Those of stdin.
    fn of_process(catalog: &Arc<Catalog>) -> anyhow::Result<Self> {
        if io::stdin().is_terminal() {
            Prompt::start(Arc::clone(catalog)).map(Self::Typed)
        } else {
            Ok(Self::Given(Given::new(io::stdin().lock())))
        }
    }

    fn is_typed(&self) -> bool {
        matches!(self, Self::Typed(_))
    }

    /// From now on these are the tables that are completed.
    fn know(&mut self, catalog: &Arc<Catalog>) {
        if let Self::Typed(prompt) = self {
            prompt.know(Arc::clone(catalog));
        }
    }

    /// The next input, and how problems call its text; nothing at the end.
    async fn next(&mut self) -> anyhow::Result<Option<(String, String)>> {
        match self {
            Self::Typed(prompt) => Ok(match prompt.hear().await? {
                Heard::Input(text) => Some((text, "input".to_owned())),
                Heard::End => None,
            }),
            Self::Given(given) => given.next(),
        }
    }
}
