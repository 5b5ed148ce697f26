//! Settings out of the environment: each has a variable of its own, called after its path.
//!
//! In: variables that begin with [`PREFIX`]. Out: the setting that each stands for and its value, or that none is
//! called so. Which variables the process has is read by [`environment`](super::environment).

use std::collections::BTreeMap;

use qlio_data::{Value, codec::json};
use qlio_syntax::spelling;

use super::{setting::Setting, slot::Kind, table};

/// What the names of all variables of ours begin with.
pub(super) const PREFIX: &str = "QLIO_";

/// Variables of the shell and of the scripts around the program, which are no settings.
const OTHERS: [&str; 5] =
    ["QLIO_BUILD", "QLIO_CONFORMANCE", "QLIO_EXECUTABLE", "QLIO_HISTORY", "QLIO_INSTALL"];

/// The variables of the process that may be settings; of what is no UTF-8 there is only the name.
pub type Variables = BTreeMap<String, Option<String>>;

/// The variable of a setting: `QLIO_`, then its path in capitals, with `_` for each dot and before each word.
pub(super) fn name_of(path: &str) -> String {
    let mut name = PREFIX.to_owned();
    let mut before = '.';
    // A unit is one word.
    for character in path.replace("MiB", "Mib").chars() {
        if character.is_ascii_uppercase() && before.is_ascii_lowercase() {
            name.push('_');
        }
        name.push(if character == '.' { '_' } else { character.to_ascii_uppercase() });
        before = character;
    }
    name
}

impl Setting {
    /// The value that the text of its variable stands for: a list has commas, an object is JSON.
    pub(super) fn value_of_variable(kind: &Kind, text: &str) -> Value {
        match kind {
            Kind::Texts => text
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(Value::from)
                .collect(),
            Kind::Proxies => {
                json::parse_str(text).map_or_else(|_| Value::from(text), |value| value.into_tree())
            }
            _ => Value::from(text),
        }
    }
}

/// Whether a variable is one under which others know a setting.
pub(super) fn is_standard(name: &str) -> bool {
    table::all().any(|setting| setting.standard == Some(name))
}

/// The variables that are no settings, and which was probably meant. `named` are those that the settings file
/// itself refers to.
pub(super) fn find_unknown(
    variables: &Variables,
    named: impl Fn(&str) -> bool,
) -> Vec<(String, Option<&'static Setting>)> {
    let known: BTreeMap<String, &Setting> =
        table::all().map(|setting| (name_of(setting.name), setting)).collect();
    let is_other = |name: &str, value: Option<&str>| {
        known.contains_key(name)
            || OTHERS.contains(&name)
            || is_standard(name)
            || named(name)
            || is_link_of_kubernetes(name, value.unwrap_or_default())
    };
    let unknown = variables.iter().filter(|(name, value)| !is_other(name, value.as_deref()));
    unknown
        .map(|(name, _)| {
            let meant = spelling::closest(name, known.keys().map(String::as_str));
            (name.clone(), meant.and_then(|meant| known.get(meant).copied()))
        })
        .collect()
}

/// Whether Kubernetes has set this, as it does in every container beside a service whose name begins with `qlio`.
fn is_link_of_kubernetes(name: &str, value: &str) -> bool {
    let of_port = name.split_once("_PORT_").is_some_and(|(_, rest)| {
        let number = rest.split('_').next().unwrap_or_default();
        !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    });
    of_port
        || name.ends_with("_SERVICE_HOST")
        || name.contains("_SERVICE_PORT")
        || name.ends_with("_PORT") && value.contains("://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_setting_has_a_variable_of_its_own() {
        for (path, name) in [
            ("timeout", "QLIO_TIMEOUT"),
            ("maxNestedRequests", "QLIO_MAX_NESTED_REQUESTS"),
            ("client_params", "QLIO_CLIENT_PARAMS"),
            ("adhoc.limits.memoryMiB", "QLIO_ADHOC_LIMITS_MEMORY_MIB"),
            ("limits.cpuMs", "QLIO_LIMITS_CPU_MS"),
        ] {
            assert_eq!(name_of(path), name);
        }
        let mut names: Vec<String> = table::all().map(|setting| name_of(setting.name)).collect();
        assert!(names.iter().all(|name| {
            name.bytes()
                .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
                && !name.contains("__")
                && !OTHERS.contains(&&**name)
        }));
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "two settings share a variable");
    }

    #[test]
    fn a_variable_that_is_no_setting_is_unknown_with_the_one_that_was_meant() {
        let variables: Variables = [
            ("QLIO_TIMEOUT", "5"),
            ("QLIO_TIMOUT", "5"),
            ("QLIO_SHOP_KEY", "k"),
            ("QLIO_OTHER", "k"),
            ("QLIO_EXECUTABLE", "/a"),
            ("QLIO_PORT", "tcp://10.0.0.1:3000"),
            ("QLIO_PORT_3000_TCP_ADDR", "10.0.0.1"),
            ("QLIO_ADMIN_SERVICE_HOST", "10.0.0.1"),
            ("QLIO_SERVICE_PORT_HTTP", "3000"),
        ]
        .map(|(name, value)| (name.to_owned(), Some(value.to_owned())))
        .into();
        let unknown = find_unknown(&variables, |name| name == "QLIO_SHOP_KEY");
        let unknown: Vec<_> = unknown
            .iter()
            .map(|(name, meant)| (name.as_str(), meant.map(|setting| setting.name)))
            .collect();
        assert_eq!(unknown, [("QLIO_OTHER", None), ("QLIO_TIMOUT", Some("timeout"))]);
    }
}
