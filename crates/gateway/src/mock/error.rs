//! Why there is no mock server, whatever kind of mock it was to run.

use std::{io, path::PathBuf};

use qlio_engine::transport::SettingsError;

use super::{proxy::ConfigError, replay::IndexError};

/// Why there is no mock server. Its words hold their cause, so that no chain of sources tells it again.
#[derive(Debug, thiserror::Error)]
pub(crate) enum MockError {
    /// The folder can not be read.
    #[error("folder `{0}`: {1}")]
    Folder(PathBuf, io::Error),
    /// The address can not be listened on.
    #[error("can not listen on `{0}`: {1}")]
    Listen(String, io::Error),
    /// What the mock is made from can not be used.
    #[error(transparent)]
    Unusable(#[from] Unusable),
}

/// What a mock can not be made from, and why.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unusable {
    #[error(transparent)]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Settings(#[from] SettingsError),
    #[error("the upstream `{0}` must begin with `http://` or `https://`")]
    Upstream(String),
    #[error("`{0}` was changed by hand; record into a new folder")]
    Changed(PathBuf),
    #[error("`{0}`: {1}")]
    Index(PathBuf, IndexError),
}
