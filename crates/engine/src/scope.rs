//! What names mean while a plan runs: the layers of SCP-10 in the order of
//! SAF-1, SAF-2.
//!
//! Two views of the same layers: [`Run`] as [`Scope`] for tokens of the script, and
//! [`StatementParams`] for tokens of a table, where the statement's own values come first and the
//! verb's defaults last.

use std::{cell::Cell, sync::Arc};

use base64::{Engine as _, engine::general_purpose::STANDARD as BASE64};
use qlio_data::{
    Object, Text, Value,
    params::{self, Manner, Params},
    scope::Scope,
};
use qlio_plan::{
    SlotId,
    catalog::{DefaultValue, NeededSetting, Verb},
};

use crate::{
    error::RunError,
    lookups::FoundToken,
    request::{Caller, Part},
    run::Run,
    sandbox::HookSession,
    settings::ClientParams,
};

/// The name by which scripts find the client's address.
const REMOTE_ADDRESS: &str = "remoteAddress";

impl Scope for Run<'_> {
    fn slot(&self, slot: SlotId) -> Value {
        let value = self.slots.borrow()[slot.index()].clone();
        let symbol = &self.plan.symbols[slot.index()];
        // A throw leaves a variable of the caller alone; a query or a header is none.
        if value.is_absent() && symbol.node.is_none() { self.given(&symbol.name) } else { value }
    }

    fn name(&self, name: &str) -> Value {
        // Slots cover every name known at compile time; this finds names that tokens make up.
        if let Some(slot) = self.plan.symbols.iter().position(|symbol| *symbol.name == *name) {
            return self.slot(SlotId::at(slot));
        }
        if name == "config" {
            // Settings are the operator's word; nothing that a client sends stands in for them.
            let variable = self.request.variables.get(name);
            return variable.unwrap_or_else(|| self.script_config()).clone();
        }
        let found = self.given(name);
        if found.is_absent() { self.client(name) } else { found }
    }

    fn found(&self, slot: SlotId, path: &str) -> Option<Value> {
        self.lookups.get(slot, path, || self.slots.borrow()[slot.index()].clone())
    }

    fn text_room(&self) -> usize {
        self.budget.memory_left()
    }

    fn refuse_text(&self) {
        self.budget.refuse_memory();
    }
}

impl Run<'_> {
    /// What the caller gave the script by name: variables, route parameters, body members, attachments.
    pub(crate) fn given(&self, name: &str) -> Value {
        let request = self.request;
        if let Some(value) = request.variables.get(name).or_else(|| request.route.get(name)) {
            return value.clone();
        }
        if name == "req" && !request.parts.is_empty() {
            return self.parts();
        }
        if request.body.is_object() { request.body.member(name) } else { Value::Absent }
    }

    /// Fails if one of these settings, which have no value, is not given as a variable either.
    pub(crate) fn require_settings(&self, tokens: &[Text]) -> Result<(), RunError> {
        let is_missing = |token: &&Text| {
            let (root, rest) = token.split_once('.').unwrap_or((&***token, ""));
            let setting = rest.split('.').fold(self.name(root), |value, step| value.member(step));
            setting.is_nothing()
        };
        tokens.iter().find(is_missing).map_or(Ok(()), |token| Err(RunError::missing_setting(token)))
    }

    /// The client's query, headers and address.
    pub(crate) fn client(&self, name: &str) -> Value {
        self.request.query.get(name).cloned().unwrap_or_else(|| self.client_head(name))
    }

    /// The client's headers and address.
    fn client_head(&self, name: &str) -> Value {
        match self.request.headers.get(name) {
            Some(value) => value.clone(),
            None if name == REMOTE_ADDRESS => self.remote_address(),
            None => Value::Absent,
        }
    }

    /// How far the client may reach into requests of tables. Only the routes of strangers need a guard:
    /// who sends a script writes its values anyway.
    fn client_params(&self) -> ClientParams {
        match self.caller {
            Caller::Route => self.engine.settings().client_params,
            Caller::AdHoc { .. } | Caller::Operator => ClientParams::Any,
        }
    }

    fn remote_address(&self) -> Value {
        let address = self.request.remote_address;
        address.map_or(Value::Absent, |address| Value::from(address.to_string()))
    }

    /// The same layers, in the same order, for functions of scripts, which outlive every borrow.
    pub(crate) fn make_outer_layers(&self) -> Arc<[Value]> {
        let request = self.request;
        let one = |name: &str, value: Value| Value::object([(name, value)].into_iter().collect());
        let mut layers = vec![
            Value::object(request.variables.clone()),
            one("config", self.script_config().clone()),
            Value::object(request.route.clone()),
        ];
        if !request.parts.is_empty() {
            layers.push(one("req", self.parts()));
        }
        if request.body.is_object() {
            layers.push(request.body.clone());
        }
        layers.push(Value::object(request.query.clone()));
        layers.push(Value::object(request.headers.clone()));
        layers.push(one(REMOTE_ADDRESS, self.remote_address()));
        layers.into()
    }

    /// Attachments as scripts see them (SRV-23): `data` is text, or base64 of what is no text.
    pub(crate) fn parts(&self) -> Value {
        self.parts.get_or_init(|| make_parts(&self.request.parts)).clone()
    }

    /// Which attachment this is, as [`Self::parts`] has given it to the script.
    pub(crate) fn part_index(&self, value: &Value) -> Option<usize> {
        let parts = self.parts.get()?.member("parts");
        let Value::Object(asked) = &*value.open() else { return None };
        let is_same = |part: &Value| match part {
            Value::Object(part) => Arc::ptr_eq(part, asked),
            _ => false,
        };
        let parts = parts.elements()?;
        // A copy is as good as the attachment itself.
        parts.iter().position(is_same).or_else(|| parts.iter().position(|part| part == value))
    }
}

