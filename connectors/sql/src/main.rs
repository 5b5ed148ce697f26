//! PostgreSQL and SQLite as sources of qlio: the connector protocol in front of a database.
//!
//! ```text
//! request ─▶ [request] ─▶ [statement] text with placeholders ─▶ [postgres] | [sqlite] ─▶ rows, line by line
//! ```
//!
//! Values are bound, never part of a statement's text; names are those that the database itself has told.

mod postgres;
mod request;
mod source;
mod sqlite;
mod statement;

use std::{process::ExitCode, sync::Arc};

use clap::Parser;
use qlio_serving::{Sender, Serving, Source};
use serde_json::Value;

use crate::{
    request::Asked,
    source::{Database, Sources},
};

/// PostgreSQL and SQLite as sources of qlio.
#[derive(Debug, Parser)]
struct Arguments {
    /// `postgres://…`, as libpq has it, or `sqlite:FILE`; better in the environment, where no list of processes
    /// shows it.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true)]
    database: String,
    /// Where to listen: `host:port`, port 0 for any free one, or `unix:PATH`.
    #[arg(long, default_value = "127.0.0.1:7073")]
    listen: String,
    /// The tables that can be asked for, joined by commas; all without it.
    #[arg(long, value_delimiter = ',')]
    tables: Vec<String>,
    /// Offer `insert`, `update` and `delete`, too.
    #[arg(long)]
    writable: bool,
    /// What callers have to show as bearer token.
    #[arg(long, env = "QLIO_SQL_TOKEN", hide_env_values = true)]
    token: Option<String>,
    /// Most connections to PostgreSQL, or files of SQLite, that are open at a time.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u16).range(1..=1000))]
    connections: u16,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> ExitCode {
    match serve(Arguments::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            eprintln!("error: {reason}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(arguments: Arguments) -> Result<(), String> {
    let database = source::open(&arguments.database, usize::from(arguments.connections)).await?;
    let sources = database.sources(&arguments.tables).await?;
    let tables = Tables { database, sources, is_writable: arguments.writable };
    let serving = Serving { source: Arc::new(tables), token: arguments.token };
    qlio_serving::serve(&arguments.listen, serving).await
}

/// The tables of a database, as they are served.
struct Tables {
    database: Database,
    sources: Sources,
    is_writable: bool,
}

impl Source for Tables {
    fn describe(&self) -> Value {
        source::describe(&self.sources, self.is_writable)
    }

    async fn execute(self: Arc<Self>, body: Vec<u8>, sender: Sender) {
        let asked = Asked::read(&body, &self.sources, self.is_writable);
        match asked.and_then(|asked| statement::write(asked, self.database.is_postgres())) {
            Ok(statement) => self.database.run(statement, sender).await,
            Err(refused) => sender.refuse(refused).await,
        }
    }
}
