//! Numbers as digits of base 16, eight at a time.
//!
//! Requests that nobody records pay for the names in their headers and lines of logs, too; so there is no loop over
//! digits here, and no `format!`.

/// The digits of a number, in lower case.
pub fn digits_of(number: u64) -> [u8; 16] {
    let mut digits = [b'0'; 16];
    let (high, low) = digits.split_at_mut(8);
    high.copy_from_slice(&eight_digits_of((number >> 32) as u32));
    low.copy_from_slice(&eight_digits_of(number as u32));
    digits
}

/// The number that these digits write; none if one of them is no digit, or is in upper case.
pub fn number_of(digits: [u8; 16]) -> Option<u64> {
    let [high, low] = [0, 8].map(|at| {
        let mut eight = [0; 8];
        eight.copy_from_slice(&digits[at..at + 8]);
        number_of_eight(eight)
    });
    Some(u64::from(high?) << 32 | u64::from(low?))
}

/// This in each byte.
const fn in_each(byte: u8) -> u64 {
    u64::from_ne_bytes([byte; 8])
}

/// What a letter is above the digit that would stand there if digits went on behind `9`.
const LETTER: u8 = b'a' - b'9' - 1;

fn eight_digits_of(number: u32) -> [u8; 8] {
    // Half as much in each place, until there are four bits in each byte.
    let spread = u64::from(number);
    let spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    let spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let spread = (spread | spread << 4) & in_each(0x0f);
    // Six more than ten reach the fifth bit.
    let letters = (spread + in_each(6)) >> 4 & in_each(1);
    (spread + in_each(b'0') + letters * u64::from(LETTER)).to_be_bytes()
}

fn number_of_eight(digits: [u8; 8]) -> Option<u32> {
    let text = u64::from_be_bytes(digits);
    // Letters have a bit that digits have not; the lower half of `a` is 1.
    let letters = text >> 6 & in_each(1);
    let spread = (text & in_each(0x0f)) + letters * 9;
    let packed = (spread | spread >> 4) & 0x00ff_00ff_00ff_00ff;
    let packed = (packed | packed >> 8) & 0x0000_ffff_0000_ffff;
    let number = (packed | packed >> 16) as u32;
    // What was no digit does not come out again.
    (eight_digits_of(number) == digits).then_some(number)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn all_digits_are_written_and_read() {
        assert_eq!(&digits_of(0x00f0_1234_5678_9abc), b"00f0123456789abc");
        assert_eq!(number_of(*b"fedcba9876543210"), Some(0xfedc_ba98_7654_3210));
        for byte in 0..=u8::MAX {
            let is_digit = matches!(byte, b'0'..=b'9' | b'a'..=b'f');
            for at in 0..16 {
                let mut digits = *b"0123456789abcdef";
                digits[at] = byte;
                assert_eq!(number_of(digits).is_some(), is_digit, "{byte} at {at}");
            }
        }
    }

    proptest! {
        #[test]
        fn numbers_are_written_as_the_library_does(number: u64) {
            let digits = digits_of(number);
            prop_assert_eq!(str::from_utf8(&digits).expect("text"), format!("{number:016x}"));
            prop_assert_eq!(number_of(digits), Some(number));
        }

        #[test]
        fn what_is_read_is_what_was_written(digits: [u8; 16]) {
            if let Some(number) = number_of(digits) {
                prop_assert_eq!(digits_of(number), digits);
            }
        }
    }
}
