//! The library as the engine under test, in this process: no child process, no listening socket.
//!
//! The same cases as for the executable must have the same outcome, so whatever the command line and
//! the server add beyond the library shows as a difference.

use std::net::{Ipv4Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use qlio_data::{Object, Value, codec::json};
use qlio_engine::cache::Cache;
use qlio_engine::{Caller, ClientParams, ClientRequest, Engine, EngineOptions, heavy::Heavy};
use qlio_gateway::config::{self, CommandLine, Config};
use qlio_gateway::http::app::{Ends, HttpApp, Snapshot};
use qlio_gateway::http::compile_error;
use qlio_gateway::http::ecv::Health;
use qlio_gateway::http::quota::Quotas;
use qlio_gateway::http::run_error;
use qlio_gateway::load::{CatalogFolders, FilesBeside, load};
use qlio_plan::{CompileOptions, Origin, compile};
use qlio_testkit::case::check::{HttpOutcome, Outcome};
use qlio_testkit::case::{Case, HttpRequest};
use qlio_testkit::runner::{CASE_PATIENCE, CaseEngine, CaseFolder};

/// Runs cases with the crates of this workspace.
pub(crate) struct InProcessEngine;

impl CaseEngine for InProcessEngine {
    fn run_script(&self, case: &Case, folder: &CaseFolder) -> Outcome {
        on_runtime(async {
            let root = folder.path();
            let (mut config, _) =
                config::read(Some(&root.join(CaseFolder::CONFIG)), &development());
            config.settings.client_params = ClientParams::Any;
            let loaded = load(&folders(root), &config);

            // Files of inline tables lie beside the script, which stands in the case's folder.
            let file = root.join("script").display().to_string();
            let text = case.script.as_deref().unwrap_or_default();
            let resources = FilesBeside::of_script(root, &file, text, &folders(root));
            let options =
                CompileOptions { origin: Origin::Stored, file: &file, resources: &resources };
            let plan = match compile(text, &loaded.catalog, &options) {
                Ok(compiled) => compiled.plan,
                Err(problems) => {
                    return Outcome::Error {
                        error: to_serde(&compile_error::body(&problems, text)),
                        status: Some(400),
                    };
                }
            };
            let engine = engine(config);
            let outcome =
                engine.run(&plan, &loaded.catalog, &script_request(case), Caller::Operator).await;
            match outcome {
                Ok(answer) => {
                    let mut headers =
                        vec![("content-type".to_owned(), "application/json".to_owned())];
                    headers.extend(answer.request_id.map(|id| ("request-id".to_owned(), id)));
                    headers.extend(answer.headers);
                    Outcome::Value { value: to_serde(&answer.value), headers }
                }
                Err(error) => Outcome::Error {
                    error: to_serde(&run_error::body(&error)),
                    status: Some(run_error::status(&error)),
                },
            }
        })
    }

    fn run_http(&self, case: &Case, folder: &CaseFolder) -> Outcome {
        on_runtime(async {
            let root = folder.path();
            let (config, _) = config::read(Some(&root.join(CaseFolder::CONFIG)), &development());
            let loaded = Arc::new(load(&folders(root), &config));
            let shared = Snapshot {
                health: Arc::new(Health::new(
                    config.front.ecv_path.clone(),
                    config.front.ecv_control,
                )),
                quotas: Arc::new(Quotas::new(&config.front.keep)),
                ..Snapshot::new(loaded, config.app_settings(true))
            };
            let app = HttpApp::new(Arc::new(shared), engine(config), Arc::default());
            let mut answers = Vec::with_capacity(case.http.len());
            for request in &case.http {
                let Some((head, body)) = message(request) else {
                    return Outcome::Broken(
                        "the request can not be expressed without a socket".to_owned(),
                    );
                };
                let end = SocketAddr::from((Ipv4Addr::LOCALHOST, 3000));
                let ends = Ends { peer: end, local: end, is_tls: false };
                let (head, body) = app.respond(&head, Full::new(body), ends).await.into_parts();
                let text = |value: &hyper::header::HeaderValue| {
                    String::from_utf8_lossy(value.as_bytes()).into_owned()
                };
                answers.push(HttpOutcome {
                    status: head.status.as_u16(),
                    headers: head
                        .headers
                        .iter()
                        .map(|(name, value)| (name.to_string(), text(value)))
                        .collect(),
                    body: match body.collect().await {
                        Ok(body) => body.to_bytes().to_vec(),
                        Err(error) => return Outcome::Broken(error.to_string()),
                    },
                });
            }
            Outcome::Answers(answers)
        })
    }
}

/// Cases run as with `--dev`, like those of the executable.
fn development() -> CommandLine {
    CommandLine { is_dev: true, ..CommandLine::default() }
}

fn on_runtime(work: impl Future<Output = Outcome>) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime of one thread can always be made");
    runtime.block_on(async {
        let outcome = tokio::time::timeout(CASE_PATIENCE, work).await;
        outcome.unwrap_or_else(|_| Outcome::Broken(format!("hung for {CASE_PATIENCE:?}")))
    })
}

