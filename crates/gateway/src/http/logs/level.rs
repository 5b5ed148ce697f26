//! How much stands on stdout, which an operator may change while the server works (LOG-13).

use std::sync::atomic::{AtomicU8, Ordering};

/// How much is written; each writes what those before it write, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum LogLevel {
    /// Faults of the server, and requests that are answered with a status from 500 on.
    Error,
    /// Connections that failed, clients that have gone, what operators do.
    Warn,
    /// All requests.
    #[default]
    Info,
    /// Each request to an upstream.
    Debug,
}

impl LogLevel {
    /// The levels by name.
    pub const WORDS: &'static [(&'static str, Self)] = &[
        ("error", Self::Error),
        ("warn", Self::Warn),
        ("info", Self::Info),
        ("debug", Self::Debug),
    ];

    /// The level of this name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::WORDS.iter().find(|(word, _)| *word == name).map(|(_, level)| *level)
    }

    /// Its name.
    pub fn name(self) -> &'static str {
        Self::WORDS[self as usize].0
    }
}

/// The level that holds.
#[derive(Debug)]
pub(super) struct CurrentLevel {
    holds: AtomicU8,
    /// What the settings say; an operator may have said something else since.
    said: AtomicU8,
}

impl CurrentLevel {
    pub(super) fn new(level: LogLevel) -> Self {
        Self { holds: AtomicU8::new(level as u8), said: AtomicU8::new(level as u8) }
    }

    pub(super) fn get(&self) -> LogLevel {
        let number = usize::from(self.holds.load(Ordering::Relaxed));
        LogLevel::WORDS.get(number).map(|(_, level)| *level).unwrap_or_default()
    }

    pub(super) fn set(&self, level: LogLevel) {
        self.holds.store(level as u8, Ordering::Relaxed);
    }

    /// Takes the settings as they are now: if they say something new, it holds.
    pub(super) fn follow(&self, level: LogLevel) {
        if self.said.swap(level as u8, Ordering::Relaxed) != level as u8 {
            self.set(level);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_level_is_its_place_in_the_list() {
        for (name, level) in LogLevel::WORDS {
            assert_eq!((level.name(), LogLevel::of_name(name)), (*name, Some(*level)));
            assert_eq!(CurrentLevel::new(*level).get(), *level);
        }
        assert_eq!(LogLevel::of_name("trace"), None);
    }

    #[test]
    fn what_an_operator_says_holds_until_the_settings_say_something_new() {
        let level = CurrentLevel::new(LogLevel::Info);
        level.set(LogLevel::Debug);
        level.follow(LogLevel::Info);
        assert_eq!(level.get(), LogLevel::Debug);
        level.follow(LogLevel::Warn);
        assert_eq!(level.get(), LogLevel::Warn);
    }
}
