//! The script argument of `run` and `plan`: a file, `-` for stdin, or `-e 'script'`.

use std::io::Read;

use anyhow::Context;
use clap::Args;

/// Where the script comes from.
#[derive(Debug, Clone, Args)]
pub(super) struct ScriptArgs {
    /// Script file; `-` reads standard input.
    #[arg(value_name = "FILE", required_unless_present = "expression")]
    file: Option<String>,
    /// The script itself.
    #[arg(
        short = 'e',
        long = "expression",
        value_name = "SCRIPT",
        conflicts_with = "file",
        allow_hyphen_values = true
    )]
    expression: Option<String>,
}

/// A script and how to call it in messages.
pub(super) struct Script {
    pub(super) name: String,
    pub(super) text: String,
}

impl ScriptArgs {
    /// Reads the script.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(super) fn read(&self) -> anyhow::Result<Script> {
        if let Some(text) = &self.expression {
            return Ok(Script { name: "expression".to_owned(), text: text.clone() });
        }
        let file = self.file.as_deref().unwrap_or("-");
        if file == "-" {
            let mut text = String::new();
            std::io::stdin().read_to_string(&mut text).context("cannot read standard input")?;
            return Ok(Script { name: "stdin".to_owned(), text });
        }
        let text =
            std::fs::read_to_string(file).with_context(|| format!("cannot read `{file}`"))?;
        Ok(Script { name: file.to_owned(), text })
    }
}
