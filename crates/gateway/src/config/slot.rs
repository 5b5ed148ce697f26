//! Typed places that settings are read into, and what each kind of place accepts.
//!
//! In: a value of the settings file or of a flag. Out: the typed setting, or nothing if the value is
//! of another kind. Numbers and switches may come as text, because a variable of the environment and
//! a flag are text.

use std::{path::PathBuf, time::Duration};

use qlio_data::{Number, Object, Text, Value, codec::xml::Coerce};
use qlio_engine::{
    ClientParams,
    transport::{BackoffScope, ProxyLogin, ProxyTarget, ViaProxy},
};

use super::describe;
use crate::{
    http::{
        disclosure::{ErrorDetail, MetadataScope},
        forwarded::ForwardedHeader,
        logs::{LogFormat, LogLevel},
        spans::{ExportProtocol, Fraction, Sampler, TraceTrust},
        trace::TraceLevel,
    },
    tls::{ClientCertificate, TlsVersion},
};

/// The kind of value that a setting has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// `true` or `false`.
    Flag,
    /// A whole number within the bounds of the setting.
    Number,
    /// A whole number of milliseconds within the bounds of the setting.
    Milliseconds,
    /// A number from 0 to 1.
    Fraction,
    /// Text.
    Text,
    /// The path of a file or folder.
    Path,
    /// A list of texts; one text alone is a list of one.
    Texts,
    /// One of these words.
    Choice(Vec<&'static str>),
    /// Any names, each with the members that [`PROXY_MEMBERS`] lists.
    Proxies,
}

/// The members of one entry of `proxy`: name, kind and purpose.
pub(super) const PROXY_MEMBERS: &[(&str, Kind, &str)] = &[
    ("host", Kind::Text, "Host of the proxy; without it the entry means: call directly."),
    ("port", Kind::Number, "Port of the proxy; default 80."),
    ("user", Kind::Text, "User, for a proxy that asks for a login; without a colon."),
    ("password", Kind::Text, "Password of that user."),
];

/// A typed setting that a value can be read into.
pub(super) trait Slot {
    /// What it accepts.
    fn kind(&self) -> Kind;

    /// Takes a value of its kind; `None` leaves the setting as it was.
    fn read(&mut self, value: &Value) -> Option<()>;

    /// The setting as a value that [`Slot::read`] takes; absent where nothing is set.
    fn show(&self) -> Value;

    /// Which member inside of a refused value is to blame.
    fn blame(&self, _refused: &Value) -> Option<Blame> {
        None
    }
}

/// What is wrong inside of a value.
pub(super) struct Blame {
    /// Where, from the value on, such as `.member` or `[0]`.
    pub(super) inside: String,
    /// What it must be, in words.
    pub(super) wanted: String,
    /// What it is, in words.
    pub(super) found: String,
}

impl Slot for bool {
    fn kind(&self) -> Kind {
        Kind::Flag
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = match value {
            Value::Bool(is_on) => *is_on,
            Value::String(text) => text.parse().ok()?,
            _ => return None,
        };
        Some(())
    }

    fn show(&self) -> Value {
        Value::Bool(*self)
    }
}

