//! The server: what is open, what the app is, and who answers what.
//!
//! In: one message after the other. Out: the messages that answer each. What takes longer, loading the
//! app and finding problems, is put off until the host says that no message waits
//! ([`Server::settle`]), so that many changes in a row cost it once.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use qlio_data::Value;
use qlio_plan::diagnose;
use qlio_syntax::{diagnostic::Diagnostic, source::Span};

use crate::{
    action,
    app::{App, AppFile, Host},
    completion, diagnostics,
    document::{Document, DocumentError, OpenDocument},
    hover, inlay,
    json::{at, is_true_at, list, number_at, object, text_at},
    lens, link,
    message::{self, Message, Refusal},
    names::{Names, Occurrence},
    navigation::{Text, locations, places},
    position::Position,
    rename, selection, semantic, signature, symbols,
    uri::{path_of, uri_of},
};

/// Documents that may be open at the same time, unless the host says otherwise.
const OPEN_MAX: usize = 2000;

/// Places that one request may ask about.
const POSITIONS_MAX: usize = 1000;

/// Whether the client is still there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// It goes on.
    Open,
    /// It has said goodbye in the right order.
    Done,
    /// It went without `shutdown`.
    Abrupt,
}

/// Where in its life the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    New,
    Ready,
    ShutDown,
}

/// What the client can do.
#[derive(Debug, Default)]
struct Client {
    /// It asks for problems itself.
    pulls: bool,
    /// It can run scripts.
    can_run: bool,
    /// It watches files for us if we ask.
    can_watch: bool,
    /// Where the pages of codes lie.
    pages: Option<String>,
}

/// A language server for one client.
pub struct Server<H> {
    host: H,
    stage: Stage,
    ending: Ending,
    client: Client,
    /// The folder of the app.
    root: String,
    app: App,
    /// Open documents by path.
    open: BTreeMap<String, OpenDocument>,
    /// The app must be loaded anew.
    is_stale: bool,
    /// Open documents whose problems must be found anew.
    changed: BTreeSet<String>,
    /// Documents with problems that the client was told of.
    told: BTreeSet<String>,
    requests: u64,
    /// Documents that may be open at the same time.
    open_max: usize,
}

impl<H: Host> Server<H> {
    /// A server that waits for `initialize`; `root` is the folder of the app unless the client names one.
    pub fn new(host: H, root: &str) -> Self {
        Self {
            host,
            stage: Stage::New,
            ending: Ending::Open,
            client: Client::default(),
            root: root.to_owned(),
            app: App::default(),
            open: BTreeMap::new(),
            is_stale: false,
            changed: BTreeSet::new(),
            told: BTreeSet::new(),
            requests: 0,
            open_max: OPEN_MAX,
        }
    }

    /// Who has the files, for hosts that are told of them.
    pub fn host_mut(&mut self) -> &mut H {
        &mut self.host
    }

    /// The same with room for so many open documents.
    #[must_use]
    pub fn with_open_max(self, open_max: usize) -> Self {
        Self { open_max, ..self }
    }

    /// Whether the client is still there.
    pub fn ending(&self) -> Ending {
        self.ending
    }

    /// Takes one message; gives the messages that answer it.
    pub fn handle(&mut self, text: &str) -> Vec<String> {
        match message::read(text) {
            Err(refusal) => vec![message::answer(Value::Null, Err(refusal))],
            Ok(Message::Answer) => Vec::new(),
            Ok(Message::Notification { method, params }) => {
                let notified = catch_unwind(AssertUnwindSafe(|| self.notified(&method, &params)));
                notified.unwrap_or_else(|_| vec![log(&format!("a fault in `{method}`"))])
            }
            Ok(Message::Request { id, method, params }) => {
                let answered = catch_unwind(AssertUnwindSafe(|| self.answer(&method, &params)));
                let outcome = answered.unwrap_or_else(|_| {
                    let reason = format!("a fault in `{method}`; please report it");
                    Err(Refusal::new(Refusal::INTERNAL_ERROR, reason))
                });
                vec![message::answer(id, outcome)]
            }
        }
    }

    /// Does what was put off; to be called when no message waits.
    pub fn settle(&mut self) -> Vec<String> {
        if self.stage != Stage::Ready {
            return Vec::new();
        }
        let settled = catch_unwind(AssertUnwindSafe(|| self.find_problems()));
        settled.unwrap_or_else(|_| vec![log("a fault while looking for problems")])
    }

