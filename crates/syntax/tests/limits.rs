//! Every limit at its bound and one beyond, and inputs made to hurt.

use std::time::{Duration, Instant};

use qlio_syntax::{
    analyse,
    diagnostic::{Code, codes},
    format,
    limits::Limits,
    parse, parse_with,
};

fn limits() -> Limits {
    Limits {
        text_bytes_max: 1000,
        nesting_depth_max: 4,
        statements_max: 3,
        condition_operators_max: 2,
        diagnostics_max: 3,
    }
}

#[track_caller]
fn codes_of(text: &str) -> Vec<Code> {
    parse_with(text, &limits()).diagnostics.iter().map(|one| one.code).collect()
}

#[test]
fn a_text_of_exactly_the_allowed_length_is_read() {
    assert_eq!(codes_of(&format!("a=1{}", " ".repeat(997))), []);
    assert_eq!(codes_of(&format!("a=1{}", " ".repeat(998))), [codes::SCRIPT_TOO_LARGE]);
}

#[test]
fn nesting_stops_at_the_limit() {
    assert_eq!(codes_of("a = [[[[1]]]]"), []);
    assert_eq!(codes_of("a = [[[[[1]]]]]"), [codes::NESTING_TOO_DEEP]);
    assert_eq!(codes_of("if (!!!a) { }"), []);
    assert_eq!(codes_of("if (!!!!a) { }"), [codes::NESTING_TOO_DEEP]);
    assert_eq!(
        codes_of("if (a) { if (b) { if (c) { if (d) { } } } }"),
        [codes::TOO_MANY_STATEMENTS]
    );
}

#[test]
fn statements_are_counted_with_nested_ones() {
    assert_eq!(codes_of("if (a) { b = 1 } return 2"), []);
    assert_eq!(codes_of("if (a) { b = 1 c = 2 } return 2"), [codes::TOO_MANY_STATEMENTS]);
}

#[test]
fn operators_of_a_condition_are_counted() {
    assert_eq!(codes_of("if (a && b || c) { }"), []);
    assert_eq!(codes_of("if (a && b || c || d) { }"), [codes::CONDITION_TOO_LONG]);
}

#[test]
fn the_last_diagnostic_says_that_there_are_more() {
    let unexpected = codes::UNEXPECTED_TOKEN;
    assert_eq!(codes_of("a = }\nb = }"), [unexpected, unexpected]);
    assert_eq!(
        codes_of("a = }\nb = }\nc = }"),
        [unexpected, unexpected, codes::TOO_MANY_DIAGNOSTICS]
    );
}

#[test]
fn checks_report_no_more_than_the_parser() {
    let text = "v = 1\n".repeat(200);
    let found = qlio_syntax::analyse(&text).diagnostics;
    assert_eq!(found.len(), 50);
    assert_eq!(found[49].code, codes::TOO_MANY_DIAGNOSTICS);
    assert!(found[49].is_error());
    let names = "wrongname || ".repeat(500);
    let found = qlio_syntax::analyse(&format!("wrongnam = 1 return {names}2")).diagnostics;
    assert_eq!(found[0].hints, ["did you mean `wrongnam`?"]);
}

/// As many definitions as that, each of which needs the next one.
fn ring(size: usize) -> String {
    let lines = (0..size).map(|n| format!("v{n} = \"{{v{}}}\"", (n + 1) % size));
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn hostile_texts_are_read_quickly_and_on_a_small_stack() {
    let size = 200_000;
    let texts = [
        "[".repeat(size),
        "a = ".repeat(size / 4),
        "if (a) { ".repeat(size / 9),
        "!".repeat(size),
        format!("if ({})", "(".repeat(size)),
        "'".repeat(size),
        "\"\n".repeat(size / 2),
        "/* ".repeat(size / 3),
        "-- \n".repeat(size / 4),
        "a = 1 || ".repeat(size / 9),
        format!("a = {}1", "1 || ".repeat(size / 5)),
        format!("x = {{{}}}", "\"k\": 1, ".repeat(size / 8)),
        format!("x = [{}1]", "1, ".repeat(size / 3)),
        format!("select {}a from t", "a, ".repeat(size / 3)),
        format!("select * from t where {}b = 1", "a = 1 and ".repeat(size / 10)),
        format!("a{}", ".b".repeat(size / 2)),
        format!("x = select a{} from t", "[0]".repeat(size / 3)),
        "x".repeat(size),
        ";".repeat(size),
        "}".repeat(size),
        ring(9000),
        format!("x = \"{}\"", "{a".repeat(size / 2)),
        format!("if (a) {{}} {}", "else if (a) {} ".repeat(size / 15)),
        format!("if ({}a) {{}}", "a || ".repeat(size / 5)),
    ];
    for text in &texts {
        let start = Instant::now();
        let analysis = analyse(text);
        assert!(analysis.diagnostics.len() <= Limits::default().diagnostics_max);
        let formatted = format::format_text(text);
        let prefix: String = text.chars().take(30).collect();
        // Generous: a quadratic reader needs minutes for these.
        assert!(start.elapsed() < Duration::from_secs(20), "{prefix}");
        if let Ok(formatted) = formatted {
            assert!(parse(&formatted).is_ok(), "{prefix}");
        }
    }
}
