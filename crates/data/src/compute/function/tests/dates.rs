//! Dates: all forms that are read, zones, and what is no date.

use super::*;

fn text_of(example: &str) -> String {
    let computed = Calls::evaluate(example).unwrap_or_else(|error| panic!("{example}: {error}"));
    json::to_string(&computed).trim_matches('"').to_owned()
}

#[test]
fn every_known_form_is_read() {
    for (text, moment) in [
        ("2026-05-17T10:20:30Z", "2026-05-17T10:20:30Z"),
        (" 2026-05-17t10:20:30.123456789z ", "2026-05-17T10:20:30.123456789Z"),
        ("2026-05-17 10:20:30+00:00", "2026-05-17T10:20:30Z"),
        ("2026-05-17T10:20-03:30", "2026-05-17T13:50:00Z"),
        ("2026-05-17T10:20:30", "2026-05-17T10:20:30Z"),
        ("20260517T102030Z", "2026-05-17T10:20:30Z"),
        ("20260517", "2026-05-17T00:00:00Z"),
        ("2026-05-17T10:20:30+02:00[Europe/Berlin]", "2026-05-17T08:20:30Z"),
        ("2026-01-17T10:20:30[Europe/Berlin]", "2026-01-17T09:20:30Z"),
        ("1779013230", "2026-05-17T10:20:30Z"),
        ("1779013230.25", "2026-05-17T10:20:30.25Z"),
        ("1779013230250", "2026-05-17T10:20:30.25Z"),
        ("Sunday, 06-Nov-94 08:49:37 GMT", "1994-11-06T08:49:37Z"),
        ("Sun Nov  6 08:49:37 1994", "1994-11-06T08:49:37Z"),
        ("Sun, 17 May 2026 12:20:30 +0200", "2026-05-17T10:20:30Z"),
        ("17 May 2026 12:20 +0200", "2026-05-17T10:20:00Z"),
    ] {
        assert_eq!(call("timestamp", &[text.into()]).unwrap(), moment.into(), "{text}");
    }
    for (number, moment) in [
        ("0", "1970-01-01T00:00:00Z"),
        ("-1", "1969-12-31T23:59:59Z"),
        ("-0.5", "1969-12-31T23:59:59.5Z"),
        ("99999999999", "5138-11-16T09:46:39Z"),
        ("-100000000000", "1966-10-31T14:13:20Z"),
    ] {
        assert_eq!(call("timestamp", &[value(number)]).unwrap(), moment.into(), "{number}");
    }
}

#[test]
fn what_is_no_date_is_named() {
    for argument in [
        "\"soon\"",
        "\"\"",
        "\"2026\"",
        "\"2026-13-01\"",
        "\"2026-02-29\"",
        "\"2026-05-17T25:00:00Z\"",
        "\"10:20\"",
        "true",
        "[]",
        "1e20",
        "\"99999999999999999999\"",
        "\"2026-05-17T10:20:30[Nowhere/None]\"",
    ] {
        let error = call("timestamp", &[value(argument)]).unwrap_err();
        assert!(error.to_string().contains("is not a date or a time"), "{argument}: {error}");
    }
    for (example, position, message) in [
        ("date_trunc('decade', '2026-05-17')", 0, "the text \"decade\" is not 'year'"),
        ("date_trunc('day', 'x')", 1, "the text \"x\" is not a date or a time"),
        ("date_diff('day', '2026-05-17', 'x')", 2, "the text \"x\" is not a date or a time"),
        ("date_add('2026-05-17', '1 apple')", 1, "is not a duration as in 'P1DT2H'"),
        ("at_zone('2026-05-17', 'Berlin')", 1, "there is no zone \"Berlin\""),
        ("format_date('2026-05-17', '%')", 1, "the pattern `%`: "),
        ("parse_date('x', '%Y')", 0, "the text \"x\" does not fit `%Y`: "),
        ("parse_date('10', '%d')", 0, "does not fit `%d`: "),
    ] {
        let error = Calls::evaluate(example).expect_err(example);
        assert!(error.to_string().contains(message), "{example}: {error}");
        assert_eq!(error.position(), Some(position), "{example}");
    }
    for example in [
        "date_add('2026-05-17', 'P19000Y')",
        "date_add('9999-12-31', 'P1D')",
        "date_add('2026-05-17T00:00:00Z', '-P13000Y')",
    ] {
        let error = Calls::evaluate(example).expect_err(example);
        assert!(matches!(error, ComputeError::OutOfRange { .. }), "{example}: {error}");
    }
    let long = Value::from("%Y".repeat(1000));
    let error = call("format_date", &[Value::int(0), long.clone()]).unwrap_err();
    assert!(error.to_string().contains("date_text_bytes_max"), "{error}");
    assert!(call("parse_date", &["2026".into(), long.clone()]).is_err());
    assert!(call("date_add", &[Value::int(0), long.clone()]).is_err());
    assert!(call("at_zone", &[Value::int(0), long.clone()]).is_err());
    assert!(call("date", &[long]).is_err());
}

