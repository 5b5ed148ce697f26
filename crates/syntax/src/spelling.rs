//! Guesses which known word somebody meant, for "did you mean" hints.
//!
//! In: a word and the words that would have been right. Out: the closest one, if it is close enough
//! that the guess is very likely true. A wrong hint costs more than none, so short words must differ
//! in one place only.

/// Words longer than this are never compared; the cost of a comparison is the product of lengths.
const WORD_CHARS_MAX: usize = 64;

/// The candidate closest to `word`: the same word in other case first, else the one that needs the
/// fewest edits. `None` when nothing is close, or when `word` itself is a candidate.
pub fn closest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let length = word.chars().take(WORD_CHARS_MAX + 1).count();
    if length == 0 || length > WORD_CHARS_MAX {
        return None;
    }
    let edits_max = match length {
        1..=2 => 0,
        3..=4 => 1,
        _ => 2,
    };
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        if candidate == word {
            return None;
        }
        let edits =
            if candidate.eq_ignore_ascii_case(word) { 0 } else { distance(word, candidate) };
        let is_same_in_other_case = edits == 0;
        if (is_same_in_other_case || edits <= edits_max)
            && best.is_none_or(|(least, _)| edits < least)
        {
            best = Some((edits, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// The number of insertions, deletions, replacements and swaps of neighbours that turn one word into
/// the other.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().take(WORD_CHARS_MAX).collect();
    let width = right.len() + 1;
    // Three rows suffice: a swap looks back two.
    let mut before = vec![0; width];
    let mut above: Vec<usize> = (0..width).collect();
    for (row, from) in left.iter().enumerate() {
        let mut current = vec![row + 1; width];
        for (column, to) in right.iter().enumerate() {
            let replaced = above[column] + usize::from(from != to);
            let mut edits = replaced.min(above[column + 1] + 1).min(current[column] + 1);
            let is_swap =
                row > 0 && column > 0 && *from == right[column - 1] && left[row - 1] == *to;
            if is_swap {
                edits = edits.min(before[column - 1] + 1);
            }
            current[column + 1] = edits;
        }
        before = std::mem::replace(&mut above, current);
    }
    above[width - 1]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_its_keyword() {
        for (word, meant) in
            [("tabel", "table"), ("retrn", "return"), ("SELECT", "select"), ("fro", "from")]
        {
            assert_eq!(closest(word, ["select", "table", "from", "return"]), Some(meant));
        }
    }

    #[test]
    fn an_unlike_word_finds_nothing() {
        assert_eq!(closest("fetch", ["select", "table", "from", "return"]), None);
        assert_eq!(closest("ab", ["as"]), None);
        assert_eq!(closest("", ["as"]), None);
        assert_eq!(closest(&"x".repeat(100_000), ["as"]), None);
    }

    #[test]
    fn a_right_word_needs_no_guess() {
        assert_eq!(closest("from", ["form", "from"]), None);
    }
}
