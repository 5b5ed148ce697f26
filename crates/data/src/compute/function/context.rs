//! What calls of functions share: the time of their request, chance, and compiled patterns.

use std::{
    cell::{Cell, RefCell},
    fmt,
    rc::Rc,
};

use regex::Regex;

use crate::compute::{ComputeError, pattern};

/// Patterns that are kept compiled; each takes at most `PATTERN_BYTES_MAX`, twice.
const PATTERNS_MAX: usize = 16;

/// What is the same for all calls of a request.
pub struct Context<'c> {
    /// Seconds since 1970, and nanoseconds.
    now: (i64, u32),
    /// A number of 128 random bits.
    random: &'c dyn Fn() -> u128,
    patterns: &'c PatternCache,
    /// Whoever calls has no time for what takes long.
    is_in_haste: bool,
}

impl<'c> Context<'c> {
    /// Of a request at `now`, which is seconds since 1970 and nanoseconds. The cache may be that of
    /// the thread.
    pub fn new(now: (i64, u32), random: &'c dyn Fn() -> u128, patterns: &'c PatternCache) -> Self {
        Self { now, random, patterns, is_in_haste: false }
    }

    /// The same for a caller that has no time: what turns out to take more than about a millisecond is
    /// [`ComputeError::TooLong`].
    #[must_use]
    pub fn in_haste(self) -> Self {
        Self { is_in_haste: true, ..self }
    }

    /// How many patterns have been compiled so far; each may take as long as thousands of other calls.
    pub fn compiled(&self) -> u64 {
        self.patterns.compiled.get()
    }

    pub(super) fn is_in_haste(&self) -> bool {
        self.is_in_haste
    }

    /// The time of the request: seconds since 1970, and nanoseconds.
    pub fn now(&self) -> (i64, u32) {
        self.now
    }

    pub(super) fn random(&self) -> u128 {
        (self.random)()
    }

    /// The regular expression of an argument, compiled when it is new.
    pub(super) fn regex(&self, position: usize, text: &str) -> Result<Rc<Regex>, ComputeError> {
        self.patterns
            .regex(text)
            .map_err(|error| ComputeError::invalid(position, error.to_string()))
    }
}

impl fmt::Debug for Context<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("now", &self.now).finish_non_exhaustive()
    }
}

/// The patterns that were used last, compiled.
#[derive(Debug, Default)]
pub struct PatternCache {
    kept: RefCell<Vec<(Box<str>, Rc<Regex>)>>,
    compiled: Cell<u64>,
}

impl PatternCache {
    fn regex(&self, text: &str) -> Result<Rc<Regex>, pattern::PatternError> {
        let mut kept = self.kept.borrow_mut();
        // The last used stands last, where it is found first.
        if let Some(at) = kept.iter().rposition(|(known, _)| **known == *text) {
            if at + 1 < kept.len() {
                kept[at..].rotate_left(1);
            }
        } else {
            self.compiled.set(self.compiled.get() + 1);
            let regex = Rc::new(pattern::regex(text, false)?);
            if kept.len() == PATTERNS_MAX {
                kept.remove(0);
            }
            kept.push((text.into(), regex));
        }
        Ok(kept[kept.len() - 1].1.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_patterns_used_last_stay_compiled() {
        let cache = PatternCache::default();
        let first = cache.regex("0").unwrap();
        for n in 1..PATTERNS_MAX {
            cache.regex(&n.to_string()).unwrap();
        }
        assert!(Rc::ptr_eq(&first, &cache.regex("0").unwrap()));
        for n in 100..100 + PATTERNS_MAX - 1 {
            cache.regex(&n.to_string()).unwrap();
        }
        assert_eq!(cache.kept.borrow().len(), PATTERNS_MAX);
        assert!(Rc::ptr_eq(&first, &cache.regex("0").unwrap()));
        for n in 100..100 + PATTERNS_MAX {
            cache.regex(&n.to_string()).unwrap();
        }
        assert!(!Rc::ptr_eq(&first, &cache.regex("0").unwrap()));
        assert!(cache.regex("(").is_err());
        assert_eq!(cache.compiled.get(), 2 * PATTERNS_MAX as u64 + 2);
    }
}
