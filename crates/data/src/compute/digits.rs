//! The text of a number, taken apart without computing anything: however many digits it has and
//! however large its exponent is, this is linear in the text.

use std::cmp::Ordering;

/// Digits and exponent of a decimal number in a text, as JSON and JavaScript write it: `-1.50e3`, also
/// `+5`, `.5` and `5.`.
#[derive(Debug, Clone, Copy)]
pub(super) struct DecimalText<'t> {
    is_negative: bool,
    /// Digits before the point, from the first that is not 0.
    whole: &'t str,
    /// Digits behind it; without those zeros at either end that say nothing.
    fraction: &'t str,
    /// The power of ten of the first digit.
    exponent: i64,
}

impl<'t> DecimalText<'t> {
    /// `None` if the text is no decimal number.
    pub(super) fn of(text: &'t str) -> Option<Self> {
        let (is_negative, text) = match text.as_bytes().first()? {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (whole, rest) = leading_digits(text);
        let (fraction, rest) = match rest.strip_prefix('.') {
            Some(rest) => leading_digits(rest),
            None => ("", rest),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent =
            if rest.is_empty() { 0 } else { read_exponent(rest.strip_prefix(['e', 'E'])?)? };
        let whole = whole.trim_start_matches('0');
        let fraction = fraction.trim_end_matches('0');
        let (whole, fraction, places) = if whole.is_empty() {
            let significant = fraction.trim_start_matches('0');
            let zeros = fraction.len() - significant.len();
            (whole, significant, -length(zeros) - 1)
        } else {
            let places = length(whole.len()) - 1;
            let whole = if fraction.is_empty() { whole.trim_end_matches('0') } else { whole };
            (whole, fraction, places)
        };
        Some(Self { is_negative, whole, fraction, exponent: exponent.saturating_add(places) })
    }

    pub(super) fn is_zero(&self) -> bool {
        self.whole.is_empty() && self.fraction.is_empty()
    }

    pub(super) fn is_negative(&self) -> bool {
        self.is_negative && !self.is_zero()
    }

    /// The digits from the first to the last that is not 0.
    pub(super) fn digits(&self) -> impl Iterator<Item = u8> + Clone + use<'t> {
        self.whole.bytes().chain(self.fraction.bytes()).map(|digit| digit - b'0')
    }

    /// The power of ten of the first digit.
    pub(super) fn adjusted_exponent(&self) -> i64 {
        self.exponent
    }

    /// The number if it is a whole one that fits 64 bits.
    pub(super) fn to_i64(self) -> Option<i64> {
        // That of 2^63.
        const EXPONENT_MAX: i64 = 18;
        if self.is_zero() {
            return Some(0);
        }
        let digits = length(self.whole.len() + self.fraction.len());
        if !(0..=EXPONENT_MAX).contains(&self.exponent) || digits > self.exponent + 1 {
            return None;
        }
        let places = usize::try_from(self.exponent).unwrap_or_default() + 1;
        let digits = self.digits().chain(std::iter::repeat(0)).take(places);
        // Negative numbers reach one further.
        let size = digits.fold(0_i128, |size, digit| size * 10 + i128::from(digit));
        i64::try_from(if self.is_negative { -size } else { size }).ok()
    }

    fn sign(&self) -> i8 {
        match (self.is_zero(), self.is_negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    /// By value, whatever the numbers look like.
    pub(super) fn compare(&self, other: &Self) -> Ordering {
        let by_sign = self.sign().cmp(&other.sign());
        if by_sign.is_ne() || self.is_zero() {
            return by_sign;
        }
        let by_size =
            self.exponent.cmp(&other.exponent).then_with(|| self.digits().cmp(other.digits()));
        if self.is_negative { by_size.reverse() } else { by_size }
    }
}

/// A number of digits; texts are far shorter than its range.
fn length(digits: usize) -> i64 {
    i64::try_from(digits).unwrap_or(i64::MAX)
}

fn leading_digits(text: &str) -> (&str, &str) {
    let end = text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
    text.split_at(end)
}

/// An exponent with or without sign; what is beyond 64 bits is the largest one.
fn read_exponent(text: &str) -> Option<i64> {
    let (is_negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let ("", true) = (leading_digits(digits).1, !digits.is_empty()) else { return None };
    let size = digits
        .bytes()
        .fold(0_i64, |size, digit| size.saturating_mul(10).saturating_add(i64::from(digit - b'0')));
    Some(if is_negative { -size } else { size })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn compare(left: &str, right: &str) -> Ordering {
        DecimalText::of(left).unwrap().compare(&DecimalText::of(right).unwrap())
    }

    #[test]
    fn numbers_compare_by_value_whatever_they_look_like() {
        let rising = [
            "-1e999999999999999999999",
            "-1e400",
            "-10.5",
            "-10",
            "-0.1",
            "0",
            "1e-999999999",
            "0.00000000000000000000000000000000000000000000000001",
            "0.1",
            "0.11",
            "1",
            "9007199254740992",
            "9007199254740993",
            "9007199254740993.0000000000000000000000000000000000000000001",
            "1e400",
            "1e401",
        ];
        for (at, left) in rising.iter().enumerate() {
            for (other, right) in rising.iter().enumerate() {
                assert_eq!(compare(left, right), at.cmp(&other), "{left} {right}");
            }
        }
        for (left, right) in
            [("1.0", "1"), ("100", "1e2"), ("-0", "0.00e7"), ("+5.", "05"), (".5", "0.050e1")]
        {
            assert_eq!(compare(left, right), Ordering::Equal, "{left} {right}");
        }
    }

    #[test]
    fn what_is_no_decimal_number_is_refused() {
        for text in
            ["", "-", ".", "e5", "1e", "1e+", "1 ", "0x1", "1_0", "1.2.3", "1e5.0", "--1", "nan"]
        {
            assert!(DecimalText::of(text).is_none(), "{text}");
        }
    }
}
