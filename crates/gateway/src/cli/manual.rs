//! `qlio completions` and `qlio man`: what shells and readers of manuals know of the command line.
//!
//! Both are made from the definition of the command line, so that they say what this executable takes.

use std::io;

use clap::{Args, CommandFactory};
use clap_complete::Shell;
use clap_mangen::Man;

use super::{Cli, Exit, report};

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

pub(super) fn completions(args: &CompletionsArgs) -> Exit {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), NAME, &mut script);
    print(script)
}

pub(super) fn man(args: &ManArgs) -> Exit {
    let mut program = Cli::command();
    program.build();
    let page = match &args.command {
        None => program,
        Some(name) => {
            let Some(found) = program.find_subcommand(name) else {
                let names: Vec<_> =
                    program.get_subcommands().map(clap::Command::get_name).collect();
                let names = names.join("`, `");
                report::error(&format!("no command is called `{name}`; there are `{names}`"));
                return Exit::Usage;
            };
            found.clone()
        }
    };
    // The version alone: the kind of build belongs to `--version`.
    let page = page.version(env!("CARGO_PKG_VERSION"));
    let mut text = Vec::new();
    match Man::new(page).render(&mut text) {
        Ok(()) => print(text),
        Err(error) => fail(&error),
    }
}

/// The executable.
const NAME: &str = "qlio";

fn print(text: Vec<u8>) -> Exit {
    match String::from_utf8(text) {
        Ok(text) => {
            report::raw(&text);
            Exit::Success
        }
        Err(error) => fail(&io::Error::other(error)),
    }
}

fn fail(error: &io::Error) -> Exit {
    report::error(&format!("cannot write the text: {error}"));
    Exit::Failed
}
