//! A run: threads of users, the look at the clock once in a while, the end.

use std::{
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use tokio::task::JoinSet;

use super::{
    client::Client,
    pace::{Quota, Schedule},
    recorder::{LoadResult, Point, Recent, Recorder, Tally, Times},
    target::Target,
};
use crate::{
    error::{BenchError, failed, usage},
    limits,
    random::Random,
    stats::Latency,
    stop::Stop,
};

/// A user whose request failed at the connection waits this long before the next one.
const ERROR_PAUSE: Duration = Duration::from_millis(50);
/// How often progress is told.
const PROGRESS_PAUSE: Duration = Duration::from_secs(1);
/// The shortest part of a run that is told apart.
const POINT_MIN: Duration = Duration::from_millis(100);
/// After so many parts the next ones are twice as long.
const POINTS_EACH: usize = limits::INTERVALS_MAX / 4;
/// Users that warm a target up, at most.
const WARM_UP_USERS_MAX: usize = 16;
/// After the end of an open loop, what is due may still be sent for this long.
const DRAIN_MAX: Duration = Duration::from_secs(10);
/// Sleeps of the thread that watches a run.
const WATCH_PAUSE: Duration = Duration::from_millis(20);

/// How load is sent.
#[derive(Debug, Clone)]
pub struct LoadPlan {
    /// Users, each with a connection of its own.
    pub users: usize,
    /// How long all users send, after the ramp; `None` until `requests` are done.
    pub duration: Option<Duration>,
    /// Requests of all users together; `None` until the time is over.
    pub requests: Option<u64>,
    /// The time over which users start, evenly.
    pub ramp: Duration,
    /// Mean pause of a user between an answer and its next request.
    pub think: Duration,
    /// Deviation of the pause.
    pub think_deviation: Duration,
    /// Whether connections serve many requests.
    pub keep_alive: bool,
    /// Requests per second of an open loop; `None` is a closed loop.
    pub rate: Option<f64>,
    /// Time that one request may take.
    pub timeout: Duration,
    /// The seed of think times.
    pub seed: u64,
    /// Threads that send.
    pub threads: usize,
}

impl LoadPlan {
    /// A closed loop without pauses.
    pub fn closed(users: usize) -> Self {
        Self {
            users,
            duration: None,
            requests: None,
            ramp: Duration::ZERO,
            think: Duration::ZERO,
            think_deviation: Duration::ZERO,
            keep_alive: true,
            rate: None,
            timeout: Duration::from_secs(30),
            seed: crate::data::SEED,
            threads: 1,
        }
    }

    /// Checks the plan against the limits for this machine, or for another one.
    ///
    /// # Errors
    /// A number is zero, or goes over a limit, which is named.
    pub fn check(&self, is_loopback: bool) -> Result<(), BenchError> {
        let total = self.ramp + self.duration.unwrap_or_default();
        let rate = self.rate.unwrap_or(1.0);
        let (users_max, duration_max, rate_max, whose) = if is_loopback {
            (limits::USERS_MAX, limits::DURATION_MAX, limits::RATE_MAX, "")
        } else {
            let rate_max = limits::REMOTE_RATE_MAX;
            let whose = " for another machine";
            (limits::REMOTE_USERS_MAX, limits::REMOTE_DURATION_MAX, rate_max, whose)
        };
        let refuse = |what: String| Err(usage(what));
        if self.users == 0 || self.users > users_max {
            return refuse(format!("users must be 1 to {users_max}{whose}, not {}", self.users));
        }
        if total > duration_max || !is_loopback && self.duration.is_none() {
            let seconds = duration_max.as_secs();
            return refuse(format!(
                "ramp and duration must be at most {seconds} s together{whose}"
            ));
        }
        if !(rate > 0.0 && rate <= rate_max) {
            return refuse(format!("the rate must be above 0 and at most {rate_max}{whose}"));
        }
        if self.duration.is_none() && self.requests.is_none() {
            return refuse("either a duration or a number of requests is needed".to_owned());
        }
        if self.requests.is_some_and(|requests| requests == 0 || requests > limits::REQUESTS_MAX) {
            return refuse(format!("requests must be 1 to {}", limits::REQUESTS_MAX));
        }
        if self.timeout.is_zero() || self.timeout > limits::TIMEOUT_MAX {
            let seconds = limits::TIMEOUT_MAX.as_secs();
            return refuse(format!("the timeout must be above 0 and at most {seconds} s"));
        }
        if self.threads == 0 || self.threads > limits::THREADS_MAX {
            return refuse(format!("threads must be 1 to {}", limits::THREADS_MAX));
        }
        Ok(())
    }
}

/// How far a run is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Progress {
    /// Since the start.
    pub elapsed: Duration,
    /// How long it will take, if that is known.
    pub duration: Option<Duration>,
    /// Finished requests.
    pub samples: u64,
    /// How many there will be, if that is known.
    pub requests: Option<u64>,
    /// Failed requests.
    pub errors: u64,
    /// Requests per second since the last time.
    pub rate: f64,
    /// 99th percentile since the last time, in milliseconds.
    pub p99_ms: f64,
    /// Users that have started and not ended.
    pub users: usize,
}

