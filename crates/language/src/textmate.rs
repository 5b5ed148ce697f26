//! A `TextMate` grammar for editors that colour without a server, made from the words of the language.
//!
//! It knows words, not places: the language has no reserved words, so a name that is a keyword
//! elsewhere is coloured as one here. A test reads all scripts of the project with the parser and
//! compares.

use qlio_data::{Value, codec::json};
use qlio_syntax::tokens::KEYWORDS;

use crate::json::{list, object};

/// The grammar as JSON text.
pub fn grammar() -> String {
    let rule = |name: &'static str, pattern: String| {
        object([("name", Value::from(name)), ("match", Value::from(pattern))])
    };
    let brace = rule("variable.other.readwrite.qlio", r"\{[=^#|]?[A-Za-z_$:][^\s{}]*\}".to_owned());
    let text = |quote: &str, name: &'static str| {
        object([
            ("name", Value::from(name)),
            ("begin", Value::from(quote)),
            ("end", Value::from(quote)),
            ("patterns", list([brace.clone()])),
        ])
    };
    let words = KEYWORDS.join("|");
    let patterns = [
        rule("comment.line.double-dash.qlio", "--.*$".to_owned()),
        object([
            ("name", Value::from("comment.block.qlio")),
            ("begin", Value::from(r"/\*")),
            ("end", Value::from(r"\*/")),
        ]),
        text("\"", "string.quoted.double.qlio"),
        text("'", "string.quoted.single.qlio"),
        brace.clone(),
        rule("constant.language.qlio", r"(?<![\w$:.])(?:true|false|null)(?![\w:])".to_owned()),
        rule("constant.numeric.qlio", r"(?<![\w$:])[+-]?\d+(?:\.\d*)?(?:[eE][+-]?\d+)?".to_owned()),
        rule("keyword.control.qlio", format!(r"(?<![\w$:.])(?:{words})(?![\w:])(?!\s*=[^=])")),
        rule("entity.name.function.qlio", r"(?<![\w$:.])[A-Za-z_$:][\w:.]*(?=\s*\()".to_owned()),
        rule(
            "variable.other.readwrite.qlio",
            r"(?<![\w$:.])[A-Za-z_$:][\w:]*(?=\s*=(?!=))".to_owned(),
        ),
    ];
    let grammar = object([
        ("name", Value::from("qlio")),
        ("scopeName", Value::from("source.qlio")),
        ("fileTypes", list([Value::from("ql"), Value::from("qlio")])),
        ("patterns", list(patterns)),
    ]);
    json::to_string(&grammar)
}
