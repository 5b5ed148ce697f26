//! CSV to values (FMT-20).
//!
//! In: text with commas, double quotes and LF, CR or CRLF line ends; whether the first record names
//! the columns; what to keep. Out: an array of arrays of texts, or with names an array of objects.
//! Fields are slices of the text unless they hold doubled quotes. Blanks count, empty lines do not.
//! With names, missing and empty fields are null and extra fields vanish.
//!
//! It promises to answer an open quote, or text after a closing one, with `Invalid CSV: …, line n`.
//! It does not coerce, and it does not write CSV.

use bytes::Bytes;
use memchr::{memchr, memchr_iter, memchr3};

use super::{
    DecodeError, DecodeLimits,
    stop::{self, Watch},
};
use crate::{Object, Text, Value, projection::Projection};

const FORMAT: &str = "CSV";

/// Decodes a CSV body in UTF-8. Without `header` rows have no names, so the projection does not
/// prune them.
pub fn decode(
    bytes: Bytes,
    header: bool,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let text = Text::from_utf8(bytes).map_err(|error| DecodeError {
        format: FORMAT,
        offset: error.valid_up_to(),
        reason: "Invalid CSV: text is not UTF-8".to_owned(),
        has_too_many: false,
    })?;
    decode_text(&text, header, projection, limits)
}

/// Like [`decode`], for a body that is text already.
pub fn decode_text(
    text: &Text,
    header: bool,
    projection: &Projection,
    limits: &DecodeLimits,
) -> Result<Value, DecodeError> {
    let mut reader = Reader {
        text,
        at: if text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 },
        limits,
        built: 0,
        watch: limits.stop.watch(),
    };
    if text.len() > limits.decoded_bytes_max {
        let reason = format!("text larger than {} bytes", limits.decoded_bytes_max);
        return Err(reader.fault(limits.decoded_bytes_max, &reason));
    }
    if header { reader.objects(projection.element()) } else { reader.arrays() }
}

/// Where a field ended.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Field,
    Record,
    Text,
}

/// A field: a part of the text, without its quotes.
struct Field {
    start: usize,
    end: usize,
    is_quoted: bool,
    has_doubled_quotes: bool,
}

impl Field {
    fn is_empty(&self) -> bool {
        self.start == self.end
    }
}

struct Reader<'a> {
    text: &'a Text,
    at: usize,
    limits: &'a DecodeLimits,
    built: usize,
    watch: Watch,
}

