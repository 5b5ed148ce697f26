//! What holds for every script and every text: printing and reading are inverse, formatting is
//! stable and loses no comment, spans nest, and nothing panics.

mod arbitrary;

use proptest::prelude::*;
use qlio_syntax::{
    analyse,
    ast::Script,
    format, parse,
    render::{render, wire},
};

/// A value's debug text without its spans.
fn without_spans(value: &impl std::fmt::Debug) -> String {
    let full = format!("{value:?}");
    let mut text = String::new();
    for (index, part) in full.split("Span {").enumerate() {
        let rest =
            if index == 0 { part } else { part.split_once('}').map_or("", |(_, rest)| rest) };
        text.push_str(rest);
    }
    text
}

/// The spans of a value in the order of its debug text.
fn spans(value: &impl std::fmt::Debug) -> Vec<(usize, usize)> {
    let full = format!("{value:?}");
    let numbers = |part: &str| -> Option<(usize, usize)> {
        let (inside, _) = part.split_once('}')?;
        let (start, end) = inside.trim().strip_prefix("start: ")?.split_once(", end: ")?;
        Some((start.parse().ok()?, end.trim().parse().ok()?))
    };
    full.split("Span {").skip(1).filter_map(numbers).collect()
}

/// Texts that look more like scripts than random characters do.
fn nearly_script() -> impl Strategy<Value = String> {
    let piece = prop::sample::select(vec![
        "select",
        "from",
        "where",
        "in",
        "and",
        "return",
        "create table",
        "on select get from",
        "using",
        "headers",
        "defaults",
        "if",
        "else",
        "try",
        "catch",
        "finally",
        "throw",
        "insert into",
        "values",
        "with parts",
        "limit",
        "true",
        "a",
        "b.c",
        "=",
        "||",
        "&&",
        "!",
        "(",
        ")",
        "{",
        "}",
        "[",
        "]",
        ",",
        ";",
        ":",
        ".",
        "..",
        "*",
        "'x'",
        "\"{a.b}\"",
        "'",
        "\"",
        "\\",
        "-- c\n",
        "/* c */",
        "/*",
        "--",
        "1",
        "-1.5e3",
        "\n",
        "\r\n",
        "\u{2028}",
        " ",
        "é",
        "😀",
        "\u{FEFF}",
        "^",
        "?",
        "\0",
    ]);
    prop::collection::vec(piece, 0..40).prop_map(|pieces| pieces.join(" "))
}

fn read_all(text: &str) -> Result<(), TestCaseError> {
    let parsed = parse(text);
    let mut all = spans(&parsed);
    all.extend(spans(&parsed.diagnostics));
    for (start, end) in all {
        prop_assert!(start <= end && end <= text.len(), "{start}..{end} of {}", text.len());
        prop_assert!(text.is_char_boundary(start) && text.is_char_boundary(end));
    }
    let analysis = analyse(text);
    render(&analysis.diagnostics, "test.ql", text, false);
    for diagnostic in &analysis.diagnostics {
        prop_assert!(wire(diagnostic, text).line >= 1);
    }
    let Ok(formatted) = format::format_text(text) else { return Ok(()) };
    let again = parse(&formatted);
    prop_assert!(again.is_ok(), "{formatted}\n{:?}", again.diagnostics);
    prop_assert_eq!(without_spans(&parsed.script), without_spans(&again.script), "{}", formatted);
    prop_assert_eq!(parsed.comments.len(), again.comments.len(), "{}", formatted);
    let stable = format::format_text(&formatted);
    prop_assert_eq!(stable.as_deref(), Ok(formatted.as_str()));
    Ok(())
}

fn check_read_as_printed(script: &Script) -> Result<(), TestCaseError> {
    let text = format::format_script(script);
    let parsed = parse(&text);
    prop_assert!(parsed.is_ok(), "{text}\n{:?}", parsed.diagnostics);
    prop_assert_eq!(without_spans(script), without_spans(&parsed.script), "{}", text);
    let formatted = format::format_text(&text);
    prop_assert_eq!(formatted.as_deref(), Ok(text.as_str()));
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn printing_and_reading_are_inverse(script in arbitrary::script()) {
        check_read_as_printed(&script)?;
    }

    #[test]
    fn expressions_are_read_as_they_are_printed(script in arbitrary::computing()) {
        check_read_as_printed(&script)?;
    }

    #[test]
    fn comments_between_any_tokens_survive(
        script in arbitrary::script(),
        places in prop::collection::vec((any::<prop::sample::Index>(), 0..4_usize), 1..8),
    ) {
        let text = format::format_script(&script);
        let mut gaps: Vec<usize> = blanks_outside_quotes(&text);
        gaps.push(text.len());
        let mut inserts: Vec<(usize, &str)> = places
            .iter()
            .map(|(place, kind)| {
                let comment = [" -- line\n", " /* block */ ", "\n-- own line\n", "\n/* own block */\n"];
                (gaps[place.index(gaps.len())], comment[*kind])
            })
            .collect();
        inserts.sort_unstable();
        let mut commented = text.clone();
        for (at, comment) in inserts.into_iter().rev() {
            commented.insert_str(at, comment);
        }
        read_all(&commented)?;
    }

    #[test]
    fn arbitrary_text_never_panics(text in ".{0,200}") {
        read_all(&text)?;
    }

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all(&String::from_utf8_lossy(&bytes))?;
    }

    #[test]
    fn nearly_scripts_never_panic(text in nearly_script()) {
        read_all(&text)?;
    }

    #[test]
    fn spans_of_children_lie_inside_of_their_statement(script in arbitrary::script()) {
        let parsed = parse(&format::format_script(&script));
        for item in &parsed.script.items {
            let qlio_syntax::ast::Item::Statement(statement) = item else { continue };
            let outer = (statement.span.start as usize, statement.span.end as usize);
            // Documentation stands before its statement.
            for (start, end) in spans(&(&statement.target, &statement.alternatives)) {
                prop_assert!(outer.0 <= start && end <= outer.1, "{start}..{end} in {outer:?}");
            }
        }
    }
}

/// The offsets of the blanks of a printed script that do not stand in texts or comments.
fn blanks_outside_quotes(text: &str) -> Vec<usize> {
    let mut gaps = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            ' ' | '\n' => gaps.push(at),
            '"' | '\'' => while chars.next().is_some_and(|(_, next)| next != c) {},
            '-' if text[at..].starts_with("--") => {
                while chars.next_if(|(_, next)| *next != '\n').is_some() {}
            }
            '/' if text[at..].starts_with("/*") => {
                let end = at + text[at..].find("*/").map_or(2, |length| length + 1);
                while chars.next_if(|(next, _)| *next <= end).is_some() {}
            }
            _ => {}
        }
    }
    gaps
}
