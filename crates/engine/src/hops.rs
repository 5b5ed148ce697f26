//! How many servers like this one a request has passed, so that routes that call each other come to an end
//! (SAF-42).
//!
//! In: the header `qlio-hops` of the client's request. Out: the one that requests of its run are sent with,
//! one more. Neither tables nor hooks nor scripts can set it. An answer that says that the chain was too long
//! says so to all servers of the chain.

use http::{HeaderName, HeaderValue, StatusCode};
use qlio_data::Object;
use qlio_syntax::diagnostic::codes;

use crate::error::{Fact, RunError};

/// The header, in requests a number, in answers [`EXCEEDED`].
pub(crate) const HOPS: HeaderName = HeaderName::from_static(HOPS_NAME);

/// The name of the header.
pub const HOPS_NAME: &str = "qlio-hops";

/// What an answer has in the header if the chain was too long.
pub const EXCEEDED: &str = "exceeded";

/// The servers that a request has passed. What is no number counts as none: whoever can send that could have
/// sent nothing at all.
pub(crate) fn passed(headers: &Object) -> u64 {
    let Some(value) = headers.get(HOPS_NAME) else { return 0 };
    let text = value.as_str().unwrap_or_default();
    let numbers = text
        .split(',')
        .map(str::trim)
        .filter(|text| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()));
    // Too large a number is a large number.
    numbers.map(|text| text.parse().unwrap_or(u64::MAX)).max().unwrap_or_default()
}

/// The header of requests on behalf of one that has passed so many servers.
pub(crate) fn next(passed: u64) -> HeaderValue {
    match passed {
        0 => HeaderValue::from_static("1"),
        passed => HeaderValue::from(passed.saturating_add(1)),
    }
}

/// Refuses a request that has passed too many servers.
pub(crate) fn check(passed: u64, limit: u64) -> Result<(), RunError> {
    if passed <= limit {
        return Ok(());
    }
    let message = format!(
        "the request has passed {passed} servers of this kind, more than maxHops = {limit}: routes call each \
         other, or themselves, in a circle; break it, or raise the setting"
    );
    let error = RunError::client(codes::TOO_MANY_HOPS, message);
    Err(error.with(Fact::Limit(limit)).with(Fact::Asked(passed)))
}

/// The error of a statement whose upstream has found the chain too long.
pub(crate) fn refused(status: StatusCode, header: Option<&[u8]>, limit: u64) -> Option<RunError> {
    let is_refused = status == StatusCode::LOOP_DETECTED
        && header.is_some_and(|header| header == EXCEEDED.as_bytes());
    is_refused.then(|| {
        let message = format!(
            "the upstream leads back to servers of this kind more often than maxHops = {limit} allows: \
             routes call each other, or themselves, in a circle; break it, or raise the setting"
        );
        RunError::client(codes::TOO_MANY_HOPS, message).with(Fact::Limit(limit))
    })
}

#[cfg(test)]
mod tests {
    use qlio_data::Value;

    use super::*;

    #[test]
    fn numbers_count_and_nothing_else_does() {
        for (text, expected) in [
            ("0", 0),
            ("3", 3),
            (" 3 ", 3),
            ("1, 4, 2", 4),
            ("99999999999999999999999", u64::MAX),
            ("-1", 0),
            ("+7", 0),
            ("1e3", 0),
            ("", 0),
            ("exceeded", 0),
            ("x, 2", 2),
        ] {
            let headers = [(HOPS_NAME, Value::from(text))].into_iter().collect();
            assert_eq!(passed(&headers), expected, "{text}");
        }
        assert_eq!(passed(&Object::new()), 0);
    }

    #[test]
    fn each_server_adds_one_up_to_the_limit() {
        assert_eq!(
            (next(0), next(4)),
            (HeaderValue::from_static("1"), HeaderValue::from_static("5"))
        );
        assert_eq!(next(u64::MAX), HeaderValue::from(u64::MAX));
        assert!(check(5, 5).is_ok());
        let error = check(6, 5).expect_err("too many");
        assert_eq!(error.facts, [Fact::Limit(5), Fact::Asked(6)]);
    }
}
