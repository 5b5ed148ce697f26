//! Settings as TOML.

use std::ops::Range;

use qlio_data::{Object, Text, Value, codec::json};
use qlio_syntax::source::LineIndex;
use toml::de::{DeTable, DeValue};

use super::{
    super::place::{Places, element, member},
    DEPTH_MAX, Located, Malformed,
};

pub(super) fn parse(text: &str) -> Result<Located, Malformed> {
    let mut reader = Reader { text, lines: LineIndex::new(text), places: Places::default() };
    let table =
        DeTable::parse(text).map_err(|error| reader.malformed(error.span(), error.message()))?;
    let value = reader.table(table.get_ref(), "", 0)?;
    Ok((value, reader.places))
}

struct Reader<'t> {
    text: &'t str,
    lines: LineIndex,
    places: Places,
}

impl Reader<'_> {
    fn note(&mut self, path: &str, span: &Range<usize>) {
        self.places.insert(path, self.lines.position(self.text, span.start as u32));
    }

    fn malformed(&self, span: Option<Range<usize>>, reason: &str) -> Malformed {
        let position = span.map(|span| self.lines.position(self.text, span.start as u32));
        Malformed { position, reason: reason.replace('\n', " ") }
    }

    fn table(&mut self, table: &DeTable<'_>, path: &str, depth: usize) -> Result<Value, Malformed> {
        let mut members = Object::with_capacity(table.len());
        for (name, value) in table {
            let path = member(path, name.get_ref());
            self.note(&path, &name.span());
            let value = self.value(value.get_ref(), value.span(), &path, depth + 1)?;
            members.insert(Text::from(&**name.get_ref()), value);
        }
        Ok(Value::object(members))
    }

    fn value(
        &mut self,
        value: &DeValue<'_>,
        span: Range<usize>,
        path: &str,
        depth: usize,
    ) -> Result<Value, Malformed> {
        if depth > DEPTH_MAX {
            let reason = format!("nested more than {DEPTH_MAX} levels deep");
            return Err(self.malformed(Some(span), &reason));
        }
        match value {
            DeValue::String(text) => Ok(Value::from(&**text)),
            DeValue::Boolean(is_on) => Ok(Value::Bool(*is_on)),
            DeValue::Datetime(time) => Ok(Value::from(time.to_string())),
            DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
                .map(Value::int)
                .map_err(|_| self.malformed(Some(span), &format!("`{number}` has over 64 bits"))),
            DeValue::Float(number) => {
                // All that is not written as JSON writes it, such as `+1.0`, goes through a float.
                let number: f64 = number.as_str().parse().unwrap_or(f64::NAN);
                json::parse_str(&number.to_string())
                    .map_err(|_| self.malformed(Some(span), &format!("`{number}` is no number")))
            }
            DeValue::Array(elements) => {
                let mut values = Vec::with_capacity(elements.len());
                for (index, value) in elements.iter().enumerate() {
                    let path = element(path, index);
                    self.note(&path, &value.span());
                    values.push(self.value(value.get_ref(), value.span(), &path, depth + 1)?);
                }
                Ok(Value::array(values))
            }
            DeValue::Table(table) => self.table(table, path, depth),
        }
    }
}
