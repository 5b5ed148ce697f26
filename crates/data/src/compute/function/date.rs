//! Dates and times. They are texts of ISO 8601: `2026-05-17`, `2026-05-17T10:20:30Z`. Parts of them
//! are those that are written, in their own offset; what has no offset is in UTC.

use jiff::{
    RoundMode, Timestamp, ToSpan as _, Unit, ZonedDateTime,
    civil::{DateTime, DateTimeDifference},
    tz::TimeZone,
};

use super::{
    Function, Group, Trial, Volatility, argument, function,
    moment::{self, Moment},
    with_trial,
};
use crate::{
    Value,
    compute::{ComputeError, Decimal, kind::clip},
};

pub(super) const GROUP: Group = Group { title: "Dates and times", functions: &FUNCTIONS };

const NANOSECONDS: i128 = 1_000_000_000;

/// Any moment, where only patterns, zones and parts are looked at.
const MOMENT: &str = "2026-05-17T10:20:30Z";

const FUNCTIONS: [Function; 20] = [
    function(
        "timestamp",
        "timestamp(x)",
        "The moment in UTC. Read are ISO 8601, RFC 3339, dates of HTTP and of mails, and numbers of seconds \
         or milliseconds since 1970.",
        &[
            ("timestamp('2026-05-17T12:20:30+02:00')", "\"2026-05-17T10:20:30Z\""),
            ("timestamp('Sun, 06 Nov 1994 08:49:37 GMT')", "\"1994-11-06T08:49:37Z\""),
            ("timestamp(1779013230)", "\"2026-05-17T10:20:30Z\""),
            ("timestamp(1779013230500)", "\"2026-05-17T10:20:30.5Z\""),
            ("timestamp('2026-05-17')", "\"2026-05-17T00:00:00Z\""),
        ],
        |_, arguments| {
            let instant = instant(arguments, 0)?;
            Ok(printed(&Moment::Instant(instant.with_time_zone(TimeZone::UTC))))
        },
    ),
    function(
        "date",
        "date(x)",
        "The date, as written.",
        &[("date('2026-05-17T23:00:00-05:00')", "\"2026-05-17\""), ("date(0)", "\"1970-01-01\"")],
        |_, arguments| Ok(civil(arguments)?.date().to_string().into()),
    ),
    function(
        "time",
        "time(x)",
        "The time of the day, as written.",
        &[
            ("time('2026-05-17T10:20:30.25Z')", "\"10:20:30.25\""),
            ("time('2026-05-17')", "\"00:00:00\""),
        ],
        |_, arguments| Ok(civil(arguments)?.time().to_string().into()),
    ),
    function("year", "year(x)", "The year.", &[("year('2026-05-17')", "2026")], |_, arguments| {
        Ok(Value::int(civil(arguments)?.year().into()))
    }),
    function(
        "month",
        "month(x)",
        "The month, from 1 to 12.",
        &[("month('2026-05-17')", "5")],
        |_, arguments| Ok(Value::int(civil(arguments)?.month().into())),
    ),
    function(
        "day",
        "day(x)",
        "The day of the month.",
        &[("day('2026-05-17T10:20:30Z')", "17")],
        |_, arguments| Ok(Value::int(civil(arguments)?.day().into())),
    ),
    function(
        "hour",
        "hour(x)",
        "The hour, from 0 to 23.",
        &[("hour('2026-05-17T10:20:30+02:00')", "10")],
        |_, arguments| Ok(Value::int(civil(arguments)?.hour().into())),
    ),
    function(
        "minute",
        "minute(x)",
        "The minute.",
        &[("minute('2026-05-17T10:20:30Z')", "20")],
        |_, arguments| Ok(Value::int(civil(arguments)?.minute().into())),
    ),
    function(
        "second",
        "second(x)",
        "The second, without its fraction.",
        &[("second('2026-05-17T10:20:30.9Z')", "30")],
        |_, arguments| Ok(Value::int(civil(arguments)?.second().into())),
    ),
    function(
        "weekday",
        "weekday(x)",
        "The day of the week, from 1 for Monday to 7.",
        &[("weekday('2026-05-17')", "7")],
        |_, arguments| Ok(Value::int(civil(arguments)?.weekday().to_monday_one_offset().into())),
    ),
    function(
        "week",
        "week(x)",
        "The week of the year after ISO 8601.",
        &[("week('2026-01-01')", "1"), ("week('2027-01-01')", "53")],
        |_, arguments| Ok(Value::int(civil(arguments)?.iso_week_date().week().into())),
    ),
    with_trial(
        function(
            "date_trunc",
            "date_trunc(part, x[, zone])",
            "The beginning of the `year`, `quarter`, `month`, `week`, `day`, `hour`, `minute` or `second`, in \
             a zone if one is given. Of a date it is a date.",
            &[
                ("date_trunc('month', '2026-05-17')", "\"2026-05-01\""),
                ("date_trunc('hour', '2026-05-17T10:20:30Z')", "\"2026-05-17T10:00:00Z\""),
                (
                    "date_trunc('day', '2026-05-16T22:30:00Z', 'Europe/Berlin')",
                    "\"2026-05-17T00:00:00+02:00\"",
                ),
            ],
            |_, arguments| truncate(arguments),
        ),
        MOMENT,
        &[1],
    ),
    with_trial(
        function(
            "date_add",
            "date_add(x, duration)",
            "The moment so much later; earlier if the duration has a minus. Durations are those of ISO 8601. \
             A month has its last day where it lacks one.",
            &[
                ("date_add('2026-01-31', 'P1M')", "\"2026-02-28\""),
                ("date_add('2026-05-17T10:20:30Z', 'P1DT2H')", "\"2026-05-18T12:20:30Z\""),
                ("date_add('2026-05-17', '-P1W')", "\"2026-05-10\""),
            ],
            |_, arguments| add(arguments),
        ),
        MOMENT,
        &[0],
    ),
    with_trial(
        function(
            "date_diff",
            "date_diff(part, a, b)",
            "How many whole years, quarters, months, weeks, days, hours, minutes, seconds or milliseconds lie \
             from `a` to `b`. The part is in the singular.",
            &[
                ("date_diff('day', '2026-05-01', '2026-05-17')", "16"),
                ("date_diff('month', '2026-01-31', '2026-02-27')", "0"),
                ("date_diff('hour', '2026-05-17T10:00:00Z', '2026-05-17T08:30:00Z')", "-1"),
            ],
            |_, arguments| difference(arguments),
        ),
        MOMENT,
        &[1, 2],
    ),
    with_trial(
        function(
            "at_zone",
            "at_zone(x, zone)",
            "The same moment with the offset of a zone.",
            &[
                (
                    "at_zone('2026-05-17T10:20:30Z', 'Europe/Berlin')",
                    "\"2026-05-17T12:20:30+02:00\"",
                ),
                ("at_zone('2026-05-17T10:20:30Z', '-03:30')", "\"2026-05-17T06:50:30-03:30\""),
            ],
            |_, arguments| {
                let instant = instant(arguments, 0)?;
                Ok(printed(&Moment::Instant(instant.with_time_zone(zone(arguments, 1)?))))
            },
        ),
        MOMENT,
        &[0],
    ),
    function(
        "epoch",
        "epoch(x)",
        "The seconds since 1970.",
        &[
            ("epoch('2026-05-17T10:20:30.5Z')", "1779013230.5"),
            ("epoch('1969-12-31T23:59:59Z')", "-1"),
        ],
        |_, arguments| {
            let nanoseconds = instant(arguments, 0)?.timestamp().as_nanosecond();
            let text = format!("{nanoseconds}e-9");
            let seconds = Decimal::read(&text).and_then(Result::ok);
            Ok(seconds.map_or(Value::Null, Value::from))
        },
    ),
    with_trial(
        function(
            "format_date",
            "format_date(x, pattern[, zone])",
            "The moment by a pattern with the letters of `strftime`, in a zone if one is given.",
            &[
                ("format_date('2026-05-17', '%d.%m.%Y')", "\"17.05.2026\""),
                (
                    "format_date('2026-05-17T22:30:00Z', '%A %H:%M', 'Asia/Tokyo')",
                    "\"Monday 07:30\"",
                ),
            ],
            |_, arguments| {
                let mut instant = instant(arguments, 0)?;
                if arguments.len() > 2 {
                    instant = instant.with_time_zone(zone(arguments, 2)?);
                }
                let pattern = argument::text(arguments, 1)?;
                moment::to_pattern(&pattern, &instant)
                    .map(Value::from)
                    .map_err(|reason| bad_pattern(1, &pattern, &reason))
            },
        ),
        MOMENT,
        &[0],
    ),
    with_trial(
        function(
            "parse_date",
            "parse_date(x, pattern)",
            "The moment that a text has by such a pattern; a date if the pattern has no time.",
            &[
                ("parse_date('17.05.2026', '%d.%m.%Y')", "\"2026-05-17\""),
                ("parse_date('5/17/26 2:05 PM', '%m/%d/%y %I:%M %p')", "\"2026-05-17T14:05:00Z\""),
            ],
            |_, arguments| {
                let (text, pattern) =
                    (argument::text(arguments, 0)?, argument::text(arguments, 1)?);
                moment::of_pattern(&pattern, &text).map(|moment| printed(&moment)).map_err(
                    |reason| {
                        if let Err(reason) = moment::check_pattern(&pattern) {
                            return bad_pattern(1, &pattern, &reason);
                        }
                        let text = clip(&text);
                        let reason = format!(
                            "the text \"{text}\" does not fit `{}`: {reason}",
                            clip(&pattern)
                        );
                        ComputeError::invalid(0, reason)
                    },
                )
            },
        ),
        MOMENT,
        &[0],
    ),
    Function {
        volatility: Volatility::Request,
        ..function(
            "now",
            "now()",
            "The moment at which the request began, to the millisecond.",
            &[("typeof(now())", "\"text\"")],
            |context, _| {
                let (second, nanosecond) = context.now();
                let moment = Moment::of_second(second, nanosecond / 1_000_000 * 1_000_000);
                moment.map(|moment| printed(&moment)).ok_or_else(beyond)
            },
        )
    },
    Function {
        volatility: Volatility::Request,
        trial: Some(Trial { text: MOMENT, positions: &[] }),
        ..function(
            "today",
            "today([zone])",
            "The date at which the request began, in UTC or in a zone.",
            &[("length(today())", "10"), ("length(today('Asia/Tokyo'))", "10")],
            |context, arguments| {
                let (second, nanosecond) = context.now();
                let moment = Moment::of_second(second, nanosecond).and_then(|now| now.instant());
                let mut now = moment.ok_or_else(beyond)?;
                if !arguments.is_empty() {
                    now = now.with_time_zone(zone(arguments, 0)?);
                }
                Ok(now.date().to_string().into())
            },
        )
    },
];

