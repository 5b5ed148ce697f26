//! The nodes that declare something: tables with their verbs, and routes.
//!
//! Source: GRM-8, GRM-9.

use super::{Count, Ident, Name, Operand, PagingClause, Path, RawText};
use crate::source::Span;

/// The methods of the http connector.
pub const HTTP_METHODS: &[&str] = &["get", "post", "put", "delete", "patch"];

/// `create table name via connector on select get from '…' …`.
#[derive(Debug, Clone, PartialEq)]
pub struct Create {
    /// The table's name.
    pub name: Name,
    /// `via connector`.
    pub connector: Option<Ident>,
    /// The `on …` blocks.
    pub verbs: Vec<Verb>,
    /// From `create` to the end.
    pub span: Span,
}

/// The statement type that a verb serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VerbKind {
    /// `on select`.
    Select,
    /// `on insert`.
    Insert,
    /// `on update`.
    Update,
    /// `on delete`.
    Delete,
}

impl VerbKind {
    /// The keyword.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Select => "select",
            Self::Insert => "insert",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// One `on <type> <method> '<uri>' …` block.
#[derive(Debug, Clone, PartialEq)]
pub struct Verb {
    /// Which statements it serves.
    pub kind: VerbKind,
    /// `get`, `post`, …, or the word after `do`.
    pub method: Ident,
    /// Written as `do X at '…'`.
    pub is_do: bool,
    /// The URI template.
    pub uri: RawText,
    /// `with aliases`.
    pub aliases: Vec<NameValue>,
    /// `with columns`.
    pub columns: Vec<ColumnParameter>,
    /// `using headers`.
    pub headers: Vec<NameValue>,
    /// `expect ^a, b`.
    pub expect: Vec<Expected>,
    /// `using defaults`.
    pub defaults: Vec<NameValue>,
    /// `using patch 'file'`.
    pub patch: Option<RawText>,
    /// `using bodyTemplate 'file' type 'media/type' foreach 'name'`.
    pub body: Option<BodyTemplate>,
    /// `auth using 'module'` or `authenticate using 'module'`.
    pub auth: Option<RawText>,
    /// `resultset 'a.b'`.
    pub resultset: Option<RawText>,
    /// `expires seconds`.
    pub expires: Option<Count>,
    /// `using format '…' …` (FMT-23).
    pub format: Option<FormatClause>,
    /// `using request format '…' …`.
    pub request_format: Option<FormatClause>,
    /// `using xml coerce 'safe'` (FMT-17).
    pub xml_coerce: Option<RawText>,
    /// `using xml arrays 'a.b', …`.
    pub xml_arrays: Vec<RawText>,
    /// `using transformer 'file.js'` (FMT-11).
    pub transformer: Option<RawText>,
    /// `paging upstream`: the answer is not sliced again (TAB-18).
    pub is_paged_upstream: bool,
    /// `paginate by …` (PAG-1).
    pub paging: Option<PagingClause>,
    /// `no retry` (UPS-9).
    pub is_retry_off: bool,
    /// `pass status 404, 409`: failures of the upstream that become the client's.
    pub passed_statuses: Vec<Count>,
    /// `using oauth2 client 'id' secret '…' token '<uri>' [scope '…']`: a bearer token fetched and
    /// kept by the gateway.
    pub oauth2: Option<Oauth2Clause>,
    /// The whole block.
    pub span: Span,
}

/// `created_at >= 'since'` of `with columns`: a parameter that decides which rows an API sends, by this
/// column of theirs (TAB-24).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnParameter {
    /// The column.
    pub path: Path,
    /// What the API promises of it.
    pub test: ColumnTest,
    /// The name of the parameter.
    pub parameter: RawText,
}

/// How the column of a row relates to the parameter of the request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ColumnTest {
    /// `=`.
    Equals,
    /// `>=`.
    GreaterOrEqual,
    /// `<=`.
    LessOrEqual,
    /// `>`.
    Greater,
    /// `<`.
    Less,
    /// `like`.
    Like,
}

impl ColumnTest {
    /// All of them; symbols that begin with another one stand before it.
    pub const ALL: [Self; 6] = [
        Self::GreaterOrEqual,
        Self::LessOrEqual,
        Self::Greater,
        Self::Less,
        Self::Equals,
        Self::Like,
    ];

