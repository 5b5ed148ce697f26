//! Where a body ends, and whether the connection goes on behind it (RFC 9112, 6 and 9).

use http::{HeaderName, Method, StatusCode};
use smallvec::SmallVec;

use super::{Malformed, request::Refusal};

/// How a body ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Framing {
    /// There is none.
    None,
    /// After so many bytes.
    Length(u64),
    /// With the last chunk.
    Chunked,
    /// With the connection; never of a request.
    UntilClose,
}

/// The values of one name; most heads have at most one.
type Values<'h> = SmallVec<[&'h [u8]; 1]>;

/// The headers that say how a body ends and whether the connection goes on, noted while all are read.
#[derive(Debug, Default)]
pub struct Control<'h> {
    connection: Values<'h>,
    content_length: Values<'h>,
    transfer_encoding: Values<'h>,
}

impl<'h> Control<'h> {
    /// Keeps the value if the name is one of these headers.
    #[inline]
    pub fn note(&mut self, name: &str, value: &'h [u8]) {
        // Few names are as long as one of these, so that few are compared.
        let values = if name.eq_ignore_ascii_case("content-length") {
            &mut self.content_length
        } else if name.eq_ignore_ascii_case("connection") {
            &mut self.connection
        } else if name.eq_ignore_ascii_case("transfer-encoding") {
            &mut self.transfer_encoding
        } else {
            return;
        };
        values.push(value);
    }

    /// Whether the connection can be used again after a body whose end is known.
    pub fn stays_open(&self, is_http10: bool) -> bool {
        let has_token = |token| has_token(self.connection.iter().copied(), token);
        // Two lengths are a sign of somebody in between who counts differently (RFC 9112, 6.3).
        let is_twofold =
            !self.transfer_encoding.is_empty() && (is_http10 || !self.content_length.is_empty());
        !is_twofold && !has_token("close") && (!is_http10 || has_token("keep-alive"))
    }

    /// How the body of a response ends. Upstreams are chosen by the operator, so a length that is said twice is
    /// believed, and chunks are believed beside a length.
    ///
    /// # Errors
    /// An unknown coding, chunks in HTTP/1.0, a length that is none or contradicts itself.
    pub fn response_framing(
        &self,
        method: &Method,
        status: StatusCode,
        is_http10: bool,
    ) -> Result<Framing, Malformed> {
        if *method == Method::HEAD
            || matches!(status, StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED)
        {
            return Ok(Framing::None);
        }
        let mut codings = members(&self.transfer_encoding).filter(|coding| !coding.is_empty());
        if codings.clone().any(|coding| coding != b"identity") {
            return if is_http10 {
                Err(Malformed::new("chunks in HTTP/1.0"))
            } else {
                only_chunked(&mut codings)
            };
        }
        let mut length = None;
        for number in members(&self.content_length).map(decimal) {
            let number = number?;
            if length.is_some_and(|length| length != number) {
                return Err(Malformed::new("`content-length` contradicts itself"));
            }
            length = Some(number);
        }
        Ok(length.map_or(Framing::UntilClose, sized))
    }

    /// How the body of a request ends. Clients are strangers, and what stands behind a body is taken for the
    /// next request, so nothing is believed that anybody could read otherwise.
    ///
    /// # Errors
    /// A coding but `chunked`, more than one length or coding, chunks in HTTP/1.0, a length that is none.
    pub fn request_framing(&self, is_http10: bool) -> Result<Framing, Refusal> {
        let reason = match (&self.transfer_encoding[..], &self.content_length[..]) {
            ([], []) => return Ok(Framing::None),
            ([], [length]) => return Ok(sized(decimal(length)?)),
            ([], _) => "more than one `content-length`",
            (_, []) if is_http10 => "chunks in HTTP/1.0",
            (_, []) => return chunked_request(members(&self.transfer_encoding)),
            _ => "`transfer-encoding` beside `content-length`",
        };
        Err(Malformed::new(reason).into())
    }
}

fn sized(length: u64) -> Framing {
    if length == 0 { Framing::None } else { Framing::Length(length) }
}

/// No other coding is known, and applied twice it is no framing.
fn only_chunked<'a>(codings: &mut impl Iterator<Item = &'a [u8]>) -> Result<Framing, Malformed> {
    let first = codings.next().unwrap_or_default();
    match codings.next() {
        None if first.eq_ignore_ascii_case(b"chunked") => Ok(Framing::Chunked),
        None => Err(Malformed::new(format!(
            "the transfer coding `{}` is not supported",
            first.escape_ascii()
        ))),
        Some(_) => Err(Malformed::new("more than one transfer coding is not supported")),
    }
}

/// Which codings a request may have: one `chunked`. What leaves open where the body ends is malformed; a coding
/// that others may know is only not supported (RFC 9112, 6.1 and 6.3).
fn chunked_request<'a>(
    codings: impl Iterator<Item = &'a [u8]> + Clone,
) -> Result<Framing, Refusal> {
    let mut unknown = None;
    let mut is_chunked = false;
    for coding in codings {
        let name = coding.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        let reason = if HeaderName::from_bytes(name).is_err() {
            "is none"
        } else if is_chunked {
            "stands behind `chunked`"
        } else if !name.eq_ignore_ascii_case(b"chunked") {
            unknown.get_or_insert(coding);
            continue;
        } else if name.len() < coding.len() {
            "has parameters"
        } else {
            is_chunked = true;
            continue;
        };
        let coding = coding.escape_ascii();
        return Err(Malformed::new(format!("the transfer coding `{coding}` {reason}")).into());
    }
    match unknown {
        None => Ok(Framing::Chunked),
        Some(coding) => Err(Refusal::UnknownCoding(coding.escape_ascii().to_string())),
    }
}

/// Digits only; `parse` alone would take a sign too.
fn decimal(digits: &[u8]) -> Result<u64, Malformed> {
    let number = str::from_utf8(digits).ok().filter(|_| digits.iter().all(u8::is_ascii_digit));
    number
        .and_then(|number| number.parse().ok())
        .ok_or_else(|| Malformed::new("`content-length` is not a number"))
}

/// The members of a header that is a list, from its values.
fn members<'v>(values: &'v Values<'_>) -> impl Iterator<Item = &'v [u8]> + Clone {
    values.iter().flat_map(|value| value.split(|byte| *byte == b',')).map(<[u8]>::trim_ascii)
}

/// Whether a header that is a list has this member, in any case.
pub fn has_token<'a>(mut values: impl Iterator<Item = &'a [u8]>, wanted: &str) -> bool {
    let is_wanted = |token: &[u8]| token.trim_ascii().eq_ignore_ascii_case(wanted.as_bytes());
    values.any(|value| value.split(|byte| *byte == b',').any(is_wanted))
}
