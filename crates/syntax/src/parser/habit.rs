//! Hints for texts that are right in SQL or JavaScript and mean nothing here.
//!
//! In: the text before a place where the parser failed, and the rest. Out: a sentence that says how it is
//! written in this language, if what stands there is a habit of another one. Only the nearest words
//! are looked at, so a hint costs as much as the line is long.

mod sql;

use crate::{lexer, tokens::KEYWORDS};

/// Words before the failure and in front of it that belong together, with what to write instead. An
/// empty word stands for any.
const PAIRS: &[(&str, &str, &str)] = &[
    ("order", "by", "`order by` is written in lower case and stands behind `where`"),
    ("group", "by", "`group by` is written in lower case and stands behind `where`"),
    (
        "",
        "having",
        "`having` tests groups and stands behind `group by`; rows are tested by `where`",
    ),
    ("", "nulls", "`nulls first` and `nulls last` stand behind a key of `order by`"),
    ("left", "join", JOIN),
    ("join", "", JOIN),
    ("union", "", "`union`, or `union all`, is written in lower case and stands before a `select`"),
    ("intersect", "", SETS),
    ("", "intersect", SETS),
    ("except", "", SETS),
    ("", "except", SETS),
    ("minus", "", SETS),
    ("", "minus", SETS),
    ("", "set", "there is no `set`: write `update t with \"{object}\"`"),
    ("set", "", "there is no `set`: write `insert into t (a, b) values (1, 2)`"),
    ("let", "", BARE_VARIABLE),
    ("var", "", BARE_VARIABLE),
    ("const", "", BARE_VARIABLE),
    ("function", "", FUNCTION),
    ("async", "function", FUNCTION),
    ("export", "", FUNCTION),
    ("import", "", "a module is loaded with `name = require(\"file.js\")`"),
    ("for", "", LOOP),
    ("while", "", LOOP),
];

const SETS: &str =
    "rows that another list has, or has not, are found by `where x in (select …)` and `not in`";
const JOIN: &str =
    "a join names a source, its alias and a condition: `from a as x join b as y on y.id = x.b`";
const BARE_VARIABLE: &str = "a variable needs no keyword: `x = …`";
const FUNCTION: &str =
    "functions live in modules: bind one with `m = require(\"m.js\")`, then call `m.f(…)`";

const LOOP: &str =
    "there are no loops: a statement runs for each value of a list, as in `where id in (…)`";

/// Signs at the failure, with what to write instead.
const SIGNS: &[(&str, &str)] = &[
    ("//", "comments begin with `--`, or stand between `/*` and `*/`"),
    ("#", "comments begin with `--`, or stand between `/*` and `*/`"),
    ("=>", FUNCTION),
    ("==", "a condition of `if` is a variable or a path into one; values are compared by a select"),
    ("!=", "a condition of `if` is a variable or a path into one; values are compared by a select"),
    ("&&", "conditions of a select are joined with `and`"),
    ("`", "names of tables have no quotes"),
    ("+", "texts are put together with tokens: `\"{a}{b}\"`, in a select with `&`"),
];

/// The clauses that continue a statement.
const CLAUSES: &[&str] = &["where", "limit", "offset", "timeout", "via", "using"];

/// What may stand behind `limit` and `offset` instead of digits.
const COUNT_TOKEN: &str =
    "a number that is not written here is a token without quotes: `limit {=n}`";

const FALLBACK: &str =
    "`||` begins what is taken if the statement before it fails; texts are put together with `&`";

const ALIAS: &str = "an alias stands behind `as`: `from t as x`";

/// Where an alias that lacks its `as` can stand.
const BEFORE_SOURCES: &[&str] = &["from", "join", "into", "update"];

