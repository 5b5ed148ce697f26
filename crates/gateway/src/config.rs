//! The settings file: one JSON object, with values from the environment filled in.
//!
//! In: a path. Out: the object that scripts read as `{config.…}`, the settings of engine and
//! transport made from it, the values that must never be shown, and every problem found. This is the
//! only module that reads the environment.

pub(crate) mod front;
mod place;
mod unknown;

use std::{cmp::Reverse, fmt, path::Path, path::PathBuf};

use qlio_data::{Object, Text, Value, codec::json, percent};
use qlio_engine::{
    Settings,
    cache::CacheSettings,
    transport::{BackoffScope, ProxyLogin, ProxyTarget, TransportSettings},
};
use qlio_syntax::{
    diagnostic::{Code, Severity, codes},
    source::{LineIndex, Position},
};

use self::place::Places;

pub use front::FrontSettings;

/// Settings read and understood.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The whole object, as scripts see it.
    pub values: Value,
    /// How scripts run.
    pub settings: Settings,
    /// How upstreams are called.
    pub transport: TransportSettings,
    /// Most bytes of a client's request body (`maxRequestLength`, default 10,000,000).
    pub request_bytes_max: usize,
    /// The response cache; `None` keeps nothing.
    pub cache: Option<CacheSettings>,
    /// What clients see beside routes.
    pub front: FrontSettings,
    /// Texts that must not appear in errors and logs.
    pub secrets: Vec<String>,
}

/// One thing that is wrong with the settings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigProblem {
    /// The file.
    pub file: PathBuf,
    /// Its kind.
    pub code: Code,
    /// A warning leaves the setting without effect; an error also leaves the default in its place.
    pub severity: Severity,
    /// The dotted path of the setting, where one is to blame.
    pub setting: Option<String>,
    /// Where in the file.
    pub position: Option<Position>,
    /// What is wrong and what to do.
    pub message: String,
}

impl ConfigProblem {
    fn error(file: &Path, code: Code, setting: Option<String>, message: String) -> Self {
        let file = file.to_owned();
        Self { file, code, severity: Severity::Error, setting, position: None, message }
    }

    /// A problem that a reader of settings tells in words, which begin with the setting's name.
    fn told(file: &Path, message: String) -> Self {
        let name = message.strip_prefix("setting `").and_then(|rest| rest.split_once('`'));
        let setting = name.map(|(name, _)| name.to_owned());
        Self::error(file, codes::BAD_CONFIG, setting, message)
    }

    fn unknown(file: &Path, unknown: unknown::Unknown) -> Self {
        let unknown::Unknown { path, meant } = unknown;
        let hint = meant.map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        let message = format!("no setting is called `{path}`{hint}");
        let problem = Self::error(file, codes::UNKNOWN_SETTING, Some(path), message);
        Self { severity: Severity::Warning, ..problem }
    }
}

impl fmt::Display for ConfigProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.file.display())?;
        if let Some(position) = self.position {
            write!(f, "{position}:")?;
        }
        write!(f, " {}", self.message)
    }
}

const REQUEST_BYTES_MAX: usize = 10_000_000;

/// Nested objects and arrays that are searched for environment references.
const DEPTH_MAX: usize = 32;

/// Reads a settings file; without one the defaults hold. Problems leave the defaults in place.
pub fn read(file: Option<&Path>) -> (Config, Vec<ConfigProblem>) {
    let Some(file) = file else { return understand(&Value::object(Object::new()), Path::new("")) };
    match std::fs::read_to_string(file) {
        Ok(text) => parse(&text, file),
        Err(error) => {
            let message = format!("cannot read the settings: {error}");
            defaults(ConfigProblem::error(file, codes::UNREADABLE_FILE, None, message))
        }
    }
}

/// The defaults, because of a problem.
fn defaults(problem: ConfigProblem) -> (Config, Vec<ConfigProblem>) {
    let (config, _) = understand(&Value::object(Object::new()), &problem.file);
    (config, vec![problem])
}

