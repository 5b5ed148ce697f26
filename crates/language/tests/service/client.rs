//! A client without a process, and an app without files.

use std::sync::Arc;

use qlio_data::{Object, Value as Data};
use qlio_language::{App, AppFile, Host, Server};
use qlio_plan::catalog::{CatalogBuilder, NoResources};
use serde_json::{Value, json};

/// Table and route files by path.
#[derive(Clone, Default)]
pub(crate) struct Memory {
    pub(crate) tables: Vec<AppFile>,
    pub(crate) routes: Vec<AppFile>,
}

impl Memory {
    pub(crate) fn file(path: &str, text: &str) -> AppFile {
        AppFile { path: path.to_owned(), text: Arc::from(text) }
    }
}

impl Host for Memory {
    fn load(&mut self, _root: &str, open: &[AppFile]) -> App {
        let resources = NoResources;
        let config: Object = [("api", Data::from("http://h.test"))].into_iter().collect();
        let mut builder = CatalogBuilder::new(Data::object(config), &resources);
        let current = |file: &AppFile| {
            let edited = open.iter().find(|open| open.path == file.path);
            edited.unwrap_or(file).clone()
        };
        let tables: Vec<_> = self.tables.iter().map(current).collect();
        let routes: Vec<_> = self.routes.iter().map(current).collect();
        for file in &tables {
            builder.add_table_file(&file.path, &file.text);
        }
        for file in &routes {
            builder.add_route_file(&file.path, &file.text);
        }
        let (catalog, problems) = builder.finish();
        App { catalog, files: tables.into_iter().chain(routes).collect(), problems }
    }
}

/// A client that has said hello.
pub(crate) struct Client {
    pub(crate) server: Server<Memory>,
    next: u64,
}

impl Client {
    pub(crate) fn new(app: Memory) -> Self {
        let mut client = Self { server: Server::new(app, "/app"), next: 0 };
        let hello = client.ask(
            "initialize",
            json!({"capabilities": {}, "initializationOptions": {
                "commands": ["qlio.run"], "pages": "file:///pages/"
            }}),
        );
        hello.expect("the server says hello");
        client.tell("initialized", json!({}));
        client
    }

    /// The answer to a request: its result, or its error.
    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Result<Value, Value> {
        self.next += 1;
        let id = self.next;
        let mut request = json!({"jsonrpc": "2.0", "id": id, "method": method});
        request["params"] = params;
        let answers = self.send(&request.to_string());
        assert_eq!(answers.len(), 1, "one answer to {method}");
        let mut answer = answers.into_iter().next().expect("there is one");
        assert_eq!(answer["id"], json!(id));
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].take()),
        }
    }

    pub(crate) fn tell(&mut self, method: &str, params: Value) -> Vec<Value> {
        let mut message = json!({"jsonrpc": "2.0", "method": method});
        message["params"] = params;
        self.send(&message.to_string())
    }

    pub(crate) fn send(&mut self, text: &str) -> Vec<Value> {
        parsed(self.server.handle(text))
    }

    pub(crate) fn settle(&mut self) -> Vec<Value> {
        parsed(self.server.settle())
    }

    pub(crate) fn open(&mut self, uri: &str, text: &str) {
        let document = json!({"uri": uri, "languageId": "qlio", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({ "textDocument": document }));
    }
}

fn parsed(messages: Vec<String>) -> Vec<Value> {
    let parse = |text: String| serde_json::from_str(&text).expect("messages are JSON");
    messages.into_iter().map(parse).collect()
}

/// The position of a byte, counted anew and not by the crate.
pub(crate) fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.matches('\n').count();
    let start = before.rfind('\n').map_or(0, |at| at + 1);
    json!({"line": line, "character": before[start..].encode_utf16().count()})
}