/// Who is told of progress.
pub type ProgressSink<'a> = &'a (dyn Fn(&Progress) + Sync);

/// What the users of a run share.
struct Shared {
    target: Target,
    address: SocketAddr,
    plan: LoadPlan,
    start: Instant,
    /// When users stop to begin requests.
    end: Option<Instant>,
    /// When even overdue requests are given up.
    given_up: Option<Instant>,
    quota: Quota,
    schedule: Option<Arc<Schedule>>,
    active: AtomicUsize,
    stop: Stop,
}

/// Runs a plan to its end, or until it is stopped.
///
/// # Errors
/// The plan goes over a limit, or the system gives no threads. Failing requests are no errors here;
/// they are counted.
pub fn run(
    target: &Target,
    address: SocketAddr,
    plan: &LoadPlan,
    stop: &Stop,
    progress: ProgressSink<'_>,
) -> Result<LoadResult, BenchError> {
    plan.check(target.is_loopback)?;
    let start = Instant::now();
    let duration = plan.duration.map(|duration| plan.ramp + duration);
    let end = duration.map(|duration| start + duration);
    let shared = Arc::new(Shared {
        target: target.clone(),
        address,
        plan: plan.clone(),
        start,
        end,
        given_up: end.map(|end| end + DRAIN_MAX),
        quota: Quota::new(plan.requests),
        schedule: plan.rate.map(|rate| Schedule::new(start, rate)),
        active: AtomicUsize::new(0),
        stop: stop.clone(),
    });
    let broken = |error: std::io::Error| usage(format!("cannot start the load: {error}"));
    let clock = match &shared.schedule {
        Some(schedule) => Some(
            schedule.start_clock(end, plan.requests, plan.users, stop.clone()).map_err(broken)?,
        ),
        None => None,
    };
    let threads = plan.threads.min(plan.users);
    let mut recorders = Vec::new();
    let mut handles = Vec::new();
    for number in 0..threads {
        let recorder = Arc::new(Mutex::new(Recorder::default()));
        recorders.push(Arc::clone(&recorder));
        let shared = Arc::clone(&shared);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(broken)?;
        let users = (0..plan.users).filter(|user| user % threads == number).collect::<Vec<_>>();
        let body = move || runtime.block_on(send(&shared, &recorder, users));
        handles.push(
            thread::Builder::new().name(format!("load-{number}")).spawn(body).map_err(broken)?,
        );
    }
    let points = watch(&shared, &recorders, duration, progress, || {
        handles.iter().all(thread::JoinHandle::is_finished)
    });
    for handle in handles.into_iter().chain(clock) {
        handle.join().map_err(|_| failed("a thread of the load generator failed"))?;
    }
    let mut tally = Tally::default();
    for recorder in &recorders {
        tally.merge(std::mem::take(&mut lock(recorder).total));
    }
    if let Some(schedule) = &shared.schedule {
        tally.errors.unsent += schedule.untaken();
    }
    Ok(LoadResult::of(tally, points))
}

/// Sends some requests that are not counted, so that connections, caches and compiled scripts are
/// there when counting begins.
///
/// # Errors
/// As for [`run`].
pub fn warm_up(
    target: &Target,
    address: SocketAddr,
    plan: &LoadPlan,
    duration: Duration,
    stop: &Stop,
) -> Result<(), BenchError> {
    if duration.is_zero() {
        return Ok(());
    }
    let plan = LoadPlan {
        duration: Some(duration),
        timeout: plan.timeout,
        ..LoadPlan::closed(plan.users.min(WARM_UP_USERS_MAX))
    };
    run(target, address, &plan, stop, &|_| {}).map(|_| ())
}

fn lock(recorder: &Mutex<Recorder>) -> MutexGuard<'_, Recorder> {
    recorder.lock().unwrap_or_else(PoisonError::into_inner)
}

/// All users of one thread. When the run is stopped, what is in flight is dropped uncounted.
async fn send(shared: &Arc<Shared>, recorder: &Arc<Mutex<Recorder>>, users: Vec<usize>) {
    let mut tasks = JoinSet::new();
    for user in users {
        let (shared, recorder) = (Arc::clone(shared), Arc::clone(recorder));
        tasks.spawn(async move {
            let share = user as u32;
            let starts = shared.start + shared.plan.ramp * share / shared.plan.users as u32;
            tokio::time::sleep_until(starts.into()).await;
            let _presence = Presence::begin(&shared, &recorder);
            live(&shared, &recorder, user).await;
        });
    }
    loop {
        tokio::select! {
            ended = tasks.join_next() => if ended.is_none() { return },
            () = tokio::time::sleep(WATCH_PAUSE) => if shared.stop.is_requested() { return },
        }
    }
}

