//! A URI whose query can be changed: what "patch uri" hooks get, and how every URI is normalised
//! (URI-18, HOK-6).
//!
//! In: any text. Out: a URI of printable ASCII without blanks. Scheme and host are lower-case, an
//! empty path is `/`, the query is decoded and encoded anew, repeated names stand together, names
//! that are array indexes to JavaScript come first in ascending order. Dot segments and ports stay
//! as written, and nothing is resolved against anything.

use std::{collections::HashMap, fmt};

use crate::{Object, Text, Value, path::step, percent};

/// JavaScript's largest array index; larger numbers are ordinary names.
const INDEX_MAX: usize = 4_294_967_294;

/// A URI, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct MutableUri {
    /// Scheme, authority and path, normalised.
    base: String,
    params: Params,
    /// Normalised, without `#`.
    fragment: Option<String>,
}

/// The parameters of a query, repeated names collected, in order of first occurrence.
#[derive(Debug, Clone, Default)]
struct Params {
    entries: Vec<(Text, Vec<Value>)>,
    positions: HashMap<Text, usize>,
}

/// Why a [`MutableUri`] refuses what it is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MutableUriError {
    /// The text is empty.
    Empty,
    /// The name of a parameter is empty.
    NoName,
    /// The value of a parameter is absent or null.
    NoValue,
}

impl fmt::Display for MutableUriError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "a uri must not be empty",
            Self::NoName => "a parameter needs a name",
            Self::NoValue => "a parameter needs a value",
        })
    }
}

impl std::error::Error for MutableUriError {}

/// Normalises a URI (URI-18).
pub fn normalize(uri: &str) -> String {
    MutableUri::read(uri).format()
}

impl MutableUri {
    /// Takes a URI apart. Any text but the empty one is accepted.
    pub fn parse(text: &str) -> Result<Self, MutableUriError> {
        if text.is_empty() { Err(MutableUriError::Empty) } else { Ok(Self::read(text)) }
    }

    fn read(text: &str) -> Self {
        let (text, fragment) = match text.split_once('#') {
            Some((text, fragment)) => (text, Some(write_path(fragment))),
            None => (text, None),
        };
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        let mut params = Params::default();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = percent::decode_form_lossy(name).into();
            params.values(name).push(Value::string(percent::decode_form_lossy(value)));
        }
        Self { base: base(address), params, fragment }
    }

    /// The normalised text. Numbers and booleans print, a list repeats its name, null, absent
    /// values and objects print as empty.
    pub fn format(&self) -> String {
        let mut text = self.base.clone();
        let mut separator = '?';
        for (name, values) in self.params.in_order() {
            for value in values {
                text.push(separator);
                separator = '&';
                percent::encode_component(name, &mut text);
                text.push('=');
                if let Some(scalar) = value.scalar_text() {
                    percent::encode_component(&scalar, &mut text);
                }
            }
        }
        if let Some(fragment) = &self.fragment {
            text.push('#');
            text.push_str(fragment);
        }
        text
    }

    /// Adds a value behind those that the name has. The elements of an array are added one by one.
    pub fn add_param(&mut self, name: &str, value: &Value) -> Result<(), MutableUriError> {
        check(name, value)?;
        let added = each_value(value);
        self.params.values(name.into()).extend(added);
        Ok(())
    }

    /// Replaces all values of a name; it moves to the end, as a removed and added name does.
    pub fn set_param(&mut self, name: &str, value: &Value) -> Result<(), MutableUriError> {
        check(name, value)?;
        self.params.entries.retain(|(present, _)| present != name);
        self.params.reindex();
        self.add_param(name, value)
    }

    /// Removes a name with all its values, or only the values whose text is that of `value`.
    pub fn remove_param(&mut self, name: &str, value: Option<&Value>) {
        let removed = value.map(|value| value.scalar_text().unwrap_or_default());
        for (present, values) in &mut self.params.entries {
            if present == name {
                match &removed {
                    None => values.clear(),
                    Some(text) => {
                        values.retain(|value| value.scalar_text().unwrap_or_default() != *text);
                    }
                }
            }
        }
        self.params.drop_empty();
    }

    /// The value of a name, the array of its values if it has several, or absent.
    pub fn get_param(&self, name: &str) -> Value {
        match self.params.positions.get(name).and_then(|at| self.params.entries.get(*at)) {
            Some((_, values)) => one_or_list(values),
            None => Value::Absent,
        }
    }

    /// All parameters: name to value, or to the array of its values.
    pub fn params(&self) -> Object {
        self.params.in_order().map(|(name, values)| (name.clone(), one_or_list(values))).collect()
    }

    /// Replaces all parameters; how writes to the map that a hook sees take effect.
    pub fn set_params(&mut self, params: &Object) {
        self.params = Params::default();
        for (name, value) in params.iter().filter(|(_, value)| !value.is_absent()) {
            let added = each_value(value);
            self.params.values(name.clone()).extend(added);
        }
    }

    /// Removes empty values, and names that have no other.
    pub fn remove_empty_params(&mut self) {
        for (_, values) in &mut self.params.entries {
            values.retain(|value| value.as_str() != Some(""));
        }
        self.params.drop_empty();
    }
}

