//! The grammar of XML 1.0 documents as a stream of events.
//!
//! In: the text of a document. Out: one [`Event`] after the other. The scanner promises that what it
//! has passed is well-formed: tags match, attributes are unique and quoted, references name one of
//! the five predefined entities or a character, characters are allowed. So whoever reads the events
//! may ignore some of them and the document has been checked all the same. It resolves no
//! namespaces, loads nothing, and refuses declared entities (FMT-19).

use std::{collections::HashSet, ops::Range};

use memchr::{memchr, memmem};

use super::{
    characters::Characters,
    reference,
    skip::{is_repeated, special_at},
};
use crate::codec::stop::{self, Stop, Watch};

/// Attributes of one element.
pub(super) const ATTRIBUTES_MAX: usize = 512;
/// Below this many attributes, comparing each with each is faster than hashing.
const HASHED_FROM: usize = 16;
/// Characters of a name that an error message shows.
const SHOWN_CHARACTERS_MAX: usize = 60;

/// The next part of a document. Ranges are bytes of its text.
pub(super) enum Event {
    /// A start tag; its attributes are in [`Scanner::attributes`]. `<a/>` is a start and an end.
    Start { name: Range<usize>, is_empty: bool },
    /// The end tag of the innermost open element.
    End,
    /// Character data; if it is not plain, it has references or carriage returns to resolve.
    Text { range: Range<usize>, is_plain: bool },
    /// The inside of a CDATA section.
    CharacterData(Range<usize>),
    /// The end of a complete document.
    Done,
}

/// An attribute of the tag that was scanned last.
pub(super) struct Attribute {
    pub(super) name: Range<usize>,
    pub(super) value: Range<usize>,
    /// Nothing to resolve: no reference, line break or tabulator.
    pub(super) is_plain: bool,
}

/// A place and what is wrong there.
pub(super) struct Fault {
    pub(super) offset: usize,
    pub(super) reason: String,
    /// There are more elements than may be built.
    pub(super) has_too_many: bool,
}

impl Fault {
    #[inline]
    pub(super) fn new(offset: usize, reason: impl Into<String>) -> Self {
        Self { offset, reason: reason.into(), has_too_many: false }
    }
}

pub(super) struct Scanner<'t> {
    pub(super) text: &'t str,
    pub(super) at: usize,
    pub(super) open: Vec<Range<usize>>,
    pub(super) depth_max: usize,
    has_root: bool,
    has_document_type: bool,
    /// Whether there are carriage returns anywhere.
    pub(super) has_returns: bool,
    pub(super) attributes: Vec<Attribute>,
    watch: Watch,
}

impl<'t> Scanner<'t> {
    pub(super) fn new(text: &'t str, depth_max: usize) -> Result<Self, Fault> {
        let Characters { forbidden, has_returns } = Characters::of(text.as_bytes());
        if let Some(offset) = forbidden {
            return Err(Fault::new(offset, "character not allowed in XML"));
        }
        let at = if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        Ok(Self {
            text,
            at,
            open: Vec::new(),
            depth_max,
            has_root: false,
            has_document_type: false,
            has_returns,
            attributes: Vec::new(),
            watch: Stop::default().watch(),
        })
    }

    /// The same, giving up where this is asked for.
    pub(super) fn until(self, stop: &Stop) -> Self {
        Self { watch: stop.watch(), ..self }
    }

    /// Fails if nobody waits any more.
    #[inline]
    pub(super) fn check_wanted(&mut self) -> Result<(), Fault> {
        if self.watch.is_over() { Err(self.fault(stop::REASON)) } else { Ok(()) }
    }

    pub(super) fn next(&mut self) -> Result<Event, Fault> {
        loop {
            self.check_wanted()?;
            let bytes = self.text.as_bytes();
            match bytes.get(self.at..) {
                None | Some([]) => return self.finish(),
                Some([b'<', b'/', ..]) => return self.end_tag(),
                Some([b'<', b'!', rest @ ..]) => {
                    if rest.starts_with(b"--") {
                        self.comment()?;
                    } else if rest.starts_with(b"[CDATA[") {
                        return self.character_data();
                    } else if rest.starts_with(b"DOCTYPE") {
                        self.document_type()?;
                    } else {
                        return Err(self.fault("unknown declaration"));
                    }
                }
                Some([b'<', b'?', ..]) => self.instruction()?,
                Some([b'<', ..]) => return self.start_tag(),
                Some(_) => {
                    if let Some(event) = self.character_run()? {
                        return Ok(event);
                    }
                }
            }
        }
    }

