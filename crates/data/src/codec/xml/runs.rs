//! Tags between two texts, remembered: in documents of many records they come again and again.
//!
//! In: a run of tags that has been read, and what it led to. Out: the same, if the same bytes come again
//! behind a text of the same element. The elements around a text and the bytes of the tags behind it
//! decide what these tags are, and that they are well-formed, so comparing the bytes is as good as reading
//! them again.

use super::names::NameId;

/// Runs that are remembered for one element: members that some records lack make more than one.
const RUNS_MAX: usize = 4;
/// Longer runs are read each time, in bytes.
const RUN_BYTES_MAX: usize = 255;
/// Bytes that are compared at once.
const CHUNK: usize = 16;

/// Tags, from the end of a text to the start of the next one.
#[derive(Debug, Clone, Copy)]
pub(super) struct Run {
    /// Where the tags start and end in the document.
    pub(super) start: usize,
    pub(super) end: usize,
    /// The innermost element that is open behind them.
    pub(super) inside: NameId,
    /// Rows that begin among them.
    pub(super) rows: usize,
    /// Elements that are kept and begin among them.
    pub(super) built: usize,
    /// Whether nothing else came of them, so that the same bytes do the same.
    pub(super) is_constant: bool,
}

impl Run {
    /// Nothing yet.
    pub(super) fn new(start: usize, inside: NameId) -> Self {
        Self { start, end: start, inside, rows: 0, built: 0, is_constant: true }
    }
}

/// Runs that were found behind the texts of one element.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Runs {
    known: [Known; RUNS_MAX],
    /// Which one is given up for the next one.
    oldest: u8,
}

#[derive(Debug, Clone, Copy, Default)]
struct Known {
    start: u32,
    /// 0 for none.
    length: u8,
    rows: u8,
    built: u8,
    inside: NameId,
}

impl Runs {
    /// The run that comes again at `at`, if it is one of these.
    #[inline]
    pub(super) fn find(&self, bytes: &[u8], at: usize) -> Option<Run> {
        self.known.iter().find_map(|known| {
            let (start, length) = (known.start as usize, usize::from(known.length));
            let is_same = length > 0 && is_again(bytes, start, length, at);
            is_same.then(|| Run {
                start: at,
                end: at + length,
                inside: known.inside,
                rows: known.rows.into(),
                built: known.built.into(),
                is_constant: true,
            })
        })
    }

    /// Remembers a run, unless it is long.
    pub(super) fn add(&mut self, run: &Run) {
        let length = run.end - run.start;
        // Rows and elements take several bytes each, so their numbers fit if the length does.
        if run.is_constant
            && length <= RUN_BYTES_MAX
            && let Ok(start) = u32::try_from(run.start)
        {
            self.known[usize::from(self.oldest)] = Known {
                start,
                length: length as u8,
                rows: run.rows as u8,
                built: run.built as u8,
                inside: run.inside,
            };
            self.oldest = (self.oldest + 1) % RUNS_MAX as u8;
        }
    }
}

/// Whether the `length` bytes at `known` stand at `at` as well.
#[inline]
fn is_again(bytes: &[u8], known: usize, length: usize, at: usize) -> bool {
    let (Some(mut known), Some(mut other)) =
        (bytes.get(known..known + length), bytes.get(at..at + length))
    else {
        return false;
    };
    // So many bytes are compared at once, without a call.
    let (Some(last), Some(other_last)) = (known.last_chunk::<CHUNK>(), other.last_chunk()) else {
        return known == other;
    };
    while let (Some((one, known_rest)), Some((two, other_rest))) =
        (known.split_first_chunk::<CHUNK>(), other.split_first_chunk())
    {
        if one != two {
            return false;
        }
        (known, other) = (known_rest, other_rest);
    }
    // Of the last sixteen bytes some may have been compared.
    last == other_last
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn runs_of_all_lengths_come_again(
            length in 1..300_usize, gap in 0..3_usize, changed in 0..300_usize, is_changed in any::<bool>(),
        ) {
            let run: Vec<u8> = (0..length).map(|at| at as u8).collect();
            let mut bytes = [vec![b'x'; gap], run.clone(), vec![b'y'; gap], run].concat();
            let (start, at) = (gap, 2 * gap + length);
            if is_changed && changed < length {
                bytes[at + changed] ^= 1;
            }
            let mut runs = Runs::default();
            runs.add(&Run { end: start + length, rows: 1, built: 2, ..Run::new(start, 7) });
            let found = runs.find(&bytes, at).map(|run| (run.end, run.inside, run.rows, run.built));
            let is_found = length <= RUN_BYTES_MAX && !(is_changed && changed < length);
            prop_assert_eq!(found, is_found.then_some((at + length, 7, 1, 2)));
        }
    }

    #[test]
    fn the_oldest_run_is_given_up() {
        let bytes = b"<a><b><c><d><e>";
        let mut runs = Runs::default();
        for start in (0..15).step_by(3) {
            runs.add(&Run { end: start + 3, ..Run::new(start, start as NameId) });
        }
        let found = (0..15).step_by(3).map(|at| runs.find(bytes, at).map(|run| run.inside));
        assert_eq!(found.collect::<Vec<_>>(), [None, Some(3), Some(6), Some(9), Some(12)]);
    }
}
