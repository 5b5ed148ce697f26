//! Why a measurement did not take place, or does not count.

use std::fmt;

/// What a measurement ends with instead of a report.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BenchError {
    /// Options that cannot be used, or a target that is not there: exit code 2.
    Usage(String),
    /// What was measured gives wrong answers: exit code 1.
    Failed(String),
}

impl fmt::Display for BenchError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Usage(reason) | Self::Failed(reason)) = self;
        f.write_str(reason)
    }
}

impl std::error::Error for BenchError {}

/// A [`BenchError::Usage`].
pub(crate) fn usage(reason: impl Into<String>) -> BenchError {
    BenchError::Usage(reason.into())
}

/// A [`BenchError::Failed`].
pub(crate) fn failed(reason: impl Into<String>) -> BenchError {
    BenchError::Failed(reason.into())
}
