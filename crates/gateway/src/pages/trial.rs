//! What the forms of pages lead to: the address of a route with its tokens filled, a script that selects from a
//! table.
//!
//! In: templates as they are written, and what was filled in. Out: a relative address. Whatever is filled in is one
//! segment, one value or one text: it cannot lead anywhere else.

use std::fmt::Write;

use qlio_data::{Object, Value, percent};

/// What the names of fields begin with.
pub(crate) const PREFIX: &str = "p.";

/// The field that says that a form was sent.
pub(crate) const MARK: &str = "try";

/// A piece of a route's template.
enum Piece<'t> {
    Text(&'t str),
    Token { name: &'t str, is_required: bool },
}

/// The pieces of a template; `None` where a form cannot fill it, as with optional segments or a rest.
fn pieces(template: &str) -> Option<Vec<Piece<'_>>> {
    let mut pieces = Vec::new();
    let mut rest = template;
    while let Some(start) = rest.find('{') {
        let (text, token) = rest.split_at(start);
        let (token, after) = token[1..].split_once('}')?;
        pieces.push(Piece::Text(text));
        let name = token.strip_prefix('^').unwrap_or(token);
        if name.is_empty()
            || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
        {
            return None;
        }
        pieces.push(Piece::Token { name, is_required: token.starts_with('^') });
        rest = after;
    }
    pieces.push(Piece::Text(rest));
    let is_plain = |piece: &Piece<'_>| !matches!(piece, Piece::Text(text) if text.contains(['*', '[', ']', '}']));
    pieces.iter().all(is_plain).then_some(pieces)
}

/// The tokens of a route's template, and whether they must have a value; `None` if no form can fill it.
pub(super) fn route_fields(template: &str) -> Option<Vec<(String, bool)>> {
    let path_end = template.find('?').unwrap_or(template.len());
    let (path, query) = template.split_at(path_end);
    let mut fields = Vec::new();
    for (part, is_path) in [(path, true), (query, false)] {
        for piece in pieces(part)? {
            if let Piece::Token { name, is_required } = piece {
                fields.push((name.to_owned(), is_required || is_path));
            }
        }
    }
    Some(fields)
}

/// The address of a route with what was filled in, relative to the pages; parameters of the query that stay empty are
/// left out.
pub(crate) fn route_address(template: &str, filled: &Object) -> Option<String> {
    let (path, query) = template.split_once('?').unwrap_or((template, ""));
    let value = |name: &str| {
        let value = filled.get(format!("{PREFIX}{name}").as_str());
        value.and_then(Value::scalar_text).map(|text| text.to_string()).unwrap_or_default()
    };
    let mut address = String::from(".");
    for piece in pieces(path)? {
        match piece {
            Piece::Text(text) => percent::encode_path(text, &mut address),
            Piece::Token { name, .. } => percent::encode_component(&value(name), &mut address),
        }
    }
    let mut mark = '?';
    for parameter in query.split('&').filter(|parameter| !parameter.is_empty()) {
        let (key, template) = parameter.split_once('=').unwrap_or((parameter, ""));
        let mut filled = String::new();
        for piece in pieces(template)? {
            match piece {
                Piece::Text(text) => filled.push_str(text),
                Piece::Token { name, .. } => filled.push_str(&value(name)),
            }
        }
        if !filled.is_empty() {
            address.push(mark);
            percent::encode_path(key, &mut address);
            address.push('=');
            percent::encode_component(&filled, &mut address);
            mark = '&';
        }
    }
    Some(address)
}

/// A script that selects from a table with what was filled in, one parameter on each line.
pub(crate) fn select_script(table: &str, filled: &Object) -> String {
    let mut script = format!("return select * from {table}");
    let mut word = "where";
    for (name, value) in filled.iter() {
        let Some(name) = name.strip_prefix(PREFIX) else { continue };
        let Some(value) = value.scalar_text().filter(|value| !value.is_empty()) else { continue };
        let quoted = qlio_data::codec::json::to_string(&Value::from(value));
        // Writing to a text cannot fail.
        let _ = write!(script, "\n  {word} {name} = {quoted}");
        word = "and";
    }
    script.push('\n');
    script
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(values: &[(&str, &str)]) -> Object {
        values.iter().map(|(name, value)| (format!("p.{name}"), Value::from(*value))).collect()
    }

    #[test]
    fn a_route_is_filled_segment_by_segment_and_value_by_value() {
        let template = "/books/{subject}?limit={^l}&q={q}";
        assert_eq!(
            route_fields(template),
            Some(vec![
                ("subject".to_owned(), true),
                ("l".to_owned(), true),
                ("q".to_owned(), false)
            ])
        );
        let address = |values: &[(&str, &str)]| route_address(template, &filled(values));
        assert_eq!(
            address(&[("subject", "sea & sand"), ("l", "3")]).as_deref(),
            Some("./books/sea%20%26%20sand?limit=3")
        );
        assert_eq!(
            address(&[("subject", "//evil.test/?a#b"), ("q", "x&limit=9")]).as_deref(),
            Some("./books/%2F%2Fevil.test%2F%3Fa%23b?q=x%26limit%3D9")
        );
        for template in ["/files/*", "/a[/{b}]", "/a/{b c}", "/a/{b"] {
            assert_eq!(route_fields(template), None, "{template}");
        }
    }

    #[test]
    fn a_select_has_what_was_filled_in() {
        let values = filled(&[("s", "the \"sea\""), ("l", "")]);
        assert_eq!(
            select_script("lib.books", &values),
            "return select * from lib.books\n  where s = \"the \\\"sea\\\"\"\n"
        );
        assert_eq!(select_script("t", &Object::new()), "return select * from t\n");
    }
}