/// The time that a user is there, counted however it ends.
struct Presence<'a> {
    shared: &'a Shared,
    recorder: &'a Mutex<Recorder>,
    began: Instant,
}

impl<'a> Presence<'a> {
    fn begin(shared: &'a Shared, recorder: &'a Mutex<Recorder>) -> Self {
        shared.active.fetch_add(1, Ordering::Relaxed);
        Self { shared, recorder, began: Instant::now() }
    }
}

impl Drop for Presence<'_> {
    fn drop(&mut self) {
        self.shared.active.fetch_sub(1, Ordering::Relaxed);
        lock(self.recorder).total.user_seconds += self.began.elapsed().as_secs_f64();
    }
}

/// One user, from its start to the end.
async fn live(shared: &Shared, recorder: &Mutex<Recorder>, user: usize) {
    let plan = &shared.plan;
    let mut client = Client::new(shared.address, plan.keep_alive, plan.timeout);
    let mut random = Random::new(plan.seed.wrapping_add(user as u64));
    loop {
        let is_over = |at: Option<Instant>| at.is_some_and(|at| Instant::now() >= at);
        let due = match &shared.schedule {
            Some(schedule) => {
                let Some(due) = schedule.next().await else { return };
                if is_over(shared.given_up) {
                    return lock(recorder).total.errors.unsent += 1;
                }
                Some(due)
            }
            None if is_over(shared.end) || !shared.quota.take() => return,
            None => None,
        };
        if shared.stop.is_requested() {
            return;
        }
        let sent = Instant::now();
        let exchange = client.exchange(&shared.target).await;
        let times = Times { due: due.unwrap_or(sent), sent, ended: Instant::now() };
        lock(recorder).record(&times, &exchange);
        let is_refused = exchange.is_connected && exchange.failure.is_some() && exchange.bytes == 0;
        let pause = if is_refused { ERROR_PAUSE } else { Duration::ZERO };
        let think = random.think(plan.think, plan.think_deviation).max(pause);
        if !think.is_zero() {
            let wakes = Instant::now() + think;
            tokio::time::sleep_until(shared.end.map_or(wakes, |end| wakes.min(end)).into()).await;
        }
    }
}

/// Looks at the recorders until all threads have ended; answers the run in parts.
fn watch(
    shared: &Shared,
    recorders: &[Arc<Mutex<Recorder>>],
    duration: Option<Duration>,
    progress: ProgressSink<'_>,
    has_ended: impl Fn() -> bool,
) -> Vec<Point> {
    let mut width = duration.map_or(POINT_MIN, |all| (all / POINTS_EACH as u32).max(POINT_MIN));
    let (mut points, mut told): (Vec<Point>, _) = (Vec::new(), shared.start);
    let (mut from, mut since) = (shared.start, Recent::default());
    let (mut samples, mut errors) = (0, 0);
    loop {
        let is_last = has_ended();
        let now = Instant::now();
        if is_last || now.duration_since(from) >= width {
            let mut recent = Recent::default();
            for recorder in recorders {
                take(&mut lock(recorder).recent, &mut recent);
            }
            samples += recent.samples;
            errors += recent.errors;
            // The end adds no part that is too short to say anything.
            if !is_last || recent.samples > 0 {
                points.push(point(shared.start, from, now, &recent));
            }
            take(&mut recent, &mut since);
            from = now;
            if points.len() % POINTS_EACH == 0 {
                width *= 2;
            }
        }
        if is_last {
            return points;
        }
        if now.duration_since(told) >= PROGRESS_PAUSE {
            let seconds = now.duration_since(told).as_secs_f64();
            #[expect(clippy::cast_precision_loss, reason = "requests of about a second")]
            let rate = since.samples as f64 / seconds;
            progress(&Progress {
                elapsed: now.duration_since(shared.start),
                duration,
                samples,
                requests: shared.plan.requests,
                errors,
                rate,
                p99_ms: since.times.quantile_ms(0.99),
                users: shared.active.load(Ordering::Relaxed),
            });
            since = Recent::default();
            told = now;
        }
        thread::sleep(WATCH_PAUSE);
    }
}

/// Moves what `from` holds to `to`.
fn take(from: &mut Recent, to: &mut Recent) {
    to.samples += std::mem::take(&mut from.samples);
    to.errors += std::mem::take(&mut from.errors);
    to.times.merge(&from.times);
    from.times.clear();
}

fn point(start: Instant, from: Instant, to: Instant, recent: &Recent) -> Point {
    let times: &Latency = &recent.times;
    Point {
        from: from.duration_since(start).as_secs_f64(),
        to: to.duration_since(start).as_secs_f64(),
        samples: recent.samples,
        errors: recent.errors,
        p50_ms: times.quantile_ms(0.5),
        p99_ms: times.quantile_ms(0.99),
    }
}
