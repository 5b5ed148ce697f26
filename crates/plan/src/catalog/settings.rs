//! Settings in tables: filling `{config.x.y}` when a table is declared (CON-12), and which
//! headers are made from settings, so that logs can leave their values out (LOG-6).

use qlio_data::{Value, template::Template, uri_template::UriTemplate};
use qlio_syntax::{
    ast,
    diagnostic::{Diagnostic, codes},
    source::Span,
    spelling,
};

use super::literal_text;

/// Replaces each `{config.…}` token that names a scalar by its raw text; empty text and structures
/// count as not found and stay as they are.
pub fn fill_settings(text: &str, config: &Value) -> String {
    UriTemplate::substitute_config(text, &|path| {
        let mut value = config.clone();
        for step in path.split('.') {
            value = value.member(step);
        }
        value.scalar_text().filter(|text| !text.is_empty()).map(|text| text.to_string())
    })
}

/// The values of the settings that a table, script or template mentions: they reach requests, so nobody
/// is told them, but for addresses without credentials: an error that hides whom it is about helps nobody.
/// A mention in a comment counts too, which hides too much rather than too little.
pub(super) fn mentioned_values(text: &str, config: &Value) -> Vec<String> {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '$' | '.');
    let mut values = Vec::new();
    for (start, mention) in text.match_indices(MENTION) {
        if text[..start].chars().next_back().is_some_and(is_path) {
            continue;
        }
        let rest = &text[start + mention.len()..];
        let path = rest.split(|c| !is_path(c)).next().unwrap_or_default().trim_end_matches('.');
        let found = path.split('.').fold(config.clone(), |value, step| value.member(step));
        let value = found.scalar_text().filter(|text| !is_plain_address(text));
        values.extend(value.map(|text| text.to_string()));
    }
    values
}

/// Whether a text is the address of a server or of a path on it, without user-info and query.
fn is_plain_address(text: &str) -> bool {
    let rest = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    rest.is_some_and(|rest| !rest.contains(['@', '?', '#']))
}

/// How the path of a setting begins.
const MENTION: &str = "config.";

/// A setting that a text names and that has no value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingSetting {
    /// Its dotted path.
    pub path: String,
    /// The path of a setting that is spelt almost like it.
    meant: Option<String>,
}

impl MissingSetting {
    /// The setting of this path, if it has no value. Empty text, zero and false are values, and so is
    /// whatever a list may answer to a name.
    fn find<'s>(steps: impl Iterator<Item = &'s str>, config: &Value) -> Option<Self> {
        // Settings that are hidden from a script are no fault of the operator.
        if !config.is_object() {
            return None;
        }
        let steps: Vec<&str> = steps.collect();
        let mut around = config.clone();
        for (depth, step) in steps.iter().enumerate() {
            if around.is_array() {
                return None;
            }
            let value = around.member(step);
            if !value.is_nothing() {
                around = value;
                continue;
            }
            let names: Vec<String> = match &*around.open() {
                Value::Object(object) => object.iter().map(|(name, _)| name.to_string()).collect(),
                _ => Vec::new(),
            };
            let path = steps.join(".");
            let meant =
                spelling::closest(step, names.iter().map(String::as_str)).and_then(|name| {
                    let rest = &steps[depth + 1..];
                    let value =
                        rest.iter().fold(around.member(name), |value, step| value.member(step));
                    let corrected = [&steps[..depth], &[name], rest].concat().join(".");
                    (!value.is_nothing()).then_some(corrected)
                });
            return Some(Self { path, meant });
        }
        None
    }

    /// All settings without a value that the tokens of a template name.
    pub(crate) fn all_in(template: &Template, config: &Value) -> Vec<Self> {
        let paths = template.paths_below(ROOT).into_iter();
        paths.filter_map(|steps| Self::find(steps.iter().map(|step| &**step), config)).collect()
    }

    /// All of them that the tokens of an address or a form name.
    pub(super) fn all_in_uri(uri: &UriTemplate, config: &Value) -> Vec<Self> {
        let paths = uri.tokens().iter().filter_map(|token| setting_path(&token.name));
        paths.filter_map(|path| Self::find(path.split('.'), config)).collect()
    }

    /// A warning at the text that names it.
    pub(crate) fn warning(&self, span: Span) -> Diagnostic {
        let message = format!("the setting `{}` has no value", self.path);
        let warning = Diagnostic::warning(codes::UNKNOWN_SETTING, span, message)
            .note("what needs it fails with status 500, unless a fallback takes over");
        match &self.meant {
            Some(meant) => warning.hint(format!("did you mean `{meant}`?")),
            None => warning.hint("give it a value in the settings file"),
        }
    }
}

/// The name by which texts find the settings.
pub(super) const ROOT: &str = "config";

/// The path of the setting that a token names, if it is known before filling.
fn setting_path(token: &str) -> Option<&str> {
    let path = token.strip_prefix(ROOT)?.strip_prefix('.')?;
    (!path.contains(['{', '['])).then_some(path)
}

/// How the token of a setting begins.
const SETTING: &str = "{config";

