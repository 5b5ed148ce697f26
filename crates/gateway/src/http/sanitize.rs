//! Taking the sting out of request text that is quoted in an answer (SRV-33).
//!
//! In: a raw request target. Out: text that shows what was asked for, but whose script elements,
//! script URLs, risky tags and calls no longer work should a client take the answer for a page. Our
//! answers are JSON and never rendered, so this is a second fence, not the first. Every pass is
//! linear in the text.

use qlio_data::percent;

/// Texts that are removed wherever they stand.
const REMOVED: [&str; 9] = [
    "javascript:",
    "vbscript:",
    "document.cookie",
    "document.write",
    "window.location",
    ".innerhtml",
    ".parentnode",
    "-moz-binding",
    "expression(",
];

/// Tags whose brackets are written as entities.
const RISKY_TAGS: [&str; 32] = [
    "applet",
    "audio",
    "base",
    "basefont",
    "behavior",
    "bgsound",
    "blink",
    "body",
    "embed",
    "form",
    "frame",
    "frameset",
    "head",
    "html",
    "iframe",
    "ilayer",
    "input",
    "isindex",
    "layer",
    "link",
    "meta",
    "object",
    "plaintext",
    "style",
    "svg",
    "textarea",
    "title",
    "video",
    "xml",
    "button",
    "math",
    "template",
];

/// Functions whose calls lose their parentheses.
const CALLS: [&str; 13] = [
    "alert",
    "cmd",
    "passthru",
    "eval",
    "exec",
    "expression",
    "system",
    "fopen",
    "fsockopen",
    "file",
    "file_get_contents",
    "readfile",
    "unlink",
];

/// The request target as an error may quote it.
pub(crate) fn sanitize(target: &str) -> String {
    let text = remove_controls(&decode_once(&remove_controls(target)));
    // Words go first: what they leave behind may be a tag.
    defuse_calls(&defuse_tags(&remove_script_tags(&remove_words(&text))))
}

fn remove_controls(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

/// Decodes every whole `%XX` once; what is malformed stays.
fn decode_once(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let mut end = at;
        while percent::is_escape(bytes, end) {
            end += 3;
        }
        if end > at {
            match percent::decode(&text[at..end]) {
                Ok(run) => decoded.push_str(&run),
                Err(_) => decoded.push_str(&text[at..end]),
            }
            at = end;
        } else {
            let next =
                text[at..].char_indices().nth(1).map_or(bytes.len(), |(width, _)| at + width);
            decoded.push_str(&text[at..next]);
            at = next;
        }
    }
    decoded
}

/// Replaces `<script …>`, `</script>`, `<xss …>` by `[removed]`.
fn remove_script_tags(text: &str) -> String {
    map_tags(text, |name, _| {
        (name.starts_with("script") || name.starts_with("xss")).then_some(TagFate::Removed)
    })
}

/// Writes the brackets of risky tags, and of images with event handlers, as entities.
fn defuse_tags(text: &str) -> String {
    map_tags(text, |name, rest| {
        let is_risky = RISKY_TAGS.contains(&name) || (name == "img" && has_handler(rest));
        is_risky.then_some(TagFate::Encoded)
    })
}

/// `on…=` among the attributes.
fn has_handler(attributes: &str) -> bool {
    let lower = attributes.to_ascii_lowercase();
    lower.match_indices("on").any(|(at, _)| {
        // Only at the beginning of a word, so that no letter is looked at twice.
        if at > 0 && lower.as_bytes()[at - 1].is_ascii_alphanumeric() {
            return false;
        }
        let after = lower[at..].trim_start_matches(|c: char| c.is_ascii_alphabetic());
        after.trim_start().starts_with('=')
    })
}

enum TagFate {
    Removed,
    Encoded,
}

