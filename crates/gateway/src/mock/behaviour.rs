//! How an upstream misbehaves: the types of `docs/reference/mock.md` with their parameters.
//!
//! In goes a JSON object (an entry of a proxy's configuration, or a `mock.json` of a test); out comes
//! a [`Behaviour`], which for each exchange draws an [`Effect`] and applies it to HTTP answers. What
//! an effect does to a TCP connection is in `proxy::tcp`.

use std::time::Duration;

use bytes::Bytes;
use hyper::{
    Response, StatusCode,
    header::{CONTENT_TYPE, HeaderValue},
};
use qlio_data::{Object, Value, codec::json};

use super::body::MockBody;

/// The parameters that are numbers; text that holds a number is taken as one.
const NUMBERS: &[&str] = &["latency", "lo", "hi", "code", "rate", "port"];
/// The names that a behaviour may have; entries of a proxy have more.
pub(super) const NAMES: &[&str] =
    &["type", "latency", "lo", "hi", "code", "body", "contentType", "rate", "errorType"];

/// The longest delay that can be asked for: a day.
const DELAY_MS_MAX: f64 = 86_400_000.0;
/// A bumpy body comes in this many pieces.
const PIECES: usize = 4;

const SLOW: Duration = Duration::from_secs(1);
const DROP: Duration = Duration::from_millis(100);
const LOW: Duration = Duration::from_millis(100);
const HIGH: Duration = Duration::from_secs(1);

/// The fate of one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing special.
    Normal,
    /// It starts later.
    Late(Duration),
    /// Headers, then after a while the end, without a body.
    Drop,
    /// No answer.
    Unresponsive,
    /// The body comes by fits and starts.
    Bumpy,
    /// An answer of its own.
    Status,
    /// A type that nobody knows.
    Unknown(String),
}

/// How one route, port or canned answer behaves.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Behaviour {
    kind: String,
    error_kind: String,
    latency: Option<Duration>,
    lo: Option<Duration>,
    hi: Option<Duration>,
    status: StatusCode,
    body: Bytes,
    content_type: HeaderValue,
    rate: f64,
}

/// Why a member can not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BehaviourError {
    #[error("`{name}` is no {wanted}")]
    Kind { name: String, wanted: &'static str },
    #[error("`{0}` is not known")]
    Unknown(String),
    #[error("`{0}` must be between 0 and {DELAY_MS_MAX} milliseconds")]
    Delay(String),
    #[error("`{0}` must be {1}")]
    Value(&'static str, &'static str),
    #[error("`{0}` can not be {1}")]
    Unfit(&'static str, &'static str),
    #[error("there is no type `{0}`")]
    Type(String),
}

impl BehaviourError {
    /// The error of a member of another kind.
    pub(super) fn kind(name: &str, wanted: &'static str) -> Self {
        Self::Kind { name: name.to_owned(), wanted }
    }
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            kind: "normal".to_owned(),
            error_kind: "status".to_owned(),
            latency: None,
            lo: None,
            hi: None,
            status: StatusCode::OK,
            body: Bytes::new(),
            content_type: HeaderValue::from_static("text/plain; charset=utf-8"),
            rate: 0.0,
        }
    }
}

/// Turns texts that hold numbers into numbers where numbers are wanted.
///
/// # Errors
/// Names the parameter that is no number.
pub(super) fn normalised(name: &str, value: &Value) -> Result<Value, BehaviourError> {
    if !NUMBERS.contains(&name) {
        return Ok(value.clone());
    }
    let number = match value {
        Value::Number(_) => Some(value.clone()),
        Value::String(text) => {
            json::parse_str(text.trim()).ok().filter(|value| matches!(value, Value::Number(_)))
        }
        _ => None,
    };
    number.ok_or_else(|| BehaviourError::kind(name, "number"))
}

