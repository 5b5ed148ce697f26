//! Connectors out of process: their files, and what they say they can do (PRO-2).
//!
//! In: the files of the folder of connectors. Out: connectors by name, broken ones among them, and what is wrong.
//! They are asked here, once, before anything is served, all at the same time and within a bounded time.

use std::{sync::Arc, thread};

use futures_util::future::join_all;
use qlio_data::redact::secret_texts;
use qlio_engine::{
    AskError, RemoteClient,
    transport::{Transport, TransportSettings},
};
use qlio_plan::catalog::{
    Connector, ConnectorSource, Description, FileDiagnostics, Remote, RemoteFile, SourceFolder,
};
use qlio_syntax::{
    diagnostic::{Diagnostic, codes},
    source::Span,
};

use crate::config::Config;

/// A connector whose file can be used.
struct Found {
    name: String,
    path: String,
    text: String,
    file: RemoteFile,
}

/// The connectors that files of a folder name, and what is wrong with them.
pub(super) fn remote_connectors(
    folder: &Arc<SourceFolder>,
    config: &Config,
) -> (Vec<Connector>, Vec<FileDiagnostics>) {
    let (mut connectors, mut problems, mut found) = (Vec::new(), Vec::new(), Vec::new());
    for (path, source) in folder.files() {
        let stem = path.strip_prefix('/').and_then(|name| name.strip_suffix(".json"));
        let Some(name) = stem.filter(|name| !name.contains('/')) else { continue };
        let Ok(bytes) = source else { continue };
        let Ok(text) = str::from_utf8(bytes) else { continue };
        match RemoteFile::read(text, name, &config.values) {
            Ok(None) => {}
            Ok(Some(file)) => {
                let (name, path, text) = (name.to_owned(), path.to_owned(), text.to_owned());
                found.push(Found { name, path, text, file });
            }
            Err(error) => {
                let problem = Diagnostic::error(codes::BAD_CONNECTOR, error.span, &*error.message);
                problems.push(in_file(folder, path, text, problem));
                connectors.push(broken(name, None, error.message));
            }
        }
    }
    let described = describe(&config.transport, &found);
    for (Found { name, path, text, file }, described) in found.into_iter().zip(described) {
        match described {
            Ok(description) => {
                connectors.push(Connector {
                    name,
                    source: remote(file, description),
                    broken: None,
                });
            }
            Err(reason) => {
                let reason = secret_texts(config.secrets.clone())
                    .iter()
                    .fold(reason.to_string(), |reason, secret| {
                        reason.replace(secret.as_str(), "[redacted]")
                    });
                let message =
                    format!("connector `{name}` cannot be asked what it can do: {reason}");
                let problem =
                    Diagnostic::error(codes::UNDESCRIBED_CONNECTOR, Span::default(), message)
                        .hint("start it before qlio, and see that its address is right");
                problems.push(in_file(folder, &path, &text, problem));
                connectors.push(broken(&name, Some(file), reason));
            }
        }
    }
    (connectors, problems)
}

fn remote(file: RemoteFile, description: Description) -> ConnectorSource {
    let RemoteFile { address, headers } = file;
    ConnectorSource::Remote(Box::new(Remote { address, headers, description }))
}

fn broken(name: &str, file: Option<RemoteFile>, reason: String) -> Connector {
    let file = file.unwrap_or_else(RemoteFile::nowhere);
    let source = remote(file, Description::default());
    Connector { name: name.to_owned(), source, broken: Some(reason) }
}

fn in_file(folder: &SourceFolder, path: &str, text: &str, problem: Diagnostic) -> FileDiagnostics {
    FileDiagnostics {
        file: folder.place(path).display().to_string().into(),
        text: text.into(),
        diagnostics: vec![problem],
    }
}

/// What each of them says. A thread of its own waits for them, because nobody knows whether this one serves.
fn describe(settings: &TransportSettings, found: &[Found]) -> Vec<Result<Description, AskError>> {
    if found.is_empty() {
        return Vec::new();
    }
    let asked = thread::scope(|scope| {
        let asking = scope.spawn(|| {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = runtime.map_err(|error| AskError::NotAsked(error.to_string()))?;
            runtime.block_on(async {
                let transport = Transport::new(settings.clone())
                    .map_err(|error| AskError::NotAsked(error.to_string()))?;
                let asking = found.iter().map(|found| async {
                    RemoteClient::new(&transport, &found.file).describe().await
                });
                Ok(join_all(asking).await)
            })
        });
        asking.join().unwrap_or_else(|_| Err(AskError::NotAsked("asking it failed".to_owned())))
    });
    asked.unwrap_or_else(|reason: AskError| found.iter().map(|_| Err(reason.clone())).collect())
}
