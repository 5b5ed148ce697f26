//! The configuration of the proxy: tenants, their entries, and changes to them (`docs/reference/mock.md`).
//!
//! In goes a JSON object, flat or by tenant, and later the parameters of `/setconfig`; out come the
//! entries that fit a request and the configuration as JSON again, in the form it was given. Pure:
//! listening and saving is done by others.

use std::{net::IpAddr, sync::Arc};

use hyper::Method;
use qlio_data::{Object, Text, Value};

use super::{
    super::behaviour::{Behaviour, BehaviourError, NAMES, normalised},
    pattern::{Pattern, PatternError},
};

/// The tenant of everybody who is no other's.
pub(super) const GLOBAL: &str = "global";
/// Another name of it, in configurations whose tenants are called by their addresses.
const EVERYBODY: &str = "*";
const ADDRESSES: &str = "addresses";
/// Where an entry with a name of its own listens; the host is always ours.
const PROXY_PORT: &str = "proxy port";
const PROXY_HOST: &str = "proxy host";
/// Members of an entry besides those of its behaviour.
const PLACE_NAMES: [&str; 5] = ["host", "port", "method", "url", "https"];

/// How many tenants there may be.
const TENANTS_MAX: usize = 1000;
/// How many entries a tenant may have.
const ENTRIES_MAX: usize = 10_000;

/// A configuration.
#[derive(Debug, Clone, Default)]
pub(super) struct Config {
    /// Whether it was given without tenants, and is shown so.
    is_flat: bool,
    tenants: Vec<Tenant>,
}

#[derive(Debug, Clone)]
struct Tenant {
    name: String,
    addresses: Vec<String>,
    entries: Vec<Arc<Entry>>,
}

/// One entry: what happens on a route or a TCP port.
#[derive(Debug)]
pub(super) struct Entry {
    /// The key it stands under.
    pub(super) key: String,
    /// How it is written.
    members: Object,
    /// How it behaves.
    pub(super) behaviour: Behaviour,
    /// Where the upstream is; always there unless the behaviour asks none.
    pub(super) target: Option<Target>,
    method: Option<Method>,
    /// The path that is asked instead.
    url: Option<String>,
    place: Place,
}

#[derive(Debug)]
enum Place {
    Route(Pattern),
    Port(u16),
}

