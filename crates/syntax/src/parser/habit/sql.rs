//! What people write who know SQL, and what to write instead.
//!
//! In and out as in [`super::hint`]. A habit is told by the words around the place where the parser
//! failed; where it cannot be told for sure there is no hint.

use super::last_word;

const WINDOWS: &str = "there are no windows: the first rows of each group are \
                       `array_agg(x order by y limit 3)`";
const LISTS: &str = "a list in the rows is a source itself: `from orders as o, o.items as i`";
const BOUNDS: &str = "rows are bounded by `limit 10 offset 20`, in numbers alone";
const ESCAPE: &str = "patterns have no escape character; `matches` takes a regular expression";
const DATES: &str = "dates are texts, `'2026-05-01'`; `date_add(x, 'P1D')` moves them";

/// What the word before the failure, or the one at it, is used for elsewhere.
const WORDS: &[(&str, &str, &str)] = &[
    ("escape", "", ESCAPE),
    ("", "escape", ESCAPE),
    ("fetch", "first", BOUNDS),
    ("fetch", "next", BOUNDS),
    ("", "fetch", BOUNDS),
    ("", "over", WINDOWS),
    ("lateral", "", LISTS),
    ("", "lateral", LISTS),
    ("create", "view", "a select is bound to a variable, `v = select …`, or served by a route"),
    ("drop", "table", "tables are files: a table is dropped with its file"),
    ("alter", "table", "tables are files: change the one that declares it"),
];

/// Functions whose arguments SQL separates by words.
const CALLS: &[(&str, &str)] = &[
    ("cast", "values are read by `number(x)`, `integer(x)`, `date(x)` or `timestamp(x)`"),
    ("extract", "parts of dates are functions: `year(x)`, `month(x)`, `day(x)`, `hour(x)`"),
    ("substring", "arguments stand between commas: `substring(x, 1, 2)`"),
    ("trim", "arguments stand between commas: `trim(x, '-')`"),
    ("position", "arguments stand between commas: `position('part', x)`"),
    ("any", "whether one of several is equal is asked by `x in (select …)`"),
    ("some", "whether one of several is equal is asked by `x in (select …)`"),
    ("on", "the first row of each group is `array_agg(x order by y limit 1)` behind `group by`"),
];

/// A hint for a habit of SQL between `line` and `rest`, whose words there are `previous` and `next`.
pub(super) fn hint(line: &str, previous: &str, next: &str, rest: &str) -> Option<&'static str> {
    let earlier = line[..line.len() - previous.len()].trim_end();
    let before = last_word(earlier);
    let is_meant = |written: &str, word: &str| written.is_empty() || written == word;
    let found = WORDS
        .iter()
        .find(|(one, two, _)| is_meant(one, previous) && is_meant(two, next))
        .map(|(_, _, hint)| *hint);
    if found.is_some() {
        return found;
    }
    if let Some(hint) = sign(line, rest) {
        return Some(hint);
    }
    let is_count = previous.bytes().all(|byte| byte.is_ascii_digit()) && !previous.is_empty();
    match (before, previous, next) {
        ("is" | "not", _, "distinct") | (_, "is", "distinct") => {
            Some("null equals null here: write `a == b`, or `a != b`")
        }
        (_, "with", _) if rest[next.len()..].trim_start().starts_with("as") => {
            Some("a variable holds the rows of a select: `x = select …`")
        }
        (_, "from", _) if earlier.ends_with(',') => {
            Some("no comma stands behind the last column, so `from` was read as one more")
        }
        (_, "exists", "select") => Some("`exists` takes a select in parentheses"),
        ("limit" | "offset", _, "row" | "rows") if is_count => Some(BOUNDS),
        ("select" | "distinct", "top", "") => Some(BOUNDS),
        ("limit", _, "") if is_count && rest.starts_with(',') => Some(BOUNDS),
        ("between", _, "") if rest.starts_with(',') => {
            Some("the bounds are joined by `and`: `between 1 and 2`")
        }
        (_, "date" | "time" | "timestamp" | "interval", "") if starts_value(rest) => Some(DATES),
        (_, "like" | "ilike" | "matches", "") if rest.starts_with('%') => {
            Some("patterns stand in quotes: `like '%x%'`")
        }
        (_, "unnest", "") if rest.starts_with('(') => Some(LISTS),
        (_, _, "except" | "exclude" | "without") if line.ends_with('*') => {
            Some("members are left out by `* exclude (a, b)`")
        }
        (_, _, "not") if rest[3..].trim_start().starts_with("null") => Some("write `is not null`"),
        _ => call(line, next, rest),
    }
}

fn starts_value(rest: &str) -> bool {
    rest.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '\'' | '"'))
}

/// A hint for signs that are operators elsewhere.
fn sign(line: &str, rest: &str) -> Option<&'static str> {
    if line.ends_with("<=") && rest.starts_with('>') {
        return Some("`==` compares null with null, too");
    }
    if line.ends_with('-') && rest.starts_with('>') {
        return Some("a member is reached by a dot: `a.b`");
    }
    if rest.starts_with(":=") {
        return Some("a variable is bound by `=`");
    }
    if rest.starts_with('?') && is_in_select(line) {
        return Some("a choice is `case when a then b else c end`, or `if(a, b, c)`");
    }
    if rest.starts_with('!') && !rest.starts_with("!=") && is_in_select(line) {
        return Some("a test is turned around by `not`");
    }
    if rest.starts_with(')')
        && line.ends_with('(')
        && last_word(line[..line.len() - 1].trim_end()) == "in"
    {
        return Some("a list of values has at least one; a variable may hold an empty list");
    }
    ['\'', '"']
        .iter()
        .any(|quote| rest.starts_with(*quote) && line.ends_with(*quote))
        .then_some("a quote inside of a text stands between the other kind of quotes")
}

/// A hint for the call or brackets that `line` is in.
fn call(line: &str, next: &str, rest: &str) -> Option<&'static str> {
    let open = line.rfind('(')?;
    let head = last_word(line[..open].trim_end());
    let is_separated =
        matches!(next, "as" | "from" | "in" | "for" | "both" | "leading" | "trailing");
    let is_closed = line.ends_with(')');
    let is_query = line[open..].contains("select");
    let (_, hint) = CALLS.iter().find(|(name, _)| *name == head)?;
    let fits = match head {
        "any" | "some" => is_query,
        "on" => is_closed && !rest.is_empty() && line[..open].trim_end().ends_with("distinct on"),
        _ => is_separated && !is_closed,
    };
    fits.then_some(*hint)
}

/// A hint for a column whose alias lacks its `as`.
pub(super) fn alias(line: &str, previous: &str, next: &str) -> Option<&'static str> {
    let columns = &line[line.rfind("select ")?..];
    let is_among_columns = !columns.contains(" from ");
    let is_name = |word: &str| !word.is_empty() && word != "select" && word != "distinct";
    (is_among_columns && is_name(previous) && is_name(next))
        .then_some("a column gets a name by `as`: `a as b`")
}

fn is_in_select(line: &str) -> bool {
    line.contains("select")
}
