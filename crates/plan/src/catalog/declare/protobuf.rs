//! `using format 'protobuf'`: the schema is fetched and compiled, its messages are looked up.
//!
//! Source: FMT-23.

use qlio_data::codec::protobuf::{Mapping, Names, ProtobufOptions, Schema};
use qlio_syntax::{
    ast,
    diagnostic::{Code, codes},
};

use super::{Builder, option};
use crate::catalog::ProtobufFormat;

impl Builder<'_> {
    pub(super) fn protobuf(&mut self, clause: &ast::FormatClause) -> Option<ProtobufFormat> {
        let (Some(message), Some(from)) =
            (option(&clause.options, "message"), option(&clause.options, "from"))
        else {
            let message = "format `protobuf` needs `message '…'` and `from '…'`".to_owned();
            self.error(codes::UNKNOWN_FORMAT, clause.span, message);
            return None;
        };
        let schema = self.load_schema(from)?;
        let mut find = |name: &ast::RawText| {
            let message = schema.message(&name.text);
            if message.is_none() {
                let text = format!("schema `{}` has no message `{}`", from.text, name.text);
                self.error(codes::UNKNOWN_MESSAGE, name.span, text);
            }
            message
        };
        let message = find(message)?;
        let error = match option(&clause.options, "error") {
            Some(name) => Some(find(name)?),
            None => None,
        };
        Some(ProtobufFormat { message, error, options: options(clause) })
    }

    /// The schema of a `from`; that it cannot be loaded is reported.
    pub(super) fn load_schema(&mut self, from: &ast::RawText) -> Option<Schema> {
        match self.schema(&from.text) {
            Ok(schema) => Some(schema),
            Err((code, reason)) => {
                let message = format!("cannot load schema `{}`: {reason}", from.text);
                self.error(code, from.span, message);
                None
            }
        }
    }

    fn schema(&self, name: &str) -> Result<Schema, (Code, String)> {
        let (file, resources) = (self.declaration.file, self.declaration.resources);
        let bytes = resources
            .schema(file, name)
            .map_err(|reason| (codes::MISSING_SCHEMA, reason.to_string()))?;
        let malformed = |reason: String| (codes::BAD_SCHEMA, reason);
        if std::path::Path::new(name).extension().is_some_and(|ending| ending == "proto") {
            let mut import = |path: &str| {
                let folder = name.rsplit_once('/').map_or("", |(folder, _)| folder);
                let beside =
                    if folder.is_empty() { path.to_owned() } else { format!("{folder}/{path}") };
                let bytes = resources.schema(file, &beside).ok()?;
                String::from_utf8(bytes).ok()
            };
            let text =
                String::from_utf8(bytes).map_err(|_| malformed("it is not UTF-8".to_owned()))?;
            Schema::from_proto(name, &text, &mut import)
                .map_err(|error| malformed(error.to_string()))
        } else {
            Schema::from_descriptor_set(&bytes).map_err(|error| malformed(error.to_string()))
        }
    }
}

/// How a clause wants messages mapped.
pub(super) fn options(clause: &ast::FormatClause) -> ProtobufOptions {
    let text_of = |name: &str| option(&clause.options, name).map(|value| value.text.as_str());
    ProtobufOptions {
        mapping: if text_of("mapping") == Some("lowlevel") {
            Mapping::LowLevel
        } else {
            Mapping::Proto3
        },
        names: if text_of("names") == Some("proto") { Names::Proto } else { Names::Json },
        defaults: text_of("defaults") == Some("on"),
    }
}
