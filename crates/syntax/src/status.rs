//! The statuses of HTTP answers that scripts and tables may name.
//!
//! In: a number as text, written in a script or filled from a token. Out: the status, if it is one of
//! the range. The checks of a text and the run share these ranges, so that they never disagree.

use std::fmt;

/// The statuses that something may name, both ends included.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StatusRange {
    min: u16,
    max: u16,
}

/// A route may answer with these. Those below 200 are not the end of an answer.
pub const ROUTE: StatusRange = StatusRange { min: 200, max: 599 };

/// A table may pass these on: failures.
pub const PASSED: StatusRange = StatusRange { min: 400, max: 599 };

impl StatusRange {
    /// The status that a text names; `None` for what is no whole number of the range in plain digits.
    pub fn read(self, text: &str) -> Option<u16> {
        let is_plain = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let status = text.parse().ok().filter(|_| is_plain)?;
        (self.min..=self.max).contains(&status).then_some(status)
    }
}

/// Prints `takes a whole number from 200 to 599`.
impl fmt::Display for StatusRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "takes a whole number from {} to {}", self.min, self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_of_a_range_belong_to_it() {
        for (text, status) in [("200", 200), ("0201", 201), ("599", 599)] {
            assert_eq!(ROUTE.read(text), Some(status), "{text}");
        }
        for text in ["199", "600", "+200", "-1", "200.0", "2e2", "", " 200", "٢٠٠", "99999999999"]
        {
            assert_eq!(ROUTE.read(text), None, "{text}");
        }
        assert_eq!((PASSED.read("399"), PASSED.read("400")), (None, Some(400)));
    }
}
