//! The engine of one thread: connections, sandbox and settings that all its runs share.

use std::{
    cell::{OnceCell, RefCell},
    collections::HashMap,
    rc::Rc,
    sync::Arc,
};

use qlio_data::Value;
use qlio_plan::{
    Catalog, Plan, RouteStatus,
    catalog::{ModuleFolders, Table},
};
use qlio_syntax::{ast::VerbKind, diagnostic::codes, status::ROUTE};

use crate::{
    cache::{Cache, CacheClient},
    error::RunError,
    event::Watch,
    executor,
    http::{DefaultHeaders, Tokens, VerbScripts, local_address},
    request::{Answer, Caller, ClientRequest},
    run::Run,
    sandbox::{FunctionModule, Sandbox, SandboxLimits, ScriptError},
    settings::{HookSettings, Settings},
    transport::{Transport, TransportSettings},
};

/// Script modules kept loaded per thread; the whole set is dropped when more are asked for.
const MODULES_MAX: usize = 256;

/// Turns an error into the object that scripts catch. It is that which a client would be sent, so
/// whoever answers clients knows it.
pub type DescribeError = fn(&RunError) -> Value;

/// The parts of an engine.
#[derive(Debug, Clone)]
pub struct EngineOptions {
    /// How scripts run.
    pub settings: Settings,
    /// How upstreams are called.
    pub transport: TransportSettings,
    /// Where answers of verbs with `expires` are kept; shared by all threads.
    pub cache: Option<Arc<Cache>>,
    /// The object that `catch (error)` binds.
    pub describe_error: DescribeError,
}

impl Default for EngineOptions {
    fn default() -> Self {
        Self {
            settings: Settings::default(),
            transport: TransportSettings::default(),
            cache: None,
            describe_error: |error| {
                let message = Value::from(error.message.as_str());
                Value::object([("message", message)].into_iter().collect())
            },
        }
    }
}

/// An engine that cannot start, in words for the operator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StartError(pub String);

impl std::fmt::Display for StartError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for StartError {}

/// Runs plans on one thread.
pub struct Engine {
    settings: Settings,
    transport: Transport,
    default_headers: DefaultHeaders,
    local_address: String,
    sandbox: OnceCell<Sandbox>,
    /// By name, with the folders that they were found in.
    modules: RefCell<HashMap<String, (ModuleFolders, FunctionModule)>>,
    cache: Option<CacheClient>,
    tokens: Tokens,
    describe_error: DescribeError,
    scripts: RefCell<HashMap<(*const Table, VerbKind), Loaded>>,
}

/// The outcome of loading the scripts of a verb.
struct Loaded {
    scripts: Result<Rc<VerbScripts>, RunError>,
    /// Keeps the table alive, whose address is the key.
    _table: Arc<Table>,
}

impl Engine {
    /// Prepares an engine; connects to nothing.
    ///
    /// # Errors
    /// A certificate that cannot be read, a setting that cannot be sent.
    pub fn new(options: EngineOptions) -> Result<Self, StartError> {
        let EngineOptions { settings, mut transport, cache, describe_error } = options;
        transport.body_bytes_max = settings.response_bytes_max;
        transport.decoded_bytes_max = settings.decoded_bytes_max;
        transport.user_agent.clone_from(&settings.user_agent);
        let default_headers = DefaultHeaders::new(&settings).map_err(StartError)?;
        let transport = Transport::new(transport).map_err(|error| StartError(error.to_string()))?;
        Ok(Self {
            settings,
            transport,
            default_headers,
            local_address: local_address().to_string(),
            sandbox: OnceCell::new(),
            modules: RefCell::default(),
            cache: cache.as_ref().map(Cache::client),
            tokens: Tokens::default(),
            describe_error,
            scripts: RefCell::default(),
        })
    }

    /// How scripts run.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// Runs a plan.
    ///
    /// # Errors
    /// The first error that no fallback of the script caught.
    ///
    /// # Cancellation
    /// Dropping the future drops every exchange it started.
    pub async fn run(
        &self,
        plan: &Plan,
        catalog: &Catalog,
        request: &ClientRequest,
        caller: Caller,
    ) -> Result<Answer, RunError> {
        self.run_watched(plan, catalog, request, caller, None).await
    }

    /// Runs a plan, and tells a watcher what happens meanwhile.
    ///
    /// # Errors
    /// The first error that no fallback of the script caught.
    ///
    /// # Cancellation
    /// Dropping the future drops every exchange it started; nothing is told any more.
    pub async fn run_watched(
        &self,
        plan: &Plan,
        catalog: &Catalog,
        request: &ClientRequest,
        caller: Caller,
        watch: Option<&Watch<'_>>,
    ) -> Result<Answer, RunError> {
        let run = Run::new(self, plan, catalog, request, caller, watch);
        let value = executor::execute(&run).await?;
        if let Some(route) = &plan.route {
            run.require_settings(&route.missing_settings)?;
        }
        let status = answer_status(&run)?;
        let headers = answer_headers(&run)?;
        let trail = run.request_ids.take();
        let id = run.request_id.get().map(ToString::to_string);
        Ok(Answer {
            value,
            status,
            headers,
            partial: run.partial(),
            warnings: run.warnings.take(),
            request_id: if trail.is_empty() { id } else { Some(trail) },
        })
    }

