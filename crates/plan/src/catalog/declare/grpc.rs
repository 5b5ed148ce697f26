//! `on select grpc to '…'`: the method is looked up in the schema, its messages are the formats.
//!
//! Source: FMT-23.

use std::sync::Arc;

use qlio_data::codec::protobuf::{Message, Method, Schema};
use qlio_syntax::{ast, diagnostic::codes};

use super::{Builder, Call, option};
use crate::catalog::{Format, FormatKind, Grpc, ProtobufFormat};

/// Methods that an error message names.
const SHOWN_MAX: usize = 10;

impl Builder<'_> {
    /// The method behind a URI with its settings filled in.
    pub(super) fn grpc(&mut self, verb: &ast::Verb, uri: &str) -> Option<Call> {
        let Some(clause) = &verb.format else {
            let message = "gRPC needs `using format 'protobuf' from '…'`".to_owned();
            self.error(codes::BAD_RPC, verb.method.span, message);
            return None;
        };
        let from = option(&clause.options, "from").filter(|_| clause.format.text == "protobuf");
        let Some(from) = from else {
            let message = "gRPC needs `format 'protobuf'` with `from '…'`".to_owned();
            self.error(codes::BAD_RPC, clause.span, message);
            return None;
        };
        if let Some(clause) = &verb.request_format {
            let message = "the request of a gRPC call has the format of its method".to_owned();
            self.error(codes::BAD_RPC, clause.span, message);
            return None;
        }
        let Some(path) = method_path(uri) else {
            let message = "the URI of a gRPC method is `grpc://host:port/package.Service/Method`, \
                           or `grpcs://…` over TLS"
                .to_owned();
            self.error(codes::BAD_RPC, verb.uri.span, message);
            return None;
        };
        let schema = self.load_schema(from)?;
        let Some(method) = schema.method(path) else {
            let message = unknown(&schema, &from.text, path);
            self.error(codes::BAD_RPC, verb.uri.span, message);
            return None;
        };
        if method.is_client_streaming {
            let message = format!("`{path}` is client streaming, which is not supported");
            self.error(codes::BAD_RPC, verb.uri.span, message);
            return None;
        }
        Some(self.call(clause, &schema, method))
    }

    fn call(&mut self, clause: &ast::FormatClause, schema: &Schema, method: Method) -> Call {
        let Method { input, output, is_server_streaming, .. } = method;
        if let Some(name) = option(&clause.options, "message")
            && schema
                .message(&name.text)
                .is_none_or(|named| named.full_name() != output.full_name())
        {
            let message =
                format!("the method answers with `{}`, not `{}`", output.full_name(), name.text);
            self.error(codes::BAD_RPC, name.span, message);
        }
        let options = super::protobuf::options(clause);
        let format = |message: Message| Format {
            kind: FormatKind::Protobuf,
            root: None,
            protobuf: Some(Arc::new(ProtobufFormat { message, error: None, options })),
        };
        let root = option(&clause.options, "root").map(|text| text.text.as_str().into());
        Call {
            grpc: Grpc { is_streaming: is_server_streaming },
            request: Some(format(input)),
            answer: Some(Format { root, ..format(output) }),
        }
    }
}

/// `package.Service/Method` of a gRPC URI.
fn method_path(uri: &str) -> Option<&str> {
    let rest = uri.strip_prefix("grpc://").or_else(|| uri.strip_prefix("grpcs://"))?;
    let (host, path) = rest.split_once('/')?;
    let (service, method) = path.split_once('/')?;
    let is_name = |text: &str| !text.is_empty() && !text.contains(['/', '?', '#', '{']);
    (!host.is_empty() && is_name(service) && is_name(method)).then_some(path)
}

fn unknown(schema: &Schema, file: &str, path: &str) -> String {
    let methods = schema.methods();
    let (service, method) = path.split_once('/').unwrap_or((path, ""));
    let is_of_service = |known: &str| known.split_once('/').is_some_and(|(s, _)| s == service);
    if methods.iter().any(|known| is_of_service(known)) {
        let own = methods.iter().filter(|known| is_of_service(known));
        let names: Vec<String> = own
            .filter_map(|known| known.split_once('/'))
            .take(SHOWN_MAX)
            .map(|(_, name)| format!("`{name}`"))
            .collect();
        return format!("service `{service}` has no method `{method}`, but {}", names.join(", "));
    }
    let mut services: Vec<&str> =
        methods.iter().filter_map(|known| known.split_once('/')).map(|(s, _)| s).collect();
    services.dedup();
    let names: Vec<String> =
        services.iter().take(SHOWN_MAX).map(|name| format!("`{name}`")).collect();
    if names.is_empty() {
        return format!("schema `{file}` has no service at all");
    }
    format!("schema `{file}` has no service `{service}`, but {}", names.join(", "))
}
