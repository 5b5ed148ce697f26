//! `qlio lsp`: the language service for editors, on stdin and stdout.
//!
//! In: messages with a head that says how long they are. Out: the same. One thread reads, so that the
//! service knows whether another message waits; all else is done by this one, message by message.

use std::{
    io::{self, BufRead, Read, Write},
    path::{Path, PathBuf},
    sync::mpsc,
    thread,
};

use anyhow::Context;
use clap::Args;
use qlio_language::{App, AppFile, Ending, Host, Server};
use qlio_plan::catalog::FileDiagnostics;
use qlio_syntax::{
    diagnostic::{Diagnostic, Severity},
    source::Span,
};

use super::{Exit, Failure};
use crate::{
    app_folder::AppFolder,
    config::{self, CommandLine, ConfigProblem, Place},
    load,
};

/// Longest message, in bytes: a text, escaped.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// Longest line of a head, in bytes.
const LINE_BYTES_MAX: u64 = 1024;

/// Lines of a head.
const LINES_MAX: usize = 16;

/// Messages that are read ahead.
const WAITING_MAX: usize = 64;

#[derive(Debug, Args)]
pub(super) struct LspArgs {
    /// Folder of the app, unless the editor names one; default the current one.
    #[arg(long, value_name = "DIR")]
    app: Option<PathBuf>,
    /// Editors say so; there is no other way.
    #[arg(long)]
    stdio: bool,
}

pub(super) fn lsp(args: &LspArgs) -> Result<Exit, Failure> {
    let LspArgs { app, stdio: _ } = args;
    let folder = app.clone().map_or_else(std::env::current_dir, Ok).and_then(std::path::absolute);
    let folder = folder.context("there is no current folder")?;
    let (sender, messages) = mpsc::sync_channel(WAITING_MAX);
    // It ends with its input, or with the process.
    thread::spawn(move || {
        let mut input = io::stdin().lock();
        loop {
            let message = read_message(&mut input).transpose();
            let Some(message) = message else { return };
            let is_last = message.is_err();
            if sender.send(message).is_err() || is_last {
                return;
            }
        }
    });
    let mut server = Server::new(Files, &folder.display().to_string());
    let ending = answer_all(&mut server, &messages, &mut io::stdout().lock())
        .context("the conversation with the editor broke")
        .map_err(Failure::failed)?;
    Ok(if ending == Ending::Done { Exit::Success } else { Exit::Failed })
}

fn answer_all(
    server: &mut Server<Files>,
    messages: &mpsc::Receiver<io::Result<String>>,
    output: &mut impl Write,
) -> io::Result<Ending> {
    loop {
        let message = match messages.try_recv() {
            Ok(message) => message,
            Err(mpsc::TryRecvError::Disconnected) => return Ok(server.ending()),
            Err(mpsc::TryRecvError::Empty) => {
                for settled in server.settle() {
                    write_message(output, &settled)?;
                }
                let Ok(message) = messages.recv() else { return Ok(server.ending()) };
                message
            }
        };
        for answer in server.handle(&message?) {
            write_message(output, &answer)?;
        }
        if server.ending() != Ending::Open {
            return Ok(server.ending());
        }
    }
}

