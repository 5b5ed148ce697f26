//! Names in a settings file that no setting has, most likely because they are misspelt.
//!
//! The file also holds data for scripts. So a name at the top that resembles no setting is none of
//! our business; inside of the objects that are ours every name must be known.

use std::collections::{BTreeSet, VecDeque};

use qlio_data::Value;
use qlio_syntax::spelling;

use super::{
    setting::Draft,
    slot::{Kind, PROXY_MEMBERS},
    table,
};

/// A name that nothing reads.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unknown {
    /// Its dotted path.
    pub(super) path: String,
    /// The name of this place that is spelt almost like it.
    pub(super) meant: Option<String>,
}

/// All paths that settings may stand at, with those of the objects around them; `*` is any name.
pub(super) struct Names {
    paths: BTreeSet<String>,
    /// Those that are no settings, but hold some.
    sections: BTreeSet<String>,
}

impl Names {
    /// The names of the table.
    pub(super) fn of_table() -> Self {
        let mut paths = BTreeSet::new();
        let mut draft = Draft::new(false);
        for setting in table::all() {
            for path in setting.spellings() {
                let ends = path.match_indices('.').map(|(end, _)| end);
                paths.extend(ends.map(|end| path[..end].to_owned()));
                paths.insert(path);
            }
            if setting.slot(&mut draft).kind() == Kind::Proxies {
                let members = PROXY_MEMBERS.iter().map(|(member, ..)| member);
                paths.extend(members.map(|member| format!("{}.*.{member}", setting.name)));
                paths.insert(format!("{}.*", setting.name));
            }
        }
        let is_setting = |path: &str| {
            table::all().any(|setting| setting.spellings().any(|spelling| spelling == path))
        };
        let sections = paths.iter().filter(|path| !path.contains('*') && !is_setting(path));
        Self { sections: sections.cloned().collect(), paths }
    }

    /// Objects with settings in which something else stands.
    pub(super) fn find_misplaced(&self, values: &Value) -> Vec<(&str, Value)> {
        let sections = self.sections.iter().map(|path| (path.as_str(), super::at(values, path)));
        sections.filter(|(_, value)| !value.is_absent() && !value.is_object()).collect()
    }

    /// Whether a setting, or an object with settings, is called so.
    pub(super) fn is_known(&self, path: &str) -> bool {
        self.paths.contains(path)
    }

    /// Whether settings stand inside of the object at this path.
    pub(super) fn is_section(&self, path: &str) -> bool {
        self.inside(path).next().is_some()
    }

    /// The names that an object at this path may have.
    fn inside<'n>(&'n self, path: &'n str) -> impl Iterator<Item = &'n str> {
        self.paths.iter().filter_map(move |known| {
            let name = match path {
                "" => known,
                _ => known.strip_prefix(path)?.strip_prefix('.')?,
            };
            (!name.contains('.')).then_some(name)
        })
    }

    /// All names in a settings object that nothing reads, the outer ones first.
    pub(super) fn find_unknown(&self, values: &Value) -> Vec<Unknown> {
        let mut found = Vec::new();
        let mut sections = VecDeque::from([(String::new(), String::new(), values.clone())]);
        // As deep as the names of settings go.
        while let Some((shown, path, value)) = sections.pop_front() {
            let Value::Object(object) = &*value.open() else { continue };
            for (name, value) in object.iter() {
                let within = |outer: &str, name: &str| {
                    if outer.is_empty() { name.to_owned() } else { format!("{outer}.{name}") }
                };
                let (shown, any) = (within(&shown, name), within(&path, "*"));
                let inner = if self.paths.contains(&any) { any } else { within(&path, name) };
                if self.paths.contains(&inner) {
                    sections.push_back((shown, inner, value.clone()));
                    continue;
                }
                let meant = spelling::closest(name, self.inside(&path)).map(str::to_owned);
                if !path.is_empty() || meant.is_some() {
                    found.push(Unknown { path: shown, meant });
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use qlio_data::codec::json;

    use super::*;

    fn found(text: &str) -> Vec<(String, Option<String>)> {
        let unknown = Names::of_table().find_unknown(&json::parse_str(text).unwrap());
        unknown.into_iter().map(|unknown| (unknown.path, unknown.meant)).collect()
    }

    fn expected(names: &[(&str, Option<&str>)]) -> Vec<(String, Option<String>)> {
        let owned =
            |(path, meant): &(&str, Option<&str>)| ((*path).to_owned(), meant.map(str::to_owned));
        names.iter().map(owned).collect()
    }

    #[test]
    fn at_the_top_only_what_resembles_a_setting_is_unknown() {
        assert_eq!(
            found(r#"{"maxNestedRequest": 5, "TIMEOUT": 1, "shop": {"host": "h"}, "timeout": 2}"#),
            expected(&[
                ("maxNestedRequest", Some("maxNestedRequests")),
                ("TIMEOUT", Some("timeout"))
            ])
        );
    }

    #[test]
    fn objects_of_ours_hold_only_known_names() {
        assert_eq!(
            found(
                r#"{"tls": {"cafile": "x", "pem": "y"}, "proxy": {"*": {"hots": "p"}, "h": {}},
                    "cache": {"impl": "redis", "options": {"config": "h:1", "options": {"poolsize": 3}}},
                    "adhoc": {"enable": true}, "requestId": {"header": "x-id"}}"#
            ),
            expected(&[
                ("tls.cafile", Some("caFile")),
                ("tls.pem", None),
                ("adhoc.enable", Some("enabled")),
                ("proxy.*.hots", Some("host")),
                ("cache.options.options.poolsize", Some("poolSize")),
            ])
        );
        let misplaced =
            json::parse_str(r#"{"tls": 1, "adhoc": true, "cache": {"options": "h:1"}}"#);
        let names = Names::of_table();
        let misplaced = names.find_misplaced(&misplaced.unwrap());
        assert_eq!(misplaced, [("tls", Value::int(1))]);
        assert_eq!(found(r#"{"tls": 1, "xml": [], "cache": {"options": ["h:1"]}}"#), []);
        assert_eq!(found("[1]"), []);
    }
}