/// The names, in lower case, of the headers whose values hold settings: by a token, by the token of a
/// default that holds one, or by a token that an auth module may have filled, which is given the settings.
pub(super) fn headers_from_settings(
    headers: &[ast::NameValue],
    defaults: &[ast::NameValue],
    has_auth: bool,
) -> Vec<String> {
    let defaults: Vec<(&str, Template)> = defaults
        .iter()
        .map(|pair| (pair.name.text.as_str(), Template::from_text(literal_text(&pair.value))))
        .collect();
    let mut is_secret: Vec<bool> =
        defaults.iter().map(|(_, template)| template.text().contains(SETTING)).collect();
    let needs = |template: &Template, is_secret: &[bool]| {
        template.roots().iter().any(|root| {
            let is_meant = |name: &str| {
                let rest = name.strip_prefix(root);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            };
            defaults
                .iter()
                .zip(is_secret)
                .any(|((name, _), is_secret)| *is_secret && is_meant(name))
        })
    };
    // A default may need another one; each round finds one more, or there are none left.
    for _ in 0..defaults.len() {
        let next = (0..defaults.len())
            .find(|position| !is_secret[*position] && needs(&defaults[*position].1, &is_secret));
        let Some(position) = next else { break };
        is_secret[position] = true;
    }
    let is_from_settings = |pair: &&ast::NameValue| {
        let template = Template::from_text(literal_text(&pair.value));
        template.text().contains(SETTING)
            || has_auth && !template.is_literal()
            || needs(&template, &is_secret)
    };
    headers
        .iter()
        .filter(is_from_settings)
        .map(|pair| pair.name.text.to_ascii_lowercase())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scalars_are_filled_and_structures_stay() {
        let config =
            qlio_data::codec::json::parse_str(r#"{"dock": {"host": "h.test", "n": 4, "l": []}}"#)
                .unwrap();
        let filled = |text| fill_settings(text, &config);
        assert_eq!(
            filled("http://{config.dock.host}/{config.dock.n}?k={k}"),
            "http://h.test/4?k={k}"
        );
        assert_eq!(filled("{config.dock.l}{config.nope}"), "{config.dock.l}{config.nope}");
    }

    #[test]
    fn values_of_mentioned_settings_are_found() {
        let config = r#"{"a": {"key": "s3cret", "n": 12345}, "b": "other", "c": {},
            "at": "https://h.test/p", "in": "https://me:pw@h.test/"}"#;
        let config = qlio_data::codec::json::parse_str(config).unwrap();
        let text = "'http://h/{config.a.key}?n={^config.a.n}' myconfig.b {config.c} config.a.key. {config.no} {config.at}{config.in}";
        let expected = ["s3cret", "12345", "s3cret", "https://me:pw@h.test/"];
        assert_eq!(mentioned_values(text, &config), expected);
    }

    #[test]
    fn settings_without_a_value_are_found_with_the_nearest_name() {
        let config = qlio_data::codec::json::parse_str(
            r#"{"shop": {"api": "a", "none": null, "empty": "", "off": false, "list": ["x"]}}"#,
        );
        let config = config.unwrap();
        let found = |text: &str| {
            let missing = MissingSetting::all_in(&Template::parse(text), &config);
            missing.into_iter().map(|missing| (missing.path, missing.meant)).collect::<Vec<_>>()
        };
        let missing =
            |path: &str, meant: Option<&str>| vec![(path.to_owned(), meant.map(str::to_owned))];
        assert_eq!(found("{config.shop.apo}"), missing("shop.apo", Some("shop.api")));
        assert_eq!(found("a {x} {config.shpo.api}"), missing("shpo.api", Some("shop.api")));
        assert_eq!(found("{config.shpo.other}"), missing("shpo.other", None));
        assert_eq!(found("{config.shop.none}"), missing("shop.none", None));
        assert_eq!(found("{config.shop.api.deep}"), missing("shop.api.deep", None));
        assert_eq!(found("{a.{config.nope}}"), missing("nope", None));
        assert_eq!(found("{config.a}{config.b}").len(), 2);
        for text in [
            "{config.shop.api}",
            "{config.shop.empty}{config.shop.off}{config.shop}{config.shop.list.7}",
            "{config}",
            "{config.{x}.api}",
            "{configs.nope}",
            "config.nope",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
        let in_uri = |text: &str| {
            let missing = MissingSetting::all_in_uri(&UriTemplate::parse(text).unwrap(), &config);
            missing.into_iter().map(|missing| missing.path).collect::<Vec<_>>()
        };
        assert_eq!(in_uri("http://h.test/{config.shop.api}?k={^config.k}"), ["k"]);
        assert_eq!(in_uri("http://h.test/{config.shop.empty}?k={config.{k}.a}"), [""; 0]);
        let hidden = MissingSetting::all_in(&Template::parse("{config.a}"), &Value::Absent);
        assert_eq!(hidden, []);
    }

    #[test]
    fn headers_from_settings_are_found_through_defaults_and_auth_modules() {
        let named = |pairs: &str, has_auth: bool| {
            let text = format!("create table t on select get from 'http://h.test/' {pairs}");
            let parsed = qlio_syntax::parser::parse(&text);
            assert!(parsed.is_ok(), "{:?}", parsed.diagnostics);
            let ast::Item::Statement(statement) = &parsed.script.items[0] else {
                panic!("a statement");
            };
            let ast::Primary::Create(create) = &statement.alternatives[0] else {
                panic!("a table");
            };
            let verb = &create.verbs[0];
            headers_from_settings(&verb.headers, &verb.defaults, has_auth)
        };
        let headers = "using headers 'X-App' = 'v {config.a.id}', 'X-Tok' = '{k.one}', 'X-Plain' = 'p', 'X-Own' = '{q}'";
        assert_eq!(named(headers, false), ["x-app"]);
        assert_eq!(named(headers, true), ["x-app", "x-tok", "x-own"]);
        let defaults = "using defaults 'k.one' = '{b}', b = 'c {config.b}', c = '{c}'";
        assert_eq!(named(&format!("{headers} {defaults}"), false), ["x-app", "x-tok"]);
    }
}