/// Reads one message; nothing at the end of the input.
fn read_message(input: &mut impl BufRead) -> io::Result<Option<String>> {
    let invalid = |reason: String| io::Error::new(io::ErrorKind::InvalidData, reason);
    let mut length = None;
    for number in 0.. {
        if number == LINES_MAX {
            return Err(invalid(format!("a head of more than {LINES_MAX} lines")));
        }
        let mut line = Vec::new();
        input.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() && number == 0 {
            return Ok(None);
        }
        if line.last() != Some(&b'\n') {
            return Err(invalid(
                "a head ends in the middle of a line, or a line is too long".into(),
            ));
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim_end();
        if line.is_empty() {
            break;
        }
        let (name, value) = line.split_once(':').unwrap_or((line, ""));
        if name.eq_ignore_ascii_case("content-length") {
            let parsed: Result<usize, _> = value.trim().parse();
            length = Some(parsed.map_err(|_| invalid(format!("`{value}` is no length")))?);
        }
    }
    let length = length.ok_or_else(|| invalid("a head without `Content-Length`".to_owned()))?;
    if length > MESSAGE_BYTES_MAX {
        let reason = format!("a message of {length} bytes, more than {MESSAGE_BYTES_MAX}");
        return Err(invalid(reason));
    }
    // What is declared need not arrive, so memory is taken as it does.
    let mut message = Vec::new();
    input.by_ref().take(length as u64).read_to_end(&mut message)?;
    if message.len() < length {
        return Err(invalid("the input ends in the middle of a message".to_owned()));
    }
    Ok(Some(String::from_utf8_lossy(&message).into_owned()))
}

fn write_message(output: &mut impl Write, message: &str) -> io::Result<()> {
    write!(output, "Content-Length: {}\r\n\r\n{message}", message.len())?;
    output.flush()
}

/// The files of this machine.
struct Files;

impl Host for Files {
    fn load(&mut self, root: &str, open: &[AppFile]) -> App {
        let root = Path::new(root);
        let mut app = AppFolder::at(root);
        let mut problems = Vec::new();
        match AppFolder::find_settings(root) {
            Ok(file) => app.config = file,
            Err(reason) => {
                let file = root.join(crate::app_folder::SETTINGS_FILES[0]);
                let problem = Diagnostic::error(
                    qlio_syntax::diagnostic::codes::BAD_CONFIG,
                    Span::default(),
                    reason.to_string(),
                );
                problems.push(of_file(&file, "", problem));
            }
        }
        let (config, of_settings) = config::read(app.config.as_deref(), &CommandLine::default());
        problems.extend(of_settings.iter().filter_map(of_setting));
        let mut texts = load::AppTexts::read(&app.folders);
        for file in open {
            texts.replace(&file.path, &file.text);
        }
        let loaded = load::load_texts(&app.folders, &config, &texts);
        problems.extend(loaded.problems);
        let files = texts.files();
        let files = files.map(|(path, text)| AppFile { path: path.to_owned(), text: text.into() });
        App { files: files.collect(), catalog: loaded.catalog, problems }
    }
}

fn of_file(file: &Path, text: &str, problem: Diagnostic) -> FileDiagnostics {
    FileDiagnostics {
        file: file.display().to_string().into(),
        text: text.into(),
        diagnostics: vec![problem],
    }
}

/// A problem of the settings, shown in their file.
fn of_setting(problem: &ConfigProblem) -> Option<FileDiagnostics> {
    let Place::File(file, position) = &problem.place else { return None };
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let span = position.map_or(Span::default(), |at| {
        load::span_at(&text, at.line as usize, Some(at.column as usize))
    });
    let diagnostic = match problem.severity() {
        Severity::Error => Diagnostic::error(problem.code(), span, problem.message()),
        Severity::Warning => Diagnostic::warning(problem.code(), span, problem.message()),
    };
    Some(of_file(file, &text, diagnostic))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(mut input: &[u8]) -> Vec<Result<String, String>> {
        let mut found = Vec::new();
        loop {
            match read_message(&mut input) {
                Ok(Some(message)) => found.push(Ok(message)),
                Ok(None) => return found,
                Err(reason) => {
                    found.push(Err(reason.to_string()));
                    return found;
                }
            }
        }
    }

    #[test]
    fn messages_are_read_by_their_lengths() {
        let input = b"Content-Length: 2\r\n\r\n{}content-length:3\r\nX: y\r\n\r\n[1]";
        assert_eq!(read_all(input), [Ok("{}".to_owned()), Ok("[1]".to_owned())]);
    }

    #[test]
    fn a_bad_head_ends_the_conversation() {
        let long = [b'a'; 5000];
        let many = b"a: b\r\n".repeat(20);
        for (input, reason) in [
            (b"Content-Length: x\r\n\r\n".as_slice(), "no length"),
            (b"Content-Length: 99999999999\r\n\r\n", "more than"),
            (b"Content-Length: 99999999999999999999999\r\n\r\n", "no length"),
            (b"X: y\r\n\r\n", "without"),
            (b"Content-Length: 9\r\n\r\n{}", "middle of a message"),
            (b"Content-Length: 9", "middle of a line"),
            (&long, "too long"),
            (&many, "lines"),
        ] {
            let found = read_all(input);
            let last = found.last().expect("an error");
            assert!(last.as_ref().is_err_and(|error| error.contains(reason)), "{reason}: {last:?}");
        }
    }
}
