//! The id under which a request stands in logs, in its answer and in all requests that it causes.
//!
//! In: the client's header of the configured name. Out: that id if it can be passed on as it is, else a
//! new one.

use hyper::{HeaderMap, header::HeaderName};
use qlio_data::Text;
use qlio_engine::event::new_id;

/// The longest id that is taken over from a client, in bytes.
pub(crate) const REQUEST_ID_BYTES_MAX: usize = 200;

/// The client's id, or a new one if it sent none, several, or one that is no visible ASCII text of at
/// most [`REQUEST_ID_BYTES_MAX`] bytes.
pub(crate) fn of_request(headers: &HeaderMap, name: Option<&HeaderName>) -> Text {
    let mut sent = name.into_iter().flat_map(|name| headers.get_all(name));
    match (sent.next(), sent.next()) {
        (Some(id), None) if is_valid(id.as_bytes()) => {
            id.to_str().map_or_else(|_| fresh(), Text::from)
        }
        _ => fresh(),
    }
}

fn is_valid(id: &[u8]) -> bool {
    (1..=REQUEST_ID_BYTES_MAX).contains(&id.len()) && id.iter().all(u8::is_ascii_graphic)
}

fn fresh() -> Text {
    Text::from(new_id())
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

    use super::*;

    fn id_of(values: &[&[u8]]) -> Text {
        let name = HeaderName::from_static("x-id");
        let mut headers = HeaderMap::new();
        for value in values {
            headers.append(&name, HeaderValue::from_bytes(value).expect("a header value"));
        }
        of_request(&headers, Some(&name))
    }

    #[test]
    fn an_id_that_can_be_passed_on_is_kept() {
        let longest = "x".repeat(REQUEST_ID_BYTES_MAX);
        for id in ["r9", "a-b_c.d:e/f!g[", &longest] {
            assert_eq!(id_of(&[id.as_bytes()]), id);
        }
    }

    #[test]
    fn any_other_id_is_replaced_by_a_new_one() {
        let too_long = "x".repeat(REQUEST_ID_BYTES_MAX + 1);
        let refused: [&[&[u8]]; 6] =
            [&[], &[b""], &[b"a b"], &[b"caf\xe9"], &[b"one", b"two"], &[too_long.as_bytes()]];
        for values in refused {
            let id = id_of(values);
            assert_eq!(id.len(), 36, "{values:?} became {id}");
            assert_ne!(id, id_of(values));
        }
    }
}