/// The whole number that a value is or spells.
pub(super) fn whole_number(value: &Value) -> Option<u64> {
    match value {
        Value::Number(number) => u64::try_from(number.as_i64()?).ok(),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

fn shown_number(number: impl TryInto<i64>) -> Value {
    Value::int(number.try_into().unwrap_or(i64::MAX))
}

impl Slot for u64 {
    fn kind(&self) -> Kind {
        Kind::Number
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = whole_number(value)?;
        Some(())
    }

    fn show(&self) -> Value {
        shown_number(*self)
    }
}

impl Slot for u32 {
    fn kind(&self) -> Kind {
        Kind::Number
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = whole_number(value)?.try_into().ok()?;
        Some(())
    }

    fn show(&self) -> Value {
        shown_number(*self)
    }
}

impl Slot for usize {
    fn kind(&self) -> Kind {
        Kind::Number
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = whole_number(value)?.try_into().ok()?;
        Some(())
    }

    fn show(&self) -> Value {
        shown_number(*self)
    }
}

impl Slot for Option<usize> {
    fn kind(&self) -> Kind {
        Kind::Number
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = Some(whole_number(value)?.try_into().ok()?);
        Some(())
    }

    fn show(&self) -> Value {
        self.map_or(Value::Absent, shown_number)
    }
}

impl Slot for Duration {
    fn kind(&self) -> Kind {
        Kind::Milliseconds
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = Self::from_millis(whole_number(value)?);
        Some(())
    }

    fn show(&self) -> Value {
        shown_number(self.as_millis())
    }
}

impl Slot for Fraction {
    fn kind(&self) -> Kind {
        Kind::Fraction
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        let number = match value {
            Value::Number(number) => number.as_f64(),
            Value::String(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        *self = Self::new(number)?;
        Some(())
    }

    fn show(&self) -> Value {
        Value::Number(Number::Float(self.get()))
    }
}

impl Slot for String {
    fn kind(&self) -> Kind {
        Kind::Text
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        value.as_str()?.clone_into(self);
        Some(())
    }

    fn show(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl Slot for Option<String> {
    fn kind(&self) -> Kind {
        Kind::Text
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = Some(value.as_str()?.to_owned());
        Some(())
    }

    fn show(&self) -> Value {
        self.as_deref().map_or(Value::Absent, Value::from)
    }
}

impl Slot for Option<PathBuf> {
    fn kind(&self) -> Kind {
        Kind::Path
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = Some(value.as_str().filter(|path| !path.is_empty())?.into());
        Some(())
    }

    fn show(&self) -> Value {
        self.as_ref().map_or(Value::Absent, |path| Value::from(path.display().to_string()))
    }
}

impl Slot for Vec<String> {
    fn kind(&self) -> Kind {
        Kind::Texts
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        *self = match (value.as_str(), value.elements()) {
            (Some(text), _) => vec![text.to_owned()],
            (None, Some(elements)) => elements
                .iter()
                .map(|element| element.as_str().map(str::to_owned))
                .collect::<Option<_>>()?,
            (None, None) => return None,
        };
        Some(())
    }

    fn show(&self) -> Value {
        self.iter().map(|text| Value::from(text.as_str())).collect()
    }
}

/// A setting that is one of a few words.
trait Choice: Copy + PartialEq + 'static {
    /// The words, and what each means.
    const WORDS: &'static [(&'static str, Self)];
}

impl<T: Choice> Slot for T {
    fn kind(&self) -> Kind {
        Kind::Choice(T::WORDS.iter().map(|(word, _)| *word).collect())
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        let text = value.as_str()?;
        *self = T::WORDS.iter().find(|(word, _)| *word == text)?.1;
        Some(())
    }

    fn show(&self) -> Value {
        let word = T::WORDS.iter().find(|(_, meaning)| meaning == self);
        word.map_or(Value::Absent, |(word, _)| Value::from(*word))
    }
}

impl Choice for ClientParams {
    const WORDS: &'static [(&'static str, Self)] =
        &[("declared", Self::Declared), ("fill", Self::Fill), ("any", Self::Any)];
}

impl Choice for Coerce {
    const WORDS: &'static [(&'static str, Self)] =
        &[("safe", Self::Safe), ("original", Self::Original), ("none", Self::None)];
}

impl Choice for BackoffScope {
    const WORDS: &'static [(&'static str, Self)] = &[("uri", Self::Uri), ("origin", Self::Origin)];
}

impl Choice for ViaProxy {
    const WORDS: &'static [(&'static str, Self)] =
        &[("resolve", Self::Resolve), ("trusted", Self::Trusted)];
}

impl Choice for TraceLevel {
    const WORDS: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("progress", Self::Progress), ("full", Self::Full)];
}

impl Choice for LogFormat {
    const WORDS: &'static [(&'static str, Self)] =
        &[("auto", Self::Auto), ("none", Self::None), ("json", Self::Json), ("text", Self::Text)];
}

impl Choice for LogLevel {
    const WORDS: &'static [(&'static str, Self)] = Self::WORDS;
}

impl Choice for TraceTrust {
    const WORDS: &'static [(&'static str, Self)] =
        &[("trusted", Self::Trusted), ("all", Self::All), ("none", Self::None)];
}

impl Choice for ExportProtocol {
    const WORDS: &'static [(&'static str, Self)] = &[("http/protobuf", Self::HttpProtobuf)];
}

