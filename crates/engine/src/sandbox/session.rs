//! One execution of a statement: the bag of parameters that its hooks, its auth module and its
//! ejs template share (CON-19, CON-53, HOK-1).

use std::{
    cell::{Cell, Ref, RefCell},
    path::Path,
    rc::Rc,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use qlio_data::{Object, Value};
use rquickjs::{Object as JsObject, Value as JsValue};

use super::{
    apart::Changes,
    arguments::{self, Inputs},
    convert,
    error::{Activity, Fault, ScriptError},
    hooks::{Hook, HookArgs, HookResult},
    instance::Entry,
    lazy::Lazy,
    machine::{Entered, Sandbox},
    realm::Realm,
    slow::Script,
};
use crate::body::escape::Escape;

/// A loaded patch module. Cheap to clone, shared by threads.
#[derive(Debug, Clone)]
pub struct Patch {
    realm: Realm,
    entry: Entry,
    hooks: [bool; Hook::ALL.len()],
    warnings: Vec<String>,
}

/// A loaded auth module. Cheap to clone, shared by threads.
#[derive(Debug, Clone)]
pub struct AuthModule {
    realm: Realm,
    entry: Entry,
}

/// An ejs template of a table. Compiled when it is first rendered: templates with errors exist in
/// the wild and must not keep their table from loading (CON-48). One that cannot be
/// compiled is not compiled again; copies know that too.
#[derive(Debug, Clone)]
pub struct EjsTemplate {
    id: u64,
    /// Counts the templates that have had this id.
    version: u64,
    file: String,
    text: String,
    escape: Escape,
    /// Why it cannot be compiled, once that is known.
    broken: Arc<OnceLock<ScriptError>>,
}

static NEXT_TEMPLATE: AtomicU64 = AtomicU64::new(1);

impl EjsTemplate {
    /// A template with the name of its file, which errors show. `<%=` escapes for markup.
    pub fn new(file: &str, text: &str) -> Self {
        Self::escaping(file, text, Escape::Markup)
    }

    /// A template whose `<%=` escapes for the type of its body.
    pub(crate) fn escaping(file: &str, text: &str, escape: Escape) -> Self {
        Self {
            id: NEXT_TEMPLATE.fetch_add(1, Ordering::Relaxed),
            version: 0,
            file: file.to_owned(),
            text: text.to_owned(),
            escape,
            broken: Arc::default(),
        }
    }

    /// Makes a template that takes the place of this one in the interpreter.
    pub(crate) fn replace(&self, text: &str, escape: Escape) -> Self {
        Self { id: self.id, version: self.version + 1, ..Self::escaping(&self.file, text, escape) }
    }

    /// The name under which the module of EJS has the escaping. Text bodies are escaped like markup, as ever:
    /// many of them are XML that is sent as plain text.
    fn escape_name(&self) -> &'static str {
        match self.escape {
            Escape::Json => "json",
            Escape::Form => "form",
            Escape::Markup | Escape::Verbatim => "markup",
        }
    }
}

impl Patch {
    /// Loads a patch; `file` lies below the realm's root. Fails if it can't be read or throws.
    pub fn load(sandbox: &Sandbox, realm: &Realm, file: &Path) -> Result<Self, ScriptError> {
        let (entry, name) = file_entry(realm, file)?;
        let (found, others) = sandbox.load(realm, &entry, &name, |entered, exports| {
            let found: JsObject<'_> = entered.kernel.call("describeExports", (exports,))?;
            let hooks: Vec<String> = found.get("hooks")?;
            let others: Vec<String> = found.get("others")?;
            Ok((hooks, others))
        })?;
        let warnings = others
            .iter()
            .map(|export| match export.as_str() {
                "udf" => format!("the hook `udf` of patch `{name}` is no longer called"),
                other => format!("the export `{other}` of patch `{name}` is no hook"),
            })
            .collect();
        let hooks = Hook::ALL.map(|hook| found.iter().any(|name| name == hook.name()));
        Ok(Self { realm: realm.clone(), entry, hooks, warnings })
    }