impl Params {
    /// The values of a name, created at the end if there is none yet.
    fn values(&mut self, name: Text) -> &mut Vec<Value> {
        let next = self.entries.len();
        let at = *self.positions.entry(name.clone()).or_insert(next);
        if at == next {
            self.entries.push((name, Vec::new()));
        }
        &mut self.entries[at].1
    }

    fn drop_empty(&mut self) {
        self.entries.retain(|(_, values)| !values.is_empty());
        self.reindex();
    }

    fn reindex(&mut self) {
        self.positions =
            self.entries.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
    }

    /// The entries as JavaScript orders the members of an object: indexes first, ascending.
    fn in_order(&self) -> impl Iterator<Item = (&Text, &Vec<Value>)> {
        let index = |name: &Text| step::index_of(name).filter(|index| *index <= INDEX_MAX);
        let mut indexed: Vec<_> = self
            .entries
            .iter()
            .filter_map(|(name, values)| Some((index(name)?, (name, values))))
            .collect();
        indexed.sort_by_key(|(index, _)| *index);
        let named = self.entries.iter().filter(move |(name, _)| index(name).is_none());
        indexed
            .into_iter()
            .map(|(_, entry)| entry)
            .chain(named.map(|(name, values)| (name, values)))
    }
}

impl PartialEq for Params {
    fn eq(&self, other: &Self) -> bool {
        let texts = |params: &Self| -> Vec<(Text, Vec<Text>)> {
            let text = |value: &Value| value.scalar_text().unwrap_or_default();
            let entry = |(name, values): &(Text, Vec<Value>)| {
                (name.clone(), values.iter().map(text).collect())
            };
            params.entries.iter().map(entry).collect()
        };
        texts(self) == texts(other)
    }
}

fn check(name: &str, value: &Value) -> Result<(), MutableUriError> {
    if name.is_empty() {
        Err(MutableUriError::NoName)
    } else if value.is_nothing() {
        Err(MutableUriError::NoValue)
    } else {
        Ok(())
    }
}

fn each_value(value: &Value) -> Vec<Value> {
    value.elements().map_or_else(|| vec![value.clone()], std::borrow::Cow::into_owned)
}

fn one_or_list(values: &[Value]) -> Value {
    match values {
        [only] => only.clone(),
        several => Value::array(several.to_vec()),
    }
}

fn write_path(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    percent::encode_path(text, &mut encoded);
    encoded
}