/// Reads the text of a settings file.
pub fn parse(text: &str, file: &Path) -> (Config, Vec<ConfigProblem>) {
    let value = match json::parse_str(text) {
        Ok(value) => value.into_tree(),
        Err(error) => {
            let message = format!("invalid JSON: {}", error.reason);
            let problem = ConfigProblem::error(file, codes::BAD_JSON, None, message);
            let position = LineIndex::new(text).position(text, error.offset as u32);
            return defaults(ConfigProblem { position: Some(position), ..problem });
        }
    };
    if !value.is_object() {
        let message = "the settings must be one JSON object".to_owned();
        return defaults(ConfigProblem::error(file, codes::BAD_CONFIG, None, message));
    }
    let (config, mut problems) = understand(&value, file);
    if !problems.is_empty() {
        let places = Places::of(text);
        for problem in &mut problems {
            let setting = problem.setting.as_deref();
            problem.position = setting.and_then(|setting| places.position(setting));
        }
    }
    (config, problems)
}

/// Makes settings of a configuration object.
pub fn understand(value: &Value, file: &Path) -> (Config, Vec<ConfigProblem>) {
    let mut filler = EnvironmentFiller::default();
    let values = filler.fill(value);
    let (settings, mut messages) = Settings::from_config(&values);
    for path in texts(&values.member("secrets")) {
        let found = path.split('.').fold(values.clone(), |value, step| value.member(step));
        match found.scalar_text() {
            Some(text) if text.len() < SECRET_BYTES_MIN => messages.push(format!(
                "setting `secrets` names `{path}`, which has fewer than {SECRET_BYTES_MIN} bytes \
                 and stays visible"
            )),
            Some(text) => filler.secrets.push(text.to_string()),
            None => messages.push(format!("setting `secrets` names `{path}`, which is no text")),
        }
    }
    let transport = transport(&values, &mut messages);
    let cache = match CacheSettings::from_config(&values) {
        Ok(Some((mut cache, mut problems))) => {
            messages.append(&mut problems);
            cache.tls = transport.tls.clone();
            Some(cache)
        }
        Ok(None) => None,
        Err(error) => {
            messages.push(error.to_string());
            None
        }
    };
    let request_bytes_max = match values.member("maxRequestLength") {
        Value::Absent | Value::Null => REQUEST_BYTES_MAX,
        value => whole(&value).unwrap_or_else(|| {
            messages.push("setting `maxRequestLength` must be a whole number".to_owned());
            REQUEST_BYTES_MAX
        }),
    };
    let front = FrontSettings::from_config(&values, &mut messages);
    filler.secrets.retain(|secret| secret.len() >= SECRET_BYTES_MIN);
    add_encoded(&mut filler.secrets);
    // A secret may stand in a longer one, of which the rest would stay.
    filler.secrets.sort_by_key(|secret| Reverse(secret.len()));
    let missing = filler.missing.into_iter().map(|(setting, name)| {
        let message = format!("environment variable `{name}` is not set");
        ConfigProblem::error(file, codes::MISSING_SECRET, Some(setting), message)
    });
    let mut problems: Vec<_> = missing.collect();
    problems.extend(messages.into_iter().map(|message| ConfigProblem::told(file, message)));
    let unknown = unknown::find(value).into_iter();
    problems.extend(unknown.map(|unknown| ConfigProblem::unknown(file, unknown)));
    (
        Config {
            values,
            settings,
            transport,
            request_bytes_max,
            cache,
            front,
            secrets: filler.secrets,
        },
        problems,
    )
}

/// Shorter texts are not searched for in messages: they would hide half of every message.
const SECRET_BYTES_MIN: usize = 4;

/// Adds each secret as it stands in a URI, which is another text if it needs encoding there.
fn add_encoded(secrets: &mut Vec<String>) {
    let encoded: Vec<String> = secrets
        .iter()
        .map(|secret| percent::encode(secret))
        .filter(|encoded| !secrets.contains(encoded))
        .collect();
    secrets.extend(encoded);
}

#[derive(Default)]
struct EnvironmentFiller {
    secrets: Vec<String>,
    /// Settings whose variable is not set, and the name of that variable.
    missing: Vec<(String, String)>,
    /// The names around the value that is being filled.
    path: Vec<Text>,
    depth: usize,
}

