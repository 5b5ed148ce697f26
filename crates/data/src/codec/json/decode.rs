//! From JSON text to a pruned [`Value`], in one pass.
//!
//! In: text and a projection. Out: a value in which kept structures are raw slices, kept strings
//! without escapes and numbers are slices, and everything else has only been checked. Nesting is
//! followed with an explicit stack, so depth costs memory and never the thread's stack.

use super::{
    fault::{COMMA_OR_BRACE, COMMA_OR_BRACKET, Fault, Problem},
    names::Expected,
    scan::Scanner,
    text::unescape,
    tokens::Span,
};
use crate::{
    Number, Object, Text, Value,
    codec::{DecodeLimits, stop::Watch},
    projection::Projection,
};

/// How far structures are decoded that the projection keeps whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Whole {
    /// Not at all: they stay raw.
    Raw,
    /// All the way down.
    Tree,
}

/// Decodes a document, white space around it included.
pub(super) fn document(
    text: &Text,
    projection: &Projection,
    limits: &DecodeLimits,
    whole: Whole,
) -> Result<Value, Fault> {
    let mut decoder = Decoder {
        text,
        scanner: Scanner::new(text.as_bytes(), limits.depth_max).until(&limits.stop),
        watch: limits.stop.watch(),
        whole,
        elements_left: limits.elements_max,
        elements_max: limits.elements_max,
    };
    decoder.scanner.skip_blanks();
    let value = decoder.value(projection)?;
    decoder.scanner.skip_blanks();
    if decoder.scanner.is_done() {
        Ok(value)
    } else {
        Err(Problem::Expected("the end of the document").at(decoder.scanner.at()))
    }
}

struct Decoder<'t> {
    text: &'t Text,
    scanner: Scanner<'t>,
    whole: Whole,
    watch: Watch,
    elements_left: usize,
    elements_max: usize,
}

/// A structure that is being built.
enum Frame<'p> {
    Array { elements: Vec<Value>, first_name: Expected, projection: &'p Projection },
    Object { object: Object, name: Text, projection: &'p Projection },
}

impl Decoder<'_> {
    fn value<'p>(&mut self, mut projection: &'p Projection) -> Result<Value, Fault> {
        let mut frames: Vec<Frame<'p>> = Vec::new();
        loop {
            let mut value = match self.scanner.peek() {
                b'{' | b'[' if projection.is_all() && self.whole == Whole::Raw => {
                    self.raw(frames.len())?
                }
                b'[' => {
                    self.scanner.check_depth(frames.len())?;
                    self.scanner.advance();
                    self.scanner.skip_blanks();
                    if self.scanner.peek() == b']' {
                        self.scanner.advance();
                        Value::array(Vec::new())
                    } else {
                        let (elements, first_name) = (Vec::new(), self.scanner.first_name());
                        frames.push(Frame::Array { elements, first_name, projection });
                        projection = projection.element();
                        continue;
                    }
                }
                b'{' => {
                    self.scanner.check_depth(frames.len())?;
                    self.scanner.advance();
                    self.scanner.skip_blanks();
                    if self.scanner.peek() == b'}' {
                        self.scanner.advance();
                        Value::object(Object::new())
                    } else if let Some((name, inner)) =
                        self.kept_member(projection, frames.len())?
                    {
                        let object = Object::with_capacity(expected_members(projection));
                        frames.push(Frame::Object { object, name, projection });
                        projection = inner;
                        continue;
                    } else {
                        Value::object(Object::new())
                    }
                }
                _ => self.scalar()?,
            };
            // The value is complete: hand it to the structure around it, and close what ends here.
            loop {
                let depth = frames.len();
                match frames.last_mut() {
                    None => return Ok(value),
                    Some(Frame::Array { elements, first_name, projection: own }) => {
                        self.count()?;
                        elements.push(value);
                        if self.scanner.has_next(b']', COMMA_OR_BRACKET)? {
                            self.scanner.expect(*first_name);
                            projection = own.element();
                            break;
                        }
                    }
                    Some(Frame::Object { object, name, projection: own }) => {
                        self.count()?;
                        object.insert(std::mem::take(name), value);
                        if self.scanner.has_next(b'}', COMMA_OR_BRACE)?
                            && let Some((next, inner)) = self.kept_member(own, depth - 1)?
                        {
                            *name = next;
                            projection = inner;
                            break;
                        }
                    }
                }
                value = match frames.pop() {
                    Some(Frame::Array { elements, .. }) => Value::array(elements),
                    Some(Frame::Object { object, .. }) => Value::object(object),
                    None => Value::Absent,
                };
            }
        }
    }

    /// From a member name on, moves to the value of the next member that `projection` keeps. `None`
    /// if the object ends before one comes; it is closed then. `depth` structures are open around
    /// the object.
    fn kept_member<'p>(
        &mut self,
        projection: &'p Projection,
        depth: usize,
    ) -> Result<Option<(Text, &'p Projection)>, Fault> {
        let text = self.text;
        self.scanner.wanted_member(depth, |span| {
            if span.has_escapes {
                let name = string(text, span);
                let inner = projection.member(name.as_bytes())?;
                Some((name, inner))
            } else {
                let (name, inner) =
                    projection.named_member(&text.as_bytes()[span.start..span.end])?;
                Some((name.map_or_else(|| text.slice(span.start, span.end), Text::clone), inner))
            }
        })
    }

    fn count(&mut self) -> Result<(), Fault> {
        if self.watch.is_over() {
            return Err(Problem::Stopped.at(self.scanner.at()));
        }
        match self.elements_left.checked_sub(1) {
            Some(left) => self.elements_left = left,
            None => return Err(Problem::TooMany(self.elements_max).at(self.scanner.at())),
        }
        Ok(())
    }

    fn raw(&mut self, depth: usize) -> Result<Value, Fault> {
        let start = self.scanner.at();
        self.scanner.value(depth)?;
        Ok(Value::Raw(self.text.slice(start, self.scanner.at())))
    }

    fn scalar(&mut self) -> Result<Value, Fault> {
        scalar(self.text, &mut self.scanner)
    }
}

/// The string, number or word at the scanner's position.
pub(super) fn scalar(text: &Text, scanner: &mut Scanner<'_>) -> Result<Value, Fault> {
    let start = scanner.at();
    match scanner.peek() {
        b'"' => {
            let span = scanner.string()?;
            Ok(Value::String(string(text, span)))
        }
        first => {
            scanner.number_or_word()?;
            Ok(match first {
                b't' => Value::Bool(true),
                b'f' => Value::Bool(false),
                b'n' => Value::Null,
                _ => Value::Number(Number::Source(text.slice(start, scanner.at()))),
            })
        }
    }
}

/// The text of a string; a slice if it has no escapes.
pub(super) fn string(text: &Text, span: Span) -> Text {
    if span.has_escapes {
        unescape(text.get(span.start..span.end).unwrap_or_default()).into()
    } else {
        text.slice(span.start, span.end)
    }
}

/// Room for the members that will be kept; a body that repeats or lacks some only wastes a little.
fn expected_members(projection: &Projection) -> usize {
    const GUESS: usize = 8;
    match projection {
        Projection::Members(members) => members.len(),
        Projection::All | Projection::Each(_) => GUESS,
    }
}