    /// The realm it was loaded into; sessions that call it are of this realm.
    pub fn realm(&self) -> &Realm {
        &self.realm
    }

    /// One of its hooks, as what is called.
    pub fn script(&self, hook: Hook) -> Script<'_> {
        Script { realm: &self.realm, name: hook.name() }
    }

    /// Whether the patch exports this hook.
    pub fn has(&self, hook: Hook) -> bool {
        self.hooks.get(hook as usize).copied().unwrap_or(false)
    }

    /// The hooks that it exports.
    pub fn hooks(&self) -> Vec<Hook> {
        Hook::ALL.into_iter().filter(|hook| self.has(*hook)).collect()
    }

    /// One line for every export that is no hook.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }
}

impl AuthModule {
    /// Loads an auth module; `file` lies below the realm's root.
    pub fn load(sandbox: &Sandbox, realm: &Realm, file: &Path) -> Result<Self, ScriptError> {
        let (entry, name) = file_entry(realm, file)?;
        sandbox.load(realm, &entry, &name, |_, _| Ok(()))?;
        Ok(Self { realm: realm.clone(), entry })
    }

    /// The realm it was loaded into; sessions that ask it are of this realm.
    pub fn realm(&self) -> &Realm {
        &self.realm
    }

    /// The module as what is called.
    pub fn script(&self) -> Script<'_> {
        Script { realm: &self.realm, name: "auth" }
    }
}

/// The entry of a file below the realm's root, with the name that errors show.
pub(super) fn file_entry(realm: &Realm, file: &Path) -> Result<(Entry, String), ScriptError> {
    let Some(path) = realm.entry(file) else {
        let name = file.to_string_lossy();
        let message = realm.files().missing_module("/", &name);
        return Err(ScriptError::new(super::ScriptErrorKind::NotFound, &name, message));
    };
    let name = path.trim_start_matches('/').to_owned();
    Ok((Entry::File(path), name))
}

/// One execution of one statement in one realm. Scripts see the same `params` object in every call;
/// names written into it are the overlay. Dropping the session frees it.
pub struct HookSession {
    sandbox: Sandbox,
    realm: Realm,
    id: Cell<u64>,
    lower: Value,
    statement: Lazy,
    /// About how many bytes `params` takes in the interpreter.
    held: Cell<usize>,
    /// The instance in which `params` has been made; 0 before it is in any.
    opened_in: Cell<u64>,
    /// What scripts had written into `params` when the last call ended.
    written: RefCell<Object>,
}

impl Drop for HookSession {
    fn drop(&mut self) {
        if self.opened_in.get() != 0 {
            self.sandbox.close_session(self.realm.id(), self.id.get(), self.held.get());
        }
    }
}

impl HookSession {
    /// Starts an execution. `lower` holds the layers below the overlay, flattened, absent members
    /// left out; `statement` is the record that hooks see as `args.statement` and as `this`. Nothing
    /// is made in the interpreter before a script looks at it.
    pub fn new(
        sandbox: &Sandbox,
        realm: &Realm,
        lower: Object,
        statement: impl Into<Lazy>,
    ) -> Self {
        let lower = Value::object(lower);
        Self::restored(sandbox, realm, lower, statement.into(), Object::new())
    }

    /// An execution in which scripts have written this already.
    pub(super) fn restored(
        sandbox: &Sandbox,
        realm: &Realm,
        lower: Value,
        statement: Lazy,
        written: Object,
    ) -> Self {
        Self {
            sandbox: sandbox.clone(),
            realm: realm.clone(),
            id: Cell::new(sandbox.next_session()),
            lower,
            statement,
            held: Cell::new(0),
            opened_in: Cell::new(0),
            written: RefCell::new(written),
        }
    }

