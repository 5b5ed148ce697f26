//! Everything that the runs of one thread share: connections, interpreter, caches and settings.
//!
//! A run borrows it from its engine. It knows nothing of plans that run.

use std::{
    cell::{Cell, OnceCell, RefCell},
    collections::HashMap,
    net::{IpAddr, Ipv4Addr, UdpSocket},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use http::{HeaderMap, HeaderName, HeaderValue, header};
use qlio_data::{Value, compute::function::PatternCache};
use qlio_plan::catalog::{ModuleFolders, Table};
use qlio_syntax::ast::VerbKind;

use crate::{
    cache::{Cache, CacheClient},
    connectors::ConnectorPool,
    error::RunError,
    heavy::Heavy,
    meter::Meter,
    sandbox::{FunctionModule, Sandbox, ScriptError, ScriptErrorKind},
    settings::Settings,
    tokens::Tokens,
    transport::{SettingsError, Transport, TransportSettings},
    verb_scripts::{ScriptFault, ScriptFiles, VerbScripts, sandbox_of},
};

/// Script modules kept loaded per thread; the whole set is dropped when more are asked for.
const MODULES_MAX: usize = 256;

/// How long one call of a script may hold a worker; what needs more is done again by a heavy thread.
const FIRST_SLICE: Duration = Duration::from_millis(2);

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
    /// Where heavy work is done; shared by all threads. By default it is done where it comes up.
    pub heavy: Heavy,
    /// What is counted on this thread; by default nothing.
    pub meter: Option<Arc<Meter>>,
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
            heavy: Heavy::default(),
            meter: None,
        }
    }
}

/// What the runs of one thread share.
pub(crate) struct Services {
    settings: Settings,
    transport: Rc<Transport>,
    /// What the transport was made of.
    transport_settings: TransportSettings,
    default_headers: DefaultHeaders,
    local_address: String,
    sandbox: OnceCell<Sandbox>,
    /// By name, with the folders that they were found in.
    modules: RefCell<HashMap<String, (ModuleFolders, FunctionModule)>>,
    cache: Option<Rc<CacheClient>>,
    tokens: Rc<Tokens>,
    connectors: ConnectorPool,
    patterns: PatternCache,
    describe_error: DescribeError,
    /// How many runs there were.
    runs: Cell<u64>,
    heavy: Heavy,
    meter: Option<Arc<Meter>>,
    scripts: RefCell<HashMap<(*const Table, VerbKind), Loaded>>,
}

/// The outcome of loading the scripts of a verb.
struct Loaded {
    scripts: Result<Rc<VerbScripts>, RunError>,
    /// Keeps the table alive, whose address is the key.
    _table: Arc<Table>,
}

impl Services {
    /// Prepares everything; connects to nothing.
    ///
    /// # Errors
    /// A certificate that cannot be read, a setting that cannot be sent.
    pub(crate) fn new(options: EngineOptions) -> Result<Self, SettingsError> {
        Self::after(options, None)
    }

    /// The same, in the place of others: connections to upstreams, back-off and tokens stay, unless upstreams are
    /// called in another way. What was compiled of scripts goes.
    ///
    /// # Errors
    /// As for [`Self::new`].
    pub(crate) fn after(
        options: EngineOptions,
        before: Option<&Self>,
    ) -> Result<Self, SettingsError> {
        let EngineOptions { settings, mut transport, cache, describe_error, heavy, meter } =
            options;
        transport.body_bytes_max = settings.response_bytes_max;
        transport.decoded_bytes_max = settings.decoded_bytes_max;
        transport.user_agent.clone_from(&settings.user_agent);
        transport.heavy = heavy.clone();
        transport.meter.clone_from(&meter);
        let default_headers = DefaultHeaders::new(&settings)?;
        let transport_settings = transport.clone();
        let transport = match before {
            Some(before) if transport.is_like(&before.transport_settings) => {
                Rc::clone(&before.transport)
            }
            _ => Rc::new(Transport::new(transport)?),
        };
        let known = before.and_then(|before| before.cache.as_ref());
        let cache = cache.map(|cache| match known {
            Some(client) if Arc::ptr_eq(client.cache(), &cache) => Rc::clone(client),
            _ => Rc::new(cache.client()),
        });
        Ok(Self {
            settings,
            transport,
            transport_settings,
            default_headers,
            local_address: local_address().to_string(),
            sandbox: OnceCell::new(),
            modules: RefCell::default(),
            cache,
            tokens: before.map(|before| Rc::clone(&before.tokens)).unwrap_or_default(),
            connectors: ConnectorPool::default(),
            patterns: PatternCache::default(),
            describe_error,
            runs: Cell::default(),
            heavy,
            meter,
            scripts: RefCell::default(),
        })
    }

    /// The patterns that functions of expressions have compiled.
    pub(crate) fn patterns(&self) -> &PatternCache {
        &self.patterns
    }

    /// How scripts run.
    pub(crate) fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The number of a run that begins.
    pub(crate) fn number_run(&self) -> u64 {
        let number = self.runs.get() + 1;
        self.runs.set(number);
        number
    }

    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    pub(crate) fn cache(&self) -> Option<&CacheClient> {
        self.cache.as_deref()
    }

    pub(crate) fn connectors(&self) -> &ConnectorPool {
        &self.connectors
    }

    pub(crate) fn tokens(&self) -> &Tokens {
        &self.tokens
    }

    pub(crate) fn describe_error(&self, error: &RunError) -> Value {
        (self.describe_error)(error)
    }

