//! Words of the command line: times, lists, switches.

use std::{path::PathBuf, time::Duration};

use qlio_bench::{BenchError, data::scenario::Scenario, limits};

/// The executable that serves upstream and gateway: this one.
pub(super) fn executable() -> Result<PathBuf, BenchError> {
    std::env::current_exe()
        .map_err(|error| BenchError::Usage(format!("cannot find the own executable: {error}")))
}

/// A time: `250ms`, `5s`, `2m`, `1h`; a bare number means seconds.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let digits = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let factor = match &text[digits.len()..] {
        "ms" => 0.001,
        "" | "s" => 1.0,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("write a time as `250ms`, `5s`, `2m` or `1h`".to_owned()),
    };
    let number: f64 =
        digits.parse().map_err(|_| "write a time as `250ms`, `5s`, `2m` or `1h`".to_owned())?;
    let seconds = number * factor;
    if !(0.0..=limits::DURATION_MAX.as_secs_f64()).contains(&seconds) {
        let hours = limits::DURATION_MAX.as_secs() / 3600;
        return Err(format!("a time is at most {hours} hours"));
    }
    Ok(Duration::from_secs_f64(seconds))
}

/// `on` or `off`.
pub(super) fn switch(text: &str) -> Result<bool, String> {
    match text {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err("write `on` or `off`".to_owned()),
    }
}

/// `A`, `B`, `C` or `D`.
pub(super) fn scenario(text: &str) -> Result<Scenario, String> {
    let found = Scenario::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(text));
    found.ok_or_else(|| "there are the scenarios A, B, C and D".to_owned())
}

/// A count of threads or users.
pub(super) fn count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(number) if number <= limits::USERS_MAX => Ok(number),
        Ok(_) => Err(format!("it must be at most {}", limits::USERS_MAX)),
        Err(_) => Err("it is no whole number".to_owned()),
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
            assert_eq!(time(text), Ok(Duration::from_millis(milliseconds)), "{text}");
        }
        assert_eq!(time("0.5s"), Ok(Duration::from_millis(500)));
        for bad in ["", "s", "5 s", "-1s", "5d", "NaN", "inf", "25h", "1e99s"] {
            assert!(time(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn words_are_understood() {
        assert_eq!((switch("on"), switch("off")), (Ok(true), Ok(false)));
        assert!(switch("yes").is_err());
        assert_eq!(scenario("d"), Ok(Scenario::D));
        assert!(scenario("E").is_err());
        assert!(count("0").is_err() && count("x").is_err() && count("10001").is_err());
        assert_eq!(count("10000"), Ok(10_000));
    }
}
