//! How a text ends: whether whoever types it has said everything, for prompts.
//!
//! In: a text. Out: its [`Ending`]. The parser decides: it knows what it misses at the end. Total on any text,
//! pure, linear in its length.

use crate::{
    ast::{Item, Primary, Script},
    diagnostic::codes,
    parse,
};

/// How a text ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The grammar misses something at the end.
    Unfinished,
    /// It is a script whose last statement only introduces a name, for statements that may follow.
    Introduction,
    /// Nothing is missing, or it is wrong before its end, where no further line helps.
    Whole,
}

impl Ending {
    /// The ending of `text`.
    pub fn of(text: &str) -> Self {
        let parsed = parse(text);
        match parsed.diagnostics.iter().find(|problem| problem.is_error()) {
            None if is_introduction(&parsed.script) => Self::Introduction,
            None => Self::Whole,
            Some(first) if first.code == codes::UNCLOSED_COMMENT => Self::Unfinished,
            // What has a hint is a mistake, and more text would not mend it.
            Some(first) => {
                let is_at_end = first.found.is_none() && !first.expected.is_empty();
                if is_at_end && first.hints.is_empty() { Self::Unfinished } else { Self::Whole }
            }
        }
    }
}

/// Whether the last statement binds a variable or creates a table, and nothing says the value.
fn is_introduction(script: &Script) -> bool {
    let Some(Item::Statement(last)) = script.items.last() else { return false };
    let creates = matches!(last.alternatives.as_slice(), [Primary::Create(_)]);
    script.result.is_none() && (last.target.is_some() || creates)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_goes_on_while_the_grammar_misses_something() {
        for text in [
            "return {",
            "return {\"a\": [1,",
            "select * from",
            "select *",
            "select * from t where",
            "select * from t where a = ",
            "select * -- all of it",
            "a = ",
            "a",
            "if (a) {\n b = 2",
            "try { a = 1 }",
            "/* why",
            "select a from b /* why",
            "create table t on select get",
        ] {
            assert_eq!(Ending::of(text), Ending::Unfinished, "{text}");
        }
    }

    #[test]
    fn a_name_alone_is_for_what_follows() {
        for text in [
            "a = 1",
            "a = select * from t -- so",
            "b = 1; a = b\n",
            "create table t on select get from 'http://h.test/'",
        ] {
            assert_eq!(Ending::of(text), Ending::Introduction, "{text}");
        }
    }

    #[test]
    fn what_is_whole_or_wrong_does_not_go_on() {
        for text in [
            "",
            "-- only a note",
            "return 1",
            "select * from t",
            "select * from t;",
            "select * from t where a = 'x' limit 2",
            "a = 1 return a",
            "show tables",
            "if (a) { b = 2 }",
            // Another line would not close the quote.
            "return \"a",
            "return 1 }",
            "a = } select * from",
            "retrn",
        ] {
            assert_eq!(Ending::of(text), Ending::Whole, "{text}");
        }
    }
}
