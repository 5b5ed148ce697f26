//! `qlio completions` and `qlio man`: what shells and readers of manuals know of the command line.
//!
//! Both are made from the definition of the command line, so that they say what this executable takes.

use anyhow::{Context, anyhow};
use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, Exit, Failure, report};

#[derive(Debug, Args)]
pub(super) struct CompletionsArgs {
    /// For which shell.
    shell: Shell,
}

#[derive(Debug, Args)]
pub(super) struct ManArgs {
    /// The page of this command, such as `serve`; default that of `qlio` itself.
    command: Option<String>,
}

pub(super) fn completions(args: &CompletionsArgs) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    print(script)
}

pub(super) fn man(args: &ManArgs) -> Result<Exit, Failure> {
    let mut program = Cli::command();
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => {
            let Some(found) = program.find_subcommand(name) else {
                let names: Vec<_> =
                    program.get_subcommands().map(clap::Command::get_name).collect();
                let names = names.join("`, `");
                return Err(anyhow!("no command is called `{name}`; there are `{names}`").into());
            };
            found.clone()
        }
    };
    // The version alone: the kind of build belongs to `--version`.
    let page = page.version(env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    Man::new(page).render(&mut text).context(LOST).map_err(Failure::failed)?;
    print(text)
}

/// The executable.
const NAME: &str = "qlio";

/// What is told of a text that cannot be made.
const LOST: &str = "cannot write the text";

fn print(text: Vec<u8>) -> Result<Exit, Failure> {
    report::raw(&String::from_utf8(text).context(LOST).map_err(Failure::failed)?);
    Ok(Exit::Success)
}
