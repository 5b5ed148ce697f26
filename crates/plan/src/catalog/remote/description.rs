//! What a connector out of process says that it can do (PRO-4).
//!
//! In: its description as JSON. Out: verbs, sources, columns and the tests it makes of them, checked.

use std::{collections::BTreeMap, fmt, sync::Arc};

use qlio_data::{
    Object, Text, Value,
    codec::json,
    path::{Path, Segment},
};
use qlio_syntax::ast::{ColumnTest, VerbKind};

use crate::catalog::ColumnParameter;

/// The version of the protocol that is spoken.
pub const PROTOCOL: u64 = 1;

/// Verbs, sources of a verb, and columns or parameters of a source that a description may have.
const NAMES_MAX: usize = 10_000;

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

/// What is wrong with a description; `path` is that of the member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DescriptionError {
    /// It is no object.
    NoObject,
    /// It is of another protocol.
    Protocol {
        /// What it says, as JSON.
        found: String,
    },
    /// A member is missing.
    Missing {
        /// Which one.
        path: String,
    },
    /// A member is not of the kind that it must be of.
    Kind {
        /// Which one.
        path: String,
        /// What it must be.
        wanted: &'static str,
    },
    /// An object has more members than are read.
    TooMany {
        /// Which one.
        path: String,
    },
    /// A list has a word that means nothing in it.
    Word {
        /// Which one.
        path: String,
        /// Those that do.
        words: &'static str,
        /// The word, as JSON.
        found: String,
    },
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoObject => f.write_str("it is no object"),
            Self::Protocol { found } => {
                write!(f, "`protocol` is {found}, and {PROTOCOL} is spoken here")
            }
            Self::Missing { path } => write!(f, "`{path}` is missing"),
            Self::Kind { path, wanted } => write!(f, "`{path}` must be {wanted}"),
            Self::TooMany { path } => write!(f, "`{path}` has more than {NAMES_MAX} members"),
            Self::Word { path, words, found } => {
                write!(f, "`{path}` may have {words}, not {found}")
            }
        }
    }
}

impl std::error::Error for DescriptionError {}

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
    /// What is wrong with it.
    pub fn read(value: &Value) -> Result<Self, DescriptionError> {
        let value = value.clone().into_tree();
        let Value::Object(members) = &value else { return Err(DescriptionError::NoObject) };
        let protocol = members.get("protocol").unwrap_or(&Value::Absent);
        let is_spoken = match protocol {
            Value::Number(number) => {
                number.as_i64().and_then(|number| u64::try_from(number).ok()) == Some(PROTOCOL)
            }
            _ => false,
        };
        if !is_spoken {
            return Err(DescriptionError::Protocol { found: json::to_string(protocol) });
        }
        let verbs = object(members.get("verbs"), "verbs")?;
        let read = |(name, verb): (&Text, &Value)| {
            Ok((name.to_string(), RemoteVerb::read(verb, &format!("verbs.{name}"))?))
        };
        Ok(Self { verbs: verbs.iter().map(read).collect::<Result<_, DescriptionError>>()? })
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
    fn read(value: &Value, path: &str) -> Result<Self, DescriptionError> {
        let members = object(Some(value), path)?;
        let mut kinds = Vec::new();
        for kind in list(members.get("kinds"), &format!("{path}.kinds"))? {
            kinds.push(match kind.as_str() {
                Some("select") => VerbKind::Select,
                Some("insert") => VerbKind::Insert,
                Some("update") => VerbKind::Update,
                Some("delete") => VerbKind::Delete,
                _ => {
                    let words = "`select`, `insert`, `update` and `delete`";
                    return Err(unknown_word(format!("{path}.kinds"), words, kind));
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
                Sources::Named(named.iter().map(read).collect::<Result<_, DescriptionError>>()?)
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
    fn read(value: &Value, path: &str) -> Result<Self, DescriptionError> {
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
                    _ => return Err(unknown_word(path, "`columns`, `limit` and `offset`", pushed)),
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
    pub(in crate::catalog) fn column_parameters(&self) -> Vec<ColumnParameter> {
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
    fn read(name: &Text, value: &Value, path: &str) -> Result<Self, DescriptionError> {
        let members = object(Some(value), path)?;
        let kind = match members.get("type").map(|kind| kind.as_str()) {
            None | Some(Some("any")) => ColumnKind::Any,
            Some(Some("text")) => ColumnKind::Text,
            Some(Some("number")) => ColumnKind::Number,
            Some(Some("flag")) => ColumnKind::Flag,
            Some(_) => {
                let wanted = "`text`, `number`, `flag` or `any`";
                return Err(DescriptionError::Kind { path: format!("{path}.type"), wanted });
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
                        let words = "`=`, `<`, `<=`, `>`, `>=` and `like`";
                        return Err(unknown_word(format!("{path}.tests"), words, test));
                    }
                }
            }
        }
        Ok(Self { name: name.clone(), kind, tests })
    }
}

fn object<'v>(value: Option<&'v Value>, path: &str) -> Result<&'v Object, DescriptionError> {
    match value {
        Some(Value::Object(members)) if members.len() <= NAMES_MAX => Ok(&**members),
        Some(Value::Object(_)) => Err(DescriptionError::TooMany { path: path.to_owned() }),
        other => Err(missing_or(other, path, "an object")),
    }
}

fn list<'v>(value: Option<&'v Value>, path: &str) -> Result<&'v [Value], DescriptionError> {
    match value {
        Some(Value::Array(elements)) if elements.len() <= NAMES_MAX => Ok(&elements[..]),
        other => Err(missing_or(other, path, "a list of texts")),
    }
}

fn flag(value: Option<&Value>, path: &str) -> Result<bool, DescriptionError> {
    match value {
        None => Ok(false),
        Some(Value::Bool(is_on)) => Ok(*is_on),
        other => Err(missing_or(other, path, "`true` or `false`")),
    }
}

fn missing_or(found: Option<&Value>, path: &str, wanted: &'static str) -> DescriptionError {
    let path = path.to_owned();
    match found {
        None => DescriptionError::Missing { path },
        Some(_) => DescriptionError::Kind { path, wanted },
    }
}

fn unknown_word(path: String, words: &'static str, found: &Value) -> DescriptionError {
    DescriptionError::Word { path, words, found: json::to_string(found) }
}
