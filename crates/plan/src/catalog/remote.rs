//! Connectors out of process: where they are, and what they have said of themselves (PRO-1 and on).
//!
//! In: the file that names a connector, and its description as JSON. Out: both, checked. Nothing here asks anybody.

use std::{collections::BTreeMap, path::Path as FilePath, sync::Arc};

use qlio_data::{
    Object, Text, Value,
    codec::json,
    path::{Path, Segment},
};
use qlio_syntax::{
    ast::{ColumnTest, VerbKind},
    source::Span,
};

use super::{ColumnParameter, settings::fill_settings};

/// The version of the protocol that is spoken.
pub const PROTOCOL: u64 = 1;

/// Verbs, sources of a verb, and columns or parameters of a source that a description may have.
const NAMES_MAX: usize = 10_000;

/// A connector that is a server of its own.
#[derive(Debug)]
pub struct Remote {
    /// Where it is.
    pub address: Address,
    /// Headers of every request to it.
    pub headers: Vec<(String, String)>,
    /// What it can do; nothing if it could not be asked.
    pub description: Description,
}

/// Where a connector listens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address {
    /// What its paths are added to, without a slash at its end.
    pub base: String,
    /// The Unix socket that is connected to; `base` then only has a name for it.
    pub socket: Option<Arc<FilePath>>,
}

impl Address {
    /// Reads `http://…`, `https://…` or `unix:/path`; `name` stands for a host where there is none.
    pub fn parse(text: &str, name: &str) -> Option<Self> {
        if let Some(path) = text.strip_prefix("unix:") {
            let is_plain = |character: char| character.is_ascii_alphanumeric() || character == '-';
            let host: String =
                name.chars().map(|found| if is_plain(found) { found } else { '-' }).collect();
            let socket = FilePath::new(path);
            return socket
                .is_absolute()
                .then(|| Self { base: format!("http://{host}"), socket: Some(socket.into()) });
        }
        let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"))?;
        let is_whole = !rest.is_empty() && !rest.starts_with('/') && !rest.contains(['?', '#']);
        is_whole.then(|| Self { base: text.trim_end_matches('/').to_owned(), socket: None })
    }
}

/// What the file of a connector says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFile {
    /// Where it is.
    pub address: Address,
    /// Headers of every request to it.
    pub headers: Vec<(String, String)>,
}

/// What is wrong with such a file, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemoteFileError {
    /// The place.
    pub span: Span,
    /// What is wrong.
    pub message: String,
}

impl RemoteFile {
    /// One that names no place, for a connector that cannot be used.
    pub fn nowhere() -> Self {
        let address = Address { base: String::new(), socket: None };
        Self { address, headers: Vec::new() }
    }

    /// Reads a file; `None` if it is something else, such as data that scripts require.
    ///
    /// # Errors
    /// It names a connector and says something that cannot be used.
    pub fn read(text: &str, name: &str, config: &Value) -> Result<Option<Self>, RemoteFileError> {
        let Ok(value) = json::parse_str(text) else { return Ok(None) };
        let value = value.into_tree();
        let Value::Object(members) = &value else { return Ok(None) };
        let Some(written) = members.get("connector") else { return Ok(None) };
        let fail = |member: &str, message: String| {
            let quoted = format!("\"{member}\"");
            let span = text
                .find(&quoted)
                .map_or(Span::default(), |at| Span::new(at as u32, (at + quoted.len()) as u32));
            Err(RemoteFileError { span, message })
        };
        let filled = |value: &Value| {
            let filled = fill_settings(value.as_str()?, config);
            Some(filled)
        };
        let missing = |text: &str| -> Option<String> {
            let (_, rest) = text.split_once("{config.")?;
            Some(format!("config.{}", rest.split('}').next().unwrap_or_default()))
        };
        let Some(address) = filled(written) else {
            return fail(
                "connector",
                "`connector` must be text, the address of the connector".into(),
            );
        };
        if let Some(setting) = missing(&address) {
            return fail("connector", format!("the setting `{setting}` has no value"));
        }
        let Some(address) = Address::parse(&address, name) else {
            let message = "`connector` must be an address such as `http://127.0.0.1:7071`, or \
                           `unix:/run/name.sock` with the whole path of a socket";
            return fail("connector", message.to_owned());
        };
        let mut headers = Vec::new();
        for (member, value) in members.iter() {
            match (&**member, value) {
                ("connector", _) => {}
                ("headers", Value::Object(pairs)) => {
                    for (header, value) in pairs.iter() {
                        let Some(value) = filled(value) else {
                            return fail(header, format!("the header `{header}` must be text"));
                        };
                        if let Some(setting) = missing(&value) {
                            return fail(header, format!("the setting `{setting}` has no value"));
                        }
                        headers.push((header.to_string(), value));
                    }
                }
                ("headers", _) => return fail("headers", "`headers` must be an object".to_owned()),
                (other, _) => {
                    let message =
                        format!("`{other}` is not known; there are `connector` and `headers`");
                    return fail(other, message);
                }
            }
        }
        Ok(Some(Self { address, headers }))
    }
}

