//! Many tests: several at the same time, reported in order.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    rc::Rc,
    time::{Duration, Instant},
};

use tokio::{
    net::TcpListener,
    sync::Semaphore,
    task::{JoinSet, LocalSet},
};

use super::{
    App, Outcome, Problem, TestCase,
    hooks::{PortLocks, Servers, port_lock},
    run, serve,
};

/// How often a test begins again because its hooks wanted a port that another test had.
const BEGINNINGS_MAX: usize = 8;

/// Bounds of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Limits {
    /// How many tests run at the same time; 8 by default.
    pub at_once: usize,
    /// How long a test may take; 30 seconds by default.
    pub patience: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { at_once: 8, patience: Duration::from_secs(30) }
    }
}

/// Runs all tests; `report` gets every outcome, in the order of the tests. With a port the app is
/// answered there meanwhile.
///
/// # Errors
/// The port is taken, or the app can not start; no test has run then.
///
/// # Cancellation
/// Dropping the future ends all tests and their mocks.
pub(crate) async fn run_all(
    cases: Vec<TestCase>,
    app: App,
    limits: Limits,
    port: Option<u16>,
    mut report: impl FnMut(&Outcome),
) -> io::Result<()> {
    let app = Rc::new(app);
    let locks = PortLocks::default();
    let slots = Rc::new(Semaphore::new(limits.at_once.clamp(1, Semaphore::MAX_PERMITS)));
    let local = LocalSet::new();
    local
        .run_until(async {
            let mut serving = JoinSet::new();
            if let Some(port) = port {
                let listener = TcpListener::bind(("127.0.0.1", port)).await?;
                let front = app.front().map_err(|problem| io::Error::other(problem.message))?;
                serving.spawn_local(serve::serve(listener, Rc::new(front)));
            }
            let names: Vec<String> = cases.iter().map(|case| case.name.clone()).collect();
            let mut running = JoinSet::new();
            for (at, case) in cases.into_iter().enumerate() {
                let (app, locks, slots) = (Rc::clone(&app), Rc::clone(&locks), Rc::clone(&slots));
                running.spawn_local(async move {
                    (at, run_one(&case, &app, &locks, &slots, limits.patience).await)
                });
            }
            let mut early = HashMap::new();
            let mut next = 0;
            while let Some(ended) = running.join_next().await {
                let Ok((at, outcome)) = ended else { continue };
                early.insert(at, outcome);
                while let Some(outcome) = early.remove(&next) {
                    report(&outcome);
                    next += 1;
                }
            }
            // Only a test that panicked has no outcome.
            for (at, name) in names.into_iter().enumerate().skip(next) {
                let problems = || vec![Problem::new("the test panicked, which is a bug of qlio")];
                report(&early.remove(&at).unwrap_or_else(|| Outcome {
                    name,
                    duration: Duration::ZERO,
                    problems: problems(),
                }));
            }
            Ok(())
        })
        .await
}

async fn run_one(
    case: &TestCase,
    app: &App,
    locks: &PortLocks,
    slots: &Semaphore,
    patience: Duration,
) -> Outcome {
    let automatic = run::find_automatic(case, app);
    let mut ports: BTreeSet<u16> =
        case.mocks.keys().copied().filter(|port| !automatic.contains(port)).collect();
    let mut beginnings = 1;
    loop {
        // In ascending order and before the slot, so that nobody waits for somebody who waits for him.
        let mut guards = Vec::new();
        for port in &ports {
            guards.push(port_lock(locks, *port).lock_owned().await);
        }
        let _slot = slots.acquire().await;
        let begun = Instant::now();
        let servers = Servers::new(case, (locks, app.old_ports()), ports.clone());
        let problems = run::run(case, app, &servers, patience).await;
        // Which ports hooks want is known only when they have asked for them.
        let taken = servers.take_taken();
        if taken.is_empty() || beginnings == BEGINNINGS_MAX {
            return Outcome { name: case.name.clone(), duration: begun.elapsed(), problems };
        }
        ports.extend(taken);
        beginnings += 1;
    }
}
