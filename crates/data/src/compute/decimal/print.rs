//! Decimals as texts.

use std::fmt;

use super::{DIGITS_MAX, Decimal, Rounding};

/// Digits that a double may have; what has more is written out instead of with an exponent.
const DOUBLE_DIGITS_MAX: usize = 17;

impl Decimal {
    /// Without zeros at the end of the coefficient.
    pub(super) fn stripped(self) -> Self {
        let Self { is_negative, mut coefficient, mut exponent } = self;
        if coefficient == 0 {
            return Self::ZERO;
        }
        // The first step takes all but sixteen at once from round numbers.
        for step in [16_u32, 8, 4, 2, 1] {
            while coefficient.is_multiple_of(10_u128.pow(step)) {
                coefficient /= 10_u128.pow(step);
                exponent += step.cast_signed();
            }
        }
        Self { is_negative, coefficient, exponent }
    }

    /// Rounded to `places` digits behind the point, all of them written and without an exponent.
    pub fn to_fixed(self, places: u16) -> String {
        let rounded = self.at_places(places.into(), Rounding::Nearest);
        let places = usize::from(places);
        let zeros = i64::try_from(places).unwrap_or_default() + i64::from(rounded.exponent);
        let mut digits = rounded.coefficient.to_string();
        digits.extend(std::iter::repeat_n('0', usize::try_from(zeros).unwrap_or_default()));
        let missing = (places + 1).saturating_sub(digits.len());
        digits.insert_str(0, &"0".repeat(missing));
        if places > 0 {
            digits.insert(digits.len() - places, '.');
        }
        if rounded.is_negative {
            digits.insert(0, '-');
        }
        digits
    }
}

/// As JavaScript prints numbers, with all digits: `1.5`, `1e-7`, `1e+21`. A number with more digits
/// than a double has is written out up to its last digit.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { is_negative, coefficient, exponent } = self.stripped();
        if is_negative {
            f.write_str("-")?;
        }
        let digits = coefficient.to_string();
        let adjusted = exponent + coefficient.checked_ilog10().unwrap_or(0).cast_signed();
        let is_plain = adjusted < 21
            || (digits.len() > DOUBLE_DIGITS_MAX
                && exponent >= 0
                && adjusted < DIGITS_MAX.cast_signed());
        let size = adjusted.unsigned_abs() as usize;
        match adjusted {
            0.. if is_plain => match digits.split_at_checked(size + 1) {
                Some((whole, "")) => f.write_str(whole),
                Some((whole, fraction)) => write!(f, "{whole}.{fraction}"),
                None => write!(f, "{digits:0<width$}", width = size + 1),
            },
            -6..0 => write!(f, "0.{}{digits}", "0".repeat(size - 1)),
            _ => {
                let (first, rest) = digits.split_at(1);
                let dot = if rest.is_empty() { "" } else { "." };
                let sign = if adjusted < 0 { '-' } else { '+' };
                write!(f, "{first}{dot}{rest}e{sign}{size}")
            }
        }
    }
}
