//! Words of the command line: times, lists, switches.

use std::{path::PathBuf, time::Duration};

use anyhow::{Context, bail, ensure};
use qlio_bench::{BenchError, data::scenario::Scenario, limits};

/// What is told of a text that is no time.
const TIME_ADVICE: &str = "write a time as `250ms`, `5s`, `2m` or `1h`";

/// The executable that serves upstream and gateway: this one.
pub(super) fn executable() -> Result<PathBuf, BenchError> {
    std::env::current_exe()
        .map_err(|error| BenchError::Usage(format!("cannot find the own executable: {error}")))
}

/// A time: `250ms`, `5s`, `2m`, `1h`; a bare number means seconds.
pub(super) fn time(text: &str) -> anyhow::Result<Duration> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => bail!(TIME_ADVICE),
    };
    let seconds = digits.parse::<f64>().ok().context(TIME_ADVICE)? * factor;
    ensure!(
        (0.0..=limits::DURATION_MAX.as_secs_f64()).contains(&seconds),
        "a time is at most {} hours",
        limits::DURATION_MAX.as_secs() / 3600
    );
    Ok(Duration::from_secs_f64(seconds))
}

/// `on` or `off`.
pub(super) fn switch(text: &str) -> anyhow::Result<bool> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => bail!("write `on` or `off`"),
    }
}

/// `A`, `B`, `C` or `D`.
pub(super) fn scenario(text: &str) -> anyhow::Result<Scenario> {
    let found = Scenario::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text));
    found.context("there are the scenarios A, B, C and D")
}

/// A count of threads or users.
pub(super) fn count(text: &str) -> anyhow::Result<usize> {
    match text.parse() {
        Ok(0) => bail!("it must be at least 1"),
        Ok(number) if number <= limits::USERS_MAX => Ok(number),
        Ok(_) => bail!("it must be at most {}", limits::USERS_MAX),
        Err(_) => bail!("it is no whole number"),
    }
}

/// A list of limited length.
pub(super) fn bounded<T: Clone>(what: &str, list: &[T]) -> Result<Vec<T>, BenchError> {
    if list.len() > limits::LIST_MAX {
        let max = limits::LIST_MAX;
        return Err(BenchError::Usage(format!("`{what}` takes at most {max} entries")));
    }
    Ok(list.to_vec())
}

/// Threads of this machine.
pub(super) fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, Into::into)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let cases =
            [("250ms", 250), ("5s", 5_000), ("2m", 120_000), ("1h", 3_600_000), ("3", 3_000)];
        for (text, milliseconds) in cases {
            assert_eq!(time(text).unwrap(), Duration::from_millis(milliseconds), "{text}");
        }
        assert_eq!(time("0.5s").unwrap(), Duration::from_millis(500));
        for bad in ["", "s", "5 s", "-1s", "5d", "NaN", "inf", "25h", "1e99s"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_are_understood() {
        assert!(switch("on").unwrap() && !switch("off").unwrap());
        assert!(switch("yes").is_err());
        assert_eq!(scenario("d").unwrap(), Scenario::D);
        assert!(scenario("E").is_err());
        assert!(count("0").is_err() && count("x").is_err() && count("10001").is_err());
        assert_eq!(count("10000").unwrap(), 10_000);
    }
}