    /// Waits for what goes on behind the answers: entries that are still being stored in the cache.
    /// Bounded in time; to be called before the runtime ends.
    pub async fn end(&self) {
        if let Some(cache) = &self.cache {
            cache.settle().await;
        }
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(crate) fn cache(&self) -> Option<&CacheClient> {
        self.cache.as_ref()
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    pub(crate) fn describe_error(&self, error: &RunError) -> Value {
        (self.describe_error)(error)
    }

    pub(crate) fn default_headers(&self) -> &DefaultHeaders {
        &self.default_headers
    }

    pub(crate) fn local_address(&self) -> &str {
        &self.local_address
    }

    /// The JavaScript of this thread, made when it is first needed.
    pub(crate) fn sandbox(&self) -> &Sandbox {
        self.sandbox.get_or_init(|| sandbox_of(self.settings.hooks))
    }

    /// The scripts of a verb, loaded when they are first needed; what cannot be loaded is not tried
    /// again.
    pub(crate) fn verb_scripts(
        &self,
        table: &Arc<Table>,
        kind: VerbKind,
    ) -> Result<Rc<VerbScripts>, RunError> {
        let key = (Arc::as_ptr(table), kind);
        if let Some(loaded) = self.scripts.borrow().get(&key) {
            return loaded.scripts.clone();
        }
        let verb = table
            .verb(kind)
            .ok_or_else(|| RunError::internal("scripts of a verb that is not there"))?;
        let loaded = VerbScripts::load(self.sandbox(), table, verb);
        let (scripts, is_lasting) = match loaded {
            Ok(scripts) => (Ok(Rc::new(scripts)), true),
            Err(faults) => {
                // Another time there may be more time or memory; all else stays as it is.
                let is_lasting = !faults.iter().any(|fault| fault.is_limit);
                let failed = faults.into_iter().next().map_or_else(
                    || RunError::internal("scripts that failed to load for no reason"),
                    |fault| fault.into_run_error(&table.name),
                );
                (Err(failed), is_lasting)
            }
        };
        if is_lasting {
            let mut cached = self.scripts.borrow_mut();
            if cached.len() >= MODULES_MAX {
                cached.clear();
            }
            let loaded = Loaded { scripts: scripts.clone(), _table: Arc::clone(table) };
            cached.insert(key, loaded);
        }
        scripts
    }

    /// The module that `require` names, loaded when it is first needed.
    pub(crate) fn function_module(
        &self,
        name: &str,
        folders: &ModuleFolders,
    ) -> Result<FunctionModule, ScriptError> {
        if let Some((known, module)) = self.modules.borrow().get(name)
            && known.is_same(folders)
        {
            return Ok(module.clone());
        }
        let module = FunctionModule::load(self.sandbox(), name, folders)?;
        let mut modules = self.modules.borrow_mut();
        if modules.len() >= MODULES_MAX {
            modules.clear();
        }
        modules.insert(name.to_owned(), (folders.clone(), module.clone()));
        Ok(module)
    }
}

/// A sandbox with the limits of hooks.
pub(crate) fn sandbox_of(hooks: HookSettings) -> Sandbox {
    Sandbox::new(SandboxLimits {
        time_ms: u64::try_from(hooks.time.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: hooks.memory_bytes,
        hooks_async: hooks.allows_promises,
        ..SandboxLimits::default()
    })
}

/// The status of the route clause.
///
/// # Errors
/// A text that does not become a status: the route promises one, and a wrong status would tell the
/// client something that is not so.
fn answer_status(run: &Run<'_>) -> Result<u16, RunError> {
    let template = match run.plan.route.as_ref().and_then(|route| route.status.as_ref()) {
        None => return Ok(200),
        Some(RouteStatus::Fixed(status)) => return Ok(*status),
        Some(RouteStatus::Filled(template)) => template,
    };
    let filled = template.fill(run)?;
    let text = filled.scalar_text();
    text.as_deref().and_then(|text| ROUTE.read(text)).ok_or_else(|| {
        let found = match text {
            Some(text) => format!("`{text}`"),
            None if filled.is_nothing() => "no value".to_owned(),
            None => "a list or an object".to_owned(),
        };
        let message =
            format!("`using status '{}'` {ROUTE}, and it has become {found}", template.text());
        RunError::gateway(codes::BAD_STATUS, message)
    })
}

/// The response headers of the route clause; a value that does not resolve leaves its header out
/// (`server.md` Q10).
fn answer_headers(run: &Run<'_>) -> Result<Vec<(String, String)>, RunError> {
    let mut headers = Vec::new();
    let templates =
        run.plan.route.as_ref().map(|route| route.headers.as_slice()).unwrap_or_default();
    for (name, value) in templates {
        let name = name.fill(run)?.scalar_text();
        let value = match value.fill(run)? {
            Value::Absent | Value::Null => None,
            value if value.is_structure() => Some(qlio_data::codec::json::to_string(&value)),
            value => value.scalar_text().map(|text| text.to_string()),
        };
        if let (Some(name), Some(value)) = (name, value) {
            headers.push((name.to_string(), value));
        }
    }
    Ok(headers)
}

/// The hosts that loaded tables call, for tables that clients send.
pub(crate) fn catalog_hosts(catalog: &Catalog) -> Arc<[String]> {
    let verbs = catalog.tables().iter().flat_map(|table| table.verbs());
    let hosts = verbs.filter_map(|verb| {
        let rest = verb.uri.text().split_once("://")?.1;
        let authority = rest.split(['/', '?', '#']).next()?;
        let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
        (!host.is_empty() && !host.contains('{')).then(|| host.to_owned())
    });
    let mut hosts: Vec<String> = hosts.collect();
    hosts.sort_unstable();
    hosts.dedup();
    hosts.into()
}
