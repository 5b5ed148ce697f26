//! Settings of traces. They mean what OpenTelemetry's variables of the same purpose mean.

use std::time::Duration;

use qlio_data::{percent, redact::SECRET_BYTES_MIN};

/// From whom a trace is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TraceTrust {
    /// From proxies of `trust.proxies`.
    #[default]
    Trusted,
    /// From everybody.
    All,
    /// From nobody.
    None,
}

/// Which requests are recorded; the names are those of OpenTelemetry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Sampler {
    /// All.
    AlwaysOn,
    /// None.
    AlwaysOff,
    /// A part of all traces.
    Ratio,
    /// As whoever is before us has decided; all that begin here.
    #[default]
    ParentOn,
    /// As whoever is before us has decided; none that begin here.
    ParentOff,
    /// As whoever is before us has decided; a part of those that begin here.
    ParentRatio,
}

/// How spans go over the wire. There is one way, so that who asks for another is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ExportProtocol {
    /// Protocol Buffers over HTTP.
    #[default]
    HttpProtobuf,
}

/// A part of something, from nothing to all.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fraction(f64);

/// It is never what is unequal to itself.
impl Eq for Fraction {}

impl Fraction {
    /// Everything.
    pub const ALL: Self = Self(1.0);

    /// Nothing if the number is not from 0 to 1.
    pub fn new(number: f64) -> Option<Self> {
        (0.0..=1.0).contains(&number).then_some(Self(number))
    }

    /// The number from 0 to 1.
    pub fn get(self) -> f64 {
        self.0
    }
}

/// Settings of traces.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceSettings {
    /// From whom a trace is taken up.
    pub accept: TraceTrust,
    /// Nothing is recorded, whatever else is said.
    pub is_disabled: bool,
    /// Where spans go; without it none are made.
    pub endpoint: Option<String>,
    /// Headers for that: `name=value`, joined by commas.
    pub headers: Option<String>,
    /// How they go there.
    pub protocol: ExportProtocol,
    /// How long the collector may take for one request.
    pub timeout: Duration,
    /// Which requests are recorded.
    pub sampler: Sampler,
    /// The part of them that some samplers record.
    pub ratio: Fraction,
    /// What this server is called there.
    pub service: Option<String>,
    /// What else is said of it: `name=value`, joined by commas.
    pub resource: Option<String>,
    /// Spans that may wait.
    pub queue_max: usize,
}

impl Default for TraceSettings {
    fn default() -> Self {
        Self {
            accept: TraceTrust::default(),
            is_disabled: false,
            endpoint: None,
            headers: None,
            protocol: ExportProtocol::default(),
            timeout: Duration::from_secs(10),
            sampler: Sampler::default(),
            ratio: Fraction::ALL,
            service: None,
            resource: None,
            queue_max: 2048,
        }
    }
}

impl TraceSettings {
    /// Where spans are sent to, if they are.
    pub(super) fn uri(&self) -> Option<String> {
        let endpoint = self.endpoint.as_deref().filter(|_| !self.is_disabled)?;
        Some(format!("{}/v1/traces", endpoint.trim_end_matches('/')))
    }

    /// What must not be shown of the headers, as it is written and as it is sent.
    pub fn header_values(&self) -> Vec<String> {
        let text = self.headers.as_deref().unwrap_or_default();
        let written = text.split(',').filter_map(|pair| pair.split_once('='));
        let written = written.map(|(_, value)| value.trim().to_owned());
        let sent = pairs_of(text).unwrap_or_default().into_iter().map(|(_, value)| value);
        written.chain(sent).filter(|value| value.len() >= SECRET_BYTES_MIN).collect()
    }

    /// What is said of this server, its name first.
    pub(super) fn resource(&self) -> Vec<(String, String)> {
        let said = pairs_of(self.resource.as_deref().unwrap_or_default()).unwrap_or_default();
        let named = said.iter().find(|(name, _)| name == SERVICE_NAME).map(|(_, name)| name);
        let service = self.service.as_ref().or(named).map_or("qlio", String::as_str).to_owned();
        let version = (SERVICE_VERSION.to_owned(), env!("CARGO_PKG_VERSION").to_owned());
        let has_version = said.iter().any(|(name, _)| name == SERVICE_VERSION);
        let mut resource = vec![(SERVICE_NAME.to_owned(), service)];
        resource.extend((!has_version).then_some(version));
        resource.extend(said.into_iter().filter(|(name, _)| name != SERVICE_NAME));
        let sdk = [("name", "qlio"), ("language", "rust"), ("version", env!("CARGO_PKG_VERSION"))];
        let sdk = sdk.map(|(name, value)| (format!("telemetry.sdk.{name}"), value.to_owned()));
        resource.extend(sdk);
        resource
    }
}

