//! All settings, one row for each: name, place in the typed settings, bounds, documentation.
//!
//! Reading, unknown names, the reference page, the JSON schema and `qlio config show` come from these
//! rows. A new setting is a field of the typed settings, with its default there, and one row here.

mod admin;
mod cache;
mod clients;
mod connections;
mod endpoints;
mod heavy;
mod hooks;
mod limits;
mod listen;
mod run;
mod secrets;
mod stdout;
mod stopping;
mod traces;
mod upstreams;

use qlio_engine::transport::HostPattern;

use super::setting::{Setting, TextRule};

/// Settings on one topic.
pub(super) struct Group {
    /// The heading on the reference page.
    pub(super) title: &'static str,
    /// In the order of the page.
    pub(super) settings: &'static [Setting],
}

/// All settings.
pub(super) fn all() -> impl Iterator<Item = &'static Setting> + Clone {
    GROUPS.iter().flat_map(|group| group.settings)
}

/// Whether a path is that of a setting that guards the server, or stands inside of it; or is no setting
/// and stands beside one, or may hold one.
pub(super) fn concerns_guard(path: &str) -> bool {
    let is_inside = |path: &str, outer: &str| {
        let rest = path.strip_prefix(outer);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
    };
    let named = all().flat_map(|setting| setting.spellings().map(move |name| (name, setting)));
    let named = named.filter(|(name, _)| is_inside(path, name));
    // `adhoc` is another name of `adhoc.enabled`, and holds others, too.
    if let Some((_, setting)) = named.max_by_key(|(name, _)| name.len()) {
        return setting.is_guard;
    }
    all().filter(|setting| setting.is_guard).flat_map(Setting::spellings).any(|name| {
        let section = name.rsplit_once('.').map(|(section, _)| section);
        is_inside(&name, path) || section.is_some_and(|section| is_inside(path, section))
    })
}

/// Whether a name can be the name of a header.
fn is_header_name(name: &str) -> bool {
    hyper::header::HeaderName::from_bytes(name.as_bytes()).is_ok()
}

const HEADER_NAME: TextRule = TextRule { accepts: is_header_name, wanted: "the name of a header" };

const HOST_PATTERN: TextRule = TextRule {
    accepts: |text| HostPattern::parse(text).is_some(),
    wanted: "a host pattern such as `host`, `*.domain`, `host:port` or a network",
};

/// Longest time that may be set, in milliseconds or seconds.
const TIME_MAX: u64 = u32::MAX as u64;

pub(super) static GROUPS: &[Group] = &[
    Group { title: "Limits", settings: limits::SETTINGS },
    Group { title: "What one run may use", settings: run::SETTINGS },
    Group { title: "Heavy threads", settings: heavy::SETTINGS },
    Group { title: "What clients may do and see", settings: clients::SETTINGS },
    Group { title: "Calling upstreams", settings: upstreams::SETTINGS },
    Group { title: "Hooks and script functions", settings: hooks::SETTINGS },
    Group { title: "Response cache", settings: cache::SETTINGS },
    Group { title: "Listening, TLS and HTTP/2", settings: listen::SETTINGS },
    Group { title: "Connections of clients", settings: connections::SETTINGS },
    Group { title: "The admin listener", settings: admin::SETTINGS },
    Group { title: "Lines on stdout", settings: stdout::SETTINGS },
    Group { title: "Traces of servers", settings: traces::SETTINGS },
    Group { title: "Stopping", settings: stopping::SETTINGS },
    Group { title: "Endpoints and logs", settings: endpoints::SETTINGS },
    Group { title: "Secrets", settings: secrets::SETTINGS },
];
