//! The JSON grammar over bytes: where members and whole values end.
//!
//! In: bytes that are UTF-8, or are yet to be checked for it, and a position. Out: the position
//! behind what was asked for, or a [`Fault`]. Every byte that is passed has been checked against RFC
//! 8259, token by token (`tokens`); nesting is followed with an explicit stack under a named bound.
//! Nothing is built here; [`decode`](super::decode) does that.

use super::{
    fault::{COLON, COMMA_OR_BRACE, COMMA_OR_BRACKET, Fault, Problem, VALUE},
    names::{Expected, Names},
    tokens::{
        Span, behind_blank_run, behind_blanks, behind_colon, behind_name, behind_number_or_word,
        behind_string, bracket_or_quote, byte_at, name_at, span_at,
    },
};
use crate::codec::Stop;

/// Bytes that are passed between two looks at whether anybody still waits.
const BYTES_PER_LOOK: usize = 64 * 1024;

/// Room for the structures around most values, so that it is made once.
const OPEN_USUAL: usize = 8;

/// A position in a text, moved forward by what is read.
#[derive(Debug)]
pub(super) struct Scanner<'a> {
    bytes: &'a [u8],
    at: usize,
    depth_max: usize,
    /// Set if anybody can ask for it.
    stop: Option<&'a Stop>,
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
        let (open, expected) = (Vec::new(), Expected::NOWHERE);
        Self { bytes, at, depth_max, stop: None, open, names, expected }
    }

    /// The same, giving up where this is asked for.
    pub(super) fn until(self, stop: &'a Stop) -> Self {
        Self { stop: Some(stop).filter(|stop| stop.can_be_asked()), ..self }
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

    #[inline]
    fn structure(&mut self, depth: usize) -> Result<(), Fault> {
        if self.stop.is_none() {
            self.structure_until::<false>(depth)
        } else {
            self.structure_until::<true>(depth)
        }
    }

    /// Apart from [`Self::value`], so that passing over a scalar does not pay for its registers, and once
    /// for structures that nobody stops, so that they do not pay for looking.
    #[inline(never)]
    fn structure_until<const CAN_STOP: bool>(&mut self, depth: usize) -> Result<(), Fault> {
        let bytes = self.bytes;
        let mut next_look = self.at;
        let mut at = self.at;
        // The innermost open structure's closing bracket; those around it are on the stack.
        let mut closer = 0;
        let mut first = Expected::NOWHERE;
        let mut expected = self.expected;
        self.open.clear();
        self.open.reserve(OPEN_USUAL);
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
                        if CAN_STOP && at >= next_look {
                            if self.stop.is_some_and(Stop::is_asked) {
                                return Err(Problem::Stopped.at(at));
                            }
                            next_look = at + BYTES_PER_LOOK;
                        }
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
