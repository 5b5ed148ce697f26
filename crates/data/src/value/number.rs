//! Numbers: exact while they pass through, 64-bit floats when they are compared (FMT-12).

use super::Text;

/// A JSON number.
#[derive(Debug, Clone)]
pub enum Number {
    /// A whole number that fits 64 bits; compares exactly.
    Int(i64),
    /// Any other number; never infinite and never not-a-number.
    Float(f64),
    /// A number as valid JSON text, kept because nobody has needed its value yet.
    Source(Text),
}

impl From<u64> for Number {
    fn from(value: u64) -> Self {
        i64::try_from(value).map_or_else(|_| Self::Source(value.to_string().into()), Self::Int)
    }
}

impl Number {
    /// The number as a 64-bit float; digits beyond its precision are rounded, too large a number is
    /// the largest float.
    pub fn as_f64(&self) -> f64 {
        match self {
            #[expect(clippy::cast_precision_loss, reason = "rounding is what a float view means")]
            Self::Int(value) => *value as f64,
            Self::Float(value) => *value,
            Self::Source(text) => {
                text.parse().map_or(0.0, |value: f64| value.clamp(f64::MIN, f64::MAX))
            }
        }
    }

    /// The number as a whole number, if it is one that fits 64 bits.
    pub fn as_i64(&self) -> Option<i64> {
        match self {
            Self::Int(value) => Some(*value),
            Self::Float(value) => {
                let is_exact = value.fract() == 0.0 && value.abs() < 9_007_199_254_740_992.0;
                is_exact.then_some(*value as i64)
            }
            Self::Source(text) => match text.parse() {
                Ok(value) => Some(value),
                Err(_) => Self::Float(self.as_f64()).as_i64(),
            },
        }
    }

    /// The shortest decimal form, as JavaScript prints numbers: `1.50` is `1.5`, `5.0` is `5`,
    /// `1e21` is `1e+21`. Whole numbers that fit 64 bits keep all digits, unsigned ones too: an id must
    /// not become another one on its way into a URI.
    pub fn to_shortest(&self) -> String {
        if let Some(whole) = self.as_i64() {
            return whole.to_string();
        }
        match self {
            Self::Source(text) if text.parse::<u64>().is_ok() => text.to_string(),
            _ => shortest_float(self.as_f64()),
        }
    }
}

/// Prints a float the way JavaScript does (ECMA-262, `Number::toString`).
fn shortest_float(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned();
    }
    // `{:e}` gives the shortest digits that read back as the same float: `-1.25e-7`.
    let scientific = format!("{value:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (sign, mantissa) = match mantissa.strip_prefix('-') {
        Some(rest) => ("-", rest),
        None => ("", mantissa),
    };
    let digits = mantissa.replace('.', "");
    let shift = exponent.unsigned_abs() as usize;
    let body = match exponent {
        // The decimal point stands behind the last digit or among the digits.
        0..=20 => match digits.split_at_checked(shift + 1) {
            Some((whole, "")) => whole.to_owned(),
            Some((whole, fraction)) => format!("{whole}.{fraction}"),
            None => format!("{digits:0<width$}", width = shift + 1),
        },
        -6..=-1 => format!("0.{}{digits}", "0".repeat(shift - 1)),
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{first}{dot}{rest}e{sign}{shift}")
        }
    };
    format!("{sign}{body}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_javascript_prints_them() {
        for (text, printed) in [
            ("1.50", "1.5"),
            ("5.0", "5"),
            ("1e21", "1e+21"),
            ("1e20", "100000000000000000000"),
            ("1e-7", "1e-7"),
            ("1.25e-7", "1.25e-7"),
            ("0.000001", "0.000001"),
            ("-0.5", "-0.5"),
            ("-0", "0"),
            ("9007199254740993", "9007199254740993"),
            ("18446744073709551615", "18446744073709551615"),
            ("18446744073709551616", "18446744073709552000"),
            ("-9223372036854775809", "-9223372036854776000"),
            ("123456.789", "123456.789"),
        ] {
            assert_eq!(Number::Source(text.into()).to_shortest(), printed, "{text}");
        }
    }
}
