//! Reading case files: from text, from one file, from a folder with everything below it.
//!
//! Words keep their meaning of YAML 1.2: `on`, `yes`, `n` and `NaN` are texts, only `true` and
//! `false` are truth values. A duplicate key, an unknown key and a duplicate id are errors with the
//! place in the file.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use super::Case;

/// How deep a folder of case files may nest.
const FOLDER_DEPTH_MAX: usize = 16;

/// The cases of one file.
#[derive(Debug, Clone)]
pub struct CaseFile {
    /// Where the file lies.
    pub path: PathBuf,
    /// Its cases in file order.
    pub cases: Vec<Case>,
}

/// A case file that can not be used.
#[derive(Debug)]
pub struct LoadError {
    path: PathBuf,
    reason: String,
}

impl LoadError {
    fn new(path: &Path, reason: impl fmt::Display) -> Self {
        Self { path: path.to_owned(), reason: reason.to_string() }
    }

    /// The file or folder at fault.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl fmt::Display for LoadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.reason)
    }
}

impl std::error::Error for LoadError {}

/// Reads the cases of a text.
///
/// # Errors
/// Says what is wrong, with line and column where the YAML reader knows them.
pub fn parse_cases(text: &str) -> Result<Vec<Case>, String> {
    let options = serde_saphyr::options! { strict_booleans: true };
    let cases: Vec<Case> = serde_saphyr::from_str_with_options(text, options)
        .map_err(|error| error.to_string().trim_end().to_owned())?;
    let mut ids = BTreeSet::new();
    for case in &cases {
        if !ids.insert(case.id.as_str()) {
            return Err(format!("two cases with the id `{}`", case.id));
        }
        if let Some(problem) = case.problem() {
            return Err(format!("case `{}`: {problem}", case.id));
        }
    }
    Ok(cases)
}

/// Reads one case file.
///
/// # Errors
/// Names the file and what is wrong with it.
pub fn load_file(path: &Path) -> Result<CaseFile, LoadError> {
    let text = fs::read_to_string(path).map_err(|error| LoadError::new(path, error))?;
    let cases = parse_cases(&text).map_err(|reason| LoadError::new(path, reason))?;
    Ok(CaseFile { path: path.to_owned(), cases })
}

/// Reads every `*.yaml` below a folder, in byte-wise order of their paths. Returns the good files
/// and the bad ones, so that one slip does not hide a thousand cases.
pub fn load_folder(folder: &Path) -> (Vec<CaseFile>, Vec<LoadError>) {
    let mut paths = Vec::new();
    let mut errors = Vec::new();
    collect(folder, 0, &mut paths, &mut errors);
    paths.sort();
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        match load_file(&path) {
            Ok(file) => files.push(file),
            Err(error) => errors.push(error),
        }
    }
    (files, errors)
}

fn collect(folder: &Path, depth: usize, paths: &mut Vec<PathBuf>, errors: &mut Vec<LoadError>) {
    if depth > FOLDER_DEPTH_MAX {
        errors.push(LoadError::new(folder, "folders nest too deep"));
        return;
    }
    let entries = match fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) => {
            errors.push(LoadError::new(folder, error));
            return;
        }
    };
    for entry in entries {
        match entry {
            Err(error) => errors.push(LoadError::new(folder, error)),
            Ok(entry) => {
                let path = entry.path();
                if path.is_dir() {
                    collect(&path, depth + 1, paths, errors);
                } else if path.extension().is_some_and(|ending| ending == "yaml") {
                    paths.push(path);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn value_of(text: &str) -> serde_json::Value {
        let text = format!("- id: a\n  why: b\n  script: c\n  expect: {{value: {text}}}\n");
        parse_cases(&text).unwrap().remove(0).expect.value.unwrap()
    }

    #[test]
    fn words_that_yaml_1_1_takes_for_something_else_stay_text() {
        let value = value_of("[NaN, on, off, yes, no, n, y, inf, 2020-01-01, OK]");
        let words = json!(["NaN", "on", "off", "yes", "no", "n", "y", "inf", "2020-01-01", "OK"]);
        assert_eq!(value, words);
    }

    #[test]
    fn numbers_truth_values_and_null_are_read_as_such() {
        let value = value_of("[1, -2.5, 1e3, true, false, null, 9007199254740993]");
        assert_eq!(value, json!([1, -2.5, 1000.0, true, false, null, 9_007_199_254_740_993_i64]));
    }

    #[test]
    fn quoted_scalars_are_text() {
        assert_eq!(value_of(r#"["1", 'null', "n"]"#), json!(["1", "null", "n"]));
    }

    #[test]
    fn an_unknown_key_is_an_error_with_its_line() {
        let text = "- id: a\n  why: b\n  script: c\n  expct: {value: 1}\n";
        let error = parse_cases(text).unwrap_err();
        assert!(error.contains("expct") && error.contains("line 4"), "{error}");
        let text = "- id: a\n  why: b\n  script: c\n  expect: {vaule: 1}\n";
        assert!(parse_cases(text).unwrap_err().contains("vaule"));
    }

    #[test]
    fn a_duplicate_id_is_an_error() {
        let one = "- {id: a, why: b, script: c, expect: {value: 1}}\n";
        assert!(parse_cases(&format!("{one}{one}")).unwrap_err().contains("two cases"));
    }

    #[test]
    fn a_case_without_script_and_requests_is_an_error() {
        let error = parse_cases("- {id: a, why: b, expect: {value: 1}}\n").unwrap_err();
        assert!(error.contains("one of `script`, `http` and `websocket`"), "{error}");
    }

    #[test]
    fn an_expected_null_differs_from_nothing_expected() {
        let text = "- {id: a, why: b, script: c, expect: {value: null}}\n";
        assert_eq!(parse_cases(text).unwrap()[0].expect.value, Some(json!(null)));
        let text = "- {id: a, why: b, script: c, expect: {}}\n";
        assert!(parse_cases(text).unwrap_err().contains("either `value` or `error`"));
    }

    #[test]
    fn one_request_and_a_list_of_requests_are_both_read() {
        let one = "- {id: a, why: b, http: {path: /x}, expect: {status: 200}}\n";
        assert_eq!(parse_cases(one).unwrap()[0].http[0].method, "GET");
        let two = "- id: a\n  why: b\n  http: [{path: /x}, {path: /y}]\n  expect: {responses: [{status: 200}, {status: 404}]}\n";
        assert_eq!(parse_cases(two).unwrap()[0].http.len(), 2);
    }
}
