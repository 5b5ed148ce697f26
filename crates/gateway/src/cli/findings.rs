//! The findings of `qlio check` for programs: JSON, or SARIF 2.1.0 for services that show it beside the
//! code.
//!
//! In: the problems of a catalog and of settings. Out: one JSON text. For people they are printed by
//! [`report`](super::report).

use std::path::Path;

use qlio_data::{Object, Value, codec::json, percent};
use qlio_plan::catalog::FileDiagnostics;
use qlio_syntax::{
    diagnostic::{Code, Severity},
    source::{LineIndex, Position},
};

use super::explain;
use crate::config::{ConfigProblem, Place};

/// The version of the JSON form; it grows if members change their meaning.
const JSON_VERSION: usize = 1;

const SARIF_SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// One problem, at its place.
pub(super) struct Finding {
    code: Code,
    severity: Severity,
    message: String,
    /// The file, if it is not about the command line.
    file: Option<String>,
    /// Where it begins, and where it ends, if that is known.
    from: Option<Position>,
    to: Option<Position>,
    hints: Vec<String>,
}

/// All problems, those of the settings first.
pub(super) fn all(settings: &[ConfigProblem], catalog: &[FileDiagnostics]) -> Vec<Finding> {
    let settings = settings.iter().map(|problem| {
        let (file, from) = match &problem.place {
            Place::File(file, position) => (Some(file.display().to_string()), *position),
            Place::Flag(_) | Place::Variable(_) => (None, None),
        };
        let message = match &problem.place {
            Place::File(..) => problem.message(),
            Place::Flag(_) | Place::Variable(_) => problem.to_string(),
        };
        let (code, severity) = (problem.code(), problem.severity());
        Finding { code, severity, message, file, from, to: None, hints: Vec::new() }
    });
    let catalog = catalog.iter().flat_map(|file| {
        let lines = LineIndex::new(&file.text);
        // Without the text there is only the file.
        let place =
            move |offset| (!file.text.is_empty()).then(|| lines.position(&file.text, offset));
        file.diagnostics.iter().map(move |problem| Finding {
            code: problem.code,
            severity: problem.severity,
            message: problem.message.clone(),
            file: Some(file.file.to_string()),
            from: place(problem.primary.span.start),
            to: place(problem.primary.span.end),
            hints: problem.hints.clone(),
        })
    });
    settings.chain(catalog).collect()
}

/// The problems as one JSON object, behind these counts.
pub(super) fn to_json(findings: &[Finding], counts: &[(usize, &str)]) -> String {
    let problems = findings.iter().map(|finding| {
        let mut members = Object::new();
        members.insert("code", Value::from(explain::number(finding.code)));
        members.insert("name", Value::from(finding.code.slug));
        members.insert("severity", Value::from(severity(finding.severity)));
        members.insert("message", Value::from(finding.message.as_str()));
        if let Some(file) = &finding.file {
            members.insert("file", Value::from(file.as_str()));
        }
        finding.add_place(&mut members, ["line", "column", "endLine", "endColumn"]);
        if !finding.hints.is_empty() {
            let hints = finding.hints.iter().map(|hint| Value::from(hint.as_str()));
            members.insert("hints", Value::array(hints.collect()));
        }
        Value::object(members)
    });
    let problems = Value::array(problems.collect());
    let mut members = Object::new();
    members.insert("version", Value::from(JSON_VERSION));
    for (count, noun) in counts {
        members.insert(format!("{noun}s"), Value::from(*count));
    }
    members.insert("problems", problems);
    json::to_string(&Value::object(members))
}

/// The problems as a log of SARIF 2.1.0 with one run.
pub(super) fn to_sarif(findings: &[Finding]) -> String {
    let mut codes: Vec<Code> = findings.iter().map(|finding| finding.code).collect();
    codes.sort_unstable();
    codes.dedup();
    let rules = codes.iter().map(|code| {
        let mut help = vec![("text", Value::from(code.title))];
        help.extend(explain::page(*code).map(|page| ("markdown", Value::from(page))));
        object([
            ("id", Value::from(explain::number(*code))),
            ("name", Value::from(code.slug)),
            ("shortDescription", object([("text", Value::from(code.title))])),
            ("help", object(help)),
        ])
    });
    let driver = object([
        ("name", Value::from("qlio")),
        ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ("rules", Value::array(rules.collect())),
    ]);
    let results = findings.iter().map(|finding| {
        let rule = codes.binary_search(&finding.code).unwrap_or_default();
        let mut text = finding.message.clone();
        for hint in &finding.hints {
            text.push_str("\n\n");
            text.push_str(hint);
        }
        let mut members = vec![
            ("ruleId", Value::from(explain::number(finding.code))),
            ("ruleIndex", Value::from(rule)),
            ("level", Value::from(severity(finding.severity))),
            ("message", object([("text", Value::from(text))])),
        ];
        if let Some(file) = &finding.file {
            let mut place =
                vec![("artifactLocation", object([("uri", Value::from(uri(Path::new(file))))]))];
            let mut region = Object::new();
            finding.add_place(&mut region, ["startLine", "startColumn", "endLine", "endColumn"]);
            if finding.from.is_some() {
                place.push(("region", Value::object(region)));
            }
            let location = object([("physicalLocation", object(place))]);
            members.push(("locations", Value::array(vec![location])));
        }
        object(members)
    });
    let run = object([
        ("tool", object([("driver", driver)])),
        ("columnKind", Value::from("unicodeCodePoints")),
        ("results", Value::array(results.collect())),
    ]);
    json::to_string(&object([
        ("$schema", Value::from(SARIF_SCHEMA)),
        ("version", Value::from("2.1.0")),
        ("runs", Value::array(vec![run])),
    ]))
}

impl Finding {
    pub(super) fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }

    /// Adds lines and columns under these names, from 1 on; the end is the column behind the last one.
    fn add_place(&self, members: &mut Object, [line, column, end_line, end_column]: [&str; 4]) {
        for (position, line, column) in [(self.from, line, column), (self.to, end_line, end_column)]
        {
            if let Some(position) = position {
                members.insert(line, Value::from(u64::from(position.line)));
                members.insert(column, Value::from(u64::from(position.column)));
            }
        }
    }
}

fn object<'n>(members: impl IntoIterator<Item = (&'n str, Value)>) -> Value {
    Value::object(members.into_iter().collect())
}

fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}

/// A path as the reference to a URI: relative ones stay so, for readers know their own root.
fn uri(path: &Path) -> String {
    let mut uri = String::from(if path.is_absolute() { "file://" } else { "" });
    for (at, part) in path.to_string_lossy().split('/').enumerate() {
        if at > 0 {
            uri.push('/');
        }
        percent::encode_component(part, &mut uri);
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_become_references() {
        assert_eq!(uri(Path::new("routes/a b#1.ql")), "routes/a%20b%231.ql");
        assert_eq!(uri(Path::new("/srv/app/é.ql")), "file:///srv/app/%C3%A9.ql");
    }
}
