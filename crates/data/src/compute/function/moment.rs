//! Dates and times as texts: every form that is read, and the forms that are written.

use std::fmt;

use jiff::{
    Timestamp, ZonedDateTime,
    civil::{Date, DateTime, Time},
    fmt::{rfc2822, strtime, temporal},
    tz::{Offset, TimeZone, TimeZoneDatabase},
};

use crate::{
    Value,
    compute::{ComputeError, Decimal, Rounding, number},
};

/// The most bytes of a text that is read as a moment, a duration, a zone or a pattern of these.
const TEXT_BYTES_MAX: usize = 256;

/// Numbers from here on are milliseconds since 1970 and no longer seconds, of which so many are in
/// the year 5138.
const MILLISECONDS_FROM: u64 = 100_000_000_000;

/// A text of digits is a moment in seconds only if it has as many as those since 1973; shorter ones are
/// rather years.
const EPOCH_DIGITS_MIN: usize = 9;

/// The date that old software of the web writes: of RFC 850, and of `asctime`.
const OLD_FORMS: [&str; 2] = ["%A, %d-%b-%y %H:%M:%S GMT", "%a %b %e %H:%M:%S %Y"];

/// A date alone, or a moment with the offset it was written with.
#[derive(Debug, Clone)]
pub(super) enum Moment {
    Date(Date),
    Instant(ZonedDateTime),
}

impl Moment {
    /// Of an argument: a text in a known form, or a number of seconds or milliseconds since 1970.
    pub(super) fn read(arguments: &[Value], position: usize) -> Result<Self, ComputeError> {
        let argument = &arguments[position];
        let moment = match argument {
            Value::Number(_) => {
                let number = number::read(argument).map_err(|error| error.at(position))?;
                number.and_then(of_epoch)
            }
            Value::String(text) => of_text(text.trim()),
            _ => None,
        };
        moment.ok_or_else(|| ComputeError::wrong(position, argument, "a date or a time"))
    }

    pub(super) fn of_second(second: i64, nanosecond: u32) -> Option<Self> {
        let timestamp = Timestamp::new(second, nanosecond.cast_signed()).ok()?;
        Some(Self::Instant(timestamp.to_zoned_datetime(TimeZone::UTC)))
    }

    /// The moment; of a date the midnight in UTC with which it begins.
    pub(super) fn instant(&self) -> Option<ZonedDateTime> {
        match self {
            Self::Instant(instant) => Some(instant.clone()),
            Self::Date(date) => {
                date.to_datetime(Time::midnight()).to_zoned_datetime(TimeZone::UTC).ok()
            }
        }
    }

    /// Date and time as written.
    pub(super) fn civil(&self) -> DateTime {
        match self {
            Self::Instant(instant) => instant.datetime(),
            Self::Date(date) => date.to_datetime(Time::midnight()),
        }
    }

    /// The text: of a moment with `Z` in UTC, else with its offset.
    pub(super) fn text(&self) -> String {
        let printer = temporal::DateTimePrinter::new();
        match self {
            Self::Date(date) => date.to_string(),
            Self::Instant(instant) if instant.offset() == Offset::UTC => {
                printer.timestamp_to_string(&instant.timestamp())
            }
            Self::Instant(instant) => {
                printer.timestamp_with_offset_to_string(&instant.timestamp(), instant.offset())
            }
        }
    }
}

/// Seconds or milliseconds since 1970, down to the nanosecond.
fn of_epoch(number: Decimal) -> Option<Moment> {
    let is_milliseconds = number.absolute() >= Decimal::from(MILLISECONDS_FROM);
    let seconds =
        if is_milliseconds { number.times(Decimal::of_float(0.001).ok()?).ok()? } else { number };
    let whole = seconds.at_places(0, Rounding::Truncate);
    let rest = seconds.minus(whole).ok()?.times(Decimal::from(1_000_000_000_u64)).ok()?;
    let nanoseconds = i32::try_from(rest.at_places(0, Rounding::Truncate).to_i64()?).ok()?;
    let timestamp = Timestamp::new(whole.to_i64()?, nanoseconds).ok()?;
    Some(Moment::Instant(timestamp.to_zoned_datetime(TimeZone::UTC)))
}

