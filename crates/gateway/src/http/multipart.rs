//! Multipart bodies (`multipart/form-data`, `/related`, `/mixed`) cut into their parts.
//!
//! In: a whole body and its media type. Out: the parts in order, as slices of that body. The body
//! is in memory already and bounded, so this stays a small cutter instead of a streaming parser.
//! Promises: linear time, bounded number and size of part headers, an error for whatever does not
//! keep to RFC 2046. It does not decode transfer encodings or nested multiparts.

use bytes::Bytes;
use memchr::memmem;
use qlio_data::codec::media_type::MediaType;
use qlio_syntax::diagnostic::codes;

use super::body::MalformedBody;

/// The most parts of one body.
pub(crate) const PARTS_MAX: usize = 1000;
/// The most header bytes of one part.
pub(crate) const PART_HEAD_BYTES_MAX: usize = 8192;
/// The longest boundary (RFC 2046, 5.1.1).
pub(crate) const BOUNDARY_BYTES_MAX: usize = 70;

/// One part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// `name` of its content disposition, else its content id; empty if it has neither.
    pub name: String,
    /// The number of bytes.
    pub size: usize,
    /// The bytes.
    pub data: Bytes,
    /// Its media type.
    pub content_type: Option<String>,
    /// `filename` of its content disposition.
    pub file_name: Option<String>,
}

