//! `/console/catalog`: in one answer what the console has to know of this server (CSL-3).
//!
//! In: the loaded catalog and the settings. Out: a JSON object: what clients may do, and all tables and routes as
//! far as they are told, described as `/table` and `/route` do. Its tag is made of what it is made of, so a console
//! that has it already costs a comparison.

use std::sync::Arc;

use hyper::{
    StatusCode,
    header::{self, HeaderValue},
};
use qlio_data::{Object, Value};
use qlio_plan::catalog::describe;

use super::{Drafts, Exchange, HttpApp, Snapshot, console_files::is_known, metadata};
use crate::{
    http::{
        disclosure::{ErrorDetail, MetadataScope},
        failure::Failure,
        respond::{self, Rendition, Response},
        trace::TraceLevel,
    },
    load::Loaded,
};

impl HttpApp {
    /// Answers with the catalog; a heavy thread describes it, since it may be large.
    pub(super) async fn console_catalog(
        &self,
        exchange: &Exchange<'_>,
        rendition: Rendition<'_>,
    ) -> Result<Response, Failure> {
        let headers = &exchange.head.headers;
        self.shared.settings.gate.admit(headers)?;
        let told = exchange.metadata;
        let server = self.server_facts(told);
        let version = env!("CARGO_PKG_VERSION");
        let tag = format!("\"{version}-{}-{}\"", exchange.loaded.fingerprint, told as u8);
        let tag = respond::header_value(&tag);
        let mut response = if is_known(headers, &tag) {
            respond::plain(StatusCode::NOT_MODIFIED, "application/json", bytes::Bytes::new())
        } else {
            let loaded = Arc::clone(&exchange.loaded);
            let heavy = self.engine.heavy();
            let drafts = self.shared.drafts.clone();
            let described = heavy.run(move |_| catalog(&loaded, told, server, drafts.as_ref()));
            let described = described.await?;
            respond::result(StatusCode::OK, described.value, &[], rendition, heavy).await?
        };
        let answer = response.headers_mut();
        answer.insert(header::ETAG, tag);
        answer.insert(header::CACHE_CONTROL, HeaderValue::from_static("private, no-cache"));
        Ok(response)
    }

    /// What clients may do here.
    fn server_facts(&self, told: MetadataScope) -> Object {
        let Snapshot { settings, sockets, .. } = &*self.shared;
        let trace = match settings.trace {
            TraceLevel::None => "none",
            TraceLevel::Progress => "progress",
            TraceLevel::Full => "full",
        };
        let metadata = match told {
            MetadataScope::None => "none",
            MetadataScope::Routes => "routes",
            MetadataScope::All => "all",
        };
        let errors = if settings.errors == ErrorDetail::Full { "full" } else { "brief" };
        [
            ("version", Value::from(env!("CARGO_PKG_VERSION"))),
            ("isDev", Value::Bool(settings.gate.is_dev())),
            ("adhoc", Value::Bool(settings.allows_adhoc)),
            ("trace", Value::from(trace)),
            ("metadata", Value::from(metadata)),
            ("errors", Value::from(errors)),
            ("lsp", Value::Bool(told == MetadataScope::All)),
            ("drafts", Value::Bool(self.shared.drafts.is_some())),
            ("frameBytes", Value::from(sockets.frame_bytes_max.min(sockets.message_bytes_max))),
            ("messageBytes", Value::from(sockets.message_bytes_max)),
        ]
        .into_iter()
        .collect()
    }
}

fn catalog(loaded: &Loaded, told: MetadataScope, server: Object, drafts: Option<&Drafts>) -> Value {
    let catalog = &loaded.catalog;
    let tables = catalog.tables().iter().filter(|_| told == MetadataScope::All);
    let tables = tables.map(|table| describe::describe_table(catalog, table));
    let routes = catalog.routes().iter().filter(|_| told >= MetadataScope::Routes);
    let routes = routes.filter_map(|route| {
        let described = describe::describe_route(catalog, &route.path, &route.method)?;
        let described = metadata::without_tables(described, told);
        let file = drafts.and_then(|drafts| drafts.name_of(&route.file));
        Some(match (described, file) {
            (Value::Object(members), Some(file)) => {
                let mut members = Object::clone(&members);
                members.insert("file", Value::from(file));
                Value::object(members)
            }
            (described, _) => described,
        })
    });
    let members = [
        ("server", Value::object(server)),
        ("tables", tables.collect()),
        ("routes", routes.collect()),
    ];
    Value::object(members.into_iter().collect())
}
