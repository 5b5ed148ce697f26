//! MongoDB as a source of qlio: the connector protocol in front of a database.
//!
//! ```text
//! request ─▶ [request] verb, filter, projection ─▶ [collection] the driver ─▶ documents, line by line
//! ```
//!
//! Values of a request are compared, never read as operators: a client that says `{"$gt": ""}` is refused.

mod collection;
mod request;

use std::{process::ExitCode, sync::Arc, time::Duration};

use clap::Parser;
use mongodb::{Client, Database, options::ClientOptions};
use qlio_serving::{Sender, Serving, Source};
use serde_json::Value;

use crate::request::{Asked, Columns};

/// How long a server is looked for.
const SELECTION_PATIENCE: Duration = Duration::from_secs(5);

/// MongoDB as a source of qlio.
#[derive(Debug, Parser)]
struct Arguments {
    /// `mongodb://host:port/database`; better in the environment, where no list of processes shows it.
    #[arg(long, env = "MONGODB_URL", hide_env_values = true)]
    database: String,
    /// Where to listen: `host:port`, port 0 for any free one, or `unix:PATH`.
    #[arg(long, default_value = "127.0.0.1:7074")]
    listen: String,
    /// A member of which all documents of a collection have a value of one type, `collection.member=number` (or
    /// `text`, `flag`): its tests are made by the database. May be repeated.
    #[arg(long = "column", value_name = "COLUMN")]
    columns: Vec<String>,
    /// Offer `insert`, `update` and `remove`, too.
    #[arg(long)]
    writable: bool,
    /// What callers have to show as bearer token.
    #[arg(long, env = "QLIO_MONGODB_TOKEN", hide_env_values = true)]
    token: Option<String>,
}

/// The collections of a database, as they are served.
struct Collections {
    database: Database,
    names: Vec<String>,
    columns: Columns,
    is_writable: bool,
}

impl Source for Collections {
    fn describe(&self) -> Value {
        request::describe(&self.names, &self.columns, self.is_writable)
    }

    async fn execute(self: Arc<Self>, body: Vec<u8>, sender: Sender) {
        match Asked::read(&body, &self.names, &self.columns, self.is_writable) {
            Ok(asked) => collection::carry_out(&self.database, asked, sender).await,
            Err(refused) => sender.refuse(refused).await,
        }
    }
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
    let columns = request::read_columns(&arguments.columns)?;
    // The reason may hold a part of the address, and that a password.
    let options = ClientOptions::parse(&arguments.database).await;
    let mut options = options.map_err(|_| "the address of the database is malformed".to_owned())?;
    options.server_selection_timeout = Some(SELECTION_PATIENCE);
    let client = Client::with_options(options).map_err(|error| error.to_string())?;
    let database = client.default_database().ok_or("the address names no database")?;
    let names = database.list_collection_names().await;
    let mut names = names.map_err(|error| format!("cannot read the collections: {error}"))?;
    names.sort_unstable();
    if let Some(stranger) = columns.keys().find(|name| !names.contains(name)) {
        return Err(format!("there is no collection `{stranger}`"));
    }
    let collections = Collections { database, names, columns, is_writable: arguments.writable };
    let serving = Serving { source: Arc::new(collections), token: arguments.token };
    qlio_serving::serve(&arguments.listen, serving).await
}
