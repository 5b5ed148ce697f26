//! The JavaScript of a verb: its patch, auth module, transformer and body template, loaded once per
//! thread.

use std::{path::Path, rc::Rc, sync::Arc};

use qlio_plan::catalog::{Table, Verb};
use qlio_syntax::{ast::VerbKind, diagnostic::codes};

use crate::{
    body::mustache::Mustache,
    engine::Engine,
    error::{Origin, RunError},
    function::with_position,
    sandbox::{AuthModule, EjsTemplate, Patch, Realm, ScriptError, Transformer},
};

/// What a verb brings in JavaScript and templates.
pub(crate) struct VerbScripts {
    pub(super) realm: Realm,
    pub(super) patch: Option<Patch>,
    pub(super) auth: Option<AuthModule>,
    pub(super) transformer: Option<Transformer>,
    pub(super) template: Option<Template>,
    /// Keeps the table alive, whose address is the key of the cache.
    pub(crate) table: Arc<Table>,
}

/// A compiled body template.
pub(super) enum Template {
    Mustache(Mustache),
    Ejs(EjsTemplate),
}

impl VerbScripts {
    /// Whether the verb has anything that runs.
    pub(crate) fn is_needed(verb: &Verb) -> bool {
        verb.patch.is_some()
            || verb.auth.is_some()
            || verb.transformer.is_some()
            || has_template(verb)
    }

    /// Loads everything; the first fault says what is wrong.
    pub(crate) fn load(
        engine: &Engine,
        table: &Arc<Table>,
        kind: VerbKind,
    ) -> Result<Rc<Self>, RunError> {
        let failed = |error: &ScriptError| {
            let message = format!("Table {} failed to load: {error}", table.name);
            let error_code = codes::BAD_PATCH;
            with_position(RunError::new(error_code, Origin::Gateway, 500, message), error)
        };
        let verb = table
            .verb(kind)
            .ok_or_else(|| RunError::internal("scripts of a verb that is not there"))?;
        let file = [&verb.patch, &verb.auth, &verb.transformer].into_iter().flatten().next();
        let realm = match file {
            Some(file) => Realm::new(engine.script_root(file)).map_err(|error| failed(&error))?,
            None => Realm::without_files(),
        };
        let sandbox = engine.sandbox();
        let load = |file: &Option<std::path::PathBuf>| file.as_deref().map(Path::to_owned);
        let patch = load(&verb.patch).map(|file| Patch::load(sandbox, &realm, &file)).transpose();
        let auth =
            load(&verb.auth).map(|file| AuthModule::load(sandbox, &realm, &file)).transpose();
        let transformer = load(&verb.transformer)
            .map(|file| Transformer::load(sandbox, &realm, &file))
            .transpose();
        Ok(Rc::new(Self {
            patch: patch.map_err(|error| failed(&error))?,
            auth: auth.map_err(|error| failed(&error))?,
            transformer: transformer.map_err(|error| failed(&error))?,
            template: template(table, verb)?,
            realm,
            table: Arc::clone(table),
        }))
    }
}

/// The body is made by a template that is not a form.
fn has_template(verb: &Verb) -> bool {
    verb.body.as_ref().is_some_and(|body| body.media_type != super::body::FORM)
}

/// `.ejs` files are EJS, all others mustache (`connectors.md` 2.6, C-Q20).
fn template(table: &Table, verb: &Verb) -> Result<Option<Template>, RunError> {
    let Some(body) = verb.body.as_ref().filter(|_| has_template(verb)) else { return Ok(None) };
    if body.template.contains(".ejs") {
        return Ok(Some(Template::Ejs(EjsTemplate::new(&body.template, &body.content))));
    }
    match Mustache::parse(&body.content) {
        Ok(template) => Ok(Some(Template::Mustache(template))),
        Err(error) => {
            let message = format!(
                "Table {} failed to load: template `{}` line {}: {}",
                table.name, body.template, error.line, error.reason
            );
            Err(RunError::new(codes::BAD_BODY_TEMPLATE, Origin::Gateway, 500, message))
        }
    }
}
