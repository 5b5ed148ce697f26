//! Settings that change how scripts run, read once from the configuration object.
//!
//! Source: `connectors.md` 1.7, `server.md` 3.2, `decisions.md`. Unknown keys are left to scripts,
//! which read the whole object as `{config.…}`.

use std::time::Duration;

use qlio_data::{Object, Text, Value, codec::xml::Coerce};

/// How much undeclared query parameters and headers of a client may fill in requests of tables
/// (SCP-6).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ClientParams {
    /// Query parameters fill nothing, headers only tokens inside of `using headers`.
    #[default]
    Declared,
    /// They fill what nothing else sets, and never replace a default, a setting or a script's value.
    Fill,
    /// They also override defaults and settings, as in the original.
    Any,
}

/// Everything that bounds or steers a run.
#[derive(Debug, Clone)]
pub struct Settings {
    /// Most upstream requests of one statement (`maxNestedRequests`, default 50).
    pub nested_requests_max: usize,
    /// Most bytes of one upstream answer on the wire (`maxResponseLength`, default 10,000,000).
    pub response_bytes_max: usize,
    /// Most bytes of one upstream answer after decompression (`maxDecodedLength`, default ten times
    /// the wire limit).
    pub decoded_bytes_max: usize,
    /// Most rows that one join may give (`maxJoinRows`, default 1,000,000).
    pub join_rows_max: usize,
    /// Idle time of an exchange when a statement names none (`timeout`, default 10 s).
    pub timeout: Duration,
    /// What undeclared client parameters may do on routes (`client_params`).
    pub client_params: ClientParams,
    /// XML coercion of tables that name none (`xml.coerce`).
    pub xml_coerce: Coerce,
    /// The `user-agent` of upstream requests (`userAgent`).
    pub user_agent: String,
    /// The `connection` header of upstream requests (`connection`).
    pub connection: String,
    /// Name of the header that carries request ids (`requestId` or `request-id`).
    pub request_id_header: String,
    /// Settings that scripts of clients may read (`adhoc.config`).
    pub adhoc_config: Vec<String>,
    /// Script functions and hooks.
    pub hooks: HookSettings,
}

/// Bounds of script functions and hooks.
#[derive(Debug, Clone, Copy)]
pub struct HookSettings {
    /// CPU time per call (`hooks.timeMs`, default 250 ms).
    pub time: Duration,
    /// Heap per thread (`hooks.memoryMiB`, default 32 MiB).
    pub memory_bytes: usize,
    /// Hooks may return promises (`hooks.async`, default false).
    pub allows_promises: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            nested_requests_max: 50,
            response_bytes_max: 10_000_000,
            decoded_bytes_max: 100_000_000,
            join_rows_max: 1_000_000,
            timeout: Duration::from_secs(10),
            client_params: ClientParams::default(),
            xml_coerce: Coerce::Safe,
            user_agent: concat!("qlio/", env!("CARGO_PKG_VERSION")).to_owned(),
            connection: "keep-alive".to_owned(),
            request_id_header: "request-id".to_owned(),
            adhoc_config: Vec::new(),
            hooks: HookSettings {
                time: Duration::from_millis(250),
                memory_bytes: 32 << 20,
                allows_promises: false,
            },
        }
    }
}

