//! Settings: from a file, the environment and flags to typed settings.
//!
//! In: a settings file, flags, and whether this is development mode. Out: the typed settings, the
//! object that scripts read as `{config.…}`, the values that must never be shown, and every problem
//! found. All settings stand in [`table`]; what is read from where, and in which order, stands here:
//! a flag beats a variable `QLIO_…`, which beats the file, which beats the default.

mod cache;
mod document;
mod effective;
#[expect(clippy::disallowed_methods, reason = "the one place that reads variables for settings")]
mod environment;
mod format;
pub(crate) mod front;
mod limits;
mod names;
mod place;
mod problem;
mod setting;
mod slot;
#[expect(clippy::disallowed_methods, reason = "the one place that reads a settings file")]
mod source;
mod table;
mod variables;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use qlio_data::{
    Value,
    redact::{SECRET_BYTES_MIN, secret_texts},
};
use qlio_engine::{Settings, cache::CacheSettings, transport::TransportSettings};

use self::{
    environment::Environment,
    names::Names,
    setting::{Draft, Setting},
    slot::{Blame, Kind},
    source::Source,
};

use crate::http::{
    app::AppSettings,
    body::BodyLimits,
    forwarded::{Forwarded, Networks},
    gate::Gate,
};

pub use document::{reference, schema};
pub use effective::{Effective, Origin};
pub use environment::Referred;
pub use front::FrontSettings;
pub use limits::limits;
pub use problem::{ConfigProblem, Fault, Place};
pub use variables::Variables;

/// Settings read and understood.
#[derive(Debug, Clone)]
pub struct Config {
    /// The whole object, as scripts see it.
    pub values: Value,
    /// How scripts run.
    pub settings: Settings,
    /// How upstreams are called.
    pub transport: TransportSettings,
    /// Most bytes of a client's request body.
    pub request_bytes_max: usize,
    /// The response cache; `None` keeps nothing.
    pub cache: Option<CacheSettings>,
    /// What clients see beside routes.
    pub front: FrontSettings,
    /// Texts that must not appear in errors and logs.
    pub secrets: Vec<String>,
    /// Files that values come from, beside the settings file.
    pub files: Vec<PathBuf>,
}

impl Default for Config {
    fn default() -> Self {
        read(None, &CommandLine::default()).0
    }
}

impl Config {
    /// The settings of the endpoints.
    pub fn app_settings(&self, is_dev: bool) -> AppSettings {
        AppSettings {
            allows_adhoc: self.front.adhoc,
            has_console: self.front.console,
            gate: Gate::new(&self.front.trust, is_dev),
            body: BodyLimits {
                request_bytes_max: self.request_bytes_max,
                pace: self.front.body_pace,
            },
            answer_pace: self.front.answer_pace,
            request_id_header: self.settings.request_id_header.clone(),
            errors: self.front.errors,
            metadata: self.front.metadata,
            trace: self.front.trace,
            allows_jsonp: self.front.jsonp,
            forwarded: Forwarded {
                proxies: Arc::new(Networks::new(&self.front.trust.proxies)),
                header: self.front.trust.forwarded,
            },
            identity_header: self.front.tls.identity_header.clone(),
        }
    }
}

/// What those who start a command say about settings, beside the file.
#[derive(Debug, Clone, Default)]
pub struct CommandLine {
    /// Development mode, which has defaults of its own.
    pub is_dev: bool,
    /// Flags that set something.
    pub flags: Vec<Flag>,
    /// Variables of the environment that set something.
    pub variables: Variables,
}

impl CommandLine {
    /// No flags, but the environment of the process.
    pub fn of_process(is_dev: bool) -> Self {
        Self { is_dev, flags: Vec::new(), variables: environment::variables() }
    }
}

/// A flag that sets something.
#[derive(Debug, Clone)]
pub struct Flag {
    /// The flag, such as `--ecvPath`.
    pub flag: &'static str,
    /// The setting.
    pub setting: &'static str,
    /// Its value.
    pub value: Value,
}