    fn notified(&mut self, method: &str, params: &Value) -> Vec<String> {
        match (self.stage, method) {
            (_, "exit") => {
                let is_expected = self.stage == Stage::ShutDown;
                self.ending = if is_expected { Ending::Done } else { Ending::Abrupt };
                Vec::new()
            }
            (Stage::Ready, "initialized") => self.ask_to_watch(),
            (Stage::Ready, "textDocument/didOpen") => self.open(&params.member("textDocument")),
            (Stage::Ready, "textDocument/didChange") => self.change(params),
            (Stage::Ready, "textDocument/didClose") => {
                let uri = text_at(params, &["textDocument", "uri"]).unwrap_or_default();
                let path = path_of(&uri);
                self.open.remove(&path);
                self.changed.insert(path);
                self.is_stale = true;
                Vec::new()
            }
            (Stage::Ready, "textDocument/didSave" | "workspace/didChangeWatchedFiles") => {
                self.is_stale = true;
                Vec::new()
            }
            // Others are none of ours, or come at the wrong time; nobody waits for an answer.
            _ => Vec::new(),
        }
    }

    fn open(&mut self, item: &Value) -> Vec<String> {
        let document = match OpenDocument::open(item) {
            Ok(document) => document,
            Err(error) => return vec![log(&format!("cannot open a document: {error}"))],
        };
        let path = path_of(&document.uri);
        if self.open.len() >= self.open_max && !self.open.contains_key(&path) {
            return vec![log(&format!("more than {} documents are open", self.open_max))];
        }
        let told = document.content.as_ref().err().map(|error| show(&path, error));
        self.note_change(&path);
        self.open.insert(path, document);
        told.into_iter().collect()
    }

    fn change(&mut self, params: &Value) -> Vec<String> {
        let uri = text_at(params, &["textDocument", "uri"]).unwrap_or_default();
        let path = path_of(&uri);
        let Some(document) = self.open.get_mut(&path) else {
            return vec![log(&format!("`{path}` is changed but not open"))];
        };
        let was_known = document.content.is_ok();
        let version = number_at(params, &["textDocument", "version"]);
        let changes = params.member("contentChanges");
        let changes = changes.elements().unwrap_or_default();
        document.change(version, &changes);
        let lost = document.content.as_ref().err().filter(|_| was_known);
        let told = lost.map(|error| show(&path, error));
        self.note_change(&path);
        told.into_iter().collect()
    }

    /// Tables are part of the catalog, so that all is different when one changes.
    fn note_change(&mut self, path: &str) {
        let creates = |text: &str| text.contains("create");
        let is_of_app = self.app.files.iter().any(|file| file.path == path && creates(&file.text));
        self.is_stale |= is_of_app;
        self.changed.insert(path.to_owned());
    }

    /// Asks the client to tell when files change that the app is made of.
    fn ask_to_watch(&mut self) -> Vec<String> {
        if !self.client.can_watch {
            return Vec::new();
        }
        self.requests += 1;
        let watcher =
            object([("globPattern", Value::from("**/*.{ql,qlio,js,json,toml,yaml,proto}"))]);
        let options = object([("watchers", list([watcher]))]);
        let registration = object([
            ("id", Value::from("files")),
            ("method", Value::from("workspace/didChangeWatchedFiles")),
            ("registerOptions", options),
        ]);
        let params = object([("registrations", list([registration]))]);
        vec![message::request(self.requests, "client/registerCapability", params)]
    }

    fn answer(&mut self, method: &str, params: &Value) -> Result<Value, Refusal> {
        match (self.stage, method) {
            (Stage::New, "initialize") => Ok(self.initialize(params)),
            (Stage::New, _) => {
                Err(Refusal::new(Refusal::NOT_INITIALIZED, "`initialize` comes first"))
            }
            (Stage::ShutDown, _) => {
                Err(Refusal::new(Refusal::INVALID_REQUEST, "the server is shut down"))
            }
            (Stage::Ready, "initialize") => {
                Err(Refusal::new(Refusal::INVALID_REQUEST, "`initialize` comes once"))
            }
            (Stage::Ready, "shutdown") => {
                self.stage = Stage::ShutDown;
                Ok(Value::Null)
            }
            (Stage::Ready, "workspace/symbol") => {
                let query = text_at(params, &["query"]).unwrap_or_default();
                Ok(symbols::of_app(&query, &self.app.catalog))
            }
            (Stage::Ready, "workspace/executeCommand") => {
                let command = text_at(params, &["command"]).unwrap_or_default();
                if command != lens::PLAN {
                    return Err(Refusal::params(format!("there is no command `{command}`")));
                }
                let arguments = params.member("arguments");
                let uri = arguments.element(0);
                let uri =
                    uri.as_str().ok_or_else(|| Refusal::params("the first argument is a URI"))?;
                let format = arguments.element(1);
                lens::plan(self.document(uri)?, format.as_str(), &self.app.catalog)
            }
            (Stage::Ready, method) => match method.strip_prefix("textDocument/") {
                Some(about) => self.about_document(about, params),
                None => Err(unknown(method)),
            },
        }
    }

