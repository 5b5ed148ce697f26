//! Decimals against whole numbers of any size.

use num_bigint::{BigInt, BigUint, Sign};
use proptest::prelude::*;

use super::*;

/// A decimal as the oracle has it: a whole number of any size, and a power of ten.
#[derive(Debug, Clone)]
struct Exact {
    coefficient: BigInt,
    exponent: i64,
}

impl Exact {
    fn of(decimal: Decimal) -> Self {
        let sign = if decimal.is_negative { Sign::Minus } else { Sign::Plus };
        let size = BigUint::from(decimal.coefficient);
        Self { coefficient: BigInt::from_biguint(sign, size), exponent: decimal.exponent.into() }
    }

    /// The same number with a smaller exponent.
    fn with_exponent(&self, exponent: i64) -> BigInt {
        let power = u32::try_from(self.exponent - exponent).unwrap();
        &self.coefficient * BigInt::from(10).pow(power)
    }

    fn plus(&self, other: &Self) -> Self {
        let exponent = self.exponent.min(other.exponent);
        let coefficient = self.with_exponent(exponent) + other.with_exponent(exponent);
        Self { coefficient, exponent }
    }

    fn times(&self, other: &Self) -> Self {
        let coefficient = &self.coefficient * &other.coefficient;
        Self { coefficient, exponent: self.exponent + other.exponent }
    }

    /// Rounded half to even, by digits written out.
    fn rounded(&self, digits_max: usize) -> Self {
        let digits = self.coefficient.magnitude().to_string();
        if digits.len() <= digits_max {
            return self.clone();
        }
        let drop = (digits.len() - digits_max) as u32;
        let power = BigUint::from(10_u32).pow(drop);
        let (mut kept, rest) =
            (self.coefficient.magnitude() / &power, self.coefficient.magnitude() % &power);
        let twice = rest * 2_u32;
        if twice > power || (twice == power && kept.bit(0)) {
            kept += 1_u32;
        }
        let coefficient = BigInt::from_biguint(self.coefficient.sign(), kept);
        Self { coefficient, exponent: self.exponent + i64::from(drop) }
    }

    fn is(&self, decimal: Decimal) -> bool {
        let other = Self::of(decimal);
        let exponent = self.exponent.min(other.exponent);
        self.with_exponent(exponent) == other.with_exponent(exponent)
    }
}

/// Numbers of any length, with exponents far apart and close together, and many nines, zeros and
/// fives, where rounding decides.
fn any_decimal() -> impl Strategy<Value = Decimal> {
    let coefficient = prop_oneof![
        0..20_u128,
        any::<u64>().prop_map(u128::from),
        0..COEFFICIENT_END,
        "[0591]{1,38}".prop_map(|digits| digits.parse().unwrap()),
        Just(COEFFICIENT_END - 1),
    ];
    let exponent = prop_oneof![-3..4_i64, -45..46_i64, -400..400_i64];
    (any::<bool>(), coefficient, exponent).prop_map(|(is_negative, coefficient, exponent)| {
        Decimal::checked(is_negative, coefficient, exponent).unwrap()
    })
}

fn decimal(text: &str) -> Decimal {
    Decimal::read(text).unwrap().unwrap()
}

#[test]
fn numbers_are_read_and_printed() {
    for (text, printed) in [
        ("0", "0"),
        ("-0.00e9", "0"),
        ("0e999999999999", "0"),
        ("1.50", "1.5"),
        ("-007.0", "-7"),
        (".5", "0.5"),
        ("5.", "5"),
        ("+1e2", "100"),
        ("1e20", "100000000000000000000"),
        ("1e21", "1e+21"),
        ("1.5e300", "1.5e+300"),
        ("1e-6", "0.000001"),
        ("1.25e-7", "1.25e-7"),
        ("12345678901234567890123456789012345678", "12345678901234567890123456789012345678"),
        ("0.12345678901234567890123456789012345678", "0.12345678901234567890123456789012345678"),
        // 39 digits: rounded half to even.
        ("123456789012345678901234567890123456785", "1.2345678901234567890123456789012345678e+38"),
        ("0.123456789012345678901234567890123456775", "0.12345678901234567890123456789012345678"),
        (
            "0.1234567890123456789012345678901234567850001",
            "0.12345678901234567890123456789012345679",
        ),
        ("0.999999999999999999999999999999999999999", "1"),
        ("1e6144", "1e+6144"),
        ("1e-6144", "1e-6144"),
    ] {
        assert_eq!(decimal(text).to_string(), printed, "{text}");
    }
    for text in ["1e6145", "1e-6145", "1e999999999999999999999999", "-1e-999999999999999999999999"]
    {
        assert_eq!(Decimal::read(text), Some(Err(OutOfRange)), "{text}");
    }
    assert_eq!(Decimal::read("12 "), None);
    assert_eq!(Decimal::of_float(0.1).unwrap(), decimal("0.1"));
    assert_eq!(Decimal::of_float(f64::MAX).unwrap().to_float(), Some(f64::MAX));
    assert_eq!(Decimal::of_float(5e-324).unwrap().to_float(), Some(5e-324));
    assert_eq!(Decimal::of_float(f64::NAN), Err(OutOfRange));
    assert_eq!(decimal("1e309").to_float(), None);
}

