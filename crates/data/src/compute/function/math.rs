//! Numbers, and texts that read as numbers.

use super::{Function, Group, argument, function};
use crate::{
    Value,
    compute::{
        ComputeError, Decimal, Rounding,
        number::{self, compute},
    },
};

pub(super) const GROUP: Group = Group { title: "Numbers", functions: &FUNCTIONS };

/// The most places behind or before the point that numbers are rounded to.
const PLACES_MAX: i64 = 1000;

const FUNCTIONS: [Function; 16] = [
    function(
        "abs",
        "abs(x)",
        "The number without its sign.",
        &[("abs(-1.5)", "1.5"), ("abs('-2')", "2")],
        |_, arguments| Ok(argument::decimal(arguments, 0)?.absolute().into()),
    ),
    function(
        "sign",
        "sign(x)",
        "-1, 0 or 1.",
        &[("sign(-0.5)", "-1"), ("sign(0)", "0")],
        |_, arguments| {
            let number = argument::decimal(arguments, 0)?;
            Ok(Value::int(match (number.is_zero(), number.is_negative()) {
                (true, _) => 0,
                (false, true) => -1,
                (false, false) => 1,
            }))
        },
    ),
    function(
        "round",
        "round(x[, places])",
        "The nearest number with so many places behind the point (before it for less than 0); the half \
         goes away from zero.",
        &[("round(2.5)", "3"), ("round(-1.005, 2)", "-1.01"), ("round(1250, -2)", "1300")],
        |_, arguments| rounded(arguments, Rounding::Nearest),
    ),
    function(
        "trunc",
        "trunc(x[, places])",
        "The number without what is behind the point, or behind so many places.",
        &[("trunc(-2.9)", "-2"), ("trunc(1.567, 2)", "1.56")],
        |_, arguments| rounded(arguments, Rounding::Truncate),
    ),
    function(
        "floor",
        "floor(x)",
        "The largest whole number that is not larger.",
        &[("floor(-2.1)", "-3")],
        |_, arguments| rounded(arguments, Rounding::Floor),
    ),
    function(
        "ceil",
        "ceil(x)",
        "The smallest whole number that is not smaller.",
        &[("ceil(2.1)", "3")],
        |_, arguments| rounded(arguments, Rounding::Ceiling),
    ),
    function(
        "mod",
        "mod(a, b)",
        "What remains of `a` after dividing it by `b`, as `a % b`; null if `b` is 0.",
        &[("mod(-7, 3)", "-1"), ("mod(7.5, 2)", "1.5"), ("mod(7, 0)", "null")],
        |_, arguments| number::remainder(&arguments[0], &arguments[1]),
    ),
    function(
        "div",
        "div(a, b)",
        "How many times `b` goes into `a`, without a fraction; null if `b` is 0.",
        &[("div(7, 2)", "3"), ("div(-7, 2)", "-3"), ("div(7, 0)", "null")],
        |_, arguments| compute(&arguments[0], "div", &arguments[1], Decimal::divided_whole_by),
    ),
    function(
        "power",
        "power(a, b)",
        "`a` to the power of `b`; null where that is no number.",
        &[
            ("power(2, 10)", "1024"),
            ("power(2, 0.5)", "1.414213562373095"),
            ("power(-8, 0.5)", "null"),
        ],
        |_, arguments| power(arguments),
    ),
    function(
        "sqrt",
        "sqrt(x)",
        "The square root; null of a negative number.",
        &[("sqrt(2.25)", "1.5"), ("sqrt(-1)", "null")],
        |_, arguments| of_float(arguments, "sqrt", f64::sqrt),
    ),
    function(
        "exp",
        "exp(x)",
        "Euler's number to the power of `x`.",
        &[("exp(0)", "1"), ("exp(1)", "2.718281828459045")],
        |_, arguments| of_float(arguments, "exp", f64::exp),
    ),
    function(
        "ln",
        "ln(x)",
        "The natural logarithm; null of 0 and of a negative number.",
        &[("ln(2)", "0.6931471805599453"), ("ln(0)", "null")],
        |_, arguments| of_float(arguments, "ln", f64::ln),
    ),
    function(
        "log10",
        "log10(x)",
        "The logarithm to base 10; null of 0 and of a negative number.",
        &[("log10(1000)", "3")],
        |_, arguments| of_float(arguments, "log10", f64::log10),
    ),
    function(
        "number",
        "number(x)",
        "The number that a text reads as; of a truth value 1 or 0.",
        &[("number(' 1.50 ')", "1.5"), ("number('1e3')", "1000"), ("number(true)", "1")],
        |_, arguments| match &arguments[0] {
            Value::Bool(value) => Ok(Value::int((*value).into())),
            number @ Value::Number(_) => Ok(number.clone()),
            _ => Ok(argument::decimal(arguments, 0)?.into()),
        },
    ),
    function(
        "integer",
        "integer(x)",
        "The same without what is behind the point.",
        &[("integer('12.7')", "12"), ("integer(-0.5)", "0")],
        |_, arguments| match &arguments[0] {
            Value::Bool(value) => Ok(Value::int((*value).into())),
            _ => Ok(argument::decimal(arguments, 0)?.at_places(0, Rounding::Truncate).into()),
        },
    ),
    function(
        "format_number",
        "format_number(x, places)",
        "The text of the number with exactly so many places behind the point.",
        &[("format_number(1234.5, 2)", "\"1234.50\""), ("format_number(-0.005, 2)", "\"-0.01\"")],
        |_, arguments| {
            let number = argument::decimal(arguments, 0)?;
            let places = places(arguments)?;
            let places = u16::try_from(places).map_err(|_| {
                ComputeError::invalid(1, format!("{places} places are less than 0"))
            })?;
            Ok(number.to_fixed(places).into())
        },
    ),
];