fn make_parts(parts: &[Part]) -> Value {
    let part = |part: &Part| {
        let data = match Text::from_utf8(part.data.clone()) {
            Ok(text) => text,
            Err(_) => BASE64.encode(&part.data).into(),
        };
        let object: Object = [
            ("name", Value::from(part.name.as_str())),
            ("size", Value::from(part.data.len())),
            ("data", Value::String(data)),
        ]
        .into_iter()
        .collect();
        Value::object(object)
    };
    let parts: Value = parts.iter().map(part).collect();
    Value::object([("parts", parts)].into_iter().collect())
}

/// The most names that one default may need, those that other defaults need for it included.
const DEFAULT_NAMES_MAX: u32 = 64;

/// The parameters of one statement on a table (CON-19).
pub(crate) struct StatementParams<'a> {
    pub(crate) run: &'a Run<'a>,
    pub(crate) verb: &'a Verb,
    /// The statement's own values.
    pub(crate) own: &'a [(Text, Value)],
    /// The hooks of the statement, whose writes come first.
    pub(crate) hooks: Option<&'a HookSession>,
    /// What its dotted names lead to in large variables.
    pub(crate) found: &'a [FoundToken],
    /// The table was sent by a client, so it sees only the settings that clients may read.
    pub(crate) is_untrusted: bool,
    /// The tokens stand inside of `using headers`, where the client's headers may be passed on.
    pub(crate) is_for_headers: bool,
}

impl Params for StatementParams<'_> {
    fn get(&self, name: &str) -> Value {
        if name == "config" && self.is_loaded_for_client() {
            // A client's script must not turn a loaded table to another host with a variable.
            return self.config().clone();
        }
        if let Some(hooks) = self.hooks {
            let written = hooks.overlay().get(name).cloned();
            if let Some(written) = written.filter(|value| !value.is_absent()) {
                return written;
            }
        }
        if let Some((_, value)) =
            self.own.iter().rev().find(|(own, value)| *own == name && !value.is_absent())
        {
            return value.clone();
        }
        if let Some(slot) = self.run.plan.symbols.iter().position(|symbol| *symbol.name == *name) {
            let value = self.run.slots.borrow()[slot].clone();
            if !value.is_absent() {
                return value;
            }
        }
        if name == "config" {
            return self.config().clone();
        }
        let given = self.run.given(name);
        if !given.is_absent() {
            return given;
        }
        match self.run.client_params() {
            ClientParams::Any => self.run.client(name),
            _ if self.has_default(name) => Value::Absent,
            ClientParams::Fill => self.run.client(name),
            ClientParams::Declared if self.is_for_headers => self.run.client_head(name),
            // The address is a fact of the connection; nobody chooses it.
            ClientParams::Declared if name == REMOTE_ADDRESS => self.run.remote_address(),
            ClientParams::Declared => Value::Absent,
        }
    }

    fn found(&self, dotted: &str, manner: Manner) -> Option<Value> {
        let value = FoundToken::among(self.found, dotted, manner)?;
        let root = dotted.split('.').next().unwrap_or_default();
        let is_written = self.hooks.is_some_and(|hooks| hooks.overlay().get(root).is_some());
        let is_own = self.own.iter().any(|(own, value)| *own == root && !value.is_absent());
        (!is_written && !is_own).then_some(value)
    }

    fn default(&self, name: &str) -> Value {
        self.default_within(name, None, &Cell::new(DEFAULT_NAMES_MAX))
    }

    fn text_room(&self) -> usize {
        self.run.text_room()
    }

    fn refuse_text(&self) {
        self.run.refuse_text();
    }
}

