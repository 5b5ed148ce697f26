//! Whether a table's template or patch has a parameter, so that what it asks the upstream to cut is
//! not cut again (SEL-23).
//!
//! In: texts of files. Out: yes or no. A name counts where it can be read: as a whole word inside the
//! tags of a template, or outside the comments of a script. Nothing is parsed further: that a word of
//! a script is the parameter and no variable of the same name is taken on trust.

use super::table::Body;

/// The tags of mustache and EJS.
const TAGS: [(&str, &str); 2] = [("{{", "}}"), ("<%", "%>")];

/// Whether the body is written with the parameter.
pub(super) fn in_body(body: &Body, name: &str) -> bool {
    match &body.form {
        Some(Ok(form)) => form.tokens().iter().any(|token| token.name == name),
        Some(Err(_)) => false,
        None => has_word_in_tags(&body.content, name),
    }
}

/// Whether a script uses the parameter.
pub(super) fn in_script(text: &str, name: &str) -> bool {
    has_word(&without_comments(text), name)
}

/// An open tag at the end has no end.
fn has_word_in_tags(text: &str, word: &str) -> bool {
    TAGS.iter().any(|(open, close)| {
        let mut tags = text.split(open).skip(1);
        tags.any(|rest| has_word(rest.split(close).next().unwrap_or_default(), word))
    })
}

fn has_word(text: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '$');
    text.match_indices(word).any(|(start, found)| {
        let before = text[..start].chars().next_back();
        let after = text[start + found.len()..].chars().next();
        !before.is_some_and(is_part) && !after.is_some_and(is_part)
    })
}

/// JavaScript without comments; what looks like one inside a string stays.
fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(['/', '"', '\'', '`']) {
        code.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if let Some(comment) = rest.strip_prefix("/*") {
            code.push(' ');
            comment.find("*/").map_or(rest.len(), |end| end + 4)
        } else {
            let length = if rest.starts_with('/') { 1 } else { string_length(rest) };
            code.push_str(&rest[..length]);
            length
        };
        rest = &rest[length..];
    }
    code.push_str(rest);
    code
}

/// The length of the string that the text starts with, quotes included. One that is not closed ends
/// with its line, a template string with the text.
fn string_length(text: &str) -> usize {
    let mut bytes = text.bytes().enumerate();
    let quote = bytes.next().map(|(_, quote)| quote);
    while let Some((at, byte)) = bytes.next() {
        if byte == b'\\' {
            bytes.next();
        } else if Some(byte) == quote {
            return at + 1;
        } else if byte == b'\n' && quote != Some(b'`') {
            return at;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_a_script_mention_nothing() {
        for (text, has) in [
            ("uri.setParam('n', statement.limit)", true),
            ("uri.setParam('limit', 1) // all", true),
            ("// the limit\nx", false),
            ("/* limit\n limit */ x", false),
            ("a = '//' + limit", true),
            ("a = \"it's\" // limit", false),
            ("a = /'/ // no end\nlimit", true),
            ("unlimited = limits", false),
            ("a = `\\`${limit}`", true),
            ("/* limit", false),
            ("é/limit", true),
        ] {
            assert_eq!(in_script(text, "limit"), has, "{text}");
        }
    }

    #[test]
    fn words_count_inside_tags_only() {
        assert!(has_word_in_tags("<n>{{params.limit}}</n>", "limit"));
        assert!(has_word_in_tags("<% if (params['limit']) { %>", "limit"));
        let text = "<unlimited>{{params.a}} limit <%= limits %></unlimited>";
        assert!(!has_word_in_tags(text, "limit"));
    }
}
