//! A realm as one thread runs it: a context, the kernel script in it, and the host's services.

use std::{
    cell::RefCell,
    collections::HashMap,
    rc::Rc,
    sync::atomic::{AtomicU64, Ordering},
};

use foldhash::quality::RandomState;
use qlio_data::Value;
use qlio_plan::catalog::sources;
use rquickjs::{
    Context, Ctx, Exception, FromJs, Function, IntoJs, Object as JsObject, Persistent, Runtime,
    String as JsString, TypedArray, Value as JsValue, context::EvalOptions, function::IntoArgs,
};

use super::{
    arguments::{self, Inputs},
    bundled, coding, convert,
    error::{Fault, Thrown},
    function::Scope,
    log::LogBuffer,
    realm::Realm,
    services,
    test_server::{self, TestServers},
    uri,
};

/// Number of characters before the author's first character in a compiled module.
pub(super) const WRAPPER_CHARS: u32 =
    "(function (exports, require, module, __filename, __dirname) {".len() as u32;

/// Files of templates are compiled under this prefix.
pub(super) const TEMPLATE_FILE_PREFIX: &str = "template:";

/// Decodes the body of an answer by its declared format, or says why it cannot.
pub(crate) type Decode = Rc<dyn Fn() -> Result<Value, Thrown>>;

/// What host functions of all realms of a sandbox share.
pub(super) struct HostState {
    pub(super) log: RefCell<LogBuffer>,
    /// The names that the running function may read through `this`.
    pub(super) scope: RefCell<Option<Scope>>,
    /// What the running call may ask for.
    pub(super) inputs: RefCell<Option<Rc<Inputs>>>,
    /// What `args.decode()` calls for the running hook.
    pub(super) decode: RefCell<Option<Decode>>,
    /// Where hooks of tests open servers.
    pub(super) servers: RefCell<Option<Rc<dyn TestServers>>>,
    pub(super) depth_max: usize,
    pub(super) elements_max: usize,
}

static NEXT_SERIAL: AtomicU64 = AtomicU64::new(1);

/// One realm on one thread.
pub(super) struct Instance {
    /// Tells it from all others of the process.
    serial: u64,
    context: Context,
    kernel: Persistent<JsObject<'static>>,
    /// The kernel's function that is called most.
    call_hook: Persistent<Function<'static>>,
    /// Exports by entry; see [`Entry`].
    entries: RefCell<HashMap<Entry, Persistent<JsValue<'static>>, RandomState>>,
    /// Compiled templates by id, with the version that is.
    templates: RefCell<HashMap<u64, u64, RandomState>>,
}

/// What can be loaded into a realm: a file of its own, or a module that comes with the sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Entry {
    File(String),
    Bundled(String),
}

impl Instance {
    /// Makes the context and runs the kernel in it.
    pub(super) fn new(
        runtime: &Runtime,
        realm: &Realm,
        host: &Rc<HostState>,
    ) -> rquickjs::Result<Self> {
        let context = Context::full(runtime)?;
        let (kernel, call_hook) = context.with(|ctx| {
            let services = host_services(&ctx, realm, host)?;
            let kernel: JsObject<'_> = bundled::KERNEL.function(&ctx)?.call((services,))?;
            let call_hook: Function<'_> = kernel.get("callHook")?;
            let call_hook = Persistent::save(&ctx, call_hook);
            Ok::<_, rquickjs::Error>((Persistent::save(&ctx, kernel), call_hook))
        })?;
        Ok(Self {
            serial: NEXT_SERIAL.fetch_add(1, Ordering::Relaxed),
            context,
            kernel,
            call_hook,
            entries: RefCell::default(),
            templates: RefCell::default(),
        })
    }

    /// A number that no other instance has, never 0.
    pub(super) fn serial(&self) -> u64 {
        self.serial
    }

    pub(super) fn context(&self) -> &Context {
        &self.context
    }

