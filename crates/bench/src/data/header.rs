//! One request header as six texts: the message of the oldest of the published comparisons
//! (`docs/reference/bench.md`).

use qlio_data::Value;

use super::{object, text};

/// The names of the six fields, in order.
pub const FIELDS: [&str; 6] =
    ["request", "resource", "version", "destination", "custom1", "custom2"];

/// The six texts, 49 bytes together.
const TEXTS: [&str; 6] = ["GET", "/user/abcde/getVcard/", "1.1", "localhost:8080", "434552", "no"];

/// The message.
pub fn message() -> Value {
    Value::object(FIELDS.into_iter().zip(TEXTS.into_iter().map(text)).collect())
}

/// What the published HTTP text holds instead: other fields behind the same request line.
pub fn http_message() -> Value {
    object([
        ("request", text(TEXTS[0])),
        ("resource", text(TEXTS[1])),
        ("version", text(TEXTS[2])),
        ("Host", text(TEXTS[3])),
        ("X-MessageID", text("33")),
        ("X-ACKMessage", text("100")),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_have_the_published_49_bytes() {
        assert_eq!(TEXTS.iter().map(|text| text.len()).sum::<usize>(), 49);
        assert_eq!(TEXTS[1].len(), 21);
    }
}