#[test]
fn a_long_text_is_read_in_one_pass() {
    let text = format!("0.{}1", "3".repeat(4 << 20));
    assert_eq!(decimal(&text), decimal(&format!("0.{}", "3".repeat(38))));
    let text = format!("1e{}", "9".repeat(4 << 20));
    assert_eq!(Decimal::read(&text), Some(Err(OutOfRange)));
}

#[test]
fn quotients_have_sixteen_digits_or_those_of_the_whole_part() {
    for (left, right, quotient) in [
        ("7", "2", "3.5"),
        ("1", "3", "0.3333333333333333"),
        ("2", "3", "0.6666666666666667"),
        ("-2", "3", "-0.6666666666666667"),
        ("10", "3", "3.333333333333333"),
        ("1", "1024", "0.0009765625"),
        ("1", "1099511627776", "9.094947017729282e-13"),
        ("123456789012345678", "1", "123456789012345678"),
        ("12345678901234567890", "4", "3086419725308641972"),
        ("99999999999999999999999999999999999999", "3", "33333333333333333333333333333333333333"),
        ("1e300", "3", "3.3333333333333333333333333333333333333e+299"),
        ("1", "99999999999999999999999999999999999999", "1e-38"),
        ("0", "7", "0"),
    ] {
        let result = decimal(left).divided_by(decimal(right)).unwrap().unwrap();
        assert_eq!(result.to_string(), quotient, "{left} / {right}");
    }
    assert!(decimal("1").divided_by(Decimal::ZERO).is_none());
    assert_eq!(decimal("1e-6000").divided_by(decimal("1e6000")), Some(Err(OutOfRange)));
}

#[test]
fn remainders_have_the_sign_of_the_dividend() {
    for (left, right, rest, whole) in [
        ("7", "3", "1", "2"),
        ("-7", "3", "-1", "-2"),
        ("7", "-3", "1", "-2"),
        ("7.5", "2", "1.5", "3"),
        ("0.3", "0.1", "0", "3"),
        ("1", "0.3", "0.1", "3"),
        ("5", "1e300", "5", "0"),
        ("1e20", "7", "2", "14285714285714285714"),
        ("3", "1e-40", "0", "3e+40"),
    ] {
        let (left, right) = (decimal(left), decimal(right));
        assert_eq!(left.remainder_of(right).unwrap().to_string(), rest, "{left} % {right}");
        assert_eq!(left.divided_whole_by(right).unwrap().unwrap().to_string(), whole);
    }
    // 10^6000 mod 7 = 10^(6000 mod 6) mod 7.
    assert_eq!(decimal("1e6000").remainder_of(decimal("7")).unwrap(), decimal("1"));
    assert!(decimal("1").remainder_of(Decimal::ZERO).is_none());
}

#[test]
fn rounding_has_four_directions() {
    use Rounding::{Ceiling, Floor, Nearest, Truncate};
    for (text, places, nearest, truncated, floor, ceiling) in [
        ("2.5", 0, "3", "2", "2", "3"),
        ("-2.5", 0, "-3", "-2", "-3", "-2"),
        ("2.4", 0, "2", "2", "2", "3"),
        ("0.5", 0, "1", "0", "0", "1"),
        ("-0.2", 0, "0", "0", "-1", "0"),
        ("1.005", 2, "1.01", "1", "1", "1.01"),
        ("1234.5", -2, "1200", "1200", "1200", "1300"),
        ("55", -2, "100", "0", "0", "100"),
        ("1.5", 40, "1.5", "1.5", "1.5", "1.5"),
        ("1e-300", 2, "0", "0", "0", "0.01"),
        ("99.99", 1, "100", "99.9", "99.9", "100"),
    ] {
        for (rounding, rounded) in
            [(Nearest, nearest), (Truncate, truncated), (Floor, floor), (Ceiling, ceiling)]
        {
            let result = decimal(text).at_places(places, rounding);
            assert_eq!(result.to_string(), rounded, "{text} {places} {rounding:?}");
        }
    }
}

