//! Decimal numbers of 38 digits.
//!
//! A coefficient of 128 bits and a power of ten. Sums, differences and products are exact as long as
//! they have at most 38 digits, and rounded half to even beyond; a quotient has 16 digits, or as many
//! as its whole part. Nothing allocates, nothing panics, and no exponent makes a loop long: numbers
//! outside of the range are refused where they are read.

mod print;
mod quotient;

use std::cmp::Ordering;

use super::{digits::DecimalText, wide::Wide};
use crate::Number;

/// Digits of a coefficient.
const DIGITS_MAX: u32 = 38;

/// 10^38: coefficients are smaller.
const COEFFICIENT_END: u128 = 10_u128.pow(DIGITS_MAX);

/// The largest power of ten of a first digit, and with a minus the smallest: those of the decimal
/// type of 128 bits in IEEE 754, far beyond those of a double.
const EXPONENT_MAX: i64 = 6144;

/// Digits of a quotient, a mean or a root, unless its whole part has more.
pub(super) const ROUNDED_DIGITS: u32 = 16;

/// A decimal number.
#[derive(Debug, Clone, Copy, Default)]
pub struct Decimal {
    is_negative: bool,
    /// Below 10^38, perhaps with zeros at the end.
    coefficient: u128,
    exponent: i32,
}

/// The number is too large, or too close to zero, to compute with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfRange;

/// In which direction digits are dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rounding {
    /// To the nearest, the half away from zero, as SQL does.
    Nearest,
    /// Towards zero.
    Truncate,
    /// To the smaller number.
    Floor,
    /// To the larger number.
    Ceiling,
}

impl Decimal {
    /// Zero.
    pub const ZERO: Self = Self { is_negative: false, coefficient: 0, exponent: 0 };

    /// A finite float, by the shortest digits that read back as it.
    pub fn of_float(value: f64) -> Result<Self, OutOfRange> {
        if !value.is_finite() {
            return Err(OutOfRange);
        }
        // Always a decimal number.
        Self::read(&format!("{value:e}")).unwrap_or(Err(OutOfRange))
    }

    /// Of a whole number, which has at most 38 digits.
    fn of_whole(value: u128) -> Result<Self, OutOfRange> {
        Self::rounded(false, Wide::of(value), false, 0, DIGITS_MAX)
    }

    /// A number of a value.
    pub fn of_number(number: &Number) -> Result<Self, OutOfRange> {
        match number {
            Number::Int(value) => Ok(Self::from(*value)),
            Number::Float(value) => Self::of_float(*value),
            // Source texts are valid numbers.
            Number::Source(text) => Self::read(text).unwrap_or(Err(OutOfRange)),
        }
    }

    /// Reads digits with sign, point and exponent, as JSON and JavaScript write them (`+5`, `.5` and
    /// `5.` included); `None` if the text is something else. Digits beyond 38 are rounded.
    pub fn read(text: &str) -> Option<Result<Self, OutOfRange>> {
        let parts = DecimalText::of(text)?;
        if parts.is_zero() {
            return Some(Ok(Self::ZERO));
        }
        let mut coefficient: u128 = 0;
        let mut taken = 0;
        let mut next = 0;
        let mut is_more = false;
        for digit in parts.digits() {
            match taken {
                DIGITS_MAX => next = digit,
                0..DIGITS_MAX => coefficient = coefficient * 10 + u128::from(digit),
                _ => is_more |= digit != 0,
            }
            taken = taken.saturating_add(1);
            if is_more {
                break;
            }
        }
        let kept = taken.min(DIGITS_MAX);
        if next > 5 || (next == 5 && (is_more || coefficient & 1 == 1)) {
            coefficient += 1;
        }
        let exponent = parts.adjusted_exponent().saturating_sub(i64::from(kept) - 1);
        Some(Self::checked(parts.is_negative(), coefficient, exponent))
    }