/// Reads a settings file; without one the defaults hold. A problem leaves the default in place.
pub fn read(file: Option<&Path>, command_line: &CommandLine) -> (Config, Vec<ConfigProblem>) {
    let (config, _, problems) = read_with_origins(file, command_line);
    (config, problems)
}

/// Reads the text of a settings file.
pub fn parse(text: &str, file: &Path, command_line: &CommandLine) -> (Config, Vec<ConfigProblem>) {
    let (source, problem) = Source::parse(text, file);
    let (config, _, mut problems) = Reading::of(source, command_line).finish();
    problems.extend(problem);
    (config, problems)
}

/// Reads a settings file, and tells where each value comes from.
pub fn read_with_origins(
    file: Option<&Path>,
    command_line: &CommandLine,
) -> (Config, Vec<Effective>, Vec<ConfigProblem>) {
    let (source, problem) = Source::read(file);
    let (config, effective, mut problems) = Reading::of(source, command_line).finish();
    problems.extend(problem);
    (config, effective, problems)
}

/// All settings that hold and what scripts find beside them, with where each comes from.
pub fn effective(
    file: Option<&Path>,
    command_line: &CommandLine,
) -> (Vec<Effective>, Vec<ConfigProblem>) {
    let (_, effective, problems) = read_with_origins(file, command_line);
    (effective, problems)
}

/// Whether another value of a setting needs a restart.
pub fn is_fixed(name: &str) -> bool {
    table::all().any(|setting| setting.name == name && setting.is_fixed)
}

/// The value at a dotted path.
fn at(values: &Value, path: &str) -> Value {
    path.split('.').fold(values.clone(), |value, name| value.member(name))
}

/// Settings while they are read.
struct Reading {
    source: Source,
    /// The values of the file with the environment filled in.
    values: Value,
    draft: Draft,
    /// Where each setting of the table comes from, in its order.
    origins: Vec<Origin>,
    /// Where the environment was filled in, and what it held.
    environment: Environment,
    /// Values that must not be shown.
    secrets: Vec<String>,
    problems: Vec<ConfigProblem>,
}

impl Reading {
    fn of(source: Source, command_line: &CommandLine) -> Self {
        let mut environment = Environment::default();
        let values = environment.fill(&source.values);
        let names = Names::of_table();
        let mut reading = Self {
            values,
            draft: Draft::new(command_line.is_dev),
            origins: Vec::new(),
            secrets: std::mem::take(&mut environment.secrets),
            problems: Vec::new(),
            source,
            environment,
        };
        for (setting, fault) in std::mem::take(&mut reading.environment.missing) {
            let place = reading.source.place(&setting);
            reading.blame(place, setting, fault);
        }
        for setting in table::all() {
            let origin = reading.read_setting(setting, command_line, &names);
            reading.origins.push(origin);
        }
        for (path, value) in names.find_misplaced(&reading.values) {
            let (wanted, found) = ("an object".to_owned(), describe(&value));
            let place = reading.source.place(path);
            reading.blame(place, path, Fault::WrongKind { wanted, found });
        }
        for unknown in names.find_unknown(&reading.source.values) {
            let place = reading.source.place(&unknown.path);
            reading.blame(place, unknown.path, Fault::Unknown { meant: unknown.meant });
        }
        reading.find_unknown_variables(&command_line.variables);
        reading
    }

    fn blame(&mut self, place: Place, setting: impl Into<String>, fault: Fault) {
        let setting = setting.into();
        let is_guard = match fault {
            Fault::SecretTooShort | Fault::SecretIsNoText => true,
            _ => table::concerns_guard(&setting),
        };
        self.problems.push(ConfigProblem { place, setting: Some(setting), is_guard, fault });
    }

    fn find_unknown_variables(&mut self, found: &Variables) {
        for (name, meant) in variables::find_unknown(found, |name| self.environment.names(name)) {
            self.problems.push(ConfigProblem {
                place: Place::Variable(name),
                setting: None,
                is_guard: meant.is_some_and(|setting| setting.is_guard),
                fault: Fault::UnknownVariable {
                    meant: meant.map(|setting| variables::name_of(setting.name)),
                },
            });
        }
    }

