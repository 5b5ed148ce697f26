//! The app under test: tables, routes and settings, loaded as `qlio serve` loads them.
//!
//! One snapshot serves all tests, unless the settings mention `{mock.<n>}`: then each test has a
//! snapshot of its own, with the ports of its mocks filled in.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::Path,
    sync::Arc,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use qlio_data::{Object, Value, codec::json};
use qlio_engine::{
    Answer, Caller, ClientRequest, Engine, EngineOptions, RunError, Settings, StartError,
    event::{Event, Watch},
    heavy::Heavy,
    transport::{OldPorts, TransportSettings},
};
use qlio_plan::{CompileOptions, Origin, catalog::SourceFolder, compile};
use qlio_syntax::diagnostic::Diagnostic;

use super::{Problem, RouteRequest, Text, assertion::Subject, ports, transaction::Transactions};
use crate::{
    app_folder::AppFolder,
    config::{self, CommandLine, Config, ConfigProblem},
    http::{
        app::{self, AppSettings, HttpApp},
        compile_error,
        disclosure::ErrorDetail,
        run_error,
    },
    load::{self, FilesBeside, Loaded},
};

/// Tests see all that an app's developer sees.
fn development() -> CommandLine {
    CommandLine::of_process(true)
}

/// A loaded app.
pub(crate) struct App {
    files: AppFolder,
    /// The text of the settings, if it has to be filled in for each test.
    template: Option<String>,
    config: Config,
    loaded: Arc<Loaded>,
    /// The files that hooks of tests may require.
    sources: Arc<SourceFolder>,
    old_ports: Arc<OldPorts>,
    /// Problems of the settings.
    pub config_problems: Vec<ConfigProblem>,
}

/// The app as one test sees it.
pub(super) struct Snapshot {
    files: AppFolder,
    config: Config,
    loaded: Arc<Loaded>,
    sources: Arc<SourceFolder>,
    old_ports: Arc<OldPorts>,
}

/// The outcome of running a script or route.
pub(super) struct Ran {
    pub(super) subject: Subject,
    /// The value that is compared with the expectation.
    pub(super) body: Value,
    /// Where a script failed.
    pub(super) line: Option<u32>,
    /// The lines of statements that began and did not end, although the run went well.
    pub(super) unended: Vec<Option<u32>>,
}

impl App {
    /// Loads the app. Problems of its files are in [`App::loaded`].
    pub(crate) fn load(mut files: AppFolder) -> Self {
        files.folders.tests = Some(files.tests.clone());
        let text = files.config.as_ref().and_then(|file| std::fs::read_to_string(file).ok());
        let template = text.filter(|text| ports::find_numbers(text).next().is_some());
        let (config, config_problems) = match (&template, &files.config) {
            (Some(text), Some(file)) => {
                // Any port will do to see what else is wrong.
                let numbers = ports::find_numbers(text).map(|number| (number, number)).collect();
                let text = ports::fill(text, &numbers).unwrap_or_default();
                config::parse(&text, file, &development())
            }
            (_, file) => config::read(file.as_deref(), &development()),
        };
        let loaded = Arc::new(load::load(&files.folders, &config));
        let sources = load::read_tree(&files.tests);
        let old_ports = Arc::default();
        Self { files, template, config, loaded, sources, old_ports, config_problems }
    }

    /// The ports above 65535 that tests and tables name.
    pub(crate) fn old_ports(&self) -> &Arc<OldPorts> {
        &self.old_ports
    }

    /// The catalog, with what is wrong with its files.
    pub(crate) fn loaded(&self) -> &Loaded {
        &self.loaded
    }

    /// The app as clients outside of the tests see it.
    pub(super) fn front(&self) -> Result<HttpApp, Problem> {
        self.snapshot(&BTreeMap::new())?.front()
    }

    /// The numbers of mocks that the settings mention.
    pub(super) fn find_numbers(&self) -> impl Iterator<Item = u16> {
        self.template.iter().flat_map(|text| ports::find_numbers(text))
    }

    /// The app with the ports of a test's mocks.
    pub(super) fn snapshot(&self, ports: &BTreeMap<u16, u16>) -> Result<Snapshot, Problem> {
        let (files, sources) = (self.files.clone(), Arc::clone(&self.sources));
        let old_ports = Arc::clone(&self.old_ports);
        let (Some(template), Some(file)) = (&self.template, &self.files.config) else {
            let (config, loaded) = (self.config.clone(), Arc::clone(&self.loaded));
            return Ok(Snapshot { files, config, loaded, sources, old_ports });
        };
        // A test without such a mock calls a port that refuses: 0 can not be connected to.
        let ports = ports::find_numbers(template)
            .map(|number| (number, ports.get(&number).copied().unwrap_or(0)))
            .collect();
        let shown = file.display().to_string();
        let text = ports::fill(template, &ports)
            .map_err(|(line, message)| Problem::at(&shown, Some(line), message))?;
        let (config, problems) = config::parse(&text, file, &development());
        if let Some(problem) = problems.first() {
            return Err(Problem::at(&shown, None, problem.message()));
        }
        let loaded = Arc::new(load::load(&files.folders, &config));
        Ok(Snapshot { files, config, loaded, sources, old_ports })
    }
}

impl Snapshot {
    /// An engine that nobody else uses. Nothing is cached: tests shall not see each other's answers.
    fn engine(&self) -> Result<Engine, StartError> {
        Engine::new(EngineOptions {
            settings: Settings { asserts_calls: true, ..self.config.settings.clone() },
            transport: TransportSettings {
                old_ports: Some(Arc::clone(&self.old_ports)),
                ..self.config.transport.clone()
            },
            cache: None,
            describe_error: run_error::body,
            heavy: Heavy::default(),
            meter: None,
        })
    }