/// What a connector can do, by its own words.
#[derive(Debug, Clone, Default)]
pub struct Description {
    verbs: BTreeMap<String, RemoteVerb>,
}

/// One verb of a connector.
#[derive(Debug, Clone)]
pub struct RemoteVerb {
    kinds: Vec<VerbKind>,
    sources: Sources,
}

/// What a verb can be used at.
#[derive(Debug, Clone)]
enum Sources {
    /// At any text.
    Any(Arc<RemoteSource>),
    /// At these.
    Named(BTreeMap<String, Arc<RemoteSource>>),
}

/// What can be asked of one source by one verb.
#[derive(Debug, Clone, Default)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is something that its connector says of it"
)]
pub struct RemoteSource {
    /// The parameters by name.
    pub parameters: BTreeMap<String, RemoteParameter>,
    /// It takes parameters of any other name, too.
    pub takes_any: bool,
    /// The columns in their order.
    pub columns: Vec<RemoteColumn>,
    /// It sends only the columns that are asked for.
    pub takes_columns: bool,
    /// It sends no more rows than are asked for.
    pub takes_limit: bool,
    /// It leaves out the first rows, as many as it is told.
    pub takes_offset: bool,
}

/// A parameter of a source.
#[derive(Debug, Clone, Copy)]
pub struct RemoteParameter {
    /// Nothing can be asked without it.
    pub is_required: bool,
}

/// A column of a source.
#[derive(Debug, Clone)]
pub struct RemoteColumn {
    /// Its name, a member of each row.
    pub name: Text,
    /// What its values are.
    pub kind: ColumnKind,
    /// The tests that the connector makes.
    pub tests: Vec<ColumnTest>,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ColumnKind {
    /// Texts.
    Text,
    /// Numbers.
    Number,
    /// `true` and `false`.
    Flag,
    /// Anything.
    Any,
}

impl ColumnKind {
    /// Whether a value can be compared by the connector as it is compared here: other values are never handed on.
    pub fn fits(self, value: &Value) -> bool {
        match (self, value) {
            (Self::Text, Value::String(_))
            | (Self::Number, Value::Number(_))
            | (Self::Flag, Value::Bool(_)) => true,
            (Self::Any, value) => value.scalar_text().is_some(),
            _ => false,
        }
    }
}

impl Description {
    /// Reads a description.
    ///
    /// # Errors
    /// What is wrong with it, with the path of the member.
    pub fn read(value: &Value) -> Result<Self, String> {
        let value = value.clone().into_tree();
        let Value::Object(members) = &value else { return Err("it is no object".to_owned()) };
        let protocol = members.get("protocol").unwrap_or(&Value::Absent);
        let is_spoken = match protocol {
            Value::Number(number) => {
                number.as_i64().and_then(|number| u64::try_from(number).ok()) == Some(PROTOCOL)
            }
            _ => false,
        };
        if !is_spoken {
            let found = json::to_string(protocol);
            return Err(format!("`protocol` is {found}, and {PROTOCOL} is spoken here"));
        }
        let verbs = object(members.get("verbs"), "verbs")?;
        let read = |(name, verb): (&Text, &Value)| {
            Ok((name.to_string(), RemoteVerb::read(verb, &format!("verbs.{name}"))?))
        };
        Ok(Self { verbs: verbs.iter().map(read).collect::<Result<_, String>>()? })
    }

    /// The names of the verbs, in order.
    pub fn verbs(&self) -> impl Iterator<Item = (&str, &RemoteVerb)> + Clone {
        self.verbs.iter().map(|(name, verb)| (name.as_str(), verb))
    }

    /// The verb of this name.
    pub fn verb(&self, name: &str) -> Option<&RemoteVerb> {
        self.verbs.get(name)
    }
}

impl RemoteVerb {
    fn read(value: &Value, path: &str) -> Result<Self, String> {
        let members = object(Some(value), path)?;
        let mut kinds = Vec::new();
        for kind in list(members.get("kinds"), &format!("{path}.kinds"))? {
            kinds.push(match kind.as_str() {
                Some("select") => VerbKind::Select,
                Some("insert") => VerbKind::Insert,
                Some("update") => VerbKind::Update,
                Some("delete") => VerbKind::Delete,
                _ => {
                    return Err(format!(
                        "`{path}.kinds` may have `select`, `insert`, `update` and `delete`, not {}",
                        json::to_string(kind)
                    ));
                }
            });
        }
        let sources = match members.get("sources") {
            None => Sources::Any(Arc::new(RemoteSource::read(value, path)?)),
            Some(named) => {
                let path = format!("{path}.sources");
                let named = object(Some(named), &path)?;
                let read = |(name, source): (&Text, &Value)| {
                    let source = RemoteSource::read(source, &format!("{path}.{name}"))?;
                    Ok((name.to_string(), Arc::new(source)))
                };
                Sources::Named(named.iter().map(read).collect::<Result<_, String>>()?)
            }
        };
        Ok(Self { kinds, sources })
    }

    /// The kinds of statements that it serves.
    pub fn kinds(&self) -> &[VerbKind] {
        &self.kinds
    }