impl Settings {
    /// Reads the settings; a value of the wrong kind keeps the default and is reported.
    pub fn from_config(config: &Value) -> (Self, Vec<String>) {
        let mut settings = Self::default();
        let mut reader = Reader { config, problems: Vec::new() };
        reader.count(&["maxNestedRequests", "maxRequests"], &mut settings.nested_requests_max);
        reader.count(&["maxResponseLength", "maxResponseSize"], &mut settings.response_bytes_max);
        settings.decoded_bytes_max = settings.response_bytes_max.saturating_mul(10);
        reader.count(&["maxDecodedLength"], &mut settings.decoded_bytes_max);
        reader.count(&["maxJoinRows"], &mut settings.join_rows_max);
        let mut timeout_ms = settings.timeout.as_millis() as usize;
        reader.count(&["timeout"], &mut timeout_ms);
        settings.timeout = Duration::from_millis(timeout_ms.max(1) as u64);
        reader.text("userAgent", &mut settings.user_agent);
        reader.text("connection", &mut settings.connection);
        for name in ["requestId", "request-id"] {
            reader.text(name, &mut settings.request_id_header);
        }
        reader.choice(
            "client_params",
            &mut settings.client_params,
            &[
                ("fill", ClientParams::Fill),
                ("any", ClientParams::Any),
                ("declared", ClientParams::Declared),
            ],
        );
        let xml = config.member("xml");
        let mut xml_reader = Reader { config: &xml, problems: Vec::new() };
        xml_reader.choice(
            "coerce",
            &mut settings.xml_coerce,
            &[("safe", Coerce::Safe), ("original", Coerce::Original), ("none", Coerce::None)],
        );
        reader.problems.append(&mut xml_reader.problems);
        settings.hooks = hook_settings(&config.member("hooks"), &mut reader.problems);
        if let Some(names) = config.member("adhoc").member("config").elements() {
            settings.adhoc_config =
                names.iter().filter_map(|name| name.as_str().map(str::to_owned)).collect();
        }
        settings.request_id_header.make_ascii_lowercase();
        (settings, reader.problems)
    }

    /// The part of the configuration that scripts of clients may read.
    pub fn adhoc_view(&self, config: &Value) -> Value {
        let members =
            self.adhoc_config.iter().map(|name| (Text::from(name.as_str()), config.member(name)));
        let allowed: Object = members.filter(|(_, value)| !value.is_absent()).collect();
        Value::object(allowed)
    }
}

fn hook_settings(config: &Value, problems: &mut Vec<String>) -> HookSettings {
    let mut settings = Settings::default().hooks;
    let mut reader = Reader { config, problems: Vec::new() };
    let mut time_ms = settings.time.as_millis() as usize;
    reader.count(&["timeMs"], &mut time_ms);
    settings.time = Duration::from_millis(time_ms as u64);
    let mut memory_mib = settings.memory_bytes >> 20;
    reader.count(&["memoryMiB"], &mut memory_mib);
    settings.memory_bytes = memory_mib.saturating_mul(1 << 20);
    settings.allows_promises = config.member("async").is_truthy();
    problems.append(&mut reader.problems);
    settings
}

struct Reader<'a> {
    config: &'a Value,
    problems: Vec<String>,
}

impl Reader<'_> {
    /// The first of several spellings that is there.
    fn count(&mut self, names: &[&str], into: &mut usize) {
        let found = names
            .iter()
            .map(|name| (name, self.config.member(name)))
            .find(|(_, value)| !value.is_nothing());
        let Some((name, value)) = found else { return };
        let number = match &value {
            Value::Number(number) => number.as_i64(),
            Value::String(text) => text.trim().parse().ok(),
            _ => None,
        };
        match number.and_then(|number| usize::try_from(number).ok()) {
            Some(number) => *into = number,
            None => self.problems.push(format!("setting `{name}` must be a whole number")),
        }
    }

    fn text(&mut self, name: &str, into: &mut String) {
        match self.config.member(name) {
            Value::String(text) => *into = text.to_string(),
            Value::Absent | Value::Null => {}
            _ => self.problems.push(format!("setting `{name}` must be text")),
        }
    }

    fn choice<T: Copy>(&mut self, name: &str, into: &mut T, choices: &[(&str, T)]) {
        let value = self.config.member(name);
        if value.is_nothing() {
            return;
        }
        let chosen =
            value.as_str().and_then(|text| choices.iter().find(|(choice, _)| *choice == text));
        if let Some((_, choice)) = chosen {
            *into = *choice;
            return;
        }
        let names: Vec<_> = choices.iter().map(|(choice, _)| format!("`{choice}`")).collect();
        self.problems.push(format!("setting `{name}` must be one of {}", names.join(", ")));
    }
}
