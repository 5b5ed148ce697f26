//! 32-bit floats in a world of 64-bit ones.

/// The 64-bit float that prints as the shortest text of a 32-bit one: 247.99 becomes 247.99, and
/// not the 247.99000549316406 that it is exactly (FMT-31).
pub(super) fn widen(value: f32) -> f64 {
    /// Decimals tried before printing; amounts of money have two or three.
    const QUICK_SCALES: [f64; 5] = [1.0, 10.0, 100.0, 1000.0, 10_000.0];
    /// A 32-bit float tells any two decimals of six digits apart, so what rounds back is shortest.
    const QUICK_MAX: f64 = 999_999.0;

    let exact = f64::from(value);
    for scale in QUICK_SCALES {
        let scaled = exact * scale;
        if scaled.is_nan() || scaled.abs() > QUICK_MAX {
            break;
        }
        // Rounds by way of an integer, which needs no call into the mathematics library.
        let candidate = f64::from((scaled + 0.5_f64.copysign(scaled)) as i32) / scale;
        // By bits: zero loses its sign on this way.
        if (candidate as f32).to_bits() == value.to_bits() {
            return candidate;
        }
    }
    format!("{value:e}").parse().unwrap_or(exact)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn decimals_come_back_as_they_were_written() {
        for text in ["247.99", "4.6", "0.1", "229", "-0.5", "16777216", "1e-7", "3.4028235e38"] {
            let value: f32 = text.parse().unwrap();
            let expected: f64 = text.parse().unwrap();
            assert_eq!(widen(value).to_bits(), expected.to_bits(), "{text}");
        }
        assert!(widen(f32::NAN).is_nan());
        assert!(widen(f32::NEG_INFINITY) < f64::MIN);
    }

    proptest! {
        #[test]
        fn the_text_is_the_shortest_one(value in any::<f32>().prop_filter("finite", |v| v.is_finite())) {
            let printed: f64 = format!("{value}").parse().unwrap();
            prop_assert_eq!(widen(value).to_bits(), printed.to_bits());
        }

        #[test]
        fn amounts_are_the_shortest_text(dollars in any::<i16>(), cents in 0..100_u8) {
            let value = f32::from(dollars) + f32::from(cents) / 100.0;
            let printed: f64 = format!("{value}").parse().unwrap();
            prop_assert_eq!(widen(value).to_bits(), printed.to_bits());
        }
    }
}
