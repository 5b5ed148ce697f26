//! Why a measurement did not take place, or does not count.

use crate::codec::CodecError;

/// What a measurement ends with instead of a report.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BenchError {
    /// Options that cannot be used, or a target that is not there: exit code 2.
    #[error("{0}")]
    Usage(String),
    /// What was measured gives wrong answers: exit code 1.
    #[error("{0}")]
    Failed(String),
}

impl From<CodecError> for BenchError {
    fn from(error: CodecError) -> Self {
        Self::Failed(error.to_string())
    }
}

/// A [`BenchError::Usage`].
pub(crate) fn usage(reason: impl Into<String>) -> BenchError {
    BenchError::Usage(reason.into())
}

/// A [`BenchError::Failed`].
pub(crate) fn failed(reason: impl Into<String>) -> BenchError {
    BenchError::Failed(reason.into())
}
