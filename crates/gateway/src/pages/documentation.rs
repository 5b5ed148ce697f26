//! The allow-list for documentation markup (`info`).
//!
//! The markup is made from comments by our own renderer, which escapes what it does not know. This
//! second look keeps a page whole even if that text came from elsewhere: only plain formatting tags
//! pass, without attributes but safe link targets, and every tag is closed in order.

use qlio_data::codec::xml::escape;

const TAGS: [&str; 19] = [
    "a",
    "b",
    "blockquote",
    "code",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "i",
    "li",
    "ol",
    "p",
    "pre",
    "strong",
    "ul",
    "del",
];
/// Tags that have no end.
const VOID_TAGS: [&str; 2] = ["br", "hr"];
/// Tags open inside each other; deeper ones are shown as text.
const DEPTH_MAX: usize = 64;

/// The markup with everything else shown as text. Entities stay as they are.
pub(super) fn allow_listed(markup: &str) -> String {
    let mut out = String::with_capacity(markup.len());
    let mut open: Vec<&'static str> = Vec::new();
    let mut rest = markup;
    while let Some(at) = rest.find('<') {
        push_text(&mut out, &rest[..at]);
        rest = &rest[at..];
        let end =
            rest[1..].find(['<', '>']).map(|at| at + 1).filter(|at| rest[*at..].starts_with('>'));
        let allowed = end.and_then(|end| Some((end, tag(&rest[1..end], &mut open)?)));
        if let Some((end, tag)) = allowed {
            out.push_str(&tag);
            rest = &rest[end + 1..];
        } else {
            out.push_str("&lt;");
            rest = &rest[1..];
        }
    }
    push_text(&mut out, rest);
    while let Some(name) = open.pop() {
        close(&mut out, name);
    }
    out
}

/// An allowed tag, written anew; `open` follows what is open.
fn tag(inner: &str, open: &mut Vec<&'static str>) -> Option<String> {
    let (is_end, inner) = match inner.strip_prefix('/') {
        Some(name) => (true, name),
        None => (false, inner.trim_end_matches('/')),
    };
    let (name, attributes) = inner.split_once(char::is_whitespace).unwrap_or((inner, ""));
    let name = name.to_ascii_lowercase();
    if VOID_TAGS.contains(&name.as_str()) && !is_end {
        return Some(format!("<{name}>"));
    }
    let name = TAGS.into_iter().find(|tag| *tag == name)?;
    if is_end {
        let from = open.iter().rposition(|tag| *tag == name)?;
        let mut closed = String::new();
        for name in open.drain(from..).rev() {
            close(&mut closed, name);
        }
        return Some(closed);
    }
    if open.len() == DEPTH_MAX {
        return None;
    }
    open.push(name);
    Some(match link_target(attributes).filter(|_| name == "a") {
        Some(target) => format!("<a href=\"{target}\">"),
        None => format!("<{name}>"),
    })
}

/// The value of `href`, if it leads to a web page or to a path of ours.
fn link_target(attributes: &str) -> Option<String> {
    let (_, rest) = attributes.split_once("href=\"")?;
    let (target, _) = rest.split_once('"')?;
    let is_safe = target.starts_with("https://")
        || target.starts_with("http://")
        || (target.starts_with('/') && !target.starts_with("//"))
        || target.starts_with('#');
    is_safe.then(|| target.replace('\'', "&#39;"))
}

/// Text between tags: already escaped but for stray brackets and quotes.
fn push_text(out: &mut String, text: &str) {
    // `&` stays, it begins an entity.
    for piece in text.split_inclusive('&') {
        match piece.strip_suffix('&') {
            Some(before) => {
                out.push_str(&escape(before));
                out.push('&');
            }
            None => out.push_str(&escape(piece)),
        }
    }
}

fn close(out: &mut String, name: &str) {
    out.push_str("</");
    out.push_str(name);
    out.push('>');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn formatting_passes_and_everything_else_is_text() {
        for (markup, expected) in [
            ("<p>a <em>b</em> &lt;c&gt;</p>", "<p>a <em>b</em> &lt;c&gt;</p>"),
            (
                "<a href=\"https://h.test/?a&amp;b\">x</a>",
                "<a href=\"https://h.test/?a&amp;b\">x</a>",
            ),
            ("<a href=\"javascript:x\">y</a>", "<a>y</a>"),
            ("<a href=\"//evil.test\">y</a>", "<a>y</a>"),
            ("<p onclick=\"x\">y</p>", "<p>y</p>"),
            ("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;"),
            ("<p>open <strong>tags", "<p>open <strong>tags</strong></p>"),
            ("<p><em>wrong</p></em>", "<p><em>wrong</em></p>&lt;/em&gt;"),
            ("a<br/>b < c", "a<br>b &lt; c"),
            ("</p>", "&lt;/p&gt;"),
        ] {
            assert_eq!(allow_listed(markup), expected, "{markup}");
        }
    }

    #[test]
    fn nesting_is_bounded() {
        let html = allow_listed(&"<b>".repeat(DEPTH_MAX + 1));
        assert_eq!(html.matches("<b>").count(), DEPTH_MAX);
        assert_eq!(html.matches("</b>").count(), DEPTH_MAX);
    }

    proptest! {
        #[test]
        fn tags_are_balanced_whatever_comes(
            markup in "(<p>|</p>|<a href=\"/x\">|</a>|<|>|script|\"|&|<br>|x|<li x=y>|</li>){0,25}"
        ) {
            let html = allow_listed(&markup);
            for tag in ["p", "a", "li"] {
                let begun = html.matches(&format!("<{tag}>")).count()
                    + html.matches(&format!("<{tag} ")).count();
                prop_assert_eq!(begun, html.matches(&format!("</{tag}>")).count(), "{}", html);
            }
            prop_assert!(!html.contains("<script"));
        }
    }
}
