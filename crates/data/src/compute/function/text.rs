//! Texts. Positions and lengths count characters, from 1. A number or a truth value is taken by its
//! text.

use super::{Function, Group, Nulls, argument, effort_of_a_look, effort_of_reading, function};
use crate::{
    Text, Value,
    compute::{
        ComputeError, effort,
        text::{TextWriter, check_length},
    },
};

pub(super) const GROUP: Group = Group { title: "Text", functions: &FUNCTIONS };

const FUNCTIONS: [Function; 22] = [
    Function {
        effort: effort_of_a_look,
        ..function(
            "length",
            "length(x)",
            "The number of characters of a text, or of elements of a list.",
            &[("length('Åre')", "3"), ("length([1, [2, 3]])", "2"), ("length(null)", "null")],
            |_, arguments| length(arguments),
        )
    },
    function(
        "lower",
        "lower(x)",
        "The text in small letters.",
        &[("lower('ÅRE')", "\"åre\"")],
        |_, arguments| cased(arguments, str::to_lowercase),
    ),
    function(
        "upper",
        "upper(x)",
        "The text in capitals.",
        &[("upper('straße')", "\"STRASSE\"")],
        |_, arguments| cased(arguments, str::to_uppercase),
    ),
    function(
        "initcap",
        "initcap(x)",
        "The text with a capital at the start of each word, and else small letters.",
        &[("initcap('new-york CITY')", "\"New-York City\"")],
        |_, arguments| initcap(arguments),
    ),
    function(
        "trim",
        "trim(x[, characters])",
        "The text without white space, or without the given characters, at both ends.",
        &[("trim('  a b ')", "\"a b\""), ("trim('--a-', '-')", "\"a\"")],
        |_, arguments| trimmed(arguments, true, true),
    ),
    function(
        "ltrim",
        "ltrim(x[, characters])",
        "The same, at the start only.",
        &[("ltrim('0012', '0')", "\"12\"")],
        |_, arguments| trimmed(arguments, true, false),
    ),
    function(
        "rtrim",
        "rtrim(x[, characters])",
        "The same, at the end only.",
        &[("rtrim('a/ ')", "\"a/\"")],
        |_, arguments| trimmed(arguments, false, true),
    ),
    function(
        "substring",
        "substring(x, from[, count])",
        "The characters from a position on, at most `count`. Positions before 1 count, but have no \
         characters, as in SQL.",
        &[
            ("substring('harbour', 4)", "\"bour\""),
            ("substring('harbour', 4, 2)", "\"bo\""),
            ("substring('harbour', 0, 2)", "\"h\""),
            ("substring('harbour', 20)", "\"\""),
        ],
        |_, arguments| substring(arguments),
    ),
    function(
        "left",
        "left(x, count)",
        "The first characters; with a negative count all but so many at the end.",
        &[("left('harbour', 3)", "\"har\""), ("left('harbour', -3)", "\"harb\"")],
        |_, arguments| {
            let (text, length, count) = with_count(arguments)?;
            Ok(between(&text, 0, if count < 0 { length.saturating_add(count) } else { count }))
        },
    ),
    function(
        "right",
        "right(x, count)",
        "The last characters; with a negative count all but so many at the start.",
        &[("right('harbour', 3)", "\"our\""), ("right('harbour', -3)", "\"bour\"")],
        |_, arguments| {
            let (text, length, count) = with_count(arguments)?;
            let from =
                if count < 0 { count.saturating_neg() } else { length.saturating_sub(count) };
            Ok(between(&text, from, length))
        },
    ),
    function(
        "position",
        "position(part, x)",
        "Where the part first begins in the text; 0 if it does not.",
        &[
            ("position('b', 'abc')", "2"),
            ("position('x', 'abc')", "0"),
            ("position('', 'abc')", "1"),
        ],
        |_, arguments| {
            let (part, text) = (argument::text(arguments, 0)?, argument::text(arguments, 1)?);
            let found = text.find(part.as_str());
            Ok(found.map_or(0, |at| text[..at].chars().count() + 1).into())
        },
    ),
    function(
        "contains",
        "contains(x, part)",
        "Whether the text contains the part.",
        &[("contains('harbour', 'bo')", "true"), ("contains('harbour', 'BO')", "false")],
        |_, arguments| found(arguments, |text, part| text.contains(part)),
    ),
    function(
        "starts_with",
        "starts_with(x, part)",
        "Whether the text begins with the part.",
        &[("starts_with('harbour', 'har')", "true")],
        |_, arguments| found(arguments, |text, part| text.starts_with(part)),
    ),
    function(
        "ends_with",
        "ends_with(x, part)",
        "Whether the text ends with the part.",
        &[("ends_with('harbour', 'har')", "false")],
        |_, arguments| found(arguments, |text, part| text.ends_with(part)),
    ),
    Function {
        effort: effort_of_replacing,
        ..function(
            "replace",
            "replace(x, part, by)",
            "The text with another text in place of each part.",
            &[
                ("replace('a.b.c', '.', ', ')", "\"a, b, c\""),
                ("replace('abc', '', 'x')", "\"abc\""),
            ],
            |_, arguments| replace(arguments),
        )
    },
    function(
        "split",
        "split(x, separator)",
        "A list of what stands between the separators; of the characters if the separator is empty.",
        &[
            ("split('a,b,,c', ',')", "[\"a\",\"b\",\"\",\"c\"]"),
            ("split('abc', '')", "[\"a\",\"b\",\"c\"]"),
        ],
        |_, arguments| split(arguments),
    ),
    Function {
        nulls: Nulls::Take,
        ..function(
            "concat",
            "concat(a, …)",
            "The texts one behind the other; null has none. (With `&`, null makes null.)",
            &[("concat('a', null, 1.50)", "\"a1.5\""), ("concat(null)", "\"\"")],
            |_, arguments| concat(arguments),
        )
    },
    Function {
        effort: effort_of_repeating,
        ..function(
            "repeat",
            "repeat(x, count)",
            "The text so many times.",
            &[("repeat('ab', 3)", "\"ababab\""), ("repeat('ab', -1)", "\"\"")],
            |_, arguments| repeat(arguments),
        )
    },
    Function {
        effort: effort_of_padding,
        ..function(
            "lpad",
            "lpad(x, length[, fill])",
            "The text with blanks, or with another text, before it, until it is so long. A longer one is cut.",
            &[
                ("lpad('7', 3, '0')", "\"007\""),
                ("lpad('ab', 4)", "\"  ab\""),
                ("lpad('abc', 2)", "\"ab\""),
            ],
            |_, arguments| padded(arguments, true),
        )
    },
    Function {
        effort: effort_of_padding,
        ..function(
            "rpad",
            "rpad(x, length[, fill])",
            "The same, behind it.",
            &[("rpad('ab', 5, 'xy')", "\"abxyx\"")],
            |_, arguments| padded(arguments, false),
        )
    },
    function(
        "reverse",
        "reverse(x)",
        "The characters of a text, or the elements of a list, from the last to the first.",
        &[("reverse('abc')", "\"cba\""), ("reverse([1, 2])", "[2,1]")],
        |_, arguments| match arguments[0].elements() {
            Some(elements) => argument::made(elements.iter().rev().cloned().collect()),
            None => Ok(argument::text(arguments, 0)?.chars().rev().collect::<String>().into()),
        },
    ),
    function(
        "format",
        "format(template, …)",
        "The template with the arguments in place of each `{}`, in order; lists and objects as JSON. \
         `{{` and `}}` are braces.",
        &[("format('{} of {}', 1, [2])", "\"1 of [2]\""), ("format('{{}}')", "\"{}\"")],
        |_, arguments| format(arguments),
    ),
];