    /// The realm, the layers below the overlay and the record of the statement.
    pub(super) fn parts(&self) -> (&Realm, &Value, &Lazy) {
        (&self.realm, &self.lower, &self.statement)
    }

    /// Takes over what a script has written on another thread; the next one here sees it.
    pub fn take_over(&self, changes: Changes) {
        if changes.is_empty() {
            return;
        }
        let mut written = self.written.borrow_mut();
        for (name, value) in changes.written {
            written.insert(name, value);
        }
        for name in changes.removed {
            written.remove(&name);
        }
        // `params` is made anew.
        if self.opened_in.take() != 0 {
            let id = self.id.replace(self.sandbox.next_session());
            self.sandbox.close_session(self.realm.id(), id, self.held.take());
        }
    }

    /// Calls a hook that the patch has; the patch must be of the session's realm.
    pub fn call(&self, patch: &Patch, args: HookArgs<'_>) -> Result<HookResult, ScriptError> {
        let hook = args.hook();
        let activity = Activity { subject: "Hook", name: hook.name(), is_load: false };
        let weight = arguments::weight(&args);
        self.enter(&patch.entry, hook.name(), activity, weight, |entered| {
            let exports = entered.instance.load(entered.ctx, &patch.entry)?;
            let mut inputs = self.inputs();
            let given = arguments::give(entered, &args, &mut inputs)?;
            self.run(entered, inputs, |call| {
                if let HookArgs::ValidateParam { params } = args {
                    return validate(entered, (self.js_id(), call), exports, params);
                }
                let is_async = entered.limits.hooks_async;
                let arguments = (self.js_id(), call, exports, hook as u32, given, is_async);
                let call_hook = entered.instance.call_hook(entered.ctx)?;
                let first: JsValue<'_> = call_hook.call(arguments)?;
                let silence = "the hook did not answer";
                let result = entered.drive(first, entered.limits.time_ms, silence)?;
                arguments::read_result(entered, hook, &result)
            })
        })
    }

    /// Asks the auth module; `Ok` permits. A denial, an exception and silence are errors
    /// (CON-53). `deadline_ms` bounds the module's timers.
    pub fn authorize(
        &self,
        auth: &AuthModule,
        config: &Value,
        deadline_ms: u64,
    ) -> Result<(), ScriptError> {
        let activity = Activity { subject: "Auth module", name: "", is_load: false };
        self.enter(&auth.entry, "auth", activity, 0, |entered| {
            let exports = entered.instance.load(entered.ctx, &auth.entry)?;
            let inputs = Inputs { body: Some(Lazy::from(config.clone())), ..self.inputs() };
            self.run(entered, inputs, |call| {
                let arguments = (self.js_id(), call, exports);
                let first: JsValue<'_> = entered.kernel.call("callAuth", arguments)?;
                entered.drive(first, deadline_ms, "Auth module did not answer")?;
                Ok(())
            })
        })
    }

    /// Renders a template over `statement` and `params`.
    pub fn render(&self, template: &EjsTemplate) -> Result<String, ScriptError> {
        let activity = Activity { subject: "Template", name: &template.file, is_load: false };
        if let Some(error) = template.broken.get() {
            return Err(error.clone());
        }
        let bytes_max = self.sandbox.limits().template_bytes;
        if template.text.len() > bytes_max {
            let message = format!("Template {} is longer than {bytes_max} bytes", template.file);
            let kind = super::ScriptErrorKind::Load;
            return Err(ScriptError::new(kind, &template.file, message));
        }
        let is_compiled = Cell::new(false);
        let rendered = self.sandbox.enter(&self.realm, activity, 0, |entered| {
            let file = &template.file;
            let id = (template.id, template.version);
            let escape = template.escape_name();
            entered.instance.load_template(entered.ctx, id, &template.text, file, escape)?;
            is_compiled.set(true);
            #[expect(clippy::cast_precision_loss, reason = "ids count templates")]
            let id = template.id as f64;
            self.run(entered, self.inputs(), |call| {
                let text: JsValue<'_> =
                    entered.kernel.call("renderTemplate", (id, self.js_id(), call))?;
                match text.as_string() {
                    Some(text) => Ok(convert::string_text(entered.ctx, text)?),
                    None => Err(Fault::result("the template did not give text")),
                }
            })
        });
        if let Err(error) = &rendered
            && !is_compiled.get()
            && !error.is_limit()
        {
            // Whoever was first has the same reason.
            let _ = template.broken.set(error.clone());
        }
        rendered
    }