impl EnvironmentFiller {
    /// Replaces `"${NAME}"` by the variable of that name; its value counts as a secret.
    fn fill(&mut self, value: &Value) -> Value {
        if self.depth > DEPTH_MAX {
            return value.clone();
        }
        self.depth += 1;
        let filled = match &*value.open() {
            Value::String(text) => {
                match text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}')) {
                    None => value.clone(),
                    Some(name) => self.variable(name),
                }
            }
            Value::Array(elements) => elements.iter().map(|element| self.fill(element)).collect(),
            Value::Object(object) => {
                let mut filled = Object::with_capacity(object.len());
                for (name, value) in object.iter() {
                    self.path.push(name.clone());
                    filled.insert(name.clone(), self.fill(value));
                    self.path.pop();
                }
                Value::object(filled)
            }
            other => other.clone(),
        };
        self.depth -= 1;
        filled
    }

    fn variable(&mut self, name: &str) -> Value {
        if let Ok(found) = std::env::var(name) {
            self.secrets.push(found.clone());
            return Value::from(found);
        }
        let path: Vec<&str> = self.path.iter().map(|name| &**name).collect();
        self.missing.push((path.join("."), name.to_owned()));
        Value::Absent
    }
}

fn transport(values: &Value, messages: &mut Vec<String>) -> TransportSettings {
    let mut transport = TransportSettings::default();
    let tls = values.member("tls");
    let path = |name: &str| tls.member(name).as_str().map(PathBuf::from);
    transport.tls.ca_file = path("caFile");
    transport.tls.client_cert = path("clientCert");
    transport.tls.client_key = path("clientKey");
    transport.tls.insecure_hosts = texts(&tls.member("insecureHosts"));
    let egress = values.member("egress");
    transport.egress.allow = texts(&egress.member("allow"));
    transport.egress.deny = texts(&egress.member("deny"));
    match values.member("backoff").member("scope").as_str() {
        None | Some("uri") => {}
        Some("origin") => transport.backoff.scope = BackoffScope::Origin,
        Some(other) => messages
            .push(format!("setting `backoff.scope` must be `uri` or `origin`, not `{other}`")),
    }
    if let Value::Object(proxies) = &*values.member("proxy").open() {
        for (key, entry) in proxies.iter() {
            match proxy(entry) {
                Ok(target) => transport.proxies.push((key.to_string(), target)),
                Err(reason) => messages.push(format!("setting `proxy.{key}` {reason}")),
            }
        }
    }
    transport
}

/// `{}` means direct, `{host, port, user, password}` a proxy; the latter two are for proxies that ask.
fn proxy(entry: &Value) -> Result<Option<ProxyTarget>, &'static str> {
    let host = match entry.member("host") {
        Value::Absent | Value::Null => return Ok(None),
        host => host.as_str().map(str::to_owned).ok_or("needs text as `host`")?,
    };
    let port = match entry.member("port") {
        Value::Absent | Value::Null => 80,
        port => whole(&port)
            .and_then(|port| u16::try_from(port).ok())
            .ok_or("needs a port number as `port`")?,
    };
    let text = |name: &str, reason| match entry.member(name) {
        Value::Absent | Value::Null => Ok(None),
        value => value.scalar_text().map(Some).ok_or(reason),
    };
    let user = text("user", "needs text as `user`")?;
    let password = text("password", "needs text as `password`")?;
    let login = match (user, password) {
        (None, None) => None,
        (None, Some(_)) => return Err("has a `password` without a `user`"),
        (Some(user), password) => {
            let login = ProxyLogin::new(&user, &password.unwrap_or_default());
            Some(login.ok_or("needs a `user` without a colon")?)
        }
    };
    Ok(Some(ProxyTarget { host, port, login }))
}

fn texts(value: &Value) -> Vec<String> {
    let elements = value.elements();
    let texts = elements.iter().flat_map(|elements| elements.iter());
    texts.filter_map(|element| element.as_str().map(str::to_owned)).collect()
}

