//! What a run is doing, for whoever waits for it.
//!
//! In: the events of a run. Out: one line on stderr that is written over, from a second after the start on, and gone
//! at the end. Only where stderr is a terminal: what programs read is not disturbed, and nothing is subscribed to.

use std::{
    cell::Cell,
    pin::pin,
    time::{Duration, Instant},
};

use qlio_engine::{
    Answer, Caller, ClientRequest, Engine, RunError,
    event::{Event, EventKind, Subscription, Watch},
};
use qlio_plan::{Catalog, Plan};

use super::report;

/// Shorter runs tell nothing.
const QUIET: Duration = Duration::from_secs(1);

/// Between two looks.
const PAUSE: Duration = Duration::from_millis(200);

/// Runs a plan by the operator's own hand, and tells a terminal how it comes along.
///
/// # Errors
/// As the engine has them.
pub(super) async fn run(
    engine: &Engine,
    plan: &Plan,
    catalog: &Catalog,
    request: &ClientRequest,
    watch: Option<&Watch<'_>>,
) -> Result<Answer, RunError> {
    if !report::has_audience() {
        return engine.run_watched(plan, catalog, request, Caller::Operator, watch).await;
    }
    let progress = Progress::default();
    let tell = |event: Event<'_>| {
        progress.take(&event);
        if let Some(watch) = watch
            && event.is_wanted(watch.subscription)
        {
            (watch.tell)(event);
        }
    };
    let mut subscription = Progress::subscription();
    if let Some(watch) = watch {
        subscription = subscription.joined(watch.subscription);
    }
    let stepper = watch.and_then(|watch| watch.stepper);
    let both = Watch { subscription: &subscription, tell: &tell, stepper };
    let work = engine.run_watched(plan, catalog, request, Caller::Operator, Some(&both));
    progress.follow(work).await
}

/// The requests of a run so far.
#[derive(Default)]
struct Progress {
    asked: Cell<usize>,
    answered: Cell<usize>,
}

impl Progress {
    fn subscription() -> Subscription {
        let kinds = [EventKind::Request, EventKind::Response, EventKind::RequestFailed];
        Subscription::of_names(kinds.map(EventKind::name))
    }

    fn take(&self, event: &Event<'_>) {
        match event {
            Event::Request(_) => self.asked.set(self.asked.get() + 1),
            // The cache answers what nobody was asked for.
            Event::Answer(answer) if answer.cached.is_none() => {
                self.answered.set(self.answered.get() + 1);
            }
            Event::RequestFailed(_) => self.answered.set(self.answered.get() + 1),
            _ => {}
        }
    }

    fn line(&self, elapsed: Duration) -> String {
        let (asked, answered) = (self.asked.get(), self.answered.get());
        let seconds = elapsed.as_secs_f64();
        let under_way = asked.saturating_sub(answered);
        format!("{seconds:.1} s, {}, {under_way} under way", report::count(asked, "request"))
    }

    /// Waits for work and tells meanwhile how it comes along.
    async fn follow<R>(&self, work: impl Future<Output = R>) -> R {
        /// The line goes away also when the work is given up.
        struct Line;
        impl Drop for Line {
            fn drop(&mut self) {
                report::clear_status();
            }
        }
        let began = Instant::now();
        let mut work = pin!(work);
        let mut pause = QUIET;
        let _line = Line;
        loop {
            tokio::select! {
                biased;
                done = work.as_mut() => return done,
                () = tokio::time::sleep(pause) => {
                    pause = PAUSE;
                    report::status(&self.line(began.elapsed()));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_says_how_much_is_under_way() {
        let progress = Progress::default();
        assert_eq!(progress.line(Duration::from_millis(1250)), "1.2 s, 0 requests, 0 under way");
        progress.asked.set(1);
        assert_eq!(progress.line(Duration::from_secs(2)), "2.0 s, 1 request, 1 under way");
        progress.asked.set(12);
        progress.answered.set(7);
        assert_eq!(progress.line(Duration::from_secs(3)), "3.0 s, 12 requests, 5 under way");
    }
}