impl Behaviour {
    /// Reads the members that concern the behaviour; others are the caller's.
    ///
    /// # Errors
    /// Says which member is wrong. An unknown type is no error here: it is answered with 400.
    pub(super) fn read(members: &Object) -> Result<Self, BehaviourError> {
        let text = |name: &str, default: &str| match members.get(name) {
            None | Some(Value::Absent) => Ok(default.to_owned()),
            Some(value) => {
                let text = value.as_str().map(str::to_owned);
                text.ok_or_else(|| BehaviourError::kind(name, "text"))
            }
        };
        let delay = |name: &str| match number(members, name)? {
            None => Ok(None),
            Some(number) if (0.0..=DELAY_MS_MAX).contains(&number) => {
                Ok(Some(Duration::from_secs_f64(number / 1000.0)))
            }
            Some(_) => Err(BehaviourError::Delay(name.to_owned())),
        };
        let mut behaviour = Self { kind: text("type", "normal")?, ..Self::default() };
        behaviour.error_kind = text("errorType", "status")?;
        if behaviour.error_kind == "error-rate" {
            return Err(BehaviourError::Unfit("errorType", "`error-rate` itself"));
        }
        behaviour.latency = delay("latency")?;
        (behaviour.lo, behaviour.hi) = (delay("lo")?, delay("hi")?);
        if let Some(rate) = number(members, "rate")? {
            if !(0.0..=1.0).contains(&rate) {
                return Err(BehaviourError::Value("rate", "between 0 and 1"));
            }
            behaviour.rate = rate;
        }
        // An error that says no status of its own is one of the server.
        if behaviour.kind == "error-rate" {
            behaviour.status = StatusCode::INTERNAL_SERVER_ERROR;
        }
        if let Some(code) = members.get("code").filter(|code| !code.is_absent()) {
            let code = match normalised("code", code)? {
                Value::Number(code) => code.as_i64().and_then(|code| u16::try_from(code).ok()),
                _ => None,
            };
            let code = code.filter(|code| (200..600).contains(code));
            behaviour.status = code
                .and_then(|code| StatusCode::from_u16(code).ok())
                .ok_or(BehaviourError::Value("code", "a status from 200 to 599"))?;
        }
        match members.get("body") {
            None | Some(Value::Absent) => {}
            Some(Value::String(text)) => behaviour.body = text.clone().into_bytes(),
            Some(structure) => {
                behaviour.body = json::to_string(structure).into();
                behaviour.content_type = HeaderValue::from_static("application/json");
            }
        }
        if members.get("contentType").is_some() {
            behaviour.content_type = HeaderValue::try_from(text("contentType", "")?)
                .map_err(|_| BehaviourError::Unfit("contentType", "a header"))?;
        }
        Ok(behaviour)
    }

    /// Reads the `mock.json` of a test, which says nothing but how a mock behaves.
    ///
    /// # Errors
    /// Says which member is wrong; types that nobody knows are wrong, too.
    pub(crate) fn of_mock(members: &Object) -> Result<Self, BehaviourError> {
        if let Some((name, _)) = members.iter().find(|(name, _)| !NAMES.contains(&name.as_str())) {
            return Err(BehaviourError::Unknown(name.to_string()));
        }
        let behaviour = Self::read(members)?;
        match behaviour.unknown_type() {
            None => Ok(behaviour),
            Some(kind) => Err(BehaviourError::Type(kind.to_owned())),
        }
    }

    /// That of a type that nobody knows; `None` if somebody does.
    pub(super) fn of_unknown_type(kind: &str) -> Option<Self> {
        let behaviour = Self { kind: kind.to_owned(), ..Self::default() };
        behaviour.effect(kind).is_none().then_some(behaviour)
    }

    /// A type that nobody knows.
    pub(super) fn unknown_type(&self) -> Option<&str> {
        let names = [&self.kind, &self.error_kind];
        names.into_iter().find(|kind| self.effect(kind).is_none()).map(String::as_str)
    }

    /// Whether every exchange is answered without looking for an answer.
    pub(crate) fn needs_no_answer(&self) -> bool {
        matches!(self.kind.as_str(), "status" | "drop" | "unresponsive")
    }

    /// Draws the fate of the next exchange.
    pub(super) fn draw(&self) -> Effect {
        let kind = match self.kind.as_str() {
            "error-rate" if fastrand::f64() < self.rate => &self.error_kind,
            "error-rate" => return Effect::Normal,
            _ => &self.kind,
        };
        self.effect(kind).unwrap_or_else(|| Effect::Unknown(kind.clone()))
    }

    fn effect(&self, kind: &str) -> Option<Effect> {
        Some(match kind {
            "normal" | "error-rate" => Effect::Normal,
            "slow" => Effect::Late(self.latency.unwrap_or(SLOW)),
            "flakey" => Effect::Late(self.pause()),
            "drop" => Effect::Drop,
            "unresponsive" => Effect::Unresponsive,
            "bumpy" => Effect::Bumpy,
            "status" => Effect::Status,
            _ => return None,
        })
    }

    /// A random time between `lo` and `hi`, whichever is larger.
    pub(super) fn pause(&self) -> Duration {
        let (lo, hi) = (self.lo.unwrap_or(LOW), self.hi.unwrap_or(HIGH));
        // One bound alone moves the other one's default out of its way.
        let (lo, hi) = match (self.lo, self.hi) {
            (Some(lo), None) => (lo, hi.max(lo)),
            (None, Some(hi)) => (lo.min(hi), hi),
            _ => (lo.min(hi), lo.max(hi)),
        };
        let micros = |time: Duration| u64::try_from(time.as_micros()).unwrap_or(u64::MAX);
        Duration::from_micros(fastrand::u64(micros(lo)..=micros(hi)))
    }

    /// How long a dropped exchange lasts; `default` where neither parameter says it.
    pub(super) fn drop_time(&self, default: Duration) -> Duration {
        if self.lo.is_some() || self.hi.is_some() {
            self.pause()
        } else {
            self.latency.unwrap_or(default)
        }
    }

    /// The body of type `status`.
    pub(super) fn own_body(&self) -> Bytes {
        self.body.clone()
    }