fn printed(moment: &Moment) -> Value {
    moment.text().into()
}

fn instant(arguments: &[Value], position: usize) -> Result<ZonedDateTime, ComputeError> {
    Moment::read(arguments, position)?.instant().ok_or_else(beyond)
}

/// Date and time of the first argument, as written.
fn civil(arguments: &[Value]) -> Result<DateTime, ComputeError> {
    Ok(Moment::read(arguments, 0)?.civil())
}

fn zone(arguments: &[Value], position: usize) -> Result<TimeZone, ComputeError> {
    let name = argument::text(arguments, position)?;
    moment::zone(&name).ok_or_else(|| {
        let reason = format!(
            "there is no zone \"{}\"; zones are called as in `Europe/Berlin`, `UTC` or `+02:00`",
            clip(&name)
        );
        ComputeError::invalid(position, reason)
    })
}

/// A moment outside of the years -9999 to 9999.
fn beyond() -> ComputeError {
    ComputeError::OutOfRange { what: "a date before the year -9999 or after 9999".to_owned() }
}

fn bad_pattern(position: usize, pattern: &str, reason: &impl std::fmt::Display) -> ComputeError {
    ComputeError::invalid(position, format!("the pattern `{}`: {reason}", clip(pattern)))
}

/// A part of a date that something is counted in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    Quarter,
    Month,
    Week,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
}

