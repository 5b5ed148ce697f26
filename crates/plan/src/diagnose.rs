//! All that is wrong with a text, without running it: for editors.
//!
//! In: a text and a catalog. Out: every error and warning, in text order. Total on any text, pure;
//! what is found first keeps later stages from guessing: the names of a text with a syntax error are
//! not looked at.

use qlio_syntax::{
    diagnostic::{Code, Diagnostic, codes, shorten},
    limits::Limits,
};

use crate::{
    catalog::{Catalog, NoResources},
    lower::{CompileOptions, Origin, compile_all},
};

/// The codes of problems with files that cannot be read.
const FILE_CODES: &[Code] = &[
    codes::MISSING_BODY_TEMPLATE,
    codes::MISSING_PATCH,
    codes::MISSING_AUTH_MODULE,
    codes::MISSING_TRANSFORMER,
    codes::MISSING_SCHEMA,
];

/// Every problem of a script, a route or a table file. The files that its tables name are out of
/// reach, so nothing is said of them.
pub fn diagnose(text: &str, catalog: &Catalog) -> Vec<Diagnostic> {
    let options = CompileOptions { origin: Origin::Stored, file: "", resources: &NoResources };
    let mut problems = diagnose_with(text, catalog, &options);
    problems.retain(|problem| !FILE_CODES.contains(&problem.code));
    problems
}

/// Every problem of a text that would be compiled with these options.
pub fn diagnose_with(
    text: &str,
    catalog: &Catalog,
    options: &CompileOptions<'_>,
) -> Vec<Diagnostic> {
    let (_, mut problems) = compile_all(text, catalog, options);
    problems.sort_by_key(|problem| problem.primary.span);
    shorten(&mut problems, Limits::default().diagnostics_max);
    problems
}