    fn initialize(&mut self, params: &Value) -> Value {
        self.stage = Stage::Ready;
        self.is_stale = true;
        let folders = params.member("workspaceFolders");
        let root = text_at(&folders.element(0), &["uri"])
            .or_else(|| text_at(params, &["rootUri"]))
            .map(|uri| path_of(&uri))
            .or_else(|| text_at(params, &["rootPath"]));
        if let Some(root) = root {
            self.root = root;
        }
        let can = |path: &[&str]| !at(params, path).is_nothing();
        let commands = at(params, &["initializationOptions", "commands"]);
        let mut commands = commands.elements().unwrap_or_default().into_owned().into_iter();
        self.client = Client {
            pulls: can(&["capabilities", "textDocument", "diagnostic"]),
            can_run: commands.any(|command| command.as_str() == Some(lens::RUN)),
            can_watch: is_true_at(
                params,
                &["capabilities", "workspace", "didChangeWatchedFiles", "dynamicRegistration"],
            ),
            pages: text_at(params, &["initializationOptions", "pages"]),
        };
        let yes = || Value::from(true);
        let texts = |words: &[&'static str]| list(words.iter().map(|word| Value::from(*word)));
        let completion = object([("triggerCharacters", texts(&["{", "."]))]);
        let signatures = object([("triggerCharacters", texts(&["(", ","]))]);
        let sync = object([("openClose", yes()), ("change", Value::int(2)), ("save", yes())]);
        let diagnostics = object([
            ("interFileDependencies", yes()),
            ("workspaceDiagnostics", Value::from(false)),
        ]);
        let semantic = object([("legend", semantic::legend()), ("full", yes()), ("range", yes())]);
        let capabilities = object([
            ("positionEncoding", Value::from("utf-16")),
            ("textDocumentSync", sync),
            ("completionProvider", completion),
            ("hoverProvider", yes()),
            ("signatureHelpProvider", signatures),
            ("definitionProvider", yes()),
            ("referencesProvider", yes()),
            ("documentHighlightProvider", yes()),
            ("documentSymbolProvider", yes()),
            ("workspaceSymbolProvider", yes()),
            ("codeActionProvider", object([("codeActionKinds", texts(&["quickfix"]))])),
            ("codeLensProvider", object([("resolveProvider", Value::from(false))])),
            ("documentLinkProvider", object([("resolveProvider", Value::from(false))])),
            ("documentFormattingProvider", yes()),
            ("renameProvider", object([("prepareProvider", yes())])),
            ("foldingRangeProvider", yes()),
            ("selectionRangeProvider", yes()),
            ("inlayHintProvider", yes()),
            ("semanticTokensProvider", semantic),
            ("diagnosticProvider", diagnostics),
            ("executeCommandProvider", object([("commands", texts(&[lens::PLAN]))])),
        ]);
        let info = object([
            ("name", Value::from("qlio")),
            ("version", Value::from(env!("CARGO_PKG_VERSION"))),
        ]);
        object([("capabilities", capabilities), ("serverInfo", info)])
    }

    fn document(&self, uri: &str) -> Result<&Document, Refusal> {
        let open = self
            .open
            .get(&path_of(uri))
            .ok_or_else(|| Refusal::params(format!("`{uri}` is not open")))?;
        open.content.as_ref().map_err(|error| {
            Refusal::failed(format!("`{uri}` is out of step, open it again: {error}"))
        })
    }

    fn about_document(&mut self, about: &str, params: &Value) -> Result<Value, Refusal> {
        if self.is_stale {
            self.load();
        }
        let uri = text_at(params, &["textDocument", "uri"])
            .ok_or_else(|| Refusal::params("`textDocument.uri` is no text"))?;
        let document = self.document(&uri)?;
        let catalog = &self.app.catalog;
        let names = || Names::of(&document.text, catalog);
        let offset = || {
            let position = Position::read(&params.member("position"));
            let position =
                position.ok_or_else(|| Refusal::params("`position` is no place in a text"))?;
            Ok(document.positions.offset(&document.text, position))
        };
        let span = || {
            let span = document.span(&params.member("range"));
            span.ok_or_else(|| Refusal::params("`range` is no stretch of a text"))
        };
        let whole = Span::new(0, document.text.len() as u32);
        Ok(match about {
            "completion" => completion::at(document, offset()?, catalog),
            "hover" => hover::at(document, &names(), offset()?, catalog),
            "signatureHelp" => signature::at(document, offset()?, catalog),
            "documentSymbol" => symbols::outline(document, &names()),
            "foldingRange" => symbols::folds(document, &names()),
            "selectionRange" => {
                let names = names();
                let positions = params.member("positions");
                let positions = positions.elements().unwrap_or_default();
                if positions.len() > POSITIONS_MAX {
                    let reason = format!("more than {POSITIONS_MAX} `positions`");
                    return Err(Refusal::params(reason));
                }
                let ranges = positions.iter().map(|position| {
                    let position = Position::read(position)
                        .ok_or_else(|| Refusal::params("`positions` holds no places in a text"))?;
                    let offset = document.positions.offset(&document.text, position);
                    Ok(selection::around(document, &names, offset))
                });
                list(ranges.collect::<Result<Vec<_>, Refusal>>()?)
            }
            "semanticTokens/full" => semantic::tokens(document, &names(), whole),
            "semanticTokens/range" => semantic::tokens(document, &names(), span()?),
            "inlayHint" => inlay::hints(document, catalog, span()?),
            "codeLens" => lens::lenses(document, &uri, &names(), catalog, self.client.can_run),
            "codeAction" => {
                let pages = self.client.pages.as_deref();
                action::fixes(document, &uri, catalog, span()?, pages)
            }
            "documentLink" => link::links(document, &uri, &names()),
            "formatting" => format(document),
            "diagnostic" => {
                let problems = self.problems(&path_of(&uri), document);
                let items =
                    diagnostics::write(&problems, &uri, document, self.client.pages.as_deref());
                object([("kind", Value::from("full")), ("items", items)])
            }
            "definition" | "references" | "documentHighlight" | "prepareRename" | "rename" => {
                self.about_name(about, params, &uri, document, offset()?)?
            }
            _ => return Err(unknown(&format!("textDocument/{about}"))),
        })
    }

    fn about_name(
        &self,
        about: &str,
        params: &Value,
        uri: &str,
        document: &Document,
        offset: usize,
    ) -> Result<Value, Refusal> {
        let catalog = &self.app.catalog;
        let names = Names::of(&document.text, catalog);
        let Some(one) = names.at(offset) else {
            return match about {
                "rename" => Err(Refusal::failed("here is no name")),
                _ => Ok(Value::Null),
            };
        };
        let own = Text { uri: uri.to_owned(), document: Cow::Borrowed(document) };
        let texts = self.texts();
        let places = || places(one, &own, &names, &texts, catalog);
        match about {
            "definition" => {
                let is_wanted = |one: &Occurrence| one.is_definition;
                Ok(locations(&places(), is_wanted))
            }
            "references" => {
                let declares = is_true_at(params, &["context", "includeDeclaration"]);
                let is_wanted = |one: &Occurrence| declares || !one.is_definition;
                Ok(locations(&places(), is_wanted))
            }
            "documentHighlight" => Ok(list(names.same(one).map(|same| {
                let kind = if same.is_definition { 3 } else { 2 };
                object([("range", document.range(same.span)), ("kind", Value::int(kind))])
            }))),
            "prepareRename" => {
                rename::check_kind(one)?;
                Ok(object([
                    ("range", document.range(one.span)),
                    ("placeholder", Value::from(one.name.as_str())),
                ]))
            }
            _ => {
                let new = text_at(params, &["newName"])
                    .ok_or_else(|| Refusal::params("`newName` is no text"))?;
                rename::edits(one, &new, &names, &places(), catalog)
            }
        }
    }

    /// All texts of the app, as they are open or as their files hold them.
    fn texts(&self) -> Vec<Text<'_>> {
        let open = self.open.values().filter_map(|open| {
            let document = Cow::Borrowed(open.content.as_ref().ok()?);
            Some(Text { uri: open.uri.clone(), document })
        });
        let closed = self.app.files.iter().filter(|file| !self.open.contains_key(&file.path));
        let closed = closed.map(|file| {
            let document = Cow::Owned(Document::new(Arc::clone(&file.text)));
            Text { uri: uri_of(&file.path), document }
        });
        open.chain(closed).collect()
    }

