//! Connectors out of process: where they are (PRO-1), and what they have said of themselves
//! ([`description`]).
//!
//! In: the file that names a connector. Out: its address, checked. Nothing here asks anybody.

mod description;

use std::{path::Path as FilePath, sync::Arc};

use qlio_data::{Value, codec::json};
use qlio_syntax::source::Span;

pub use description::{
    ColumnKind, Description, DescriptionError, PROTOCOL, RemoteColumn, RemoteParameter,
    RemoteSource, RemoteVerb, test_parameter,
};

use super::settings::fill_settings;

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
