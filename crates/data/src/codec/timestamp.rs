//! Moments as RFC 3339 text in UTC, for the binary formats.
//!
//! A calendar library would take its place, not shorten it: the JSON form of Protobuf prints 0, 3, 6 or 9
//! decimals and reads nothing but RFC 3339, and both are most of what is here. Dates as values of the language
//! would be another matter.
//!
//! Days are counted in eras of 400 years that start in March, so that the leap day is the last day
//! of its year and no table of months is needed.

/// 0001-01-01T00:00:00Z, and one past 9999-12-31T23:59:59Z.
const SECONDS_MIN: i64 = -62_135_596_800;
const SECONDS_END: i64 = 253_402_300_800;
const DAY: i64 = 86_400;
/// Days from 0000-03-01 to 1970-01-01.
const EPOCH_DAYS: i64 = 719_468;
const ERA_DAYS: i64 = 146_097;

/// The text of a moment, with 0, 3, 6 or 9 decimals; `None` outside the years 1 to 9999 or if there
/// are more nanoseconds than a second has.
pub(super) fn print(seconds: i64, nanos: u32) -> Option<String> {
    if !(SECONDS_MIN..SECONDS_END).contains(&seconds) || nanos >= 1_000_000_000 {
        return None;
    }
    let (year, month, day) = civil(seconds.div_euclid(DAY));
    let second = seconds.rem_euclid(DAY);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let decimals = decimals(nanos);
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}{decimals}Z"))
}

/// Nanoseconds as `.123`, `.123456` or `.123456789`; nothing for none.
pub(super) fn decimals(nanos: u32) -> String {
    match nanos {
        0 => String::new(),
        _ if nanos.is_multiple_of(1_000_000) => format!(".{:03}", nanos / 1_000_000),
        _ if nanos.is_multiple_of(1000) => format!(".{:06}", nanos / 1000),
        _ => format!(".{nanos:09}"),
    }
}

/// Reads RFC 3339 text with any offset; at most nine decimals.
#[cfg(any(feature = "protobuf", test))]
pub(super) fn read(text: &str) -> Option<(i64, u32)> {
    let (date, rest) = text.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let (time, rest) = rest.split_at_checked(8)?;
    let [year, month, day] = numbers(date, '-', [4, 2, 2])?;
    let [hour, minute, second] = numbers(time, ':', [2, 2, 2])?;
    let (nanos, zone) = match rest.strip_prefix('.') {
        Some(fraction) => {
            let end = fraction.find(|c: char| !c.is_ascii_digit())?;
            (read_decimals(&fraction[..end])?, &fraction[end..])
        }
        None => (0, rest),
    };
    let offset = match zone {
        "Z" | "z" => 0,
        _ => {
            let sign = match zone.as_bytes().first()? {
                b'+' => 1,
                b'-' => -1,
                _ => return None,
            };
            let [hours, minutes] = numbers(&zone[1..], ':', [2, 2])?;
            let is_valid = hours < 24 && minutes < 60;
            is_valid.then_some(sign * (hours * 3600 + minutes * 60))?
        }
    };
    let is_time = hour < 24 && minute < 60 && second < 60;
    let days = days(year, month, day)?;
    let seconds = days * DAY + hour * 3600 + minute * 60 + second - offset;
    (is_time && (SECONDS_MIN..SECONDS_END).contains(&seconds)).then_some((seconds, nanos))
}

/// One to nine digits after a decimal point, as nanoseconds.
#[cfg(any(feature = "protobuf", test))]
pub(super) fn read_decimals(digits: &str) -> Option<u32> {
    let is_valid = (1..=9).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
    let value: u32 = is_valid.then(|| digits.parse().ok())??;
    Some(value * 10_u32.pow(9 - digits.len() as u32))
}

#[cfg(any(feature = "protobuf", test))]
fn numbers<const N: usize>(text: &str, separator: char, widths: [usize; N]) -> Option<[i64; N]> {
    let mut out = [0; N];
    let mut parts = text.split(separator);
    for (slot, width) in out.iter_mut().zip(widths) {
        let part = parts.next()?;
        let is_valid = part.len() == width && part.bytes().all(|byte| byte.is_ascii_digit());
        *slot = is_valid.then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(out)
}

fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + EPOCH_DAYS;
    let era = days.div_euclid(ERA_DAYS);
    let day = days.rem_euclid(ERA_DAYS);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let (month, carry) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    (era * 400 + year + carry, month, day)
}

#[cfg(any(feature = "protobuf", test))]
fn days(year: i64, month: i64, day: i64) -> Option<i64> {
    if !(1..=12).contains(&month) || !(1..=31).contains(&day) {
        return None;
    }
    let shifted = if month > 2 { year } else { year - 1 };
    let (era, of_era) = (shifted.div_euclid(400), shifted.rem_euclid(400));
    let month_from_march = (month + 9) % 12;
    let of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let days = era * ERA_DAYS + of_era * 365 + of_era / 4 - of_era / 100 + of_year - EPOCH_DAYS;
    // A day that the month does not have comes back as another date.
    (civil(days) == (year, month, day)).then_some(days)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn moments_print_as_dates() {
        for (seconds, nanos, text) in [
            (0, 0, "1970-01-01T00:00:00Z"),
            (951_782_400, 0, "2000-02-29T00:00:00Z"),
            (-1, 999_000_000, "1969-12-31T23:59:59.999Z"),
            (1_340_326_276, 538_000, "2012-06-22T00:51:16.000538Z"),
            (SECONDS_MIN, 1, "0001-01-01T00:00:00.000000001Z"),
            (SECONDS_END - 1, 0, "9999-12-31T23:59:59Z"),
        ] {
            assert_eq!(print(seconds, nanos).as_deref(), Some(text));
            assert_eq!(read(text), Some((seconds, nanos)));
        }
        assert_eq!(print(SECONDS_END, 0), None);
        assert_eq!(print(SECONDS_MIN - 1, 0), None);
        assert_eq!(print(0, 1_000_000_000), None);
    }

    #[test]
    fn offsets_and_fractions_are_read() {
        assert_eq!(read("1970-01-01T01:00:00.5+01:00"), Some((0, 500_000_000)));
        assert_eq!(read("1969-12-31T23:30:00-00:30"), Some((0, 0)));
        for text in [
            "",
            "1970-01-01",
            "1970-01-01T00:00:00",
            "1970-13-01T00:00:00Z",
            "1970-02-29T00:00:00Z",
            "1970-01-01T24:00:00Z",
            "1970-01-01T00:00:00.Z",
            "1970-01-01T00:00:00.1234567890Z",
            "1970-01-01T00:00:00+1:00",
            "1970-01-01T00:00:00é",
            "0000-01-01T00:00:00Z",
            "+970-01-01T00:00:00Z",
            "1970-01-00T00:00:00Z",
        ] {
            assert_eq!(read(text), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn reading_undoes_printing(seconds in SECONDS_MIN..SECONDS_END, nanos in 0..1_000_000_000_u32) {
            prop_assert_eq!(read(&print(seconds, nanos).unwrap()), Some((seconds, nanos)));
        }

        #[test]
        fn no_text_panics(text in "[0-9TZ:.+é-]{0,32}") {
            let _ = read(&text);
        }
    }
}
