//! What a run is given and what it answers.

use std::{net::IpAddr, sync::Arc};

use bytes::Bytes;
use qlio_data::{Object, Text, Value};

use crate::trace::TraceContext;

/// Who asks for a run, which decides what it may read and call (SAF-2, SAF-5, SAF-8).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Caller {
    /// A client of a stored route.
    Route,
    /// A client that sent its own script.
    AdHoc {
        /// Inline tables may call private addresses: development mode.
        may_call_private: bool,
    },
    /// The operator's own hand: `qlio run`.
    Operator,
}

/// The client's request, as far as scripts can see it (SCP-10).
#[derive(Debug, Clone, Default)]
pub struct ClientRequest {
    /// Variables that the embedding caller passes; they can be sources.
    pub variables: Object,
    /// Decoded query parameters.
    pub query: Object,
    /// Headers by lower-case name, without those that are never visible (SRV-20).
    pub headers: Object,
    /// The parsed body; absent if there was none.
    pub body: Value,
    /// The body as it came.
    pub raw_body: Bytes,
    /// The body's media type.
    pub content_type: Option<String>,
    /// Route parameters.
    pub route: Object,
    /// The client's address.
    pub remote_address: Option<IpAddr>,
    /// The id that upstream requests are sent with, each with a number of its own behind it; made when the
    /// first one needs it if there is none. Visible ASCII.
    pub request_id: Option<Text>,
    /// Attachments after the first part of a multipart request.
    pub parts: Vec<Part>,
    /// What stands in for the answer of the one upstream that the script calls; then nobody is called.
    pub given: Option<GivenAnswer>,
    /// The trace that the run is part of, if any; hosts of loaded tables are told.
    pub trace: Option<Arc<TraceContext>>,
}

/// An answer that somebody has at hand, to see what a script makes of it.
#[derive(Debug, Clone)]
pub struct GivenAnswer {
    /// Its status, from 200 to 599.
    pub status: u16,
    /// Its media type; without one it is judged as such answers are.
    pub content_type: Option<String>,
    /// Its bytes.
    pub body: Bytes,
}

/// One attachment.
#[derive(Debug, Clone)]
pub struct Part {
    /// The part's name.
    pub name: String,
    /// The file name it was sent with.
    pub file_name: Option<String>,
    /// Its media type.
    pub content_type: Option<String>,
    /// Its bytes.
    pub data: Bytes,
}

/// The answer of a run.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The value of the script; absent prints as `null`.
    pub value: Value,
    /// The status that the route says; 200 without one.
    pub status: u16,
    /// Response headers that the script asked for, in order, names as written.
    pub headers: Vec<(String, String)>,
    /// Things the client should know: partial failures, paths that match nothing.
    pub warnings: Vec<String>,
    /// Answered and attempted exchanges of statements that lost some of them (CON-28).
    pub partial: Option<(usize, usize)>,
    /// The request id, if there were upstream calls: the one they were sent with, or the trail of all ids
    /// that they were answered with (setting `requestId.trail`).
    pub request_id: Option<String>,
}