    /// Reads one setting from the flag, the variable or the spelling that is strongest; says which it was.
    fn read_setting(
        &mut self,
        setting: &Setting,
        command_line: &CommandLine,
        names: &Names,
    ) -> Origin {
        let mut flags = command_line.flags.iter();
        if let Some(given) = flags.find(|given| given.setting == setting.name) {
            let place = Place::Flag(given.flag);
            return self.take(setting, setting.name, &given.value, Origin::Place(place));
        }
        let own = variables::name_of(setting.name);
        for variable in std::iter::once(own).chain(setting.standard.map(str::to_owned)) {
            if let Some(text) = command_line.variables.get(&variable) {
                return self.take_variable(setting, variable, text.as_deref());
            }
        }
        for path in setting.spellings() {
            let value = at(&self.values, &path);
            // An object at the short form of a name, such as `adhoc`, is the section of that name.
            let is_section = path != setting.name && value.is_object() && names.is_section(&path);
            if value.is_absent() || is_section {
                continue;
            }
            let place = self.source.place(&path);
            let origin = match self.environment.referred_at(&path) {
                Some(referred) => Origin::Referred(referred.clone(), place),
                None => Origin::Place(place),
            };
            return self.take(setting, &path, &value, origin);
        }
        Origin::Default
    }

    /// Takes the text of a variable, or of the file that it names, for a setting.
    fn take_variable(&mut self, setting: &Setting, name: String, text: Option<&str>) -> Origin {
        let place = Place::Variable(name);
        let text = match text {
            Some(text) => self.environment.value_of_variable(text),
            None => Err(Fault::WrongKind {
                wanted: "text in UTF-8".to_owned(),
                found: "other bytes".to_owned(),
            }),
        };
        self.secrets.append(&mut self.environment.secrets);
        match text {
            Ok(text) => {
                let kind = setting.slot(&mut self.draft).kind();
                let value = Setting::value_of_variable(&kind, &text);
                self.take(setting, setting.name, &value, Origin::Place(place))
            }
            Err(fault) => {
                self.blame(place, setting.name, fault);
                Origin::Default
            }
        }
    }

    /// Takes a value for a setting, if it is of its kind and within its bounds.
    fn take(&mut self, setting: &Setting, path: &str, value: &Value, origin: Origin) -> Origin {
        let slot = setting.slot(&mut self.draft);
        let kind = slot.kind();
        let is_fit = setting.is_within_bounds(&kind, value) && setting.keeps_rule(value);
        if is_fit && slot.read(value).is_some() {
            return origin;
        }
        let blame = slot.blame(value).or_else(|| setting.blame_element(&kind, value));
        let Blame { inside, wanted, found } = blame.unwrap_or_else(|| Blame {
            inside: String::new(),
            wanted: setting.wanted(&kind),
            found: describe(value),
        });
        let path = format!("{path}{inside}");
        let (place, found) = match (origin, self.environment.referred_at(&path)) {
            (Origin::Place(place @ Place::Flag(_)), _) => (place, found),
            // Its value may be a secret.
            (Origin::Place(Place::Variable(name)), _) => {
                let found = Referred::Variable(name.clone()).describe();
                (Place::Variable(name), found)
            }
            (_, Some(referred)) => (self.source.place(&path), referred.describe()),
            (_, None) => (self.source.place(&path), found),
        };
        self.blame(place, path, Fault::WrongKind { wanted, found });
        Origin::Default
    }

    /// The typed settings: what depends on several of them is decided here.
    fn finish(mut self) -> (Config, Vec<Effective>, Vec<ConfigProblem>) {
        self.collect_secrets();
        let draft = &mut self.draft;
        let settings = &mut draft.settings;
        settings.request_id_header.make_ascii_lowercase();
        settings.hooks.memory_bytes = draft.hook_memory_mib.saturating_mul(1 << 20);
        settings.decoded_bytes_max =
            *draft.decoded_bytes_max.get_or_insert(settings.response_bytes_max.saturating_mul(10));
        let cache = match cache::read(draft) {
            Ok(cache) => cache,
            Err(error) => {
                let place = self.source.place("cache");
                self.blame(place, "cache", Fault::UnusableCache(error.to_string()));
                None
            }
        };
        let secrets = secret_texts(std::mem::take(&mut self.secrets));
        let effective = self.effective(&secrets);
        let Draft { settings, transport, front, request_bytes_max, .. } = self.draft;
        let values = self.values;
        let mut files = self.environment.files;
        files.extend(transport.tls.files().cloned());
        let config =
            Config { values, settings, transport, request_bytes_max, cache, front, secrets, files };
        (config, effective, self.problems)
    }