fn of_text(text: &str) -> Option<Moment> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    of_iso(text)
        .or_else(|| {
            let digits = text.bytes().take_while(u8::is_ascii_digit).count();
            let is_number = digits >= EPOCH_DIGITS_MIN;
            is_number.then(|| of_epoch(Decimal::read(text)?.ok()?))?
        })
        .or_else(|| {
            let parser = rfc2822::DateTimeParser::new().relaxed_weekday(true);
            parser.parse_zoned_datetime(text).ok().map(Moment::Instant)
        })
        .or_else(|| OLD_FORMS.iter().find_map(|form| of_pattern(form, text).ok()))
}

/// ISO 8601, RFC 3339 and RFC 9557; without an offset or a zone in UTC.
fn of_iso(text: &str) -> Option<Moment> {
    let pieces = temporal::Pieces::parse(text).ok()?;
    let zone = match (pieces.to_numeric_offset(), pieces.time_zone_annotation()) {
        (Some(offset), _) => TimeZone::fixed(offset),
        (None, Some(annotation)) => annotation.to_time_zone_with(zones()).ok()?,
        (None, None) => match pieces.time() {
            None => return Some(Moment::Date(pieces.date())),
            Some(_) => TimeZone::UTC,
        },
    };
    let time = pieces.time().unwrap_or_else(Time::midnight);
    Some(Moment::Instant(pieces.date().to_datetime(time).to_zoned_datetime(zone).ok()?))
}

/// Why nothing is read or written by a pattern.
#[derive(Debug, Clone)]
pub(super) enum PatternFault {
    /// Pattern or text have more than [`TEXT_BYTES_MAX`] bytes.
    TooLong,
    /// It is none of `strftime`, the text does not fit, or there is no such moment.
    Unfit(jiff::Error),
}

impl fmt::Display for PatternFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooLong => {
                write!(f, "more than {TEXT_BYTES_MAX} bytes (date_text_bytes_max)")
            }
            Self::Unfit(error) => error.fmt(f),
        }
    }
}

impl From<jiff::Error> for PatternFault {
    fn from(error: jiff::Error) -> Self {
        Self::Unfit(error)
    }
}

/// By a pattern of `strftime`; a date alone if the pattern has no time.
pub(super) fn of_pattern(pattern: &str, text: &str) -> Result<Moment, PatternFault> {
    if text.len() > TEXT_BYTES_MAX || pattern.len() > TEXT_BYTES_MAX {
        return Err(PatternFault::TooLong);
    }
    let parsed = strtime::parse(pattern, text)?;
    if parsed.timestamp().is_some() || parsed.offset().is_some() {
        let timestamp = parsed.to_timestamp()?;
        let zone = parsed.offset().map_or(TimeZone::UTC, TimeZone::fixed);
        return Ok(Moment::Instant(timestamp.to_zoned_datetime(zone)));
    }
    if parsed.hour().is_none() {
        return Ok(Moment::Date(parsed.to_date()?));
    }
    Ok(Moment::Instant(parsed.to_datetime()?.to_zoned_datetime(TimeZone::UTC)?))
}

/// A moment by a pattern of `strftime`.
pub(super) fn to_pattern(pattern: &str, instant: &ZonedDateTime) -> Result<String, PatternFault> {
    if pattern.len() > TEXT_BYTES_MAX {
        return Err(PatternFault::TooLong);
    }
    Ok(strtime::format(pattern, instant)?)
}

/// Whether a pattern is one of `strftime`, whatever is read or written by it.
pub(super) fn check_pattern(pattern: &str) -> Result<(), PatternFault> {
    to_pattern(pattern, &Timestamp::UNIX_EPOCH.to_zoned_datetime(TimeZone::UTC)).map(drop)
}

/// The zone of a name as in `Europe/Berlin`, of `UTC`, or of an offset as in `+02:00`.
pub(super) fn zone(name: &str) -> Option<TimeZone> {
    if name.len() > TEXT_BYTES_MAX {
        return None;
    }
    temporal::DateTimeParser::new().parse_time_zone_with(zones(), name).ok()
}

/// The zones that come with the executable, so that all machines answer alike.
fn zones() -> &'static TimeZoneDatabase {
    static ZONES: std::sync::OnceLock<TimeZoneDatabase> = std::sync::OnceLock::new();
    ZONES.get_or_init(TimeZoneDatabase::bundled)
}

/// A duration of ISO 8601.
pub(super) fn span(text: &str) -> Option<jiff::Span> {
    if text.len() > TEXT_BYTES_MAX {
        return None;
    }
    temporal::SpanParser::new().parse_span(text).ok()
}
