//! What a cache tells about itself (CAC-15).

use std::{sync::Arc, time::Duration};

use qlio_data::{Object, Text, Value, codec::json};

use super::key::CacheKey;

/// Receives every event, on the thread where it happens. It must be quick and must not block.
pub type CacheEventSink = Arc<dyn Fn(&CacheEvent) + Send + Sync>;

/// One thing that happened in a cache.
#[derive(Debug, Clone)]
pub enum CacheEvent {
    /// The cache takes requests now.
    Start {
        /// The settings in use, without credentials.
        options: Value,
    },
    /// The cache takes no more requests.
    End,
    /// An entry was stored.
    New {
        /// Its key.
        key: CacheKey,
        /// How long it lives.
        duration: Duration,
    },
    /// An entry was found, or another request that asks for the same has just fetched it.
    Hit {
        /// Its key.
        key: CacheKey,
    },
    /// No entry was found.
    Miss {
        /// The key asked for.
        key: CacheKey,
        /// Why the tier could not say, if it could not.
        error: Option<String>,
    },
    /// Something failed; the request goes on without the cache.
    Error {
        /// What, in words.
        message: String,
        /// The key it is about, if it is about one.
        key: Option<CacheKey>,
    },
    /// A change of state that is no failure.
    Info {
        /// What, in words.
        message: String,
    },
    /// Statistics of the servers.
    Heartbeat {
        /// One object per server.
        data: Value,
    },
}

impl CacheEvent {
    /// The name under which the engine passes the event on.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Start { .. } => "cacheStart",
            Self::End => "cacheEnd",
            Self::New { .. } => "cacheNew",
            Self::Hit { .. } => "cacheHit",
            Self::Miss { .. } => "cacheMiss",
            Self::Error { .. } => "cacheError",
            Self::Info { .. } => "cacheInfo",
            Self::Heartbeat { .. } => "cacheHeartBeat",
        }
    }

    /// The event's own data.
    pub fn payload(&self) -> Value {
        let text = |text: &str| Value::String(Text::from(text));
        let key_text = |key: &CacheKey| text(key.as_str());
        let mut payload = Object::new();
        match self {
            Self::Start { options } => {
                payload.insert("opts", options.clone());
            }
            Self::End => {}
            Self::New { key, duration } => {
                payload.insert("key", key_text(key));
                let seconds = i64::try_from(duration.as_secs()).unwrap_or(i64::MAX);
                payload.insert("duration", Value::int(seconds));
            }
            Self::Hit { key } => {
                payload.insert("key", key_text(key));
            }
            Self::Miss { key, error } => {
                payload.insert("key", key_text(key));
                if let Some(error) = error {
                    payload.insert("error", text(error));
                }
            }
            Self::Error { message, key } => {
                if let Some(key) = key {
                    payload.insert("key", key_text(key));
                }
                payload.insert("message", text(message));
            }
            Self::Info { message } => {
                payload.insert("message", text(message));
            }
            Self::Heartbeat { data } => {
                payload.insert("data", data.clone());
            }
        }
        Value::object(payload)
    }

    /// The text of the log event: `{"name":…,"event":…}`.
    pub fn message(&self) -> String {
        let mut message = Object::new();
        message.insert("name", Value::String(Text::from(self.name())));
        message.insert("event", self.payload());
        json::to_string(&Value::object(message))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_the_event_and_carries_its_payload() {
        let key = CacheKey::computed("k").expect("key");
        let miss = CacheEvent::Miss { key: key.clone(), error: Some("no answer".to_owned()) };
        assert_eq!(
            miss.message(),
            r#"{"name":"cacheMiss","event":{"key":"qlio:2:=k","error":"no answer"}}"#
        );
        let new = CacheEvent::New { key, duration: Duration::from_mins(1) };
        assert_eq!(
            new.message(),
            r#"{"name":"cacheNew","event":{"key":"qlio:2:=k","duration":60}}"#
        );
        assert_eq!(CacheEvent::End.message(), r#"{"name":"cacheEnd","event":{}}"#);
    }
}
