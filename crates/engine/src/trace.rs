//! The place of a run in a trace that other servers are part of, too (W3C Trace Context).
//!
//! In: what the host knows of the trace. Out: the headers with which calls of loaded tables are sent. Each request of
//! a call has an id of its own, so that what the upstream records stands below that request.

mod digits;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http::{HeaderName, HeaderValue};

pub use digits::{digits_of, number_of};

/// The header that names the trace and the caller.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What tracing systems add to it.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

/// Bytes of a `traceparent`.
pub const PARENT_BYTES: usize = 55;

/// The trace that a run is part of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext {
    /// Names the trace; not 0.
    pub trace_id: u128,
    /// Names what the run does for its client; not 0.
    pub span_id: u64,
    /// The run is recorded.
    pub is_sampled: bool,
    /// What tracing systems have sent along; goes on as it came.
    pub state: Option<HeaderValue>,
}

impl TraceContext {
    /// The trace's name as logs and headers write it.
    pub fn trace_id_digits(&self) -> [u8; 32] {
        let [high, low] = [(self.trace_id >> 64) as u64, self.trace_id as u64].map(digits_of);
        let mut digits = [b'0'; 32];
        digits[..16].copy_from_slice(&high);
        digits[16..].copy_from_slice(&low);
        digits
    }
}

/// A name for a trace that begins.
pub fn new_trace_id() -> u128 {
    u128::from(fastrand::u64(..)) << 64 | u128::from(fastrand::u64(1..))
}

/// A name for a span that begins.
pub fn new_span_id() -> u64 {
    fastrand::u64(1..)
}

/// One call of a run in its trace.
#[derive(Debug, Clone)]
pub struct CallTrace {
    context: Arc<TraceContext>,
    /// Names the request that is being made, if it is recorded. What nobody records is the run as a whole.
    request: Option<Arc<AtomicU64>>,
}

impl CallTrace {
    /// A call of this run.
    pub(crate) fn new(context: &Arc<TraceContext>) -> Self {
        let request = context.is_sampled.then(|| Arc::new(AtomicU64::new(context.span_id)));
        Self { context: Arc::clone(context), request }
    }

    /// Names the request that is about to be made, and is told to whoever records it.
    pub(crate) fn begin_request(&self) -> u64 {
        if let Some(request) = &self.request {
            request.store(new_span_id(), Ordering::Relaxed);
        }
        self.span_id()
    }

    fn span_id(&self) -> u64 {
        let request = self.request.as_ref();
        request.map_or(self.context.span_id, |request| request.load(Ordering::Relaxed))
    }

    /// `traceparent` of the request that is being made.
    pub(crate) fn parent(&self) -> [u8; PARENT_BYTES] {
        let mut text = *b"00-________________________________-________________-00";
        text[3..35].copy_from_slice(&self.context.trace_id_digits());
        text[36..52].copy_from_slice(&digits_of(self.span_id()));
        text[54] += u8::from(self.context.is_sampled);
        text
    }

    /// `tracestate`, as the client has sent it.
    pub(crate) fn state(&self) -> Option<&HeaderValue> {
        self.context.state.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn context(is_sampled: bool) -> Arc<TraceContext> {
        let state = Some(HeaderValue::from_static("a=1"));
        Arc::new(TraceContext { trace_id: 0xabc, span_id: 7, is_sampled, state })
    }

    #[test]
    fn each_request_of_a_recorded_run_has_an_id_of_its_own() {
        let call = CallTrace::new(&context(true));
        let ids = [call.begin_request(), call.begin_request()];
        assert_ne!(ids[0], ids[1]);
        let expected = format!("00-00000000000000000000000000000abc-{:016x}-01", ids[1]);
        assert_eq!(call.parent(), expected.as_bytes());
    }

    #[test]
    fn names_have_all_their_digits() {
        assert_eq!(&context(true).trace_id_digits(), b"00000000000000000000000000000abc");
    }

    #[test]
    fn what_nobody_records_is_the_run_itself() {
        let call = CallTrace::new(&context(false));
        assert_eq!(call.begin_request(), 7);
        assert_eq!(&call.parent(), b"00-00000000000000000000000000000abc-0000000000000007-00");
        assert_eq!(call.state().map(HeaderValue::as_bytes), Some(&b"a=1"[..]));
    }
}