    fn collect_secrets(&mut self) {
        self.secrets.extend(self.draft.front.admin.token.clone());
        self.secrets.extend(self.draft.front.traces.header_values());
        for path in std::mem::take(&mut self.draft.secrets) {
            let fault = match at(&self.values, &path).scalar_text() {
                Some(text) if text.len() >= SECRET_BYTES_MIN => {
                    self.secrets.push(text.to_string());
                    continue;
                }
                Some(_) => Fault::SecretTooShort,
                None => Fault::SecretIsNoText,
            };
            let place = self.source.place("secrets");
            self.blame(place, path, fault);
        }
    }
}

impl Setting {
    fn is_within_bounds(&self, kind: &Kind, value: &Value) -> bool {
        match kind {
            Kind::Number | Kind::Milliseconds => slot::whole_number(value)
                .is_some_and(|number| (self.least..=self.most).contains(&number)),
            _ => true,
        }
    }

    /// Whether a text, or each text of a list, is what the setting's rule says.
    fn keeps_rule(&self, value: &Value) -> bool {
        let Some(rule) = self.rule else { return true };
        let keeps = |value: &Value| value.as_str().is_none_or(rule.accepts);
        value.elements().map_or_else(|| keeps(value), |elements| elements.iter().all(keeps))
    }

    /// The element of a list that is no text, or that breaks the rule.
    fn blame_element(&self, kind: &Kind, value: &Value) -> Option<Blame> {
        let elements = value.elements().filter(|_| *kind == Kind::Texts)?;
        let index = elements
            .iter()
            .position(|element| element.as_str().is_none() || !self.keeps_rule(element))?;
        let wanted = self.rule.map_or("text", |rule| rule.wanted).to_owned();
        Some(Blame { inside: place::element("", index), wanted, found: describe(&elements[index]) })
    }

    /// What its value must be, in words.
    fn wanted(&self, kind: &Kind) -> String {
        let bounds = match (self.least, self.most) {
            (0, u64::MAX) => String::new(),
            (least, u64::MAX) => format!(" from {least}"),
            (least, most) => format!(" from {least} to {most}"),
        };
        match (kind, self.rule) {
            (Kind::Texts, Some(rule)) => format!("a list of texts, each {}", rule.wanted),
            (_, Some(rule)) => rule.wanted.to_owned(),
            (Kind::Flag, _) => "`true` or `false`".to_owned(),
            (Kind::Number, _) => format!("a whole number{bounds}"),
            (Kind::Milliseconds, _) => format!("a whole number of milliseconds{bounds}"),
            (Kind::Fraction, _) => "a number from 0 to 1".to_owned(),
            (Kind::Text, _) => "text".to_owned(),
            (Kind::Path, _) => "a path".to_owned(),
            (Kind::Texts, _) => "a list of texts".to_owned(),
            (Kind::Choice(words), _) => format!("one of `{}`", words.join("`, `")),
            (Kind::Proxies, _) => "an object of names and proxies".to_owned(),
        }
    }
}

/// A value as messages show it.
fn describe(value: &Value) -> String {
    match value {
        Value::Absent => "missing".to_owned(),
        Value::Null => "`null`".to_owned(),
        Value::Bool(_) | Value::Number(_) => {
            format!("`{}`", value.scalar_text().unwrap_or_default())
        }
        Value::String(text) => format!("the text `{text}`"),
        _ if value.is_array() => "a list".to_owned(),
        _ => "an object".to_owned(),
    }
}

#[cfg(test)]
mod kind_tests;
#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "a test reads a variable that every environment has")]
mod tests;