    fn load(&mut self) {
        let open = self.open.iter().filter_map(|(path, open)| {
            let text = Arc::clone(&open.content.as_ref().ok()?.text);
            Some(AppFile { path: path.clone(), text })
        });
        let open: Vec<_> = open.collect();
        self.app = self.host.load(&self.root, &open);
        self.is_stale = false;
        self.changed.extend(self.open.keys().cloned());
    }

    /// The problems of an open document: those that loading it as a part of the app has found, if it
    /// has not changed since, else those of the text alone.
    fn problems(&self, path: &str, document: &Document) -> Cow<'_, [Diagnostic]> {
        let file = self.app.files.iter().find(|file| file.path == path);
        if file.is_none_or(|file| file.text != document.text) {
            return Cow::Owned(diagnose(&document.text, &self.app.catalog));
        }
        let of_file = self.app.problems.iter().filter(|problem| *problem.file == *path);
        Cow::Owned(of_file.flat_map(|file| file.diagnostics.iter().cloned()).collect())
    }

    fn find_problems(&mut self) -> Vec<String> {
        let was_stale = self.is_stale;
        if was_stale {
            self.load();
        }
        let mut changed = std::mem::take(&mut self.changed);
        if self.client.pulls {
            return Vec::new();
        }
        if was_stale {
            // Files that are not open are told of as well, also that they are in order again.
            changed.extend(self.app.problems.iter().map(|file| file.file.to_string()));
            changed.extend(self.told.iter().cloned());
        }
        changed.into_iter().filter_map(|path| self.publish(&path)).collect()
    }

    /// The problems of one text, if there are any or were.
    fn publish(&mut self, path: &str) -> Option<String> {
        let pages = self.client.pages.as_deref();
        let open = self.open.get(path);
        let (uri, version, items) = if let Some(open) = open {
            let document = open.content.as_ref().ok()?;
            let problems = self.problems(path, document);
            let items = diagnostics::write(&problems, &open.uri, document, pages);
            (open.uri.clone(), open.version, items)
        } else {
            let uri = uri_of(path);
            let files = self.app.problems.iter().filter(|file| *file.file == *path);
            let items = files.flat_map(|file| {
                let document = Document::new(Arc::clone(&file.text));
                let written = diagnostics::write(&file.diagnostics, &uri, &document, pages);
                written.elements().unwrap_or_default().into_owned()
            });
            let items = list(items);
            (uri, None, items)
        };
        let was_told = if items.is_empty() {
            self.told.remove(path)
        } else {
            !self.told.insert(path.to_owned())
        };
        if items.is_empty() && !was_told && open.is_none() {
            return None;
        }
        let params = object([
            ("uri", Value::from(uri)),
            ("version", version.map_or(Value::Absent, Value::from)),
            ("diagnostics", items),
        ]);
        Some(message::notification("textDocument/publishDiagnostics", params))
    }
}

/// The edits that make a document canonical: none, or one of the whole text. Without an answer a
/// text with errors stays as it is.
fn format(document: &Document) -> Value {
    match qlio_plan::format(&document.text) {
        Ok(formatted) if *formatted == *document.text => list([]),
        Ok(formatted) => {
            let edit = object([("range", document.whole()), ("newText", Value::from(formatted))]);
            list([edit])
        }
        Err(_) => Value::Null,
    }
}

fn unknown(method: &str) -> Refusal {
    Refusal::new(Refusal::METHOD_NOT_FOUND, format!("there is no method `{method}`"))
}

/// A message for the log of the client.
fn log(text: &str) -> String {
    let params = object([("type", Value::int(1)), ("message", Value::from(text))]);
    message::notification("window/logMessage", params)
}

/// A message for who types: the document is out of step.
fn show(path: &str, reason: &DocumentError) -> String {
    let text = format!("qlio no longer follows {path}, open it again: {reason}");
    let params = object([("type", Value::int(1)), ("message", Value::from(text))]);
    message::notification("window/showMessage", params)
}
