//! Reading an app anew while it is served (OPR-1 to OPR-5).
//!
//! ```text
//! SIGHUP, operator, files ─▶ orders ─▶ one thread: read, compile, check, publish ─▶ outcome
//! ```
//!
//! In: orders, and the work that makes a snapshot. Out: what became of each order, and of the last one for those who
//! ask later. All of it happens on a thread of its own, one order after the other, so that no request waits for it.
//! How an app is read is the business of the command that serves; when files have changed that of [`watch`].

pub(crate) mod draft;
pub(crate) mod watch;

use std::{
    fmt, io,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread,
    time::SystemTime,
};

use qlio_data::Value;
use tokio::sync::oneshot;

use crate::http::server::{Event, EventSink};
use draft::{Draft, Drafted, Refusal};

/// Orders that wait; further ones are refused, because whoever comes last gets what those before get.
const ORDERS_MAX: usize = 16;

/// Why an app is read anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cause {
    /// SIGHUP.
    Signal,
    /// An operator has asked for it.
    Operator,
    /// Its files have changed.
    Files,
    /// A route was saved from the console.
    Console,
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Signal => "SIGHUP",
            Self::Operator => "an operator",
            Self::Files => "changed files",
            Self::Console => "the console",
        })
    }
}

/// What became of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Another catalog and other settings are served; or would be, if only that was asked.
    Replaced,
    /// The files say what they have said before.
    Unchanged,
    /// There is something wrong with them; what was served before is served on.
    Refused,
}

impl Verdict {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Replaced, Self::Unchanged, Self::Refused];

    /// Its name, for metrics and operators.
    pub fn name(self) -> &'static str {
        match self {
            Self::Replaced => "replaced",
            Self::Unchanged => "unchanged",
            Self::Refused => "refused",
        }
    }
}

/// How reading anew ended.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// What became of it.
    pub verdict: Verdict,
    /// The same for people.
    pub message: String,
    /// What tells the catalog that was read from others; empty if none was.
    pub hash: String,
    /// What is wrong or odd, for programs, without secrets.
    pub problems: Value,
    /// Settings that have changed and need a restart.
    pub restart: Vec<String>,
}

/// What somebody wants to be done.
enum Order {
    /// Read the app anew.
    Reload { cause: Cause, is_dry: bool, reply: Option<oneshot::Sender<Outcome>> },
    /// Do something with a route file; read the app anew if it was written.
    Draft { draft: Draft, reply: oneshot::Sender<Result<Drafted, Refusal>> },
}

/// What the thread does for orders.
pub trait Work: Send {
    /// Reads the app anew, and publishes it unless that is dry.
    fn reload(&mut self, cause: Cause, is_dry: bool) -> Outcome;

    /// Reads, checks, writes or removes a route file.
    ///
    /// # Errors
    /// It is refused.
    fn draft(&mut self, draft: &Draft) -> Result<Drafted, Refusal>;
}

/// What became of the orders so far.
#[derive(Debug, Default)]
struct Record {
    counts: [u64; Verdict::ALL.len()],
    /// Why the last one was refused, if it was.
    refused: Option<String>,
    /// When what is served was found to be what the files say.
    succeeded: Option<SystemTime>,
}

/// Takes orders; all clones reach the same thread.
#[derive(Debug, Clone)]
pub struct Reloads {
    orders: SyncSender<Order>,
    record: Arc<Mutex<Record>>,
}

/// As many orders wait as may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Busy;

impl fmt::Display for Busy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{ORDERS_MAX} reloads wait already; ask again when they are done")
    }
}

impl Reloads {
    /// Starts the thread.
    ///
    /// # Errors
    /// The system gives none.
    pub fn start(work: impl Work + 'static, events: EventSink) -> io::Result<Self> {
        let (orders, taken) = sync_channel(ORDERS_MAX);
        let record = Arc::new(Mutex::new(Record {
            succeeded: Some(SystemTime::now()),
            ..Record::default()
        }));
        let kept = Arc::clone(&record);
        thread::Builder::new().name("reload".to_owned()).spawn(move || {
            take_orders(&taken, work, &kept, &events);
        })?;
        Ok(Self { orders, record })
    }

    /// Has the app read anew, after the orders before.
    ///
    /// # Errors
    /// As many wait as may.
    pub fn order(&self, cause: Cause) -> Result<(), Busy> {
        self.send(Order::Reload { cause, is_dry: false, reply: None })
    }

    /// The same for an operator, who hears how it ends; with `is_dry` nothing is published.
    ///
    /// # Errors
    /// As many wait as may.
    pub fn ask(&self, is_dry: bool) -> Result<oneshot::Receiver<Outcome>, Busy> {
        let (reply, outcome) = oneshot::channel();
        self.send(Order::Reload { cause: Cause::Operator, is_dry, reply: Some(reply) })?;
        Ok(outcome)
    }

