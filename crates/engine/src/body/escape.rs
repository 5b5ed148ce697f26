//! How a value is escaped in a body of a given media type, so that it arrives there as it was.
//!
//! In: a media type as a table or hook writes it; a text. Out: the text as it may stand in such a body. Which
//! tags of a template escape is the renderers' business.

use qlio_data::{
    Value,
    codec::{json, media_type::MediaType, xml},
    percent,
};

/// The escaping of one media type.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Escape {
    /// Text becomes the inside of a JSON string.
    Json,
    /// Characters with a meaning in XML and HTML become references.
    Markup,
    /// Percent-encoding, as in the query of a URI.
    Form,
    /// Nothing has a meaning, so nothing is escaped.
    Verbatim,
}

impl Escape {
    /// The escaping of bodies of this type. Parameters such as `charset` make no difference, and neither
    /// does what stands before `+json` or `+xml`.
    pub(crate) fn of_media_type(media_type: &str) -> Self {
        let media_type = MediaType::parse(media_type);
        match (media_type.main.as_str(), media_type.sub.as_str()) {
            _ if media_type.is_assumed => Self::Verbatim,
            _ if media_type.is_json() => Self::Json,
            ("text", "html") => Self::Markup,
            _ if media_type.is_xml() => Self::Markup,
            ("application", "x-www-form-urlencoded") => Self::Form,
            _ => Self::Verbatim,
        }
    }

    /// Appends a text, escaped.
    pub(crate) fn push(self, text: &str, out: &mut String) {
        match self {
            Self::Json => push_json(text, out),
            Self::Markup => push_markup(text, out),
            Self::Form => percent::encode_component(text, out),
            Self::Verbatim => out.push_str(text),
        }
    }
}

/// The inside of the JSON string of a text: its encoding without the quotes.
fn push_json(text: &str, out: &mut String) {
    let quoted = json::to_string(&Value::from(text));
    out.push_str(&quoted[1..quoted.len() - 1]);
}

/// Escapes for XML and HTML; an ampersand that already starts a reference stays, because templates of
/// 2011 are given text that is escaped already.
fn push_markup(text: &str, out: &mut String) {
    for (at, character) in text.char_indices() {
        match (xml::reference_of(character), character) {
            (_, '&') if is_reference(&text[at + 1..]) => out.push('&'),
            (Some(reference), _) => out.push_str(reference),
            (None, other) => out.push(other),
        }
    }
}

/// Whether what follows an ampersand makes a reference of it. Names are short; looking no further keeps
/// escaping linear.
fn is_reference(rest: &str) -> bool {
    const NAME_MAX: usize = 32;
    let rest = rest.strip_prefix('#').unwrap_or(rest);
    let name = rest.bytes().take(NAME_MAX).take_while(u8::is_ascii_alphanumeric).count();
    name > 0 && rest.as_bytes().get(name) == Some(&b';')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_media_type_decides() {
        for (media_type, escape) in [
            ("application/json", Escape::Json),
            ("Application/JSON; charset=utf-8", Escape::Json),
            ("application/vnd.x+json;charset=utf-8", Escape::Json),
            ("application/merge-patch+json", Escape::Json),
            ("text/xml;charset=utf-8", Escape::Markup),
            ("application/soap+xml", Escape::Markup),
            ("application/xhtml+xml", Escape::Markup),
            ("text/html; charset=latin1", Escape::Markup),
            ("application/x-www-form-urlencoded; charset=utf-8", Escape::Form),
            ("text/plain", Escape::Verbatim),
            ("", Escape::Verbatim),
            ("text/csv", Escape::Verbatim),
            ("application/octet-stream", Escape::Verbatim),
        ] {
            assert_eq!(Escape::of_media_type(media_type), escape, "{media_type}");
        }
    }

    fn escaped(escape: Escape, text: &str) -> String {
        let mut out = String::new();
        escape.push(text, &mut out);
        out
    }

    #[test]
    fn characters_with_a_meaning_are_escaped() {
        let text = "a\"\\\n\u{1}<b> & 'c' &amp; ø=+%";
        assert_eq!(escaped(Escape::Json, text), "a\\\"\\\\\\n\\u0001<b> & 'c' &amp; ø=+%");
        assert_eq!(
            escaped(Escape::Markup, text),
            "a&quot;\\\n\u{1}&lt;b&gt; &amp; &#39;c&#39; &amp; ø=+%"
        );
        assert_eq!(
            escaped(Escape::Form, text),
            "a%22%5C%0A%01%3Cb%3E%20%26%20'c'%20%26amp%3B%20%C3%B8%3D%2B%25"
        );
        assert_eq!(escaped(Escape::Verbatim, text), text);
    }

    proptest! {
        #[test]
        fn json_gives_any_text_back(text in any::<String>()) {
            let quoted = format!("\"{}\"", escaped(Escape::Json, &text));
            let read = json::parse_str(&quoted).unwrap();
            prop_assert_eq!(read.as_str(), Some(text.as_str()));
        }

        #[test]
        fn forms_give_any_text_back(text in any::<String>()) {
            let coded = escaped(Escape::Form, &text);
            prop_assert!(!coded.contains(['&', '=', '+', ' ', '#']));
            prop_assert_eq!(&*percent::decode_form(&coded).unwrap(), text.as_str());
        }
    }
}
