//! Comments as documentation: Markdown to safe HTML (CON-5).

use pulldown_cmark::{CowStr, Event, Parser, Tag, TagEnd, html};

/// Each comment rendered on its own, the pieces joined: three `--` lines give three paragraphs.
pub(super) fn each_to_html(comments: &[String]) -> String {
    comments.iter().map(|comment| to_html(comment)).collect()
}

/// Consecutive comments as one text, joined by line feeds (SRV-5).
pub(super) fn joined_to_html(comments: &[String]) -> String {
    to_html(&comments.join("\n"))
}

/// Renders one Markdown text. Raw HTML is shown as text; links and images that lead anywhere but
/// to http or https lose their target.
pub(super) fn to_html(markdown: &str) -> String {
    let mut is_unsafe_link = Vec::new();
    let events = Parser::new(markdown).filter_map(|event| match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Link { link_type, dest_url, title, id }) => {
            let is_safe = is_web_address(&dest_url);
            is_unsafe_link.push(!is_safe);
            is_safe.then_some(Event::Start(Tag::Link { link_type, dest_url, title, id }))
        }
        Event::End(TagEnd::Link) => match is_unsafe_link.pop() {
            Some(true) => None,
            _ => Some(Event::End(TagEnd::Link)),
        },
        Event::Start(Tag::Image { link_type, dest_url, title, id }) => {
            let dest_url = if is_web_address(&dest_url) { dest_url } else { CowStr::Borrowed("") };
            Some(Event::Start(Tag::Image { link_type, dest_url, title, id }))
        }
        other => Some(other),
    });
    let mut out = String::with_capacity(markdown.len() + 16);
    html::push_html(&mut out, events);
    out.truncate(out.trim_end().len());
    out
}

fn is_web_address(address: &str) -> bool {
    let scheme = address.split(':').next().unwrap_or_default();
    scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_become_paragraphs() {
        assert_eq!(to_html("All the *boats*"), "<p>All the <em>boats</em></p>");
        assert_eq!(
            each_to_html(&["Berths".into(), "near *you*".into()]),
            "<p>Berths</p><p>near <em>you</em></p>"
        );
        assert_eq!(joined_to_html(&["first".into(), "second".into()]), "<p>first\nsecond</p>");
    }

    #[test]
    fn raw_html_is_text() {
        assert_eq!(to_html("a <b>x</b>"), "<p>a &lt;b&gt;x&lt;/b&gt;</p>");
        assert!(!to_html("<script>alert(1)</script>").contains("<script"));
    }

    #[test]
    fn only_web_links_keep_their_target() {
        assert_eq!(to_html("[x](javascript:alert(1))"), "<p>x</p>");
        assert_eq!(to_html("[x](https://a.test/)"), "<p><a href=\"https://a.test/\">x</a></p>");
        assert!(!to_html("![x](data:text/html,1)").contains("data:"));
    }
}
