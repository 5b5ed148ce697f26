//! From a directory to tests: the only part that reads their files.
//!
//! Files are gathered by the test they belong to. A mock or an expectation of no test, a file that is
//! there twice or can not be read becomes a failing test of its own, named like the file. Other files
//! are data and modules for hooks and scripts, unless their name is a slip of one that means something.

use std::{
    collections::{BTreeMap, HashMap},
    fs, io,
    path::{Path, PathBuf},
    str::Utf8Error,
};

use bytes::Bytes;
use hyper::header::HeaderValue;
use qlio_data::{Value, codec::json};
use qlio_syntax::{source::LineIndex, spelling::closest};

use super::{
    Action, Place, Problem, TestCase, Text,
    file_name::{self, FileNameError, Kind},
    route_table,
};
use crate::mock::{Behaviour, canned::CannedAnswer};

/// How many files a directory may have.
const FILES_MAX: usize = 100_000;
/// How many tests a directory may tell.
const TESTS_MAX: usize = 10_000;
/// The largest file of a test, in bytes.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// The tests of a directory, in the order they are reported.
#[derive(Debug, Default)]
pub(crate) struct Collected {
    /// The tests.
    pub cases: Vec<TestCase>,
    /// How many files the directory has.
    pub files: usize,
    /// The files that mean nothing to a test by their names.
    pub ignored: Vec<String>,
}

/// The files of one test besides what it runs.
#[derive(Default)]
struct Parts {
    request: Option<(HeaderValue, Bytes)>,
    case: TestCase,
    /// The files, for what belongs to no test.
    files: Vec<String>,
}

/// Why a file of a test can not be used, whatever it is for.
#[derive(Debug, thiserror::Error)]
enum FileError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it has {0} bytes, more than the limit of {FILE_BYTES_MAX}")]
    TooLarge(u64),
    #[error("it is not UTF-8 at byte {}", .0.valid_up_to())]
    NotUtf8(#[from] Utf8Error),
}

/// Reads a directory. One that can not be read is one failing test `initFailed`.
pub(crate) fn collect(directory: &Path) -> Collected {
    let failed = |reason: &str| {
        let message =
            format!("the test directory `{}` can not be read: {reason}", directory.display());
        let problems = vec![Problem::new(message)];
        let case = TestCase { name: "initFailed".to_owned(), problems, ..TestCase::default() };
        Collected { cases: vec![case], ..Collected::default() }
    };
    let mut names = Vec::new();
    let entries = match fs::read_dir(directory) {
        Ok(entries) => entries,
        Err(error) => return failed(&error.to_string()),
    };
    for entry in entries {
        let entry = match entry {
            Ok(entry) => entry,
            Err(error) => return failed(&error.to_string()),
        };
        if names.len() == FILES_MAX {
            return failed(&format!("more than {FILES_MAX} files"));
        }
        // A name that is no text can not be the name of a test.
        if let Ok(name) = entry.file_name().into_string()
            && !name.starts_with('.')
            && !name.ends_with('~')
            && !entry.path().is_dir()
        {
            names.push(name);
        }
    }
    names.sort_unstable();
    let mut collector = Collector::new(directory);
    for name in &names {
        collector.file(name);
    }
    collector.finish(&names)
}

struct Collector<'a> {
    directory: &'a Path,
    parts: BTreeMap<String, Parts>,
    scripts: Vec<(String, Text)>,
    rows: Vec<(route_table::Row, String)>,
    broken: Vec<TestCase>,
    /// Files whose names are of no known form, and what is wrong with those that begin like one.
    unknown: Vec<(String, Option<FileNameError>)>,
}

impl<'a> Collector<'a> {
    fn new(directory: &'a Path) -> Self {
        Self {
            directory,
            parts: BTreeMap::new(),
            scripts: Vec::new(),
            rows: Vec::new(),
            broken: Vec::new(),
            unknown: Vec::new(),
        }
    }

    /// How messages call a file.
    fn shown(&self, name: &str) -> String {
        self.directory.join(name).display().to_string()
    }

