//! A run under way, seen from the host, and its other end, which the thread has that does it.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicUsize, Ordering},
    mpsc,
};

use tokio::sync::oneshot;

use crate::{
    events::{EventQueue, EventText},
    failure::Failure,
    route::RouteAnswer,
    slot::Slot,
};

/// What a script gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Its value, as JSON.
    pub body: String,
    /// Headers that the script asked for, and those that tell of the run.
    pub headers: Vec<(String, String)>,
    /// What the caller should know: parts that failed, paths that match nothing.
    pub warnings: Vec<String>,
}

/// A script under way.
pub type ScriptRun = Run<Answer>;

/// A request to a route under way.
pub type RouteRun = Run<RouteAnswer>;

/// A run under way. Dropping this does not stop it.
pub struct Run<T> {
    outcome: Arc<Slot<Result<T, Failure>>>,
    events: Option<Arc<EventQueue>>,
    cancel: Mutex<Option<oneshot::Sender<()>>>,
}

impl<T: Send + 'static> Run<T> {
    /// Has the outcome handed to a function of the host, here if it is known, else on a thread of the app: it must
    /// neither block nor panic. Answers whether this was not asked before.
    pub fn when_done(&self, then: impl FnOnce(Result<T, Failure>) + Send + 'static) -> bool {
        self.outcome.when_filled(then)
    }

    /// Waits for the outcome, which can be had once.
    ///
    /// # Errors
    /// The run failed.
    ///
    /// # Cancellation
    /// Dropping the future gives the run up.
    pub async fn done(&self) -> Result<T, Failure> {
        struct GiveUp<'r, T: Send + 'static>(&'r Run<T>);
        impl<T: Send + 'static> Drop for GiveUp<'_, T> {
            fn drop(&mut self) {
                self.0.cancel();
            }
        }
        let _guard = GiveUp(self);
        let (sender, receiver) = oneshot::channel();
        // Nobody may wait any more.
        self.when_done(move |outcome| drop(sender.send(outcome)));
        receiver.await.unwrap_or_else(|_| Err(Failure::closed()))
    }

    /// The same on a thread that may block.
    ///
    /// # Errors
    /// The run failed.
    pub fn wait(&self) -> Result<T, Failure> {
        let (sender, receiver) = mpsc::channel();
        self.when_done(move |outcome| drop(sender.send(outcome)));
        receiver.recv().unwrap_or_else(|_| Err(Failure::closed()))
    }

    /// Gives the run up: everything that it has started is dropped. Too late, it does nothing.
    pub fn cancel(&self) {
        let cancel = self.cancel.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(cancel) = cancel {
            // The run may be over.
            let _ = cancel.send(());
        }
    }

    /// Has the next event handed to a function of the host, as [`Run::when_done`] does with the outcome; `None` behind
    /// the last one, at once for a run that nobody watches. Answers whether nobody else waits: only one may.
    pub fn next_event(&self, then: impl FnOnce(Option<EventText>) + Send + 'static) -> bool {
        if let Some(events) = &self.events {
            return events.next(then);
        }
        then(None);
        true
    }
}

/// The thread's end of a run. However it goes away, the host hears of it.
pub(crate) struct Ticket<T> {
    outcome: Arc<Slot<Result<T, Failure>>>,
    events: Option<Arc<EventQueue>>,
    cancelled: Option<oneshot::Receiver<()>>,
    counted: Option<Counted>,
    is_told: bool,
}

/// A run that is counted as under way, in the app and on its thread, until this is dropped.
pub(crate) struct Counted([Arc<AtomicUsize>; 2]);

impl Counted {
    /// Counts one more, unless there are as many as may be.
    pub(crate) fn begin(
        of_app: &Arc<AtomicUsize>,
        of_thread: &Arc<AtomicUsize>,
        most: usize,
    ) -> Option<Self> {
        if of_app.fetch_add(1, Ordering::AcqRel) >= most {
            of_app.fetch_sub(1, Ordering::AcqRel);
            return None;
        }
        of_thread.fetch_add(1, Ordering::AcqRel);
        Some(Self([Arc::clone(of_app), Arc::clone(of_thread)]))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        for count in &self.0 {
            count.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// Both ends of a run.
pub(crate) fn new<T>(is_watched: bool, counted: Counted) -> (Run<T>, Ticket<T>) {
    let outcome = Arc::default();
    let events = is_watched.then(Arc::default);
    let (cancel, cancelled) = oneshot::channel();
    let run = Run {
        outcome: Arc::clone(&outcome),
        events: events.clone(),
        cancel: Mutex::new(Some(cancel)),
    };
    let cancelled = Some(cancelled);
    (run, Ticket { outcome, events, cancelled, counted: Some(counted), is_told: false })
}

impl<T> Ticket<T> {
    /// Where events are told, if anybody wants to know.
    pub(crate) fn events(&self) -> Option<Arc<EventQueue>> {
        self.events.clone()
    }

    /// Completes when the host gives the run up.
    pub(crate) async fn cancelled(&mut self) {
        if let Some(cancelled) = &mut self.cancelled {
            let is_asked = cancelled.await.is_ok();
            self.cancelled = None;
            if is_asked {
                return;
            }
        }
        // Nobody can ask any more.
        std::future::pending::<()>().await;
    }

    /// Tells the outcome.
    pub(crate) fn finish(mut self, outcome: Result<T, Failure>) {
        self.tell(outcome);
    }

    fn tell(&mut self, outcome: Result<T, Failure>) {
        if std::mem::replace(&mut self.is_told, true) {
            return;
        }
        // Before anybody is told, who may begin the next run at once.
        self.counted = None;
        if let Some(events) = &self.events {
            events.end();
        }
        self.outcome.fill(outcome);
    }
}

impl<T> Drop for Ticket<T> {
    fn drop(&mut self) {
        self.tell(Err(Failure::closed()));
    }
}
