//! Work that would hold a worker's thread too long, done elsewhere: large bodies to decode, to decompress, to
//! write, to compress (`docs/adr/0027-heavy-threads.md`).
//!
//! In: a job without ties to the run that asks for it. Out: what it gives, and the time of the processor that
//! it took. The engine starts no threads: whoever makes it hands over [`HeavyThreads`]. Without them a job is
//! done where it comes up, which is right for a process that serves nobody else meanwhile.
//!
//! Promises: dropping the future takes a job that waits out of the queue, its memory with it; one that is being
//! done is told by [`Wanted`], and what it gives is thrown away. A job that panics unwinds in the run that asked
//! for it.

use std::{
    fmt,
    ops::{Deref, DerefMut},
    panic::{AssertUnwindSafe, catch_unwind, resume_unwind},
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use qlio_data::codec::Stop;
use tokio::sync::oneshot;

use crate::clock;

/// JSON up to this size is decoded where it is needed when a tree is built of it, in bytes: none takes more than
/// about a millisecond.
pub(crate) const JSON_TREE_AT_ONCE_BYTES_MAX: usize = 64 * 1024;

/// The same for JSON whose rows stay text.
pub(crate) const JSON_TEXT_AT_ONCE_BYTES_MAX: usize = 512 * 1024;

/// Threads that do jobs, shared by all engines of a process.
pub trait HeavyThreads: fmt::Debug + Send + Sync {
    /// Takes a job, to be done in its turn.
    ///
    /// # Errors
    /// As many jobs wait as may.
    fn take(&self, job: Job) -> Result<(), Busy>;

    /// Takes a script, to be done in its turn, which is not that of other work: whoever fills the queue of scripts
    /// keeps no body waiting.
    ///
    /// # Errors
    /// As many scripts wait as may.
    fn take_script(&self, job: Job) -> Result<(), Busy> {
        self.take(job)
    }

    /// Takes a job that one certain thread is to do, in its turn: all jobs of a place are done by the same
    /// thread, which does nothing else. Places beyond those that there are begin again at the first.
    ///
    /// # Errors
    /// As many jobs wait for this thread as may.
    fn take_at(&self, place: usize, job: Job) -> Result<(), Busy>;
}

/// As many jobs wait as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy {
    /// How many may wait.
    pub waiting_max: usize,
}

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { waiting_max } = self;
        write!(f, "too much work waits for a heavy thread (`heavy.maxWaiting` is {waiting_max})")
    }
}

type Work = Box<dyn FnOnce() + Send>;

/// Work that waits for a thread, unless nobody wants it any more.
#[derive(Clone)]
pub struct Job(Arc<Mutex<Option<Work>>>);

impl fmt::Debug for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Job").field("is_wanted", &self.is_wanted()).finish()
    }
}

impl Job {
    fn new(work: Work) -> Self {
        Self(Arc::new(Mutex::new(Some(work))))
    }

    /// Does the work here and now. It never panics.
    pub fn run(self) {
        if let Some(work) = self.take() {
            work();
        }
    }

    /// Whether somebody still waits for it.
    pub fn is_wanted(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }

    fn take(&self) -> Option<Work> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// Tells a job whether somebody still waits for what it gives. Long jobs ask between two steps.
#[derive(Debug, Clone)]
pub struct Wanted(Stop);

impl Wanted {
    fn new() -> Self {
        Self(Stop::new())
    }

    /// For work that is done where it comes up.
    pub(crate) fn always() -> Self {
        Self(Stop::default())
    }

    /// Whether to go on.
    pub fn is_wanted(&self) -> bool {
        !self.0.is_asked()
    }

    /// For a decoder, which asks by itself.
    pub fn stop(&self) -> Stop {
        self.0.clone()
    }
}

/// A job that somebody waits for; dropped, it is wanted no more.
struct Waiting {
    job: Job,
    wanted: Wanted,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.wanted.0.ask();
        drop(self.job.take());
    }
}

/// Where heavy work is done. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Heavy(Option<Arc<dyn HeavyThreads>>);

/// What a job gives, and what it took.
#[derive(Debug)]
pub struct Done<T> {
    /// What it gives.
    pub value: T,
    /// The time of the processor that it took.
    pub time: Duration,
}

impl<T> Done<T> {
    fn of(work: impl FnOnce() -> T) -> Self {
        let before = clock::thread_us();
        let value = work();
        Self { value, time: Duration::from_micros(clock::thread_us().saturating_sub(before)) }
    }
}

impl Heavy {
    /// On these threads.
    pub fn on(threads: Arc<dyn HeavyThreads>) -> Self {
        Self(Some(threads))
    }

