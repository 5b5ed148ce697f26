//! The JSON grammar over bytes: where strings, numbers and whole values end.
//!
//! In: bytes that are UTF-8, or are yet to be checked for it, and a position. Out: the position
//! behind what was asked for, or a [`Fault`]. Every byte that is passed has been checked against RFC
//! 8259; nesting is followed with an explicit stack under a named bound. Strings are read sixteen
//! bytes at a time. Nothing is built here; [`decode`](super::decode) does that.

use super::{
    names::{Expected, Names},
    text::{is_special, special_lanes},
};
use crate::codec::lanes::{LANES, Lanes, find};

/// What is wrong at a place. Boxed, because a result of one word and an address travels in
/// registers: measured, this is a seventh of the time of a decode.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Fault(Box<(usize, Problem)>);

impl Fault {
    pub(super) fn at(&self) -> usize {
        self.0.0
    }

    pub(super) fn problem(&self) -> Problem {
        self.0.1
    }
}

/// The reasons why text is not a JSON document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Problem {
    /// Something else was expected here.
    Expected(&'static str),
    /// A string goes on to the end of the text.
    OpenString,
    /// A byte below 0x20 in a string.
    ControlCharacter,
    /// A backslash and something that does not belong to it.
    UnknownEscape,
    /// More nested structures than allowed.
    TooDeep(usize),
    /// More elements and members than allowed.
    TooMany(usize),
}

impl Problem {
    #[cold]
    pub(super) fn at(self, at: usize) -> Fault {
        Fault(Box::new((at, self)))
    }
}

/// A string as it stands in the text: its content lies between the quotes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Span {
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) has_escapes: bool,
    /// Whether the encoder would write one of the escapes in another way: `\/`, or one by number.
    pub(super) has_other_escapes: bool,
}

impl Span {
    fn plain(start: usize, end: usize) -> Self {
        Self { start, end, has_escapes: false, has_other_escapes: false }
    }
}

pub(super) const COMMA_OR_BRACKET: Problem = Problem::Expected("`,` or `]`");
pub(super) const COMMA_OR_BRACE: Problem = Problem::Expected("`,` or `}`");
const VALUE: Problem = Problem::Expected("a value");
const NAME: Problem = Problem::Expected("a member name");
const COLON: Problem = Problem::Expected("`:`");
const DIGIT: Problem = Problem::Expected("a digit");

/// A position in a text, moved forward by what is read.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth_max: usize,
    /// For the structures around the position, the closing brackets that they wait for, and the first
    /// names of their elements; kept between calls for its memory only.
    open: Vec<(u8, Expected)>,
    names: Names,
    /// The name that may come next.
    expected: Expected,
}

impl<'a> Scanner<'a> {
    pub(super) fn new(bytes: &'a [u8], depth_max: usize) -> Self {
        Self::from(bytes, 0, depth_max, Names::default())
    }

    /// A scanner that goes on at a position which another one has reached in the beginning of the
    /// same text, with the names that it had met.
    pub(super) fn from(bytes: &'a [u8], at: usize, depth_max: usize, names: Names) -> Self {
        Self { bytes, at, depth_max, open: Vec::new(), names, expected: Expected::NOWHERE }
    }

    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// The names that were met in arrays.
    pub(super) fn into_names(self) -> Names {
        self.names
    }

    /// The byte at the position; a blank (which no grammar rule accepts) at the end of the text.
    #[inline]
    pub(super) fn peek(&self) -> u8 {
        self.bytes.get(self.at).copied().unwrap_or(b' ')
    }

    #[inline]
    pub(super) fn advance(&mut self) {
        self.at += 1;
    }

    /// Moves over white space.
    #[inline]
    pub(super) fn skip_blanks(&mut self) {
        self.at = behind_blanks(self.bytes, self.at);
    }

    /// Whether the text ends here.
    pub(super) fn is_done(&self) -> bool {
        self.at >= self.bytes.len()
    }

    /// Fails unless a structure may open inside `depth` others.
    pub(super) fn check_depth(&self, depth: usize) -> Result<(), Fault> {
        if depth < self.depth_max {
            Ok(())
        } else {
            Err(Problem::TooDeep(self.depth_max).at(self.at))
        }
    }