#[test]
fn fixed_places_are_written_out() {
    for (text, places, fixed) in [
        ("0", 0, "0"),
        ("0", 2, "0.00"),
        ("7", 2, "7.00"),
        ("-7.5", 2, "-7.50"),
        ("0.05", 2, "0.05"),
        ("0.05", 3, "0.050"),
        ("-0.5", 1, "-0.5"),
        ("1e5", 1, "100000.0"),
        ("123.45", 2, "123.45"),
        ("120", 0, "120"),
    ] {
        assert_eq!(decimal(text).to_fixed(places), fixed, "{text} {places}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn sums_and_products_are_those_of_whole_numbers(left in any_decimal(), right in any_decimal()) {
        let (exact_left, exact_right) = (Exact::of(left), Exact::of(right));
        let sum = exact_left.plus(&exact_right).rounded(DIGITS_MAX as usize);
        prop_assert!(sum.is(left.plus(right).unwrap()), "{left:?} + {right:?} = {sum:?}");
        let product = exact_left.times(&exact_right).rounded(DIGITS_MAX as usize);
        prop_assert!(product.is(left.times(right).unwrap()), "{left:?} * {right:?} = {product:?}");
        prop_assert_eq!(left.minus(right), left.plus(right.negated()));
    }

    #[test]
    fn quotients_are_those_of_whole_numbers(left in any_decimal(), right in any_decimal()) {
        prop_assume!(!right.is_zero());
        let quotient = left.divided_by(right).unwrap().unwrap();
        // Sixty digits more than the result has, and a last one that stands for all that follow.
        let (exact_left, exact_right) = (Exact::of(left), Exact::of(right));
        let scaled = &exact_left.coefficient * BigInt::from(10).pow(100);
        let mut exact = Exact {
            coefficient: &scaled / &exact_right.coefficient * 10,
            exponent: exact_left.exponent - exact_right.exponent - 101,
        };
        if (&scaled % &exact_right.coefficient) != BigInt::ZERO {
            exact.coefficient += if exact.coefficient.sign() == Sign::Minus { -1 } else { 1 };
        }
        let digits = i64::try_from(exact.coefficient.magnitude().to_string().len()).unwrap();
        let digits = usize::try_from((digits + exact.exponent).clamp(16, 38)).unwrap();
        prop_assert!(exact.rounded(digits).is(quotient), "{left:?} / {right:?} = {quotient:?}");
    }

    #[test]
    fn whole_quotient_and_remainder_give_the_dividend(left in any_decimal(), right in any_decimal()) {
        prop_assume!(!right.is_zero());
        let rest = left.remainder_of(right).unwrap();
        prop_assert!(rest.absolute() < right.absolute());
        prop_assert!(rest.is_zero() || rest.is_negative() == left.is_negative());
        let whole = left.divided_whole_by(right).unwrap().unwrap();
        if whole.absolute() < decimal("1e38") {
            let back = Exact::of(whole).times(&Exact::of(right)).plus(&Exact::of(rest));
            prop_assert!(back.is(left), "{left:?} = {whole:?} * {right:?} + {rest:?}");
        }
    }

    #[test]
    fn order_and_text_are_those_of_the_value(left in any_decimal(), right in any_decimal()) {
        let exponent = left.exponent.min(right.exponent).into();
        let order = Exact::of(left).with_exponent(exponent).cmp(&Exact::of(right).with_exponent(exponent));
        prop_assert_eq!(left.cmp(&right), order);
        prop_assert_eq!(decimal(&left.to_string()), left);
        prop_assert_eq!(Decimal::of_number(&left.to_number()).unwrap(), left);
        let digits = |number: Decimal| number.to_string();
        let (left_text, right_text) = (digits(left), digits(right));
        let compared = DecimalText::of(&left_text).unwrap().compare(&DecimalText::of(&right_text).unwrap());
        prop_assert_eq!(compared, order);
        prop_assert_eq!(DecimalText::of(&left_text).unwrap().to_i64(), left.to_i64());
    }

    #[test]
    fn rounding_keeps_the_distance_below_one_place(number in any_decimal(), places in -40..40_i32) {
        let unit = Decimal::checked(false, 1, -i64::from(places)).unwrap();
        for rounding in [Rounding::Nearest, Rounding::Truncate, Rounding::Floor, Rounding::Ceiling] {
            let rounded = number.at_places(places, rounding);
            let distance = Exact::of(number).plus(&Exact::of(rounded.negated()));
            let bound = Exact::of(unit);
            let exponent = distance.exponent.min(bound.exponent);
            prop_assert!(distance.with_exponent(exponent).magnitude() < bound.with_exponent(exponent).magnitude());
            prop_assert!(rounded.at_places(places, Rounding::Ceiling) == rounded);
            prop_assert!(rounding != Rounding::Floor || rounded <= number);
            prop_assert!(rounding != Rounding::Ceiling || rounded >= number);
        }
        if let Ok(places) = u16::try_from(places) && number.absolute() < decimal("1e30") {
            let rounded = number.at_places(places.into(), Rounding::Nearest);
            let fixed = number.to_fixed(places);
            prop_assert_eq!(decimal(&fixed), rounded);
            prop_assert_eq!(fixed.split_once('.').map_or(0, |(_, behind)| behind.len()), usize::from(places));
        }
    }

    #[test]
    fn exact_powers_are_exact(base in 2..30_i64, exponent in 0..40_u32) {
        let power = BigInt::from(base).pow(exponent);
        match Decimal::from(base).exact_power(exponent) {
            Some(result) => {
                let exact = Exact { coefficient: power, exponent: 0 };
                prop_assert!(exact.is(result));
            }
            None => prop_assert!(power.to_string().trim_end_matches('0').len() > 30),
        }
    }
}