/// Why a configuration, one of its entries or a change to one can not be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ConfigError {
    #[error("the configuration must be one JSON object")]
    NoObject,
    #[error("`{0}` is no path, no `*` and no port; tenants and entries can not be mixed")]
    Mixed(String),
    #[error("more than {most} {what}")]
    TooMany { most: usize, what: &'static str },
    #[error("tenant `{0}` is no object")]
    TenantNoObject(String),
    #[error("tenant `{0}`: {1}")]
    Tenant(String, Box<Self>),
    #[error("`{EVERYBODY}` and `{GLOBAL}` are the same tenant")]
    SameTenant,
    #[error("there is no tenant `{0}`")]
    NoTenant(String),
    #[error("the tenant has {ENTRIES_MAX} entries already")]
    Full,
    #[error("`{ADDRESSES}` must hold texts")]
    Addresses,
    #[error("`{name}`: another entry has the port {port}")]
    SamePort { name: String, port: u16 },
    #[error("`{0}`: {1}")]
    Entry(String, Box<Self>),
    #[error(transparent)]
    Key(#[from] PatternError),
    #[error(transparent)]
    Member(#[from] BehaviourError),
    #[error("it needs a `host`")]
    NoHost,
    #[error("`url` must begin with `/`")]
    Url,
}

/// Where an upstream is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Target {
    pub(super) host: String,
    pub(super) port: u16,
    pub(super) is_https: bool,
}

impl Target {
    /// Scheme and authority.
    pub(super) fn origin(&self) -> String {
        let scheme = if self.is_https { "https" } else { "http" };
        let Self { host, port, .. } = self;
        if host.contains(':') && !host.starts_with('[') {
            format!("{scheme}://[{host}]:{port}")
        } else {
            format!("{scheme}://{host}:{port}")
        }
    }
}

impl Entry {
    fn read(key: &str, members: &Object) -> Result<Self, ConfigError> {
        let wrong = BehaviourError::kind;
        let place = match port_of(key) {
            Some(port) => Place::Port(port?),
            None => Place::Route(Pattern::parse(key)?),
        };
        let kind = members.get("type").and_then(Value::as_str);
        // A type of somebody's own has parameters of its own.
        let foreign = kind.and_then(Behaviour::of_unknown_type);
        let mut kept = Object::new();
        for (name, value) in members.iter().filter(|(_, value)| !value.is_nothing()) {
            let is_place = PLACE_NAMES.contains(&name.as_str());
            if foreign.is_some() && !is_place {
                kept.insert(name.clone(), value.clone());
                continue;
            }
            // The published examples of netmorphic write it so.
            let is_hi = name == "high" && members.get("hi").is_none();
            let name = if is_hi { "hi" } else { name.as_str() };
            if !is_place && !NAMES.contains(&name) {
                return Err(BehaviourError::Unknown(name.to_owned()).into());
            }
            kept.insert(name, normalised(name, value)?);
        }
        let is_foreign = foreign.is_some();
        let behaviour = foreign.map_or_else(|| Behaviour::read(&kept), Ok)?;
        let text = |name: &str| match kept.get(name) {
            None => Ok(None),
            Some(value) => match value.as_str() {
                Some(text) => Ok(Some(text.to_owned())),
                None => Err(wrong(name, "text")),
            },
        };
        let is_https = match kept.get("https") {
            None => false,
            Some(Value::Bool(is_https)) => *is_https,
            Some(_) => return Err(BehaviourError::Value("https", "true or false").into()),
        };
        let port = match kept.get("port") {
            None if is_https => 443,
            None => 80,
            Some(Value::Number(port)) => {
                let port = port.as_i64().and_then(|port| u16::try_from(port).ok());
                port.filter(|port| *port > 0).ok_or_else(|| wrong("port", "port"))?
            }
            Some(_) => return Err(wrong("port", "number").into()),
        };
        let target = text("host")?.map(|host| Target { host, port, is_https });
        if target.is_none() && !behaviour.needs_no_answer() && !is_foreign {
            return Err(ConfigError::NoHost);
        }
        let method = match text("method")? {
            None => None,
            Some(all) if all.is_empty() || all.eq_ignore_ascii_case("all") => None,
            Some(name) => Some(
                Method::from_bytes(name.to_ascii_uppercase().as_bytes())
                    .map_err(|_| wrong(&name, "method"))?,
            ),
        };
        let url = text("url")?.filter(|url| !url.is_empty());
        if url.as_ref().is_some_and(|url| !url.starts_with('/')) {
            return Err(ConfigError::Url);
        }
        Ok(Self { key: key.to_owned(), members: kept, behaviour, target, method, url, place })
    }

    /// The port that the entry is about; `None` for routes.
    pub(super) fn tcp_port(&self) -> Option<u16> {
        match self.place {
            Place::Port(port) => Some(port),
            Place::Route(_) => None,
        }
    }

    /// The path that the upstream is asked for.
    pub(super) fn upstream_path(&self, path: &str) -> String {
        match (&self.url, &self.place) {
            (Some(url), Place::Route(pattern)) => pattern.fill(url, path),
            _ => path.to_owned(),
        }
    }

    /// The entry as it is written.
    pub(super) fn to_value(&self) -> Value {
        Value::object(self.members.clone())
    }
}

impl Config {
    /// Reads a configuration.
    ///
    /// # Errors
    /// Says which entry is wrong, and how.
    pub(super) fn read(value: &Value) -> Result<Self, ConfigError> {
        let Value::Object(members) = value.into_tree() else {
            return Err(ConfigError::NoObject);
        };
        let members = by_port(&members)?;
        let is_entry = |name: &str, value: &Value| {
            (name == ADDRESSES || is_key(name)) && !(name == EVERYBODY && is_tenant(value))
        };
        let flat = members.iter().filter(|(name, value)| is_entry(name, value)).count();
        if flat > 0 && flat < members.len() {
            let mut others = members.iter().filter(|(name, value)| !is_entry(name, value));
            let other = others.next().map(|(name, _)| name.to_string());
            return Err(ConfigError::Mixed(other.unwrap_or_default()));
        }
        let mut config = Self { is_flat: flat == members.len(), tenants: Vec::new() };
        if config.is_flat {
            config.tenants.push(Tenant::read(GLOBAL, &members)?);
            return Ok(config);
        }
        if members.len() > TENANTS_MAX {
            return Err(ConfigError::TooMany { most: TENANTS_MAX, what: "tenants" });
        }
        for (name, value) in members.iter() {
            let Value::Object(entries) = value else {
                return Err(ConfigError::TenantNoObject(name.to_string()));
            };
            let read = if name == EVERYBODY { GLOBAL } else { name.as_str() };
            let mut tenant = Tenant::read(read, entries)
                .map_err(|error| ConfigError::Tenant(name.to_string(), Box::new(error)))?;
            if config.tenant(read).is_some() {
                return Err(ConfigError::SameTenant);
            }
            if tenant.addresses.is_empty() && name.parse::<IpAddr>().is_ok() {
                tenant.addresses.push(name.to_string());
            }
            config.tenants.push(tenant);
        }
        if config.tenant(GLOBAL).is_none() {
            config.tenants.push(Tenant::empty(GLOBAL));
        }
        Ok(config)
    }

    /// The whole configuration, in the form it was given.
    pub(super) fn to_value(&self) -> Value {
        match self.tenants.first() {
            Some(tenant) if self.is_flat => tenant.to_value(),
            _ => {
                let tenants = self.tenants.iter();
                let tenants = tenants.map(|tenant| (tenant.name.as_str(), tenant.to_value()));
                Value::object(tenants.collect())
            }
        }
    }

    /// The tenant of a client.
    pub(super) fn tenant_of(&self, client: &str) -> &str {
        let found = self.tenants.iter().find(|tenant| {
            tenant.name != GLOBAL && tenant.addresses.iter().any(|address| address == client)
        });
        found.map_or(GLOBAL, |tenant| &tenant.name)
    }

    /// The entry for a request: of those that fit the most exact one.
    pub(super) fn route(&self, tenant: &str, method: &Method, path: &str) -> Option<Arc<Entry>> {
        let entries = self.tenant(tenant)?.entries.iter();
        let fitting = entries.filter_map(|entry| {
            let Place::Route(pattern) = &entry.place else { return None };
            let is_asked = entry.method.as_ref().is_none_or(|wanted| wanted == method);
            let rank = pattern.rank(path).filter(|_| is_asked)?;
            Some((rank, entry.method.is_some(), entry))
        });
        let best = fitting.max_by(|a, b| a.0.cmp(&b.0).then(a.1.cmp(&b.1)));
        best.map(|(_, _, entry)| Arc::clone(entry))
    }

    /// The entry of a tenant for a TCP port.
    pub(super) fn port(&self, tenant: &str, port: u16) -> Option<Arc<Entry>> {
        let mut entries = self.tenant(tenant)?.entries.iter();
        entries.find(|entry| entry.tcp_port() == Some(port)).cloned()
    }

    /// The entry under a key.
    pub(super) fn entry(&self, tenant: &str, key: &str) -> Option<&Arc<Entry>> {
        self.tenant(tenant)?.entries.iter().find(|entry| entry.key == key)
    }

    /// All entries of all tenants.
    pub(super) fn entries(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.tenants.iter().flat_map(|tenant| &tenant.entries)
    }

    /// The entry that a change would make; an empty text removes a member.
    ///
    /// # Errors
    /// The change is wrong; the message says why.
    pub(super) fn changed(
        &self,
        tenant: &str,
        key: &str,
        changes: &[(String, String)],
    ) -> Result<Entry, ConfigError> {
        let holder = self.tenant(tenant).ok_or_else(|| ConfigError::NoTenant(tenant.to_owned()))?;
        let known = self.entry(tenant, key);
        if known.is_none() && holder.entries.len() >= ENTRIES_MAX {
            return Err(ConfigError::Full);
        }
        let mut members = known.map(|entry| entry.members.clone()).unwrap_or_default();
        for (name, text) in changes {
            let value = match (name.as_str(), text.as_str()) {
                (_, "") => {
                    members.remove(name);
                    continue;
                }
                ("https", "true") => Value::Bool(true),
                ("https", "false") => Value::Bool(false),
                (_, text) => Value::from(text),
            };
            members.insert(name.as_str(), value);
        }
        Entry::read(key, &members)
    }

    /// Puts an entry in the place of the one with its key.
    pub(super) fn put(&mut self, tenant: &str, entry: Arc<Entry>) {
        let Some(holder) = self.tenants.iter_mut().find(|holder| holder.name == tenant) else {
            return;
        };
        match holder.entries.iter_mut().find(|known| known.key == entry.key) {
            Some(known) => *known = entry,
            None => holder.entries.push(entry),
        }
    }

    fn tenant(&self, name: &str) -> Option<&Tenant> {
        self.tenants.iter().find(|tenant| tenant.name == name)
    }
}

impl Tenant {
    fn empty(name: &str) -> Self {
        Self { name: name.to_owned(), addresses: Vec::new(), entries: Vec::new() }
    }

    fn read(name: &str, members: &Object) -> Result<Self, ConfigError> {
        let mut tenant = Self::empty(name);
        if members.len() > ENTRIES_MAX {
            return Err(ConfigError::TooMany { most: ENTRIES_MAX, what: "entries" });
        }
        for (key, value) in members.iter() {
            if key == ADDRESSES {
                let elements = value.elements();
                let elements = elements.ok_or_else(|| BehaviourError::kind(ADDRESSES, "list"))?;
                for element in elements.iter() {
                    let address = element.as_str().ok_or(ConfigError::Addresses)?;
                    tenant.addresses.push(address.to_owned());
                }
                continue;
            }
            let Value::Object(entry) = value else {
                return Err(BehaviourError::kind(key, "object").into());
            };
            let entry = Entry::read(key, entry)
                .map_err(|error| ConfigError::Entry(key.to_string(), Box::new(error)))?;
            if let Some(port) = entry.tcp_port()
                && tenant.entries.iter().any(|other| other.tcp_port() == Some(port))
            {
                return Err(ConfigError::SamePort { name: key.to_string(), port });
            }
            tenant.entries.push(Arc::new(entry));
        }
        Ok(tenant)
    }

    fn to_value(&self) -> Value {
        let entries = self.entries.iter().map(|entry| (entry.key.as_str(), entry.to_value()));
        let mut members: Object = entries.collect();
        if !self.addresses.is_empty() {
            let addresses = self.addresses.iter().map(|address| Value::from(address.as_str()));
            members.insert(ADDRESSES, addresses.collect());
        }
        Value::object(members)
    }
}

/// Entries of TCP that have names of their own and say their port beside them, as the first examples of netmorphic
/// wrote them, under their ports; anything else as it is.
fn by_port(members: &Object) -> Result<Object, ConfigError> {
    let port_beside = |value: &Value| value.member(PROXY_PORT);
    let is_named =
        |(name, value): (&Text, &Value)| !is_key(name) && !port_beside(value).is_nothing();
    if members.is_empty() || !members.iter().all(is_named) {
        return Ok(members.clone());
    }
    let mut entries = Object::with_capacity(members.len());
    for (name, value) in members.iter() {
        let port = port_beside(value).scalar_text().unwrap_or_default();
        let Some(Ok(port)) = port_of(&port) else {
            let error = BehaviourError::kind(PROXY_PORT, "port").into();
            return Err(ConfigError::Entry(name.to_string(), Box::new(error)));
        };
        let key = port.to_string();
        if entries.get(&key).is_some() {
            return Err(ConfigError::SamePort { name: name.to_string(), port });
        }
        let Value::Object(members) = value else { continue };
        let kept = members.iter().filter(|(name, _)| *name != PROXY_PORT && *name != PROXY_HOST);
        let kept: Object = kept.map(|(name, value)| (name.clone(), value.clone())).collect();
        entries.insert(key, Value::object(kept));
    }
    Ok(entries)
}

/// Whether the members of a value are entries, and it is none itself.
fn is_tenant(value: &Value) -> bool {
    let Value::Object(members) = value else { return false };
    !members.is_empty() && members.iter().all(|(name, _)| name == ADDRESSES || is_key(name))
}

/// The port that an all-digit key names.
fn port_of(key: &str) -> Option<Result<u16, BehaviourError>> {
    let is_port = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_digit());
    is_port.then(|| key.parse().map_err(|_| BehaviourError::kind(key, "port")))
}

