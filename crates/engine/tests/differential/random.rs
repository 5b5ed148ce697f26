//! Chance whose choices can be made again, and made smaller: a failing case is shrunk by its choices.

/// A generator that gives the same for the same seed, or makes choices that were made before.
pub(crate) struct Random {
    state: u64,
    /// What is chosen first; behind it 0, of which makers of queries make the simplest.
    given: Option<Vec<u32>>,
    /// What has been chosen.
    pub(crate) choices: Vec<u32>,
}

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        let state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
        Self { state, given: None, choices: Vec::new() }
    }

    pub(crate) fn again(choices: Vec<u32>) -> Self {
        Self { state: 1, given: Some(choices), choices: Vec::new() }
    }

    /// A number below another.
    pub(crate) fn below(&mut self, count: u32) -> u32 {
        let chosen = if let Some(given) = &self.given {
            given.get(self.choices.len()).map_or(0, |choice| (*choice).min(count - 1))
        } else {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            u32::try_from((self.state >> 16) % u64::from(count)).expect("below a small number")
        };
        self.choices.push(chosen);
        chosen
    }

    /// True once in so many times; false is the simpler choice.
    pub(crate) fn one_in(&mut self, count: u32) -> bool {
        self.below(count) == count - 1
    }

    pub(crate) fn of<'a, T>(&mut self, choices: &'a [T]) -> &'a T {
        &choices[self.below(u32::try_from(choices.len()).expect("few choices")) as usize]
    }
}
