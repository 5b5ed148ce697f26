//! Regular expressions: those of the crate `regex`, whose time is linear in the text.

use regex::{Captures, Regex};

use super::{Context, Function, Group, argument, function, with_trial};
use crate::{
    Text, Value,
    compute::{ComputeError, text::TextWriter},
};

pub(super) const GROUP: Group = Group { title: "Regular expressions", functions: &FUNCTIONS };

/// The most matches of a call times the bytes of its text: less than a tenth of a second at
/// worst. A text of 8 KiB may match at each of its bytes, one of 1 MiB 64 times.
const WORK_MAX: usize = 1 << 26;

/// The same of a call for which there is about a millisecond.
const WORK_IN_HASTE_MAX: usize = 1 << 20;

const FUNCTIONS: [Function; 5] = [
    with_trial(
        function(
            "regexp_matches",
            "regexp_matches(x, pattern)",
            "Whether the pattern fits somewhere in the text.",
            &[("regexp_matches('2026-05-01', '^[0-9]{4}-')", "true")],
            |context, arguments| {
                let text = argument::text(arguments, 0)?;
                Ok(regex(context, arguments)?.is_match(&text).into())
            },
        ),
        "",
        &[0],
    ),
    with_trial(
        function(
            "regexp_extract",
            "regexp_extract(x, pattern[, group])",
            "What the pattern fits first, or a group of that, by number or name; null if there is none.",
            &[
                ("regexp_extract('order 17', '[0-9]+')", "\"17\""),
                ("regexp_extract('a=1', '([a-z])=([0-9])', 2)", "\"1\""),
                ("regexp_extract('a=1', '(?<key>[a-z])=', 'key')", "\"a\""),
                ("regexp_extract('none', '[0-9]+')", "null"),
            ],
            |context, arguments| {
                let text = argument::text(arguments, 0)?;
                let regex = regex(context, arguments)?;
                let group = group(&regex, arguments)?;
                let found =
                    regex.captures(&text).and_then(|captures| part(&text, &captures, group));
                Ok(found.unwrap_or_default())
            },
        ),
        "",
        &[0],
    ),
    with_trial(
        function(
            "regexp_extract_all",
            "regexp_extract_all(x, pattern[, group])",
            "A list of all that the pattern fits, or of a group of each.",
            &[("regexp_extract_all('a1 b22', '[0-9]+')", "[\"1\",\"22\"]")],
            |context, arguments| {
                let text = argument::text(arguments, 0)?;
                let regex = regex(context, arguments)?;
                let group = group(&regex, arguments)?;
                let mut parts = Vec::new();
                for captures in regex.captures_iter(&text) {
                    parts.push(part(&text, &captures, group).unwrap_or(Value::Null));
                    check_work(context, parts.len(), &text)?;
                }
                argument::made(parts)
            },
        ),
        "",
        &[0],
    ),
    with_trial(
        function(
            "regexp_replace",
            "regexp_replace(x, pattern, by)",
            "The text with another text in place of all that the pattern fits. There, `$1` or `${name}` is a \
             group, `$0` all of it, and `$$` a dollar sign.",
            &[
                ("regexp_replace('a1b2', '[0-9]', '#')", "\"a#b#\""),
                ("regexp_replace('Ada Byron', '([^ ]+) ([^ ]+)', '$2, $1')", "\"Byron, Ada\""),
            ],
            replace,
        ),
        "",
        &[0],
    ),
    with_trial(
        function(
            "regexp_split",
            "regexp_split(x, pattern)",
            "A list of what stands between all that the pattern fits.",
            &[("regexp_split('a, b;c', '[,;] *')", "[\"a\",\"b\",\"c\"]")],
            |context, arguments| {
                let text = argument::text(arguments, 0)?;
                let mut parts = Vec::new();
                for part in regex(context, arguments)?.split(&text) {
                    parts.push(Value::from(text.share(part)));
                    check_work(context, parts.len(), &text)?;
                }
                argument::made(parts)
            },
        ),
        "",
        &[0],
    ),
];

