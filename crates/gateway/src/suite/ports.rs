//! `{mock.<n>}`: ports that are chosen when a test runs, filled into its texts (`docs/guide/testing.md`).

use std::collections::BTreeMap;

use memchr::memchr_iter;

const OPENING: &str = "{mock.";

/// The numbers that a text mentions.
pub(super) fn find_numbers(text: &str) -> impl Iterator<Item = u16> {
    text.match_indices(OPENING).filter_map(|(at, _)| placeholder(&text[at..]).map(|(n, _)| n))
}

/// A text with the ports filled in.
///
/// # Errors
/// The line of a number that no mock of the test has, and what to say about it.
pub(super) fn fill(text: &str, ports: &BTreeMap<u16, u16>) -> Result<String, (u32, String)> {
    let mut filled = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(OPENING) {
        let (before, from) = rest.split_at(at);
        filled.push_str(before);
        let Some((number, length)) = placeholder(from) else {
            filled.push_str(OPENING);
            rest = &from[OPENING.len()..];
            continue;
        };
        let Some(port) = ports.get(&number) else {
            let offset = text.len() - from.len();
            let line = memchr_iter(b'\n', &text.as_bytes()[..offset]).count() + 1;
            let message = format!("`{{mock.{number}}}`: the test has no mock `{number}`");
            return Err((line as u32, message));
        };
        filled.push_str(&port.to_string());
        rest = &from[length..];
    }
    filled.push_str(rest);
    Ok(filled)
}

/// The number of the placeholder at the start of a text, and its length.
fn placeholder(text: &str) -> Option<(u16, usize)> {
    let rest = text.strip_prefix(OPENING)?;
    let end = rest.find('}')?;
    Some((rest[..end].parse().ok()?, OPENING.len() + end + 1))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn ports_are_filled_in_and_other_braces_stay() {
        let ports = BTreeMap::from([(1, 4711), (2, 4712)]);
        let text = "http://h:{mock.1}/{a}?{mock.x}&{mock.2}{mock.";
        assert_eq!(fill(text, &ports).unwrap(), "http://h:4711/{a}?{mock.x}&4712{mock.");
        assert_eq!(find_numbers(text).collect::<Vec<_>>(), [1, 2]);
    }

    #[test]
    fn a_number_without_a_mock_is_named_with_its_line() {
        let (line, message) = fill("a\nb {mock.3}", &BTreeMap::new()).unwrap_err();
        assert_eq!((line, message.as_str()), (2, "`{mock.3}`: the test has no mock `3`"));
    }

    proptest! {
        #[test]
        fn any_text_is_filled_or_refused(text in "(\\{mock\\.|[0-9]|\\}|\\PC){0,20}") {
            let _filled = fill(&text, &BTreeMap::from([(1, 2)]));
        }
    }
}
