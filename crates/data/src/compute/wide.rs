//! Whole numbers of 256 bits: what stands between the operands of a decimal operation and its
//! rounded result.

/// 10^19, the largest power of ten in a machine word.
const WORD_POWER: u32 = 19;

/// A whole number without a sign, least significant word first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Wide([u64; 4]);

impl Wide {
    /// Decimal digits that always fit.
    pub(super) const DIGITS: u32 = 77;

    pub(super) fn of(value: u128) -> Self {
        Self([value as u64, (value >> 64) as u64, 0, 0])
    }

    pub(super) fn product(left: u128, right: u128) -> Self {
        let low = Self::of(left).times_word(right as u64);
        let high = Self::of(left).times_word((right >> 64) as u64);
        let [first, second, third, _] = high.0;
        low.plus(Self([0, first, second, third]))
    }

    /// Times 10^`exponent`; the caller knows that it fits.
    pub(super) fn times_power(self, exponent: u32) -> Self {
        let mut product = self;
        let mut left = exponent;
        while left > 0 {
            let step = left.min(WORD_POWER);
            product = product.times_word(10_u64.pow(step));
            left -= step;
        }
        product
    }

    fn times_word(self, factor: u64) -> Self {
        let mut carry = 0;
        Self(self.0.map(|word| {
            let product = u128::from(word) * u128::from(factor) + carry;
            carry = product >> 64;
            product as u64
        }))
    }

    pub(super) fn plus(self, other: Self) -> Self {
        let mut out = [0; 4];
        let mut carry = false;
        for (at, slot) in out.iter_mut().enumerate() {
            let (sum, over) = self.0[at].overflowing_add(other.0[at]);
            let (sum, over_again) = sum.overflowing_add(u64::from(carry));
            *slot = sum;
            carry = over || over_again;
        }
        Self(out)
    }

    /// Minus `other`, which is not larger.
    pub(super) fn minus(self, other: Self) -> Self {
        let mut out = [0; 4];
        let mut borrow = false;
        for (at, slot) in out.iter_mut().enumerate() {
            let (rest, under) = self.0[at].overflowing_sub(other.0[at]);
            let (rest, under_again) = rest.overflowing_sub(u64::from(borrow));
            *slot = rest;
            borrow = under || under_again;
        }
        Self(out)
    }

    pub(super) fn is_less_than(self, other: Self) -> bool {
        self.0.iter().rev().lt(other.0.iter().rev())
    }

    pub(super) fn is_odd(self) -> bool {
        self.0[0] & 1 == 1
    }

    pub(super) fn narrow(self) -> Option<u128> {
        let [low, high, 0, 0] = self.0 else { return None };
        Some(u128::from(low) | u128::from(high) << 64)
    }

    /// The number of decimal digits; 0 has none.
    pub(super) fn digits(self) -> u32 {
        let mut rest = self;
        let mut dropped = 0;
        loop {
            if let Some(narrow) = rest.narrow() {
                return dropped + narrow.checked_ilog10().map_or(0, |power| power + 1);
            }
            rest = rest.divided_by_word(10_u64.pow(WORD_POWER)).0;
            dropped += WORD_POWER;
        }
    }

    pub(super) fn divided_by_word(self, divisor: u64) -> (Self, u64) {
        let mut out = [0; 4];
        let mut rest: u128 = 0;
        for (at, slot) in out.iter_mut().enumerate().rev() {
            let part = rest << 64 | u128::from(self.0[at]);
            *slot = (part / u128::from(divisor)) as u64;
            rest = part % u128::from(divisor);
        }
        (Self(out), rest as u64)
    }

    /// Quotient and remainder; the divisor has at most 127 bits and is not 0.
    pub(super) fn divided_by(self, divisor: u128) -> (Self, u128) {
        if let Ok(word) = u64::try_from(divisor) {
            let (quotient, rest) = self.divided_by_word(word);
            return (quotient, u128::from(rest));
        }
        if let Some(narrow) = self.narrow() {
            return (Self::of(narrow / divisor), narrow % divisor);
        }
        // Bit by bit: 256 cheap steps, for divisors of more than 19 digits only.
        let mut quotient = [0; 4];
        let mut rest: u128 = 0;
        for at in (0..4).rev() {
            for bit in (0..64).rev() {
                rest = rest << 1 | u128::from(self.0[at] >> bit & 1);
                if rest >= divisor {
                    rest -= divisor;
                    quotient[at] |= 1 << bit;
                }
            }
        }
        (Self(quotient), rest)
    }

    /// Without its last `count` decimal digits, rounded half to even. `is_more` says that digits
    /// that are not 0 follow the number.
    pub(super) fn without_digits(self, count: u32, is_more: bool) -> Self {
        if count == 0 {
            return self;
        }
        let mut kept = self;
        let mut is_more = is_more;
        let mut left = count - 1;
        while left > 0 {
            let step = left.min(WORD_POWER);
            let (quotient, rest) = kept.divided_by_word(10_u64.pow(step));
            kept = quotient;
            is_more |= rest != 0;
            left -= step;
        }
        let (kept, digit) = kept.divided_by_word(10);
        if digit > 5 || (digit == 5 && (is_more || kept.is_odd())) {
            kept.plus(Self::of(1))
        } else {
            kept
        }
    }
}