/// One search is linear in the text, but each of many may look at all that follows: whether there
/// may be another one.
fn check_work(context: &Context<'_>, searches: usize, text: &Text) -> Result<(), ComputeError> {
    let work = searches.saturating_mul(text.len());
    if work <= WORK_IN_HASTE_MAX {
        return Ok(());
    }
    if context.is_in_haste() {
        return Err(ComputeError::TooLong);
    }
    if work <= WORK_MAX {
        return Ok(());
    }
    Err(ComputeError::TooLarge {
        limit: "pattern_work_max",
        maximum: WORK_MAX,
        unit: "matches times bytes of the text",
    })
}

fn regex(context: &Context<'_>, arguments: &[Value]) -> Result<std::rc::Rc<Regex>, ComputeError> {
    context.regex(1, &argument::text(arguments, 1)?)
}

/// The number of the group that the third argument names; 0 without one.
fn group(regex: &Regex, arguments: &[Value]) -> Result<usize, ComputeError> {
    let Some(argument) = arguments.get(2) else { return Ok(0) };
    let group = match argument {
        Value::String(name) => regex.capture_names().position(|known| known == Some(name)),
        _ => usize::try_from(argument::whole(arguments, 2)?).ok(),
    };
    group.filter(|group| *group < regex.captures_len()).ok_or_else(|| {
        let shown = argument.scalar_text().unwrap_or_default();
        missing(2, &shown)
    })
}

fn missing(position: usize, group: &str) -> ComputeError {
    ComputeError::invalid(position, format!("the pattern has no group `{group}`"))
}

fn part(text: &Text, captures: &Captures<'_>, group: usize) -> Option<Value> {
    captures.get(group).map(|found| text.share(found.as_str()).into())
}

/// A piece of a replacement.
enum Piece<'t> {
    Text(&'t str),
    Group(usize),
}

fn replace(context: &Context<'_>, arguments: &[Value]) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let regex = regex(context, arguments)?;
    let by = argument::text(arguments, 2)?;
    let pieces = pieces(&regex, &by)?;
    let mut out = TextWriter::new();
    let mut end = 0;
    for (at, captures) in regex.captures_iter(&text).enumerate() {
        check_work(context, at, &text)?;
        let Some(all) = captures.get(0) else { continue };
        out.push(&text[end..all.start()])?;
        for piece in &pieces {
            out.push(match piece {
                Piece::Text(text) => text,
                Piece::Group(group) => captures.get(*group).map_or("", |found| found.as_str()),
            })?;
        }
        end = all.end();
    }
    out.push(&text[end..])?;
    Ok(out.finish().into())
}

fn pieces<'t>(regex: &Regex, by: &'t str) -> Result<Vec<Piece<'t>>, ComputeError> {
    let mut pieces = Vec::new();
    let mut rest = by;
    while let Some(at) = rest.find('$') {
        pieces.push(Piece::Text(&rest[..at]));
        let behind = &rest[at + 1..];
        let digits = behind.bytes().take_while(u8::is_ascii_digit).count();
        let (name, length) = if let Some(named) = behind.strip_prefix('{') {
            let Some(end) = named.find('}') else {
                return Err(ComputeError::invalid(2, "`${` is not closed by `}`"));
            };
            (&named[..end], end + 2)
        } else if digits > 0 {
            (&behind[..digits], digits)
        } else if let Some(behind) = behind.strip_prefix('$') {
            pieces.push(Piece::Text("$"));
            rest = behind;
            continue;
        } else {
            let reason = "`$` stands for a group, as in `$1`; write `$$` for a dollar sign";
            return Err(ComputeError::invalid(2, reason));
        };
        let group = match name.parse() {
            Ok(number) => Some(number),
            Err(_) => regex.capture_names().position(|known| known == Some(name)),
        };
        let group = group.filter(|group| *group < regex.captures_len());
        pieces.push(Piece::Group(group.ok_or_else(|| missing(2, name))?));
        rest = &behind[length..];
    }
    pieces.push(Piece::Text(rest));
    Ok(pieces)
}