/// Scheme, authority and path, normalised.
fn base(address: &str) -> String {
    let Some((scheme, rest)) = address.split_once("://").filter(|(scheme, _)| is_scheme(scheme))
    else {
        return write_path(if address.is_empty() { "/" } else { address });
    };
    let (authority, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let (user, host) = match authority.rsplit_once('@') {
        Some((user, host)) => (Some(user), host),
        None => (None, authority),
    };
    let mut base = scheme.to_ascii_lowercase();
    base.push_str("://");
    if let Some(user) = user {
        percent::encode_path(user, &mut base);
        base.push('@');
    }
    host_into(host, &mut base);
    percent::encode_path(if path.is_empty() { "/" } else { path }, &mut base);
    base
}

/// Lower case, but for the digits of escapes.
fn host_into(host: &str, base: &mut String) {
    let encoded = write_path(&host.to_lowercase());
    let mut escape_digits = 0;
    for character in encoded.chars() {
        if character == '%' {
            escape_digits = 3;
        }
        base.push(if escape_digits > 0 { character.to_ascii_uppercase() } else { character });
        escape_digits = usize::saturating_sub(escape_digits, 1);
    }
}

fn is_scheme(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'-' | b'.'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn uri(text: &str) -> MutableUri {
        MutableUri::parse(text).expect("not empty")
    }

    #[test]
    fn uris_are_normalised() {
        for (text, normal) in [
            ("HTTP://API.Harbor.Test", "http://api.harbor.test/"),
            ("http://h.test?q=1", "http://h.test/?q=1"),
            ("http://h.test/x?WAL&t=a+b;c&e=", "http://h.test/x?WAL=&t=a%20b%3Bc&e="),
            ("http://h.test/x?a=1&&b=2&", "http://h.test/x?a=1&b=2"),
            ("http://h.test/x?", "http://h.test/x"),
            ("http://h.test/x?&&", "http://h.test/x"),
            ("http://h.test/x?a=1&b=2&a=3", "http://h.test/x?a=1&a=3&b=2"),
            ("http://h.test/x?b=1&10=x&2=y&07=z", "http://h.test/x?2=y&10=x&b=1&07=z"),
            ("http://h.test/x?a=b=c", "http://h.test/x?a=b%3Dc"),
            ("http://h.test/x?a=%C3&b=%zz", "http://h.test/x?a=%EF%BF%BD&b=%25zz"),
            ("http://h.test/a b/ø'|%2F?x", "http://h.test/a%20b/%C3%B8%27%7C%2F?x="),
            ("http://BLÅ%2Fx:80", "http://bl%C3%A5%2Fx:80/"),
            ("http://h.test:8080/A?q='(x)'", "http://h.test:8080/A?q='(x)'"),
            ("http://U:P@H.test/", "http://U:P@h.test/"),
            ("http://h.test/x?a=1#Part 2?b&c", "http://h.test/x?a=1#Part%202?b&c"),
            ("/q?page=&s=1", "/q?page=&s=1"),
            ("?a", "/?a="),
            ("http://h.test/p:q?u=http://X/", "http://h.test/p:q?u=http%3A%2F%2FX%2F"),
        ] {
            assert_eq!(normalize(text), normal, "{text}");
        }
        assert_eq!(MutableUri::parse(""), Err(MutableUriError::Empty));
    }

    #[test]
    fn adding_appends_and_setting_replaces() {
        let mut it = uri("/q?f=1");
        it.add_param("f", &Value::string("2")).expect("valid");
        assert_eq!(it.format(), "/q?f=1&f=2");
        it.add_param("n", &Value::int(0)).expect("valid");
        it.add_param("on", &Value::Bool(false)).expect("valid");
        assert_eq!(it.format(), "/q?f=1&f=2&n=0&on=false");
        it.set_param("f", &Value::array(vec![Value::int(3), Value::string("x y")])).expect("valid");
        assert_eq!(it.format(), "/q?n=0&on=false&f=3&f=x%20y");
        assert_eq!(it.add_param("a", &Value::Null), Err(MutableUriError::NoValue));
        assert_eq!(it.set_param("a", &Value::Absent), Err(MutableUriError::NoValue));
        assert_eq!(it.set_param("", &Value::int(1)), Err(MutableUriError::NoName));
    }

    #[test]
    fn removing_takes_all_values_or_the_equal_ones() {
        let mut it = uri("/q?f=1&f=2&f=1&g=");
        it.remove_param("f", Some(&Value::int(1)));
        assert_eq!(it.format(), "/q?f=2&g=");
        it.remove_param("f", Some(&Value::string("9")));
        assert_eq!(it.format(), "/q?f=2&g=");
        it.remove_param("f", None);
        it.remove_param("gone", None);
        assert_eq!(it.format(), "/q?g=");
    }

    #[test]
    fn parameters_read_as_text_list_or_nothing() {
        let it = uri("/q?a=1&b=x&a=2&c");
        assert_eq!(it.get_param("b").as_str(), Some("x"));
        assert_eq!(it.get_param("c").as_str(), Some(""));
        assert!(it.get_param("d").is_absent());
        assert_eq!(it.get_param("a").elements().map(|list| list.len()), Some(2));
    }

    #[test]
    fn the_map_of_parameters_can_be_written_back() {
        let mut it = uri("/q?a=1&b=2");
        let mut params = it.params();
        params.remove("a");
        params.insert("c", Value::int(3));
        params.insert("o", Value::object(Object::new()));
        it.set_params(&params);
        assert_eq!(it.format(), "/q?b=2&c=3&o=");
    }

    #[test]
    fn empty_parameters_go_also_inside_lists() {
        let mut it = uri("/q?page=&s=1&t=&t=2&u=&u=");
        it.remove_empty_params();
        assert_eq!(it.format(), "/q?s=1&t=2");
        let mut it = uri("/q?page=&s=1");
        it.set_param("page", &Value::Number(crate::Number::Float(3.0))).expect("valid");
        it.remove_empty_params();
        assert_eq!(it.format(), "/q?s=1&page=3");
    }

    proptest! {
        #[test]
        fn any_text_becomes_printable_and_stays_so(text in any::<String>()) {
            let normal = normalize(&text);
            prop_assert!(normal.bytes().all(|byte| byte.is_ascii_graphic()), "{}", normal);
            prop_assert_eq!(normalize(&normal), normal);
        }

        #[test]
        fn normal_uris_are_fixed(text in "(http://[A-Za-z@:.]{0,6})?[/a-c?&=#%0-2+;Ã ]{0,24}") {
            let normal = normalize(&text);
            prop_assert_eq!(normalize(&normal), normal);
        }
    }
}