fn effort_of_repeating(arguments: &[Value], enough: usize) -> usize {
    let count = count_of(arguments, 1);
    let made = effort::bytes_read(&arguments[0], enough).saturating_mul(count);
    effort_of_reading(arguments, enough).saturating_add(effort::of_copying(made))
}

fn effort_of_padding(arguments: &[Value], enough: usize) -> usize {
    effort_of_reading(arguments, enough).saturating_add(count_of(arguments, 1))
}

/// If the part stands everywhere.
fn effort_of_replacing(arguments: &[Value], enough: usize) -> usize {
    let [text, .., by] = arguments else { return 0 };
    let made = effort::bytes_read(text, enough).saturating_mul(effort::bytes_read(by, enough));
    effort_of_reading(arguments, enough).saturating_add(effort::of_copying(made))
}

/// The count that an argument is; 0 if it is none.
fn count_of(arguments: &[Value], at: usize) -> usize {
    let count = arguments.get(at).and_then(|_| argument::whole(arguments, at).ok());
    count.map_or(0, |count| usize::try_from(count.max(0)).unwrap_or(usize::MAX))
}

fn length(arguments: &[Value]) -> Result<Value, ComputeError> {
    match &arguments[0] {
        list if list.is_array() => Ok(list.len().into()),
        object if object.is_structure() => Err(ComputeError::wrong(0, object, "a text or a list")),
        _ => Ok(argument::text(arguments, 0)?.chars().count().into()),
    }
}

