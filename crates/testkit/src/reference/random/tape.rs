//! Choices for a generator, read from a list of bytes.

/// A list of bytes that is read from the front.
pub(in crate::reference) struct Tape<'t> {
    bytes: &'t [u8],
}

impl<'t> Tape<'t> {
    pub(in crate::reference) fn new(bytes: &'t [u8]) -> Self {
        Self { bytes }
    }

    /// A number below `count`; 0 when the tape is at its end.
    pub(in crate::reference) fn below(&mut self, count: usize) -> usize {
        match self.bytes.split_first() {
            Some((first, rest)) => {
                self.bytes = rest;
                usize::from(*first) % count.max(1)
            }
            None => 0,
        }
    }

    /// True in about so many of a hundred cases; false at the end of the tape.
    pub(in crate::reference) fn chance(&mut self, percent: usize) -> bool {
        100 - self.below(100) <= percent
    }

    pub(in crate::reference) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    pub(in crate::reference) fn is_at_end(&self) -> bool {
        self.bytes.is_empty()
    }
}