impl Choice for Sampler {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("always_on", Self::AlwaysOn),
        ("always_off", Self::AlwaysOff),
        ("traceidratio", Self::Ratio),
        ("parentbased_always_on", Self::ParentOn),
        ("parentbased_always_off", Self::ParentOff),
        ("parentbased_traceidratio", Self::ParentRatio),
    ];
}

impl Choice for ForwardedHeader {
    const WORDS: &'static [(&'static str, Self)] =
        &[("x-forwarded-for", Self::XForwardedFor), ("forwarded", Self::Forwarded)];
}

impl Choice for TlsVersion {
    const WORDS: &'static [(&'static str, Self)] = &[("1.2", Self::V12), ("1.3", Self::V13)];
}

impl Choice for ClientCertificate {
    const WORDS: &'static [(&'static str, Self)] =
        &[("required", Self::Required), ("optional", Self::Optional)];
}

impl Choice for ErrorDetail {
    const WORDS: &'static [(&'static str, Self)] = &[("brief", Self::Brief), ("full", Self::Full)];
}

impl Choice for MetadataScope {
    const WORDS: &'static [(&'static str, Self)] =
        &[("none", Self::None), ("routes", Self::Routes), ("all", Self::All)];
}

/// Which cache there is; the servers are a setting of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) enum CacheKind {
    #[default]
    None,
    Memory,
    Memcached,
    Redis,
}

impl Choice for CacheKind {
    const WORDS: &'static [(&'static str, Self)] = &[
        ("none", Self::None),
        ("memory", Self::Memory),
        ("memcached", Self::Memcached),
        ("redis", Self::Redis),
        ("valkey", Self::Redis),
    ];
}

impl Slot for Vec<(String, Option<ProxyTarget>)> {
    fn kind(&self) -> Kind {
        Kind::Proxies
    }

    fn read(&mut self, value: &Value) -> Option<()> {
        let opened = value.open();
        let Value::Object(proxies) = &*opened else { return None };
        let read = |(key, entry): (&Text, &Value)| Some((key.to_string(), read_proxy(entry).ok()?));
        *self = proxies.iter().map(read).collect::<Option<_>>()?;
        Some(())
    }

    fn blame(&self, refused: &Value) -> Option<Blame> {
        let opened = refused.open();
        let Value::Object(proxies) = &*opened else { return None };
        proxies.iter().find_map(|(key, entry)| {
            let (member, wanted) = read_proxy(entry).err()?;
            let (inside, found) = match member {
                "" => (format!(".{key}"), entry.clone()),
                member => (format!(".{key}.{member}"), entry.member(member)),
            };
            let found = match found {
                // It may be a password.
                Value::String(_) => "this text".to_owned(),
                found => describe(&found),
            };
            Some(Blame { inside, wanted: wanted.to_owned(), found })
        })
    }

    /// Without logins, which are nobody's business.
    fn show(&self) -> Value {
        let show = |(key, target): &(String, Option<ProxyTarget>)| {
            let mut members = Object::new();
            if let Some(target) = target {
                members.insert("host", target.host.show());
                members.insert("port", shown_number(target.port));
            }
            (key.as_str().into(), Value::object(members))
        };
        let entries: Object = self.iter().map::<(Text, Value), _>(show).collect();
        if entries.is_empty() { Value::Absent } else { Value::object(entries) }
    }
}

/// `{}` means direct; user and password are for proxies that ask. An error names the member to
/// blame and what it must be.
fn read_proxy(entry: &Value) -> Result<Option<ProxyTarget>, (&'static str, &'static str)> {
    let text = |name: &'static str| match entry.member(name) {
        Value::Absent => Ok(None),
        value => value.as_str().map(|text| Some(text.to_owned())).ok_or((name, "text")),
    };
    if !entry.is_object() {
        return Err(("", "an object with `host` and `port`, or `{}` for a direct call"));
    }
    let Some(host) = text("host")? else { return Ok(None) };
    let port = match entry.member("port") {
        Value::Absent => 80,
        port => whole_number(&port)
            .and_then(|port| u16::try_from(port).ok())
            .ok_or(("port", "a port number"))?,
    };
    let login = match (text("user")?, text("password")?) {
        (None, None) => None,
        (None, Some(_)) => return Err(("user", "text beside a `password`")),
        (Some(user), password) => Some(
            ProxyLogin::new(&user, &password.unwrap_or_default())
                .ok_or(("user", "text without a colon"))?,
        ),
    };
    Ok(Some(ProxyTarget { host, port, login }))
}