impl Reader<'_> {
    fn arrays(&mut self) -> Result<Value, DecodeError> {
        let mut rows = Vec::new();
        let mut fields = Vec::new();
        loop {
            let (field, end) = self.field()?;
            let is_empty_line = fields.is_empty() && end != End::Field && is_nothing(&field);
            if !is_empty_line {
                self.count()?;
                fields.push(Value::String(self.text_of(&field)));
                if end != End::Field {
                    self.count()?;
                    rows.push(Value::array(std::mem::take(&mut fields)));
                }
            }
            if end == End::Text {
                return Ok(Value::array(rows));
            }
        }
    }

    fn objects(&mut self, projection: &Projection) -> Result<Value, DecodeError> {
        let (columns, mut end) = self.columns(projection)?;
        let mut rows = Vec::new();
        while end != End::Text {
            let mut row = Object::with_capacity(columns.len());
            let mut position = 0;
            let mut next = 0;
            let is_empty_line = loop {
                let (field, field_end) = self.field()?;
                end = field_end;
                if let Some((at, name)) = columns.get(next)
                    && *at == position
                {
                    let value = if field.is_empty() {
                        Value::Null
                    } else {
                        Value::String(self.text_of(&field))
                    };
                    self.count()?;
                    row.insert(name.clone(), value);
                    next += 1;
                }
                position += 1;
                if end != End::Field {
                    break position == 1 && is_nothing(&field);
                }
            };
            if is_empty_line {
                continue;
            }
            for (_, name) in columns.iter().skip(next) {
                self.count()?;
                row.insert(name.clone(), Value::Null);
            }
            self.count()?;
            rows.push(Value::object(row));
        }
        Ok(Value::array(rows))
    }

    /// The positions and names of the columns to keep, from the first record that is not empty.
    fn columns(
        &mut self,
        projection: &Projection,
    ) -> Result<(Vec<(usize, Text)>, End), DecodeError> {
        let mut columns = Vec::new();
        let mut position = 0;
        loop {
            let (field, end) = self.field()?;
            let is_empty_line = position == 0 && end != End::Field && is_nothing(&field);
            if !is_empty_line {
                let name = self.text_of(&field);
                if projection.member(name.as_bytes()).is_some() {
                    columns.push((position, name));
                }
                position += 1;
            }
            if end == End::Text || (end == End::Record && !is_empty_line) {
                return Ok((columns, end));
            }
        }
    }

    /// Passes one field and the separator or line end after it.
    fn field(&mut self) -> Result<(Field, End), DecodeError> {
        if self.watch.is_over() {
            return Err(self.fault(self.at, stop::REASON));
        }
        let bytes = self.text.as_bytes();
        let start = self.at;
        if bytes.get(start) != Some(&b'"') {
            let length = memchr3(b',', b'\n', b'\r', &bytes[start..]);
            let end = length.map_or(bytes.len(), |length| start + length);
            self.at = end;
            let field = Field { start, end, is_quoted: false, has_doubled_quotes: false };
            return Ok((field, self.separator()?));
        }
        let mut at = start + 1;
        let mut has_doubled_quotes = false;
        loop {
            let Some(length) = memchr(b'"', &bytes[at..]) else {
                return Err(self.fault(start, "quote is not closed"));
            };
            at += length + 1;
            if bytes.get(at) != Some(&b'"') {
                break;
            }
            has_doubled_quotes = true;
            at += 1;
        }
        self.at = at;
        let field = Field { start: start + 1, end: at - 1, is_quoted: true, has_doubled_quotes };
        Ok((field, self.separator()?))
    }

    fn separator(&mut self) -> Result<End, DecodeError> {
        let (length, end) = match &self.text.as_bytes()[self.at..] {
            [] => (0, End::Text),
            [b',', ..] => (1, End::Field),
            [b'\r', b'\n', ..] => (2, End::Record),
            [b'\n' | b'\r', ..] => (1, End::Record),
            _ => return Err(self.fault(self.at, "text after a closing quote")),
        };
        self.at += length;
        Ok(end)
    }

    fn text_of(&self, field: &Field) -> Text {
        if field.has_doubled_quotes {
            self.text[field.start..field.end].replace("\"\"", "\"").into()
        } else {
            self.text.slice(field.start, field.end)
        }
    }

    fn count(&mut self) -> Result<(), DecodeError> {
        self.built += 1;
        if self.built > self.limits.elements_max {
            let reason = format!("more than {} fields", self.limits.elements_max);
            return Err(self.fault(self.at, &reason).of_elements());
        }
        Ok(())
    }

    fn fault(&self, offset: usize, reason: &str) -> DecodeError {
        let before = &self.text.as_bytes()[..offset.min(self.text.len())];
        // CRLF counts once, as its LF.
        let carriage_returns =
            memchr_iter(b'\r', before).filter(|at| before.get(at + 1) != Some(&b'\n')).count();
        let line = memchr_iter(b'\n', before).count() + carriage_returns + 1;
        DecodeError {
            format: FORMAT,
            offset,
            reason: format!("Invalid CSV: {reason}, line {line}"),
            has_too_many: false,
        }
    }
}

