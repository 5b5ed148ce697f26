//! A declared API: what `create table` becomes.
//!
//! Source: CON-10 (the verb record), CON-12 (settings).

use std::sync::Arc;

use qlio_data::{
    Text, Value,
    codec::xml::Coerce,
    path::Path,
    template::Template,
    uri_template::{TemplateError, UriTemplate},
};
use qlio_syntax::ast::{ColumnTest, VerbKind};

use super::{Connector, Paging, RemoteSource, ScriptFile};

/// A table, loaded from a file or created by a script.
#[derive(Debug)]
pub struct Table {
    /// The dotted name.
    pub name: Text,
    /// The comments before `create table`, one entry per comment.
    pub docs: Vec<String>,
    /// The file it was declared in; for inline tables the script's name.
    pub file: Arc<str>,
    /// 1-based line of the declaration.
    pub line: u32,
    /// The verbs by [`VerbKind`], in the order select, insert, update, delete.
    verbs: [Option<Verb>; 4],
    /// Why the table cannot be used; using it fails with this reason.
    pub broken: Option<String>,
    /// Created by a script rather than loaded.
    pub is_inline: bool,
}

impl Table {
    /// A table with these verbs.
    pub(crate) fn new(
        name: &str,
        docs: Vec<String>,
        file: Arc<str>,
        line: u32,
        is_inline: bool,
    ) -> Self {
        Self {
            name: name.into(),
            docs,
            file,
            line,
            verbs: [const { None }; 4],
            broken: None,
            is_inline,
        }
    }

    /// The verb for a statement type.
    pub fn verb(&self, kind: VerbKind) -> Option<&Verb> {
        self.verbs[verb_index(kind)].as_ref()
    }

    /// All verbs, in the order select, insert, update, delete.
    pub fn verbs(&self) -> impl Iterator<Item = &Verb> {
        self.verbs.iter().flatten()
    }

    pub(crate) fn set_verb(&mut self, verb: Verb) {
        let index = verb_index(verb.kind);
        self.verbs[index] = Some(verb);
    }
}

fn verb_index(kind: VerbKind) -> usize {
    match kind {
        VerbKind::Select => 0,
        VerbKind::Insert => 1,
        VerbKind::Update => 2,
        VerbKind::Delete => 3,
    }
}

/// One operation of a table.
#[derive(Debug)]
pub struct Verb {
    /// Which statements it serves.
    pub kind: VerbKind,
    /// The HTTP method in lower case; what a custom connector is told to do.
    pub method: String,
    /// The custom connector; `None` for HTTP.
    pub connector: Option<Arc<Connector>>,
    /// What its connector takes, if that is a server of its own.
    pub remote: Option<Arc<RemoteSource>>,
    /// The arguments of a custom connector, in order.
    pub expects: Vec<Expected>,
    /// The URI with the settings filled in.
    pub uri: UriTemplate,
    /// URI, headers and defaults before settings were filled in, without literal credentials, for
    /// descriptions.
    pub written: Written,
    /// Request headers: the name as written and its value.
    pub headers: Vec<(String, Template)>,
    /// The names, in lower case, of those whose values hold settings; nobody prints them.
    pub headers_from_settings: Vec<String>,
    /// Default parameters by flat name.
    pub defaults: Vec<(Text, DefaultValue)>,
    /// The parameter that carries `limit`.
    pub limit_name: Text,
    /// The parameter that carries `offset`.
    pub offset_name: Text,
    /// The upstream is given `limit`, so its answer is not cut again (SEL-23).
    pub takes_limit: bool,
    /// The upstream is given `offset`.
    pub takes_offset: bool,
    /// Which parameters decide which rows are sent, by a column of theirs (TAB-24).
    pub columns: Vec<ColumnParameter>,
    /// How rows come in pages.
    pub paging: Option<Paging>,
    /// The patch.
    pub patch: Option<ScriptFile>,
    /// The request body.
    pub body: Option<Body>,
    /// The auth module.
    pub auth: Option<ScriptFile>,
    /// The steps from the answer's root to the rows.
    pub resultset: Vec<Text>,
    /// Seconds that answers are cached.
    pub expires_seconds: Option<u64>,
    /// The declared format of answers.
    pub format: Option<Format>,
    /// The declared format of request bodies.
    pub request_format: Option<Format>,
    /// How XML text becomes numbers; `None` takes the setting.
    pub xml_coerce: Option<Coerce>,
    /// Paths that are arrays even when single or absent.
    pub xml_arrays: Vec<String>,
    /// The custom transformer.
    pub transformer: Option<ScriptFile>,
    /// The text of `using patch`, for hooks.
    pub patch_name: Option<Text>,
    /// The text of `auth using`, for hooks.
    pub auth_name: Option<Text>,
    /// `no retry`.
    pub is_retry_off: bool,
    /// Failures of the upstream that the client gets as they are, not as 502 (TAB-22).
    pub passed_statuses: Vec<u16>,
    /// Client credentials fetched and sent by the gateway.
    pub oauth2: Option<Oauth2>,
    /// The URI is a gRPC method; both formats are those of its messages.
    pub grpc: Option<Grpc>,
    /// The settings that the request names and that have no value.
    pub missing_settings: Vec<NeededSetting>,
    /// 1-based line of the block.
    pub line: u32,
}

