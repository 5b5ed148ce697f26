//! The tables of a database, as they are described to qlio.
//!
//! In: the address of a database. Out: an open one, and its tables with their columns.

use std::collections::BTreeMap;

use qlio_serving::Sender;
use serde_json::{Map, Value, json};

use crate::{postgres::Postgres, sqlite::Sqlite, statement::Statement};

/// A database that can be asked.
pub(crate) enum Database {
    Postgres(Box<Postgres>),
    Sqlite(Sqlite),
}

/// Tables and views by name.
pub(crate) type Sources = BTreeMap<String, Source>;

/// A table or view.
#[derive(Debug, Clone)]
pub(crate) struct Source {
    /// Its name as a statement has it, quoted.
    pub(crate) quoted: String,
    /// In the order of the table.
    pub(crate) columns: Vec<Column>,
    /// The columns that tell its rows apart.
    pub(crate) key: Vec<String>,
}

/// A column.
#[derive(Debug, Clone)]
pub(crate) struct Column {
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

/// What the values of a column are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Text,
    Number,
    Flag,
    /// Dates, JSON, bytes: they are sent, and no test is made of them.
    Other,
}

/// Opens a database.
pub(crate) async fn open(address: &str, connections: usize) -> Result<Database, String> {
    if let Some(file) = address.strip_prefix("sqlite:") {
        return Ok(Database::Sqlite(Sqlite::new(file, connections)));
    }
    if address.starts_with("postgres://") || address.starts_with("postgresql://") {
        return Ok(Database::Postgres(Box::new(Postgres::new(address, connections)?)));
    }
    Err("the database must be `postgres://…` or `sqlite:FILE`".to_owned())
}

impl Database {
    /// All tables and views, or those that are named.
    pub(crate) async fn sources(&self, wanted: &[String]) -> Result<Sources, String> {
        let found = match self {
            Self::Postgres(database) => database.sources().await?,
            Self::Sqlite(database) => database.sources().await?,
        };
        if wanted.is_empty() {
            return Ok(found);
        }
        let pick = |name: &String| {
            let source = found.get(name).cloned();
            source
                .map(|source| (name.clone(), source))
                .ok_or_else(|| format!("there is no table `{name}`"))
        };
        wanted.iter().map(pick).collect()
    }

    /// How the text of statements is written for it.
    pub(crate) fn is_postgres(&self) -> bool {
        matches!(self, Self::Postgres(_))
    }

    /// Carries a statement out and sends its rows, or why there are none.
    pub(crate) async fn run(&self, statement: Statement, sender: Sender) {
        match self {
            Self::Postgres(database) => database.run(statement, sender).await,
            Self::Sqlite(database) => database.run(statement, sender).await,
        }
    }
}

/// A name as a statement has it.
pub(crate) fn quote(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}

impl Source {
    /// The column of this name.
    pub(crate) fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}

impl Kind {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::Number => "number",
            Self::Flag => "flag",
            Self::Other => "any",
        }
    }

    /// The tests that the database makes as qlio would.
    fn tests(self) -> &'static [&'static str] {
        match self {
            Self::Text => &["=", "<", "<=", ">", ">=", "like"],
            Self::Number => &["=", "<", "<=", ">", ">="],
            Self::Flag => &["="],
            Self::Other => &[],
        }
    }
}

/// What the connector says that it can do.
pub(crate) fn describe(sources: &Sources, is_writable: bool) -> Value {
    let columns = |source: &Source| -> Value {
        let column = |column: &Column| {
            let described = json!({"type": column.kind.name(), "tests": column.kind.tests()});
            (column.name.clone(), described)
        };
        Value::Object(source.columns.iter().map(column).collect())
    };
    let each = |described: &dyn Fn(&Source) -> Value| -> Value {
        let described = sources.iter().map(|(name, source)| (name.clone(), described(source)));
        Value::Object(described.collect::<Map<_, _>>())
    };
    let read = each(
        &|source| json!({"columns": columns(source), "pushes": ["columns", "limit", "offset"]}),
    );
    let mut verbs = Map::new();
    verbs.insert("rows".to_owned(), json!({"kinds": ["select"], "sources": read}));
    if is_writable {
        let parameters = each(&|source| {
            let named = source
                .columns
                .iter()
                .map(|column| (column.name.clone(), json!({"type": column.kind.name()})));
            json!({"parameters": Value::Object(named.collect())})
        });
        // Without a key nothing tells which rows are meant.
        verbs.insert("insert".to_owned(), json!({"kinds": ["insert"], "sources": parameters}));
        verbs.insert("update".to_owned(), json!({"kinds": ["update"], "sources": parameters}));
        let tested = each(&|source| json!({"columns": columns(source)}));
        verbs.insert("delete".to_owned(), json!({"kinds": ["delete"], "sources": tested}));
    }
    json!({"protocol": 1, "name": "sql", "verbs": verbs})
}