    fn broken(&mut self, name: &str, problems: Vec<Problem>) {
        self.broken.push(TestCase { name: name.to_owned(), problems, ..TestCase::default() });
    }

    fn file(&mut self, name: &str) {
        let shown = self.shown(name);
        let (test, kind) = match file_name::parse(name) {
            Ok(Some(found)) => found,
            of_no_form => {
                self.unknown.push((name.to_owned(), of_no_form.err()));
                return;
            }
        };
        let content = self.read(name);
        match kind {
            Kind::Routes => match text(content) {
                Ok(text) => {
                    let (rows, problems) = route_table::parse(&text);
                    self.rows.extend(rows.into_iter().map(|row| (row, shown.clone())));
                    for (line, reason) in problems {
                        let problem = Problem::at(&shown, Some(line), reason);
                        self.broken(&format!("{name}:{line}"), vec![problem]);
                    }
                }
                Err(error) => self.broken(name, vec![Problem::at(&shown, None, error)]),
            },
            Kind::Script => match text(content) {
                Ok(text) => self.scripts.push((test.to_owned(), Text { file: shown, text })),
                Err(error) => self.broken(name, vec![Problem::at(&shown, None, error)]),
            },
            _ => {
                let path = self.directory.join(name);
                let parts = self.parts.entry(test.to_owned()).or_default();
                parts.files.push(name.to_owned());
                let added = parts.add(kind, &shown, path, content);
                if let Err(problem) = added {
                    parts.case.problems.push(problem);
                }
            }
        }
    }

    fn read(&self, name: &str) -> Result<Vec<u8>, FileError> {
        let path = self.directory.join(name);
        let size = fs::metadata(&path)?.len();
        if size > FILE_BYTES_MAX {
            return Err(FileError::TooLarge(size));
        }
        Ok(fs::read(&path)?)
    }

    fn finish(mut self, names: &[String]) -> Collected {
        let mut known: HashMap<String, String> = HashMap::new();
        let mut scripts = Vec::new();
        let mut routes = Vec::new();
        for (name, script) in std::mem::take(&mut self.scripts) {
            known.insert(name.clone(), script.file.clone());
            let place = Place { file: script.file.clone(), line: None };
            scripts.push(self.case(name, Action::Script(script), &place));
        }
        for (row, file) in std::mem::take(&mut self.rows) {
            let place = Place { file, line: Some(row.line) };
            if let Some(first) = known.get(&row.name) {
                let message = format!("the test `{}` is there already: {first}", row.name);
                let problem = Problem { place: Some(place.clone()), message };
                self.broken(&row.name, vec![problem]);
                continue;
            }
            known.insert(row.name.clone(), place.to_string());
            routes.push(self.case(row.name, Action::Route(row.request, place.clone()), &place));
        }
        let mut ignored = Vec::new();
        // What is left belongs to nothing, most often because of a slip in its name.
        for (test, parts) in std::mem::take(&mut self.parts) {
            // But a module is there to be required.
            if parts.case.hooks.is_some() && parts.files.len() == 1 {
                ignored.extend(parts.files);
                continue;
            }
            let problems = parts.files.iter().map(|file| {
                let message = format!("there is neither `{test}.ql` nor a route test `{test}`");
                Problem::at(&self.shown(file), None, message)
            });
            let problems = problems.collect();
            self.broken(&test, problems);
        }
        for (name, reason) in std::mem::take(&mut self.unknown) {
            let rest = known.keys().filter_map(|test| name.strip_prefix(test)?.strip_prefix('.'));
            let rest = rest.min_by_key(|rest| rest.len());
            let reason = reason.map(|error| error.to_string());
            match rest.and_then(|rest| reason.or_else(|| slip(rest))) {
                Some(reason) => {
                    let problem = Problem::at(&self.shown(&name), None, reason);
                    self.broken(&name, vec![problem]);
                }
                None => ignored.push(name),
            }
        }
        ignored.sort_unstable();
        // Numbers of mocks are the order in which their author thought of them.
        scripts.sort_by_cached_key(|case| {
            (case.mocks.keys().next().copied().unwrap_or(u16::MAX), case.name.clone())
        });
        let mut cases = scripts;
        cases.append(&mut routes);
        cases.append(&mut self.broken);
        if cases.len() > TESTS_MAX {
            let message =
                format!("{} tests in {} files are more than {TESTS_MAX}", cases.len(), names.len());
            let problems = vec![Problem::new(message)];
            cases =
                vec![TestCase { name: "initFailed".to_owned(), problems, ..TestCase::default() }];
        }
        Collected { cases, files: names.len(), ignored }
    }

