//! Names as they begin members of objects, ready to be copied.
//!
//! In: a name that many objects have. Out: `,"name":`, appended. Who writes an object puts its bracket in
//! the place of the first comma.

use super::text::write_string;

/// Room for a name of usual length with a comma, two quotes and a colon.
const SHORT: usize = 32;

/// A name as it begins a member.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::codec) struct Opening {
    /// The text if there is room for it, else its start.
    short: [u8; SHORT],
    length: usize,
    /// The text if there is not.
    long: Box<[u8]>,
}

impl Opening {
    /// Where the name begins, unless it has escapes.
    pub(in crate::codec) const NAME_AT: usize = 2;

    pub(in crate::codec) fn new(name: &str) -> Self {
        let mut text = Vec::with_capacity(name.len() + 4);
        text.push(b',');
        write_string(name, &mut text);
        text.push(b':');
        let length = text.len();
        let mut short = [0; SHORT];
        let start = length.min(SHORT);
        short[..start].copy_from_slice(&text[..start]);
        let long = if length > SHORT { text.into() } else { Box::default() };
        Self { short, length, long }
    }

    /// As [`Self::new`], for a name that has nothing to escape.
    pub(in crate::codec) fn plain(name: &str) -> Self {
        let length = name.len() + 4;
        let mut short = [0; SHORT];
        let Some(room) = short.get_mut(..length) else { return Self::new(name) };
        room[..Self::NAME_AT].copy_from_slice(b",\"");
        room[Self::NAME_AT..length - 2].copy_from_slice(name.as_bytes());
        room[length - 2..].copy_from_slice(b"\":");
        Self { short, length, long: Box::default() }
    }

    /// The length of the text.
    pub(in crate::codec) fn len(&self) -> usize {
        self.length
    }

    /// Whether the text is short enough to be in [`Self::bytes`].
    pub(in crate::codec) fn is_short(&self) -> bool {
        self.length <= SHORT
    }

    /// The text, or its start.
    pub(in crate::codec) fn bytes(&self) -> &[u8; SHORT] {
        &self.short
    }

    /// Appends the text.
    #[inline]
    pub(in crate::codec) fn write(&self, out: &mut Vec<u8>) {
        if self.is_short() {
            // Copying all of it and cutting off what is too much is cheaper than copying just as many
            // bytes as there are.
            out.extend_from_slice(&self.short);
            out.truncate(out.len() - SHORT + self.length);
        } else {
            out.extend_from_slice(&self.long);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_lengths_begin_members() {
        for length in 0..40 {
            let name = "n\"é".repeat(14).chars().take(length).collect::<String>();
            let mut out = b"{}".to_vec();
            Opening::new(&name).write(&mut out);
            let expected = format!("{{}},{}:", serde_json::to_string(&name).unwrap());
            assert_eq!(String::from_utf8(out).unwrap(), expected);
            let plain = "nameOf".repeat(7)[..length].to_owned();
            assert_eq!(Opening::plain(&plain), Opening::new(&plain));
        }
    }
}