impl Part {
    fn read(arguments: &[Value]) -> Result<Self, ComputeError> {
        Ok(match argument::text(arguments, 0)?.as_str() {
            "year" => Self::Year,
            "quarter" => Self::Quarter,
            "month" => Self::Month,
            "week" => Self::Week,
            "day" => Self::Day,
            "hour" => Self::Hour,
            "minute" => Self::Minute,
            "second" => Self::Second,
            "millisecond" => Self::Millisecond,
            _ => {
                let wanted = "'year', 'quarter', 'month', 'week', 'day', 'hour', 'minute', 'second' or \
                              'millisecond'";
                return Err(ComputeError::wrong(0, &arguments[0], wanted));
            }
        })
    }

    /// Its length, if all of them are equally long in UTC.
    fn nanoseconds(self) -> Option<i128> {
        Some(match self {
            Self::Year | Self::Quarter | Self::Month => return None,
            Self::Week => 7 * 86_400 * NANOSECONDS,
            Self::Day => 86_400 * NANOSECONDS,
            Self::Hour => 3600 * NANOSECONDS,
            Self::Minute => 60 * NANOSECONDS,
            Self::Second => NANOSECONDS,
            Self::Millisecond => NANOSECONDS / 1000,
        })
    }
}

fn truncate(arguments: &[Value]) -> Result<Value, ComputeError> {
    let part = Part::read(arguments)?;
    let mut moment = Moment::read(arguments, 1)?;
    if arguments.len() > 2 {
        let instant = moment.instant().ok_or_else(beyond)?;
        moment = Moment::Instant(instant.with_time_zone(zone(arguments, 2)?));
    }
    let date = moment.civil().date();
    let first = match part {
        Part::Year => date.first_of_year(),
        Part::Quarter => {
            let month = (date.month() - 1) / 3 * 3 + 1;
            date.with().day(1).month(month).build().map_err(|_| beyond())?
        }
        Part::Month => date.first_of_month(),
        Part::Week => {
            let days = i64::from(date.weekday().to_monday_zero_offset());
            date.checked_sub(days.days()).map_err(|_| beyond())?
        }
        _ => date,
    };
    let truncated = match moment {
        Moment::Date(_) => Moment::Date(first),
        Moment::Instant(instant) => Moment::Instant(match part {
            // By what the clock shows: an hour that comes twice a year begins twice.
            Part::Hour | Part::Minute | Part::Second | Part::Millisecond => {
                let length = part.nanoseconds().unwrap_or(1);
                let offset = i128::from(instant.offset().seconds()) * NANOSECONDS;
                let clock = instant.timestamp().as_nanosecond() + offset;
                let start = clock - clock.rem_euclid(length) - offset;
                let start = Timestamp::from_nanosecond(start).map_err(|_| beyond())?;
                start.to_zoned_datetime(instant.time_zone().clone())
            }
            _ => first
                .at(0, 0, 0, 0)
                .to_zoned_datetime(instant.time_zone().clone())
                .map_err(|_| beyond())?,
        }),
    };
    Ok(printed(&truncated))
}

