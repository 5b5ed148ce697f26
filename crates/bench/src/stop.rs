//! Ending a measurement early: a flag that a signal handler sets and every loop reads.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Whether the measurement shall end. Clones share the flag.
#[derive(Debug, Clone, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks everything that holds a clone to end soon and to report what it has.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked for.
    pub fn is_requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