fn cased(arguments: &[Value], change: fn(&str) -> String) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    // A letter may become three.
    check_length(text.len())?;
    Ok(change(&text).into())
}

fn initcap(arguments: &[Value]) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    check_length(text.len())?;
    let mut out = String::with_capacity(text.len());
    let mut is_inside = false;
    for character in text.chars() {
        if is_inside {
            out.extend(character.to_lowercase());
        } else {
            out.extend(character.to_uppercase());
        }
        is_inside = character.is_alphanumeric();
    }
    Ok(out.into())
}

fn trimmed(arguments: &[Value], at_start: bool, at_end: bool) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let mut characters: Vec<char> = match arguments.get(1) {
        None => Vec::new(),
        Some(_) => argument::text(arguments, 1)?.chars().collect(),
    };
    characters.sort_unstable();
    let is_cut = |character: char| match arguments.get(1) {
        None => character.is_whitespace(),
        Some(_) => characters.binary_search(&character).is_ok(),
    };
    let mut part = text.as_str();
    if at_start {
        part = part.trim_start_matches(is_cut);
    }
    if at_end {
        part = part.trim_end_matches(is_cut);
    }
    Ok(text.share(part).into())
}

/// A text, its number of characters, and the count that is the second argument.
fn with_count(arguments: &[Value]) -> Result<(Text, i64, i64), ComputeError> {
    let text = argument::text(arguments, 0)?;
    let length = i64::try_from(text.chars().count()).unwrap_or(i64::MAX);
    let count = argument::whole(arguments, 1)?;
    Ok((text, length, count))
}

/// The characters from `from` up to `to`, counted from 0.
fn between(text: &Text, from: i64, to: i64) -> Value {
    let from = usize::try_from(from.max(0)).unwrap_or(usize::MAX);
    let to = usize::try_from(to.max(0)).unwrap_or(usize::MAX);
    let count = to.saturating_sub(from);
    let place =
        |part: &str, at: usize| part.char_indices().nth(at).map_or(part.len(), |(at, _)| at);
    let start = place(text, from);
    let end = start + place(&text[start..], count);
    text.slice(start, end).into()
}

fn substring(arguments: &[Value]) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let from = argument::whole(arguments, 1)?.saturating_sub(1);
    let to = match arguments.get(2) {
        None => i64::MAX,
        Some(_) => match argument::whole(arguments, 2)? {
            count @ 0.. => from.saturating_add(count),
            count => {
                return Err(ComputeError::invalid(2, format!("a count of {count} is less than 0")));
            }
        },
    };
    Ok(between(&text, from, to))
}