    /// Has something done with a route file, after the orders before.
    ///
    /// # Errors
    /// As many wait as may.
    pub fn draft(&self, draft: Draft) -> Result<oneshot::Receiver<Result<Drafted, Refusal>>, Busy> {
        let (reply, drafted) = oneshot::channel();
        self.send(Order::Draft { draft, reply })?;
        Ok(drafted)
    }

    fn send(&self, order: Order) -> Result<(), Busy> {
        match self.orders.try_send(order) {
            Ok(()) => Ok(()),
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => Err(Busy),
        }
    }

    /// How many orders ended so.
    pub fn count(&self, verdict: Verdict) -> u64 {
        self.record().counts[verdict as usize]
    }

    /// Why the last order was refused, if it was.
    pub fn refused(&self) -> Option<String> {
        self.record().refused.clone()
    }

    /// When what is served was last found to be what the files say.
    pub fn succeeded(&self) -> Option<SystemTime> {
        self.record().succeeded
    }

    /// No code under this lock panics.
    fn record(&self) -> MutexGuard<'_, Record> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Does what is ordered until nobody can order anything more. Whoever asked may have gone meanwhile.
fn take_orders(
    orders: &Receiver<Order>,
    mut work: impl Work,
    record: &Mutex<Record>,
    events: &EventSink,
) {
    while let Ok(order) = orders.recv() {
        match order {
            Order::Reload { cause, is_dry, reply } => {
                let outcome = work.reload(cause, is_dry);
                if !is_dry {
                    note(cause, &outcome, record, events);
                }
                if let Some(reply) = reply {
                    let _ = reply.send(outcome);
                }
            }
            Order::Draft { draft, reply } => {
                let mut drafted = work.draft(&draft);
                if let Ok(drafted) = &mut drafted
                    && drafted.is_written
                {
                    let outcome = work.reload(Cause::Console, false);
                    note(Cause::Console, &outcome, record, events);
                    drafted.outcome = Some(outcome);
                }
                let _ = reply.send(drafted);
            }
        }
    }
}

/// Remembers how reading the app anew ended, and tells of it.
fn note(cause: Cause, outcome: &Outcome, record: &Mutex<Record>, events: &EventSink) {
    let mut record = record.lock().unwrap_or_else(PoisonError::into_inner);
    record.counts[outcome.verdict as usize] += 1;
    let is_refused = outcome.verdict == Verdict::Refused;
    record.refused = is_refused.then(|| outcome.message.clone());
    if !is_refused {
        record.succeeded = Some(SystemTime::now());
    }
    drop(record);
    let message = outcome.message.clone();
    match outcome.verdict {
        Verdict::Refused => events(Event::ReloadRefused { message }),
        // Somebody has touched a file.
        Verdict::Unchanged if cause == Cause::Files => {}
        Verdict::Replaced | Verdict::Unchanged => events(Event::Reloaded { message }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Told<F>(F);

    impl<F: FnMut() -> Outcome + Send> Work for Told<F> {
        fn reload(&mut self, _: Cause, _: bool) -> Outcome {
            (self.0)()
        }

        fn draft(&mut self, _: &Draft) -> Result<Drafted, Refusal> {
            Err(Refusal::new(400, "there are no files"))
        }
    }

    fn outcome(verdict: Verdict) -> Outcome {
        Outcome {
            verdict,
            message: verdict.name().to_owned(),
            hash: String::new(),
            problems: Value::Absent,
            restart: Vec::new(),
        }
    }

    #[test]
    fn the_last_outcome_is_remembered_and_a_dry_one_is_not() {
        let mut verdicts = [Verdict::Refused, Verdict::Refused, Verdict::Replaced].into_iter();
        let work = Told(move || outcome(verdicts.next().unwrap()));
        let reloads = Reloads::start(work, Arc::new(|_| {})).unwrap();
        let first = reloads.ask(true).unwrap().blocking_recv().unwrap();
        assert_eq!((first.verdict, reloads.refused()), (Verdict::Refused, None));
        reloads.ask(false).unwrap().blocking_recv().unwrap();
        assert_eq!(reloads.refused().as_deref(), Some("refused"));
        reloads.ask(false).unwrap().blocking_recv().unwrap();
        assert_eq!(reloads.refused(), None);
        assert_eq!(Verdict::ALL.map(|verdict| reloads.count(verdict)), [1, 0, 1]);
    }

    #[test]
    fn orders_that_wait_are_bounded() {
        let (go, wait) = sync_channel::<()>(0);
        let work = Told(move || {
            let _ = wait.recv();
            outcome(Verdict::Unchanged)
        });
        let reloads = Reloads::start(work, Arc::new(|_| {})).unwrap();
        // One more than may wait is being done.
        let taken = (0..=ORDERS_MAX + 1).take_while(|_| reloads.order(Cause::Signal).is_ok());
        assert!((ORDERS_MAX..=ORDERS_MAX + 1).contains(&taken.count()));
        drop(go);
    }
}
