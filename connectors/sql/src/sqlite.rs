//! `SQLite`: one file, statements on threads that may block.

use std::{
    path::PathBuf,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use qlio_serving::{Refused, Sender};
use rusqlite::{
    Connection, OpenFlags, params_from_iter,
    types::{Value as Bound, ValueRef},
};
use serde_json::{Map, Number, Value};
use tokio::{sync::Semaphore, task::spawn_blocking};

use crate::{
    source::{Column, Kind, Source, Sources, quote},
    statement::Statement,
};

/// How long another writer is waited for.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);

/// Steps of the database between two looks at the clock.
const STEPS: i32 = 10_000;

/// A file.
pub(crate) struct Sqlite {
    files: Arc<Files>,
    permits: Semaphore,
}

struct Files {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
}

impl Files {
    fn open(&self) -> Result<Connection, rusqlite::Error> {
        if let Some(idle) = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop() {
            return Ok(idle);
        }
        // A file that is not there is a mistake, and no empty database.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(&self.path, flags)?;
        connection.busy_timeout(BUSY_PATIENCE)?;
        Ok(connection)
    }

    fn keep(&self, connection: Connection) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(connection);
    }
}

impl Sqlite {
    pub(crate) fn new(path: &str, connections: usize) -> Self {
        let files = Files { path: PathBuf::from(path), idle: Mutex::default() };
        Self { files: Arc::new(files), permits: Semaphore::new(connections) }
    }

    pub(crate) async fn sources(&self) -> Result<Sources, String> {
        let files = Arc::clone(&self.files);
        let read = spawn_blocking(move || {
            let connection = files.open()?;
            let sources = read_sources(&connection)?;
            files.keep(connection);
            Ok(sources)
        });
        let read = read.await.map_err(|error| error.to_string())?;
        read.map_err(|error: rusqlite::Error| format!("cannot read the tables: {error}"))
    }

    pub(crate) async fn run(&self, statement: Statement, mut sender: Sender) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        let files = Arc::clone(&self.files);
        let done = spawn_blocking(move || {
            let outcome = files.open().and_then(|connection| {
                let carried_out = carry_out(&connection, &statement, &mut sender);
                connection.progress_handler(0, None::<fn() -> bool>)?;
                files.keep(connection);
                carried_out
            });
            if let Err(error) = outcome {
                sender.refuse_blocking(refused(&error, statement.patience));
            }
        });
        // A panic has told nobody; the caller sees that there is no end.
        let _ = done.await;
    }
}

fn read_sources(connection: &Connection) -> Result<Sources, rusqlite::Error> {
    let mut tables = connection.prepare(
        "select name from sqlite_schema where type in ('table', 'view') and name not like 'sqlite\\_%' escape '\\'",
    )?;
    let names: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    let mut sources = Sources::new();
    for name in names {
        let mut columns = connection.prepare("select name, type, pk from pragma_table_info(?1)")?;
        let read = columns.query_map([&name], |row| {
            Ok((row.get::<_, String>(0)?, row.get::<_, String>(1)?, row.get::<_, i64>(2)?))
        })?;
        let mut source = Source { quoted: quote(&name), columns: Vec::new(), key: Vec::new() };
        for column in read {
            let (name, kind, key) = column?;
            if key > 0 {
                source.key.push(name.clone());
            }
            source.columns.push(Column { name, kind: kind_of(&kind) });
        }
        sources.insert(name, source);
    }
    Ok(sources)
}

/// By the rules of the database, for columns whose name of a type says what is in them.
fn kind_of(declared: &str) -> Kind {
    let declared = declared.to_ascii_uppercase();
    let has = |part: &str| declared.contains(part);
    if has("INT") || has("REAL") || has("FLOA") || has("DOUB") || has("DEC") || has("NUM") {
        Kind::Number
    } else if has("CHAR") || has("CLOB") || has("TEXT") {
        Kind::Text
    } else {
        Kind::Other
    }
}

fn carry_out(
    connection: &Connection,
    statement: &Statement,
    sender: &mut Sender,
) -> Result<(), rusqlite::Error> {
    let end = Instant::now() + statement.patience;
    connection.progress_handler(STEPS, Some(move || Instant::now() > end))?;
    let mut prepared = connection.prepare_cached(&statement.text)?;
    let values = params_from_iter(statement.values.iter().map(bound));
    if statement.is_write {
        let rows = prepared.execute(values)?;
        sender.written(rows as u64);
        // Whether anybody takes it changes nothing any more.
        let _ = sender.flush_blocking();
        return Ok(());
    }
    let mut rows = prepared.query(values)?;
    while let Some(row) = rows.next()? {
        let mut members = Map::new();
        for (place, name) in statement.columns.iter().enumerate() {
            members.insert(name.clone(), shown(row.get_ref(place)?));
        }
        if sender.add(&Value::Object(members).to_string()) && sender.flush_blocking().is_err() {
            return Ok(());
        }
    }
    sender.end();
    let _ = sender.flush_blocking();
    Ok(())
}

fn bound(value: &Value) -> Bound {
    match value {
        Value::Null => Bound::Null,
        Value::Bool(is_on) => Bound::Integer(i64::from(*is_on)),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Bound::Integer(whole),
            (None, Some(real)) => Bound::Real(real),
            (None, None) => Bound::Text(number.to_string()),
        },
        Value::String(text) => Bound::Text(text.clone()),
        other => Bound::Text(other.to_string()),
    }
}

fn shown(value: ValueRef<'_>) -> Value {
    match value {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(whole) => Value::from(whole),
        ValueRef::Real(real) => Number::from_f64(real).map_or(Value::Null, Value::Number),
        ValueRef::Text(text) => Value::from(String::from_utf8_lossy(text)),
        ValueRef::Blob(bytes) => {
            Value::from(bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>())
        }
    }
}

fn refused(error: &rusqlite::Error, patience: Duration) -> Refused {
    use rusqlite::ErrorCode;
    let (status, message) = match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => {
            (504, format!("the database has not answered within {} ms", patience.as_millis()))
        }
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => (503, error.to_string()),
        Some(ErrorCode::ConstraintViolation | ErrorCode::TypeMismatch) => (422, error.to_string()),
        _ => (502, error.to_string()),
    };
    Refused::new(status, message)
}
