//! What `qlio serve --dev` does for a draft of the console: the file, and what the app would be with it (CSL-7).
//!
//! In: where the app is, and a draft. Out: what the file holds, and what is wrong with the text; the file written, if
//! that is wanted and nothing is wrong. A text is checked as part of the whole app, read from its files at this moment,
//! so that a route which is taken already, or a setting that is missing, is told before anything is written.

use std::path::PathBuf;

use qlio_data::{Value, redact::redact};
use qlio_plan::catalog::FileDiagnostics;
use qlio_syntax::diagnostic::{Diagnostic, Severity};

use super::served_app::AppReader;
use crate::{
    admin::problem_of,
    app_folder::AppFolder,
    config,
    load::{self, AppTexts},
    reload::draft::{Draft, Drafted, Refusal, Wish},
    route_file::{RouteFile, version_of},
};

/// Problems that are told of a draft.
const PROBLEMS_MAX: usize = 50;

/// The folder for routes of an app, whether it is there or not.
pub(super) fn routes_folder(folder: &AppFolder) -> PathBuf {
    folder.folders.routes.clone().unwrap_or_else(|| folder.folders.root.join("routes"))
}

/// Reads, checks, writes or removes a route file. `errors` is how many there are in the app that is served.
///
/// # Errors
/// The file is another one by now, or none that may be written; the text has errors.
pub(super) fn draft(
    reader: &AppReader,
    folder: &AppFolder,
    errors: usize,
    draft: &Draft,
) -> Result<Drafted, Refusal> {
    let file = RouteFile::find(&routes_folder(folder), &draft.file)?;
    let before = file.read()?;
    let mut drafted = Drafted {
        file: draft.file.as_str().to_owned(),
        version: before.as_deref().map(version_of),
        before,
        routes: Vec::new(),
        problems: Value::array(Vec::new()),
        is_written: false,
        outcome: None,
    };
    match &draft.wish {
        Wish::Read => {}
        Wish::Check(text) => {
            let checked = check(reader, folder, &file, text, errors);
            (drafted.routes, drafted.problems) = (checked.routes, checked.problems);
        }
        Wish::Write { text: Some(text), version } => {
            let checked = check(reader, folder, &file, text, errors);
            if let Some(reason) = checked.reason {
                return Err(Refusal::new(422, reason).with("problems", checked.problems));
            }
            file.write(text, version.as_deref())?;
            (drafted.routes, drafted.problems) = (checked.routes, checked.problems);
            (drafted.version, drafted.is_written) = (Some(version_of(text)), true);
        }
        Wish::Write { text: None, version } => {
            file.remove(version.as_deref())?;
            (drafted.version, drafted.is_written) = (None, true);
        }
    }
    Ok(drafted)
}

/// What the app would be with a text.
struct Checked {
    /// The methods and paths of its routes.
    routes: Vec<(String, String)>,
    problems: Value,
    /// Why it must not be written, if it must not.
    reason: Option<String>,
}

fn check(
    reader: &AppReader,
    folder: &AppFolder,
    file: &RouteFile,
    text: &str,
    errors: usize,
) -> Checked {
    let (config, _) = config::read(folder.config.as_deref(), &reader.command_line);
    let mut folders = folder.folders.clone();
    folders.routes = Some(routes_folder(folder));
    let path = file.path.display().to_string();
    let mut texts = AppTexts::read(&folders);
    texts.put_route(&path, text);
    let loaded = load::load_texts(&folders, &config, &texts);
    let is_own = |problems: &&FileDiagnostics| *problems.file == *path;
    let own = loaded.problems.iter().filter(is_own);
    let others = loaded.problems.iter().filter(|problems| !is_own(problems));
    let errors_of = |problems: &FileDiagnostics| {
        let is_error = |problem: &&Diagnostic| problem.severity == Severity::Error;
        problems.diagnostics.iter().filter(is_error).count()
    };
    let own_errors: usize = own.clone().map(errors_of).sum();
    let all_errors = own_errors + others.clone().map(errors_of).sum::<usize>();
    let routes = loaded.catalog.routes().iter().filter(|route| *route.file == *path);
    let routes: Vec<_> =
        routes.map(|route| (route.method.to_uppercase(), route.path.clone())).collect();
    let reason = if own_errors > 0 {
        Some("the text has errors; nothing was written".to_owned())
    } else if all_errors > errors {
        Some("with this route the app would have errors elsewhere; nothing was written".to_owned())
    } else if routes.is_empty() {
        Some("the text is no route: it has no `via route`; nothing was written".to_owned())
    } else {
        None
    };
    let told = own.chain(others).flat_map(|file| {
        file.diagnostics.iter().map(|problem| problem_of(&file.file, &file.text, problem))
    });
    let problems = redact(told.take(PROBLEMS_MAX).collect(), &config.secrets);
    Checked { routes, problems, reason }
}