/// A hint for what stands between `before` and `rest`.
pub(super) fn hint(before: &str, rest: &str) -> Option<&'static str> {
    let line = before.trim_end();
    let previous = last_word(line);
    let next = &rest[..lexer::word_length(rest)];
    if let Some(hint) = sql::hint(line, previous, next, rest) {
        return Some(hint);
    }
    if is_count_of_clause(line, previous)
        && (!next.is_empty() || rest.starts_with(['"', '\'', '{']))
    {
        return Some(COUNT_TOKEN);
    }
    if rest.starts_with('.') && is_count(line, previous) {
        return Some("rows are counted in whole numbers");
    }
    if rest.starts_with(['=', '!', '<', '>', '&']) && is_behind_fallback(line) {
        return Some(FALLBACK);
    }
    if let Some((_, hint)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
        return Some(hint);
    }
    if line.ends_with('=') && rest.starts_with('=') {
        return Some("one `=` compares and binds");
    }
    if line.ends_with('=') && rest.starts_with('>') {
        return Some(FUNCTION);
    }
    if line.ends_with('(') && rest.starts_with('*') {
        return Some("`count(*)` counts the rows of a select; it is written in lower case");
    }
    let is_meant =
        |written: &str, word: &str| written.is_empty() || written.eq_ignore_ascii_case(word);
    let pair = PAIRS.iter().find(|(one, two, _)| {
        is_meant(one, previous) && is_meant(two, next) && !(two.is_empty() && next.is_empty())
    });
    if let Some((_, _, hint)) = pair {
        return Some(hint);
    }
    if rest.starts_with(['"', '\'']) && BEFORE_SOURCES.contains(&previous) {
        return Some("names of tables have no quotes");
    }
    if let Some(head) = line.rfind('(').map(|open| last_word(line[..open].trim_end())) {
        match head {
            "if" | "catch" if matches!(next, "and" | "or") => {
                return Some("conditions of `if` and `catch` are joined by `&&` and `||`");
            }
            "for" | "while" => return Some(LOOP),
            _ => {}
        }
    }
    if rest.starts_with(';') && (line.is_empty() || line.ends_with([';', '{', '}', '='])) {
        return Some("a `;` stands behind a statement");
    }
    after_word(line, previous, next)
}

/// A hint for what no other hint fits: a column that lacks the `as` of its alias.
pub(super) fn last_hint(before: &str, rest: &str) -> Option<&'static str> {
    let line = before.trim_end();
    sql::alias(line, last_word(line), &rest[..lexer::word_length(rest)])
}

/// A hint for a keyword in capitals behind a statement that could end there.
pub(super) fn capitals(rest: &str) -> Option<&'static str> {
    let word = &rest[..lexer::word_length(rest)];
    let is_upper = word.bytes().all(|byte| byte.is_ascii_uppercase());
    let is_keyword = KEYWORDS.binary_search(&word.to_ascii_lowercase().as_str()).is_ok();
    (is_upper && is_keyword).then_some("keywords are written in lower case")
}

/// A hint for a word that was taken for the start of the next statement.
fn after_word(line: &str, previous: &str, next: &str) -> Option<&'static str> {
    let earlier = line[..line.len() - previous.len()].trim_end();
    if previous.is_empty() {
        return None;
    }
    if CLAUSES.contains(&previous) && earlier.ends_with(';') {
        return Some("the `;` ends the statement: its clauses stand before it");
    }
    // Behind a `return` the alias itself is the text that is too much.
    if BEFORE_SOURCES.contains(&last_word(earlier)) && !next.is_empty() {
        return Some(ALIAS);
    }
    let source = last_word(earlier);
    let ahead = last_word(earlier[..earlier.len() - source.len()].trim_end());
    if !source.is_empty() && BEFORE_SOURCES.contains(&ahead) && !next.is_empty() {
        return Some(ALIAS);
    }
    None
}

/// Whether a line ends with one value behind `||`, as in `where a || 'x'`.
fn is_behind_fallback(line: &str) -> bool {
    let Some((before, value)) = line.rsplit_once("||") else { return false };
    let value = value.trim_start();
    let is_one = match value.chars().next() {
        Some(quote @ ('\'' | '"')) => value[1..].find(quote) == Some(value.len() - 2),
        Some(_) => !value.contains(char::is_whitespace),
        None => false,
    };
    is_one && !before.trim_end().is_empty()
}

/// Whether the last word of a line is `limit` or `offset` as a clause of a statement.
fn is_count_of_clause(line: &str, previous: &str) -> bool {
    let earlier = line[..line.len() - previous.len()].trim_end();
    let is_clause = !earlier.is_empty() && !earlier.ends_with(';');
    let is_source = BEFORE_SOURCES.contains(&last_word(earlier));
    matches!(previous, "limit" | "offset") && is_clause && !is_source
}

/// Whether the text ends with the digits of `limit` or `offset`.
fn is_count(line: &str, previous: &str) -> bool {
    let earlier = line[..line.len() - previous.len()].trim_end();
    previous.bytes().all(|byte| byte.is_ascii_digit())
        && is_count_of_clause(earlier, last_word(earlier))
}

/// The word that a text ends with, dots included.
fn last_word(text: &str) -> &str {
    let is_part = |c: char| lexer::is_word_part(c) || matches!(c, '.' | '$');
    &text[text.trim_end_matches(is_part).len()..]
}
