//! Elements that are kept whole, from the document to JSON text in one pass (ADR 0015).
//!
//! In: the place of a start tag. Out: the element as the JSON text that the tape would give, or
//! nothing: whatever is unusual or wrong is given up, and the general way reads the element from its
//! start. So all errors and most rules live there. What is written here are records: attributes, text
//! or elements inside each other, repeated ones side by side. Their names are kept in
//! [`Names`](super::names::Names), their texts are written in `scalar`.

use super::{
    Coerce,
    names::{NONE, NameId, Names},
    scan::Scanner,
    tape::Place,
};
use crate::Text;

/// Bytes of a value that are moved to make a list of it.
const MOVED_MAX: usize = 4096;
/// Elements inside each other that are written at once; it bounds how often a byte is moved.
const OPEN_MAX: usize = 32;
/// How much of a document is read in vain beyond what is not: so many bytes, and one in so many.
const WASTED_MAX: usize = 4096;
const WASTED_SHARE: usize = 8;
/// The text of an element with attributes as it begins a member.
const TEXT_KEY: &[u8] = b",\"$t\":";

/// An element that is being written.
struct Frame {
    name: NameId,
    /// Its number among all elements with members.
    number: u32,
    has_members: bool,
    /// The member that was begun last, where its value starts, and whether that is a list.
    last: NameId,
    last_start: usize,
    is_list: bool,
}

/// What may still be made of a document.
#[derive(Clone, Copy)]
pub(super) struct Room {
    pub(super) elements: usize,
    pub(super) copied_bytes: usize,
}

/// An element that was written.
pub(super) struct Written {
    /// Its JSON text in [`Whole::out`].
    pub(super) json: Place,
    /// Where the document goes on.
    pub(super) end: usize,
    /// How many elements and attributes those are.
    pub(super) built: usize,
    /// Bytes of texts that had references to resolve.
    pub(super) copied_bytes: usize,
}

/// Writes elements, and remembers their names.
pub(super) struct Whole {
    /// Everything that was written: before each element a comma, or the brackets that end and begin a
    /// list.
    pub(super) out: Vec<u8>,
    pub(super) mode: Coerce,
    names: Names,
    /// Elements that were numbered.
    numbered: u32,
    /// No element before this place is tried: what was given up is not read a third time.
    from: usize,
    /// Bytes of elements that were written, and of those that were read in vain.
    written: usize,
    wasted: usize,
}

impl Whole {
    pub(super) fn new(mode: Coerce) -> Self {
        Self {
            out: Vec::new(),
            mode,
            names: Names::new(),
            numbered: 0,
            from: 0,
            written: 0,
            wasted: 0,
        }
    }

    /// Whether an element whose start tag is at `at` is worth a try.
    pub(super) fn is_tried(&self, at: usize) -> bool {
        at >= self.from
    }

    #[cfg(test)]
    pub(super) fn try_none(&mut self) {
        self.from = usize::MAX;
    }

    /// Writes the element whose start tag is at `at`, inside `depth` others. Nothing if it is not
    /// simple, or may be more than there is `room` for. `is_next` if it belongs into one list with the
    /// element that was written last: whole lists then stand in the text as they are.
    pub(super) fn element(
        &mut self,
        scanner: &Scanner<'_>,
        at: usize,
        depth: usize,
        room: Room,
        is_next: bool,
    ) -> Option<Written> {
        if self.out.is_empty() {
            // Text is shorter than the document, as a rule.
            self.out.reserve(scanner.text.len() - at);
        }
        let before = self.out.len();
        self.out.extend_from_slice(if is_next { b"," } else { b"][" });
        let start = self.out.len();
        let mut attempt = Attempt {
            bytes: scanner.text.as_bytes(),
            scanner,
            whole: self,
            at,
            open: Vec::with_capacity(OPEN_MAX),
            open_max: OPEN_MAX.min(scanner.depth_max.saturating_sub(depth)),
            room,
            built: 0,
            copied_bytes: 0,
        };
        let is_read = attempt.run().is_some() && attempt.built <= room.elements;
        let Attempt { at: end, built, copied_bytes, .. } = attempt;
        // Only structures are raw values.
        if !is_read || self.out.get(start) != Some(&b'{') {
            self.out.truncate(before);
            self.give_up(scanner.text.len(), at, end);
            return None;
        }
        self.written += end - at;
        Some(Written { json: Place::new(start, self.out.len()), end, built, copied_bytes })
    }

