//! The trace that a request says it is part of (W3C Trace Context, level 1).
//!
//! What breaks a rule of the specification is no trace: the request is then the first of its own.

use hyper::{HeaderMap, header::HeaderValue};
use qlio_engine::trace::{PARENT_BYTES, TRACEPARENT, TRACESTATE, TraceContext, number_of};

/// Bytes of `tracestate` that go on; the specification asks for 512 at least.
const STATE_BYTES_MAX: usize = 512;

/// Reads the headers of a request.
pub(super) fn of_headers(headers: &HeaderMap) -> Option<TraceContext> {
    let mut parents = headers.get_all(TRACEPARENT).iter();
    let (parent, None) = (parents.next()?, parents.next()) else { return None };
    let (trace_id, span_id, is_sampled) = read_parent(parent.as_bytes())?;
    Some(TraceContext { trace_id, span_id, is_sampled, state: read_state(headers) })
}

/// `00-<trace id>-<span id>-<flags>`, and behind it in later versions more.
fn read_parent(text: &[u8]) -> Option<(u128, u64, bool)> {
    let (text, more) = text.split_first_chunk::<PARENT_BYTES>()?;
    if [text[2], text[35], text[52]] != [b'-'; 3] {
        return None;
    }
    let version = read_two(text, 0)?;
    let has_more = !more.is_empty();
    if version == 0xff || has_more && (version == 0 || more[0] != b'-') {
        return None;
    }
    let trace_id = u128::from(read_sixteen(text, 3)?) << 64 | u128::from(read_sixteen(text, 19)?);
    let (span_id, flags) = (read_sixteen(text, 36)?, read_two(text, 53)?);
    (trace_id != 0 && span_id != 0).then_some((trace_id, span_id, flags & 1 == 1))
}

/// A number in sixteen digits.
fn read_sixteen(text: &[u8; PARENT_BYTES], at: usize) -> Option<u64> {
    let mut digits = [b'0'; 16];
    digits.copy_from_slice(&text[at..at + 16]);
    number_of(digits)
}

/// A number in two digits.
fn read_two(text: &[u8; PARENT_BYTES], at: usize) -> Option<u64> {
    let mut digits = [b'0'; 16];
    digits[14..].copy_from_slice(&text[at..at + 2]);
    number_of(digits)
}

/// All lines of it as one; nothing if that is too long or no text.
fn read_state(headers: &HeaderMap) -> Option<HeaderValue> {
    let lines = headers.get_all(TRACESTATE);
    let mut one_by_one = lines.iter();
    if let (Some(only), None) = (one_by_one.next(), one_by_one.next()) {
        let is_fit = (1..=STATE_BYTES_MAX).contains(&only.len()) && only.to_str().is_ok();
        return is_fit.then(|| only.clone());
    }
    let mut whole = String::new();
    for line in lines {
        if !whole.is_empty() {
            whole.push(',');
        }
        whole.push_str(line.to_str().ok()?);
        if whole.len() > STATE_BYTES_MAX {
            return None;
        }
    }
    if whole.is_empty() { None } else { HeaderValue::try_from(whole).ok() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn headers(parents: &[&str], states: &[&str]) -> HeaderMap {
        let value = |text: &&str| HeaderValue::from_str(text).expect("a value");
        let parents = parents.iter().map(|text| (TRACEPARENT, value(text)));
        let mut headers = HeaderMap::new();
        for (name, value) in parents.chain(states.iter().map(|text| (TRACESTATE, value(text)))) {
            headers.append(name, value);
        }
        headers
    }

    #[test]
    fn a_trace_is_read() {
        let read = of_headers(&headers(&[PARENT], &["a=1", "b=2"])).expect("a trace");
        assert_eq!(read.trace_id, 0x0af7_6519_16cd_43dd_8448_eb21_1c80_319c);
        assert_eq!((read.span_id, read.is_sampled), (0xb7ad_6b71_6920_3331, true));
        assert_eq!(read.state, Some(HeaderValue::from_static("a=1,b=2")));
        let later = format!("cc{}-more", &PARENT[2..]);
        assert!(of_headers(&headers(&[&later], &[])).is_some(), "a later version");
        let long = "x".repeat(STATE_BYTES_MAX + 1);
        let read = of_headers(&headers(&[PARENT], &[&long])).expect("a trace");
        assert_eq!(read.state, None);
    }

    #[test]
    fn what_breaks_the_rules_is_no_trace() {
        let zeros = "00-00000000000000000000000000000000-b7ad6b7169203331-01";
        let no_span = "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01";
        let more = format!("{PARENT}-more");
        let version = format!("ff{}", &PARENT[2..]);
        let capitals = PARENT.to_uppercase();
        for text in [zeros, no_span, &more, &version, &capitals, "", "00", &PARENT[..54]] {
            assert_eq!(of_headers(&headers(&[text], &[])), None, "{text}");
        }
        assert_eq!(of_headers(&headers(&[PARENT, PARENT], &[])), None, "twice");
        assert_eq!(of_headers(&HeaderMap::new()), None);
    }

    proptest! {
        #[test]
        fn any_text_is_a_trace_or_none(text in "[ -~]{0,80}") {
            if let Some(read) = of_headers(&headers(&[&text], &[])) {
                prop_assert!(read.trace_id != 0 && read.span_id != 0);
            }
        }
    }
}
