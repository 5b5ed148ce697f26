//! `qlio explain`: the page of a diagnostic code.

use anyhow::Context;
use clap::Args;
use qlio_syntax::{
    diagnostic::{Code, codes},
    spelling::closest,
};

use super::{Exit, Failure, report};

/// The pages of `docs/errors` by their names, such as `Q2003-unknown-table`.
const PAGES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/pages.rs"));

#[derive(Debug, Args)]
pub(super) struct ExplainArgs {
    /// The code or its name, such as `Q2003` or `unknown-table`.
    #[arg(value_name = "CODE")]
    code: String,
}

pub(super) fn explain(args: &ExplainArgs) -> Result<Exit, Failure> {
    report::raw(page_of(&args.code)?);
    Ok(Exit::Success)
}

/// The page of a code; none is missing, as a test of the pages says.
pub(super) fn page(code: Code) -> Option<&'static str> {
    let name = format!("{}-{}", number(code), code.slug);
    PAGES.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// The number of a code as people write it.
pub(super) fn number(code: Code) -> String {
    format!("Q{:04}", code.number)
}

/// The page of what somebody calls a code.
fn page_of(asked: &str) -> anyhow::Result<&'static str> {
    let numbers: Vec<String> = codes::ALL.iter().map(|code| number(*code)).collect();
    let slugs = codes::ALL.iter().map(|code| code.slug);
    // A code may be pasted as messages have it: `Q2003 unknown-table`.
    let word = asked.split_whitespace().next().unwrap_or_default();
    let is_asked = |code: &&Code| {
        let number = number(**code);
        word.eq_ignore_ascii_case(&number) || word == &number[1..] || word == code.slug
    };
    let found = codes::ALL.iter().find(is_asked).and_then(|code| page(*code));
    found.with_context(|| {
        let upper = word.to_ascii_uppercase();
        let meant = closest(&upper, numbers.iter().map(String::as_str));
        let advice = match meant.or_else(|| closest(word, slugs)) {
            Some(meant) => format!("; did you mean `{meant}`?"),
            None => ": codes look like `Q2003`, with a name like `unknown-table`".to_owned(),
        };
        format!("there is no code `{asked}`{advice}")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_its_page_under_number_and_name() {
        for code in codes::ALL {
            let number = number(*code);
            let text = page(*code).unwrap();
            assert!(text.starts_with(&format!("# {number} {}\n", code.slug)), "{number}");
            for asked in [&*number, &number.to_lowercase(), &number[1..], code.slug] {
                assert_eq!(page_of(asked).unwrap(), text, "{asked}");
            }
            assert_eq!(page_of(&code.to_string()).unwrap(), text);
        }
    }

    #[test]
    fn an_unknown_code_suggests_the_nearest() {
        for (asked, meant) in [("Q203", "Q2003"), ("unknwn-table", "unknown-table")] {
            let expected = format!("there is no code `{asked}`; did you mean `{meant}`?");
            assert_eq!(page_of(asked).unwrap_err().to_string(), expected);
        }
        for asked in ["", "elephant"] {
            let error = page_of(asked).unwrap_err().to_string();
            assert!(error.contains("codes look like `Q2003`"), "{asked}");
        }
    }
}
