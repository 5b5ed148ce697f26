//! Names for our own faults: a short id that stands in the answer and in the log.

use std::{
    collections::hash_map::RandomState,
    fmt,
    hash::{BuildHasher, Hasher},
    sync::{
        OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

/// The id of one fault of ours; unlikely to repeat, also between processes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct IncidentId(u64);

impl IncidentId {
    /// A new id.
    pub fn new() -> Self {
        static SEED: OnceLock<RandomState> = OnceLock::new();
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mut hasher = SEED.get_or_init(RandomState::new).build_hasher();
        hasher.write_u64(COUNT.fetch_add(1, Ordering::Relaxed));
        Self(hasher.finish())
    }
}

impl Default for IncidentId {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for IncidentId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_differ() {
        let (first, second) = (IncidentId::new(), IncidentId::new());
        assert_ne!(first, second);
        assert_eq!(first.to_string().len(), 16);
    }
}
