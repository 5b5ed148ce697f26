//! The names that brace references in texts start from: `order` in `"{order.id}"`.
//!
//! In: text with tokens as written (TOK-1, TOK-3). Out: the root name of every token,
//! nested ones included. Only static roots are found: of `{{key}.x}` that is `key`.
//! Nothing is resolved and nothing inside a path's filters is looked at; that needs values.

use crate::lexer;

/// The root names of all tokens of `text`, in text order. A text with a backtick or unbalanced braces
/// is plain and has none.
pub(crate) fn roots(text: &str) -> Vec<&str> {
    if !text.contains('{') || text.contains('`') || !is_balanced(text) {
        return Vec::new();
    }
    text.match_indices('{').filter_map(|(at, _)| root(&text[at + 1..])).collect()
}

fn is_balanced(text: &str) -> bool {
    let mut depth = 0_usize;
    for byte in text.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' if depth == 0 => return false,
            b'}' => depth -= 1,
            _ => {}
        }
    }
    depth == 0
}

/// The root of the token whose content starts `content`; `None` if it is no path.
fn root(content: &str) -> Option<&str> {
    let content = content.strip_prefix(['=', '^']).unwrap_or(content);
    let length = lexer::word_length(content);
    let is_path = length > 0 && content[length..].starts_with(['.', '[', '}']);
    is_path.then(|| &content[..length])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_token_has_a_root() {
        for (text, found) in [
            ("{a}", vec!["a"]),
            ("{a.b}-{c[0].d}", vec!["a", "c"]),
            ("Hello {boat.name}!", vec!["boat"]),
            ("{hosts.{env}.db}", vec!["hosts", "env"]),
            ("{{k}}", vec!["k"]),
            ("{^a}{=b}", vec!["a", "b"]),
            ("{log.legs[?(@.nm < max)].to}", vec!["log"]),
        ] {
            assert_eq!(roots(text), found, "{text}");
        }
    }

    #[test]
    fn plain_braces_are_no_tokens() {
        for text in ["{ a }", "{}", "{a", "a}", "`{a}`", "{\"a\": 1}", "}{", "{a b}"] {
            assert!(roots(text).is_empty(), "{text}");
        }
    }
}
