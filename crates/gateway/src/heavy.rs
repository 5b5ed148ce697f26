//! The heavy threads: a few threads for work that would hold a worker too long (`docs/adr/0027-heavy-threads.md`).
//!
//! In: jobs of all workers. Out: they are done, first come first served, scripts apart from all else: each has a
//! queue and threads of its own, so that scripts which do not end keep no body waiting. Promises: a thread is
//! started when a job finds all others busy, and never more for scripts, and for all else, than the setting says; no
//! more jobs wait in a queue than the setting says, those that nobody wants any more not counted. What a job is, and
//! how its result comes back, is the engine's business.

use std::{
    collections::VecDeque,
    fmt,
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    thread,
};

use qlio_engine::heavy::{Busy, Heavy, HeavyThreads, Job};

/// How many threads there may be, and how many jobs may wait for them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeavySettings {
    /// Setting `heavy.threads`: for scripts, and for all else; default half as many as there are cores, at least
    /// one.
    pub threads: Option<usize>,
    /// Setting `heavy.maxWaiting`; default 256.
    pub waiting_max: usize,
}

impl Default for HeavySettings {
    fn default() -> Self {
        Self { threads: None, waiting_max: 256 }
    }
}

impl HeavySettings {
    fn threads_max(&self) -> usize {
        let half = || thread::available_parallelism().map_or(1, |cores| cores.get() / 2);
        self.threads.unwrap_or_else(half).max(1)
    }
}

/// The threads of a process; they end when it is dropped, each with the job that it has in hand.
pub struct HeavyPool {
    desk: Arc<Desk>,
    scripts: Arc<Desk>,
    /// The places whose jobs are each done by one thread, as many as there may be threads.
    places: Box<[Arc<Desk>]>,
    threads_max: usize,
    waiting_max: usize,
}

/// How much the heavy threads have to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HeavyLoad {
    /// Threads with a job in hand.
    pub busy: usize,
    /// Threads that may yet take one, started or not.
    pub free: usize,
    /// Jobs that wait.
    pub waiting: usize,
}

/// Where jobs wait.
#[derive(Default)]
struct Desk {
    state: Mutex<State>,
    has_changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    threads: usize,
    /// Those that wait for a job.
    idle: usize,
    is_over: bool,
}

impl fmt::Debug for HeavyPool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HeavyPool").field("threads_max", &self.threads_max).finish_non_exhaustive()
    }
}

impl HeavyPool {
    /// A pool, as yet without threads.
    pub fn new(settings: HeavySettings) -> Self {
        let (threads_max, waiting_max) = (settings.threads_max(), settings.waiting_max);
        let places = (0..threads_max).map(|_| Arc::default()).collect();
        Self { desk: Arc::default(), scripts: Arc::default(), places, threads_max, waiting_max }
    }

    /// How much there is to do.
    pub fn load(&self) -> HeavyLoad {
        let mut load = HeavyLoad { busy: 0, free: 0, waiting: 0 };
        for desk in [&self.desk, &self.scripts] {
            let state = desk.state();
            let busy = state.threads - state.idle;
            load.busy += busy;
            load.free += self.threads_max - busy;
            load.waiting += state.waiting.len();
        }
        load
    }

    /// Such a pool for engines.
    pub fn start(settings: HeavySettings) -> Heavy {
        Heavy::on(Arc::new(Self::new(settings)))
    }
}

impl HeavyThreads for HeavyPool {
    fn take(&self, job: Job) -> Result<(), Busy> {
        self.put(&self.desk, job, self.threads_max, |number| format!("heavy {number}"))
    }

    fn take_script(&self, job: Job) -> Result<(), Busy> {
        self.put(&self.scripts, job, self.threads_max, |number| format!("slow {number}"))
    }

    fn take_at(&self, place: usize, job: Job) -> Result<(), Busy> {
        // There is at least one.
        let place = place % self.places.len();
        self.put(&self.places[place], job, 1, |_| format!("script {place}"))
    }
}

impl HeavyPool {
    /// Puts a job on a desk, and starts a thread for it if all who work there are busy and there may be more;
    /// `name` is that of the thread with this number.
    fn put(
        &self,
        desk: &Arc<Desk>,
        job: Job,
        threads_max: usize,
        name: impl FnOnce(usize) -> String,
    ) -> Result<(), Busy> {
        let mut state = desk.state();
        if state.waiting.len() >= self.waiting_max {
            state.waiting.retain(Job::is_wanted);
        }
        if state.waiting.len() >= self.waiting_max {
            return Err(Busy { waiting_max: self.waiting_max });
        }
        if state.idle <= state.waiting.len() && state.threads < threads_max {
            let name = name(state.threads);
            let desk = Arc::clone(desk);
            let started = thread::Builder::new().name(name).spawn(move || desk.work());
            match started {
                Ok(_) => state.threads += 1,
                // The others will come to it.
                Err(_) if state.threads > 0 => {}
                Err(_) => return Err(Busy { waiting_max: 0 }),
            }
        }
        state.waiting.push_back(job);
        drop(state);
        desk.has_changed.notify_one();
        Ok(())
    }
}

