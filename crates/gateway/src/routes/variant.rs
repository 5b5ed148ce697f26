//! Routes with the same path and method differ by their query parameters: choosing one of them, and
//! building the inputs of its script.
//!
//! In: the parsed query string and what the path tokens captured. Out: the chosen route and the
//! route layer of its scope (layer 4 of SCP-10). Rules: SRV-14, SRV-18; all
//! ranking fixes apply.

use std::cmp::Reverse;

use qlio_data::{Object, Value};

use super::template::DeclaredKey;

/// One route among those with the same path and method.
#[derive(Debug, Clone)]
pub(super) struct Variant<Id> {
    /// The caller's name for the route.
    pub(super) id: Id,
    /// Declared query parameters.
    pub(super) keys: Vec<DeclaredKey>,
    /// Token name to default value.
    pub(super) defaults: Vec<(String, Value)>,
    /// `with optional params`.
    pub(super) has_optional_params: bool,
    /// Position among all routes loaded.
    pub(super) order: usize,
}

/// The route that answers a request.
#[derive(Debug, Clone)]
pub struct Chosen<'m, Id> {
    /// The caller's name for the route.
    pub id: &'m Id,
    /// Token name to value: defaults, path tokens, declared query parameters; a declared token
    /// without value is null (SRV-18).
    pub scope: Object,
}

/// No variant accepts a query: the parameters that the one which lacks fewest lacks, in its order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingParameters(pub Vec<String>);

/// The best of the variants that accept the query.
pub(super) fn choose<'v, Id>(
    variants: &'v [Variant<Id>],
    query: &Object,
) -> Result<&'v Variant<Id>, MissingParameters> {
    let accepting = variants.iter().filter(|variant| variant.missing(query).next().is_none());
    let best = accepting.max_by_key(|variant| {
        let supplied = variant.keys.iter().filter(|key| query.get(&key.key).is_some()).count();
        let required = variant.keys.iter().filter(|key| key.is_required).count();
        (
            supplied,
            Reverse(variant.keys.len() - supplied),
            required,
            Reverse(variant.has_optional_params),
            variant.order,
        )
    });
    best.ok_or_else(|| {
        let missing = |variant: &Variant<Id>| variant.missing(query).map(str::to_owned).collect();
        let lacks: Option<Vec<String>> = variants.iter().map(missing).min_by_key(Vec::len);
        MissingParameters(lacks.unwrap_or_default())
    })
}

impl<Id> Variant<Id> {
    /// The keys of the parameters that a query would need for this variant to accept it.
    fn missing(&self, query: &Object) -> impl Iterator<Item = &str> {
        let missing = self.keys.iter().filter(|declared| {
            (declared.is_required || !self.has_optional_params)
                && query.get(&declared.key).is_none()
                && self.default(&declared.token).is_none()
        });
        missing.map(|declared| declared.key.as_str())
    }

    fn default(&self, token: &str) -> Option<&Value> {
        self.defaults.iter().find(|(name, _)| name == token).map(|(_, value)| value)
    }

    /// The route layer of the scope.
    pub(super) fn scope<'a>(
        &self,
        captured: impl Iterator<Item = (&'a str, String)>,
        absent: &[String],
        query: &Object,
    ) -> Object {
        let mut scope = Object::with_capacity(self.defaults.len() + self.keys.len());
        for (token, value) in &self.defaults {
            scope.insert(token.as_str(), value.clone());
        }
        for (token, value) in captured {
            scope.insert(token, Value::from(value));
        }
        for declared in &self.keys {
            match query.get(&declared.key) {
                Some(value) if value.as_str() != Some("") => {
                    scope.insert(declared.token.as_str(), value.clone());
                }
                _ => nothing_unless_set(&mut scope, &declared.token),
            }
        }
        for token in absent {
            nothing_unless_set(&mut scope, token);
        }
        scope
    }
}