/// Whether a field that stands alone on its line makes the line an empty one.
fn is_nothing(field: &Field) -> bool {
    field.is_empty() && !field.is_quoted
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::codec::json;

    fn read(text: &str, header: bool, projection: &Projection) -> String {
        let bytes = Bytes::copy_from_slice(text.as_bytes());
        match decode(bytes, header, projection, &DecodeLimits::default()) {
            Ok(value) => json::to_string(&value),
            Err(error) => format!("{}: {error}", error.offset),
        }
    }

    fn rows(text: &str) -> String {
        read(text, false, &Projection::All)
    }

    fn named(text: &str) -> String {
        read(text, true, &Projection::All)
    }

    #[test]
    fn records_are_arrays_of_text() {
        for (text, expected) in [
            ("", "[]"),
            ("a,b\nc,d", r#"[["a","b"],["c","d"]]"#),
            ("a,b\r\nc,d\r\n", r#"[["a","b"],["c","d"]]"#),
            ("a\rb", r#"[["a"],["b"]]"#),
            (" a , b", r#"[[" a "," b"]]"#),
            ("1,,", r#"[["1","",""]]"#),
            (",\n", r#"[["",""]]"#),
            ("\"a,b\",\"say \"\"x\"\"\"\n1,2", r#"[["a,b","say \"x\""],["1","2"]]"#),
            ("\"a\nb\",c", r#"[["a\nb","c"]]"#),
            ("a\"b,c\"\n", r#"[["a\"b","c\""]]"#),
            (" \"a\"", r#"[[" \"a\""]]"#),
            ("a,b\n\n\r\n\nc,d\n\n", r#"[["a","b"],["c","d"]]"#),
            ("\"\"\na", r#"[[""],["a"]]"#),
            ("\u{feff}æ,b", r#"[["æ","b"]]"#),
            ("name,len\nAda,12\nBo,", r#"[["name","len"],["Ada","12"],["Bo",""]]"#),
        ] {
            assert_eq!(rows(text), expected, "{text:?}");
        }
    }

    #[test]
    fn a_header_names_the_fields() {
        for (text, expected) in [
            ("", "[]"),
            ("a,b", "[]"),
            ("a,b\n", "[]"),
            ("name,len\nAda,12\nBo,", r#"[{"name":"Ada","len":"12"},{"name":"Bo","len":null}]"#),
            ("a,b\n1,2,3\n4", r#"[{"a":"1","b":"2"},{"a":"4","b":null}]"#),
            ("\n\na\n\n1\n\n", r#"[{"a":"1"}]"#),
            ("a,b\n\"\",\n", r#"[{"a":null,"b":null}]"#),
            ("a,a\n1,2", r#"[{"a":"2"}]"#),
            ("\"x \"\"y\"\"\",\n1,2", r#"[{"x \"y\"":"1","":"2"}]"#),
        ] {
            assert_eq!(named(text), expected, "{text:?}");
        }
    }

    #[test]
    fn only_columns_that_are_asked_for_are_kept() {
        let mut projection = Projection::none();
        projection.add_members(&["b"]);
        projection.add_members(&["z"]);
        assert_eq!(read("a,b,c\n1,2,3\n4", true, &projection), r#"[{"b":"2"},{"b":null}]"#);
        assert_eq!(read("a,b\n1,2", false, &projection), r#"[["a","b"],["1","2"]]"#);
        assert_eq!(read("a\n1\n\n2", true, &Projection::none()), "[{},{}]");
        let mut projection = Projection::none();
        projection.add_members(&["0", "b"]);
        assert_eq!(read("a,b\n1,2", true, &projection), r#"[{"b":"2"}]"#);
    }

    #[test]
    fn malformed_text_is_told_with_its_line() {
        for (text, expected) in [
            ("a\nb,\"c\nd", "4: Invalid CSV: quote is not closed, line 2"),
            ("\"", "0: Invalid CSV: quote is not closed, line 1"),
            ("a\r\n\r\"b\"c", "7: Invalid CSV: text after a closing quote, line 3"),
        ] {
            assert_eq!(rows(text), expected, "{text:?}");
            assert_eq!(named(text), expected, "{text:?}");
        }
        assert_eq!(
            read("x,y\n1,\"2", true, &Projection::none()),
            "6: Invalid CSV: quote is not closed, line 2"
        );
    }

    #[test]
    fn limits_hold_at_their_bound() {
        let within = |decoded_bytes_max, elements_max| {
            let limits =
                DecodeLimits { decoded_bytes_max, elements_max, ..DecodeLimits::default() };
            decode(Bytes::from_static(b"a,b\nc"), false, &Projection::All, &limits).is_ok()
        };
        assert!(within(5, 5));
        assert!(!within(4, 5));
        assert!(!within(5, 4));
    }

    fn quoted(fields: &[Vec<String>]) -> String {
        let line = |fields: &Vec<String>| {
            let fields: Vec<_> =
                fields.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
            fields.join(",")
        };
        fields.iter().map(line).collect::<Vec<_>>().join("\r\n")
    }

    proptest! {
        #[test]
        fn arbitrary_bytes_never_panic(
            bytes in proptest::collection::vec(any::<u8>(), 0..60), header in any::<bool>(),
        ) {
            let _ = decode(bytes.into(), header, &Projection::All, &DecodeLimits::default());
        }

        #[test]
        fn arbitrary_records_never_panic(text in "[ab,\"\r\né]{0,40}", header in any::<bool>()) {
            let mut projection = Projection::none();
            projection.add_members(&["a"]);
            read(&text, header, &projection);
            read(&text, header, &Projection::All);
        }

        #[test]
        fn quoted_fields_come_back_as_they_were(
            fields in proptest::collection::vec(
                proptest::collection::vec("[a,\"\r\n é]{0,6}", 1..4), 1..5),
        ) {
            let expected = Value::array(fields.iter().map(|row| {
                Value::array(row.iter().map(|field| Value::from(field.as_str())).collect())
            }).collect());
            prop_assert_eq!(rows(&quoted(&fields)), json::to_string(&expected));
        }
    }
}