fn engine(config: Config) -> Engine {
    let cache = config.cache.map(|settings| {
        let cache = Cache::new(settings, Arc::new(|_| {})).expect("cases name valid caches");
        cache.start();
        cache
    });
    let options = EngineOptions {
        settings: config.settings,
        transport: config.transport,
        cache,
        describe_error: run_error::body,
        heavy: Heavy::default(),
        meter: None,
    };
    Engine::new(options).expect("cases have usable settings")
}

fn folders(root: &Path) -> CatalogFolders {
    CatalogFolders {
        root: root.to_owned(),
        tests: None,
        tables: Some(root.join(CaseFolder::TABLES)),
        routes: Some(root.join(CaseFolder::ROUTES)),
        connectors: Some(root.join("connectors")).filter(|folder| folder.exists()),
        transformers: Some(root.join("config/xformers.json")).filter(|file| file.exists()),
    }
}

/// What `--request` and `--var` are for the executable.
fn script_request(case: &Case) -> ClientRequest {
    let object = |members: &serde_json::Map<String, serde_json::Value>| -> Object {
        members.iter().map(|(name, value)| (name.as_str(), from_serde(value))).collect()
    };
    let mut request =
        ClientRequest { variables: object(&case.variables), ..ClientRequest::default() };
    if let Some(given) = &case.request {
        request.query = object(&given.query);
        request.route = object(&given.route);
        let headers = object(&given.headers);
        request.headers =
            headers.iter().map(|(name, value)| (name.to_lowercase(), value.clone())).collect();
        if let Some(body) = &given.body {
            request.body = from_serde(body);
            request.raw_body = match body {
                serde_json::Value::String(text) => Bytes::copy_from_slice(text.as_bytes()),
                body => {
                    request.content_type = Some("application/json".to_owned());
                    body.to_string().into()
                }
            };
        }
    }
    request
}

/// The request as the server would have read it.
fn message(request: &HttpRequest) -> Option<(hyper::http::request::Parts, Bytes)> {
    let mut builder = hyper::Request::builder().method(request.method.as_str()).uri(&request.path);
    for (name, value) in &request.headers {
        builder = builder.header(name, value);
    }
    let mut body = Bytes::new();
    if let Some(json) = &request.json {
        builder = builder.header("content-type", "application/json");
        body = json.to_string().into();
    } else if let Some(text) = &request.body {
        body = Bytes::copy_from_slice(text.as_bytes());
    }
    let (head, ()) = builder.body(()).ok()?.into_parts();
    Some((head, body))
}

fn to_serde(value: &Value) -> serde_json::Value {
    serde_json::from_str(&json::to_string(value)).expect("values print as JSON")
}

fn from_serde(value: &serde_json::Value) -> Value {
    json::parse_str(&value.to_string()).expect("JSON is read back")
}
