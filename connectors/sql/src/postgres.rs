//! PostgreSQL: connections that are used again, statements whose rows come as JSON of the server's own making.

use std::{
    error::Error as _,
    sync::{Mutex, PoisonError},
};

use bytes::BytesMut;
use futures_util::{StreamExt as _, pin_mut};
use qlio_serving::{Gone, Refused, Sender};
use serde_json::Value;
use tokio::{sync::Semaphore, time::timeout};
use tokio_postgres::{
    Client, Config, Error, NoTls,
    types::{Format, IsNull, ToSql, Type},
};

use crate::{
    source::{Column, Kind, Source, Sources, quote},
    statement::Statement,
};

/// Every table and view that the user may read, outside of the system's own schemas, column by column.
const COLUMNS: &str = "select n.nspname, c.relname, a.attname, t.typname, coalesce(a.attnum = any(i.indkey), false) \
     from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid \
     join pg_type t on t.oid = a.atttypid left join pg_index i on i.indrelid = c.oid and i.indisprimary \
     where c.relkind in ('r', 'v', 'm', 'p', 'f') and a.attnum > 0 and not a.attisdropped \
     and n.nspname not in ('pg_catalog', 'information_schema') and n.nspname not like 'pg\\_toast%' \
     and has_table_privilege(c.oid, 'select') order by n.nspname, c.relname, a.attnum";

/// The schema whose tables need no prefix.
const PUBLIC: &str = "public";

/// A server.
pub(crate) struct Postgres {
    config: Config,
    idle: Mutex<Vec<Client>>,
    permits: Semaphore,
}

impl Postgres {
    pub(crate) fn new(address: &str, connections: usize) -> Result<Self, String> {
        // The reason may hold a part of the address, and that a password.
        let config =
            address.parse().map_err(|_| "the address of the database is malformed".to_owned())?;
        Ok(Self { config, idle: Mutex::default(), permits: Semaphore::new(connections) })
    }

    async fn client(&self) -> Result<Client, Error> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        if let Some(client) = idle.filter(|client| !client.is_closed()) {
            return Ok(client);
        }
        let (client, connection) = self.config.connect(NoTls).await?;
        tokio::spawn(async move {
            // What ends a connection is told to the statement on it.
            let _ = connection.await;
        });
        Ok(client)
    }

    fn keep(&self, client: Client) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(client);
    }

    pub(crate) async fn sources(&self) -> Result<Sources, String> {
        let told = |error: Error| format!("cannot read the tables: {}", refused(&error).message);
        let client = self.client().await.map_err(told)?;
        let rows = client.query(COLUMNS, &[]).await.map_err(told)?;
        let mut sources = Sources::new();
        for row in rows {
            let [schema, table, column, kind] =
                [0, 1, 2, 3].map(|place| row.get::<_, String>(place));
            let name = if schema == PUBLIC { table.clone() } else { format!("{schema}.{table}") };
            let source = sources.entry(name).or_insert_with(|| Source {
                quoted: format!("{}.{}", quote(&schema), quote(&table)),
                columns: Vec::new(),
                key: Vec::new(),
            });
            if row.get::<_, bool>(4) {
                source.key.push(column.clone());
            }
            source.columns.push(Column { name: column, kind: kind_of(&kind) });
        }
        self.keep(client);
        Ok(sources)
    }

    pub(crate) async fn run(&self, statement: Statement, mut sender: Sender) {
        let Ok(_permit) = self.permits.acquire().await else { return };
        let patience = statement.patience;
        let client = match self.client().await {
            Ok(client) => client,
            Err(error) => return sender.refuse(refused(&error)).await,
        };
        let cancel = client.cancel_token();
        let outcome = timeout(patience, carry_out(&client, &statement, &mut sender)).await;
        match outcome {
            Ok(Ok(Ok(()))) => self.keep(client),
            Ok(Ok(Err(Gone))) => {
                // Nobody takes the rows any more, so that none need be made; if this fails, they are dropped.
                let _ = cancel.cancel_query(NoTls).await;
            }
            Ok(Err(error)) => {
                let refused = refused(&error);
                if !client.is_closed() {
                    self.keep(client);
                }
                sender.refuse(refused).await;
            }
            Err(_) => {
                let _ = cancel.cancel_query(NoTls).await;
                let message =
                    format!("the database has not answered within {} ms", patience.as_millis());
                sender.refuse(Refused::new(504, message)).await;
            }
        }
    }
}

async fn carry_out(
    client: &Client,
    statement: &Statement,
    sender: &mut Sender,
) -> Result<Result<(), Gone>, Error> {
    let values: Vec<Bound> = statement.values.iter().map(Bound::of).collect();
    if statement.is_write {
        let values: Vec<_> = values.iter().map(|value| value as &(dyn ToSql + Sync)).collect();
        let rows = client.execute(&statement.text, &values).await?;
        sender.written(rows);
        return Ok(sender.flush().await);
    }
    let text = if statement.columns.is_empty() {
        format!("select '{{}}' from ({}) as q", statement.text)
    } else {
        format!("select row_to_json(q)::text from ({}) as q", statement.text)
    };
    let rows = client.query_raw(&text, values).await?;
    pin_mut!(rows);
    while let Some(row) = rows.next().await {
        let row = row?;
        if sender.add(row.get(0))
            && let Err(gone) = sender.flush().await
        {
            return Ok(Err(gone));
        }
    }
    sender.end();
    Ok(sender.flush().await)
}

fn kind_of(kind: &str) -> Kind {
    match kind {
        "text" | "varchar" | "name" => Kind::Text,
        "int2" | "int4" | "int8" | "numeric" | "float4" | "float8" => Kind::Number,
        "bool" => Kind::Flag,
        _ => Kind::Other,
    }
}

/// What the server says, without what only we know.
fn refused(error: &Error) -> Refused {
    match error.as_db_error() {
        // A statement that cannot be carried out as it was asked for, else a fault of ours or the server's.
        Some(told) => {
            let status = match told.code().code().get(..2) {
                Some("22" | "23" | "42") => 422,
                Some("57") => 503,
                _ => 502,
            };
            Refused::new(status, told.message())
        }
        None => {
            let cause = error.source().map_or_else(|| error.to_string(), ToString::to_string);
            Refused::new(502, format!("the database cannot be used: {cause}"))
        }
    }
}

/// A value as text, which the server reads as whatever stands at its place.
#[derive(Debug)]
struct Bound(Option<String>);

impl Bound {
    fn of(value: &Value) -> Self {
        Self(match value {
            Value::Null => None,
            Value::String(text) => Some(text.clone()),
            other => Some(other.to_string()),
        })
    }
}

impl ToSql for Bound {
    fn to_sql(
        &self,
        _: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        let Some(text) = &self.0 else { return Ok(IsNull::Yes) };
        out.extend_from_slice(text.as_bytes());
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    fn to_sql_checked(
        &self,
        kind: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn std::error::Error + Sync + Send>> {
        self.to_sql(kind, out)
    }
}