/// Cuts a body at the boundary that its media type names.
pub(crate) fn parse(media: &MediaType, body: &Bytes) -> Result<Vec<Part>, MalformedBody> {
    let boundary = media
        .param("boundary")
        .filter(|boundary| (1..=BOUNDARY_BYTES_MAX).contains(&boundary.len()))
        .ok_or_else(|| malformed("a multipart body without a valid boundary"))?;
    let delimiter = format!("\r\n--{boundary}");
    let finder = memmem::Finder::new(&delimiter);
    // The first delimiter may stand at the very beginning, without a line end before it.
    let mut at = if body.starts_with(&delimiter.as_bytes()[2..]) {
        delimiter.len() - 2
    } else {
        let start = finder.find(body).ok_or_else(|| malformed("the boundary is missing"))?;
        start + delimiter.len()
    };
    let mut parts = Vec::new();
    loop {
        if body[at..].starts_with(b"--") {
            return Ok(parts);
        }
        let padding = body[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let start = at + padding + 2;
        if !body[at + padding..].starts_with(b"\r\n") {
            return Err(malformed("the boundary is not followed by a line end"));
        }
        if parts.len() == PARTS_MAX {
            let reason = format!("more than {PARTS_MAX} parts");
            return Err(MalformedBody { code: codes::TOO_MANY_PARTS, reason });
        }
        // A part without headers and content ends right at its beginning.
        let end = finder
            .find(&body[start - 2..])
            .ok_or_else(|| malformed("the last boundary is missing"))?
            + start
            - 2;
        parts.push(part(&body.slice(start.min(end)..end))?);
        at = end + delimiter.len();
    }
}

/// Splits a part into its headers and its data.
fn part(text: &Bytes) -> Result<Part, MalformedBody> {
    let (head, data) = if text.starts_with(b"\r\n") {
        (Bytes::new(), text.slice(2..))
    } else {
        match memmem::find(text, b"\r\n\r\n") {
            Some(end) => (text.slice(..end), text.slice(end + 4..)),
            None => (text.clone(), Bytes::new()),
        }
    };
    if head.len() > PART_HEAD_BYTES_MAX {
        return Err(malformed(&format!("a part has more than {PART_HEAD_BYTES_MAX} header bytes")));
    }
    let head = String::from_utf8_lossy(&head);
    let mut part =
        Part { name: String::new(), size: data.len(), data, content_type: None, file_name: None };
    let mut content_id = None;
    for line in head.split("\r\n").filter(|line| !line.is_empty()) {
        let (name, value) =
            line.split_once(':').ok_or_else(|| malformed("a part header without a colon"))?;
        let value = value.trim();
        match name.trim().to_ascii_lowercase().as_str() {
            "content-disposition" => {
                let disposition = MediaType::parse(value);
                disposition.param("name").unwrap_or_default().clone_into(&mut part.name);
                part.file_name = disposition.param("filename").map(str::to_owned);
            }
            "content-type" => part.content_type = Some(value.to_owned()),
            "content-id" => content_id = Some(value.trim_matches(['<', '>']).to_owned()),
            _ => {}
        }
    }
    if part.name.is_empty() {
        part.name = content_id.unwrap_or_default();
    }
    Ok(part)
}

fn malformed(reason: &str) -> MalformedBody {
    MalformedBody { code: codes::BAD_MULTIPART, reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn media(boundary: &str) -> MediaType {
        MediaType::parse(&format!("multipart/form-data; boundary=\"{boundary}\""))
    }

    fn parse_text(body: &str) -> Result<Vec<Part>, MalformedBody> {
        parse(&media("XX"), &Bytes::copy_from_slice(body.as_bytes()))
    }

    #[test]
    fn parts_keep_name_type_file_name_and_exact_bytes() {
        let parts = parse_text(
            "preamble\r\n--XX \t\r\ncontent-disposition: form-data; NAME=\"a;b\"; filename=\"p q.txt\"\r\n\
             Content-Type: text/plain; charset=utf-8\r\n\r\n one\r\n--X two\r\n\r\n--XX\r\n\
             Content-ID: <part2>\r\n\r\n\r\n--XX\r\n\r\nno headers\r\n--XX--\r\nepilogue",
        )
        .expect("well formed");
        assert_eq!(parts.len(), 3);
        assert_eq!(parts[0].name, "a;b");
        assert_eq!(parts[0].file_name.as_deref(), Some("p q.txt"));
        assert_eq!(parts[0].content_type.as_deref(), Some("text/plain; charset=utf-8"));
        assert_eq!(parts[0].data, " one\r\n--X two\r\n");
        assert_eq!(parts[0].size, parts[0].data.len());
        assert_eq!((parts[1].name.as_str(), parts[1].size), ("part2", 0));
        assert_eq!((parts[2].name.as_str(), &parts[2].data[..]), ("", &b"no headers"[..]));
    }

    #[test]
    fn broken_bodies_are_errors() {
        for body in [
            "",
            "--YY\r\n\r\na\r\n--YY--",
            "--XX\r\n\r\na",
            "--XXa\r\n\r\nb\r\n--XX--",
            "--XX\r\nno colon\r\n\r\na\r\n--XX--",
        ] {
            assert!(parse_text(body).is_err(), "{body}");
        }
        assert!(parse(&media(""), &Bytes::from_static(b"----")).is_err());
        assert!(parse(&media(&"b".repeat(BOUNDARY_BYTES_MAX + 1)), &Bytes::new()).is_err());
    }

    #[test]
    fn the_bounds_hold_on_both_sides() {
        let body = |count: usize| format!("{}--XX--", "--XX\r\n\r\nx\r\n".repeat(count));
        assert_eq!(parse_text(&body(PARTS_MAX)).expect("at the limit").len(), PARTS_MAX);
        let error = parse_text(&body(PARTS_MAX + 1)).expect_err("over the limit");
        assert_eq!(error.code, codes::TOO_MANY_PARTS);
        let head = |size: usize| format!("--XX\r\na:{}\r\n\r\n\r\n--XX--", "h".repeat(size - 2));
        assert!(parse_text(&head(PART_HEAD_BYTES_MAX)).is_ok());
        assert!(parse_text(&head(PART_HEAD_BYTES_MAX + 1)).is_err());
    }

    proptest! {
        #[test]
        fn whatever_parts_hold_comes_back(
            contents in proptest::collection::vec("[a-z\\r\\n -]{0,30}", 1..5),
        ) {
            let mut body = String::new();
            for content in &contents {
                body.push_str("--~~XX\r\na: b\r\n\r\n");
                body.push_str(content);
                body.push_str("\r\n");
            }
            body.push_str("--~~XX--");
            let parts = parse(&media("~~XX"), &Bytes::from(body)).expect("well formed");
            let found: Vec<_> = parts.iter().map(|part| part.data.to_vec()).collect();
            let expected: Vec<_> = contents.iter().map(|text| text.as_bytes().to_vec()).collect();
            prop_assert_eq!(found, expected);
        }

        #[test]
        fn garbage_never_panics(body in "(--XX|\r\n|--|a:b|:| |é){0,20}") {
            let _ = parse_text(&body);
        }
    }
}