    /// A template of the session, as what is called.
    pub fn template_script<'s>(&'s self, template: &'s EjsTemplate) -> Script<'s> {
        Script { realm: &self.realm, name: &template.file }
    }

    /// What hooks and the auth module had written into `params` at the end of the last call that did
    /// not fail.
    pub fn overlay(&self) -> Ref<'_, Object> {
        self.written.borrow()
    }

    fn inputs(&self) -> Inputs {
        let written = self.written.borrow().clone();
        Inputs::new(self.sandbox.next_call(), self.lower.clone(), self.statement.clone(), written)
    }

    /// Runs a script that may ask for the inputs, and takes down what it has written into `params`, in the
    /// same visit to the interpreter.
    fn run<R>(
        &self,
        entered: &Entered<'_, '_>,
        inputs: Inputs,
        work: impl FnOnce(u32) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let serial = entered.instance.serial();
        let inputs = Rc::new(inputs);
        self.sandbox.set_inputs(&inputs);
        let result = work(inputs.call);
        if inputs.is_opened.get() {
            if self.opened_in.replace(serial) == 0 {
                self.held.set(convert::weight(&self.lower));
                self.sandbox.hold(self.held.get());
            }
        } else if self.opened_in.get() != serial {
            return result;
        }
        let result = result?;
        // Jobs that are left over may still write.
        entered.run_jobs()?;
        let overlay: JsValue<'_> = entered.kernel.call("overlayOf", (self.js_id(),))?;
        *self.written.borrow_mut() = match entered.to_value(&overlay)? {
            Value::Object(overlay) => Arc::unwrap_or_clone(overlay),
            _ => Object::new(),
        };
        Ok(result)
    }

    /// Ids count up from 1 and stay far below the precision of a float.
    #[expect(clippy::cast_precision_loss, reason = "see above")]
    fn js_id(&self) -> f64 {
        self.id.get() as f64
    }

    /// Enters for a function of a module, with the module loaded under its own time.
    fn enter<R>(
        &self,
        entry: &Entry,
        function: &str,
        activity: Activity<'_>,
        weight: usize,
        work: impl FnOnce(&Entered<'_, '_>) -> Result<R, Fault>,
    ) -> Result<R, ScriptError> {
        if !self.sandbox.is_loaded(&self.realm, entry) {
            self.sandbox.load(&self.realm, entry, activity.name, |_, _| Ok(()))?;
        }
        let outcome = self.sandbox.enter(&self.realm, activity, weight, work);
        outcome.map_err(|error| self.sandbox.placed(&self.realm, entry, function, error))
    }
}

fn validate<'js>(
    entered: &Entered<'_, 'js>,
    (session, call): (f64, u32),
    exports: JsValue<'js>,
    params: &Object,
) -> Result<HookResult, Fault> {
    let names: Value = params.iter().map(|(name, _)| Value::String(name.clone())).collect();
    let values: Value = params.iter().map(|(_, value)| value.clone()).collect();
    let (names, values) = (entered.to_js(&names)?, entered.to_js(&values)?);
    let count = params.len();
    let refused: i32 =
        entered.kernel.call("validate", (session, call, exports, names, values, count))?;
    let refused = usize::try_from(refused).ok().and_then(|at| params.at(at));
    Ok(HookResult::Refused(refused.map(|(name, value)| (name.clone(), value.clone()))))
}