#[test]
fn zones_know_summer_and_hours_that_come_twice() {
    for (example, text) in [
        ("at_zone('2026-01-17T10:00:00Z', 'Europe/Berlin')", "2026-01-17T11:00:00+01:00"),
        ("at_zone('2026-07-17T10:00:00Z', 'Europe/Berlin')", "2026-07-17T12:00:00+02:00"),
        ("at_zone('2026-07-17T10:00:00+02:00', 'UTC')", "2026-07-17T08:00:00Z"),
        ("hour(at_zone('2026-07-17T10:00:00Z', 'Asia/Kolkata'))", "15"),
        // 2:30 comes twice on that day.
        (
            "date_trunc('hour', '2026-10-25T00:30:00Z', 'Europe/Berlin')",
            "2026-10-25T02:00:00+02:00",
        ),
        (
            "date_trunc('hour', '2026-10-25T01:30:00Z', 'Europe/Berlin')",
            "2026-10-25T02:00:00+01:00",
        ),
        (
            "date_trunc('month', '2026-03-31T23:30:00Z', 'Europe/Berlin')",
            "2026-04-01T00:00:00+02:00",
        ),
        ("date_trunc('quarter', '2026-05-17')", "2026-04-01"),
        ("date_trunc('week', '2026-05-17')", "2026-05-11"),
        ("date_trunc('year', '2026-05-17T10:00:00-05:00')", "2026-01-01T00:00:00-05:00"),
        ("date_trunc('second', '1969-12-31T23:59:59.5Z')", "1969-12-31T23:59:59Z"),
        ("date_trunc('hour', '2026-05-17')", "2026-05-17"),
        ("date_add('2026-05-17', 'PT1H')", "2026-05-17T01:00:00Z"),
        ("date_add('2024-02-29', 'P1Y')", "2025-02-28"),
        ("date_add('2026-05-17T10:00:00+02:00', 'P1M')", "2026-06-17T10:00:00+02:00"),
        ("date_diff('year', '2020-02-29', '2026-02-27')", "5"),
        // As many as `date_add` adds to get there.
        ("date_diff('month', '2026-01-31', '2026-02-28')", "1"),
        ("date_diff('quarter', '2026-01-01', '2026-12-31')", "3"),
        ("date_diff('week', '2026-05-17', '2026-05-01')", "-2"),
        ("date_diff('millisecond', 0, 1.5)", "1500"),
        ("parse_date('2026-05-17 10:20 +0200', '%Y-%m-%d %H:%M %z')", "2026-05-17T10:20:00+02:00"),
        (
            "format_date('2026-05-17T22:30:00Z', '%Y-%m-%dT%H:%M:%S%:z', '+02:00')",
            "2026-05-18T00:30:00+02:00",
        ),
        ("now()", "2026-05-17T10:20:30.5Z"),
        ("today()", "2026-05-17"),
        ("today('Pacific/Kiritimati')", "2026-05-18"),
    ] {
        assert_eq!(text_of(example), text, "{example}");
    }
}

proptest! {
    #[test]
    fn a_moment_is_read_as_it_is_written(second in -377_705_000_000..253_402_000_000_i64, nanosecond in 0..1_000_000_000_u32, minutes in -1439..1440_i32) {
        let number = value(&format!("{second}"));
        prop_assume!(second.unsigned_abs() < 100_000_000_000);
        let text = call("timestamp", std::slice::from_ref(&number)).unwrap();
        prop_assert_eq!(&call("timestamp", std::slice::from_ref(&text)).unwrap(), &text);
        prop_assert_eq!(&call("epoch", std::slice::from_ref(&text)).unwrap(), &number);
        let sign = if minutes < 0 { '-' } else { '+' };
        let zone = Value::from(format!("{sign}{:02}:{:02}", minutes.abs() / 60, minutes.abs() % 60));
        if let Ok(local) = call("at_zone", &[text.clone(), zone]) {
            prop_assert_eq!(&call("epoch", &[local]).unwrap(), &number);
        }
        let (date, time) = (call("date", std::slice::from_ref(&text)).unwrap(), call("time", &[text]).unwrap());
        let joined = format!("{}T{}Z", date.as_str().unwrap(), time.as_str().unwrap());
        prop_assert_eq!(call("epoch", &[joined.into()]).unwrap(), number);
        let moment = format!("2026-05-17T10:20:30.{nanosecond:09}Z");
        let fine = call("epoch", &[moment.into()]).unwrap();
        let back = call("timestamp", &[fine]).unwrap();
        let fraction = format!("2026-05-17T10:20:30.{nanosecond:09}");
        let expected = format!("{}Z", fraction.trim_end_matches('0').trim_end_matches('.'));
        prop_assert_eq!(back.as_str().unwrap(), expected);
    }

    #[test]
    fn whole_units_added_back_do_not_pass_the_end(from in -60_000_000_000..60_000_000_000_i64, to in -60_000_000_000..60_000_000_000_i64) {
        let [a, b] = [from, to].map(|second| call("timestamp", &[Value::int(second)]).unwrap());
        for (part, unit) in [("day", "D"), ("week", "W"), ("month", "M"), ("year", "Y")] {
            let count = call("date_diff", &[part.into(), a.clone(), b.clone()]).unwrap();
            let count: i64 = count.scalar_text().unwrap().parse().unwrap();
            let sign = if count < 0 { "-" } else { "" };
            let duration = format!("{sign}P{}{unit}", count.abs());
            let there = call("date_add", &[a.clone(), duration.into()]).unwrap();
            let there: i64 = call("epoch", &[there]).unwrap().scalar_text().unwrap().parse().unwrap();
            prop_assert!(if from <= to { there <= to } else { there >= to }, "{part}");
        }
    }
}
