//! Custom transformers: a module that decodes the answers of one table (FMT-11).

use std::path::Path;

use qlio_data::{Object, Value};
use rquickjs::{Object as JsObject, Value as JsValue};

use super::{
    convert,
    error::{Activity, ScriptError},
    instance::Entry,
    machine::Sandbox,
    realm::Realm,
    session::file_entry,
    slow::Script,
};

/// A loaded transformer module. Cheap to clone, shared by threads.
#[derive(Debug, Clone)]
pub struct Transformer {
    realm: Realm,
    entry: Entry,
    name: String,
    accept: Option<String>,
}

impl Transformer {
    /// Loads a transformer; `file` lies below the realm's root.
    pub fn load(sandbox: &Sandbox, realm: &Realm, file: &Path) -> Result<Self, ScriptError> {
        let (entry, name) = file_entry(realm, file)?;
        let accept = sandbox.load(realm, &entry, &name, |entered, exports| {
            let found: JsObject<'_> = entered.kernel.call("describeExports", (exports,))?;
            let accept: Option<String> = found.get("accept")?;
            Ok(accept)
        })?;
        Ok(Self { realm: realm.clone(), entry, name, accept })
    }

    /// It as what is called.
    pub fn script(&self) -> Script<'_> {
        Script { realm: &self.realm, name: &self.name }
    }

    /// Its media types for the `accept` header, if it names any.
    pub fn accept(&self) -> Option<&str> {
        self.accept.as_deref()
    }

    /// Decodes a body. What it hands to `fail`, and what it throws, is the error.
    pub fn to_value(
        &self,
        sandbox: &Sandbox,
        text: &str,
        headers: &Object,
        deadline_ms: u64,
    ) -> Result<Value, ScriptError> {
        if !sandbox.is_loaded(&self.realm, &self.entry) {
            sandbox.load(&self.realm, &self.entry, &self.name, |_, _| Ok(()))?;
        }
        let activity = Activity { subject: "Transformer", name: &self.name, is_load: false };
        let outcome = sandbox.enter(&self.realm, activity, text.len() * 2, |entered| {
            let exports = entered.instance.load(entered.ctx, &self.entry)?;
            let text = convert::js_text(entered.ctx, text)?;
            let headers = entered.object_to_js(headers)?;
            let first: JsValue<'_> =
                entered.kernel.call("callTransformer", (exports, text, headers))?;
            let silence = format!("Transformer {} did not answer", self.name);
            let value = entered.drive(first, deadline_ms, &silence)?;
            entered.to_value(&value)
        });
        outcome.map_err(|error| sandbox.placed(&self.realm, &self.entry, "toJson", error))
    }
}
