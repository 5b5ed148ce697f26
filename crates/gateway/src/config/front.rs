//! Settings of what clients see beside routes: traces, the health check, WebSocket connections.
//!
//! In: the settings object. Out: [`FrontSettings`]; a value of the wrong kind is reported and leaves
//! the default in place.

use std::{path::PathBuf, time::Duration};

use qlio_data::Value;

use crate::http::{trace::TraceLevel, websocket::SocketSettings};

/// What the settings file says about the endpoints.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontSettings {
    /// What clients may learn of runs (`trace`: `none`, `progress` or `full`); without it, where the
    /// server can be reached from decides.
    pub trace: Option<TraceLevel>,
    /// The path of the health check (`ecvPath`, default `/ecv`).
    pub ecv_path: String,
    /// The health check can be switched by `POST` (`ecvControl`, default no).
    pub ecv_control: bool,
    /// WebSocket connections (`wsOrigins`; `wsMaxFrame`, `wsMaxMessage` in bytes; `wsPingInterval`,
    /// `wsPongTimeout` in milliseconds).
    pub sockets: SocketSettings,
    /// The folder for log files (`logs`); default none.
    pub logs: Option<PathBuf>,
}

impl Default for FrontSettings {
    fn default() -> Self {
        Self {
            trace: None,
            ecv_path: "/ecv".to_owned(),
            ecv_control: false,
            sockets: SocketSettings::default(),
            logs: None,
        }
    }
}

impl FrontSettings {
    /// Reads the settings; problems go to `messages`.
    pub(super) fn from_config(config: &Value, messages: &mut Vec<String>) -> Self {
        let mut settings = Self::default();
        let mut wrong = |name: &str, wanted: &str| {
            messages.push(format!("setting `{name}` must be {wanted}"));
        };
        match config.member("trace") {
            Value::Absent | Value::Null => {}
            value => match value.as_str().and_then(trace_level) {
                Some(level) => settings.trace = Some(level),
                None => wrong("trace", "one of `none`, `progress`, `full`"),
            },
        }
        match config.member("ecvPath") {
            Value::Absent | Value::Null => {}
            value => match value.as_str().filter(|path| is_health_path(path)) {
                Some(path) => path.clone_into(&mut settings.ecv_path),
                None => wrong("ecvPath", HEALTH_PATH_WANTED),
            },
        }
        match config.member("ecvControl") {
            Value::Absent | Value::Null => {}
            Value::Bool(is_on) => settings.ecv_control = is_on,
            // The original was given the text (Q26).
            Value::String(text) if matches!(&*text, "true" | "false") => {
                settings.ecv_control = *text == *"true";
            }
            _ => wrong("ecvControl", "`true` or `false`"),
        }
        match config.member("logs") {
            Value::Absent | Value::Null => {}
            value => match value.as_str().filter(|folder| !folder.is_empty()) {
                Some(folder) => settings.logs = Some(PathBuf::from(folder)),
                None => wrong("logs", "a folder"),
            },
        }
        match config.member("wsOrigins") {
            Value::Absent | Value::Null => {}
            Value::String(text) => settings.sockets.origins = vec![text.to_string()],
            value if value.is_array() => settings.sockets.origins = super::texts(&value),
            _ => wrong("wsOrigins", "a list of origins"),
        }
        let limits = &mut settings.sockets.limits;
        let mut count = |name: &str, into: &mut usize| match config.member(name) {
            Value::Absent | Value::Null => {}
            value => match super::whole(&value).filter(|number| *number > 0) {
                Some(number) => *into = number,
                None => wrong(name, "a whole number above 0"),
            },
        };
        count("wsMaxFrame", &mut limits.frame_bytes_max);
        count("wsMaxMessage", &mut limits.message_bytes_max);
        let mut duration = |name: &str, into: &mut Duration| {
            let mut milliseconds = usize::try_from(into.as_millis()).unwrap_or(usize::MAX);
            count(name, &mut milliseconds);
            *into = Duration::from_millis(milliseconds as u64);
        };
        duration("wsPingInterval", &mut limits.ping_interval);
        duration("wsPongTimeout", &mut limits.pong_timeout);
        settings
    }
}

/// What a path of the health check must be.
pub(crate) const HEALTH_PATH_WANTED: &str = "a path such as `/ecv`";

/// Whether the health check can stand at this path.
pub(crate) fn is_health_path(path: &str) -> bool {
    path.len() > 1
        && path.starts_with('/')
        && !path.ends_with('/')
        && path.bytes().all(|byte| byte.is_ascii_graphic() && !matches!(byte, b'?' | b'#'))
}

fn trace_level(name: &str) -> Option<TraceLevel> {
    match name {
        "none" => Some(TraceLevel::None),
        "progress" => Some(TraceLevel::Progress),
        "full" => Some(TraceLevel::Full),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;
    use crate::http::websocket::SocketLimits;

    fn read(text: &str) -> (FrontSettings, Vec<String>) {
        let mut messages = Vec::new();
        let config = json::parse_str(text).expect("valid JSON");
        (FrontSettings::from_config(&config, &mut messages), messages)
    }

    #[test]
    fn every_setting_is_read() {
        let (settings, messages) = read(
            r#"{"trace": "progress", "ecvPath": "/up", "ecvControl": "true", "wsOrigins": ["https://a.test"],
                "wsMaxFrame": 10, "wsMaxMessage": "20", "wsPingInterval": 30, "wsPongTimeout": 40, "logs": "var/logs"}"#,
        );
        assert_eq!(messages, Vec::<String>::new());
        let limits = SocketLimits {
            frame_bytes_max: 10,
            message_bytes_max: 20,
            ping_interval: Duration::from_millis(30),
            pong_timeout: Duration::from_millis(40),
        };
        let expected = FrontSettings {
            trace: Some(TraceLevel::Progress),
            ecv_path: "/up".to_owned(),
            ecv_control: true,
            sockets: SocketSettings { origins: vec!["https://a.test".to_owned()], limits },
            logs: Some(PathBuf::from("var/logs")),
        };
        assert_eq!(settings, expected);
        assert_eq!(read("{}"), (FrontSettings::default(), Vec::new()));
    }

    #[test]
    fn wrong_values_are_reported_and_leave_the_defaults() {
        let (settings, messages) = read(
            r#"{"trace": "all", "ecvPath": "ecv", "ecvControl": 1, "wsOrigins": 5, "wsMaxFrame": 0, "wsPingInterval": "soon", "logs": ""}"#,
        );
        assert_eq!(settings, FrontSettings::default());
        assert_eq!(messages.len(), 7, "{messages:?}");
        for path in ["/", "/a/", "", "/a b", "/a?b"] {
            assert!(!is_health_path(path), "{path}");
        }
    }
}
