//! The prompt on a terminal: history, completion, colours, inputs of several lines.
//!
//! Editing is a library's, on a thread of its own, so that connections are tended while somebody types. What a word is
//! and what could be written is told by the language service, as editors and the console have it.

use std::{
    borrow::Cow,
    fmt::Write,
    path::PathBuf,
    sync::{Arc, mpsc},
    thread,
};

use anyhow::{Context as _, anyhow};
use qlio_language::{paint, suggest};
use qlio_plan::Catalog;
use rustyline::{
    Behavior, Cmd, Config, Context, Editor, Helper, KeyCode, KeyEvent, Modifiers,
    completion::{Completer, Pair},
    error::ReadlineError,
    highlight::{CmdKind, Highlighter},
    hint::Hinter,
    history::FileHistory,
    validate::{ValidationContext, ValidationResult, Validator},
};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{
    history,
    input::{COMMANDS, goes_on, is_command},
};
use crate::cli::{output::escaped, report};

/// Inputs that are remembered.
const HISTORY_ENTRIES_MAX: usize = 1000;

/// Longer inputs are not remembered, in bytes.
const HISTORY_ENTRY_BYTES_MAX: usize = 64 << 10;

/// Longer inputs are not coloured, in bytes: each key would read them anew.
const COLOURED_BYTES_MAX: usize = 16 << 10;

const PROMPT: &str = "qlio> ";

/// What was heard.
pub(super) enum Heard {
    /// A whole input; empty if it was given up.
    Input(String),
    /// Nothing more will come.
    End,
}

/// What the thread is asked for.
enum Ask {
    Input,
    Know(Arc<Catalog>),
}

/// The prompt.
pub(super) struct Prompt {
    asks: mpsc::Sender<Ask>,
    heard: UnboundedReceiver<Result<Heard, ReadlineError>>,
}

impl Prompt {
    /// Starts a prompt that knows these tables.
    ///
    /// # Errors
    /// The terminal cannot be used.
    pub(super) fn start(catalog: Arc<Catalog>) -> anyhow::Result<Self> {
        let (asks, asked) = mpsc::channel();
        let (hear, heard) = unbounded_channel();
        let reader = Reader::new(catalog).map_err(|reason| unusable(&reason))?;
        // It ends with the last ask, or with the process.
        thread::spawn(move || reader.serve(&asked, &hear));
        Ok(Self { asks, heard })
    }

    /// Waits for an input.
    ///
    /// # Errors
    /// The terminal cannot be used any more.
    pub(super) async fn hear(&mut self) -> anyhow::Result<Heard> {
        let _ = self.asks.send(Ask::Input);
        let heard = self.heard.recv().await.context("the prompt has ended")?;
        heard.map_err(|reason| unusable(&reason))
    }

    /// From now on it knows these tables.
    pub(super) fn know(&self, catalog: Arc<Catalog>) {
        // If it has ended, the next input tells.
        let _ = self.asks.send(Ask::Know(catalog));
    }
}

fn unusable(reason: &ReadlineError) -> anyhow::Error {
    // It names its cause in its own words.
    anyhow!("the terminal cannot be used: {reason}")
}

/// The thread that reads.
struct Reader {
    editor: Editor<Assistant, FileHistory>,
    history: Option<PathBuf>,
}

impl Reader {
    fn new(catalog: Arc<Catalog>) -> rustyline::Result<Self> {
        let config = Config::builder()
            .max_history_size(HISTORY_ENTRIES_MAX)?
            .history_ignore_dups(true)?
            .history_ignore_space(true)
            .completion_show_all_if_ambiguous(true)
            // Results may go elsewhere.
            .behavior(Behavior::PreferTerm)
            .build();
        let mut editor = Editor::with_config(config)?;
        editor.set_helper(Some(Assistant { catalog, has_colour: report::has_colour() }));
        editor.bind_sequence(KeyEvent(KeyCode::Enter, Modifiers::ALT), Cmd::Newline);
        let history = history::file().unwrap_or_else(|reason| {
            report::note(&format!("no history is kept: {reason:#}"));
            None
        });
        // The first time there is none.
        if let Some(file) = history.as_deref().filter(|file| file.exists())
            && let Err(reason) = editor.load_history(file)
        {
            report::note(&format!("`{}` is no history: {reason}", file.display()));
        }
        Ok(Self { editor, history })
    }

    fn serve(
        mut self,
        asked: &mpsc::Receiver<Ask>,
        hear: &UnboundedSender<Result<Heard, ReadlineError>>,
    ) {
        for ask in asked {
            match ask {
                Ask::Know(catalog) => {
                    if let Some(assistant) = self.editor.helper_mut() {
                        assistant.catalog = catalog;
                    }
                }
                Ask::Input => {
                    if hear.send(self.read()).is_err() {
                        return;
                    }
                }
            }
        }
    }

    fn read(&mut self) -> Result<Heard, ReadlineError> {
        match self.editor.readline(PROMPT) {
            Ok(text) => {
                self.remember(text.trim_end());
                Ok(Heard::Input(text))
            }
            Err(ReadlineError::Interrupted) => Ok(Heard::Input(String::new())),
            Err(ReadlineError::Eof) => Ok(Heard::End),
            Err(reason) => Err(reason),
        }
    }

