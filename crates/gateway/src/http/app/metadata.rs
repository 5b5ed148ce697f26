//! `/tables`, `/table`, `/api` (and `/routes`), `/route`: what the catalog holds, as JSON or pages.
//!
//! Names are looked up directly and decoded once; nothing is executed and nothing is cached
//! (SRV-46). Errors are always JSON.

use hyper::{StatusCode, header};
use qlio_data::{Object, Value, percent};
use qlio_plan::{
    Plan,
    catalog::describe,
    node::{Node, NodeKind},
};
use qlio_syntax::diagnostic::{Diagnostic, codes};

use super::{Exchange, console_files::ConsoleFile};
use crate::{
    http::{
        disclosure::MetadataScope,
        failure::Failure,
        negotiate, query,
        respond::{self, Rendition, Response},
        results,
    },
    pages::{self, Doors, trial},
    routes::Method,
};

/// The endpoints that every server has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Endpoint {
    /// `/q`.
    Script,
    /// `/console/results/…`: a large result of a script over WebSocket.
    Result,
    /// `/console` and its files.
    Console(ConsoleFile),
    /// `/console/catalog`.
    ConsoleCatalog,
    /// `/console/decode`: what a script makes of an answer that is given.
    ConsoleDecode,
    /// `/console/routes`: route files, in development mode.
    ConsoleRoutes,
    /// `/`, which leads to the console or says what is here.
    Root,
    /// `/console/`, which leads to the console.
    ToConsole,
    /// The script with which pages follow reloads, in development mode.
    PageScript,
    /// The others.
    Metadata(Metadata),
}

/// What the catalog tells about itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Metadata {
    /// `/tables`.
    Tables,
    /// `/table?name=`.
    Table,
    /// `/api` and `/routes`.
    Routes,
    /// `/route?path=&method=`.
    Route,
}

impl Metadata {
    /// How much has to be told for the endpoint to exist.
    pub(super) fn scope(self) -> MetadataScope {
        match self {
            Self::Tables | Self::Table => MetadataScope::All,
            Self::Routes | Self::Route => MetadataScope::Routes,
        }
    }
}

impl Endpoint {
    /// The endpoint at a path; one trailing slash is tolerated.
    pub(super) fn at(path: &str) -> Option<Self> {
        if path.get(1..).is_some_and(|path| path.starts_with(results::PREFIX)) {
            return Some(Self::Result);
        }
        if let Some(file) = ConsoleFile::at(path) {
            return Some(Self::Console(file));
        }
        match path {
            "/" => return Some(Self::Root),
            "/console/" => return Some(Self::ToConsole),
            "/console/catalog" => return Some(Self::ConsoleCatalog),
            "/console/decode" => return Some(Self::ConsoleDecode),
            "/console/routes" => return Some(Self::ConsoleRoutes),
            pages::SCRIPT_PATH => return Some(Self::PageScript),
            _ => {}
        }
        match path.strip_suffix('/').unwrap_or(path) {
            "/q" => Some(Self::Script),
            "/tables" => Some(Self::Metadata(Metadata::Tables)),
            "/table" => Some(Self::Metadata(Metadata::Table)),
            "/api" | "/routes" => Some(Self::Metadata(Metadata::Routes)),
            "/route" => Some(Self::Metadata(Metadata::Route)),
            _ => None,
        }
    }

    /// The methods it answers.
    pub(super) fn methods(self) -> &'static [Method] {
        match self {
            Self::Script => &Method::ALL,
            Self::ConsoleDecode | Self::ConsoleRoutes => &[Method::Post],
            Self::Metadata(_)
            | Self::Result
            | Self::Console(_)
            | Self::ConsoleCatalog
            | Self::Root
            | Self::ToConsole
            | Self::PageScript => &[Method::Get],
        }
    }
}

/// Answers a metadata endpoint.
pub(super) fn answer(
    exchange: &Exchange<'_>,
    asked: Metadata,
    query: &Object,
    doors: Doors,
    rendition: Rendition<'_>,
) -> Result<Response, Failure> {
    let catalog = &exchange.loaded.catalog;
    let parameter = |name: &str| query::text(query, name).filter(|text| !text.is_empty());
    let is_tried = query.get(trial::MARK).is_some();
    let (value, page): (Value, fn(&Value, Doors) -> String) = match asked {
        Metadata::Tables => (describe::show_tables(catalog, std::iter::empty()), pages::tables),
        Metadata::Routes => (describe::show_routes(catalog), pages::routes),
        Metadata::Table => {
            let name = parameter("name").ok_or(Failure::MissingTableName)?;
            let table = catalog
                .table(name)
                .ok_or_else(|| Failure::NoSuchTable { name: name.to_owned() })?;
            if is_tried && (doors.console || doors.scripts) {
                let page = if doors.console { "console" } else { "q" };
                let mut address = format!("{page}?s=");
                percent::encode_component(&trial::select_script(name, query), &mut address);
                return Ok(respond::redirect(&address));
            }
            (describe::describe_table(catalog, table), pages::table)
        }
        Metadata::Route => {
            let (path, method) =
                parameter("path").zip(parameter("method")).ok_or(Failure::MissingRouteName)?;
            let unknown =
                || Failure::NoSuchRoute { path: path.to_owned(), method: method.to_owned() };
            let route = describe::describe_route(catalog, path, method).ok_or_else(unknown)?;
            let tried = is_tried.then(|| trial::route_address(path, query)).flatten();
            if let Some(address) = tried {
                return Ok(respond::redirect(&address));
            }
            (without_tables(route, exchange.metadata), pages::route)
        }
    };
    let accept = exchange.header(header::ACCEPT);
    Ok(if negotiate::wants_json(accept, query::text(query, "format")) {
        respond::value(StatusCode::OK, &value, &[], rendition)
    } else {
        respond::page(page(&value, doors), doors.follows)
    })
}

/// The description of a route, without the names of its tables where tables are not told.
pub(super) fn without_tables(route: Value, scope: MetadataScope) -> Value {
    match route {
        Value::Object(members) if scope < MetadataScope::All => {
            let mut members = Object::clone(&members);
            members.insert("tables", Value::array(Vec::new()));
            Value::object(members)
        }
        route => route,
    }
}

/// The statements of a client's script that ask for more of the catalog than is told. A script may
/// describe the tables that it creates itself.
pub(super) fn find_hidden(plan: &Plan, told: MetadataScope) -> Vec<Diagnostic> {
    let needed = |kind: &NodeKind| match kind {
        NodeKind::ShowTables | NodeKind::Describe { inline: None, .. } => MetadataScope::All,
        NodeKind::ShowRoutes | NodeKind::DescribeRoute { .. } => MetadataScope::Routes,
        _ => MetadataScope::None,
    };
    let hidden = plan.nodes.iter().filter(|node| needed(&node.kind) > told);
    let problem = |node: &Node| {
        let message = "this server does not tell clients of its tables or routes";
        Diagnostic::error(codes::HIDDEN_METADATA, node.span, message)
            .hint("the setting `metadata` says how much is told: `all`, `routes` or `none`")
    };
    hidden.map(problem).collect()
}