    /// A whole number in hexadecimal digits; `None` if there are others.
    pub(super) fn read_hexadecimal(digits: &str) -> Option<Result<Self, OutOfRange>> {
        if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return None;
        }
        let digits = digits.trim_start_matches('0');
        if digits.is_empty() {
            return Some(Ok(Self::ZERO));
        }
        Some(u128::from_str_radix(digits, 16).map_err(|_| OutOfRange).and_then(Self::of_whole))
    }

    /// The number if it is within the range; a coefficient of 10^38 is one digit shorter.
    fn checked(is_negative: bool, coefficient: u128, exponent: i64) -> Result<Self, OutOfRange> {
        let (coefficient, exponent) = match coefficient {
            0 => return Ok(Self::ZERO),
            COEFFICIENT_END => (COEFFICIENT_END / 10, exponent.saturating_add(1)),
            _ => (coefficient, exponent),
        };
        let adjusted = exponent.saturating_add(i64::from(coefficient.ilog10()));
        match i32::try_from(exponent) {
            Ok(exponent) if (-EXPONENT_MAX..=EXPONENT_MAX).contains(&adjusted) => {
                Ok(Self { is_negative, coefficient, exponent })
            }
            _ => Err(OutOfRange),
        }
    }

    /// `value`, followed by more digits if `is_more`, times 10^`exponent`, in at most `digits_max`
    /// digits. Whoever says `is_more` has computed at least one digit too many.
    fn rounded(
        is_negative: bool,
        value: Wide,
        is_more: bool,
        exponent: i64,
        digits_max: u32,
    ) -> Result<Self, OutOfRange> {
        let drop = value.digits().saturating_sub(digits_max);
        let kept = value.without_digits(drop, is_more);
        let coefficient = kept.narrow().ok_or(OutOfRange)?;
        Self::checked(is_negative, coefficient, exponent + i64::from(drop))
    }

    /// Whether it is 0.
    pub fn is_zero(self) -> bool {
        self.coefficient == 0
    }

    /// Whether it is less than 0.
    pub fn is_negative(self) -> bool {
        self.is_negative
    }

    /// The same number with the other sign.
    #[must_use]
    pub fn negated(self) -> Self {
        Self { is_negative: !self.is_negative && !self.is_zero(), ..self }
    }

    /// The distance from 0.
    #[must_use]
    pub fn absolute(self) -> Self {
        Self { is_negative: false, ..self }
    }

    /// The sum.
    pub fn plus(self, other: Self) -> Result<Self, OutOfRange> {
        let (upper, lower) =
            if self.exponent >= other.exponent { (self, other) } else { (other, self) };
        if upper.is_zero() {
            return Ok(lower);
        }
        if lower.is_zero() {
            return Ok(upper);
        }
        let shift = upper.exponent.abs_diff(lower.exponent);
        let exponent = i64::from(lower.exponent);
        if shift <= DIGITS_MAX
            && let Some(aligned) = upper.coefficient.checked_mul(10_u128.pow(shift))
            && aligned < COEFFICIENT_END
        {
            // Both are below 10^38, so that the sum fits 128 bits.
            let (is_negative, sum) = if upper.is_negative == lower.is_negative {
                (upper.is_negative, aligned + lower.coefficient)
            } else if aligned >= lower.coefficient {
                (upper.is_negative, aligned - lower.coefficient)
            } else {
                (lower.is_negative, lower.coefficient - aligned)
            };
            if sum < COEFFICIENT_END {
                return Self::checked(is_negative, sum, exponent);
            }
            return Self::rounded(is_negative, Wide::of(sum), false, exponent, DIGITS_MAX);
        }
        Self::plus_far(upper, lower, shift)
    }

    /// The sum of numbers whose digits do not overlap within 38 places.
    fn plus_far(upper: Self, lower: Self, shift: u32) -> Result<Self, OutOfRange> {
        // One digit more than the result has, so that what is cut off only says "more follows".
        let reach = DIGITS_MAX + 1;
        let cut = shift.saturating_sub(reach);
        let aligned = Wide::of(upper.coefficient).times_power(shift - cut);
        let (kept, is_more) = match 10_u128.checked_pow(cut) {
            Some(power) => (lower.coefficient / power, !lower.coefficient.is_multiple_of(power)),
            None => (0, true),
        };
        let exponent = i64::from(lower.exponent) + i64::from(cut);
        let kept = Wide::of(kept);
        let (is_negative, sum) = if upper.is_negative == lower.is_negative {
            (upper.is_negative, aligned.plus(kept))
        } else if kept.is_less_than(aligned) {
            let rest = aligned.minus(kept);
            (upper.is_negative, if is_more { rest.minus(Wide::of(1)) } else { rest })
        } else {
            (lower.is_negative, kept.minus(aligned))
        };
        Self::rounded(is_negative, sum, is_more, exponent, DIGITS_MAX)
    }

    /// The difference.
    pub fn minus(self, other: Self) -> Result<Self, OutOfRange> {
        self.plus(other.negated())
    }

    /// The product.
    pub fn times(self, other: Self) -> Result<Self, OutOfRange> {
        let is_negative = self.is_negative != other.is_negative;
        let exponent = i64::from(self.exponent) + i64::from(other.exponent);
        match self.coefficient.checked_mul(other.coefficient) {
            Some(product) if product < COEFFICIENT_END => {
                Self::checked(is_negative, product, exponent)
            }
            _ => {
                let product = Wide::product(self.coefficient, other.coefficient);
                Self::rounded(is_negative, product, false, exponent, DIGITS_MAX)
            }
        }
    }

    /// With `places` digits behind the point; before it for less than 0.
    #[must_use]
    pub fn at_places(self, places: i32, rounding: Rounding) -> Self {
        let drop = -i64::from(places) - i64::from(self.exponent);
        if drop <= 0 || self.is_zero() {
            return self;
        }
        let power = u32::try_from(drop).ok().and_then(|drop| 10_u128.checked_pow(drop));
        let (kept, is_exact, is_half) = match power {
            Some(power) => {
                let rest = self.coefficient % power;
                (self.coefficient / power, rest == 0, rest >= power / 2)
            }
            None => (0, false, false),
        };
        let is_up = !is_exact
            && match rounding {
                Rounding::Nearest => is_half,
                Rounding::Truncate => false,
                Rounding::Floor => self.is_negative,
                Rounding::Ceiling => !self.is_negative,
            };
        let coefficient = kept + u128::from(is_up);
        if coefficient == 0 {
            return Self::ZERO;
        }
        Self { is_negative: self.is_negative, coefficient, exponent: -places }
    }

    /// The nearest float; `None` beyond the range of floats.
    pub fn to_float(self) -> Option<f64> {
        let text = format!("{}e{}", self.coefficient, self.exponent);
        let value: f64 = text.parse().ok()?;
        value.is_finite().then_some(if self.is_negative { -value } else { value })
    }

    /// The number as a whole number, if it is one that fits 64 bits.
    pub fn to_i64(self) -> Option<i64> {
        let number = self.stripped();
        let power = 10_u128.checked_pow(u32::try_from(number.exponent).ok()?)?;
        let whole = i128::try_from(number.coefficient.checked_mul(power)?).ok()?;
        i64::try_from(if self.is_negative { -whole } else { whole }).ok()
    }

    /// Whether there is nothing behind the point.
    pub fn is_whole(self) -> bool {
        self.stripped().exponent >= 0
    }

    /// The number of a value: a whole one if it fits 64 bits, else its text.
    pub fn to_number(self) -> Number {
        match self.to_i64() {
            Some(whole) => Number::Int(whole),
            None => Number::Source(self.to_string().into()),
        }
    }
}

