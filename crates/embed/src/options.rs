//! What a host says of the app that it wants.

use std::path::PathBuf;

use qlio_data::{Value, codec::json};

use crate::description::{Description, DescriptionError};

/// Most threads of one app.
pub(crate) const THREADS_MAX: usize = 256;

/// Most runs under way at once, if the host does not say.
const RUNS_DEFAULT: usize = 1_024;

/// The most that it may say.
const RUNS_MAX: u64 = 1_000_000;

/// Where the settings of an app come from. Variables of the environment (`QLIO_…`) go before, as ever.
#[derive(Debug, Clone, Default)]
pub enum AppSettings {
    /// The app's own settings file, if it has one.
    #[default]
    OfApp,
    /// This file.
    File(PathBuf),
    /// This JSON object, in place of a file.
    Text(String),
}

/// The app that is to be loaded.
#[derive(Debug, Clone)]
pub struct Options {
    /// The app's folder.
    pub app: PathBuf,
    /// Folder of table files, instead of the app's `tables`.
    pub tables: Option<PathBuf>,
    /// Folder of route files, instead of the app's `routes`.
    pub routes: Option<PathBuf>,
    /// Folder of custom connectors, instead of the app's `connectors`.
    pub connectors: Option<PathBuf>,
    /// File that names transformers, instead of the app's `config/xformers.json`.
    pub transformers: Option<PathBuf>,
    /// The settings.
    pub settings: AppSettings,
    /// Threads that run scripts; one for each core if nothing is said.
    pub threads: Option<usize>,
    /// Most runs under way at once; one more fails as busy.
    pub runs_max: usize,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            app: PathBuf::from("."),
            tables: None,
            routes: None,
            connectors: None,
            transformers: None,
            settings: AppSettings::default(),
            threads: None,
            runs_max: RUNS_DEFAULT,
        }
    }
}

impl Options {
    /// Reads what a binding says: an object of `app`, `tables`, `routes`, `connectors`, `xformers`, `config` (the path
    /// of a file, or an object), `threads` and `maxRuns`, all of which may be absent.
    ///
    /// # Errors
    /// It is something else, or has another member.
    pub fn parse(text: &str) -> Result<Self, DescriptionError> {
        let mut said = Description::parse("options", text)?;
        let settings = match said.take("config") {
            None => AppSettings::OfApp,
            Some(value) if value.is_object() => AppSettings::Text(json::to_string(&value)),
            Some(Value::String(path)) => AppSettings::File(PathBuf::from(path.as_str())),
            Some(_) => return Err(said.wrong("config", "a path or an object")),
        };
        let mut path = |member: &str| said.text(member).map(|text| text.map(PathBuf::from));
        let options = Self {
            app: path("app")?.unwrap_or_else(|| PathBuf::from(".")),
            tables: path("tables")?,
            routes: path("routes")?,
            connectors: path("connectors")?,
            transformers: path("xformers")?,
            settings,
            threads: said.number("threads", THREADS_MAX as u64)?.map(|threads| threads as usize),
            runs_max: said.number("maxRuns", RUNS_MAX)?.map_or(RUNS_DEFAULT, |runs| runs as usize),
        };
        said.finish()?;
        Ok(options)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_members_are_read_and_no_others() {
        let text = r#"{"app":"a","tables":"t","config":{"deadline":5},"threads":2,"maxRuns":7}"#;
        let options = Options::parse(text).expect("they are right");
        assert_eq!(options.app, PathBuf::from("a"));
        assert_eq!(options.tables, Some(PathBuf::from("t")));
        assert!(matches!(options.settings, AppSettings::Text(text) if text == r#"{"deadline":5}"#));
        assert_eq!((options.threads, options.runs_max), (Some(2), 7));
        for (text, reason) in [
            ("[]", "options must be an object"),
            (r#"{"table":"t"}"#, "options has no member `table`"),
            (r#"{"app":1}"#, "`app` of options must be text"),
            (r#"{"config":1}"#, "`config` of options must be a path or an object"),
            (r#"{"threads":0}"#, "`threads` of options must be a whole number from 1 to 256"),
        ] {
            assert_eq!(Options::parse(text).expect_err("wrong").to_string(), reason);
        }
        assert!(
            Options::parse("{").expect_err("wrong").to_string().starts_with("options: not JSON")
        );
    }
}
