//! The JavaScript of a verb: its patch, auth module, transformer and body template, compiled once per
//! thread from the texts of the catalog.

mod check;

use std::{
    cell::RefCell,
    path::{Path, PathBuf},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use qlio_data::{Text, uri_template::TemplateError};
use qlio_plan::catalog::{Body, Format, FormatKind, ScriptFile, Table, Verb};
use qlio_syntax::{
    diagnostic::{Code, codes},
    source::LineIndex,
};

use crate::{
    body::{
        escape::Escape,
        mustache::{Mustache, MustacheError},
    },
    error::{Fact, RunError},
    sandbox::{
        AuthModule, EjsTemplate, Hook, Patch, Realm, Sandbox, SandboxLimits, ScriptError,
        ScriptErrorKind, Transformer,
    },
    settings::HookSettings,
};

pub use check::{ScriptProblem, check_scripts};

/// What a verb brings in JavaScript and templates.
pub(crate) struct VerbScripts {
    pub(crate) realm: Realm,
    pub(crate) patch: Option<Patch>,
    pub(crate) auth: Option<AuthModule>,
    pub(crate) transformer: Option<Transformer>,
    pub(crate) template: Option<Template>,
    /// What is odd about the template, though it works.
    pub(crate) notes: Vec<ScriptFault>,
    /// The last template that the hook "body template" gave: most give the same one every time.
    own: RefCell<Option<OwnTemplate>>,
}

/// A template that a hook gave.
struct OwnTemplate {
    text: String,
    escape: Escape,
    template: Rc<Template>,
}

/// A compiled body template.
pub(crate) enum Template {
    Mustache(Mustache),
    Ejs(EjsTemplate),
}

/// Why a script or template of a verb cannot be loaded.
#[derive(Debug, Clone)]
pub(crate) struct ScriptFault {
    pub(crate) code: Code,
    /// What is wrong, without the place.
    pub(crate) reason: String,
    /// The file of the mistake.
    pub(crate) file: PathBuf,
    /// 1-based place in it.
    pub(crate) line: Option<u32>,
    pub(crate) column: Option<u32>,
    /// It ran out of time or memory.
    pub(crate) is_limit: bool,
    /// It was not loaded in the time that it has on a thread where others wait.
    pub(crate) is_unfinished: bool,
    /// The file as errors of requests show it, and whether the message names it.
    shown_file: Option<String>,
    is_template: bool,
}

impl ScriptFault {
    fn of_script(error: &ScriptError, file: &ScriptFile) -> Self {
        // The mistake may be in a module that the script requires.
        let culprit = error.file.as_deref().and_then(|inner| file.folder.resolve("/", inner));
        Self {
            code: codes::BAD_PATCH,
            reason: error.to_string(),
            file: file.folder.place(culprit.as_ref().unwrap_or(&file.path)),
            line: error.line,
            column: error.column,
            is_limit: matches!(error.kind, ScriptErrorKind::Time | ScriptErrorKind::Memory),
            is_unfinished: error.kind == ScriptErrorKind::Unfinished,
            shown_file: error.file.clone(),
            is_template: false,
        }
    }

    fn of_template(table: &Table, body: &Body, reason: String, line: Option<u32>) -> Self {
        let folder = Path::new(&*table.file).parent().unwrap_or(Path::new(""));
        Self {
            code: codes::BAD_BODY_TEMPLATE,
            reason,
            file: folder.join(&body.template),
            line,
            column: None,
            is_limit: false,
            is_unfinished: false,
            shown_file: Some(body.template.clone()),
            is_template: true,
        }
    }

    /// The error of a statement that needs the script.
    pub(crate) fn into_run_error(self, table: &Text) -> RunError {
        let mut message = format!("Table {table} failed to load: ");
        if let (true, Some(file)) = (self.is_template, &self.shown_file) {
            message.extend(["template `", file, "`"]);
            if let Some(line) = self.line {
                message.extend([" line ", &line.to_string()]);
            }
            message.push_str(": ");
        }
        message.push_str(&self.reason);
        let mut failed = RunError::gateway(self.code, message).in_table(table);
        if let Some(file) = &self.shown_file {
            failed = failed.with(Fact::File(file.clone()));
        }
        failed.facts.extend(self.line.map(Fact::FileLine));
        failed.facts.extend(self.column.map(Fact::FileColumn));
        failed
    }
}

/// The JavaScript files of a verb, loaded. They may have been loaded by another thread.
#[derive(Debug)]
pub(crate) struct ScriptFiles {
    realm: Realm,
    realm_of_transformer: Option<Realm>,
    patch: Option<Patch>,
    auth: Option<AuthModule>,
    transformer: Option<Transformer>,
}

impl ScriptFiles {
    /// Loads them in the interpreter of this thread.
    ///
    /// # Errors
    /// Every script that cannot be loaded, at least one.
    pub(crate) fn load(sandbox: &Sandbox, verb: &Verb) -> Result<Self, Vec<ScriptFault>> {
        let file = [&verb.patch, &verb.auth, &verb.transformer].into_iter().flatten().next();
        // All of them lie in the folder of the tables, but for a transformer that another file names.
        let realm = file.map_or_else(Realm::without_files, |file| Realm::new(&file.folder));
        let elsewhere = verb
            .transformer
            .as_ref()
            .zip(file)
            .filter(|(transformer, file)| !Arc::ptr_eq(&transformer.folder, &file.folder));
        let realm_of_transformer =
            elsewhere.map(|(transformer, _)| Realm::new(&transformer.folder));
        let mut faults = Vec::new();
        let patch =
            load_file(verb.patch.as_ref(), &mut faults, |file| Patch::load(sandbox, &realm, file));
        let auth = load_file(verb.auth.as_ref(), &mut faults, |file| {
            AuthModule::load(sandbox, &realm, file)
        });
        let transformer = load_file(verb.transformer.as_ref(), &mut faults, |file| {
            Transformer::load(sandbox, realm_of_transformer.as_ref().unwrap_or(&realm), file)
        });
        if faults.is_empty() {
            Ok(Self { realm, realm_of_transformer, patch, auth, transformer })
        } else {
            Err(faults)
        }
    }

    /// The realms that they are loaded into.
    pub(crate) fn realms(&self) -> impl Iterator<Item = &Realm> {
        std::iter::once(&self.realm).chain(&self.realm_of_transformer)
    }
}

impl VerbScripts {
    /// Whether the verb has anything that runs.
    pub(crate) fn is_needed(verb: &Verb) -> bool {
        verb.patch.is_some()
            || verb.auth.is_some()
            || verb.transformer.is_some()
            || has_template(verb)
    }

    /// Whether some script sees the parameters and the record of a statement.
    pub(super) fn runs_sessions(&self) -> bool {
        self.patch.is_some()
            || self.auth.is_some()
            || matches!(self.template, Some(Template::Ejs(_)))
    }

    /// Loads everything of a verb.
    ///
    /// # Errors
    /// Every script and template that cannot be loaded, at least one.
    pub(crate) fn load(
        sandbox: &Sandbox,
        table: &Table,
        verb: &Verb,
    ) -> Result<Self, Vec<ScriptFault>> {
        Self::of(ScriptFiles::load(sandbox, verb), table, verb)
    }

    /// Everything of a verb whose files have been loaded, here or elsewhere.
    ///
    /// # Errors
    /// Every script and template that cannot be loaded, at least one.
    pub(crate) fn of(
        files: Result<ScriptFiles, Vec<ScriptFault>>,
        table: &Table,
        verb: &Verb,
    ) -> Result<Self, Vec<ScriptFault>> {
        let template = template(table, verb);
        let (files, template) = match (files, template) {
            (Ok(files), Ok(template)) => (files, template),
            (files, template) => {
                let faults = files.err().into_iter().flatten();
                return Err(faults.chain(template.err().map(|fault| *fault)).collect());
            }
        };
        let notes = template_notes(table, verb, template.as_ref());
        let ScriptFiles { realm, patch, auth, transformer, .. } = files;
        Ok(Self { realm, patch, auth, transformer, template, notes, own: RefCell::default() })
    }

    /// A template that the hook "body template" gave, for a verb whose own is in `file`.
    pub(crate) fn own_template(
        &self,
        file: &str,
        text: &str,
        escape: Escape,
    ) -> Result<Rc<Template>, MustacheError> {
        let mut own = self.own.borrow_mut();
        if let Some(known) = &*own
            && known.text == text
            && known.escape == escape
        {
            return Ok(Rc::clone(&known.template));
        }
        let template = match own.as_ref().map(|own| &*own.template) {
            // In the place of the one before, so that the interpreter does not keep them all.
            Some(Template::Ejs(before)) => Template::Ejs(before.replace(text, escape)),
            _ => parse_template(file, text, escape)?,
        };
        let template = Rc::new(template);
        *own = Some(OwnTemplate { text: text.to_owned(), escape, template: Rc::clone(&template) });
        Ok(template)
    }

    /// Some script may make something else of an answer than is decoded of it.
    pub(crate) fn may_replace_answers(&self) -> bool {
        let hooks = [Hook::ParseResponse, Hook::PatchMediaType, Hook::PatchResponse];
        let has = |hook| self.patch.as_ref().is_some_and(|patch| patch.has(hook));
        self.transformer.is_some() || hooks.into_iter().any(has)
    }

    /// The media types of the transformer, if it names any.
    pub(crate) fn accept(&self) -> Option<&str> {
        let accept = self.transformer.as_ref()?.accept()?;
        Some(accept).filter(|accept| !accept.is_empty())
    }

    /// What is odd about the scripts, though they work.
    pub(crate) fn warnings(&self) -> &[String] {
        self.patch.as_ref().map_or(&[], Patch::warnings)
    }
}

fn load_file<T>(
    file: Option<&ScriptFile>,
    faults: &mut Vec<ScriptFault>,
    load: impl FnOnce(&Path) -> Result<T, ScriptError>,
) -> Option<T> {
    let file = file?;
    load(Path::new(&file.path))
        .map_err(|error| faults.push(ScriptFault::of_script(&error, file)))
        .ok()
}

/// The body is made by a template that is not a form.
fn has_template(verb: &Verb) -> bool {
    verb.body.as_ref().is_some_and(|body| body.form.is_none())
}

/// The template of a verb, escaping for the type of its body.
fn template(table: &Table, verb: &Verb) -> Result<Option<Template>, Box<ScriptFault>> {
    let Some(body) = verb.body.as_ref().filter(|_| has_template(verb)) else { return Ok(None) };
    let escape = body_escape(verb, &body.media_type);
    parse_template(&body.template, &body.content, escape).map(Some).map_err(|error| {
        let line = u32::try_from(error.line).ok();
        Box::new(ScriptFault::of_template(table, body, error.reason, line))
    })
}

/// How a body of this type is escaped. A template whose text is encoded in a format that is made from JSON
/// writes JSON, whatever its type says.
pub(crate) fn body_escape(verb: &Verb, media_type: &str) -> Escape {
    match &verb.request_format {
        Some(format) if is_made_of_json(format) => Escape::Json,
        _ => Escape::of_media_type(media_type),
    }
}

/// Whether bodies of this format are made from JSON; others are written by templates as they are.
pub(crate) fn is_made_of_json(format: &Format) -> bool {
    match format.kind {
        FormatKind::Json | FormatKind::Protobuf | FormatKind::MessagePack | FormatKind::Cbor => {
            true
        }
        FormatKind::Xml | FormatKind::Csv | FormatKind::Text => false,
    }
}

/// `.ejs` files are EJS; all others are mustache, and so is a name that asks for both.
fn parse_template(file: &str, text: &str, escape: Escape) -> Result<Template, MustacheError> {
    if file.contains(".ejs") && !file.contains(".mu") {
        Ok(Template::Ejs(EjsTemplate::escaping(file, text, escape)))
    } else {
        Mustache::parse(text, escape).map(Template::Mustache)
    }
}

fn template_notes(table: &Table, verb: &Verb, template: Option<&Template>) -> Vec<ScriptFault> {
    let (Some(body), Some(Template::Mustache(template))) = (&verb.body, template) else {
        return Vec::new();
    };
    let notes = template.notes().iter().map(|note| {
        let line = u32::try_from(note.line).ok();
        ScriptFault::of_template(table, body, note.reason.clone(), line)
    });
    notes.collect()
}

/// A form that is no URI template.
pub(crate) fn form_fault(table: &Table, verb: &Verb) -> Option<ScriptFault> {
    let body = verb.body.as_ref()?;
    let fault = body.form.as_ref()?.as_ref().err()?;
    Some(form_failed(table, body, fault))
}

/// The same in the words of other broken templates.
pub(crate) fn form_failed(table: &Table, body: &Body, fault: &TemplateError) -> ScriptFault {
    let line = Some(LineIndex::new(&body.content).line(fault.offset as u32));
    ScriptFault::of_template(table, body, fault.reason.clone(), line)
}

/// A sandbox with the limits of hooks, of whose time a call may have a slice here.
pub(crate) fn sandbox_of(hooks: HookSettings, slice: Option<Duration>) -> Sandbox {
    Sandbox::new(SandboxLimits {
        slice: slice.filter(|slice| *slice < hooks.time),
        time_ms: u64::try_from(hooks.time.as_millis()).unwrap_or(u64::MAX),
        memory_bytes: hooks.memory_bytes,
        hooks_async: hooks.allows_promises,
        ..SandboxLimits::default()
    })
}