    pub(super) fn exports<'js>(&self, ctx: &Ctx<'js>, entry: &Entry) -> Option<JsValue<'js>> {
        let saved = self.entries.borrow().get(entry).cloned()?;
        saved.restore(ctx).ok()
    }

    pub(super) fn is_loaded(&self, entry: &Entry) -> bool {
        self.entries.borrow().contains_key(entry)
    }

    /// Loads an entry unless it is loaded, and gives its exports.
    pub(super) fn load<'js>(
        &self,
        ctx: &Ctx<'js>,
        entry: &Entry,
    ) -> rquickjs::Result<JsValue<'js>> {
        if let Some(exports) = self.exports(ctx, entry) {
            return Ok(exports);
        }
        let (name, is_file) = match entry {
            Entry::File(path) => (path, true),
            Entry::Bundled(name) => (name, false),
        };
        let exports: JsValue<'js> = self.kernel(ctx)?.call("load", (name.as_str(), is_file))?;
        self.entries.borrow_mut().insert(entry.clone(), Persistent::save(ctx, exports.clone()));
        Ok(exports)
    }

    /// Compiles a template unless it is compiled. `escape` names the escaping of `<%=`.
    pub(super) fn load_template(
        &self,
        ctx: &Ctx<'_>,
        (id, version): (u64, u64),
        text: &str,
        file: &str,
        escape: &str,
    ) -> rquickjs::Result<()> {
        if self.templates.borrow().get(&id) == Some(&version) {
            return Ok(());
        }
        let file = format!("{TEMPLATE_FILE_PREFIX}{file}");
        #[expect(clippy::cast_precision_loss, reason = "ids count templates")]
        self.kernel(ctx)?.call::<_, ()>("loadTemplate", (id as f64, text, file, escape))?;
        self.templates.borrow_mut().insert(id, version);
        Ok(())
    }

    /// What calls a hook in the kernel.
    pub(super) fn call_hook<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Function<'js>> {
        self.call_hook.clone().restore(ctx)
    }

    pub(super) fn kernel<'js>(&self, ctx: &Ctx<'js>) -> rquickjs::Result<Kernel<'js>> {
        Ok(Kernel { object: self.kernel.clone().restore(ctx)? })
    }
}

/// The kernel's functions.
pub(super) struct Kernel<'js> {
    object: JsObject<'js>,
}

impl<'js> Kernel<'js> {
    pub(super) fn call<A: IntoArgs<'js>, R: FromJs<'js>>(
        &self,
        name: &str,
        args: A,
    ) -> rquickjs::Result<R> {
        let function: Function<'js> = self.object.get(name)?;
        function.call(args)
    }
}

/// Evaluates a script of the sandbox or a wrapped module, in sloppy mode.
fn eval<'js, V: FromJs<'js>>(ctx: &Ctx<'js>, text: &str, file: &str) -> rquickjs::Result<V> {
    let mut options = EvalOptions::default();
    options.strict = false;
    options.filename = Some(file.to_owned());
    ctx.eval_with_options(text, options)
}

fn throw(ctx: &Ctx<'_>, message: &str) -> rquickjs::Error {
    Exception::throw_message(ctx, message)
}

fn bytes_value<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> rquickjs::Result<JsValue<'js>> {
    Ok(TypedArray::<u8>::new_copy(ctx.clone(), bytes)?.into_value())
}

/// Makes a `Uint8Array` of `bytes`.
pub(super) fn byte_array<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> rquickjs::Result<JsValue<'js>> {
    bytes_value(ctx, bytes)
}

