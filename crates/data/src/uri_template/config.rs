//! Settings filled into table texts when they are loaded (CON-12).

use super::NESTING_MAX;

/// Replaces `{config.x.y}` by raw text, innermost braces first.
pub(super) fn substitute(text: &str, lookup: &dyn Fn(&str) -> Option<String>) -> String {
    // One buffer per open brace; the content of closed braces moves to the buffer outside.
    let mut open = vec![String::new()];
    for character in text.chars() {
        match character {
            '`' => return text.to_owned(),
            '{' if open.len() > NESTING_MAX => return text.to_owned(),
            '{' => open.push(String::new()),
            '}' => {
                let content = open.pop().unwrap_or_default();
                let Some(outer) = open.last_mut() else { return text.to_owned() };
                if let Some(value) = content.strip_prefix("config.").and_then(lookup) {
                    outer.push_str(&value);
                } else {
                    outer.push('{');
                    outer.push_str(&content);
                    outer.push('}');
                }
            }
            other => {
                if let Some(innermost) = open.last_mut() {
                    innermost.push(other);
                }
            }
        }
    }
    match &mut open[..] {
        [whole] => std::mem::take(whole),
        _ => text.to_owned(),
    }
}
