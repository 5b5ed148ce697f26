//! The hooks of a patch: their names, what each gets and what each gives back
//! (HOK-1).

use bytes::Bytes;
use qlio_data::{Object, Text, Value};

use super::lazy::Lazy;

/// A hook that a patch may export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Hook {
    /// `validate param`
    ValidateParam,
    /// `patch uri`
    PatchUri,
    /// `patch headers`
    PatchHeaders,
    /// `body template`
    BodyTemplate,
    /// `patch body`
    PatchBody,
    /// `compute key`
    ComputeKey,
    /// `parse response`
    ParseResponse,
    /// `patch mediaType`
    PatchMediaType,
    /// `patch status`
    PatchStatus,
    /// `patch response`
    PatchResponse,
}

impl Hook {
    /// All hooks, in the order in which a statement calls them.
    pub const ALL: [Self; 10] = [
        Self::ValidateParam,
        Self::PatchUri,
        Self::PatchHeaders,
        Self::BodyTemplate,
        Self::PatchBody,
        Self::ComputeKey,
        Self::ParseResponse,
        Self::PatchMediaType,
        Self::PatchStatus,
        Self::PatchResponse,
    ];

    /// The name under which a patch exports it.
    pub fn name(self) -> &'static str {
        match self {
            Self::ValidateParam => "validate param",
            Self::PatchUri => "patch uri",
            Self::PatchHeaders => "patch headers",
            Self::BodyTemplate => "body template",
            Self::PatchBody => "patch body",
            Self::ComputeKey => "compute key",
            Self::ParseResponse => "parse response",
            Self::PatchMediaType => "patch mediaType",
            Self::PatchStatus => "patch status",
            Self::PatchResponse => "patch response",
        }
    }

    /// The hook of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|hook| hook.name() == name)
    }
}

/// Content of a request body or of a parsed response.
#[derive(Debug, Clone)]
pub enum Content {
    /// Text.
    Text(Text),
    /// Bytes (a `Buffer`).
    Bytes(Bytes),
}

/// A request body with its media type.
#[derive(Debug, Clone, Default)]
pub struct Payload {
    /// The content, if there is any.
    pub content: Option<Content>,
    /// The media type, if one is known.
    pub media_type: Option<Text>,
}

/// What a hook gets beside `statement`, `params` and `log`. URIs are text; hooks see a mutable URI
/// where HOK-1 marks one. Header names are the caller's; values are text or lists.
#[derive(Debug, Clone, Copy)]
pub enum HookArgs<'a> {
    /// All visible names with their values; the hook is called once for each.
    ValidateParam {
        /// The names and values, `config` left out.
        params: &'a Object,
    },
    /// One expanded URI.
    PatchUri {
        /// The URI.
        uri: &'a str,
    },
    /// The headers of one task.
    PatchHeaders {
        /// The URI.
        uri: &'a str,
        /// The headers so far.
        headers: &'a Lazy,
    },
    /// Before the body is rendered.
    BodyTemplate {
        /// The URI.
        uri: &'a str,
        /// The headers so far.
        headers: &'a Lazy,
    },
    /// After the body is rendered.
    PatchBody {
        /// The URI.
        uri: &'a str,
        /// The headers so far.
        headers: &'a Lazy,
        /// The rendered body.
        body: &'a Payload,
    },
    /// For cached verbs.
    ComputeKey {
        /// The table's name.
        table: &'a str,
        /// The HTTP method.
        method: &'a str,
        /// The URI; the hook sees text.
        uri: &'a str,
        /// The body's text.
        body: Option<&'a str>,
        /// The headers to be sent.
        headers: &'a Lazy,
        /// The name of the request-id header.
        request_id_name: &'a str,
    },
    /// The whole decompressed body.
    ParseResponse {
        /// The URI.
        uri: &'a str,
        /// The upstream status.
        status: u16,
        /// The response's headers.
        headers: &'a Lazy,
        /// The body.
        body: &'a Bytes,
    },
    /// Before a decoder is chosen.
    PatchMediaType {
        /// The URI; the hook sees text.
        uri: &'a str,
        /// The upstream status.
        status: u16,
        /// The response's headers.
        headers: &'a Lazy,
        /// The body's text.
        body: &'a Lazy,
    },
    /// Before decoding, unless the hook looks at the body.
    PatchStatus {
        /// The URI.
        uri: &'a str,
        /// The upstream status.
        status: u16,
        /// The response's headers.
        headers: &'a Lazy,
        /// The decoded body.
        body: &'a Lazy,
    },
    /// After decoding, for a successful status.
    PatchResponse {
        /// The URI.
        uri: &'a str,
        /// The patched status.
        status: u16,
        /// The response's headers.
        headers: &'a Lazy,
        /// The decoded body.
        body: &'a Lazy,
    },
}

impl HookArgs<'_> {
    /// The hook that these arguments are for.
    pub fn hook(&self) -> Hook {
        match self {
            Self::ValidateParam { .. } => Hook::ValidateParam,
            Self::PatchUri { .. } => Hook::PatchUri,
            Self::PatchHeaders { .. } => Hook::PatchHeaders,
            Self::BodyTemplate { .. } => Hook::BodyTemplate,
            Self::PatchBody { .. } => Hook::PatchBody,
            Self::ComputeKey { .. } => Hook::ComputeKey,
            Self::ParseResponse { .. } => Hook::ParseResponse,
            Self::PatchMediaType { .. } => Hook::PatchMediaType,
            Self::PatchStatus { .. } => Hook::PatchStatus,
            Self::PatchResponse { .. } => Hook::PatchResponse,
        }
    }
}

/// What `parse response` gave.
#[derive(Debug, Clone)]
pub enum Parsed {
    /// Nothing: the default decoding applies.
    Unchanged,
    /// Content to decode, with a media type that replaces the header's.
    Content {
        /// The content.
        content: Content,
        /// The new media type.
        media_type: Option<Text>,
    },
    /// The decoded value itself.
    Value(Value),
}

/// What a hook made of headers; values are text or lists of text.
#[derive(Debug, Clone)]
pub enum HeaderChange {
    /// It did not touch them.
    None,
    /// It wrote these, by name, and looked at no others, which stay.
    Some(Vec<(String, String)>),
    /// These are all.
    All(Object),
}

/// What a hook gave, falsy results already read as their meaning.
#[derive(Debug, Clone)]
pub enum HookResult {
    /// `validate param`: the first name that is refused, with its value.
    Refused(Option<(Text, Value)>),
    /// `patch uri`: the URIs to request, normalised; none drops the URI.
    Uris {
        /// In the order of the requests.
        uris: Vec<String>,
        /// The hook gave a list, of whatever length.
        is_list: bool,
    },
    /// `patch headers`.
    Headers(HeaderChange),
    /// `body template` and `patch body`.
    Body {
        /// The new template or payload; `None` keeps what there was.
        payload: Option<Payload>,
        /// What it made of the headers.
        headers: HeaderChange,
    },
    /// `compute key`: `None` means do not cache.
    Key(Option<String>),
    /// `parse response`.
    Parsed(Parsed),
    /// `patch mediaType`: `None` keeps the header's.
    MediaType(Option<String>),
    /// `patch status`: `None` keeps the upstream's.
    Status(Option<i64>),
    /// `patch response`: the new body as it is, absent included.
    Response(Value),
}
