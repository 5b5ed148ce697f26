//! A gateway with the tables and routes of the scenarios, beside an upstream that serves them.

use std::{
    ffi::OsString,
    fs,
    net::SocketAddr,
    path::{Path as FilePath, PathBuf},
    time::Duration,
};

use qlio_data::codec::json;
use tempfile::TempDir;

use super::Child;
use crate::{
    data::{object, scenario::Scenario, schema, text},
    error::{BenchError, usage},
};

/// The formats of the published comparison: one route and one table each (`--path`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Path {
    /// `/mock.xml`.
    Xml,
    /// `/mock.protobuf`.
    Protobuf,
    /// `/mock.json`.
    Json,
    /// `/mock.msgpack`.
    Msgpack,
}

impl Path {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Xml, Self::Protobuf, Self::Json, Self::Msgpack];

    /// As on the command line, in routes and in file endings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Xml => "xml",
            Self::Protobuf => "protobuf",
            Self::Json => "json",
            Self::Msgpack => "msgpack",
        }
    }

    /// What is asked of the gateway.
    pub fn route(self) -> String {
        format!("/ebay/finding/keywords/{}/ipad", self.name())
    }

    /// The table: the file `table.ql` of this format.
    fn table(self) -> String {
        let name = self.name();
        let decode = match self {
            Self::Xml | Self::Json => "",
            Self::Protobuf => {
                "\n    using format 'protobuf' message 'bench.FindResponse' from 'bench.proto'"
            }
            Self::Msgpack => "\n    using format 'msgpack'",
        };
        let result = if self == Self::Xml { "\n    resultset 'findResponse'" } else { "" };
        format!(
            "create table bench.finding.{name}\n  on select post to '{{config.upstream}}/mock.{name}'\n    \
             using defaults format = 'JSON', limit = 5, offset = 0{result}{decode}\n"
        )
    }

    fn script(self) -> String {
        let name = self.name();
        format!(
            "return select item as items, errorMessage as error from bench.finding.{name} where \
             keywords = '{{keywords}}'\n  via route '/ebay/finding/keywords/{name}/{{keywords}}' using \
             method get;\n"
        )
    }
}

/// The tables of the scenarios.
const TABLES: [(&str, &str); 6] = [
    ("search", "/search?q={^q}'\n    resultset 'results'"),
    ("find", "/find?keywords={^keywords}'\n    resultset 'searchResult.item'"),
    ("items", "/items?ids={20|itemId}'\n    resultset 'Item'"),
    ("prods", "/prods?k={^k}'\n    resultset 'products'"),
    ("details", "/details?id={#^id}&kind={kind}'"),
    ("reviews", "/reviews?id={#^id}&kind={kind}'"),
];

/// How the gateway and its upstream run.
#[derive(Debug, Clone)]
pub struct GatewayOptions {
    /// The executable of both.
    pub executable: PathBuf,
    /// Worker threads of the gateway; its own default without.
    pub workers: Option<usize>,
    /// How long the upstream waits before each answer.
    pub upstream_latency: Duration,
}

/// A gateway and its upstream; both end with it.
#[derive(Debug)]
pub struct Gateway {
    // Fields are dropped in order: first who calls, then who is called, then their files.
    process: Child,
    _upstream: Child,
    _folder: TempDir,
}

impl Gateway {
    /// Starts both.
    ///
    /// # Errors
    /// No temporary folder, or one of them does not start.
    pub fn start(options: &GatewayOptions) -> Result<Self, BenchError> {
        let folder = tempfile::Builder::new().prefix("qlio-bench-").tempdir();
        let folder = folder.map_err(|error| usage(format!("no temporary folder: {error}")))?;
        let root = folder.path();
        let upstream = start_upstream(&options.executable, options.upstream_latency, root)?;
        write_files(root, upstream.address())
            .map_err(|error| usage(format!("cannot write to `{}`: {error}", root.display())))?;
        let mut arguments: Vec<OsString> =
            ["serve", "--strict", "--enable-q", "--host", "127.0.0.1", "--port", "0"]
                .map(Into::into)
                .into();
        for (option, name) in
            [("--tables", "tables"), ("--routes", "routes"), ("--config", "config.json")]
        {
            arguments.extend([option.into(), root.join(name).into()]);
        }
        if let Some(workers) = options.workers {
            arguments.extend(["--workers".into(), workers.to_string().into()]);
        }
        let log = root.join("gateway.log");
        let gateway = Child::start("gateway", &options.executable, &arguments, &log)?;
        Ok(Self { process: gateway, _upstream: upstream, _folder: folder })
    }

    /// Where the gateway listens.
    pub fn address(&self) -> SocketAddr {
        self.process.address()
    }

    /// The process id of the gateway.
    pub fn id(&self) -> u32 {
        self.process.id()
    }
}

/// Starts `qlio mock --bench-upstream` on a free port; its log goes to `folder`.
pub(crate) fn start_upstream(
    executable: &FilePath,
    latency: Duration,
    folder: &FilePath,
) -> Result<Child, BenchError> {
    let latency = latency.as_millis().to_string();
    let arguments =
        ["mock", "--bench-upstream", "--host", "127.0.0.1", "--port", "0", "--latency", &latency];
    Child::start("upstream", executable, &arguments, &folder.join("upstream.log"))
}

fn write_files(root: &FilePath, upstream: SocketAddr) -> std::io::Result<()> {
    let (tables, routes) = (root.join("tables"), root.join("routes"));
    fs::create_dir(&tables)?;
    fs::create_dir(&routes)?;
    for (name, rest) in TABLES {
        let text =
            format!("create table bench.{name}\n  on select get from '{{config.upstream}}{rest}\n");
        fs::write(tables.join(format!("{name}.ql")), text)?;
    }
    fs::write(tables.join(schema::FILE), schema::TEXT)?;
    for path in Path::ALL {
        fs::write(tables.join(format!("finding-{}.ql", path.name())), path.table())?;
        fs::write(routes.join(format!("{}.ql", path.name())), path.script())?;
    }
    fs::write(routes.join("myapi.ql"), Scenario::D.script())?;
    let config = object([("upstream", text(format!("http://{upstream}")))]);
    fs::write(root.join("config.json"), json::to_string(&config))
}