/// The templates of a verb as its author wrote them: descriptions never show values of settings.
#[derive(Debug)]
pub struct Written {
    /// The URI template.
    pub uri: String,
    /// Names and templates of headers.
    pub headers: Vec<(String, Text)>,
    /// Names and values of defaults.
    pub defaults: Vec<(String, Value)>,
}

impl Verb {
    /// Several answers become a list of answers rather than being merged by field.
    pub fn is_block_merge(&self) -> bool {
        self.uri.is_block_merge() || self.foreach().is_some()
    }

    /// The parameter that is sent one element per request.
    pub fn foreach(&self) -> Option<&Text> {
        self.body.as_ref().and_then(|body| body.foreach.as_ref())
    }

    /// Whether the client gets this status of the upstream as it is.
    pub fn passes(&self, status: u16) -> bool {
        self.passed_statuses.contains(&status)
    }

    /// Whether the method carries a body.
    pub fn has_body(&self) -> bool {
        self.connector.is_none()
            && (matches!(self.method.as_str(), "post" | "put" | "delete" | "patch")
                || self.grpc.is_some())
    }
}

/// A parameter of `with columns`: the API sends only rows whose column passes the test with its value.
#[derive(Debug, Clone)]
pub struct ColumnParameter {
    /// The column as written, without quotes.
    pub column: Text,
    /// The path of the column in a row.
    pub path: Path,
    /// What holds between the column, on the left, and the value.
    pub test: ColumnTest,
    /// The parameter.
    pub parameter: Text,
}

/// An argument of `expect`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Its name.
    pub name: Text,
    /// Written with `^`: a statement without it fails.
    pub is_required: bool,
}

/// A default parameter.
#[derive(Debug, Clone)]
pub enum DefaultValue {
    /// Known at load.
    Constant(Value),
    /// Tokens left over, resolved per request; a missing one makes the default absent (CON-22).
    Template(Template),
}

/// The media type of forms.
pub const FORM: &str = "application/x-www-form-urlencoded";

/// Whether a body template is a form, which is written like a URI template: by its type, unless it has
/// tags of the other templates, `{{name}}` or `<%`.
pub fn is_form_template(media_type: &str, content: &str) -> bool {
    let is_tag = |rest: &str| {
        let name = rest.strip_prefix('{').unwrap_or(rest);
        // Tokens of URI templates may stand within each other, but their names are of one piece.
        name.find(['{', '}']).is_some_and(|end| end > 0 && name[end..].starts_with("}}"))
    };
    media_type == FORM && !content.contains("<%") && !content.split("{{").skip(1).any(is_tag)
}

/// A request body made from a template.
#[derive(Debug)]
pub struct Body {
    /// The template's file name as written.
    pub template: String,
    /// The template's text.
    pub content: Arc<str>,
    /// Its media type.
    pub media_type: String,
    /// The form that the template is, or what is wrong with it; `None` for other media types.
    pub form: Option<Result<UriTemplate, TemplateError>>,
    /// One request per element of this parameter.
    pub foreach: Option<Text>,
}

/// A setting that a request cannot do without.
#[derive(Debug, Clone)]
pub struct NeededSetting {
    /// The token that names it, such as `config.shop.api`.
    pub name: Text,
    /// The parameter whose default names it: a statement that gives the parameter can do without.
    pub default: Option<Text>,
}

/// A declared format (FMT-23).
#[derive(Debug, Clone)]
pub struct Format {
    /// Which codec.
    pub kind: FormatKind,
    /// The decoded value is wrapped in an object with this one member.
    pub root: Option<Text>,
    /// The compiled schema of `protobuf`.
    #[cfg(feature = "protobuf")]
    pub protobuf: Option<Arc<ProtobufFormat>>,
}

/// Formats that can be declared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FormatKind {
    /// JSON.
    Json,
    /// XML by the mapping of FMT-14.
    Xml,
    /// CSV; with a header row when `header` is set in the content type.
    Csv,
    /// Text as it is.
    Text,
    /// Protocol Buffers against a schema.
    Protobuf,
    /// `MessagePack`.
    MessagePack,
    /// CBOR.
    Cbor,
}

/// A Protobuf schema with the messages that a verb uses.
#[cfg(feature = "protobuf")]
#[derive(Debug)]
pub struct ProtobufFormat {
    /// The message of successful answers, or of requests.
    pub message: qlio_data::codec::protobuf::Message,
    /// The message of error answers.
    pub error: Option<qlio_data::codec::protobuf::Message>,
    /// Names, mapping, defaults.
    pub options: qlio_data::codec::protobuf::ProtobufOptions,
}

/// A gRPC method (TAB-21).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grpc {
    /// The answer is a list of messages.
    pub is_streaming: bool,
}

/// OAuth 2 client credentials, with the settings filled in.
#[derive(Clone)]
pub struct Oauth2 {
    /// The client's id.
    pub client: String,
    /// The client's secret; `Debug` hides it.
    pub secret: String,
    /// The token endpoint.
    pub token_uri: String,
    /// The scopes asked for.
    pub scope: Option<String>,
}

impl std::fmt::Debug for Oauth2 {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Oauth2")
            .field("client", &self.client)
            .field("token_uri", &self.token_uri)
            .field("scope", &self.scope)
            .finish_non_exhaustive()
    }
}
