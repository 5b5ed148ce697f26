//! The place of a run in a trace that other servers are part of, too (W3C Trace Context).
//!
//! In: what the host knows of the trace. Out: the headers with which calls of loaded tables are sent. Each request of
//! a call has an id of its own, so that what the upstream records stands below that request.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use http::{HeaderName, HeaderValue};
use qlio_data::Text;

/// The header that names the trace and the caller.
pub const TRACEPARENT: HeaderName = HeaderName::from_static("traceparent");
/// What tracing systems add to it.
pub const TRACESTATE: HeaderName = HeaderName::from_static("tracestate");

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
    /// The trace's name as logs and headers write it: 32 digits.
    pub fn trace_id_text(&self) -> Text {
        digits_of(&self.trace_id.to_be_bytes())
    }
}

/// The name of a span as logs and headers write it: 16 digits.
pub fn span_id_text(span_id: u64) -> Text {
    digits_of(&span_id.to_be_bytes())
}

/// Bytes of a `traceparent`.
const PARENT_BYTES: usize = 55;

/// One call of a run in its trace.
#[derive(Debug)]
pub struct CallTrace {
    context: Arc<TraceContext>,
    /// Names the request that is being made. What nobody records is the run as a whole.
    span_id: AtomicU64,
}

impl CallTrace {
    /// A call of this run.
    pub(crate) fn new(context: &Arc<TraceContext>) -> Self {
        Self { context: Arc::clone(context), span_id: AtomicU64::new(context.span_id) }
    }

    /// Names the request that is about to be made, and is told to whoever records it.
    pub(crate) fn begin_request(&self) -> u64 {
        if self.context.is_sampled {
            self.span_id.store(fastrand::u64(1..), Ordering::Relaxed);
        }
        self.span_id.load(Ordering::Relaxed)
    }

    /// `traceparent` of the request that is being made; requests that nobody records pay for it, too, so it is
    /// written without `format!`.
    pub(crate) fn parent(&self) -> [u8; PARENT_BYTES] {
        let TraceContext { trace_id, is_sampled, .. } = &*self.context;
        let mut text = *b"00-________________________________-________________-__";
        put_hex(&mut text[3..35], &trace_id.to_be_bytes());
        put_hex(&mut text[36..52], &self.span_id.load(Ordering::Relaxed).to_be_bytes());
        put_hex(&mut text[53..], &[u8::from(*is_sampled)]);
        text
    }

    /// `tracestate`, as the client has sent it.
    pub(crate) fn state(&self) -> Option<&HeaderValue> {
        self.context.state.as_ref()
    }
}

/// Without `format!`, as each line of a log pays for it.
fn digits_of(bytes: &[u8]) -> Text {
    let mut digits = [b'0'; 32];
    let digits = &mut digits[..bytes.len() * 2];
    put_hex(digits, bytes);
    Text::from(str::from_utf8(digits).unwrap_or_default())
}

/// Two digits for each byte.
fn put_hex(digits: &mut [u8], bytes: &[u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (pair, byte) in digits.chunks_exact_mut(2).zip(bytes) {
        pair[0] = DIGITS[usize::from(byte >> 4)];
        pair[1] = DIGITS[usize::from(byte & 15)];
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
        assert_eq!(&*context(true).trace_id_text(), "00000000000000000000000000000abc");
        assert_eq!(&*span_id_text(0x00f0_0000_0000_0001), "00f0000000000001");
    }

    #[test]
    fn what_nobody_records_is_the_run_itself() {
        let call = CallTrace::new(&context(false));
        assert_eq!(call.begin_request(), 7);
        assert_eq!(&call.parent(), b"00-00000000000000000000000000000abc-0000000000000007-00");
        assert_eq!(call.state().map(HeaderValue::as_bytes), Some(&b"a=1"[..]));
    }
}