/// Whether a key can stand in a configuration.
pub(super) fn is_key(key: &str) -> bool {
    key.starts_with(['/', '*']) || port_of(key).is_some()
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    fn config(text: &str) -> Result<Config, ConfigError> {
        Config::read(&json::parse_str(text).unwrap())
    }

    #[test]
    fn a_configuration_is_shown_as_it_was_given() {
        for text in [
            r#"{"/a":{"host":"h","port":1,"type":"slow"},"7":{"host":"h","port":2},"addresses":["1.1.1.1"]}"#,
            r#"{"t":{"/a":{"host":"h"},"addresses":["1.1.1.1"]},"global":{}}"#,
            "{}",
        ] {
            assert_eq!(json::to_string(&config(text).unwrap().to_value()), text);
        }
    }

    #[test]
    fn entries_of_tcp_may_have_names_and_say_their_ports() {
        let text = r#"{"orders": {"host": "h", "port": 1, "proxy host": "127.0.0.1", "proxy port": 7, "type": "normal"},
            "stock": {"host": "h", "port": 2, "proxy port": "8", "type": "slow", "latency": 5}}"#;
        let shown = r#"{"7":{"host":"h","port":1,"type":"normal"},"8":{"host":"h","port":2,"type":"slow","latency":5}}"#;
        assert_eq!(json::to_string(&config(text).unwrap().to_value()), shown);
        for (port, wanted) in [
            (r#""x""#, "`b`: `proxy port` is no port"),
            ("70000", "`b`: `proxy port` is no port"),
            ("7", "`b`: another entry has the port 7"),
            (r#""07""#, "`b`: another entry has the port 7"),
        ] {
            let text = format!(
                r#"{{"a": {{"host": "h", "proxy port": 7}}, "b": {{"host": "h", "proxy port": {port}}}}}"#
            );
            assert_eq!(config(&text).unwrap_err().to_string(), wanted);
        }
        let twice = r#"{"7": {"host": "h", "port": 1}, "07": {"host": "h", "port": 2}}"#;
        let error = config(twice).unwrap_err().to_string();
        assert_eq!(error, "`07`: another entry has the port 7");
    }

    #[test]
    fn clients_belong_to_the_tenant_that_lists_them() {
        let config = config(r#"{"t": {"addresses": ["1.1.1.1"], "/a": {"host": "t"}}, "global": {"*": {"host": "g"}}}"#).unwrap();
        assert_eq!((config.tenant_of("1.1.1.1"), config.tenant_of("2.2.2.2")), ("t", GLOBAL));
        assert!(config.route("t", &Method::GET, "/b").is_none());
        assert_eq!(config.route(GLOBAL, &Method::GET, "/b").unwrap().key, "*");
    }

    #[test]
    fn the_most_exact_entry_that_takes_the_method_is_chosen() {
        let config = config(
            r#"{"*": {"host": "h"}, "/a/{x}": {"host": "h", "method": "get", "url": "/b/{x}"}, "/a/c": {"host": "h", "method": "POST"}}"#,
        )
        .unwrap();
        let key = |method: Method, path| config.route(GLOBAL, &method, path).unwrap().key.clone();
        assert_eq!(key(Method::POST, "/a/c"), "/a/c");
        assert_eq!(key(Method::GET, "/a/c"), "/a/{x}");
        assert_eq!(key(Method::PUT, "/a/c"), "*");
        let entry = config.route(GLOBAL, &Method::GET, "/a/q%20r").unwrap();
        assert_eq!(entry.upstream_path("/a/q%20r"), "/b/q%20r");
    }

    #[test]
    fn a_change_keeps_the_order_and_makes_numbers_of_texts() {
        let config = config(r#"{"/books":{"host":"localhost","port":17401,"type":"slow","latency":300,"method":"get"}}"#).unwrap();
        let changes =
            [("type", "status"), ("code", "503")].map(|(n, v)| (n.to_owned(), v.to_owned()));
        let entry = config.changed(GLOBAL, "/books", &changes).unwrap();
        assert_eq!(
            json::to_string(&entry.to_value()),
            r#"{"host":"localhost","port":17401,"type":"status","latency":300,"method":"get","code":503}"#
        );
        let removal = [("latency".to_owned(), String::new())];
        let entry = config.changed(GLOBAL, "/books", &removal).unwrap();
        assert!(entry.members.get("latency").is_none());
    }

    #[test]
    fn what_published_configurations_say_is_understood() {
        let config = config(
            r#"{"1.1.1.1": {"/{x}": {"host": "t", "port": 1, "url": "/x.json", "type": "slow", "latency": 5}},
                "*": {"*": {"host": "g", "url": "", "lo": 1, "high": 2, "type": "flakey"},
                      "12000": {"host": null, "port": null, "type": "tcp-internet", "code": 1, "script": "a.js"}}}"#,
        )
        .unwrap();
        assert_eq!((config.tenant_of("1.1.1.1"), config.tenant_of("2.2.2.2")), ("1.1.1.1", GLOBAL));
        assert_eq!(config.route("1.1.1.1", &Method::GET, "/a").unwrap().key, "/{x}");
        let entry = config.route(GLOBAL, &Method::GET, "/a/b").unwrap();
        assert_eq!(entry.upstream_path("/a/b"), "/a/b");
        assert_eq!(entry.members.get("hi"), Some(&Value::from(2)));
        let own = config.port(GLOBAL, 12_000).unwrap();
        assert_eq!((own.behaviour.unknown_type(), &own.target), (Some("tcp-internet"), &None));
        assert_eq!(own.members.get("script"), Some(&Value::from("a.js")));
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (text, message) in [
            ("[]", "the configuration must be one JSON object"),
            (
                r#"{"/a": {"host": "h"}, "t": {}}"#,
                "`t` is no path, no `*` and no port; tenants and entries can not be mixed",
            ),
            (r#"{"/a": 1}"#, "`/a` is no object"),
            (r#"{"/a": {}}"#, "`/a`: it needs a `host`"),
            (r#"{"/a": {"host": "h", "height": 1}}"#, "`/a`: `height` is not known"),
            (r#"{"/a": {"host": "h", "hi": 1, "high": 1}}"#, "`/a`: `high` is not known"),
            (
                r#"{"*": {"/a": {"host": "h"}}, "global": {}}"#,
                "`*` and `global` are the same tenant",
            ),
            (r#"{"70000": {"host": "h"}}"#, "`70000`: `70000` is no port"),
            (r#"{"/a": {"host": "h", "port": 0}}"#, "`/a`: `port` is no port"),
            (r#"{"/a": {"host": "h", "url": "b"}}"#, "`/a`: `url` must begin with `/`"),
            (r#"{"t": {"addresses": "all"}}"#, "tenant `t`: `addresses` is no list"),
        ] {
            assert_eq!(config(text).unwrap_err().to_string(), message);
        }
        assert!(config(r#"{"/a": {"type": "status"}, "/b": {"type": "drop"}}"#).is_ok());
    }
}