impl StatementParams<'_> {
    /// Fails if the request needs a setting that has no value. What only defaults need may still come
    /// from the auth module before that has run.
    pub(crate) fn require_settings(&self, is_authorized: bool) -> Result<(), RunError> {
        let is_needed = |needed: &&NeededSetting| {
            let is_default_unused = needed.default.as_ref().is_some_and(|parameter| {
                !is_authorized || !params::lookup_given(self, parameter).is_nothing()
            });
            !is_default_unused && params::lookup(self, &needed.name).is_nothing()
        };
        let missing = self.verb.missing_settings.iter().find(is_needed);
        missing.map_or(Ok(()), |needed| Err(RunError::missing_setting(&needed.name)))
    }

    /// The default of a name that is needed by the default `within`; `names_left` counts down over
    /// all that they need together.
    fn default_within(
        &self,
        name: &str,
        within: Option<&DefaultScope<'_>>,
        names_left: &Cell<u32>,
    ) -> Value {
        let Some((_, default)) = self.verb.defaults.iter().find(|(default, _)| *default == name)
        else {
            return Value::Absent;
        };
        let template = match default {
            DefaultValue::Constant(value) => return value.clone(),
            DefaultValue::Template(template) => template,
        };
        // A default has one value, wherever it is used.
        let params = &StatementParams { is_for_headers: false, ..*self };
        template.fill_whole(&DefaultScope { params, name, within, names_left }).unwrap_or_else(
            |error| {
                self.run.warn(format!("the default of `{name}` counts as missing: {error}"));
                Value::Absent
            },
        )
    }

    /// The settings that the table may read.
    pub(crate) fn config(&self) -> &Value {
        if self.is_untrusted { self.run.script_config() } else { self.run.catalog.config() }
    }

    /// A loaded table that runs in a script sent by a client.
    fn is_loaded_for_client(&self) -> bool {
        matches!(self.run.caller, Caller::AdHoc { .. }) && !self.is_untrusted
    }

    /// The verb has a default for this name or for a member of it.
    fn has_default(&self, name: &str) -> bool {
        self.verb.defaults.iter().any(|(default, _)| {
            let rest = default.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        })
    }
}

/// What the tokens of a default see: all parameters of the statement, other defaults last. A default
/// that needs itself is missing (CON-22).
struct DefaultScope<'a> {
    params: &'a StatementParams<'a>,
    /// Whose default is filled.
    name: &'a str,
    /// The default that needs this one.
    within: Option<&'a DefaultScope<'a>>,
    /// How many names may still be looked up.
    names_left: &'a Cell<u32>,
}

impl DefaultScope<'_> {
    fn is_for(&self, name: &str) -> bool {
        self.name == name || self.within.is_some_and(|outer| outer.is_for(name))
    }
}

impl Scope for DefaultScope<'_> {
    fn slot(&self, _: SlotId) -> Value {
        // Templates of tables are never bound to the variables of a script.
        Value::Absent
    }

    fn text_room(&self) -> usize {
        self.params.run.text_room()
    }

    fn refuse_text(&self) {
        self.params.run.refuse_text();
    }

    fn name(&self, name: &str) -> Value {
        let Some(left) = self.names_left.get().checked_sub(1) else {
            self.params.run.warn(format!(
                "the default of `{}` needs more than {DEFAULT_NAMES_MAX} names; `{name}` counts as missing",
                self.name
            ));
            return Value::Absent;
        };
        self.names_left.set(left);
        let found = self.params.get(name);
        if found.is_nothing() && !self.is_for(name) {
            self.params.default_within(name, Some(self), self.names_left)
        } else {
            found
        }
    }
}