impl Drop for HeavyPool {
    fn drop(&mut self) {
        for desk in [&self.desk, &self.scripts].into_iter().chain(&self.places) {
            let mut state = desk.state();
            state.is_over = true;
            state.waiting.clear();
            drop(state);
            desk.has_changed.notify_all();
        }
    }
}

impl Desk {
    /// No code under this lock panics.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does jobs until the pool is dropped.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some(job) = state.waiting.pop_front() {
                drop(state);
                job.run();
                state = self.state();
            } else if state.is_over {
                return;
            } else {
                state.idle += 1;
                state = self.has_changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                state.idle -= 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        collections::HashSet,
        pin::Pin,
        sync::mpsc::{Receiver, Sender, channel},
        task::{Context, Poll, Waker},
    };

    use futures_util::future::join_all;
    use tokio::task::yield_now;

    use super::*;

    fn heavy(threads: usize, waiting_max: usize) -> Heavy {
        HeavyPool::start(HeavySettings { threads: Some(threads), waiting_max })
    }

    fn poll<F: Future>(future: Pin<&mut F>) -> Poll<F::Output> {
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    /// A job that has begun, and ends when the sender is dropped.
    fn gate() -> (Sender<()>, impl FnOnce() + Send + 'static, Receiver<()>) {
        let (open, is_open) = channel::<()>();
        let (begun, has_begun) = channel();
        let job = move || {
            begun.send(()).expect("the test listens");
            // Nothing is ever sent.
            let _ = is_open.recv();
        };
        (open, job, has_begun)
    }

    #[tokio::test]
    async fn jobs_are_done_by_so_many_threads_and_no_others() {
        let heavy = heavy(3, 100);
        let names = (0..50).map(|_| heavy.run(|_| thread::current().name().map(str::to_owned)));
        let names: HashSet<_> = join_all(names)
            .await
            .into_iter()
            .map(|done| done.expect("not refused").value.expect("named"))
            .collect();
        assert!(!names.is_empty() && names.len() <= 3, "{names:?}");
        assert!(names.iter().all(|name| name.starts_with("heavy ")), "{names:?}");
    }

    #[tokio::test]
    async fn jobs_of_a_place_are_done_by_one_thread() {
        let heavy = heavy(2, 100);
        let name = |place| {
            let done = heavy.run_at(place, |_| thread::current().name().map(str::to_owned));
            async { done.await.expect("not refused").value.expect("named") }
        };
        let places: Vec<_> = (0..40).map(name).collect();
        for (place, name) in join_all(places).await.into_iter().enumerate() {
            assert_eq!(name, format!("script {}", place % 2));
        }
    }

    #[tokio::test]
    async fn as_many_wait_as_may_and_those_whom_nobody_wants_do_not_count() {
        let heavy = heavy(1, 1);
        let (open, job, has_begun) = gate();
        let first = tokio::spawn({
            let heavy = heavy.clone();
            async move { heavy.run(|_| job()).await.map(|done| done.value) }
        });
        while has_begun.try_recv().is_err() {
            yield_now().await;
        }
        let mut waiting = Box::pin(heavy.run(|_| ()));
        assert!(poll(waiting.as_mut()).is_pending());
        let refused = heavy.run(|_| ()).await.expect_err("one waits already");
        assert_eq!(refused.waiting_max, 1);
        drop(waiting);
        let mut next = Box::pin(heavy.run(|_| 5));
        assert!(poll(next.as_mut()).is_pending());
        drop(open);
        assert_eq!(next.await.expect("its place was free").value, 5);
        assert_eq!(first.await.expect("no panic"), Ok(()));
    }

    #[tokio::test]
    async fn scripts_keep_no_body_waiting() {
        let heavy = heavy(1, 1);
        let (open, job, has_begun) = gate();
        let script = tokio::spawn({
            let heavy = heavy.clone();
            async move { heavy.run_script(|_| job()).await.map(|done| done.value) }
        });
        while has_begun.try_recv().is_err() {
            yield_now().await;
        }
        let mut waiting = Box::pin(heavy.run_script(|_| ()));
        assert!(poll(waiting.as_mut()).is_pending());
        heavy.run_script(|_| ()).await.expect_err("one waits already");
        for number in 0..3 {
            assert_eq!(heavy.run(move |_| number).await.expect("not refused").value, number);
        }
        drop(open);
        assert!(script.await.expect("no panic").is_ok());
    }

    #[tokio::test]
    async fn a_panic_ends_no_thread() {
        let heavy = heavy(1, 10);
        let panicking = tokio::spawn({
            let heavy = heavy.clone();
            async move { heavy.run(|_| -> () { panic!("a bug") }).await.map(|done| done.value) }
        });
        assert!(panicking.await.expect_err("it panics").is_panic());
        assert_eq!(heavy.run(|_| 6).await.expect("not refused").value, 6);
    }

    #[tokio::test]
    async fn the_threads_end_with_the_pool() {
        let pool = Arc::new(HeavyPool::new(HeavySettings { threads: Some(2), waiting_max: 4 }));
        let heavy = Heavy::on(Arc::clone(&pool) as Arc<dyn HeavyThreads>);
        heavy.run(|_| ()).await.expect("not refused");
        let desk = Arc::downgrade(&pool.desk);
        drop((heavy, pool));
        while desk.strong_count() > 0 {
            yield_now().await;
        }
    }
}
