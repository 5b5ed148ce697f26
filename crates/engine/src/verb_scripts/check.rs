//! Loads every script of a catalog once, so that mistakes are found when it is loaded and not by the
//! first request that needs them.
//!
//! In: a catalog. Out: what is wrong or odd, by file and line. Templates in EJS are not looked at:
//! some in the wild are broken and never used (CON-48).

use std::path::{Path, PathBuf};

use qlio_data::Text;
use qlio_plan::{Catalog, catalog::ScriptFile};
use qlio_syntax::diagnostic::{Code, Severity, codes};

use super::{ScriptFault, VerbScripts, form_fault, sandbox_of};
use crate::settings::HookSettings;

/// Something about a patch, auth module, transformer or body template of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptProblem {
    /// The table that names the file.
    pub table: Text,
    /// `BAD_PATCH` or `BAD_BODY_TEMPLATE`.
    pub code: Code,
    /// An error fails every statement on the verb.
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

/// Loads the scripts of all tables under the limits of hooks.
/// Problems come in the order of the tables, each once per table. Tables stay usable: what does not
/// need the broken script works.
pub fn check_scripts(catalog: &Catalog, hooks: HookSettings) -> Vec<ScriptProblem> {
    let sandbox = sandbox_of(hooks, None);
    let mut problems: Vec<ScriptProblem> = Vec::new();
    for table in catalog.tables() {
        let first = problems.len();
        let mut add = |problem: ScriptProblem| {
            if !problems[first..].contains(&problem) {
                problems.push(problem);
            }
        };
        for verb in table.verbs() {
            if let Some(fault) = form_fault(table, verb) {
                add(found(&table.name, Severity::Error, fault));
            }
            if !VerbScripts::is_needed(verb) {
                continue;
            }
            match VerbScripts::load(&sandbox, table, verb) {
                Err(faults) => {
                    let faults = faults.into_iter();
                    faults.for_each(|fault| add(found(&table.name, Severity::Error, fault)));
                }
                Ok(scripts) => {
                    for note in scripts.notes.iter().cloned() {
                        add(found(&table.name, Severity::Warning, note));
                    }
                    let file = verb.patch.as_ref().map(ScriptFile::place).unwrap_or_default();
                    let warnings = scripts.warnings().iter();
                    warnings.for_each(|text| add(warning(&table.name, &file, text)));
                }
            }
        }
    }
    problems
}

fn found(table: &Text, severity: Severity, fault: ScriptFault) -> ScriptProblem {
    ScriptProblem {
        table: table.clone(),
        code: fault.code,
        severity,
        message: fault.reason,
        file: fault.file,
        line: fault.line,
        column: fault.column,
    }
}

fn warning(table: &Text, file: &Path, text: &str) -> ScriptProblem {
    ScriptProblem {
        table: table.clone(),
        code: codes::BAD_PATCH,
        severity: Severity::Warning,
        message: text.to_owned(),
        file: file.to_owned(),
        line: None,
        column: None,
    }
}
