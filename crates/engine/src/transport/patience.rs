//! How long an exchange may take: an idle timeout and an overall deadline on one timer.
//!
//! The timer is armed once; progress only notes the time, and the timer is moved when it fires too early.
//! So a body in many chunks costs no timer operation per chunk.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use tokio::time::{Instant, Sleep, sleep_until};

use super::{
    error::{ErrorKind, Fault},
    exchange::TIMEOUT_DEFAULT,
};

/// Longer timeouts are cut to this; the timer wheel and the clock need a bound.
const TIMEOUT_MAX: Duration = Duration::from_hours(24);

#[derive(Debug)]
pub(super) struct Patience<'t> {
    timer: Pin<&'t mut Sleep>,
    timeout: Duration,
    deadline: Option<Instant>,
    moved_at: Instant,
    /// Pieces of the request body handed over so far, counted by the body itself; only long bodies count.
    uploaded: Option<Arc<AtomicU64>>,
    uploaded_seen: u64,
}

impl<'t> Patience<'t> {
    /// From now on, by a [`timer`] of the same timeout and deadline. A zero timeout means the default.
    pub(super) fn new(
        timer: Pin<&'t mut Sleep>,
        timeout: Duration,
        deadline: Option<Instant>,
        now: Instant,
    ) -> Self {
        let timeout = bounded(timeout);
        Self { timer, timeout, deadline, moved_at: now, uploaded: None, uploaded_seen: 0 }
    }

    /// Something moved, or a new phase begins.
    pub(super) fn touch(&mut self, now: Instant) {
        self.moved_at = now;
    }

    /// When something moved last.
    pub(super) fn moved_at(&self) -> Instant {
        self.moved_at
    }

    /// Where the request body reports its progress.
    pub(super) fn upload_counter(&mut self) -> Arc<AtomicU64> {
        Arc::clone(self.uploaded.get_or_insert_default())
    }

    /// Ready when patience has run out.
    pub(super) fn poll_expired(&mut self, cx: &mut Context<'_>) -> Poll<Fault> {
        loop {
            ready!(self.timer.as_mut().poll(cx));
            let now = Instant::now();
            if self.deadline.is_some_and(|deadline| deadline <= now) {
                return Poll::Ready(ErrorKind::Deadline.into());
            }
            let uploaded =
                self.uploaded.as_ref().map_or(0, |counter| counter.load(Ordering::Relaxed));
            if uploaded != self.uploaded_seen {
                self.uploaded_seen = uploaded;
                self.moved_at = now;
            }
            let due = self.moved_at + self.timeout;
            if due <= now {
                let ms = u64::try_from(self.timeout.as_millis()).unwrap_or(u64::MAX);
                return Poll::Ready(ErrorKind::Timeout { ms }.into());
            }
            self.timer.as_mut().reset(earliest(due, self.deadline));
        }
    }

    /// Runs a future until patience runs out.
    pub(super) async fn limit<F: Future>(&mut self, future: F) -> Result<F::Output, Fault> {
        let mut future = pin!(future);
        std::future::poll_fn(|cx| match future.as_mut().poll(cx) {
            Poll::Ready(output) => Poll::Ready(Ok(output)),
            Poll::Pending => self.poll_expired(cx).map(Err),
        })
        .await
    }
}

/// The timer of a [`Patience`], which its owner pins, so that it needs no place of its own.
pub(super) fn timer(timeout: Duration, deadline: Option<Instant>, now: Instant) -> Sleep {
    sleep_until(earliest(now + bounded(timeout), deadline))
}

fn bounded(timeout: Duration) -> Duration {
    if timeout.is_zero() { TIMEOUT_DEFAULT } else { timeout.min(TIMEOUT_MAX) }
}

fn earliest(time: Instant, deadline: Option<Instant>) -> Instant {
    deadline.map_or(time, |deadline| deadline.min(time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn progress_postpones_the_timeout_but_not_the_deadline() {
        let start = Instant::now();
        let (timeout, deadline) = (Duration::from_millis(100), start + Duration::from_millis(350));
        let timer = pin!(timer(timeout, Some(deadline), start));
        let mut patience = Patience::new(timer, timeout, Some(deadline), start);
        for _ in 0..3 {
            patience.limit(tokio::time::sleep(Duration::from_millis(90))).await.expect("in time");
            patience.touch(Instant::now());
        }
        let fault = patience.limit(std::future::pending::<()>()).await.expect_err("out of time");
        assert_eq!(fault.kind, ErrorKind::Deadline);
        assert_eq!(start.elapsed(), Duration::from_millis(350));
    }

    #[tokio::test(start_paused = true)]
    async fn silence_is_a_timeout() {
        let start = Instant::now();
        let timeout = Duration::from_millis(100);
        let timer = pin!(timer(timeout, None, start));
        let mut patience = Patience::new(timer, timeout, None, start);
        let fault = patience.limit(std::future::pending::<()>()).await.expect_err("out of time");
        assert_eq!(fault.kind, ErrorKind::Timeout { ms: 100 });
        assert_eq!(start.elapsed(), Duration::from_millis(100));
    }

    #[tokio::test(start_paused = true)]
    async fn uploading_is_progress() {
        let start = Instant::now();
        let timeout = Duration::from_millis(100);
        let timer = pin!(timer(timeout, None, start));
        let mut patience = Patience::new(timer, timeout, None, start);
        let counter = patience.upload_counter();
        let upload = async {
            tokio::time::sleep(Duration::from_millis(60)).await;
            counter.fetch_add(1, Ordering::Relaxed);
            std::future::pending::<()>().await;
        };
        patience.limit(upload).await.expect_err("out of time");
        assert_eq!(start.elapsed(), Duration::from_millis(200));
    }
}
