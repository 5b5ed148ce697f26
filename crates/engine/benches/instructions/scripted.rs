//! Routes with hooks and templates, from the statement to the rows, over a loopback connection to an upstream
//! on the same thread: what they add is the difference to the route without.

use std::{hint::black_box, net::SocketAddr, sync::Arc};

use qlio_data::{Value, codec::json};
use qlio_engine::{Caller, ClientRequest, Engine, EngineOptions};
use qlio_plan::{
    CompileOptions, Origin,
    catalog::{CatalogBuilder, Resources, ScriptFile, SourceFolder, Unreadable},
    compile,
};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    runtime::Runtime,
};

use super::{Piece, SCHEMA, answers};

/// The tables of scenario H in `bench/`, and of the published search, over the answers that this file serves.
const TABLES: &str = "
    create table hook_none
      on select post to 'http://{config.upstream}/json?q={^q}' resultset 'searchResult.item';
    create table hook_uri on select post to 'http://{config.upstream}/json?q={^q}'
      using patch 'hooks/uri.js' resultset 'searchResult.item';
    create table hook_headers on select post to 'http://{config.upstream}/json?q={^q}'
      using patch 'hooks/headers.js' resultset 'searchResult.item';
    create table hook_status on select post to 'http://{config.upstream}/json?q={^q}'
      using patch 'hooks/status.js' resultset 'searchResult.item';
    create table hook_response on select post to 'http://{config.upstream}/json?q={^q}'
      using patch 'hooks/response.js' resultset 'searchResult.item';
    create table body_mustache on select post to 'http://{config.upstream}/json?q={^q}'
      using defaults rows = 15
      using bodyTemplate 'hooks/body.mu' type 'application/json' resultset 'searchResult.item';
    create table body_ejs on select post to 'http://{config.upstream}/json?q={^q}'
      using defaults rows = 15
      using bodyTemplate 'hooks/body.ejs' type 'application/json' resultset 'searchResult.item';
    create table xml_none on select post to 'http://{config.upstream}/xml?q={^q}'
      resultset 'soap:Envelope.soap:Body.findResponse.searchResult.item';
    create table xml_ejs on select post to 'http://{config.upstream}/xml?q={^q}'
      using defaults limit = 50, offset = 0
      using bodyTemplate 'request.ejs' type 'text/xml;charset=utf-8'
      resultset 'soap:Envelope.soap:Body.findResponse.searchResult.item';";

/// Three columns of 50 rows from a table.
pub(super) fn route(table: &str) -> Piece {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    let upstream = serve(&runtime);
    let config = json::parse_str(&format!(r#"{{"upstream": "{upstream}"}}"#)).expect("valid");
    let mut builder = CatalogBuilder::new(config, &BenchFiles);
    builder.add_table_file("bench.ql", TABLES);
    let (catalog, diagnostics) = builder.finish();
    assert!(diagnostics.is_empty(), "{diagnostics:?}");
    let script = format!(
        "return select title as title, location as location, viewItemUrl as viewItemUrl \
         from {table} where q = \"lamp\""
    );
    let options = CompileOptions { origin: Origin::Stored, file: "route", resources: &BenchFiles };
    let plan = compile(&script, &catalog, &options).expect("compiles").plan;
    let engine = Engine::new(EngineOptions::default()).expect("an engine");
    let request = ClientRequest::default();
    Box::new(move || {
        let run = engine.run(&plan, &catalog, &request, Caller::Route);
        let answer = runtime.block_on(run).expect("answered");
        assert_eq!(answer.value.len(), 50);
        black_box::<Value>(answer.value);
    })
}

/// Starts the upstream: it answers whatever it is asked with the rows, as the path says in JSON or XML.
fn serve(runtime: &Runtime) -> SocketAddr {
    let answers = answers();
    let head = |media_type: &str, body: &str| {
        let length = body.len();
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ncontent-length: {length}\r\n\r\n{body}"
        )
    };
    let json = head("application/json", &answers.json);
    let xml = head("text/xml;charset=UTF-8", &answers.xml);
    let replies: &'static [String; 2] = Box::leak(Box::new([json, xml]));
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let address = listener.local_addr().expect("bound");
    runtime.spawn(async move {
        while let Ok((connection, _)) = listener.accept().await {
            tokio::spawn(reply(connection, replies));
        }
    });
    address
}

/// Answers the requests of one connection, each of which comes in one piece.
async fn reply(mut connection: TcpStream, [json, xml]: &'static [String; 2]) {
    let mut request = vec![0; 64 << 10];
    while let Ok(bytes) = connection.read(&mut request).await
        && bytes > 0
    {
        let is_xml = request[..bytes].starts_with(b"POST /xml");
        let reply = if is_xml { xml } else { json };
        if connection.write_all(reply.as_bytes()).await.is_err() {
            return;
        }
    }
}

/// The files of the tables of `bench/`, and those of the published search.
struct BenchFiles;

const FILES: [(&str, &str); 7] = [
    ("hooks/uri.js", include_str!("../../../../bench/qlio/tables/hooks/uri.js")),
    ("hooks/headers.js", include_str!("../../../../bench/qlio/tables/hooks/headers.js")),
    ("hooks/status.js", include_str!("../../../../bench/qlio/tables/hooks/status.js")),
    ("hooks/response.js", include_str!("../../../../bench/qlio/tables/hooks/response.js")),
    ("hooks/body.mu", include_str!("../../../../bench/qlio/tables/hooks/body.mu")),
    ("hooks/body.ejs", include_str!("../../../../bench/qlio/tables/hooks/body.ejs")),
    ("request.ejs", include_str!("../../../../examples/finding/tables/finding/request.ejs")),
];

impl BenchFiles {
    fn read(name: &str) -> Result<&'static str, Unreadable> {
        let found = FILES.iter().find(|(file, _)| *file == name);
        found.map(|(_, text)| *text).ok_or_else(|| Unreadable::NoSuchFile(name.to_owned()))
    }
}

impl Resources for BenchFiles {
    fn template(&self, _: &str, name: &str) -> Result<String, Unreadable> {
        Self::read(name).map(str::to_owned)
    }

    fn module(&self, _: &str, name: &str) -> Result<ScriptFile, Unreadable> {
        let path = format!("/{name}");
        let files = [(path.clone(), Self::read(name).map(|text| text.as_bytes().into()))];
        let folder = SourceFolder::new("/app".into(), "app".to_owned(), files.into());
        Ok(ScriptFile { folder: Arc::new(folder), path })
    }

    fn schema(&self, _: &str, _: &str) -> Result<Vec<u8>, Unreadable> {
        Ok(SCHEMA.into())
    }
}
