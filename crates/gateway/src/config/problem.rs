//! What can be wrong with settings, as data.

use std::{fmt, path::PathBuf};

use qlio_data::redact::SECRET_BYTES_MIN;
use qlio_syntax::{
    diagnostic::{Code, Severity, codes},
    source::Position,
};

/// One thing that is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// Where it was found.
    pub place: Place,
    /// The dotted path of the setting, where one is to blame.
    pub setting: Option<String>,
    /// Whether it may be about a setting that guards the server.
    pub is_guard: bool,
    /// What is wrong.
    pub fault: Fault,
}

/// Where a setting comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// A settings file, with the place in it where that is known.
    File(PathBuf, Option<Position>),
    /// A flag of the command line.
    Flag(&'static str),
    /// A variable of the environment.
    Variable(String),
}

/// Kinds of problems.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// The file cannot be read; why.
    Unreadable(String),
    /// The file is not in its format.
    Malformed {
        /// The format.
        format: &'static str,
        /// What its reader says.
        reason: String,
    },
    /// The file holds something else than named settings.
    NoObject,
    /// A variable of the environment is not set.
    MissingVariable(String),
    /// A file that holds a value cannot be read.
    UnreadableValue {
        /// Its path.
        file: String,
        /// Why.
        reason: String,
    },
    /// A variable has the name of no setting.
    UnknownVariable {
        /// The variable that was probably meant.
        meant: Option<String>,
    },
    /// A value that the setting cannot have; the default holds.
    WrongKind {
        /// What it must be.
        wanted: String,
        /// What it is.
        found: String,
    },
    /// Nothing reads this name; it has no effect.
    Unknown {
        /// The name that was probably meant.
        meant: Option<String>,
    },
    /// `secrets` names a text that is too short to be searched for.
    SecretTooShort,
    /// `secrets` names something else than a text.
    SecretIsNoText,
    /// The settings of the cache do not go together; the reason as its event has it.
    UnusableCache(String),
}

impl ConfigProblem {
    /// The kind as a diagnostic code.
    pub fn code(&self) -> Code {
        match self.fault {
            Fault::Unreadable(_) => codes::UNREADABLE_FILE,
            Fault::Malformed { format: "JSON", .. } => codes::BAD_JSON,
            Fault::MissingVariable(_) | Fault::UnreadableValue { .. } => codes::MISSING_SECRET,
            Fault::Unknown { .. } | Fault::UnknownVariable { .. } => codes::UNKNOWN_SETTING,
            Fault::Malformed { .. }
            | Fault::NoObject
            | Fault::WrongKind { .. }
            | Fault::SecretTooShort
            | Fault::SecretIsNoText
            | Fault::UnusableCache(_) => codes::BAD_CONFIG,
        }
    }

    /// A name at the top that only resembles a setting may be data of scripts, unless settings that guard the
    /// server are called so; everything else keeps a server from starting.
    pub fn severity(&self) -> Severity {
        match self.fault {
            Fault::Unknown { .. } if !self.is_guard && self.is_at_top() => Severity::Warning,
            _ => Severity::Error,
        }
    }

    fn is_at_top(&self) -> bool {
        self.setting.as_deref().is_none_or(|setting| !setting.contains('.'))
    }

    /// Whether nothing may start with these settings, in no mode.
    pub fn ends_start(&self) -> bool {
        self.is_guard && self.severity() == Severity::Error
    }

    /// What is wrong and what to do, without the place.
    pub fn message(&self) -> String {
        let name = self.setting.as_deref().unwrap_or_default();
        match &self.fault {
            Fault::Unreadable(reason) => format!("cannot read the settings: {reason}"),
            Fault::Malformed { format, reason } => format!("invalid {format}: {reason}"),
            Fault::NoObject => "the settings must be one object".to_owned(),
            Fault::MissingVariable(variable) => match variable.strip_prefix("file:") {
                Some(_) => format!(
                    "a variable of the environment cannot be called `{variable}`; what is in a file stands as `{variable}`, without `${{…}}`"
                ),
                None => format!("environment variable `{variable}` is not set"),
            },
            Fault::UnreadableValue { file, reason } => {
                format!("cannot read the value of `{name}` from `{file}`: {reason}")
            }
            Fault::UnknownVariable { meant: None } => {
                "no setting has a variable of this name".to_owned()
            }
            Fault::UnknownVariable { meant: Some(meant) } => {
                format!("no setting has a variable of this name; did you mean `{meant}`?")
            }
            Fault::WrongKind { wanted, found } => {
                format!("setting `{name}` must be {wanted}, not {found}")
            }
            Fault::Unknown { meant: None } => format!("no setting is called `{name}`"),
            Fault::Unknown { meant: Some(meant) } => {
                format!("no setting is called `{name}`; did you mean `{meant}`?")
            }
            Fault::SecretTooShort => format!(
                "setting `secrets` names `{name}`, which has fewer than {SECRET_BYTES_MIN} bytes \
                 and stays visible"
            ),
            Fault::SecretIsNoText => {
                format!("setting `secrets` names `{name}`, which is no text")
            }
            Fault::UnusableCache(reason) => reason.clone(),
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(file, Some(position)) => write!(f, "{}:{position}", file.display()),
            Self::File(file, None) => write!(f, "{}", file.display()),
            Self::Flag(flag) => f.write_str(flag),
            Self::Variable(name) => f.write_str(name),
        }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message())
    }
}