    /// Does work elsewhere and waits for what it gives; here if there is no elsewhere.
    ///
    /// # Errors
    /// As many jobs wait as may.
    ///
    /// # Cancellation
    /// Dropping the future drops a job that waits, and lets one that is being done know.
    ///
    /// # Panics
    /// As the work does.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Wanted) -> T + Send + 'static,
    ) -> Result<Done<T>, Busy> {
        self.run_by(|threads, job| threads.take(job), work).await
    }

    /// The same for a script.
    ///
    /// # Errors
    /// As many scripts wait as may.
    ///
    /// # Panics
    /// As the work does.
    pub async fn run_script<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Wanted) -> T + Send + 'static,
    ) -> Result<Done<T>, Busy> {
        self.run_by(|threads, job| threads.take_script(job), work).await
    }

    /// The same by the thread of a place: what the work leaves behind in that thread, the next work of this
    /// place finds there.
    ///
    /// # Errors
    /// As [`Heavy::run`].
    ///
    /// # Panics
    /// As the work does.
    pub async fn run_at<T: Send + 'static>(
        &self,
        place: usize,
        work: impl FnOnce(&Wanted) -> T + Send + 'static,
    ) -> Result<Done<T>, Busy> {
        self.run_by(|threads, job| threads.take_at(place, job), work).await
    }

    async fn run_by<T: Send + 'static>(
        &self,
        take: impl FnOnce(&dyn HeavyThreads, Job) -> Result<(), Busy>,
        work: impl FnOnce(&Wanted) -> T + Send + 'static,
    ) -> Result<Done<T>, Busy> {
        let wanted = Wanted::new();
        let Some(threads) = &self.0 else { return Ok(Done::of(|| work(&wanted))) };
        let (sender, receiver) = oneshot::channel();
        let job = Job::new({
            let wanted = wanted.clone();
            Box::new(move || {
                let done = catch_unwind(AssertUnwindSafe(|| Done::of(|| work(&wanted))));
                // Nobody waits any more: what it gives is dropped here, not on a worker.
                drop(sender.send(done));
            })
        });
        let _waiting = Waiting { job: job.clone(), wanted };
        take(&**threads, job)?;
        match receiver.await {
            Ok(Ok(done)) => Ok(done),
            Ok(Err(panic)) => resume_unwind(panic),
            // The threads have ended, and nothing is done any more.
            Err(_) => Err(Busy { waiting_max: 0 }),
        }
    }
}

impl Heavy {
    /// Whether work is done elsewhere.
    pub fn is_elsewhere(&self) -> bool {
        self.0.is_some()
    }

    /// Drops something large elsewhere, without waiting for it; here if there is no elsewhere, or no place.
    pub fn drop_apart(&self, large: impl Send + 'static) {
        if let Some(threads) = &self.0 {
            // What is refused is dropped with its job.
            let _ = threads.take(Job::new(Box::new(move || drop(large))));
        }
    }
}

/// Something large that is dropped elsewhere, whatever becomes of the run; what is small is dropped here.
#[derive(Debug)]
pub(crate) struct LetGo<'h, T: Default + Send + 'static> {
    value: T,
    elsewhere: Option<&'h Heavy>,
}

impl<'h, T: Default + Send + 'static> LetGo<'h, T> {
    pub(crate) fn new(value: T, elsewhere: Option<&'h Heavy>) -> Self {
        Self { value, elsewhere }
    }

    /// It has become large.
    pub(crate) fn drop_on(&mut self, heavy: &'h Heavy) {
        self.elsewhere = Some(heavy);
    }

    /// It is needed after all.
    pub(crate) fn take(mut self) -> T {
        std::mem::take(&mut self.value)
    }
}

impl<T: Default + Send + 'static> Deref for LetGo<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: Default + Send + 'static> DerefMut for LetGo<'_, T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.value
    }
}