    /// How far the document has been read.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    fn fault(&self, reason: impl Into<String>) -> Fault {
        Fault::new(self.at, reason)
    }

    fn shown(&self, name: &Range<usize>) -> String {
        self.text[name.clone()].chars().take(SHOWN_CHARACTERS_MAX).collect()
    }

    fn finish(&self) -> Result<Event, Fault> {
        if let Some(name) = self.open.last() {
            return Err(self.fault(format!("document ends inside element `{}`", self.shown(name))));
        }
        if self.has_root { Ok(Event::Done) } else { Err(self.fault("no root element")) }
    }

    fn start_tag(&mut self) -> Result<Event, Fault> {
        if self.open.is_empty() && self.has_root {
            return Err(self.fault("more than one root element"));
        }
        if self.open.len() >= self.depth_max {
            let depth_max = self.depth_max;
            return Err(self.fault(format!("elements nested deeper than {depth_max}")));
        }
        self.at += 1;
        let name = self.name()?;
        self.attributes.clear();
        let is_empty = loop {
            let has_gap = self.skip_blanks();
            match self.text.as_bytes().get(self.at..) {
                Some([b'>', ..]) => {
                    self.at += 1;
                    break false;
                }
                Some([b'/', b'>', ..]) => {
                    self.at += 2;
                    break true;
                }
                None | Some([]) => return Err(self.fault("document ends inside a tag")),
                Some(_) if has_gap => self.attribute()?,
                Some(_) => return Err(self.fault("unexpected character in a tag")),
            }
        };
        if self.attributes.len() > 1 {
            self.check_attributes_unique()?;
        }
        self.has_root = true;
        if !is_empty {
            self.open.push(name.clone());
        }
        Ok(Event::Start { name, is_empty })
    }

    fn attribute(&mut self) -> Result<(), Fault> {
        if self.attributes.len() >= ATTRIBUTES_MAX {
            return Err(self.fault(format!("more than {ATTRIBUTES_MAX} attributes")));
        }
        let name = self.name()?;
        self.skip_blanks();
        let bytes = self.text.as_bytes();
        if bytes.get(self.at) != Some(&b'=') {
            return Err(self.fault(format!("attribute `{}` without a value", self.shown(&name))));
        }
        self.at += 1;
        self.skip_blanks();
        let Some(&quote @ (b'"' | b'\'')) = bytes.get(self.at) else {
            let name = self.shown(&name);
            return Err(self.fault(format!("value of attribute `{name}` is not quoted")));
        };
        let start = self.at + 1;
        let Some(length) = memchr(quote, &bytes[start..]) else {
            return Err(self.fault("document ends inside an attribute"));
        };
        let value = start..start + length;
        let content = &bytes[value.clone()];
        if let Some(at) = memchr(b'<', content) {
            self.at = start + at;
            return Err(self.fault("`<` in an attribute"));
        }
        let has_references = memchr(b'&', content).is_some();
        if has_references {
            self.check_references(&value)?;
        }
        let is_plain = !has_references && !content.iter().any(|byte| *byte < b' ');
        self.at = value.end + 1;
        self.attributes.push(Attribute { name, value, is_plain });
        Ok(())
    }

    fn check_attributes_unique(&self) -> Result<(), Fault> {
        let name = |attribute: &Attribute| &self.text[attribute.name.clone()];
        let repeated = if self.attributes.len() < HASHED_FROM {
            self.attributes.iter().enumerate().find_map(|(at, attribute)| {
                let earlier = &self.attributes[..at];
                earlier.iter().any(|other| name(other) == name(attribute)).then_some(attribute)
            })
        } else {
            let mut seen = HashSet::with_capacity(self.attributes.len());
            self.attributes.iter().find(|attribute| !seen.insert(name(attribute)))
        };
        match repeated {
            Some(attribute) => Err(Fault::new(
                attribute.name.start,
                format!("attribute `{}` comes twice", self.shown(&attribute.name)),
            )),
            None => Ok(()),
        }
    }

    pub(super) fn end_tag(&mut self) -> Result<Event, Fault> {
        let Some(open) = self.open.last() else {
            return Err(self.fault("end tag without a start tag"));
        };
        let bytes = self.text.as_bytes();
        let behind = self.at + 2 + open.len();
        if bytes.get(behind) == Some(&b'>') && is_repeated(bytes, open, self.at + 2) {
            self.at = behind + 1;
            self.open.pop();
            return Ok(Event::End);
        }
        let rest = &bytes[self.at + 2..];
        let expected = &bytes[open.clone()];
        let after = rest.strip_prefix(expected).map(<[u8]>::trim_ascii_start);
        match after {
            Some([b'>', remaining @ ..]) => {
                self.at = bytes.len() - remaining.len();
                self.open.pop();
                Ok(Event::End)
            }
            Some([]) => Err(self.fault("document ends inside a tag")),
            _ => {
                let expected = self.shown(open);
                Err(self.fault(format!("end tag does not match element `{expected}`")))
            }
        }
    }

    /// Character data up to the next markup; `None` between elements outside the root.
    fn character_run(&mut self) -> Result<Option<Event>, Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut is_plain = true;
        let end = loop {
            self.at = special_at(bytes, self.at);
            match bytes.get(self.at) {
                None => break bytes.len(),
                Some(b'<') => break self.at,
                Some(b'&') => {
                    is_plain = false;
                    self.at = self.reference(self.at)?;
                }
                _ if bytes[self.at..].starts_with(b"]]>") => {
                    return Err(self.fault("`]]>` outside a CDATA section"));
                }
                _ => self.at += 1,
            }
        };
        self.at = end;
        if !self.open.is_empty() {
            return Ok(Some(Event::Text { range: start..end, is_plain }));
        }
        let outside = &bytes[start..end];
        match outside.iter().position(|byte| !byte.is_ascii_whitespace()) {
            Some(at) => {
                self.at = start + at;
                Err(self.fault("text outside the root element"))
            }
            None => Ok(None),
        }
    }

    fn character_data(&mut self) -> Result<Event, Fault> {
        if self.open.is_empty() {
            return Err(self.fault("text outside the root element"));
        }
        let start = self.at + "<![CDATA[".len();
        let end = self.find(start, b"]]>", "document ends inside a CDATA section")?;
        self.at = end + 3;
        Ok(Event::CharacterData(start..end))
    }

    fn comment(&mut self) -> Result<(), Fault> {
        let start = self.at + "<!--".len();
        let end = self.find(start, b"--", "document ends inside a comment")?;
        if self.text.as_bytes().get(end + 2) != Some(&b'>') {
            self.at = end;
            return Err(self.fault("`--` inside a comment"));
        }
        self.at = end + 3;
        Ok(())
    }

    /// Where the comment at `at` ends, if it is well-formed.
    pub(super) fn comment_end(&self, at: usize) -> Option<usize> {
        let start = at + "<!--".len();
        let end = self.find(start, b"--", "").ok()?;
        (self.text.as_bytes().get(end + 2) == Some(&b'>')).then_some(end + 3)
    }

    fn instruction(&mut self) -> Result<(), Fault> {
        let is_first = self.text[..self.at].trim_start_matches('\u{feff}').is_empty();
        let tag = self.at;
        self.at += 2;
        let target = self.name()?;
        if self.text[target.clone()].eq_ignore_ascii_case("xml") && !is_first {
            self.at = tag;
            return Err(self.fault("XML declaration is not at the start"));
        }
        let bytes = self.text.as_bytes();
        let is_delimited =
            bytes.get(target.end).is_some_and(|byte| *byte == b'?' || byte.is_ascii_whitespace());
        if !is_delimited {
            return Err(self.fault("malformed processing instruction"));
        }
        let end = self.find(target.end, b"?>", "document ends inside a processing instruction")?;
        self.at = end + 2;
        Ok(())
    }

    /// Passes a document type; what it declares is not used, entities it may not declare.
    fn document_type(&mut self) -> Result<(), Fault> {
        if self.has_root || self.has_document_type {
            return Err(self.fault("misplaced document type"));
        }
        self.has_document_type = true;
        self.at += "<!DOCTYPE".len();
        let mut is_inside_subset = false;
        let bytes = self.text.as_bytes();
        loop {
            let Some(byte) = bytes.get(self.at) else {
                return Err(self.fault("document ends inside the document type"));
            };
            match byte {
                b'>' if !is_inside_subset => {
                    self.at += 1;
                    return Ok(());
                }
                b'[' if !is_inside_subset => is_inside_subset = true,
                b']' => is_inside_subset = false,
                b'"' | b'\'' => self.at = self.closing_quote()?,
                b'<' if is_inside_subset => {
                    self.declaration()?;
                    continue;
                }
                _ => {}
            }
            self.at += 1;
        }
    }

    /// Passes one declaration, comment or instruction inside a document type.
    fn declaration(&mut self) -> Result<(), Fault> {
        let bytes = self.text.as_bytes();
        let rest = &bytes[self.at..];
        if rest.starts_with(b"<!--") {
            return self.comment();
        }
        if rest.starts_with(b"<?") {
            return self.instruction();
        }
        if rest.starts_with(b"<!ENTITY") {
            return Err(self.fault("document types that define entities are refused"));
        }
        if !rest.starts_with(b"<!") {
            return Err(self.fault("malformed document type"));
        }
        loop {
            match bytes.get(self.at) {
                Some(b'>') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'"' | b'\'') => self.at = self.closing_quote()? + 1,
                Some(_) => self.at += 1,
                None => return Err(self.fault("document ends inside the document type")),
            }
        }
    }

    /// The place of the quote that closes the one here.
    fn closing_quote(&self) -> Result<usize, Fault> {
        let bytes = self.text.as_bytes();
        memchr(bytes[self.at], &bytes[self.at + 1..])
            .map(|length| self.at + 1 + length)
            .ok_or_else(|| self.fault("document ends inside the document type"))
    }

    fn find(&self, from: usize, needle: &[u8], missing: &str) -> Result<usize, Fault> {
        let rest = self.text.as_bytes().get(from..).unwrap_or_default();
        memmem::find(rest, needle).map(|length| from + length).ok_or_else(|| self.fault(missing))
    }

    fn check_references(&self, range: &Range<usize>) -> Result<(), Fault> {
        let bytes = self.text.as_bytes();
        let mut at = range.start;
        while let Some(length) = memchr(b'&', &bytes[at..range.end]) {
            at = self.reference(at + length)?;
        }
        Ok(())
    }

    /// Checks the reference at `at`; gives the place after it.
    pub(super) fn reference(&self, at: usize) -> Result<usize, Fault> {
        reference::read(&self.text[at..])
            .map(|(_, length)| at + length)
            .map_err(|bad| Fault::new(at, bad.to_string()))
    }

    fn name(&mut self) -> Result<Range<usize>, Fault> {
        let bytes = self.text.as_bytes();
        let start = self.at;
        let mut all = 0_u8;
        let mut end = start;
        while let Some(byte) = bytes.get(end).filter(|byte| IS_NAME_BYTE[usize::from(**byte)]) {
            all |= byte;
            end += 1;
        }
        let has_start = bytes.get(start).is_some_and(|byte| {
            IS_NAME_BYTE[usize::from(*byte)] && !matches!(byte, b'-' | b'.' | b'0'..=b'9')
        });
        if !has_start {
            return Err(self.fault("name expected"));
        }
        if !all.is_ascii() {
            let mut characters = self.text[start..end].char_indices();
            if let Some((at, _)) = characters.find(|(at, c)| !is_name_character(*c, *at == 0)) {
                self.at = start + at;
                return Err(self.fault("character not allowed in a name"));
            }
        }
        self.at = end;
        Ok(start..end)
    }

    fn skip_blanks(&mut self) -> bool {
        let rest = &self.text.as_bytes()[self.at..];
        let count = rest.iter().take_while(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
        let count = count.count();
        self.at += count;
        count > 0
    }
}

/// ASCII characters of names, and every byte of longer characters.
pub(super) const IS_NAME_BYTE: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 256 {
        let c = byte as u8;
        table[byte] =
            c.is_ascii_alphanumeric() || matches!(c, b'_' | b':' | b'-' | b'.') || !c.is_ascii();
        byte += 1;
    }
    table
};

/// The productions `NameStartChar` and `NameChar` of XML 1.0 (fifth edition, 2.3).
fn is_name_character(c: char, is_first: bool) -> bool {
    match c {
        '0'..='9' | '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}' => {
            !is_first
        }
        'a'..='z'
        | 'A'..='Z'
        | '_'
        | ':'
        | '\u{c0}'..='\u{d6}'
        | '\u{d8}'..='\u{f6}'
        | '\u{f8}'..='\u{37d}'
        | '\u{37f}'..='\u{1fff}'
        | '\u{200c}'..='\u{200d}'
        | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}'
        | '\u{3001}'..='\u{d7ff}'
        | '\u{f900}'..='\u{fdcf}'
        | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}' => true,
        _ => false,
    }
}
