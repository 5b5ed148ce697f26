//! Giving up in the middle of a body.
//!
//! In: a [`Stop`], in the limits of a decode. Out: an error of that decode soon after somebody has asked
//! for it, whatever the body holds. Looking costs next to nothing, because only one step in many does.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

/// Steps of a decoder between two looks; none takes more than about a microsecond.
const STEPS_PER_LOOK: u32 = 1_024;

/// The reason of an error of a decode that was stopped.
pub(super) const REASON: &str = "nobody waits for it any more";

/// Tells decoders that nobody waits for what they give. The default is never asked.
#[derive(Debug, Clone, Default)]
pub struct Stop(Option<Arc<AtomicBool>>);

impl Stop {
    /// One that can be asked for, here or by its clones.
    #[must_use]
    pub fn new() -> Self {
        Self(Some(Arc::default()))
    }

    /// From now on nobody waits.
    pub fn ask(&self) {
        if let Some(is_asked) = &self.0 {
            is_asked.store(true, Ordering::Relaxed);
        }
    }

    /// Whether somebody has asked for it.
    pub fn is_asked(&self) -> bool {
        self.0.as_ref().is_some_and(|is_asked| is_asked.load(Ordering::Relaxed))
    }

    /// Whether anybody can ask for it.
    pub(super) fn can_be_asked(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn watch(&self) -> Watch {
        Watch { stop: self.clone(), steps_left: 0 }
    }
}

/// Looks at a [`Stop`] from time to time.
#[derive(Debug)]
pub(super) struct Watch {
    stop: Stop,
    steps_left: u32,
}

impl Watch {
    /// One more step is done; whether to do no other.
    #[inline]
    pub(super) fn is_over(&mut self) -> bool {
        match self.steps_left.checked_sub(1) {
            Some(left) => {
                self.steps_left = left;
                false
            }
            None => self.look(),
        }
    }

    #[cold]
    fn look(&mut self) -> bool {
        self.steps_left = STEPS_PER_LOOK;
        self.stop.is_asked()
    }
}
