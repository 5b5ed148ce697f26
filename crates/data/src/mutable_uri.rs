//! URIs taken apart and put together: how every URI is normalised, and what "patch uri" hooks change
//! (URI-18, HOK-6).
//!
//! In: any text. Out: a URI of printable ASCII without blanks. Scheme and host are lower-case, an
//! empty path is `/`, the query is decoded and encoded anew, repeated names stand together, names
//! that are array indexes to JavaScript come first in ascending order. Dot segments and ports stay
//! as written, and nothing is resolved against anything.

use std::{borrow::Cow, collections::HashMap};

use crate::{path::step, percent};

/// JavaScript's largest array index; larger numbers are ordinary names.
const INDEX_MAX: usize = 4_294_967_294;

/// As many names are compared with each other; more are looked up.
const FEW_NAMES: usize = 16;

/// A URI, taken apart.
#[derive(Debug, Clone, PartialEq)]
pub struct MutableUri<'a> {
    /// Scheme, authority and path, normalised.
    pub base: String,
    /// Decoded names and values: all values of a name stand together, and the names in the order in which JavaScript
    /// has the members of an object.
    pub params: Vec<Param<'a>>,
    /// Normalised, without `#`.
    pub fragment: Option<String>,
}

/// A name with one of its values.
pub type Param<'a> = (Cow<'a, str>, Cow<'a, str>);

/// Normalises a URI (URI-18).
pub fn normalize(uri: &str) -> String {
    let MutableUri { base, params, fragment } = MutableUri::parse(uri);
    let mut text = UriText::new(base);
    for (name, value) in &params {
        text.push_param(name, value);
    }
    text.finish(fragment.as_deref())
}

impl<'a> MutableUri<'a> {
    /// Takes a URI apart; any text is one.
    pub fn parse(text: &'a str) -> Self {
        let (text, fragment) = match text.split_once('#') {
            Some((text, fragment)) => (text, Some(write_path(fragment))),
            None => (text, None),
        };
        let (address, query) = text.split_once('?').unwrap_or((text, ""));
        Self { base: base(address), params: parse_query(query), fragment }
    }

    /// Gives a parameter one value. It stands behind all others then (HOK-6).
    pub fn set_param(&mut self, name: String, value: String) {
        self.params.retain(|(held, _)| *held != name);
        self.append(name, value);
    }

    /// Adds a value to a parameter.
    pub fn add_param(&mut self, name: String, value: String) {
        match self.params.iter().rposition(|(held, _)| *held == name) {
            Some(last) => self.params.insert(last + 1, (Cow::Owned(name), Cow::Owned(value))),
            None => self.append(name, value),
        }
    }

    fn append(&mut self, name: String, value: String) {
        let is_index = index_of(&name).is_some();
        self.params.push((Cow::Owned(name), Cow::Owned(value)));
        if is_index {
            order(&mut self.params);
        }
    }
}

/// The text of a URI, to which parameters are appended.
#[derive(Debug)]
pub struct UriText {
    text: String,
    separator: char,
}

impl UriText {
    /// Starts with the scheme, authority and path, which are normalised.
    pub fn new(base: String) -> Self {
        Self { text: base, separator: '?' }
    }

    /// Bytes so far.
    #[expect(clippy::len_without_is_empty, reason = "the text of a URI is never empty")]
    pub fn len(&self) -> usize {
        self.text.len()
    }

    /// Appends a parameter, encoded.
    pub fn push_param(&mut self, name: &str, value: &str) {
        self.text.push(self.separator);
        self.separator = '&';
        percent::encode_component(name, &mut self.text);
        self.text.push('=');
        percent::encode_component(value, &mut self.text);
    }

    /// Ends with the fragment, which is normalised.
    pub fn finish(mut self, fragment: Option<&str>) -> String {
        if let Some(fragment) = fragment {
            self.text.push('#');
            self.text.push_str(fragment);
        }
        self.text
    }
}

fn parse_query(query: &str) -> Vec<Param<'_>> {
    let mut params: Vec<Param<'_>> = Vec::new();
    let mut is_ordered = true;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
        let name = percent::decode_form_lossy(name);
        is_ordered &= params.len() < FEW_NAMES
            && index_of(&name).is_none()
            && params.iter().all(|(held, _)| *held != name);
        params.push((name, percent::decode_form_lossy(value)));
    }
    if !is_ordered {
        order(&mut params);
    }
    params
}

/// Indexes come first, ascending; the others stay as they are, each where its name stands first.
fn order(params: &mut [Param<'_>]) {
    let mut firsts: HashMap<String, usize> = HashMap::new();
    for (at, (name, _)) in params.iter().enumerate() {
        if !firsts.contains_key(&**name) {
            firsts.insert(name.to_string(), at);
        }
    }
    params.sort_by_cached_key(|(name, _)| match index_of(name) {
        Some(index) => (false, index),
        None => (true, firsts.get(&**name).copied().unwrap_or_default()),
    });
}

/// What a name is as an array index of JavaScript.
fn index_of(name: &str) -> Option<usize> {
    step::index_of(name).filter(|index| *index <= INDEX_MAX)
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
    let mut base = String::with_capacity(address.len() + 1);
    base.push_str(scheme);
    base.make_ascii_lowercase();
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
    if host.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'.' | b'-' | b':')) {
        base.push_str(host);
        return;
    }
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
    }

    #[test]
    fn parameters_are_decoded_and_collected() {
        let uri = MutableUri::parse("/q?b=x+y&7=1&b=%C3%A5&c");
        let params: Vec<(&str, &str)> =
            uri.params.iter().map(|(name, value)| (&**name, &**value)).collect();
        assert_eq!(params, [("7", "1"), ("b", "x y"), ("b", "å"), ("c", "")]);
    }

    #[test]
    fn many_parameters_are_collected_as_few_are() {
        let query: Vec<_> = (0..40).map(|at| format!("n{}={at}", at % 20)).collect();
        let uri = format!("/q?{}&3=x", query.join("&"));
        let collected: Vec<_> = (0..20).map(|at| format!("n{at}={at}&n{at}={}", at + 20)).collect();
        assert_eq!(normalize(&uri), format!("/q?3=x&{}", collected.join("&")));
    }

    #[test]
    fn parameters_are_set_behind_all_and_added_to_their_own() {
        let mut uri = MutableUri::parse("/q?a=1&b=2");
        uri.add_param("a".to_owned(), "3".to_owned());
        uri.set_param("5".to_owned(), "x".to_owned());
        uri.set_param("b".to_owned(), "y".to_owned());
        uri.add_param("c".to_owned(), "z".to_owned());
        uri.set_param("a".to_owned(), "4".to_owned());
        let params: Vec<_> =
            uri.params.iter().map(|(name, value)| format!("{name}={value}")).collect();
        assert_eq!(params, ["5=x", "b=y", "c=z", "a=4"]);
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
