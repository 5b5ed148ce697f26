//! The catalog: tables, routes and settings as one immutable snapshot.
//!
//! A [`CatalogBuilder`] takes the texts of files, reports every problem it finds and keeps loading
//! the rest. Nothing here reads a disk: [`Resources`] stands for the files beside a table.

mod build;
mod connector;
mod credentials;
mod declare;
pub mod describe;
mod markdown;
mod mentions;
pub mod paging;
mod remote;
mod resources;
mod settings;
pub mod sources;
mod table;
mod transformers;
mod unreadable;

use std::{collections::HashMap, sync::Arc};

use qlio_data::Value;
use qlio_syntax::spelling;

pub use build::{CatalogBuilder, FileDiagnostics};
pub use connector::{Connector, ConnectorSource, Connectors};
pub(crate) use declare::{Declaration, literal_text, literal_value, number};
pub use declare::{Declared, declare_table};
pub use paging::{PageSize, Paging, PagingManner};
pub use remote::{
    Address, ColumnKind, Description, DescriptionError, PROTOCOL, Remote, RemoteColumn, RemoteFile,
    RemoteFileError, RemoteParameter, RemoteSource, RemoteVerb, test_parameter,
};
pub use resources::{NoResources, Resources};
pub(crate) use settings::MissingSetting;
pub use settings::fill_settings;
pub use sources::{ModuleFolders, ScriptFile, SourceFolder};
#[cfg(feature = "protobuf")]
pub use table::ProtobufFormat;
pub use table::{
    Body, ColumnParameter, DefaultValue, Expected, FORM, Format, FormatKind, Grpc, NeededSetting,
    Oauth2, Table, Verb, Written, is_form_template,
};
pub use transformers::Transformers;
pub use unreadable::Unreadable;

use crate::node::Plan;

/// Everything that scripts may refer to.
#[derive(Debug, Clone, Default)]
pub struct Catalog {
    tables: Vec<Arc<Table>>,
    table_index: HashMap<String, usize>,
    routes: Vec<Arc<Route>>,
    config: Value,
    connectors: Connectors,
    /// Texts that nobody is told.
    secrets: Vec<String>,
    hosts: Arc<[String]>,
}

impl Catalog {
    /// A catalog without tables and routes.
    pub fn empty(config: Value) -> Self {
        Self { config, ..Self::default() }
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&Arc<Table>> {
        self.table_index.get(name).map(|index| &self.tables[*index])
    }

    /// All tables in load order.
    pub fn tables(&self) -> &[Arc<Table>] {
        &self.tables
    }

    /// All routes in load order.
    pub fn routes(&self) -> &[Arc<Route>] {
        &self.routes
    }

    /// The settings object that scripts read as `{config.…}`.
    pub fn config(&self) -> &Value {
        &self.config
    }

    /// The custom connectors.
    pub fn connectors(&self) -> &Connectors {
        &self.connectors
    }

    /// The texts that nobody is told, values of settings that are secret.
    pub fn secrets(&self) -> &[String] {
        &self.secrets
    }

    /// The hosts that the tables call, for tables that clients send.
    pub fn hosts(&self) -> &Arc<[String]> {
        &self.hosts
    }

    /// Finds the hosts, when all tables are there.
    fn find_hosts(&mut self) {
        let verbs = self.tables.iter().flat_map(|table| table.verbs());
        let hosts = verbs.filter(|verb| verb.connector.is_none()).filter_map(|verb| {
            let rest = verb.uri.text().split_once("://")?.1;
            let authority = rest.split(['/', '?', '#']).next()?;
            let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
            (!host.is_empty() && !host.contains('{')).then(|| host.to_owned())
        });
        let mut hosts: Vec<String> = hosts.collect();
        hosts.sort_unstable();
        hosts.dedup();
        self.hosts = hosts.into();
    }

    fn add_table(&mut self, table: Arc<Table>) -> Option<Arc<Table>> {
        if let Some(index) = self.table_index.get(&*table.name) {
            return Some(std::mem::replace(&mut self.tables[*index], table));
        }
        self.table_index.insert(table.name.to_string(), self.tables.len());
        self.tables.push(table);
        None
    }
}

/// The table that somebody probably means by a name that no table has: the one with the same last word,
/// as `finditems` and `ebay.finditems` have, else one that is spelt nearly so.
pub fn nearest_table<'a>(
    name: &str,
    known: impl Iterator<Item = &'a str> + Clone,
) -> Option<&'a str> {
    let last_word = |name: &str| name.rsplit('.').next().unwrap_or_default().to_ascii_lowercase();
    let wanted = last_word(name);
    let mut alike = known.clone().filter(|known| *known != name && last_word(known) == wanted);
    match (alike.next(), alike.next()) {
        (Some(only), None) => Some(only),
        _ => spelling::closest(name, known),
    }
}

/// A stored script bound to a method and path.
#[derive(Debug)]
pub struct Route {
    /// The file it was loaded from.
    pub file: Arc<str>,
    /// Full path and query template as written.
    pub path: String,
    /// Method in lower case.
    pub method: String,
    /// The comments before `return`.
    pub docs: Vec<String>,
    /// The compiled script.
    pub plan: Arc<Plan>,
}
