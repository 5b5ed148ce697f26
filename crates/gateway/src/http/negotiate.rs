//! What form of an answer a client asks for: JSON or a page, and which content coding.
//!
//! In: the `Accept` and `Accept-Encoding` headers and the `format` parameter. Out: decisions; this
//! module writes nothing. Rules: SRV-36, SRV-45.

/// A content coding that we can produce.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Coding {
    /// `gzip`.
    Gzip,
    /// `deflate`, which is the zlib format.
    Deflate,
}

impl Coding {
    /// The name in `content-encoding`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gzip => "gzip",
            Self::Deflate => "deflate",
        }
    }
}

/// Whether metadata is wanted as JSON rather than as a page: `format=json`, or an `Accept` with
/// `json` in it, not right at the beginning. `format=html` demands the page.
pub(crate) fn wants_json(accept: Option<&str>, format: Option<&str>) -> bool {
    match format.map(|format| format.trim().to_ascii_lowercase()).as_deref() {
        Some("json") => true,
        Some("html") => false,
        _ => accept.is_some_and(|accept| {
            accept.to_ascii_lowercase().find("json").is_some_and(|index| index > 0)
        }),
    }
}

/// The coding to use for this `Accept-Encoding`; `None` is identity.
pub(crate) fn coding(accept_encoding: Option<&str>) -> Option<Coding> {
    let mut offers: Vec<(String, f32)> = accept_encoding?.split(',').filter_map(offer).collect();
    let refuses =
        |name: &str| offers.iter().any(|(other, quality)| other == name && *quality <= 0.0);
    let (no_gzip, no_deflate) = (refuses("gzip"), refuses("deflate"));
    offers.retain(|(_, quality)| *quality > 0.0);
    // The sort is stable: equal qualities stay in header order.
    offers.sort_by(|(_, left), (_, right)| right.total_cmp(left));
    offers.iter().find_map(|(name, _)| match name.as_str() {
        "gzip" => Some(Coding::Gzip),
        "deflate" => Some(Coding::Deflate),
        "*" if !no_gzip => Some(Coding::Gzip),
        "*" if !no_deflate => Some(Coding::Deflate),
        _ => None,
    })
}

/// One item of the list: lower-case name and quality. An unreadable quality makes no offer.
fn offer(item: &str) -> Option<(String, f32)> {
    let mut parts = item.split(';');
    let name = parts.next()?.trim().to_ascii_lowercase();
    let mut quality = 1.0;
    for parameter in parts {
        if let Some((key, value)) = parameter.split_once('=')
            && key.trim().eq_ignore_ascii_case("q")
        {
            quality = value.trim().parse().ok().filter(|q| (0.0..=1.0).contains(q))?;
        }
    }
    Some((name, quality))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_of_codings_holds() {
        use Coding::{Deflate, Gzip};
        for (header, expected) in [
            ("gzip, deflate", Some(Gzip)),
            ("gzip;q=0.9, deflate;q=1.0", Some(Deflate)),
            ("*", Some(Gzip)),
            ("*;q=1", Some(Gzip)),
            ("deflate, gzip", Some(Deflate)),
            ("identity", None),
            ("identity;q=1.0", None),
            ("*;q=0", None),
            (";q=1.0", None),
            ("sdch", None),
            ("gzip;q=0, deflate", Some(Deflate)),
            ("br, gzip", Some(Gzip)),
            ("", None),
            ("  ", None),
            // The fixed slips of the original.
            ("gzip;q=0.5, deflate", Some(Deflate)),
            ("gzip;q=0.0", None),
            ("GZIP", Some(Gzip)),
            // A wildcard does not bring back what is refused by name.
            ("gzip;q=0, *", Some(Deflate)),
            ("gzip;q=0, deflate;q=0, *", None),
            ("gzip;q=x", None),
            ("gzip;q=2", None),
            ("gzip ; Q=0.3 , deflate ; q=0.4", Some(Deflate)),
        ] {
            assert_eq!(coding(Some(header)), expected, "{header}");
        }
        assert_eq!(coding(None), None);
    }

    #[test]
    fn json_is_asked_for_by_header_or_parameter() {
        for (accept, format, expected) in [
            (Some("application/json"), None, true),
            (Some("text/html, text/json"), None, true),
            (Some("json"), None, false),
            (Some("text/html"), None, false),
            (None, None, false),
            (None, Some(" JSON "), true),
            (Some("application/json"), Some("html"), false),
            (Some("application/json"), Some("xml"), true),
        ] {
            assert_eq!(wants_json(accept, format), expected, "{accept:?} {format:?}");
        }
    }
}
