//! How late a worker is.
//!
//! A worker that has something to do expects to be woken every [`TICK`]. How late that happens is how long its other
//! tasks have kept it, and so how long whatever is new would wait. Somebody else sees it too while the worker is
//! kept: the tick is overdue. A worker without requests does not tick; the first request after that starts it, all
//! others only leave a mark.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::{Duration, Instant},
};

use tokio::{sync::Notify, time::sleep};

/// How often a worker that has something to do looks how late it is.
const TICK: Duration = Duration::from_millis(10);

/// Ticks without a request after which there are no more: each costs some 50 µs, and how late a worker was that has
/// nothing to do is no news any more.
const QUIET_TICKS_MAX: u32 = 10;

/// Of what a tick has seen, this part is forgotten with the next: an eighth, so that a second of lateness is below
/// [`NEWS`] after some 60 ticks.
const FORGOTTEN: u64 = 8;

/// What is no news: timers are as coarse.
const NEWS: Duration = Duration::from_millis(8);

/// The place of the next tick while there is none.
const RESTING: u64 = u64::MAX;

/// The lateness of one worker, for all threads to see.
#[derive(Debug)]
pub struct Pulse {
    epoch: Instant,
    /// When the next tick is due, in µs since the epoch.
    due: AtomicU64,
    /// How late ticks were lately, in µs.
    late: AtomicU64,
    is_used: AtomicBool,
    woken: Notify,
}

impl Default for Pulse {
    fn default() -> Self {
        Self {
            epoch: Instant::now(),
            due: AtomicU64::new(RESTING),
            late: AtomicU64::new(0),
            is_used: AtomicBool::new(false),
            woken: Notify::new(),
        }
    }
}

impl Pulse {
    /// The worker has something to do. Called on its own thread.
    pub fn touch(&self) {
        if !self.is_used.load(Ordering::Relaxed) {
            self.is_used.store(true, Ordering::Relaxed);
        }
        if self.due.load(Ordering::Relaxed) == RESTING {
            self.await_tick();
            self.woken.notify_one();
        }
    }

    /// How long something new would wait for the worker's next turn, as far as one can tell.
    pub fn lateness(&self) -> Duration {
        let late = self.late.load(Ordering::Relaxed);
        let overdue = match self.due.load(Ordering::Relaxed) {
            RESTING => 0,
            due => self.now().saturating_sub(due),
        };
        Duration::from_micros(late.max(overdue))
    }

    /// The lateness in steps that double; 0 is none worth mentioning.
    pub(super) fn step(&self) -> u32 {
        let late = self.lateness();
        match late.as_millis() / NEWS.as_millis() {
            0 => 0,
            times => times.ilog2() + 1,
        }
    }

    /// Ticks while there is something to do; `is_busy` says so of what takes longer. Never ends.
    pub(super) async fn keep(&self, is_busy: impl Fn() -> bool) {
        loop {
            self.woken.notified().await;
            let mut quiet = 0;
            while quiet < QUIET_TICKS_MAX {
                let due = self.await_tick();
                sleep(TICK).await;
                let late = self.now().saturating_sub(due);
                let before = self.late.load(Ordering::Relaxed);
                self.late.store(late.max(before - before.div_ceil(FORGOTTEN)), Ordering::Relaxed);
                let is_quiet = !self.is_used.swap(false, Ordering::Relaxed) && !is_busy();
                quiet = if is_quiet { quiet + 1 } else { 0 };
            }
            self.late.store(0, Ordering::Relaxed);
            self.due.store(RESTING, Ordering::Relaxed);
        }
    }

    fn await_tick(&self) -> u64 {
        let due = self.now() + TICK.as_micros() as u64;
        self.due.store(due, Ordering::Relaxed);
        due
    }

    /// In µs since the epoch.
    fn now(&self) -> u64 {
        u64::try_from(self.epoch.elapsed().as_micros()).unwrap_or(RESTING - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_that_rests_is_not_late_and_one_that_is_kept_is() {
        let pulse = Pulse::default();
        assert_eq!(pulse.lateness(), Duration::ZERO);
        pulse.touch();
        while pulse.step() == 0 {
            std::hint::spin_loop();
        }
        assert!(pulse.lateness() >= NEWS);
    }

    #[test]
    fn lateness_is_forgotten_and_ticking_ends() {
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
        let pulse = Pulse::default();
        pulse.touch();
        let began = Instant::now();
        while pulse.lateness() < Duration::from_millis(40) {
            assert!(began.elapsed() < Duration::from_secs(20));
        }
        runtime.block_on(async {
            let rests = async {
                while pulse.due.load(Ordering::Relaxed) != RESTING {
                    tokio::task::yield_now().await;
                }
            };
            tokio::select! {
                () = pulse.keep(|| false) => {}
                () = rests => {}
            }
        });
        assert_eq!(pulse.lateness(), Duration::ZERO);
        pulse.touch();
        assert_ne!(pulse.due.load(Ordering::Relaxed), RESTING);
    }
}