    /// Moves over a string whose opening quote stands at the position.
    #[expect(clippy::inline_always, reason = "measured: the span must not travel through memory")]
    #[inline(always)]
    pub(super) fn string(&mut self) -> Result<Span, Fault> {
        let span = span_at(self.bytes, self.at + 1)?;
        self.at = span.end + 1;
        Ok(span)
    }

    /// Inside an array, in front of its first element: where the names of its elements begin.
    pub(super) fn first_name(&mut self) -> Expected {
        self.expected = self.names.of_elements(self.expected);
        self.expected
    }

    /// In front of a further element of an array whose [`Self::first_name`] this is.
    #[inline]
    pub(super) fn expect(&mut self, first: Expected) {
        self.expected = first;
    }

    /// Moves over a member name, the colon and the white space behind it.
    pub(super) fn name(&mut self) -> Result<Span, Fault> {
        let name = name_at(self.bytes, self.at)?;
        self.at = behind_colon(self.bytes, name.end + 1)?;
        Ok(name)
    }

    /// From a member name on, moves over members until one comes whose name is wanted: to its value.
    /// `want` gets the span of a name and answers what it stands for. `None` if the object closes
    /// before that; `depth` structures are open around the object.
    #[inline]
    pub(super) fn wanted_member<W>(
        &mut self,
        depth: usize,
        mut want: impl FnMut(Span) -> Option<W>,
    ) -> Result<Option<W>, Fault> {
        let bytes = self.bytes;
        // Unwanted members are passed without writing the position back.
        let mut at = self.at;
        loop {
            let name = if let Some(length) = self.names.take(bytes, at, &mut self.expected) {
                let start = at + 1;
                at += length;
                Span::plain(start, at - 2)
            } else {
                let start = at;
                let name = name_at(bytes, at)?;
                at = name.end + 1;
                // Blanks are rare, so what is expected is looked for first.
                if byte_at(bytes, at) != b':' {
                    at = behind_blanks(bytes, at);
                    if byte_at(bytes, at) != b':' {
                        return Err(COLON.at(at));
                    }
                }
                at += 1;
                self.names.note(bytes, start, at, &mut self.expected);
                name
            };
            let mut byte = byte_at(bytes, at);
            if byte <= b' ' {
                at = behind_blank_run(bytes, at);
                byte = byte_at(bytes, at);
            }
            if let Some(wanted) = want(name) {
                self.at = at;
                return Ok(Some(wanted));
            }
            at = match byte {
                b'"' => behind_string(bytes, at + 1)?,
                b'{' | b'[' => {
                    self.at = at;
                    self.structure(depth + 1)?;
                    self.at
                }
                _ => behind_number_or_word(bytes, at)?,
            };
            let mut byte = byte_at(bytes, at);
            if byte <= b' ' {
                at = behind_blank_run(bytes, at);
                byte = byte_at(bytes, at);
            }
            match byte {
                b',' => at = behind_blanks(bytes, at + 1),
                b'}' => {
                    self.at = at + 1;
                    return Ok(None);
                }
                _ => return Err(COMMA_OR_BRACE.at(at)),
            }
        }
    }

    /// Behind an element or member: whether another one follows; else the structure is closed.
    #[inline]
    pub(super) fn has_next(&mut self, closer: u8, problem: Problem) -> Result<bool, Fault> {
        self.skip_blanks();
        let byte = self.peek();
        if byte != b',' && byte != closer {
            return Err(problem.at(self.at));
        }
        self.advance();
        if byte == b',' {
            self.skip_blanks();
        }
        Ok(byte == b',')
    }

    /// Moves over a number, `true`, `false` or `null`.
    pub(super) fn number_or_word(&mut self) -> Result<(), Fault> {
        self.at = behind_number_or_word(self.bytes, self.at)?;
        Ok(())
    }

    /// Moves over the value at the position; `depth` structures are open around it.
    #[inline]
    pub(super) fn value(&mut self, depth: usize) -> Result<(), Fault> {
        match self.peek() {
            b'"' => {
                self.at = behind_string(self.bytes, self.at + 1)?;
                Ok(())
            }
            b'{' | b'[' => self.structure(depth),
            _ => self.number_or_word(),
        }
    }