fn found(arguments: &[Value], is_found: fn(&str, &str) -> bool) -> Result<Value, ComputeError> {
    Ok(is_found(&argument::text(arguments, 0)?, &argument::text(arguments, 1)?).into())
}

fn replace(arguments: &[Value]) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let part = argument::text(arguments, 1)?;
    let by = argument::text(arguments, 2)?;
    if part.is_empty() {
        return Ok(text.into());
    }
    let mut out = TextWriter::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(part.as_str()) {
        out.push(&rest[..at])?;
        out.push(&by)?;
        rest = &rest[at + part.len()..];
    }
    out.push(rest)?;
    Ok(out.finish().into())
}

fn split(arguments: &[Value]) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let separator = argument::text(arguments, 1)?;
    let mut parts = Vec::new();
    let mut add = |part: &str| {
        parts.push(Value::from(text.share(part)));
        argument::check_count(parts.len())
    };
    if separator.is_empty() {
        text.char_indices()
            .try_for_each(|(at, character)| add(&text[at..at + character.len_utf8()]))?;
    } else {
        text.split(separator.as_str()).try_for_each(add)?;
    }
    argument::made(parts)
}

fn concat(arguments: &[Value]) -> Result<Value, ComputeError> {
    let mut out = TextWriter::new();
    for (at, value) in arguments.iter().enumerate() {
        if !value.is_nothing() {
            out.push(&argument::text(arguments, at)?)?;
        }
    }
    Ok(out.finish().into())
}

fn repeat(arguments: &[Value]) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let count = argument::whole(arguments, 1)?.max(0);
    if text.is_empty() {
        return Ok(text.into());
    }
    let count = usize::try_from(count).unwrap_or(usize::MAX);
    check_length(text.len().saturating_mul(count))?;
    Ok(text.repeat(count).into())
}

fn padded(arguments: &[Value], is_before: bool) -> Result<Value, ComputeError> {
    let text = argument::text(arguments, 0)?;
    let length = argument::whole(arguments, 1)?.max(0);
    let fill = if arguments.len() > 2 { argument::text(arguments, 2)? } else { Text::from(" ") };
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let own = text.chars().count();
    if own >= length || fill.is_empty() {
        return Ok(between(&text, 0, i64::try_from(length).unwrap_or(i64::MAX)));
    }
    // A character has at least one byte.
    check_length(length)?;
    let padding: String = fill.chars().cycle().take(length - own).collect();
    let mut out = TextWriter::new();
    let (first, second) = if is_before { (&*padding, &*text) } else { (&*text, &*padding) };
    out.push(first)?;
    out.push(second)?;
    Ok(out.finish().into())
}

fn format(arguments: &[Value]) -> Result<Value, ComputeError> {
    let template = argument::text(arguments, 0)?;
    let mut values = arguments[1..].iter();
    let mut out = TextWriter::new();
    let mut rest = template.as_str();
    while let Some(at) = rest.find(['{', '}']) {
        out.push(&rest[..at])?;
        let brace = &rest[at..];
        if brace.starts_with("{{") || brace.starts_with("}}") {
            out.push(&brace[..1])?;
        } else if brace.starts_with("{}") {
            let Some(value) = values.next() else {
                let reason =
                    format!("the template has more `{{}}` than the {} values", arguments.len() - 1);
                return Err(ComputeError::invalid(0, reason));
            };
            out.push(&argument::any_text(value)?)?;
        } else {
            let reason = "a brace alone means nothing in the template; write `{}` for a value, \
                          `{{` or `}}` for a brace";
            return Err(ComputeError::invalid(0, reason));
        }
        rest = &brace[2..];
    }
    out.push(rest)?;
    match values.len() {
        0 => Ok(out.finish().into()),
        left => {
            let reason = format!("the template has no `{{}}` for the last {left} values");
            Err(ComputeError::invalid(0, reason))
        }
    }
}