fn nothing_unless_set(scope: &mut Object, token: &str) {
    if scope.get(token).is_none() {
        scope.insert(token, Value::Null);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::routes::template::RouteTemplate;

    fn variant(name: &'static str, order: usize, template: &str) -> Variant<&'static str> {
        let (template, faults) = RouteTemplate::parse(template);
        assert!(faults.is_empty());
        let keys = template.expect("a valid template").query;
        Variant { id: name, keys, defaults: Vec::new(), has_optional_params: false, order }
    }

    fn optional(name: &'static str, order: usize, template: &str) -> Variant<&'static str> {
        Variant { has_optional_params: true, ..variant(name, order, template) }
    }

    fn query(keys: &str) -> Object {
        keys.split_whitespace().map(|key| (key, Value::from("1"))).collect()
    }

    fn check(variants: &[Variant<&'static str>], keys: &str, expected: Option<&str>) {
        let chosen = choose(variants, &query(keys)).map(|variant| variant.id);
        assert_eq!(chosen.ok(), expected, "query {keys}");
    }

    #[test]
    fn the_parameters_that_are_missing_are_those_of_the_variant_that_lacks_fewest() {
        let variants = [
            variant("two", 0, "/s?a={a}&b={b}&n={n}"),
            optional("one", 1, "/s?a={^a}&k={^kind}&c={c}"),
        ];
        let missing = |keys| choose(&variants, &query(keys)).map(|variant| variant.id);
        let names = |names: [&str; 2]| MissingParameters(names.map(str::to_owned).into());
        assert_eq!(missing(""), Err(names(["a", "k"])));
        assert_eq!(missing("a"), Err(MissingParameters(vec!["k".to_owned()])));
        assert_eq!(missing("n"), Err(names(["a", "b"])));
        assert_eq!(missing("a b n"), Ok("two"));
    }

    #[test]
    fn of_routes_that_fit_the_nearest_answers() {
        let mut defaulted = optional("opt", 2, "/shelf?a={^a}&c={c}");
        defaulted.defaults.push(("c".to_owned(), Value::from("dc")));
        let variants =
            [variant("a", 0, "/shelf?a={a}"), variant("ab", 1, "/shelf?a={a}&b={b}"), defaulted];
        check(&variants, "a", Some("a"));
        check(&variants, "a b", Some("ab"));
        check(&variants, "a c", Some("opt"));
        check(&variants, "b", None);
        check(&variants, "", None);
        check(&variants, "a undeclared", Some("a"));
    }

    #[test]
    fn each_rule_decides_when_the_earlier_ones_do_not() {
        // Rule 3: more required keys.
        let variants =
            [optional("required", 0, "/s?a={^a}&b={b}"), optional("none", 1, "/s?a={a}&b={b}")];
        check(&variants, "a", Some("required"));
        // Rule 4: plain before optional.
        let variants = [variant("plain", 0, "/s?a={x}"), optional("optional", 1, "/s?a={y}")];
        check(&variants, "a", Some("plain"));
        // Rule 5: the later one.
        let variants = [variant("first", 0, "/s?a={x}"), variant("second", 1, "/s?a={y}")];
        check(&variants, "a", Some("second"));
        // A route without parameters accepts everything and wins nothing.
        let variants = [variant("a", 0, "/s?a={a}"), variant("plain", 1, "/s")];
        check(&variants, "a", Some("a"));
        check(&variants, "b", Some("plain"));
    }

    #[test]
    fn a_required_key_may_have_a_default_under_its_token_name() {
        let mut route = variant("r", 0, "/s?k={kind}");
        check(&[route.clone()], "", None);
        route.defaults.push(("kind".to_owned(), Value::from("small")));
        check(&[route.clone()], "", Some("r"));
        route.defaults[0].0 = "k".to_owned();
        check(&[route], "", None);
    }

    #[test]
    fn the_scope_takes_defaults_then_path_then_query() {
        let mut route = variant("r", 0, "/s/{id}?n={n}&s={s}&m={m}&id={id}");
        route.defaults.push(("n".to_owned(), Value::int(5)));
        route.defaults.push(("s".to_owned(), Value::from("dflt")));
        route.defaults.push(("id".to_owned(), Value::from("never")));
        let query: Object = [("n", Value::from("7")), ("s", Value::from(""))].into_iter().collect();
        let scope =
            route.scope([("id", "x y".to_owned())].into_iter(), &["gone".to_owned()], &query);
        let text = |name| scope.get(name).and_then(Value::as_str);
        assert_eq!(text("n"), Some("7"));
        assert_eq!(text("s"), Some("dflt"));
        assert_eq!(text("id"), Some("x y"));
        assert!(matches!(scope.get("m"), Some(Value::Null)));
        assert!(matches!(scope.get("gone"), Some(Value::Null)));
    }
}