impl<T: Default + Send + 'static> Drop for LetGo<'_, T> {
    fn drop(&mut self) {
        if let Some(heavy) = self.elsewhere {
            heavy.drop_apart(std::mem::take(&mut self.value));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::pin,
        task::{Context, Poll, Waker},
    };

    use super::*;

    /// Threads that do nothing unless told to.
    #[derive(Debug, Default)]
    struct Idle(Mutex<Vec<Job>>);

    impl Idle {
        fn work(&self) {
            for job in self.0.lock().expect("not poisoned").drain(..) {
                job.run();
            }
        }
    }

    impl HeavyThreads for Idle {
        fn take(&self, job: Job) -> Result<(), Busy> {
            let mut jobs = self.0.lock().expect("not poisoned");
            if jobs.len() == 2 {
                return Err(Busy { waiting_max: 2 });
            }
            jobs.push(job);
            Ok(())
        }

        fn take_at(&self, _: usize, job: Job) -> Result<(), Busy> {
            self.take(job)
        }
    }

    fn poll<F: Future>(future: std::pin::Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn work_is_done_elsewhere_or_here() {
        let idle = Arc::new(Idle::default());
        let heavy = Heavy::on(Arc::clone(&idle) as Arc<dyn HeavyThreads>);
        let mut waiting = pin!(heavy.run(|_| 7));
        assert!(poll(waiting.as_mut()).is_pending());
        idle.work();
        assert!(matches!(poll(waiting), Poll::Ready(Ok(Done { value: 7, .. }))));
        let here = Heavy::default();
        assert!(matches!(poll(pin!(here.run(|_| 8))), Poll::Ready(Ok(Done { value: 8, .. }))));
    }

    #[test]
    fn what_is_large_is_dropped_elsewhere() {
        let idle = Arc::new(Idle::default());
        let (large, seen) = (Arc::new(()), Arc::new(()));
        Heavy::on(Arc::clone(&idle) as Arc<dyn HeavyThreads>).drop_apart(Arc::clone(&large));
        assert_eq!(Arc::strong_count(&large), 2);
        idle.work();
        assert_eq!(Arc::strong_count(&large), 1);
        Heavy::default().drop_apart(Arc::clone(&seen));
        assert_eq!(Arc::strong_count(&seen), 1);
        let heavy = Heavy::on(Arc::clone(&idle) as Arc<dyn HeavyThreads>);
        drop(LetGo::new(Some(Arc::clone(&seen)), Some(&heavy)));
        assert_eq!(Arc::strong_count(&seen), 2, "it waits to be dropped");
        idle.work();
        assert_eq!(Arc::strong_count(&seen), 1);
        drop(LetGo::new(Some(Arc::clone(&seen)), None));
        assert_eq!(Arc::strong_count(&seen), 1);
    }

    #[test]
    fn the_time_of_the_processor_is_told() {
        let here = Heavy::default();
        let spin = |_: &Wanted| {
            let end = clock::thread_us() + 2_000;
            while clock::thread_us() < end {}
        };
        let Poll::Ready(Ok(done)) = poll(pin!(here.run(spin))) else { panic!("done at once") };
        assert!(done.time >= Duration::from_millis(2), "{:?}", done.time);
    }

    #[test]
    fn what_nobody_waits_for_is_dropped_at_once_and_not_done() {
        let idle = Arc::new(Idle::default());
        let heavy = Heavy::on(Arc::clone(&idle) as Arc<dyn HeavyThreads>);
        let body = Arc::new(());
        {
            let body = Arc::clone(&body);
            let mut waiting = pin!(heavy.run(move |_| panic!("{body:?} was wanted")));
            assert!(poll(waiting.as_mut()).is_pending());
        }
        assert_eq!(Arc::strong_count(&body), 1, "its memory goes with it");
        assert!(!idle.0.lock().expect("not poisoned")[0].is_wanted());
        idle.work();
    }

    #[test]
    fn work_in_hand_is_told_that_nobody_waits() {
        let idle = Arc::new(Idle::default());
        let heavy = Heavy::on(Arc::clone(&idle) as Arc<dyn HeavyThreads>);
        let (told, tell) = std::sync::mpsc::channel();
        let (go_on, wait) = std::sync::mpsc::channel();
        let mut waiting = Box::pin(heavy.run(move |wanted| {
            told.send(wanted.is_wanted()).expect("the test listens");
            wait.recv().expect("the test goes on");
            told.send(wanted.is_wanted()).expect("the test listens");
        }));
        assert!(poll(waiting.as_mut()).is_pending());
        let worker = std::thread::scope(|scope| {
            let working = scope.spawn(|| idle.work());
            assert_eq!(tell.recv(), Ok(true));
            drop(waiting);
            go_on.send(()).expect("the job waits");
            assert_eq!(tell.recv(), Ok(false));
            working.join()
        });
        worker.expect("no panic");
    }

    #[test]
    fn a_panic_unwinds_where_the_work_was_asked_for() {
        let idle = Arc::new(Idle::default());
        let heavy = Heavy::on(Arc::clone(&idle) as Arc<dyn HeavyThreads>);
        let mut waiting = pin!(heavy.run(|_| -> () { panic!("a bug") }));
        assert!(poll(waiting.as_mut()).is_pending());
        idle.work();
        let panic = catch_unwind(AssertUnwindSafe(|| poll(waiting))).expect_err("it panics");
        assert_eq!(panic.downcast_ref::<&str>(), Some(&"a bug"));
    }

    #[test]
    fn more_than_may_wait_are_refused() {
        let heavy = Heavy::on(Arc::new(Idle::default()));
        let (mut first, mut second) = (pin!(heavy.run(|_| ())), pin!(heavy.run(|_| ())));
        assert!(poll(first.as_mut()).is_pending() && poll(second.as_mut()).is_pending());
        let Poll::Ready(Err(busy)) = poll(pin!(heavy.run(|_| ()))) else { panic!("refused") };
        assert_eq!(busy, Busy { waiting_max: 2 });
    }

    #[test]
    fn threads_that_have_ended_refuse() {
        let idle = Arc::new(Idle::default());
        let heavy = Heavy::on(Arc::clone(&idle) as Arc<dyn HeavyThreads>);
        let mut waiting = pin!(heavy.run(|_| ()));
        assert!(poll(waiting.as_mut()).is_pending());
        drop(idle.0.lock().expect("not poisoned").pop().expect("a job").take());
        assert!(matches!(poll(waiting), Poll::Ready(Err(_))));
    }
}
