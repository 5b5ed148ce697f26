//! Request headers: ours, the table's, the request id (CON-29 to CON-38).

use http::{HeaderMap, HeaderValue, header};
use qlio_data::{
    Text, Value, params,
    params::Params,
    scope::{Scope, SlotId},
};

use super::{Call, failure, hooks::Hooks};
use crate::{
    error::RunError,
    hops::{self, HOPS},
    scope::StatementParams,
    services::ACCEPT,
    transport,
};

impl Call<'_> {
    /// The headers of one request, before its body is known.
    pub(super) fn headers(
        &self,
        own: &[(Text, Value)],
        hooks: Option<&Hooks>,
    ) -> Result<HeaderMap, RunError> {
        let defaults = self.run.engine.default_headers();
        let mut headers = defaults.headers.clone();
        headers.reserve(self.verb.headers.len());
        if let Some(accept) =
            self.verb.format.as_ref().and_then(|format| declared_accept(format.kind))
        {
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
        } else if let Some(accept) = self.scripts.as_ref().and_then(|scripts| scripts.accept()) {
            let (name, value) = transport::header("accept", &format!("{ACCEPT},{accept}"))
                .map_err(|error| failure::transport_failed(&error))?;
            headers.insert(name, value);
        }
        let params = StatementParams { is_for_headers: true, ..self.params(own, hooks) };
        let scope = ParamScope { params: &params };
        for (name, template) in &self.verb.headers {
            let value = if template.is_literal() {
                template.text().to_owned()
            } else {
                template.fill_drop(&scope)
            };
            let (name, value) = transport::header(name, &value)
                .map_err(|error| failure::transport_failed(&error))?;
            headers.insert(name, value);
        }
        if self.run.engine.settings().request_id_trail {
            let name = defaults.request_id();
            match self.run.open_trail(&headers, name) {
                Some(id) => headers.insert(name.clone(), id),
                None => headers.remove(name),
            };
        }
        Ok(headers)
    }

    /// Marks the headers that are made from settings, so that no log and no trace shows them and they
    /// do not follow a redirect to another origin (CON-35), and sets the one that nobody else may set.
    pub(super) fn seal(&self, headers: &mut HeaderMap) {
        headers.insert(HOPS, hops::next(self.run.hops));
        for name in &self.verb.headers_from_settings {
            if let Some(value) = headers.get_mut(name.as_str()) {
                value.set_sensitive(true);
            }
        }
    }
}

/// What a declared format accepts, itself first (FMT-29).
fn declared_accept(kind: qlio_plan::catalog::FormatKind) -> Option<&'static str> {
    use qlio_plan::catalog::FormatKind;
    match kind {
        FormatKind::Protobuf => Some(
            "application/x-protobuf,application/protobuf,application/xml;q=0.5,application/json;q=0.5,text/csv;q=0.5",
        ),
        FormatKind::MessagePack => Some(
            "application/msgpack,application/x-msgpack,application/xml;q=0.5,application/json;q=0.5,text/csv;q=0.5",
        ),
        FormatKind::Cbor => {
            Some("application/cbor,application/xml;q=0.5,application/json;q=0.5,text/csv;q=0.5")
        }
        FormatKind::Json | FormatKind::Xml | FormatKind::Csv | FormatKind::Text => None,
    }
}

/// Parameters seen as a scope, for templates of headers.
pub(super) struct ParamScope<'a> {
    pub(super) params: &'a dyn Params,
}

impl Scope for ParamScope<'_> {
    fn slot(&self, _: SlotId) -> Value {
        // Templates of tables are never bound to the variables of a script.
        Value::Absent
    }

    fn name(&self, name: &str) -> Value {
        params::lookup_text(self.params, name)
    }

    fn text_room(&self) -> usize {
        self.params.text_room()
    }

    fn refuse_text(&self) {
        self.params.refuse_text();
    }
}