    /// Notes that the element at `at` was read in vain up to `end`, in a document of that many bytes.
    fn give_up(&mut self, document: usize, at: usize, end: usize) {
        self.wasted += end - at;
        let is_worthless = self.wasted > self.written + WASTED_MAX + document / WASTED_SHARE;
        let is_over = self.names.is_full || is_worthless;
        self.from = if is_over { usize::MAX } else { self.from.max(end + 1) };
    }

    /// All text that was written.
    pub(super) fn finish(mut self) -> Text {
        self.out.push(b']');
        // What is written of text is text.
        Text::from_utf8(self.out.into()).unwrap_or_default()
    }
}

/// One element, being read and written; what gives `None` gives it up.
pub(super) struct Attempt<'w, 't> {
    pub(super) scanner: &'w Scanner<'t>,
    pub(super) bytes: &'t [u8],
    pub(super) whole: &'w mut Whole,
    /// How far the document has been read.
    at: usize,
    open: Vec<Frame>,
    /// How many elements may be inside each other.
    open_max: usize,
    pub(super) room: Room,
    built: usize,
    pub(super) copied_bytes: usize,
}

impl Attempt<'_, '_> {
    fn run(&mut self) -> Option<()> {
        let (name, end) = self.whole.names.find(self.bytes, self.at + 1, NONE)?;
        self.element(name, end)?;
        while let Some(frame) = self.open.last() {
            self.at = self.behind_gap(self.at)?;
            match self.bytes.get(self.at..)? {
                [b'<', b'/', ..] => {
                    let name = frame.name;
                    self.end_tag(name, self.at)?;
                    self.close();
                }
                // Between line ends to resolve, it would be part of one text with them.
                [b'<', b'!', b'-', b'-', ..] if !self.scanner.has_returns => {
                    self.at = self.scanner.comment_end(self.at)?;
                }
                [b'<', ..] => {
                    let (name, last) = (frame.name, frame.last);
                    let next = self.whole.names.next(self.bytes, self.at + 1, name, last);
                    let (name, end) = next?;
                    self.begin(name)?;
                    self.element(name, end)?;
                }
                _ => return None,
            }
        }
        Some(())
    }

    /// Begins a member, or a further value of the last one.
    #[inline]
    fn begin(&mut self, id: NameId) -> Option<()> {
        let frame = self.open.last_mut()?;
        let Whole { names, out, .. } = &mut *self.whole;
        let name = names.name_mut(id);
        if name.seen == frame.number {
            if frame.last != id {
                return None;
            }
            if !frame.is_list {
                if out.len() - frame.last_start > MOVED_MAX {
                    return None;
                }
                out.insert(frame.last_start, b'[');
                frame.is_list = true;
            }
            out.push(b',');
            return Some(());
        }
        name.seen = frame.number;
        frame.end_list(out);
        let start = out.len();
        name.opening().write(out);
        if !frame.has_members {
            frame.has_members = true;
            out[start] = b'{';
        }
        frame.last = id;
        frame.last_start = out.len();
        Some(())
    }

    /// Writes the value of an element whose name ends at `end`, or opens it if there are others in it.
    #[inline]
    fn element(&mut self, name: NameId, end: usize) -> Option<()> {
        if self.open.len() >= self.open_max {
            return None;
        }
        self.built += 1;
        match self.bytes.get(end..)? {
            [b'>', ..] => self.content(name, end + 1, false),
            [b'/', b'>', ..] => {
                self.whole.out.extend_from_slice(b"{}");
                self.at = end + 2;
                Some(())
            }
            _ => self.attributes(name, end),
        }
    }

    fn push(&mut self, name: NameId) -> Option<()> {
        let whole = &mut *self.whole;
        whole.numbered = whole.numbered.checked_add(1)?;
        self.open.push(Frame {
            name,
            number: whole.numbered,
            has_members: false,
            last: NONE,
            last_start: whole.out.len(),
            is_list: false,
        });
        Some(())
    }