    fn remember(&mut self, text: &str) {
        if text.is_empty() || text.len() > HISTORY_ENTRY_BYTES_MAX {
            return;
        }
        let added = self.editor.add_history_entry(text);
        let kept = match (added, &self.history) {
            (Ok(true), Some(file)) => self.editor.append_history(file),
            (added, _) => added.map(drop),
        };
        if let Err(reason) = kept {
            // Said once; the shell works without.
            self.history = None;
            report::note(&format!("no history is kept: {reason}"));
        }
    }
}

/// What helps while an input is edited.
struct Assistant {
    catalog: Arc<Catalog>,
    has_colour: bool,
}

impl Helper for Assistant {}

impl Hinter for Assistant {
    type Hint = String;
}

impl Completer for Assistant {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        pos: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        Ok(complete(line, pos, &self.catalog))
    }
}

/// What could stand at a place, and where what it replaces begins.
fn complete(line: &str, pos: usize, catalog: &Catalog) -> (usize, Vec<Pair>) {
    let typed = &line[..pos];
    let words = |start: usize, words: &mut dyn Iterator<Item = &str>| {
        let found = words.filter(|word| word.starts_with(&typed[start..]));
        (start, found.map(|word| pair(word, "")).collect())
    };
    if typed.starts_with('.') {
        let Some((command, _)) = typed.split_once(' ') else {
            return words(0, &mut COMMANDS.iter().map(|(name, ..)| *name));
        };
        let start = command.len() + 1;
        return match command {
            ".plan" => {
                let (at, found) = complete_script(&line[start..], pos - start, catalog);
                (at + start, found)
            }
            ".describe" => words(start, &mut catalog.tables().iter().map(|table| &*table.name)),
            ".output" => words(start, &mut ["csv", "json", "ndjson", "table"].into_iter()),
            ".time" => words(start, &mut ["on", "off"].into_iter()),
            _ => (pos, Vec::new()),
        };
    }
    complete_script(line, pos, catalog)
}

fn complete_script(text: &str, pos: usize, catalog: &Catalog) -> (usize, Vec<Pair>) {
    let found = suggest(text, pos, catalog);
    // All of them replace the word at the cursor.
    let start = found.first().map_or(pos, |first| first.replace.start as usize);
    (start, found.iter().map(|one| pair(&one.label, &one.detail)).collect())
}

fn pair(label: &str, detail: &str) -> Pair {
    let gap = if detail.is_empty() { "" } else { "  " };
    let display = escaped(&format!("{label}{gap}{detail}")).into_owned();
    Pair { display, replacement: label.to_owned() }
}

impl Validator for Assistant {
    fn validate(&self, context: &mut ValidationContext<'_>) -> rustyline::Result<ValidationResult> {
        Ok(if goes_on(context.input()) {
            ValidationResult::Incomplete
        } else {
            ValidationResult::Valid(None)
        })
    }
}

impl Highlighter for Assistant {
    fn highlight<'l>(&self, line: &'l str, _: usize) -> Cow<'l, str> {
        if !self.has_colour || is_command(line) || line.len() > COLOURED_BYTES_MAX {
            return Cow::Borrowed(line);
        }
        Cow::Owned(coloured(line, &self.catalog))
    }

    fn highlight_char(&self, _: &str, _: usize, kind: CmdKind) -> bool {
        self.has_colour && kind != CmdKind::MoveCursor
    }
}

/// A script with the colours of a terminal.
fn coloured(text: &str, catalog: &Catalog) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    let mut end = 0;
    for painted in paint(text, catalog) {
        let colour = match painted.kind {
            "keyword" => "35",
            "string" => "32",
            "number" => "33",
            "comment" => "2",
            "class" => "34",
            "function" | "parameter" => "36",
            _ => continue,
        };
        let span = painted.span.range();
        out.push_str(&text[end..span.start]);
        // Writing to a text does not fail.
        let _ = write!(out, "\x1b[{colour}m{}\x1b[0m", &text[span.clone()]);
        end = span.end;
    }
    out.push_str(&text[end..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_change_nothing_but_colours() {
        let catalog = Catalog::default();
        for text in [
            "return select a from t where b = \"x {y}\" -- c",
            "retrn é",
            "",
            "return {\"a\": [1",
            "a = lower('É')\nreturn \"{a}\"",
        ] {
            let mut plain = String::new();
            let shown = coloured(text, &catalog);
            let mut rest = shown.as_str();
            while let Some((before, behind)) = rest.split_once("\x1b[") {
                plain.push_str(before);
                rest = behind.split_once('m').expect("a colour ends").1;
            }
            assert_eq!(plain + rest, text);
        }
        assert!(coloured("return 1", &catalog).starts_with("\x1b[35mreturn\x1b[0m"));
    }

    #[test]
    fn commands_and_scripts_are_completed() {
        let catalog = Catalog::default();
        let found = |line: &str| {
            let (start, pairs) = complete(line, line.len(), &catalog);
            let words: Vec<_> = pairs.into_iter().map(|pair| pair.replacement).collect();
            (start, words)
        };
        assert_eq!(found(".ti"), (0, vec![".time".to_owned()]));
        assert_eq!(found(".output n"), (8, vec!["ndjson".to_owned()]));
        assert_eq!(found(".plan sele"), (6, vec!["select".to_owned()]));
        let (start, words) = found("return sel");
        assert!(start == 7 && words.contains(&"select".to_owned()), "{words:?}");
        assert_eq!(found(".rows "), (6, vec![]));
    }
}