    /// As it is written.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equals => "=",
            Self::GreaterOrEqual => ">=",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::Less => "<",
            Self::Like => "like",
        }
    }
}

/// `using bodyTemplate`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BodyTemplate {
    /// The template's file name.
    pub template: RawText,
    /// The media type.
    pub media_type: RawText,
    /// One request per element of this parameter.
    pub foreach: Option<RawText>,
}

/// A declared data format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatClause {
    /// `json`, `xml`, `csv`, `text`, `protobuf`, `msgpack`, `cbor`.
    pub format: RawText,
    /// Options in the order written: `message`, `from`, `root`, `error`, `mapping`, `names` take
    /// quoted text; `defaults` takes `on` or `off`.
    pub options: Vec<FormatOption>,
    /// The whole clause.
    pub span: Span,
}

/// One `keyword 'text'` pair of a [`FormatClause`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FormatOption {
    /// The keyword.
    pub name: Ident,
    /// Its value; for `defaults` the word `on` or `off`.
    pub value: RawText,
}

/// The declarative OAuth 2 client-credentials clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Oauth2Clause {
    /// Options in the order written: `client`, `secret`, `token`, `scope`.
    pub options: Vec<FormatOption>,
    /// The whole clause.
    pub span: Span,
}

/// One name of an `expect` clause.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// The argument's name.
    pub name: Ident,
    /// Written with `^`.
    pub is_required: bool,
}

/// `name = value` of aliases, headers and defaults. Names may be dotted or quoted; they are flat keys.
#[derive(Debug, Clone, PartialEq)]
pub struct NameValue {
    /// The key.
    pub name: RawText,
    /// The key was quoted.
    pub is_quoted: bool,
    /// The value; a path on the right is literal text and arrives as [`OperandKind::Path`].
    pub value: Operand,
}

/// What one run may use no more of than so much (SAF-25).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RunLimit {
    /// MiB of memory.
    Memory,
    /// Milliseconds of processor time.
    Cpu,
    /// Rows.
    Rows,
    /// Pairs of rows.
    Pairs,
    /// Upstream requests.
    Requests,
    /// MiB that upstreams send.
    Upstream,
}

impl RunLimit {
    /// All of them, in the order of their names.
    pub const ALL: [Self; 6] =
        [Self::Memory, Self::Cpu, Self::Rows, Self::Pairs, Self::Requests, Self::Upstream];

    /// Their names in routes and settings.
    pub const NAMES: [&'static str; 6] =
        ["memoryMiB", "cpuMs", "rows", "pairs", "requests", "upstreamMiB"];

    /// Its name in routes and settings.
    pub fn name(self) -> &'static str {
        Self::NAMES[self as usize]
    }
}

/// One of `using limits rows = 100, requests = 5`.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteLimit {
    /// What is limited.
    pub limit: RunLimit,
    /// How much there is of it.
    pub most: Count,
    /// The name.
    pub span: Span,
}

/// `via route '…' with optional params using defaults … using method m using status s using headers …
/// using deadline d using limits l = n`.
#[derive(Debug, Clone, PartialEq)]
pub struct RouteClause {
    /// Path and query template.
    pub path: RawText,
    /// `with optional params`.
    pub has_optional_params: bool,
    /// `using defaults`, keyed by token name.
    pub defaults: Vec<NameValue>,
    /// `get`, `post`, `put`, `delete`, `patch`.
    pub method: Ident,
    /// `using status`.
    pub status: Option<RouteStatus>,
    /// `using headers`.
    pub headers: Vec<NameValue>,
    /// `using deadline`, in milliseconds.
    pub deadline: Option<Count>,
    /// `using limits`.
    pub limits: Vec<RouteLimit>,
    /// The whole clause.
    pub span: Span,
}

impl RouteClause {
    /// The defaults by the names of their tokens, which may carry the mark that they have in the path.
    pub fn default_values(&self) -> impl Iterator<Item = (&str, &NameValue)> {
        self.defaults.iter().map(|pair| {
            let written = pair.name.text.as_str();
            (written.strip_prefix('^').unwrap_or(written), pair)
        })
    }
}

/// The status that a route answers with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteStatus {
    /// A number.
    Number(Count),
    /// A text, tokens kept as written.
    Text(RawText),
}

impl RouteStatus {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Number(count) => count.span,
            Self::Text(text) => text.span,
        }
    }
}