fn add(arguments: &[Value]) -> Result<Value, ComputeError> {
    let moment = Moment::read(arguments, 0)?;
    let text = argument::text(arguments, 1)?;
    let Some(span) = moment::span(&text) else {
        return Err(ComputeError::wrong(1, &arguments[1], "a duration as in 'P1DT2H'"));
    };
    let has_time = span.get_hours() != 0
        || span.get_minutes() != 0
        || span.get_seconds() != 0
        || span.get_milliseconds() != 0
        || span.get_microseconds() != 0
        || span.get_nanoseconds() != 0;
    let sum = match &moment {
        Moment::Date(date) if !has_time => {
            Moment::Date(date.checked_add(span).map_err(|_| beyond())?)
        }
        _ => {
            let instant = moment.instant().ok_or_else(beyond)?;
            Moment::Instant(instant.checked_add(span).map_err(|_| beyond())?)
        }
    };
    Ok(printed(&sum))
}

fn difference(arguments: &[Value]) -> Result<Value, ComputeError> {
    let part = Part::read(arguments)?;
    let (from, to) = (instant(arguments, 1)?, instant(arguments, 2)?);
    let (from, to) = (from.timestamp(), to.timestamp());
    if let Some(length) = part.nanoseconds() {
        let units = (to.as_nanosecond() - from.as_nanosecond()) / length;
        return Ok(Value::int(i64::try_from(units).map_err(|_| beyond())?));
    }
    let in_utc = |moment: Timestamp| moment.to_zoned_datetime(TimeZone::UTC).datetime();
    let whole = DateTimeDifference::new(in_utc(to))
        .largest(Unit::Month)
        .smallest(Unit::Month)
        .mode(RoundMode::Trunc);
    let months = in_utc(from).until(whole).map_err(|_| beyond())?.get_months();
    Ok(Value::int(
        match part {
            Part::Year => months / 12,
            Part::Quarter => months / 3,
            _ => months,
        }
        .into(),
    ))
}