    /// Writes the end of the innermost element.
    fn close(&mut self) {
        let Some(mut frame) = self.open.pop() else { return };
        let out = &mut self.whole.out;
        frame.end_list(out);
        out.extend_from_slice(if frame.has_members { b"}" } else { b"{}" });
    }

    fn attributes(&mut self, name: NameId, name_end: usize) -> Option<()> {
        self.push(name)?;
        let mut end = name_end;
        loop {
            let at = self.behind_blanks(end);
            match self.bytes.get(at..)? {
                [b'>', ..] => return self.content(name, at + 1, true),
                [b'/', b'>', ..] => {
                    self.at = at + 2;
                    self.close();
                    return Some(());
                }
                _ if at > end => end = self.attribute(at)?,
                _ => return None,
            }
        }
    }

    /// Writes the attribute at `at`; gives its end.
    fn attribute(&mut self, at: usize) -> Option<usize> {
        let frame = self.open.last()?;
        let (name, end) = self.whole.names.next(self.bytes, at, frame.name, frame.last)?;
        if self.whole.names.name(name).seen == frame.number {
            return None;
        }
        self.begin(name)?;
        self.built += 1;
        match self.bytes.get(end..)? {
            [b'=', quote @ (b'"' | b'\''), ..] => self.attribute_value(*quote, end + 2),
            _ => None,
        }
    }

    /// Writes what is between the tags of an element, or opens it. `is_open` if it is, because of
    /// attributes.
    #[inline]
    fn content(&mut self, name: NameId, start: usize, is_open: bool) -> Option<()> {
        let at = self.behind_gap(start)?;
        match self.bytes.get(at..)? {
            [b'<', b'/', ..] => {
                self.end_tag(name, at)?;
                if is_open {
                    self.close();
                } else {
                    self.whole.out.extend_from_slice(b"{}");
                }
            }
            [b'<', ..] => {
                if !is_open {
                    self.push(name)?;
                }
                self.at = at;
            }
            _ => {
                let has_members = is_open && self.open.pop()?.has_members;
                if has_members {
                    self.whole.out.extend_from_slice(TEXT_KEY);
                }
                let end = self.text(at, start)?;
                self.end_tag(name, end)?;
                if has_members {
                    self.whole.out.push(b'}');
                }
            }
        }
        Some(())
    }

    /// Passes the end tag at `at`, if it is one.
    #[inline]
    fn end_tag(&mut self, name: NameId, at: usize) -> Option<()> {
        let name = self.whole.names.name(name);
        let behind = at + 2 + name.len();
        let is_there = self.bytes.get(at + 1) == Some(&b'/')
            && self.bytes.get(behind) == Some(&b'>')
            && name.is_at(self.bytes, at + 2);
        self.at = if is_there { behind + 1 } else { return None };
        Some(())
    }

    /// The place behind blank text, for which there must be room if line ends are resolved in it.
    #[inline]
    fn behind_gap(&self, from: usize) -> Option<usize> {
        let at = self.behind_blanks(from);
        let is_changed = at > from && self.scanner.has_returns;
        let has_room = !is_changed || self.has_room(at - from);
        has_room.then_some(at)
    }

    #[inline]
    fn behind_blanks(&self, from: usize) -> usize {
        let mut at = from;
        while matches!(self.bytes.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            at += 1;
        }
        at
    }
}