    /// Apart from [`Self::value`], so that passing over a scalar does not pay for its registers.
    #[inline(never)]
    fn structure(&mut self, depth: usize) -> Result<(), Fault> {
        let bytes = self.bytes;
        let mut at = self.at;
        // The innermost open structure's closing bracket; those around it are on the stack.
        let mut closer = 0;
        let mut first = Expected::NOWHERE;
        let mut expected = self.expected;
        self.open.clear();
        loop {
            if closer == b'}' {
                at = match self.names.take(bytes, at, &mut expected) {
                    Some(length) => at + length,
                    None => self.other_name(at, &mut expected)?,
                };
            }
            // A value starts here. Blanks are rare, so what is expected is looked for first.
            let mut byte = byte_at(bytes, at);
            if byte <= b' ' {
                at = behind_blank_run(bytes, at);
                byte = byte_at(bytes, at);
            }
            match byte {
                b'"' => at = behind_string(bytes, at + 1)?,
                b'{' | b'[' => {
                    if depth + self.open.len() >= self.depth_max {
                        return Err(Problem::TooDeep(self.depth_max).at(at));
                    }
                    self.open.push((closer, first));
                    if byte == b'[' {
                        expected = self.names.of_elements(expected);
                        first = expected;
                    }
                    // `]` and `}` stand two places behind their opening brackets in ASCII.
                    closer = byte + 2;
                    at = behind_blanks(bytes, at + 1);
                    if byte_at(bytes, at) != closer {
                        continue;
                    }
                    at += 1;
                    (closer, first) = self.open.pop().unwrap_or((0, Expected::NOWHERE));
                }
                _ => at = behind_number_or_word(bytes, at)?,
            }
            // A value ended here: structures that close with it end, too.
            loop {
                if self.open.is_empty() {
                    self.at = at;
                    self.expected = expected;
                    return Ok(());
                }
                match byte_at(bytes, at) {
                    b',' => {
                        at += 1;
                        if closer == b']' {
                            expected = first;
                        }
                        break;
                    }
                    byte if byte == closer => {
                        at += 1;
                        (closer, first) = self.open.pop().unwrap_or((0, Expected::NOWHERE));
                    }
                    byte => {
                        let behind = behind_blanks(bytes, at);
                        if byte > b' ' || behind == at {
                            let is_object = closer == b'}';
                            let wanted = if is_object { COMMA_OR_BRACE } else { COMMA_OR_BRACKET };
                            return Err(wanted.at(at));
                        }
                        at = behind;
                    }
                }
            }
        }
    }

    /// Over a name that was not expected, and white space in front of it.
    #[expect(clippy::inline_always, reason = "measured: most documents have no rows")]
    #[inline(always)]
    fn other_name(&mut self, at: usize, expected: &mut Expected) -> Result<usize, Fault> {
        let start = behind_blanks(self.bytes, at);
        let behind = behind_name(self.bytes, start)?;
        self.names.note(self.bytes, start, behind, expected);
        Ok(behind)
    }

    /// Moves over the structure at the position, trusting that it is valid: only brackets and
    /// strings are looked at.
    pub(super) fn trusted_structure(&mut self) -> Result<(), Fault> {
        let mut open = 0_usize;
        let mut at = self.at;
        loop {
            at = bracket_or_quote(self.bytes, at);
            match self.bytes.get(at) {
                Some(b'"') => {
                    at = behind_string(self.bytes, at + 1)?;
                    continue;
                }
                Some(b'{' | b'[') => open += 1,
                Some(_) if open > 0 => open -= 1,
                _ => return Err(VALUE.at(at)),
            }
            at += 1;
            if open == 0 {
                self.at = at;
                return Ok(());
            }
        }
    }
}

/// Whether `text` is a JSON number and nothing else.
pub(super) fn is_number(text: &[u8]) -> bool {
    matches!(text.first(), Some(b'-' | b'0'..=b'9'))
        && behind_number_or_word(text, 0) == Ok(text.len())
}