/// Rewrites the tags for which `fate` answers something; it gets the lower-case name and the rest.
fn map_tags(text: &str, fate: impl Fn(&str, &str) -> Option<TagFate>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('<') {
        out.push_str(&rest[..open]);
        let tag = &rest[open..];
        let end = tag[1..].find(['<', '>']).map_or(tag.len(), |at| at + 1);
        let inner = &tag[1..end];
        let trimmed = inner.trim_start_matches(|c: char| c == '/' || c.is_whitespace());
        let name_len = trimmed.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(trimmed.len());
        let name = trimmed[..name_len].to_ascii_lowercase();
        let is_closed = tag[end..].starts_with('>');
        match fate(&name, &trimmed[name_len..]) {
            Some(TagFate::Removed) if is_closed => out.push_str("[removed]"),
            Some(_) => {
                out.push_str("&lt;");
                out.push_str(inner);
                if is_closed {
                    out.push_str("&gt;");
                }
            }
            None => out.push_str(&tag[..end + usize::from(is_closed)]),
        }
        rest = &tag[end + usize::from(is_closed)..];
    }
    out.push_str(rest);
    out
}

/// Removes the forbidden words; looking at what was written, not at what is read, also catches a
/// word that appears only once another has gone.
fn remove_words(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for character in text.chars() {
        out.push(character);
        let tail = |word: &str| {
            out.len()
                .checked_sub(word.len())
                .filter(|start| out.as_bytes()[*start..].eq_ignore_ascii_case(word.as_bytes()))
        };
        if let Some(start) = REMOVED.iter().find_map(|word| tail(word)) {
            out.truncate(start);
        }
    }
    out
}

/// Writes the parentheses of dangerous calls as entities.
fn defuse_calls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    let last_close = text.rfind(')').unwrap_or(0);
    while let Some(open) = rest.find('(') {
        let before = rest[..open].trim_end().to_ascii_lowercase();
        // Without a `)` further on there is nothing to look for, however many `(` there are.
        let may_close = text.len() - rest.len() + open < last_close;
        let is_call = may_close && CALLS.iter().any(|name| before.ends_with(name));
        let close = if is_call { rest[open..].find(')') } else { None };
        let Some(close) = close.map(|at| open + at) else {
            out.push_str(&rest[..=open]);
            rest = &rest[open + 1..];
            continue;
        };
        out.push_str(&rest[..open]);
        out.push_str("&#40;");
        out.push_str(&rest[open + 1..close]);
        out.push_str("&#41;");
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn script_text_is_shown_but_does_not_work() {
        for (target, expected) in [
            ("/Shelf?a=1", "/Shelf?a=1"),
            ("/q?s=return%201", "/q?s=return 1"),
            (
                "/nf.pl?\"><script>alert(73541);</script>",
                "/nf.pl?\">[removed]alert&#40;73541&#41;;[removed]",
            ),
            ("/%3CScRipt%20src=x%3Ey", "/[removed]y"),
            ("/<xss>a</XSS>", "/[removed]a[removed]"),
            ("/a%0D%0Ab\u{7}c", "/abc"),
            ("/?u=JavaScript:x", "/?u=x"),
            ("/javajavascript:script:x", "/x"),
            ("/document.cookie.innerHTML", "/"),
            ("/<iframe src=x>", "/&lt;iframe src=x&gt;"),
            ("/<img src=x onerror = y>", "/&lt;img src=x onerror = y&gt;"),
            ("/<img src=one>", "/<img src=one>"),
            ("/<b>bold</b>", "/<b>bold</b>"),
            ("/eval (x)(y)", "/eval &#40;x&#41;(y)"),
            ("/width: expression(1)", "/width: 1)"),
            ("/%E0%A4%A", "/%E0%A4%A"),
            ("/%2541", "/%41"),
            ("/<script", "/&lt;script"),
        ] {
            assert_eq!(sanitize(target), expected, "{target}");
        }
    }

    #[test]
    fn a_hostile_target_takes_linear_time() {
        for piece in ["on", "on ", "<", "alert(", "(", "<script", "javascript:", "%3C", "<img on "]
        {
            // In quadratic time this would take minutes.
            let text = sanitize(&format!("/<img {}", piece.repeat((1 << 17) / piece.len())));
            assert!(text.starts_with("/<img ") || text.starts_with("/&lt;img "), "{piece}");
        }
    }

    proptest! {
        #[test]
        fn nothing_panics_and_no_script_tag_survives(
            target in "(<|>|/|scr|ipt|script|img| on|x=|%3C|%|\\(|\\)|alert|é|javascript:){0,20}"
        ) {
            let text = sanitize(&target).to_ascii_lowercase();
            prop_assert!(!text.contains("<script"), "{}", text);
            prop_assert!(!text.contains("javascript:"), "{}", text);
        }
    }
}