    /// What can be asked at a text.
    pub fn source(&self, at: &str) -> Option<&Arc<RemoteSource>> {
        match &self.sources {
            Sources::Any(source) => Some(source),
            Sources::Named(named) => named.get(at),
        }
    }

    /// The texts that it can be used at, in order; none if it can be used at any.
    pub fn sources(&self) -> impl Iterator<Item = &str> + Clone {
        let named = match &self.sources {
            Sources::Any(_) => None,
            Sources::Named(named) => Some(named),
        };
        named.into_iter().flat_map(|named| named.keys().map(String::as_str))
    }
}

impl RemoteSource {
    fn read(value: &Value, path: &str) -> Result<Self, String> {
        let members = object(Some(value), path)?;
        let mut source = Self::default();
        if let Some(written) = members.get("parameters") {
            for (name, parameter) in object(Some(written), &format!("{path}.parameters"))?.iter() {
                let path = format!("{path}.parameters.{name}");
                let is_required = flag(object(Some(parameter), &path)?.get("required"), &path)?;
                source.parameters.insert(name.to_string(), RemoteParameter { is_required });
            }
        }
        if let Some(written) = members.get("columns") {
            for (name, column) in object(Some(written), &format!("{path}.columns"))?.iter() {
                let path = format!("{path}.columns.{name}");
                source.columns.push(RemoteColumn::read(name, column, &path)?);
            }
        }
        source.takes_any = flag(members.get("open"), &format!("{path}.open"))?;
        if let Some(pushes) = members.get("pushes") {
            let path = format!("{path}.pushes");
            for pushed in list(Some(pushes), &path)? {
                match pushed.as_str() {
                    Some("columns") => source.takes_columns = true,
                    Some("limit") => source.takes_limit = true,
                    Some("offset") => source.takes_offset = true,
                    _ => {
                        let found = json::to_string(pushed);
                        return Err(format!(
                            "`{path}` may have `columns`, `limit` and `offset`, not {found}"
                        ));
                    }
                }
            }
        }
        Ok(source)
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&RemoteColumn> {
        self.columns.iter().find(|column| *column.name == *name)
    }

    /// The tests that it makes, as parameters of a table.
    pub(super) fn column_parameters(&self) -> Vec<ColumnParameter> {
        let columns = self.columns.iter().flat_map(|column| {
            column.tests.iter().map(|test| ColumnParameter {
                column: column.name.clone(),
                path: Path::from_segments(vec![Segment::Member(column.name.clone())]),
                test: *test,
                parameter: test_parameter(&column.name, *test),
            })
        });
        columns.collect()
    }
}

/// The parameter that stands for a test of a column: that of `=` is called like the column.
pub fn test_parameter(column: &str, test: ColumnTest) -> Text {
    match test {
        ColumnTest::Equals => Text::from(column),
        other => Text::from(format!("{column} {}", other.symbol())),
    }
}

impl RemoteColumn {
    fn read(name: &Text, value: &Value, path: &str) -> Result<Self, String> {
        let members = object(Some(value), path)?;
        let kind = match members.get("type").map(|kind| kind.as_str()) {
            None | Some(Some("any")) => ColumnKind::Any,
            Some(Some("text")) => ColumnKind::Text,
            Some(Some("number")) => ColumnKind::Number,
            Some(Some("flag")) => ColumnKind::Flag,
            Some(_) => {
                return Err(format!("`{path}.type` must be `text`, `number`, `flag` or `any`"));
            }
        };
        let mut tests = Vec::new();
        if let Some(written) = members.get("tests") {
            for test in list(Some(written), &format!("{path}.tests"))? {
                let known =
                    ColumnTest::ALL.iter().find(|known| test.as_str() == Some(known.symbol()));
                match known {
                    Some(known) if !tests.contains(known) => tests.push(*known),
                    Some(_) => {}
                    None => {
                        let found = json::to_string(test);
                        return Err(format!(
                            "`{path}.tests` may have `=`, `<`, `<=`, `>`, `>=` and `like`, not {found}"
                        ));
                    }
                }
            }
        }
        Ok(Self { name: name.clone(), kind, tests })
    }
}

fn object<'v>(value: Option<&'v Value>, path: &str) -> Result<&'v Object, String> {
    match value {
        Some(Value::Object(members)) if members.len() <= NAMES_MAX => Ok(&**members),
        Some(Value::Object(_)) => Err(format!("`{path}` has more than {NAMES_MAX} members")),
        None => Err(format!("`{path}` is missing")),
        Some(_) => Err(format!("`{path}` must be an object")),
    }
}

fn list<'v>(value: Option<&'v Value>, path: &str) -> Result<&'v [Value], String> {
    match value {
        Some(Value::Array(elements)) if elements.len() <= NAMES_MAX => Ok(&elements[..]),
        None => Err(format!("`{path}` is missing")),
        Some(_) => Err(format!("`{path}` must be a list of texts")),
    }
}

fn flag(value: Option<&Value>, path: &str) -> Result<bool, String> {
    match value {
        None => Ok(false),
        Some(Value::Bool(is_on)) => Ok(*is_on),
        Some(_) => Err(format!("`{path}` must be `true` or `false`")),
    }
}