    /// Runs a script.
    pub(super) async fn script(&self, script: &Text) -> Result<Ran, Problem> {
        let folders = &self.files.folders;
        let resources =
            FilesBeside::of_script(&self.files.tests, &script.file, &script.text, folders);
        let options =
            CompileOptions { origin: Origin::Stored, file: &script.file, resources: &resources };
        let plan = match compile(&script.text, &self.loaded.catalog, &options) {
            Ok(compiled) => compiled.plan,
            Err(problems) => return Ok(describe_diagnostics(&problems, &script.text)),
        };
        let engine = self.engine().map_err(|error| Problem::new(error.to_string()))?;
        let request = ClientRequest::default();
        let (transactions, subscription) = (Transactions::default(), Transactions::subscription());
        let tell = |event: Event<'_>| transactions.note(&event);
        let watch = Watch { subscription: &subscription, tell: &tell, stepper: None };
        let catalog = &self.loaded.catalog;
        let outcome =
            engine.run_watched(&plan, catalog, &request, Caller::Operator, Some(&watch)).await;
        Ok(match outcome {
            Ok(answer) => Ran {
                unended: transactions.find_unended(),
                ..describe_answer(&answer, &self.config)
            },
            Err(error) => describe_failure(&error),
        })
    }

    /// The endpoints, with an engine that nobody else uses.
    fn front(&self) -> Result<HttpApp, Problem> {
        let engine = self.engine().map_err(|error| Problem::new(error.to_string()))?;
        let settings = AppSettings {
            allows_adhoc: false,
            has_console: false,
            errors: ErrorDetail::Full,
            ..self.config.app_settings(false)
        };
        let shared = app::Snapshot::new(Arc::clone(&self.loaded), settings);
        Ok(HttpApp::new(Arc::new(shared), engine, Arc::default()))
    }

    /// Asks a route.
    pub(super) async fn route(&self, request: &RouteRequest) -> Result<Ran, Problem> {
        let app = self.front()?;
        let mut message = hyper::Request::new(());
        *message.method_mut() = request.method.clone();
        *message.uri_mut() = request
            .target
            .parse()
            .map_err(|_| Problem::new("the request is no path with query"))?;
        *message.headers_mut() = request.headers.clone();
        let mut body = Bytes::new();
        if let Some((content_type, bytes)) = &request.body {
            let headers = message.headers_mut();
            headers.insert(hyper::header::CONTENT_TYPE, content_type.clone());
            body = bytes.clone();
        }
        let (head, ()) = message.into_parts();
        let peer = IpAddr::V4(Ipv4Addr::LOCALHOST);
        let (head, body) = app.respond(&head, Full::new(body), peer).await.into_parts();
        let body = body.collect().await.map(http_body_util::Collected::to_bytes);
        let body = body.unwrap_or_else(|never| match never {});
        let headers: Object = head
            .headers
            .keys()
            .map(|name| {
                let values = head.headers.get_all(name).iter();
                let texts: Vec<_> = values
                    .map(|value| String::from_utf8_lossy(value.as_bytes()).into_owned())
                    .collect();
                (name.as_str(), Value::from(texts.join(", ")))
            })
            .collect();
        let is_json =
            headers.get("content-type").and_then(Value::as_str) == Some("application/json");
        let text = String::from_utf8_lossy(&body);
        let body = match json::parse_str(&text) {
            Ok(value) if is_json => value,
            _ => Value::from(&*text),
        };
        let status = head.status.as_u16();
        Ok(Ran {
            subject: Subject {
                // A route may say another status than 200 of what went well (RET-11).
                is_failed: status >= 400,
                status,
                root: result(&headers, status, &body),
                headers,
            },
            body,
            line: None,
            unended: Vec::new(),
        })
    }

    /// The folder of the tests, as it was when the app was loaded.
    pub(super) fn tests(&self) -> (&Path, &Arc<SourceFolder>) {
        (&self.files.tests, &self.sources)
    }
}

/// The result of a run that went well, as hooks and assertions see it.
fn result(headers: &Object, status: u16, body: &Value) -> Value {
    let members = [
        ("headers", Value::object(headers.clone())),
        ("statusCode", Value::from(status)),
        ("body", body.clone()),
    ];
    Value::object(members.into_iter().collect())
}

fn describe_answer(answer: &Answer, config: &Config) -> Ran {
    let mut headers = Object::new();
    headers.insert("content-type", Value::from("application/json"));
    if let Some(id) = &answer.request_id {
        let name = config.settings.request_id_header.to_ascii_lowercase();
        headers.insert(name, Value::from(id.as_str()));
    }
    for (name, value) in &answer.headers {
        headers.insert(name.to_ascii_lowercase(), Value::from(value.as_str()));
    }
    let body = if answer.value.is_absent() { Value::Null } else { answer.value.clone() };
    let root = result(&headers, answer.status, &body);
    Ran {
        subject: Subject { is_failed: false, status: answer.status, headers, root },
        body,
        line: None,
        unended: Vec::new(),
    }
}

fn describe_failure(error: &RunError) -> Ran {
    let root = run_error::body(error);
    let subject =
        Subject { is_failed: true, status: run_error::status(error), headers: Object::new(), root };
    Ran { body: subject.root.member("body"), subject, line: error.line, unended: Vec::new() }
}

fn describe_diagnostics(problems: &[Diagnostic], text: &str) -> Ran {
    let root = compile_error::body(problems, text);
    let line = match root.member("line") {
        Value::Number(line) => line.as_i64().and_then(|line| u32::try_from(line).ok()),
        _ => None,
    };
    let subject = Subject { is_failed: true, status: 400, headers: Object::new(), root };
    Ran { body: Value::Absent, subject, line, unended: Vec::new() }
}
