//! Quotients, remainders and powers of decimals.

use super::{DIGITS_MAX, Decimal, OutOfRange, ROUNDED_DIGITS, Wide};

impl Decimal {
    /// The quotient in 16 digits, or in as many as its whole part has; `None` for a divisor of 0.
    pub fn divided_by(self, other: Self) -> Option<Result<Self, OutOfRange>> {
        if other.is_zero() {
            return None;
        }
        if self.is_zero() {
            return Some(Ok(Self::ZERO));
        }
        let (left, right) = (self.coefficient, other.coefficient);
        let (left_digits, right_digits) = (left.ilog10() + 1, right.ilog10() + 1);
        let exponent = i64::from(self.exponent) - i64::from(other.exponent);
        let digits_of = |whole: i64| {
            whole.clamp(i64::from(ROUNDED_DIGITS), i64::from(DIGITS_MAX)).unsigned_abs() as u32
        };
        // Perhaps one more than there are.
        let whole_digits = i64::from(left_digits) - i64::from(right_digits) + exponent + 1;
        let shift = (digits_of(whole_digits) + 1 + right_digits).saturating_sub(left_digits);
        let (quotient, rest) = Wide::of(left).times_power(shift).divided_by(right);
        let exponent = exponent - i64::from(shift);
        let digits_max = digits_of(i64::from(quotient.digits()) + exponent);
        let is_negative = self.is_negative != other.is_negative;
        Some(Self::rounded(is_negative, quotient, rest != 0, exponent, digits_max))
    }

    /// The quotient without its fraction; `None` for a divisor of 0.
    pub fn divided_whole_by(self, other: Self) -> Option<Result<Self, OutOfRange>> {
        if other.is_zero() {
            return None;
        }
        let is_negative = self.is_negative != other.is_negative;
        let exponent = self.exponent - other.exponent;
        let shift = exponent.unsigned_abs();
        let quotient = if exponent < 0 {
            let divisor =
                10_u128.checked_pow(shift).and_then(|power| power.checked_mul(other.coefficient));
            Wide::of(divisor.map_or(0, |divisor| self.coefficient / divisor))
        } else if shift + self.coefficient.checked_ilog10().unwrap_or(0) < Wide::DIGITS {
            Wide::of(self.coefficient).times_power(shift).divided_by(other.coefficient).0
        } else {
            // More digits than a whole number can have.
            return self.divided_by(other);
        };
        Some(Self::rounded(is_negative, quotient, false, 0, DIGITS_MAX))
    }

    /// What remains of the division without fraction, with the sign of the dividend; `None` for a
    /// divisor of 0. Always exact.
    pub fn remainder_of(self, other: Self) -> Option<Self> {
        if other.is_zero() {
            return None;
        }
        let exponent = self.exponent - other.exponent;
        let shift = exponent.unsigned_abs();
        let (coefficient, exponent) = if exponent < 0 {
            let divisor =
                10_u128.checked_pow(shift).and_then(|power| power.checked_mul(other.coefficient));
            // A divisor beyond 128 bits is larger than the dividend.
            let rest = divisor.map_or(self.coefficient, |divisor| self.coefficient % divisor);
            (rest, self.exponent)
        } else {
            let modulus = other.coefficient;
            let power = power_of_ten_modulo(shift, modulus);
            (times_modulo(self.coefficient % modulus, power, modulus), other.exponent)
        };
        if coefficient == 0 {
            return Some(Self::ZERO);
        }
        Some(Self { is_negative: self.is_negative, coefficient, exponent })
    }

    /// A power with a whole exponent that is not negative, if it is exact.
    pub fn exact_power(self, exponent: u32) -> Option<Self> {
        let mut product = Self::from(1_u64);
        let mut base = self;
        let mut left = exponent;
        loop {
            if left & 1 == 1 {
                product = product.times_exactly(base)?;
            }
            left >>= 1;
            if left == 0 {
                return Some(product);
            }
            base = base.times_exactly(base)?;
        }
    }

    /// The product if it is exact.
    fn times_exactly(self, other: Self) -> Option<Self> {
        let (left, right) = (self.stripped(), other.stripped());
        let product = Wide::product(left.coefficient, right.coefficient);
        let drop = product.digits().saturating_sub(DIGITS_MAX);
        let kept = product.without_digits(drop, false);
        (drop == 0 || kept.times_power(drop) == product).then(|| left.times(right).ok())?
    }
}

/// 10^`exponent` modulo a number of at most 38 digits.
fn power_of_ten_modulo(exponent: u32, modulus: u128) -> u128 {
    let mut product = 1 % modulus;
    let mut base = 10 % modulus;
    let mut left = exponent;
    while left > 0 {
        if left & 1 == 1 {
            product = times_modulo(product, base, modulus);
        }
        base = times_modulo(base, base, modulus);
        left >>= 1;
    }
    product
}

fn times_modulo(left: u128, right: u128, modulus: u128) -> u128 {
    match left.checked_mul(right) {
        Some(product) => product % modulus,
        None => Wide::product(left, right).divided_by(modulus).1,
    }
}
