//! Who is told how an exchange goes on while it is under way.

use http::{HeaderMap, StatusCode};

use super::{error::ErrorKind, exchange::Timings, headers::Headers};

/// A redirect that is followed: the answer that says so, and the request that it leads to.
#[derive(Debug)]
pub struct Turn<'t> {
    /// The status of the answer.
    pub status: StatusCode,
    /// The headers of the answer.
    pub answer_headers: &'t Headers,
    /// Where the time went until then.
    pub timings: Timings,
    /// The URI of the request that follows.
    pub uri: &'t str,
    /// Its headers.
    pub headers: &'t HeaderMap,
}

/// Follows one exchange. Nothing is told unless the methods are written.
pub trait Watcher {
    /// An attempt begins; if it is not the first, this is how the one before has failed. Nothing that was shown
    /// of a body before belongs to the reply.
    fn on_attempt(&mut self, _failure: Option<&ErrorKind>) {}

    /// A redirect is about to be followed.
    fn on_redirect(&mut self, _turn: &Turn<'_>) {}

    /// Whether the body of the answer, of so many bytes, should be shown while it arrives. Asked once at
    /// most in an attempt, and only of a body that will be part of the reply just as it comes.
    fn wants_body(&mut self, _bytes: u64) -> bool {
        false
    }

    /// The body as far as it has come: each time the same bytes, and more. It is not shown once more when
    /// it is complete.
    fn on_body(&mut self, _beginning: &[u8]) {}
}

/// Nobody.
impl Watcher for () {}