fn whole(value: &Value) -> Option<usize> {
    let number = match value {
        Value::Number(number) => number.as_i64()?,
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    usize::try_from(number).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(text: &str) -> (Config, Vec<ConfigProblem>) {
        understand(&json::parse_str(text).unwrap(), Path::new("config.json"))
    }

    #[test]
    fn both_spellings_of_a_limit_are_understood() {
        assert_eq!(config(r#"{"maxRequests": 7}"#).0.settings.nested_requests_max, 7);
        assert_eq!(config(r#"{"maxNestedRequests": "8"}"#).0.settings.nested_requests_max, 8);
        assert_eq!(config(r#"{"maxResponseSize": 9}"#).0.settings.response_bytes_max, 9);
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_reported_and_the_default_holds() {
        let (config, problems) =
            config(r#"{"maxNestedRequests": "many", "backoff": {"scope": "all"}}"#);
        assert_eq!(config.settings.nested_requests_max, 50);
        assert_eq!(problems.len(), 2, "{problems:?}");
    }

    #[test]
    fn a_missing_environment_variable_is_a_problem() {
        let (_, problems) = config(r#"{"key": "${QLIO_NO_SUCH_VARIABLE}"}"#);
        assert_eq!(problems[0].message, "environment variable `QLIO_NO_SUCH_VARIABLE` is not set");
    }

    #[test]
    fn problems_have_a_code_and_a_place() {
        let text = "{\n  \"timeout\": \"soon\",\n  \"tls\": {\"cafile\": \"a\"},\n  \"key\": \"${QLIO_NO_SUCH_VARIABLE}\"\n}";
        let (_, problems) = parse(text, Path::new("config.json"));
        let shown: Vec<_> =
            problems.iter().map(|problem| format!("{} {problem}", problem.code.slug)).collect();
        assert_eq!(
            shown,
            [
                "missing-secret config.json:4:3: environment variable `QLIO_NO_SUCH_VARIABLE` is not set",
                "bad-config config.json:2:3: setting `timeout` must be a whole number",
                "unknown-setting config.json:3:11: no setting is called `tls.cafile`; did you mean `caFile`?",
            ]
        );
        let (_, problems) = parse("{\n!", Path::new("config.json"));
        assert!(problems[0].to_string().starts_with("config.json:2:1: invalid JSON: "));
    }

    #[test]
    fn marked_values_are_secrets() {
        let (config, _) = config(r#"{"a": {"key": "s3cret"}, "secrets": ["a.key"]}"#);
        assert_eq!(config.secrets, ["s3cret"]);
        let (config, _) = self::config(r#"{"key": "a+b/c=", "secrets": ["key"]}"#);
        assert_eq!(config.secrets, ["a%2Bb%2Fc%3D", "a+b/c="]);
        let (config, problems) = self::config(
            r#"{"a": "key0", "b": "key01", "c": "abc", "secrets": ["a", "b", "c", "d"]}"#,
        );
        assert_eq!(config.secrets, ["key01", "key0"]);
        assert!(
            problems[0].message.contains("`secrets` names `c`, which has fewer than 4"),
            "{problems:?}"
        );
        assert!(
            problems[1].message.contains("`secrets` names `d`, which is no text"),
            "{problems:?}"
        );
    }

    #[test]
    fn proxies_are_read_in_order() {
        let (config, problems) =
            config(r#"{"proxy": {"*": {"host": "px", "port": "3128"}, "intra.test": {}}}"#);
        assert_eq!(problems, []);
        let star = ProxyTarget { host: "px".to_owned(), port: 3128, login: None };
        assert_eq!(
            config.transport.proxies,
            [("*".to_owned(), Some(star)), ("intra.test".to_owned(), None)]
        );
    }

    #[test]
    fn a_proxy_may_want_a_login() {
        let (config, problems) =
            config(r#"{"proxy": {"*": {"host": "px", "user": "me", "password": "s3cret"}}}"#);
        assert_eq!(problems, []);
        let (_, target) = &config.transport.proxies[0];
        assert_eq!(target.as_ref().unwrap().login, ProxyLogin::new("me", "s3cret"));
        assert!(!format!("{target:?}").contains("s3cret"));
        for bad in [
            r#"{"host": "px", "user": "a:b"}"#,
            r#"{"host": "px", "user": ["a"]}"#,
            r#"{"host": "px", "password": "s3cret"}"#,
        ] {
            let (config, problems) = self::config(&format!(r#"{{"proxy": {{"*": {bad}}}}}"#));
            assert_eq!((config.transport.proxies, problems.len()), (Vec::new(), 1), "{bad}");
        }
    }
}
