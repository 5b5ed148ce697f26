//! Settings that qlio does not know, most likely because they are misspelt.
//!
//! In: the settings object. Out: the paths that nothing reads, each with what was meant, if that can
//! be guessed. The object is also free data for scripts (`server.md` 3.2), so a name at the top that
//! resembles no setting is none of our business; inside of the objects that are ours every name must
//! be known.

use qlio_data::Value;
use qlio_syntax::spelling;

/// The settings at the top; those that are objects are also in [`SECTIONS`].
const TOP: &[&str] = &[
    "adhoc",
    "backoff",
    "cache",
    "client_params",
    "connection",
    "ecvControl",
    "ecvPath",
    "egress",
    "hooks",
    "logs",
    "maxDecodedLength",
    "maxJoinRows",
    "maxNestedRequests",
    "maxRequestLength",
    "maxRequests",
    "maxResponseLength",
    "maxResponseSize",
    "proxy",
    "request-id",
    "requestId",
    "secrets",
    "timeout",
    "tls",
    "trace",
    "userAgent",
    "wsMaxFrame",
    "wsMaxMessage",
    "wsOrigins",
    "wsPingInterval",
    "wsPongTimeout",
    "xml",
];

/// Objects that are ours, by path, and what they may hold; `*` stands for any name.
const SECTIONS: &[(&[&str], &[&str])] = &[
    (&["adhoc"], &["config"]),
    (&["backoff"], &["scope"]),
    (&["cache"], CACHE),
    (&["cache", "options"], CACHE),
    (&["cache", "options", "options"], CACHE),
    (&["egress"], &["allow", "deny"]),
    (&["hooks"], &["async", "memoryMiB", "timeMs"]),
    (&["proxy", "*"], &["host", "password", "port", "user"]),
    (&["tls"], &["caFile", "clientCert", "clientKey", "insecureHosts"]),
    (&["xml"], &["coerce"]),
];

/// The cache's settings may stand in any of its three objects.
const CACHE: &[&str] = &[
    "cluster",
    "config",
    "heartbeatMs",
    "impl",
    "localBytes",
    "localSeconds",
    "maxBytes",
    "maxValue",
    "options",
    "poolSize",
    "retryMs",
    "sharedWaitMs",
    "timeoutMs",
];

/// A setting that nothing reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    /// Its dotted path.
    pub(super) path: String,
    /// The setting of this place that is spelt almost like it.
    pub(super) meant: Option<&'static str>,
}

/// All unknown settings, those at the top first.
pub(super) fn find(config: &Value) -> Vec<Unknown> {
    let mut found = Vec::new();
    for name in names(config) {
        if !TOP.contains(&name.as_str())
            && let Some(meant) = spelling::closest(&name, TOP.iter().copied())
        {
            found.push(Unknown { path: name, meant: Some(meant) });
        }
    }
    for (path, known) in SECTIONS {
        inspect(config, path, "", known, &mut found);
    }
    found
}

/// Follows the rest of a section's path, then looks at its names.
fn inspect(
    value: &Value,
    rest: &[&str],
    path: &str,
    known: &[&'static str],
    found: &mut Vec<Unknown>,
) {
    let inside =
        |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    match rest.split_first() {
        Some((&"*", rest)) => {
            for name in names(value) {
                inspect(&value.member(&name), rest, &inside(&name), known, found);
            }
        }
        Some((name, rest)) => inspect(&value.member(name), rest, &inside(name), known, found),
        None => {
            for name in names(value) {
                if !known.contains(&name.as_str()) {
                    let meant = spelling::closest(&name, known.iter().copied());
                    found.push(Unknown { path: inside(&name), meant });
                }
            }
        }
    }
}

/// The names of an object's members; of anything else none.
fn names(value: &Value) -> Vec<String> {
    match &*value.open() {
        Value::Object(object) => object.iter().map(|(name, _)| name.to_string()).collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    fn found(text: &str) -> Vec<(String, Option<&'static str>)> {
        let unknown = find(&json::parse_str(text).unwrap());
        unknown.into_iter().map(|unknown| (unknown.path, unknown.meant)).collect()
    }

    #[test]
    fn at_the_top_only_what_resembles_a_setting_is_unknown() {
        assert_eq!(
            found(r#"{"maxNestedRequest": 5, "TIMEOUT": 1, "shop": {"host": "h"}, "timeout": 2}"#),
            [
                ("maxNestedRequest".to_owned(), Some("maxNestedRequests")),
                ("TIMEOUT".to_owned(), Some("timeout"))
            ]
        );
    }

    #[test]
    fn objects_of_ours_hold_only_what_we_know() {
        assert_eq!(
            found(
                r#"{"tls": {"cafile": "x", "pem": "y"}, "proxy": {"*": {"hots": "p"}, "h": {}},
                    "cache": {"impl": "redis", "options": {"config": "h:1", "options": {"poolsize": 3}}}}"#
            ),
            [
                ("cache.options.options.poolsize".to_owned(), Some("poolSize")),
                ("proxy.*.hots".to_owned(), Some("host")),
                ("tls.cafile".to_owned(), Some("caFile")),
                ("tls.pem".to_owned(), None),
            ]
        );
        assert_eq!(found(r#"{"tls": 1, "xml": [], "cache": {"options": ["h:1"]}}"#), []);
        assert_eq!(found("[1]"), []);
    }

    /// The names in the lists must be those that the readers look up, so a new setting is not
    /// called unknown.
    #[test]
    fn every_name_that_is_read_is_known() {
        let sources = [
            include_str!("../config.rs"),
            include_str!("front.rs"),
            include_str!("../../../engine/src/settings.rs"),
            include_str!("../../../engine/src/cache/settings.rs"),
        ];
        let lookups = [
            "member(\"",
            "count(\"",
            "count(&[\"",
            "duration(\"",
            "text(\"",
            "choice(\n            \"",
        ];
        let known = |name: &str| {
            TOP.contains(&name) || SECTIONS.iter().any(|(_, names)| names.contains(&name))
        };
        let mut looked_up = 0;
        for source in sources {
            let code = source.split("#[cfg(test)]").next().unwrap();
            for lookup in lookups {
                for rest in code.split(lookup).skip(1) {
                    let name = rest.split('"').next().unwrap();
                    assert!(known(name), "`{name}` is read, but not in the lists");
                    looked_up += 1;
                }
            }
        }
        assert!(looked_up > 20, "{looked_up}");
    }
}