    /// What is counted on this thread.
    pub(crate) fn meter(&self) -> Option<&Meter> {
        self.meter.as_deref()
    }

    pub(crate) fn heavy(&self) -> &Heavy {
        &self.heavy
    }

    pub(crate) fn default_headers(&self) -> &DefaultHeaders {
        &self.default_headers
    }

    pub(crate) fn local_address(&self) -> &str {
        &self.local_address
    }

    /// The JavaScript of this thread, made when it is first needed.
    pub(crate) fn sandbox(&self) -> &Sandbox {
        let slice = self.heavy.is_elsewhere().then_some(FIRST_SLICE);
        self.sandbox.get_or_init(|| sandbox_of(self.settings.hooks, slice))
    }

    /// The scripts of a verb, loaded when they are first needed; what cannot be loaded is not tried
    /// again.
    pub(crate) fn verb_scripts(
        &self,
        table: &Arc<Table>,
        kind: VerbKind,
    ) -> Result<Option<Rc<VerbScripts>>, RunError> {
        let key = (Arc::as_ptr(table), kind);
        if let Some(loaded) = self.scripts.borrow().get(&key) {
            return loaded.scripts.clone().map(Some);
        }
        let verb = table
            .verb(kind)
            .ok_or_else(|| RunError::internal("scripts of a verb that is not there"))?;
        let loaded = VerbScripts::load(self.sandbox(), table, verb);
        if let Err(faults) = &loaded
            && faults.iter().any(|fault| fault.is_unfinished)
        {
            return Ok(None);
        }
        self.keep_scripts(table, kind, loaded).map(Some)
    }

    /// Keeps the scripts of a verb whose files another thread has loaded: there they are called from now on.
    ///
    /// # Errors
    /// They cannot be loaded.
    pub(crate) fn take_scripts(
        &self,
        table: &Arc<Table>,
        kind: VerbKind,
        files: Result<ScriptFiles, Vec<ScriptFault>>,
    ) -> Result<Rc<VerbScripts>, RunError> {
        let verb = table
            .verb(kind)
            .ok_or_else(|| RunError::internal("scripts of a verb that is not there"))?;
        for realm in files.iter().flat_map(ScriptFiles::realms) {
            self.sandbox().note_unloaded(realm);
        }
        self.keep_scripts(table, kind, VerbScripts::of(files, table, verb))
    }

    fn keep_scripts(
        &self,
        table: &Arc<Table>,
        kind: VerbKind,
        loaded: Result<VerbScripts, Vec<ScriptFault>>,
    ) -> Result<Rc<VerbScripts>, RunError> {
        let key = (Arc::as_ptr(table), kind);
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

    /// The module that `require` names, loaded when it is first needed, unless that takes so long that it is done
    /// elsewhere.
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
        let module = FunctionModule::find(name, folders)?;
        match module.ensure_loaded(self.sandbox()) {
            // Whoever calls it loads it elsewhere.
            Err(error) if error.kind == ScriptErrorKind::Unfinished => {
                self.sandbox().note_unloaded(module.realm());
            }
            loaded => loaded?,
        }
        let mut modules = self.modules.borrow_mut();
        if modules.len() >= MODULES_MAX {
            modules.clear();
        }
        modules.insert(name.to_owned(), (folders.clone(), module.clone()));
        Ok(module)
    }
}

/// Media types of the decoders that are always there.
pub(crate) const ACCEPT: &str = "application/xml,application/json,text/csv";

/// The headers that every request starts with, made once per engine.
#[derive(Debug)]
pub(crate) struct DefaultHeaders {
    pub(crate) headers: HeaderMap,
    request_id: HeaderName,
}

impl DefaultHeaders {
    /// Headers from the settings.
    ///
    /// # Errors
    /// The name of a setting that cannot be sent.
    pub(crate) fn new(settings: &Settings) -> Result<Self, SettingsError> {
        let wrong = |setting, reason: &str| SettingsError { setting, reason: reason.to_owned() };
        let value = |setting, text: &str| {
            let value = HeaderValue::from_str(text);
            value.map_err(|_| wrong(setting, "it cannot be sent as a header"))
        };
        let mut headers = HeaderMap::with_capacity(16);
        headers.insert(header::CONNECTION, value("connection", &settings.connection)?);
        headers.insert(header::USER_AGENT, value("userAgent", &settings.user_agent)?);
        headers.insert(header::ACCEPT, HeaderValue::from_static(ACCEPT));
        headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("gzip, deflate"));
        let request_id = HeaderName::from_bytes(settings.request_id_header.as_bytes())
            .map_err(|_| wrong("requestId", "it is not the name of a header"))?;
        Ok(Self { headers, request_id })
    }

    pub(crate) fn request_id(&self) -> &HeaderName {
        &self.request_id
    }
}

/// The first address of this host that is not a loopback address, else `127.0.0.1`. Connecting a UDP
/// socket picks a route without sending anything.
fn local_address() -> Ipv4Addr {
    let route = || {
        let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).ok()?;
        // An address reserved for documentation (RFC 5737); it is never contacted.
        socket.connect((Ipv4Addr::new(192, 0, 2, 1), 9)).ok()?;
        match socket.local_addr().ok()?.ip() {
            IpAddr::V4(address) if !address.is_unspecified() => Some(address),
            _ => None,
        }
    };
    route().unwrap_or(Ipv4Addr::LOCALHOST)
}
