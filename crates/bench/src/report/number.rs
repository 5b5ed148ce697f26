//! Numbers as people read them.

/// With a comma before each three digits: `734,339`.
pub fn grouped(number: u64) -> String {
    group(&number.to_string())
}

/// With so many decimals, and commas: `1,771.25`. What is no number is a dash.
pub fn decimals(number: f64, places: usize) -> String {
    if !number.is_finite() {
        return "-".to_owned();
    }
    let text = format!("{number:.places$}");
    let (whole, rest) = text.find('.').map_or((text.as_str(), ""), |at| text.split_at(at));
    // A rounded nothing has no sign.
    let is_zero = text.chars().all(|c| matches!(c, '-' | '0' | '.'));
    let (sign, digits) = match whole.strip_prefix('-') {
        Some(digits) => (if is_zero { "" } else { "-" }, digits),
        None => ("", whole),
    };
    format!("{sign}{}{rest}", group(digits))
}

/// Operations per second as benchmark.js prints them: two decimals below a hundred, else none.
pub fn rate(number: f64) -> String {
    decimals(number, if number < 100.0 { 2 } else { 0 })
}

/// With three digits that say something: `0.0123`, `4.57`, `83.1`, `1,240`.
pub fn short(number: f64) -> String {
    let places = match number.abs() {
        magnitude if magnitude >= 100.0 || magnitude == 0.0 => 0,
        magnitude if magnitude >= 10.0 => 1,
        magnitude if magnitude >= 1.0 => 2,
        magnitude if magnitude >= 0.1 => 3,
        _ => 4,
    };
    decimals(number, places)
}

fn group(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_of_three() {
        let cases = [(0, "0"), (72, "72"), (1002, "1,002"), (734_339, "734,339")];
        for (number, expected) in cases {
            assert_eq!(grouped(number), expected);
        }
        assert_eq!(grouped(1_000_000), "1,000,000");
    }

    #[test]
    fn decimals_are_rounded_and_grouped() {
        assert_eq!(decimals(203.426, 2), "203.43");
        assert_eq!(decimals(-1234.5, 1), "-1,234.5");
        assert_eq!(decimals(-0.001, 2), "0.00");
        assert_eq!(decimals(f64::NAN, 2), "-");
        assert_eq!(decimals(12_248.0, 0), "12,248");
    }

    #[test]
    fn rates_have_two_decimals_below_a_hundred() {
        assert_eq!(rate(4.517), "4.52");
        assert_eq!(rate(99.994), "99.99");
        assert_eq!(rate(1771.2), "1,771");
    }

    #[test]
    fn short_numbers_keep_what_matters() {
        let cases = [(0.01234, "0.0123"), (0.5, "0.500"), (4.5678, "4.57"), (1240.4, "1,240")];
        for (number, expected) in cases {
            assert_eq!(short(number), expected);
        }
    }
}
