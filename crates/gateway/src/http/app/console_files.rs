//! The console's page and its files, which are part of this executable (CSL-1).
//!
//! In: the name of a file. Out: its bytes, compressed once for all, with a tag by which browsers know whether they
//! have them already. The files are built from `web/console` and committed; this module knows their names only.

use std::{
    hash::{DefaultHasher, Hasher},
    io::Write,
    sync::OnceLock,
};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use hyper::{
    HeaderMap, StatusCode,
    header::{self, HeaderName, HeaderValue},
};

use crate::http::{
    negotiate::Coding,
    respond::{self, Response},
};

/// What the page may do: nothing but what comes from here, and no script in the page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; \
                      connect-src 'self'; frame-src 'self'; base-uri 'none'; form-action 'self'; \
                      frame-ancestors 'none'";

/// How long browsers keep what is asked for with its version.
const KEPT: &str = "public, max-age=31536000, immutable";

/// A file of the console.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConsoleFile {
    /// The page.
    Page,
    /// Its script.
    Script,
    /// Its style sheet.
    Style,
    /// The licences of what the script is made of.
    Notice,
}

/// A file as it is sent.
struct Asset {
    plain: Bytes,
    gzip: Bytes,
    tag: HeaderValue,
}

impl ConsoleFile {
    /// The file at a path.
    pub(super) fn at(path: &str) -> Option<Self> {
        match path {
            "/console" => Some(Self::Page),
            "/console/console.js" => Some(Self::Script),
            "/console/console.css" => Some(Self::Style),
            "/console/NOTICE" => Some(Self::Notice),
            _ => None,
        }
    }

    fn source(self) -> (&'static str, &'static [u8]) {
        match self {
            Self::Page => (
                "text/html; charset=utf-8",
                include_bytes!("../../../../../web/console/dist/index.html"),
            ),
            Self::Script => (
                "text/javascript; charset=utf-8",
                include_bytes!("../../../../../web/console/dist/console.js"),
            ),
            Self::Style => (
                "text/css; charset=utf-8",
                include_bytes!("../../../../../web/console/dist/console.css"),
            ),
            Self::Notice => (
                "text/plain; charset=utf-8",
                include_bytes!("../../../../../web/console/dist/NOTICE"),
            ),
        }
    }

    /// The file as it is sent; compressing it the first time takes some milliseconds.
    fn asset(self) -> &'static Asset {
        static ASSETS: [OnceLock<Asset>; 4] = [const { OnceLock::new() }; 4];
        ASSETS[self as usize].get_or_init(|| {
            let bytes = self.source().1;
            let mut hasher = DefaultHasher::new();
            hasher.write(bytes);
            let tag = respond::header_value(&format!("\"{:016x}\"", hasher.finish()));
            let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
            // Writing to memory cannot fail.
            let _ = encoder.write_all(bytes);
            let gzip = encoder.finish().unwrap_or_default().into();
            Asset { plain: Bytes::from_static(bytes), gzip, tag }
        })
    }

    /// Compresses the file, if it has not been; to be called where that holds nobody up.
    pub(super) fn prepare(self) {
        self.asset();
    }

    /// The answer to a request for the file.
    pub(super) fn answer(
        self,
        asked: &HeaderMap,
        has_version: bool,
        coding: Option<Coding>,
    ) -> Response {
        let (content_type, _) = self.source();
        let asset = self.asset();
        let mut response = if is_known(asked, &asset.tag) {
            respond::plain(StatusCode::NOT_MODIFIED, content_type, Bytes::new())
        } else if coding == Some(Coding::Gzip) {
            let mut response = respond::plain(StatusCode::OK, content_type, asset.gzip.clone());
            let gzip = HeaderValue::from_static("gzip");
            response.headers_mut().insert(header::CONTENT_ENCODING, gzip);
            response
        } else {
            respond::plain(StatusCode::OK, content_type, asset.plain.clone())
        };
        let headers = response.headers_mut();
        headers.insert(header::ETAG, asset.tag.clone());
        let kept = if has_version { KEPT } else { "no-cache" };
        let policy = if self == Self::Page { POLICY } else { "default-src 'none'" };
        let others: [(HeaderName, &'static str); 5] = [
            (header::CACHE_CONTROL, kept),
            (header::VARY, "accept-encoding"),
            (header::CONTENT_SECURITY_POLICY, policy),
            (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
            (header::REFERRER_POLICY, "no-referrer"),
        ];
        for (name, value) in others {
            headers.insert(name, HeaderValue::from_static(value));
        }
        response
    }
}

/// Whether the client has what this tag names.
pub(super) fn is_known(asked: &HeaderMap, tag: &HeaderValue) -> bool {
    let tag = tag.to_str().unwrap_or_default();
    let listed = asked.get_all(header::IF_NONE_MATCH).iter();
    let mut listed =
        listed.filter_map(|value| value.to_str().ok()).flat_map(|list| list.split(','));
    listed.any(|one| {
        let one = one.trim();
        one == "*" || one.strip_prefix("W/").unwrap_or(one) == tag
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tag: Option<&str>) -> HeaderMap {
        let tag =
            tag.map(|tag| (header::IF_NONE_MATCH, HeaderValue::from_str(tag).expect("a tag")));
        tag.into_iter().collect()
    }

    #[test]
    fn a_file_has_a_tag_and_is_not_sent_to_who_has_it() {
        for path in ["/console", "/console/console.js", "/console/console.css", "/console/NOTICE"] {
            let file = ConsoleFile::at(path).expect("a file");
            let response = file.answer(&asked(None), false, None);
            assert_eq!(response.status(), 200);
            let tag = response.headers()["etag"].to_str().expect("text").to_owned();
            for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
                let again = file.answer(&asked(Some(&known)), false, None);
                assert_eq!(again.status(), 304, "{known}");
            }
            let other = file.answer(&asked(Some("\"x\"")), true, Some(Coding::Gzip));
            assert_eq!(
                (other.status().as_u16(), &other.headers()["content-encoding"]),
                (200, &HeaderValue::from_static("gzip"))
            );
            assert!(
                other.headers()["cache-control"]
                    .to_str()
                    .is_ok_and(|kept| kept.contains("immutable"))
            );
        }
        assert_eq!(ConsoleFile::at("/console/../x"), None);
    }

    #[test]
    fn the_page_holds_no_script_and_no_style_of_its_own() {
        let page = String::from_utf8_lossy(ConsoleFile::Page.source().1);
        assert!(
            page.contains("src=\"console/console.js\"") && page.contains("console/console.css")
        );
        assert!(
            !page.contains("<style") && !page.contains(" style=") && !page.contains(" onload=")
        );
        let scripts = page.matches("<script").count();
        assert_eq!(scripts, page.matches(" src=\"console/").count(), "every script is a file");
    }
}