/// Adds what reads the files of `realm`.
fn add_files<'js>(ctx: &Ctx<'js>, services: &JsObject<'js>, realm: &Realm) -> rquickjs::Result<()> {
    let add = |name: &str, function: rquickjs::Result<Function<'js>>| services.set(name, function?);
    let files = realm.clone();
    add(
        "resolve",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, directory: String, name: String| {
            let files = files.files();
            let path = files.resolve(&directory, &name);
            path.ok_or_else(|| throw(&ctx, &files.missing_module(&directory, &name)))
        }),
    )?;
    let files = realm.clone();
    add(
        "readText",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, path: String| {
            let read = files.files().read(&path);
            let bytes = read.map_err(|reason| {
                let file = path.trim_start_matches('/');
                throw(&ctx, &format!("`{file}` cannot be read: {reason}"))
            })?;
            let text = String::from_utf8_lossy(&bytes);
            Ok::<_, rquickjs::Error>(text.trim_start_matches('\u{feff}').to_owned())
        }),
    )?;
    let files = realm.clone();
    add(
        "readBytes",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, path: String| {
            let path = sources::normalise("/", &path);
            let bytes = path.as_deref().and_then(|path| files.files().read(path).ok());
            bytes.map(|bytes| bytes_value(&ctx, &bytes)).transpose()
        }),
    )
}

/// The host's services for the kernel of `realm`.
fn host_services<'js>(
    ctx: &Ctx<'js>,
    realm: &Realm,
    host: &Rc<HostState>,
) -> rquickjs::Result<JsObject<'js>> {
    let services = JsObject::new(ctx.clone())?;
    let add = |name: &str, function: rquickjs::Result<Function<'js>>| services.set(name, function?);
    add("compile", Function::new(ctx.clone(), compile))?;
    add(
        "bundled",
        Function::new(ctx.clone(), |ctx: Ctx<'js>, name: String| {
            bundled::find(&name).map(|module| module.function(&ctx)).transpose()
        }),
    )?;
    add_files(ctx, &services, realm)?;
    let state = Rc::clone(host);
    add(
        "log",
        Function::new(ctx.clone(), move |severity: String, message: String| {
            state.log.borrow_mut().push(&severity, message);
        }),
    )?;
    let state = Rc::clone(host);
    add(
        "scope",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, name: String| {
            let value =
                state.scope.borrow().as_ref().map_or(Value::Absent, |scope| scope.get(&name));
            convert::to_js(&ctx, &value, state.depth_max)
                .map_err(|fault| services::thrown(&ctx, fault))
        }),
    )?;
    let state = Rc::clone(host);
    add(
        "ask",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>, part: u32, call: u32, target, view| {
            arguments::ask(ctx, &state, part, call, target, view)
        }),
    )?;
    let state = Rc::clone(host);
    add(
        "decoded",
        Function::new(ctx.clone(), move |ctx: Ctx<'js>| {
            let decode = state.decode.borrow().clone();
            match decode.map(|decode| decode()) {
                Some(Ok(value)) => convert::to_js(&ctx, &value, state.depth_max)
                    .map_err(|fault| services::thrown(&ctx, fault)),
                Some(Err(Thrown(message))) => Err(services::thrown(&ctx, Fault::result(message))),
                None => {
                    let message = "the table declares no format, so there is nothing to decode by";
                    Err(services::thrown(&ctx, Fault::result(message)))
                }
            }
        }),
    )?;
    coding::add(ctx, &services)?;
    uri::add(ctx, &services)?;
    services::add(ctx, &services, host)?;
    test_server::add(ctx, &services, host)?;
    Ok(services)
}

/// Compiles a function body with the given parameters; positions are those of `source`.
#[expect(clippy::needless_pass_by_value, reason = "the interpreter hands arguments over by value")]
fn compile<'js>(
    ctx: Ctx<'js>,
    source: JsString<'js>,
    file: String,
    parameters: String,
) -> rquickjs::Result<JsValue<'js>> {
    let mut text = convert::string_text(&ctx, &source)?;
    if text.contains('\0') {
        return Err(throw(&ctx, "the script contains a NUL character"));
    }
    // A first line `#!…` is no JavaScript inside a function; it becomes a comment.
    if text.starts_with("#!") {
        text.replace_range(..2, "//");
    }
    let function: Function<'js> =
        eval(&ctx, &format!("(function ({parameters}) {{{text}\n}})"), &file)?;
    function.into_js(&ctx)
}