const SERVICE_NAME: &str = "service.name";
const SERVICE_VERSION: &str = "service.version";

/// Whether spans can be sent to a text, which is a URI of HTTP.
pub(crate) fn is_endpoint(text: &str) -> bool {
    let uri = text.parse::<hyper::Uri>().ok();
    uri.is_some_and(|uri| {
        let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
        is_http && uri.host().is_some_and(|host| !host.is_empty()) && uri.query().is_none()
    })
}

/// Whether a text is a list of names with values.
pub(crate) fn is_list_of_pairs(text: &str) -> bool {
    pairs_of(text).is_some()
}

/// Whether a text is a list of headers.
pub(crate) fn is_list_of_headers(text: &str) -> bool {
    super::exporter::headers_of(text).is_some()
}

/// `name=value,name=value`; a comma in a value is written `%2C`.
pub(super) fn pairs_of(text: &str) -> Option<Vec<(String, String)>> {
    let pairs = text.split(',').map(str::trim).filter(|pair| !pair.is_empty());
    let read = |pair: &str| {
        let (name, value) = pair.split_once('=')?;
        let name = name.trim();
        let value = percent::decode(value.trim()).ok()?;
        (!name.is_empty()).then(|| (name.to_owned(), value.into_owned()))
    };
    pairs.map(read).collect::<Option<Vec<_>>>().filter(|pairs| !pairs.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_is_called_by_its_own_setting_first() {
        let name = |service: Option<&str>, resource: Option<&str>| {
            let [service, resource] = [service, resource].map(|text| text.map(str::to_owned));
            let settings = TraceSettings { service, resource, ..TraceSettings::default() };
            settings.resource()[0].clone().1
        };
        assert_eq!(name(None, None), "qlio");
        assert_eq!(name(None, Some("a=1,service.name=shop")), "shop");
        assert_eq!(name(Some("own"), Some("a=1,service.name=shop")), "own");
        let resource = Some("service.version=7, region=a%2Cb".to_owned());
        let settings = TraceSettings { resource, ..TraceSettings::default() };
        let pairs = [("service.name", "qlio"), ("service.version", "7"), ("region", "a,b")];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(settings.resource()[..3], pairs);
    }

    #[test]
    fn values_of_headers_are_secrets_in_both_forms() {
        let headers = Some("authorization=Bearer%20t0ken-of-mine, x=1".to_owned());
        let settings = TraceSettings { headers, ..TraceSettings::default() };
        assert_eq!(settings.header_values(), ["Bearer%20t0ken-of-mine", "Bearer t0ken-of-mine"]);
    }

    #[test]
    fn what_cannot_be_used_is_known() {
        for text in ["http://a:4318", "https://a/otlp/"] {
            assert!(is_endpoint(text), "{text}");
        }
        for text in ["a:4318", "grpc://a", "http://", "/v1", "http://a?b"] {
            assert!(!is_endpoint(text), "{text}");
        }
        assert!([0.0, 0.25, 1.0].iter().all(|number| Fraction::new(*number).is_some()));
        assert!(![1.5, -0.1, f64::NAN].iter().any(|number| Fraction::new(*number).is_some()));
        assert!(is_list_of_headers("a=b,c=d%20e"));
        assert!(!["", "a", "=b", "a b=c", "a=%0a"].iter().any(|text| is_list_of_headers(text)));
    }

    #[test]
    fn nothing_is_sent_where_it_is_switched_off() {
        let endpoint = Some("http://a:4318/".to_owned());
        let settings = TraceSettings { endpoint, ..TraceSettings::default() };
        assert_eq!(settings.uri().as_deref(), Some("http://a:4318/v1/traces"));
        assert_eq!(TraceSettings { is_disabled: true, ..settings }.uri(), None);
    }
}
