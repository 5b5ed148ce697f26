//! Names of the files in a test directory, read without the file system (`docs/guide/testing.md`).
//!
//! A name is read from the end, so tests may have dots in their names, and media types may have them
//! too (`application.vnd.api+json`).

use hyper::{StatusCode, header::HeaderValue};

use crate::mock::canned::{Place, PlaceError};

/// Media types begin with one of these, or with `x-` (RFC 6838, 4.2).
const TOP_LEVEL: [&str; 10] = [
    "application",
    "audio",
    "font",
    "haptics",
    "image",
    "message",
    "model",
    "multipart",
    "text",
    "video",
];

/// The purpose of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    /// `<name>.ql`: the script of a test.
    Script,
    /// `<anything>.routes.csv`: route tests.
    Routes,
    /// `<name>.request.<type>.<subtype>`: the body of a route test.
    Request(HeaderValue),
    /// `<name>.expect.json`: the result that must come out.
    Expectation,
    /// `<name>.assert`: assertions.
    Assertions,
    /// `<name>.js`: hooks.
    Hooks,
    /// `<name>.<port>.<status>.<type>.<subtype>`, perhaps with `@<METHOD>_<path>`: an answer.
    Answer { port: u16, status: StatusCode, content_type: HeaderValue, place: Option<Place> },
    /// `<name>.<port>.mock.json`: how the mock on that port behaves.
    Behaviour { port: u16 },
}