/// The second argument; 0 without one.
fn places(arguments: &[Value]) -> Result<i32, ComputeError> {
    if arguments.len() < 2 {
        return Ok(0);
    }
    let places = argument::whole(arguments, 1)?;
    let within = (-PLACES_MAX..=PLACES_MAX).contains(&places);
    i32::try_from(places).ok().filter(|_| within).ok_or_else(|| {
        let reason = format!("{places} places are more than {PLACES_MAX} (places_max)");
        ComputeError::invalid(1, reason)
    })
}

fn rounded(arguments: &[Value], rounding: Rounding) -> Result<Value, ComputeError> {
    Ok(argument::decimal(arguments, 0)?.at_places(places(arguments)?, rounding).into())
}

/// A function of floats; null where it has no value.
fn of_float(
    arguments: &[Value],
    name: &str,
    function: fn(f64) -> f64,
) -> Result<Value, ComputeError> {
    let number = argument::decimal(arguments, 0)?;
    let what = || format!("{name}({})", number::shown(&arguments[0]));
    let float = number.to_float().ok_or_else(|| ComputeError::OutOfRange { what: what() })?;
    let has_no_value = float < 0.0 && name != "exp" || float == 0.0 && name.starts_with('l');
    if has_no_value { Ok(Value::Null) } else { number::of_float(function(float), &what()) }
}

/// Exact if the exponent is whole and the result has at most 38 digits.
fn power(arguments: &[Value]) -> Result<Value, ComputeError> {
    /// Beyond this no number but 0 and 1 has an exact power.
    const EXACT_EXPONENT_MAX: i64 = 128;
    let (base, exponent) = (argument::decimal(arguments, 0)?, argument::decimal(arguments, 1)?);
    if let Some(whole) = exponent.to_i64().filter(|whole| (0..=EXACT_EXPONENT_MAX).contains(whole))
        && let Some(power) = u32::try_from(whole).ok().and_then(|whole| base.exact_power(whole))
    {
        return Ok(power.into());
    }
    let what =
        || format!("power({}, {})", number::shown(&arguments[0]), number::shown(&arguments[1]));
    let floats = base.to_float().zip(exponent.to_float());
    let (base, exponent) = floats.ok_or_else(|| ComputeError::OutOfRange { what: what() })?;
    let power = base.powf(exponent);
    let is_division_by_zero = base == 0.0 && exponent < 0.0;
    if power.is_nan() || is_division_by_zero {
        return Ok(Value::Null);
    }
    number::of_float(power, &what())
}