/// The next byte that a string cannot simply contain. The end of the text if there is none.
#[inline]
pub(super) fn special_byte(bytes: &[u8], at: usize) -> usize {
    find(bytes, at, special_lanes, is_special)
}

/// The next bracket, brace or quote, or the end of the text.
#[inline]
fn bracket_or_quote(bytes: &[u8], at: usize) -> usize {
    find(
        bytes,
        at,
        |lanes| {
            // With this bit set, `[` is `{`, `]` is `}`, and no other byte becomes one of them.
            let folded = lanes | Lanes::splat(0x20);
            lanes.simd_eq(Lanes::splat(b'"'))
                | folded.simd_eq(Lanes::splat(b'{'))
                | folded.simd_eq(Lanes::splat(b'}'))
        },
        |byte| matches!(byte, b'"' | b'{' | b'[' | b'}' | b']'),
    )
}

#[inline]
fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|chunk| u64::from_le_bytes(*chunk))
}

#[inline]
fn behind_blanks(bytes: &[u8], at: usize) -> usize {
    match bytes.get(at) {
        Some(byte) if *byte > b' ' => at,
        _ => behind_blank_run(bytes, at),
    }
}

#[cold]
#[inline(never)]
fn behind_blank_run(bytes: &[u8], mut at: usize) -> usize {
    const BLANKS: u64 = u64::from_le_bytes([b' '; 8]);
    loop {
        match bytes.get(at) {
            Some(b' ') => {
                // Indented documents: a line break and many blanks.
                while word_at(bytes, at) == Some(BLANKS) {
                    at += 8;
                }
                while bytes.get(at) == Some(&b' ') {
                    at += 1;
                }
            }
            Some(b'\n' | b'\r' | b'\t') => at += 1,
            _ => return at,
        }
    }
}

/// The byte at a position; at the end of the text a zero, which no grammar rule accepts.
#[inline]
fn byte_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// Over a member name and its colon, and white space between them.
#[expect(clippy::inline_always, reason = "measured: half of all strings are names")]
#[inline(always)]
fn behind_name(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    if byte_at(bytes, at) != b'"' {
        return Err(NAME.at(at));
    }
    at = behind_string(bytes, at + 1)?;
    if byte_at(bytes, at) != b':' {
        at = behind_blanks(bytes, at);
        if byte_at(bytes, at) != b':' {
            return Err(COLON.at(at));
        }
    }
    Ok(at + 1)
}

#[inline]
fn behind_colon(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let at = behind_blanks(bytes, at);
    if bytes.get(at) != Some(&b':') {
        return Err(COLON.at(at));
    }
    Ok(behind_blanks(bytes, at + 1))
}

/// The string whose content starts here.
#[expect(clippy::inline_always, reason = "measured: the span must not travel through memory")]
#[inline(always)]
fn span_at(bytes: &[u8], start: usize) -> Result<Span, Fault> {
    let end = special_byte(bytes, start);
    if byte_at(bytes, end) == b'"' {
        return Ok(Span::plain(start, end));
    }
    special_span(bytes, start, end)
}

/// As [`span_at`], from the first byte on that is not plain.
#[inline(never)]
fn special_span(bytes: &[u8], start: usize, mut at: usize) -> Result<Span, Fault> {
    let mut has_other_escapes = false;
    while bytes.get(at) == Some(&b'\\') {
        has_other_escapes |= matches!(bytes.get(at + 1), Some(b'/' | b'u'));
        at = special_byte(bytes, behind_escape(bytes, at)?);
    }
    // A quote, or what should not be there.
    let behind = behind_special_string(bytes, at)?;
    Ok(Span { start, end: behind - 1, has_escapes: true, has_other_escapes })
}

/// The member name at a position.
#[expect(clippy::inline_always, reason = "measured: the span must not travel through memory")]
#[inline(always)]
fn name_at(bytes: &[u8], at: usize) -> Result<Span, Fault> {
    if byte_at(bytes, at) == b'"' { span_at(bytes, at + 1) } else { Err(NAME.at(at)) }
}