    /// A test with everything that was found for it.
    fn case(&mut self, name: String, mut action: Action, place: &Place) -> TestCase {
        let parts = self.parts.remove(&name).unwrap_or_default();
        let mut case = parts.case;
        match (&mut action, parts.request) {
            (Action::Route(request, _), body) => request.body = body,
            (_, Some(_)) => case.problems.push(Problem {
                place: Some(place.clone()),
                message: "only route tests have a request body".to_owned(),
            }),
            (_, None) => {}
        }
        for (number, mock) in &case.mocks {
            if mock.answers.is_empty() && !mock.behaviour.needs_no_answer() {
                let message = format!("the mock `{number}` has no answer");
                case.problems.push(Problem { place: Some(place.clone()), message });
            }
        }
        case.name = name;
        case.action = action;
        case
    }
}

/// Why the name of a file looks like a slip, by what stands behind the name of its test. Endings of
/// scripts are too short to guess: `.sql` is data.
fn slip(rest: &str) -> Option<String> {
    let meant = closest(rest, ["expect.json", "assert"])?;
    Some(format!("no file of a test ends like this; did you mean `.{meant}`?"))
}

fn text(content: Result<Vec<u8>, FileError>) -> Result<String, FileError> {
    Ok(String::from_utf8(content?).map_err(|error| error.utf8_error())?)
}

impl Parts {
    fn add(
        &mut self,
        kind: Kind,
        shown: &str,
        path: PathBuf,
        content: Result<Vec<u8>, FileError>,
    ) -> Result<(), Problem> {
        let failed = |error: FileError| Problem::at(shown, None, error);
        match kind {
            Kind::Answer { port, status, content_type, place } => {
                let body = content.map_err(failed)?.into();
                let mock = self.case.mocks.entry(port).or_default();
                if mock.answers.iter().any(|answer| answer.place == place) {
                    let message =
                        format!("the mock `{port}` has another answer for the same requests");
                    return Err(Problem::at(shown, None, message));
                }
                mock.answers.push(CannedAnswer { place, status, content_type, body });
            }
            Kind::Behaviour { port } => {
                let behaviour = behaviour(&text(content).map_err(failed)?, shown)?;
                self.case.mocks.entry(port).or_default().behaviour = behaviour;
            }
            Kind::Request(content_type) => {
                if self.request.is_some() {
                    return Err(Problem::at(shown, None, "the test has another request body"));
                }
                self.request = Some((content_type, content.map_err(failed)?.into()));
            }
            Kind::Expectation => {
                let text = text(content).map_err(failed)?;
                self.case.expectation = Some(Text { file: shown.to_owned(), text });
            }
            Kind::Assertions => {
                let text = text(content).map_err(failed)?;
                self.case.assertions = Some(Text { file: shown.to_owned(), text });
            }
            Kind::Hooks => self.case.hooks = Some(path),
            Kind::Script | Kind::Routes => {}
        }
        Ok(())
    }
}

/// Reads a `mock.json`.
fn behaviour(text: &str, file: &str) -> Result<Behaviour, Problem> {
    let value = parse_json(text, file)?;
    let Value::Object(members) = value.into_tree() else {
        return Err(Problem::at(file, None, "it must hold one JSON object"));
    };
    let read = Behaviour::of_mock(&members);
    read.map_err(|reason| Problem::at(file, None, reason))
}

/// Reads JSON; errors name the line.
pub(super) fn parse_json(text: &str, file: &str) -> Result<Value, Problem> {
    json::parse_str(text).map_err(|error| {
        let line = LineIndex::new(text).line(error.offset as u32);
        Problem::at(file, Some(line), format!("invalid JSON: {}", error.reason))
    })
}
