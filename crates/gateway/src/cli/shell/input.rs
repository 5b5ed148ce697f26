//! What an input of the shell means: a script, or a command that begins with a dot.

use std::fmt::Write;

use anyhow::{anyhow, bail};
use clap::ValueEnum;
use qlio_syntax::{ending::Ending, spelling::closest};

use crate::cli::output::Output;

/// What is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Input<'i> {
    /// Nothing.
    Nothing,
    /// To run a script.
    Script(&'i str),
    /// Something of the shell itself.
    Command(Command<'i>),
}

/// A command of the shell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Command<'i> {
    /// Tables whose name holds this.
    Tables(&'i str),
    /// Routes, the same.
    Routes(&'i str),
    /// A table.
    Describe(&'i str),
    /// The plan of a script, or of the last one.
    Plan(&'i str),
    /// The form of results; without one, which it is.
    Output(Option<Output>),
    /// The most rows of a table on a terminal.
    Rows(usize),
    /// Whether times are told.
    Time(bool),
    /// To load the app anew.
    Reload,
    /// What can be typed.
    Help,
    /// The end.
    Quit,
}

/// The commands, what they take, and what they do.
pub(super) const COMMANDS: [(&str, &str, &str); 10] = [
    (".tables", "[TEXT]", "tables, those whose names hold TEXT"),
    (".routes", "[TEXT]", "routes, those whose paths hold TEXT"),
    (".describe", "TABLE", "what a table can do"),
    (".plan", "[SCRIPT]", "how a script is executed; without one, the last"),
    (".output", "[FORM]", "print results as json, ndjson, csv or table"),
    (".rows", "N|all", "the most rows of a table on a terminal"),
    (".time", "on|off", "tell how long each script took"),
    (".reload", "", "load the settings, tables and routes anew"),
    (".help", "", "this"),
    (".quit", "", "leave"),
];

/// Whether a text is a command: a dot, then a letter.
pub(super) fn is_command(text: &str) -> bool {
    let mut characters = text.trim_start().chars();
    characters.next() == Some('.')
        && characters.next().is_some_and(|next| next.is_ascii_alphabetic())
}

/// The script that a text is or asks about, if it does.
fn script_of(text: &str) -> Option<&str> {
    if !is_command(text) {
        return Some(text);
    }
    let script = text.trim_start().strip_prefix(".plan")?;
    script.starts_with(char::is_whitespace).then_some(script)
}

/// Whether the grammar misses something at the end of a text.
pub(super) fn is_unfinished(text: &str) -> bool {
    script_of(text).is_some_and(|script| Ending::of(script) == Ending::Unfinished)
}

/// Whether a typed text goes on: something is missing, or it only introduces a name. An empty line ends it all the
/// same.
pub(super) fn goes_on(text: &str) -> bool {
    let has_empty_line = text.rsplit_once('\n').is_some_and(|(_, last)| last.trim().is_empty());
    if has_empty_line {
        return false;
    }
    match script_of(text).map(Ending::of) {
        Some(Ending::Unfinished) => true,
        Some(Ending::Introduction) => !is_command(text),
        Some(Ending::Whole) | None => false,
    }
}

/// Reads an input.
///
/// # Errors
/// A command that is not known, or does not take what stands behind it.
pub(super) fn read(text: &str) -> anyhow::Result<Input<'_>> {
    let trimmed = text.trim();
    if trimmed.is_empty() {
        return Ok(Input::Nothing);
    }
    if !is_command(trimmed) {
        // Problems tell lines and columns of what was typed.
        return Ok(Input::Script(text));
    }
    let (name, rest) = trimmed.split_once(char::is_whitespace).unwrap_or((trimmed, ""));
    let rest = rest.trim();
    let takes = |what: &str| anyhow!("{name} takes {what}, not `{rest}`");
    let command = match name {
        ".tables" => Command::Tables(rest),
        ".routes" => Command::Routes(rest),
        ".describe" if rest.is_empty() => bail!(".describe needs the name of a table"),
        ".describe" => Command::Describe(rest),
        ".plan" => Command::Plan(rest),
        ".output" if rest.is_empty() => Command::Output(None),
        ".output" => {
            Command::Output(Some(Output::from_str(rest, true).map_err(|_| takes(Output::NAMES))?))
        }
        ".rows" if rest == "all" => Command::Rows(usize::MAX),
        ".rows" => Command::Rows(rest.parse().map_err(|_| takes("a number or `all`"))?),
        ".time" => match rest {
            "on" => Command::Time(true),
            "off" => Command::Time(false),
            _ => return Err(takes("`on` or `off`")),
        },
        ".reload" | ".help" | ".quit" | ".exit" if !rest.is_empty() => {
            return Err(takes("nothing"));
        }
        ".reload" => Command::Reload,
        ".help" => Command::Help,
        ".quit" | ".exit" => Command::Quit,
        _ => {
            let meant = closest(name, COMMANDS.iter().map(|(known, ..)| *known));
            let advice = meant
                .map_or(".help lists them".to_owned(), |meant| format!("did you mean {meant}?"));
            bail!("there is no command {name}; {advice}");
        }
    };
    Ok(Input::Command(command))
}

/// What `.help` prints.
pub(super) fn help() -> String {
    let mut text = String::from(
        "A script runs when it is complete; what only introduces a name, such as `a = …`, waits for what follows.\n\
         An empty line ends an input, Alt-Enter begins a line, Ctrl-C gives up what is typed or runs, Ctrl-D leaves.\n\n",
    );
    for (name, argument, does) in COMMANDS {
        let head = format!("{name} {argument}");
        // Writing to a text does not fail.
        let _ = writeln!(text, "{head:<18}{does}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_understood() {
        for (text, command) in [
            (".tables", Command::Tables("")),
            (" .tables shop ", Command::Tables("shop")),
            (".plan return 1\n", Command::Plan("return 1")),
            (".output CSV", Command::Output(Some(Output::Csv))),
            (".output", Command::Output(None)),
            (".rows 20", Command::Rows(20)),
            (".rows all", Command::Rows(usize::MAX)),
            (".time off", Command::Time(false)),
            (".reload", Command::Reload),
            (".exit", Command::Quit),
        ] {
            assert_eq!(read(text).unwrap(), Input::Command(command), "{text}");
        }
        assert_eq!(read(" \n").unwrap(), Input::Nothing);
        assert_eq!(read(" return 1\n").unwrap(), Input::Script(" return 1\n"));
        assert_eq!(read(".5").unwrap(), Input::Script(".5"), "no command begins with a digit");
    }

    #[test]
    fn what_is_no_command_says_what_to_write() {
        for (text, advice) in [
            (".output xml", "json, ndjson, csv or table"),
            (".rows -1", "a number or `all`"),
            (".time", "`on` or `off`"),
            (".quit now", "takes nothing"),
            (".describe", "needs the name"),
            (".table", "did you mean .tables?"),
            (".dance", ".help"),
        ] {
            assert!(read(text).unwrap_err().to_string().contains(advice), "{text}");
        }
    }

    #[test]
    fn help_names_every_command() {
        let text = help();
        assert!(COMMANDS.iter().all(|(name, ..)| text.contains(&format!("\n{name} "))));
        // And there is no other.
        assert!(COMMANDS.iter().all(|(name, ..)| {
            read(name).map_or_else(|error| !error.to_string().contains("no command"), |_| true)
        }));
    }

    #[test]
    fn a_typed_script_goes_on_until_it_is_complete_or_a_line_is_empty() {
        for text in
            ["return {", "a = 1", "a = 1\nb = 2", ".plan select", "create table t on select get"]
        {
            assert!(goes_on(text), "{text}");
        }
        for text in [
            "return 1",
            "a = 1\n",
            "return {\n",
            "a = 1\nreturn a",
            ".tables",
            ".plan a = 1",
            "",
            ".describe a",
        ] {
            assert!(!goes_on(text), "{text}");
        }
    }
}