impl From<i64> for Decimal {
    fn from(value: i64) -> Self {
        Self { is_negative: value < 0, coefficient: value.unsigned_abs().into(), exponent: 0 }
    }
}

impl From<u64> for Decimal {
    fn from(value: u64) -> Self {
        Self { is_negative: false, coefficient: value.into(), exponent: 0 }
    }
}

impl PartialEq for Decimal {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Decimal {}

impl PartialOrd for Decimal {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Decimal {
    fn cmp(&self, other: &Self) -> Ordering {
        let sign = |number: &Self| match (number.is_zero(), number.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        };
        let by_sign = sign(self).cmp(&sign(other));
        if by_sign.is_ne() || self.is_zero() {
            return by_sign;
        }
        let adjusted =
            |number: &Self| i64::from(number.exponent) + i64::from(number.coefficient.ilog10());
        let by_size = adjusted(self).cmp(&adjusted(other)).then_with(|| {
            // The same power of ten: both fill 38 digits without changing their order.
            let full = |number: &Self| {
                number.coefficient * 10_u128.pow(DIGITS_MAX - 1 - number.coefficient.ilog10())
            };
            full(self).cmp(&full(other))
        });
        if self.is_negative { by_size.reverse() } else { by_size }
    }
}

#[cfg(test)]
mod tests;