    /// Answers one HTTP exchange; `answer` is asked only where the type needs it. `place` is how
    /// errors call the entry.
    pub(super) async fn answer(
        &self,
        place: &str,
        answer: impl Future<Output = Response<MockBody>>,
    ) -> Response<MockBody> {
        match self.draw() {
            Effect::Normal => answer.await,
            Effect::Late(time) => {
                tokio::time::sleep(time).await;
                answer.await
            }
            Effect::Drop => Response::new(MockBody::ends_after(self.drop_time(DROP))),
            Effect::Unresponsive => std::future::pending().await,
            Effect::Bumpy => answer
                .await
                .map(|body| MockBody::in_pieces(&body.into_bytes(), PIECES, || self.pause())),
            Effect::Status => {
                let mut response = Response::new(MockBody::full(self.own_body()));
                *response.status_mut() = self.status;
                response.headers_mut().insert(CONTENT_TYPE, self.content_type.clone());
                response
            }
            Effect::Unknown(kind) => text(
                StatusCode::BAD_REQUEST,
                format!("No Handler \"{kind}\" provided for config[\"{place}\"]"),
            ),
        }
    }
}

/// An answer of plain text.
pub(super) fn text(status: StatusCode, text: impl Into<String>) -> Response<MockBody> {
    let mut response = Response::new(MockBody::full(text.into()));
    *response.status_mut() = status;
    let content_type = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(CONTENT_TYPE, content_type);
    response
}

/// An answer of JSON.
pub(super) fn json_answer(status: StatusCode, value: &Value) -> Response<MockBody> {
    let mut response = Response::new(MockBody::full(json::to_string(value)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn number(members: &Object, name: &str) -> Result<Option<f64>, BehaviourError> {
    match members.get(name) {
        None | Some(Value::Absent) => Ok(None),
        Some(value) => match normalised(name, value)? {
            Value::Number(number) => Ok(Some(number.as_f64())),
            _ => Err(BehaviourError::kind(name, "number")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behaviour(text: &str) -> Result<Behaviour, BehaviourError> {
        match json::parse_str(text).unwrap().into_tree() {
            Value::Object(members) => Behaviour::read(&members),
            _ => panic!("no object"),
        }
    }

    #[test]
    fn bounds_in_the_wrong_order_are_swapped() {
        let behaviour = behaviour(r#"{"type": "flakey", "lo": 30, "hi": "20"}"#).unwrap();
        for _ in 0..50 {
            let Effect::Late(time) = behaviour.draw() else { panic!("not late") };
            assert!((20..=30).contains(&time.as_millis()), "{time:?}");
        }
    }

    #[test]
    fn one_bound_is_enough() {
        let low = behaviour(r#"{"type": "flakey", "lo": 5000}"#).unwrap();
        assert_eq!(low.draw(), Effect::Late(Duration::from_secs(5)));
        let high = behaviour(r#"{"type": "flakey", "hi": 0}"#).unwrap();
        assert_eq!(high.draw(), Effect::Late(Duration::ZERO));
    }

    #[test]
    fn an_error_rate_draws_the_other_type_as_often_as_it_says() {
        let draws = |rate: &str| {
            let text = format!(r#"{{"type": "error-rate", "rate": {rate}, "errorType": "drop"}}"#);
            let behaviour = behaviour(&text).unwrap();
            (0..2000).filter(|_| behaviour.draw() == Effect::Drop).count()
        };
        assert_eq!((draws("0"), draws("1")), (0, 2000));
        assert!((400..600).contains(&draws("0.25")), "a quarter");
    }

    #[test]
    fn a_status_takes_text_or_json() {
        let text = behaviour(r#"{"type": "status", "code": 503, "body": "busy"}"#).unwrap();
        assert_eq!((text.status.as_u16(), &text.own_body()[..]), (503, &b"busy"[..]));
        let json = behaviour(r#"{"type": "status", "body": {"a": 1}}"#).unwrap();
        assert_eq!(
            (&json.own_body()[..], json.content_type.as_bytes()),
            (&b"{\"a\":1}"[..], &b"application/json"[..])
        );
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, message) in [
            (r#"{"latency": "soon"}"#, "`latency` is no number"),
            (r#"{"lo": -1}"#, "`lo` must be between 0 and 86400000 milliseconds"),
            (r#"{"code": 99}"#, "`code` must be a status from 200 to 599"),
            (r#"{"code": 200.5}"#, "`code` must be a status from 200 to 599"),
            (r#"{"rate": 2}"#, "`rate` must be between 0 and 1"),
            (r#"{"type": 1}"#, "`type` is no text"),
            (r#"{"errorType": "error-rate"}"#, "`errorType` can not be `error-rate` itself"),
        ] {
            assert_eq!(behaviour(text).unwrap_err().to_string(), message);
        }
        assert_eq!(behaviour(r#"{"type": "wobbly"}"#).unwrap().unknown_type(), Some("wobbly"));
    }
}