impl Frame {
    #[inline]
    fn end_list(&mut self, out: &mut Vec<u8>) {
        if self.is_list {
            out.push(b']');
            self.is_list = false;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{
        super::{Fault, XmlOptions, build::Builder, keep::Keep, plainly, tests::mixed_document},
        *,
    };
    use crate::{
        codec::{DecodeLimits, json},
        projection::Projection,
    };

    /// What a document becomes, or where and why it is wrong.
    fn decoded(
        text: &str,
        mode: Coerce,
        limits: &DecodeLimits,
        is_at_once: bool,
    ) -> Result<String, (usize, String)> {
        let (text, options) = (Text::from(text), XmlOptions { coerce: mode, ..Default::default() });
        let shown = |fault: Fault| (fault.offset, fault.reason);
        let scanner = Scanner::new(&text, limits.depth_max).map_err(shown)?;
        let builder = Builder::new(&text, Keep::new(&Projection::All), &options, limits);
        let builder = if is_at_once { builder } else { builder.element_by_element() };
        builder.build(scanner).map(|value| json::to_string(&value)).map_err(shown)
    }

    /// Rows of members, nearly alike.
    const TEXTS: &[&str] = &[
        "",
        " ",
        "5",
        "-1.5",
        "007",
        "true",
        "false",
        "t",
        "plain text",
        " trimmed\n",
        "a &amp; b",
        "\r\n5",
        "&lt;&gt;&quot;&apos;",
        "&#32;",
        "&#233;t&#xe9;",
        "x&#9;",
        "\u{a0}x",
        "x\u{a0}",
        "\u{a0}",
        "é",
        "\r",
        "a longer text of more than sixteen bytes, ]] \"quoted\" \\ and \t\n more",
        "]]",
        "x\r\ny",
        "1234567890123456",
        "123456789012345",
        "1152921504606847000",
        "0",
        "-0",
        "0x1f",
        "12.50",
        "12.5",
        "<![CDATA[<]]>",
        "<!-- c -->",
        "&no;",
        "1e21",
        "-",
        "2012-05-17T20:30:50.000Z",
        "5 &amp; 6",
    ];
    const ATTRIBUTES: &[&str] = &[
        " a='1'",
        " type=\"x &amp; y\"",
        " c=''",
        "\n  d = '5'",
        " e='\t<'",
        " f='é\n'",
        " a='2'",
    ];
    const NAMES: &[&str] = &[
        "a",
        "b",
        "title",
        "aNameOfMoreThanSixteenBytes",
        "aNameOfMoreThanSixteenBytesToo",
        "ab",
        "title2",
        "aNameOfMoreThanThirtyTwoBytesInAll",
        "n:s",
        "x-1",
        "é",
    ];

    /// Rows of members, nearly alike.
    fn records() -> impl Strategy<Value = String> {
        let attributes = proptest::sample::subsequence(ATTRIBUTES, 0..=2);
        let name = prop::sample::select(NAMES);
        let end = prop::sample::select(&[">", ">", ">", ">", ">", " >"]);
        let text = prop::sample::select(TEXTS);
        let leaf = (name.clone(), attributes.clone(), text, end).prop_map(
            |(name, attributes, text, end)| match text {
                "" => format!("<{name}{}/>", attributes.concat()),
                text => format!("<{name}{}>{text}</{name}{end}", attributes.concat()),
            },
        );
        let member = leaf.prop_recursive(3, 12, 4, move |inner| {
            let gap = prop::sample::select(&["", "\n  ", "\r\n"]);
            (name.clone(), attributes.clone(), proptest::collection::vec(inner, 0..4), gap)
                .prop_map(|(name, attributes, inner, gap)| {
                    let (attributes, inner) = (attributes.concat(), inner.join(gap));
                    format!("<{name}{attributes}>{gap}{inner}{gap}</{name}>")
                })
        });
        let row = proptest::collection::vec((member, any::<bool>(), 1..3_usize), 0..7);
        (row, 0..4_usize).prop_map(|(members, rows)| {
            let row = |number: usize| -> Vec<String> {
                let kept = members.iter().filter(|(_, is_always, _)| *is_always || number != 1);
                kept.map(|(member, _, times)| member.repeat(*times)).collect()
            };
            let rows: Vec<_> = (0..rows).map(|number| row(number).concat()).collect();
            format!("<rows><row>{}</row></rows>", rows.join("</row>\n<row>"))
        })
    }

    const MODES: [Coerce; 3] = [Coerce::Safe, Coerce::Original, Coerce::None];

    #[test]
    fn records_are_written_in_one_pass() {
        let text = "<rows>\n<row a='1'><id>5</id><t>x &amp; y</t><t>&quot;</t><in><b>true</b></in></row>\n\
            <row a=\"\"><id>6</id><in/><e></e><p type='x'>7.5</p></row></rows>";
        let scanner = Scanner::new(text, 9).ok().unwrap();
        let mut whole = Whole::new(Coerce::Safe);
        let room = Room { elements: 15, copied_bytes: 11 };
        let written = whole.element(&scanner, 0, 0, room, false).unwrap();
        assert_eq!((written.built, written.copied_bytes, written.end), (15, 6, text.len()));
        let json = r#"{"row":[{"a":1,"id":5,"t":["x & y","\""],"in":{"b":true}},"#.to_owned()
            + r#"{"a":"","id":6,"in":{},"e":{},"p":{"type":"x","$t":7.5}}]}"#;
        assert_eq!(whole.finish().as_str(), format!("][{json}]"));
        let mut whole = Whole::new(Coerce::Safe);
        let room = Room { elements: 14, copied_bytes: 11 };
        assert!(whole.element(&scanner, 0, 0, room, false).is_none());
        assert!(!whole.is_tried(0) && !whole.is_tried(text.len()));
    }

    #[test]
    fn what_was_given_up_is_not_tried_again() {
        let text = "<rows><row><a>1</a><b>2</b><a>3</a></row><row><a>1</a></row></rows>";
        let scanner = Scanner::new(text, 9).ok().unwrap();
        let mut whole = Whole::new(Coerce::Safe);
        let room = Room { elements: 99, copied_bytes: 0 };
        assert!(whole.element(&scanner, 0, 0, room, false).is_none());
        let third = text.find("<a>3").unwrap();
        assert!(!whole.is_tried(third) && whole.is_tried(third + 1));
        let second = text.rfind("<row>").unwrap();
        assert!(whole.element(&scanner, second, 1, room, false).is_some());
    }

    #[test]
    fn what_is_mostly_in_vain_is_given_up() {
        let row = format!("<row><a>{}</a><b>2</b><a>3</a></row>", "x".repeat(1000));
        let text = format!("<rows>{}</rows>", row.repeat(20));
        let scanner = Scanner::new(&text, 9).ok().unwrap();
        let mut whole = Whole::new(Coerce::Safe);
        let room = Room { elements: 99, copied_bytes: 0 };
        let rows = text.match_indices("<row>").map(|(at, _)| at);
        let tried = rows.filter(|at| {
            let is_tried = whole.is_tried(*at);
            assert!(!is_tried || whole.element(&scanner, *at, 1, room, false).is_none());
            is_tried
        });
        assert_eq!(tried.count(), 7);
    }

    #[test]
    fn many_names_end_all_tries() {
        let children: Vec<_> = (0..70).map(|name| format!("<n{name}/>")).collect();
        let text = format!("<a><r>{}</r><r/></a>", children.concat());
        let scanner = Scanner::new(&text, 9).ok().unwrap();
        let mut whole = Whole::new(Coerce::Safe);
        let room = Room { elements: 99, copied_bytes: 0 };
        assert!(whole.element(&scanner, 0, 0, room, false).is_none());
        assert!(!whole.is_tried(text.len()));
    }

    proptest! {
        #[test]
        fn records_are_what_the_plain_mapping_says(text in records()) {
            let limits = DecodeLimits::default();
            for mode in MODES {
                let tree = plainly::tree(&text, mode, &[]).map(|tree| json::to_string(&tree));
                prop_assert_eq!(decoded(&text, mode, &limits, true).ok(), tree);
            }
        }

        #[test]
        fn limits_and_errors_are_those_of_single_elements(
            text in prop_oneof![records(), mixed_document()],
            mode in prop::sample::select(MODES.to_vec()),
            elements_max in prop_oneof![0..40_usize, Just(9999)],
            depth_max in prop_oneof![1..6_usize, Just(99)],
            more in prop_oneof![0..60_usize, Just(9999)],
            cut in any::<prop::sample::Index>(),
            is_cut in any::<bool>(),
        ) {
            let mut text = text;
            if is_cut {
                text.remove(cut.get(&text.char_indices().collect::<Vec<_>>()).0);
            }
            let decoded_bytes_max = text.len() + more;
            let limits = DecodeLimits { depth_max, decoded_bytes_max, elements_max };
            prop_assert_eq!(
                decoded(&text, mode, &limits, true),
                decoded(&text, mode, &limits, false)
            );
        }
    }
}
