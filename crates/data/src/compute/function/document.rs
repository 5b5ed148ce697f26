//! The page of the reference, made from the table.

use std::fmt::Write as _;

use super::{ELEMENTS_MAX, GROUPS, Nulls, list::RANGE_MAX};
use crate::compute::{
    aggregate::{Aggregate, EXAMPLE_ROWS},
    pattern::PATTERN_BYTES_MAX,
    text::TEXT_BYTES_MAX,
};

/// What holds for all functions.
const RULES: &str = "\
# Functions

What expressions may call, beside the functions of modules.
This page is made from the table of functions: `qlio functions >docs/language/reference/functions.md`.

- **FUN-1** A call of a name of this page is a call of its function, unless the script binds the name, above or below, to a module or another variable: then it is a call of that module. Arguments are [expressions](expression.md).
- **FUN-2** A call has as many arguments as the signature says, brackets holding what may be left out, else it is Q2131.
- **FUN-3** Nothing counts as null, and of null the result is null, unless the function is marked by °.
- **FUN-4** Where a text is wanted, a number or a truth value is taken by its text (VAL-5); where a number is wanted, a text that reads as one (VAL-9). Everything else is Q4101, which says what is wrong with which argument.
- **FUN-5** Positions and lengths of texts count characters, from 1.
- **FUN-6** `coalesce` and `if` evaluate only the arguments that they need. `try` gives null for what fails in its argument, but not for what goes over a limit of the run.
- **FUN-7** `now` and `today` are the same within a request; `uuid` is another one for each row.
- **FUN-8** Dates and times are texts of ISO 8601. Their parts are those that are written, in their own offset; without an offset they are in UTC.
- **FUN-9** Regular expressions are those of the [crate regex](https://docs.rs/regex/latest/regex/#syntax): without look-around and back-references, in time linear in the text.
";

/// What is found without a row.
const WRITTEN: &str = "\
- **FUN-11** Arguments that are written down (patterns, zones, parts of dates, durations) are looked at when the script is compiled, also beside arguments that only a row has; within `try` when it runs.
";

/// What shows how a select calls them.
const EXAMPLE: &str = r#"
```ql
tides = [{"port": "Oban", "high": "2026-05-01T06:40:00Z"}, {"port": "kirkwall"}]
return select upper(port) as port, coalesce(hour(high), 'unknown') as hour from tides
```

```json
[{"port": "OBAN", "hour": 6}, {"port": "KIRKWALL", "hour": "unknown"}]
```
"#;

/// `docs/language/reference/functions.md`.
pub fn reference() -> String {
    let mut out = String::from(RULES);
    // Writing to a text never fails.
    let _ = writeln!(
        out,
        "- **FUN-10** A text that a function makes has at most {} MiB, a list {} elements, that of \
         `range` {}; a pattern takes at most {} MiB when compiled. What goes beyond is Q4101.",
        TEXT_BYTES_MAX >> 20,
        grouped(ELEMENTS_MAX),
        grouped(RANGE_MAX),
        PATTERN_BYTES_MAX >> 20,
    );
    out.push_str(WRITTEN);
    out.push_str(EXAMPLE);
    for group in GROUPS {
        let _ = write!(
            out,
            "\n## {}\n\n| Function | Gives | For example |\n| --- | --- | --- |\n",
            group.title
        );
        for function in group.functions {
            let mark = if function.nulls == Nulls::Take { "°" } else { "" };
            let examples = examples(function.examples);
            let row = format!("`{}`{mark} | {} | {examples}", function.signature, function.summary);
            let _ = writeln!(out, "| {row} |");
        }
    }
    write_aggregates(&mut out);
    out
}

/// The section of the aggregates.
fn write_aggregates(out: &mut String) {
    let _ = write!(
        out,
        "\n## Aggregates\n\nThey give one value of all rows of a group, by the rules of \
         [group by](group.md). The examples are about the rows `{EXAMPLE_ROWS}`.\n\n\
         | Aggregate | Gives | For example |\n| --- | --- | --- |\n"
    );
    for aggregate in Aggregate::ALL {
        let described = aggregate.describe();
        let signature = described.signature.replace("), ", ")`, `");
        let examples = examples(aggregate.examples());
        let _ = writeln!(out, "| `{signature}` | {} | {examples} |", described.summary);
    }
}

/// Calls and what they give.
fn examples(examples: &[(&str, &str)]) -> String {
    let shown: Vec<_> =
        examples.iter().map(|(call, result)| format!("`{call}` is `{result}`")).collect();
    shown.join("<br>")
}

/// A number with commas between its thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_page_is_that_of_the_table() {
        let page = include_str!("../../../../../docs/language/reference/functions.md");
        assert_eq!(
            super::reference(),
            page,
            "docs/language/reference/functions.md is stale: qlio functions >docs/language/reference/functions.md"
        );
    }
}