/// Why a name that is meant as one of a mock or a request is none.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileNameError {
    #[error("it should be called `{0}`")]
    Form(&'static str),
    #[error("`{0}` is no {1}")]
    Part(String, &'static str),
    #[error(transparent)]
    Place(#[from] PlaceError),
}

/// Reads the name of a file: the test it belongs to, and what it is for. `None` if it is no file of
/// a test.
///
/// # Errors
/// The name is meant as one of a mock or a request, and is none.
pub(super) fn parse(file: &str) -> Result<Option<(&str, Kind)>, FileNameError> {
    if let Some((name, place)) = file.split_once('@')
        && let Some((test, kind)) = answer(name, Some(place))?
    {
        return Ok(Some((test, kind)));
    }
    if let Some(found) = answer(file, None)? {
        return Ok(Some(found));
    }
    if let Some(rest) = file.strip_suffix(".mock.json") {
        let Some((test, port)) = rest.rsplit_once('.').filter(|(test, _)| !test.is_empty()) else {
            return Err(FileNameError::Form("<test>.<port>.mock.json"));
        };
        return Ok(Some((test, Kind::Behaviour { port: parse_port(port)? })));
    }
    if file == "routes.csv" || file.ends_with(".routes.csv") {
        return Ok(Some((file, Kind::Routes)));
    }
    for (suffix, kind) in [
        (".expect.json", Kind::Expectation),
        (".assert", Kind::Assertions),
        (".ql", Kind::Script),
        (".js", Kind::Hooks),
    ] {
        if let Some(test) = file.strip_suffix(suffix).filter(|test| !test.is_empty()) {
            return Ok(Some((test, kind)));
        }
    }
    let request = file.rsplit_once(".request.").filter(|(test, _)| !test.is_empty());
    if let Some((test, content_type)) = request {
        let content_type = media_type(&content_type.split('.').collect::<Vec<_>>())
            .ok_or(FileNameError::Form("<test>.request.<type>.<subtype>"))?;
        return Ok(Some((test, Kind::Request(content_type))));
    }
    Ok(None)
}

/// Reads `<test>.<port>.<status>.<type>.<subtype>`.
fn answer<'a>(
    name: &'a str,
    place: Option<&str>,
) -> Result<Option<(&'a str, Kind)>, FileNameError> {
    let parts: Vec<&str> = name.split('.').collect();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Port and status stand before the first part that can begin a media type.
    for at in 1..parts.len().saturating_sub(3) {
        let (port, status) = (parts[at], parts[at + 1]);
        let Some(content_type) = media_type(&parts[at + 2..]) else { continue };
        if !is_number(port) || !is_number(status) {
            continue;
        }
        let length = parts[..at].iter().map(|part| part.len() + 1).sum::<usize>() - 1;
        let Some(test) = name.get(..length).filter(|test| !test.is_empty()) else { continue };
        let port = parse_port(port)?;
        let code = status.parse().ok().filter(|code| (200..600).contains(code));
        let status = code
            .and_then(|code| StatusCode::from_u16(code).ok())
            .ok_or_else(|| FileNameError::Part(status.to_owned(), "status from 200 to 599"))?;
        let place = place.map(Place::parse).transpose()?;
        return Ok(Some((test, Kind::Answer { port, status, content_type, place })));
    }
    Ok(None)
}

fn parse_port(text: &str) -> Result<u16, FileNameError> {
    text.parse().map_err(|_| FileNameError::Part(text.to_owned(), "port"))
}

/// A media type from its parts between dots.
fn media_type(parts: &[&str]) -> Option<HeaderValue> {
    let (kind, subtype) = parts.split_first()?;
    let is_known = TOP_LEVEL.contains(kind) || kind.starts_with("x-");
    let subtype = subtype.join(".");
    let is_token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$&-^_.+".contains(&byte);
    let is_whole = is_known && !subtype.is_empty() && subtype.bytes().all(is_token);
    HeaderValue::try_from(format!("{kind}/{subtype}")).ok().filter(|_| is_whole)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_is_known_by_its_name() {
        let kind = |file| parse(file).unwrap().map(|(test, kind)| (test.to_owned(), kind));
        for (file, test, expected) in [
            ("price.ql", "price", Kind::Script),
            ("v1.2.price.ql", "v1.2.price", Kind::Script),
            ("all.routes.csv", "all.routes.csv", Kind::Routes),
            ("routes.csv", "routes.csv", Kind::Routes),
            ("p.expect.json", "p", Kind::Expectation),
            ("p.assert", "p", Kind::Assertions),
            ("p.js", "p", Kind::Hooks),
            ("p.3026.mock.json", "p", Kind::Behaviour { port: 3026 }),
            (
                "p.request.application.json",
                "p",
                Kind::Request(HeaderValue::from_static("application/json")),
            ),
        ] {
            assert_eq!(kind(file), Some((test.to_owned(), expected)), "{file}");
        }
        for file in ["README.md", "config.json", ".ql", "price.txt", "a@b.txt"] {
            assert_eq!(kind(file), None, "{file}");
        }
    }

    #[test]
    fn mocks_may_have_dots_in_their_names_and_types() {
        let read = |file| match parse(file).unwrap() {
            Some((test, Kind::Answer { port, status, content_type, place })) => {
                let content_type = content_type.to_str().unwrap().to_owned();
                (test.to_owned(), port, status.as_u16(), content_type, place.is_some())
            }
            other => panic!("{other:?}"),
        };
        let expected = |test: &str, port, status, kind: &str, place| {
            (test.to_owned(), port, status, kind.to_owned(), place)
        };
        assert_eq!(
            read("a.1.200.application.json"),
            expected("a", 1, 200, "application/json", false)
        );
        assert_eq!(
            read("v1.2.a.3026.503.application.soap+xml@POST_a.b"),
            expected("v1.2.a", 3026, 503, "application/soap+xml", true)
        );
        assert_eq!(
            read("a.1.200.application.vnd.api+json"),
            expected("a", 1, 200, "application/vnd.api+json", false)
        );
    }

    #[test]
    fn what_is_meant_as_a_mock_but_wrong_is_said() {
        for (file, message) in [
            ("a.70000.200.text.plain", "`70000` is no port"),
            ("a.1.99.text.plain", "`99` is no status from 200 to 599"),
            ("a.1.200.text.plain@books", "`@books` must begin with a method, such as `@GET_books`"),
            ("mock.json", ""),
            ("a.mock.json", "it should be called `<test>.<port>.mock.json`"),
            ("a.request.json", "it should be called `<test>.request.<type>.<subtype>`"),
        ] {
            match parse(file) {
                Err(error) => assert_eq!(error.to_string(), message, "{file}"),
                Ok(found) => assert!(found.is_none() && message.is_empty(), "{file}"),
            }
        }
    }

    proptest! {
        #[test]
        fn any_name_is_read_or_refused(name in "[a.@0-9]{0,12}\\PC{0,12}(\\.200\\.text\\.plain)?") {
            let _read = parse(&name);
        }
    }
}
