//! Loads every connector of a folder once, for its name and for its mistakes (CNC-1).
//!
//! In: the files of the folder. Out: connectors by name, broken ones among them, so that a table that names one
//! says why it cannot be used; and what is wrong, by file and line.

use std::{collections::HashMap, path::PathBuf, sync::Arc};

use qlio_plan::catalog::{Connector, ConnectorSource, ScriptFile, SourceFolder};
use qlio_syntax::diagnostic::Severity;

use crate::{
    sandbox::{ConnectorScript, ScriptError},
    settings::HookSettings,
    verb_scripts::sandbox_of,
};

/// The name of the connector that comes with the engine.
const HTTP: &str = "http";

/// Something about a file in the folder of connectors.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConnectorProblem {
    /// An error keeps the connector from being used.
    pub severity: Severity,
    /// What is wrong.
    pub message: String,
    /// The file of the mistake.
    pub file: PathBuf,
    /// 1-based line, if it is known.
    pub line: Option<u32>,
    /// 1-based column, if it is known.
    pub column: Option<u32>,
}

/// Loads the scripts that lie in a folder itself; what lies below is theirs to require.
pub fn load_connectors(
    folder: &Arc<SourceFolder>,
    hooks: HookSettings,
) -> (Vec<Connector>, Vec<ConnectorProblem>) {
    let sandbox = sandbox_of(hooks, None);
    let (mut connectors, mut problems): (Vec<Connector>, _) = (Vec::new(), Vec::new());
    let mut files: HashMap<String, String> = HashMap::new();
    for path in folder.scripts() {
        let file = ScriptFile { folder: Arc::clone(folder), path: path.to_owned() };
        let stem = path.trim_start_matches('/').trim_end_matches(".js");
        let described = ConnectorScript::new(&file, stem).describe(&sandbox);
        let (name, broken) = match described {
            Ok(described) => (described.name.unwrap_or_else(|| stem.to_owned()), None),
            Err(error) => {
                problems.push(failed(&error, &file));
                (stem.to_owned(), Some(error.message))
            }
        };
        let note = |severity, message| ConnectorProblem {
            severity,
            message,
            file: file.place(),
            line: None,
            column: None,
        };
        if name == HTTP {
            let message =
                "`http` is the connector that comes with qlio; give this one another name";
            problems.push(note(Severity::Error, message.to_owned()));
            continue;
        }
        if let Some(earlier) = files.insert(name.clone(), path.to_owned()) {
            let earlier = earlier.trim_start_matches('/');
            let message = format!("connector `{name}` replaces the one of `{earlier}`");
            problems.push(note(Severity::Warning, message));
        }
        connectors.push(Connector { name, source: ConnectorSource::Script(file), broken });
    }
    (connectors, problems)
}

fn failed(error: &ScriptError, file: &ScriptFile) -> ConnectorProblem {
    // The mistake may be in a module that the connector requires.
    let culprit = error.file.as_deref().and_then(|inner| file.folder.resolve("/", inner));
    ConnectorProblem {
        severity: Severity::Error,
        message: error.message.clone(),
        file: file.folder.place(culprit.as_ref().unwrap_or(&file.path)),
        line: error.line,
        column: error.column,
    }
}