/// From a place inside a string to the place behind its closing quote.
#[expect(clippy::inline_always, reason = "measured: a call costs as much as a short string")]
#[inline(always)]
fn behind_string(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let at = special_byte(bytes, at);
    if byte_at(bytes, at) == b'"' { Ok(at + 1) } else { behind_special_string(bytes, at) }
}

/// As [`behind_string`], from the first byte on that is not plain.
#[inline(never)]
fn behind_special_string(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    // Escapes come in groups, so all of those in sixteen bytes are found at once.
    while let Some(chunk) = bytes.get(at..).and_then(|rest| rest.first_chunk::<LANES>()) {
        let mut found = special_lanes(Lanes::new(*chunk)).to_bitmask();
        let mut behind = LANES;
        while found != 0 {
            let place = found.trailing_zeros() as usize;
            match chunk[place % LANES] {
                b'"' => return Ok(at + place + 1),
                b'\\' => {}
                _ => return Err(Problem::ControlCharacter.at(at + place)),
            }
            if place + 1 < LANES && is_escaped_plainly(chunk[(place + 1) % LANES]) {
                behind = place + 2;
            } else {
                behind = behind_escape(bytes, at + place)? - at;
                if behind >= LANES {
                    break;
                }
            }
            // What an escape consists of is not special.
            found &= u32::MAX << behind;
            behind = behind.max(LANES);
        }
        at += behind;
    }
    loop {
        match bytes.get(at) {
            Some(b'"') => return Ok(at + 1),
            Some(b'\\') => at = special_byte(bytes, behind_escape(bytes, at)?),
            Some(0..=0x1f) => return Err(Problem::ControlCharacter.at(at)),
            Some(_) => at = special_byte(bytes, at),
            None => return Err(Problem::OpenString.at(at)),
        }
    }
}

/// Whether a backslash and this byte are a whole escape.
#[inline]
fn is_escaped_plainly(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't')
}

#[inline]
fn behind_escape(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    match bytes.get(at + 1) {
        Some(byte) if is_escaped_plainly(*byte) => Ok(at + 2),
        Some(b'u') => {
            let digits = bytes.get(at + 2..at + 6).unwrap_or_default();
            if digits.len() == 4 && digits.iter().all(u8::is_ascii_hexdigit) {
                Ok(at + 6)
            } else {
                Err(Problem::UnknownEscape.at(at))
            }
        }
        Some(_) => Err(Problem::UnknownEscape.at(at)),
        None => Err(Problem::OpenString.at(at + 1)),
    }
}

fn behind_number_or_word(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    let word: &[u8] = match bytes.get(at) {
        Some(b'0'..=b'9') => return behind_number(bytes, at),
        Some(b'-') => return behind_number(bytes, at + 1),
        Some(b't') => b"true",
        Some(b'f') => b"false",
        Some(b'n') => b"null",
        _ => return Err(VALUE.at(at)),
    };
    if bytes.get(at..).is_some_and(|rest| rest.starts_with(word)) {
        Ok(at + word.len())
    } else {
        Err(VALUE.at(at))
    }
}

/// From the first digit of a number to the place behind it.
fn behind_number(bytes: &[u8], mut at: usize) -> Result<usize, Fault> {
    match bytes.get(at) {
        Some(b'0') => at += 1,
        Some(b'1'..=b'9') => at = behind_digits(bytes, at)?,
        _ => return Err(DIGIT.at(at)),
    }
    if bytes.get(at) == Some(&b'.') {
        at = behind_digits(bytes, at + 1)?;
    }
    if let Some(b'e' | b'E') = bytes.get(at) {
        at += 1;
        if let Some(b'+' | b'-') = bytes.get(at) {
            at += 1;
        }
        at = behind_digits(bytes, at)?;
    }
    Ok(at)
}

#[inline]
fn behind_digits(bytes: &[u8], at: usize) -> Result<usize, Fault> {
    const NINE: Lanes = Lanes::splat(9);
    let end = find(
        bytes,
        at,
        |lanes| {
            let digits = lanes - Lanes::splat(b'0');
            !digits.min(NINE).simd_eq(digits)
        },
        |byte| !byte.is_ascii_digit(),
    );
    if end == at { Err(DIGIT.at(at)) } else { Ok(end) }
}
