//! Whether this worker is too late to compress answers (SRV-36).

use std::{cell::Cell, sync::Arc, time::Duration};

use super::server::Pulse;

/// The lateness from which on nothing is compressed: everybody waits for it.
const LATE: Duration = Duration::from_millis(50);

/// Watches the lateness of one worker.
#[derive(Debug)]
pub(crate) struct LoadWatch {
    pulse: Arc<Pulse>,
    is_busy: Cell<bool>,
}

impl LoadWatch {
    /// Nobody has asked it yet.
    pub(crate) fn new(pulse: Arc<Pulse>) -> Self {
        Self { pulse, is_busy: Cell::new(false) }
    }

    /// Whether the worker is too late now, and a text for the log if that has just begun.
    pub(crate) fn check(&self) -> (bool, Option<String>) {
        let lateness = self.pulse.lateness();
        let is_busy = lateness >= LATE;
        let was_busy = self.is_busy.replace(is_busy);
        let note = (is_busy && !was_busy).then(|| {
            format!(
                "A worker is late by {} ms. Its answers are not compressed.",
                lateness.as_millis()
            )
        });
        (is_busy, note)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_is_late_is_noted_once() {
        let pulse = Arc::new(Pulse::default());
        let watch = LoadWatch::new(Arc::clone(&pulse));
        assert_eq!(watch.check(), (false, None));
        // Nobody ticks here.
        pulse.touch();
        while pulse.lateness() < LATE {
            std::hint::spin_loop();
        }
        let (is_busy, note) = watch.check();
        assert!(is_busy && note.is_some_and(|note| note.contains("not compressed")));
        assert_eq!(watch.check(), (true, None));
    }
}
