//! The bounds of scripts, and the meter that the interpreter asks while it runs.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use qlio_data::codec::Stop;

use crate::clock;

/// What one call of a script may use. Every value is per call unless it says otherwise
/// (HOK-10).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxLimits {
    /// Processor time of one call of a hook, function or template, in milliseconds (50).
    pub time_ms: u64,
    /// How much of that a call has on this thread. What needs more fails as unfinished, to be done again by a
    /// thread that nobody else waits for; without this, all of it.
    pub slice: Option<Duration>,
    /// Processor time of loading a module with everything it requires, in milliseconds (2000).
    pub load_time_ms: u64,
    /// What a call may allocate beside its arguments and the loaded modules, in bytes (32 MiB).
    pub memory_bytes: usize,
    /// Depth of the interpreter's stack in bytes (256 KiB).
    pub stack_bytes: usize,
    /// Length of the text of an ejs template in bytes (1 MiB).
    pub template_bytes: usize,
    /// Nesting of values that go in or come out (512).
    pub depth: usize,
    /// Members and elements of a value that comes out (2 million).
    pub result_elements: usize,
    /// Lines that one call may log; further ones are dropped with a note (1000).
    pub log_lines: usize,
    /// Characters kept of one logged line (8192).
    pub log_line_chars: usize,
    /// Realms that stay instantiated on one thread; the least recently used go first (256).
    pub realms: usize,
    /// Whether hooks may return promises (`hooks.async`; false).
    pub hooks_async: bool,
}

impl Default for SandboxLimits {
    fn default() -> Self {
        Self {
            time_ms: 50,
            slice: None,
            load_time_ms: 2_000,
            memory_bytes: 32 << 20,
            stack_bytes: 256 << 10,
            template_bytes: 1 << 20,
            depth: 512,
            result_elements: 2_000_000,
            log_lines: 1_000,
            log_line_chars: 8_192,
            realms: 256,
            hooks_async: false,
        }
    }
}

/// Tells the interpreter when to stop. Shared with its interrupt handler.
///
/// What counts is the time of the processor, so that a busy machine fails no script; the cheap clock
/// of the wall is asked first, because a call that is short by it is short in any case.
#[derive(Debug, Clone)]
pub(super) struct Meter(Arc<MeterState>);

#[derive(Debug)]
struct MeterState {
    start: Instant,
    /// Microseconds after `start`; [`NEVER`] while nothing runs.
    deadline: AtomicU64,
    /// Microseconds that the call may run.
    budget: AtomicU64,
    /// Microseconds that the thread had run when the call was first looked at; [`NEVER`] before.
    used_before: AtomicU64,
    /// What the call may run is a slice, not all the time that it has.
    is_slice: AtomicBool,
    is_expired: AtomicBool,
    /// Asked for when nobody waits for the call any more.
    stop: Mutex<Stop>,
}

const NEVER: u64 = u64::MAX;

impl Meter {
    pub(super) fn new() -> Self {
        Self(Arc::new(MeterState {
            start: clock::instant(),
            deadline: AtomicU64::new(NEVER),
            budget: AtomicU64::new(NEVER),
            used_before: AtomicU64::new(NEVER),
            is_slice: AtomicBool::new(false),
            is_expired: AtomicBool::new(false),
            stop: Mutex::default(),
        }))
    }

    /// Ends calls when this is asked for.
    pub(super) fn end_at(&self, stop: Stop) {
        *self.0.stop.lock().unwrap_or_else(PoisonError::into_inner) = stop;
    }

    fn is_unwanted(&self) -> bool {
        self.0.stop.lock().unwrap_or_else(PoisonError::into_inner).is_asked()
    }

    /// Starts a call that may run for `time`, a slice or all that it has.
    pub(super) fn arm(&self, time: Duration, is_slice: bool) {
        self.0.is_slice.store(is_slice, Ordering::Relaxed);
        let end = self.0.start.elapsed().saturating_add(time).as_micros();
        let budget = u64::try_from(time.as_micros()).unwrap_or(NEVER);
        self.0.deadline.store(u64::try_from(end).unwrap_or(NEVER), Ordering::Relaxed);
        self.0.budget.store(budget, Ordering::Relaxed);
        self.0.used_before.store(NEVER, Ordering::Relaxed);
        self.0.is_expired.store(false, Ordering::Relaxed);
    }

    /// Ends the call: what runs from now on has time again.
    pub(super) fn disarm(&self) {
        self.0.deadline.store(NEVER, Ordering::Relaxed);
        self.0.is_expired.store(false, Ordering::Relaxed);
    }

    /// Whether the call is over its time; remembers it.
    pub(super) fn is_over(&self) -> bool {
        let deadline = self.0.deadline.load(Ordering::Relaxed);
        if deadline == NEVER {
            // A realm is being made, which somebody may not wait for any more.
            return self.is_unwanted();
        }
        // Short calls are never asked, and long ones soon after they began.
        let before = self.0.used_before.load(Ordering::Relaxed);
        if before == NEVER {
            self.0.used_before.store(clock::thread_us(), Ordering::Relaxed);
            return false;
        }
        let now = u64::try_from(self.0.start.elapsed().as_micros()).unwrap_or(NEVER);
        let budget = || self.0.budget.load(Ordering::Relaxed);
        let is_over = self.is_unwanted()
            || now >= deadline && clock::thread_us().saturating_sub(before) >= budget();
        if is_over {
            self.0.is_expired.store(true, Ordering::Relaxed);
        }
        is_over
    }

    /// Whether a check found the call over its time.
    pub(super) fn is_expired(&self) -> bool {
        self.0.is_expired.load(Ordering::Relaxed)
    }

    /// Whether that time is a slice.
    pub(super) fn is_slice(&self) -> bool {
        self.0.is_slice.load(Ordering::Relaxed)
    }

    /// The microseconds of the processor that the call has taken since it was first looked at; 0 for a short one.
    pub(super) fn used_us(&self) -> u64 {
        match self.0.used_before.load(Ordering::Relaxed) {
            NEVER => 0,
            before => clock::thread_us().saturating_sub(before),
        }
    }
}
