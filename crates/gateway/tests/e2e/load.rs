//! Clients that keep asking, and what they were answered.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use qlio_testkit::client::{Connection, Request};
use qlio_testkit::process::wait;
use serde_json::Value;

use super::PATIENCE;

/// A client's pause between an answer and its next request, so that a load leaves the machine some
/// time for those under test.
const PAUSE: Duration = Duration::from_millis(2);

/// So many good answers in a row say that all is well again, on every worker.
const WELL: usize = 60;

/// One answer.
#[derive(Debug, Clone)]
pub(crate) struct Answered {
    /// The status.
    pub(crate) status: u16,
    /// The body; null if it is no JSON.
    pub(crate) body: Value,
    /// How long it took.
    pub(crate) took: Duration,
}

impl Answered {
    /// The code of an error; empty for a value.
    pub(crate) fn code(&self) -> &str {
        self.body["code"].as_str().unwrap_or_default()
    }
}

/// Some clients that ask for one path again and again, until this is dropped.
pub(crate) struct Load {
    path: String,
    answers: Arc<Mutex<Vec<Answered>>>,
    is_over: Arc<AtomicBool>,
    clients: Vec<JoinHandle<()>>,
}

impl Load {
    pub(crate) fn start(server: SocketAddr, path: &str, clients: usize) -> Self {
        let answers = Arc::<Mutex<Vec<Answered>>>::default();
        let is_over = Arc::<AtomicBool>::default();
        let clients = (0..clients).map(|_| {
            let (answers, is_over) = (Arc::clone(&answers), Arc::clone(&is_over));
            let request = Request::get(path);
            thread::spawn(move || ask_on(server, &request, &answers, &is_over))
        });
        let clients = clients.collect();
        Self { path: path.to_owned(), answers, is_over, clients }
    }

    /// How many answers there are so far.
    pub(crate) fn count(&self) -> usize {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// The answers after the first so many.
    pub(crate) fn since(&self, count: usize) -> Vec<Answered> {
        self.answers.lock().unwrap_or_else(PoisonError::into_inner)[count..].to_vec()
    }

    /// Waits until the answers from now on fulfil a condition, and returns them.
    pub(crate) fn wait_for(&self, condition: impl Fn(&[Answered]) -> bool) -> Vec<Answered> {
        let before = self.count();
        let is_fulfilled = wait(PATIENCE, || {
            let is_alive = self.clients.iter().all(|client| !client.is_finished());
            assert!(is_alive, "a client of {} has failed", self.path);
            condition(&self.since(before))
        });
        let answers = self.since(before);
        assert!(
            is_fulfilled,
            "{}: {} answers, last {:?}",
            self.path,
            answers.len(),
            answers.last()
        );
        answers
    }

    /// Waits until so many answers in a row are good that every worker must be well.
    pub(crate) fn wait_until_well(&self) {
        self.wait_for(|answers| {
            answers.len() >= WELL
                && answers[answers.len() - WELL..].iter().all(|answered| answered.status == 200)
        });
    }

    /// Asserts that every answer so far is a value, and returns how many there are.
    pub(crate) fn assert_unharmed(&self) -> usize {
        let answers = self.since(0);
        for answered in &answers {
            assert_eq!(answered.status, 200, "{}: {answered:?}", self.path);
        }
        answers.len()
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for client in self.clients.drain(..) {
            // One that has failed has said why.
            let _failed = client.join();
        }
    }
}

/// A load must be answered in full: a connection that breaks fails the client and with it the test.
fn ask_on(
    server: SocketAddr,
    request: &Request,
    answers: &Mutex<Vec<Answered>>,
    is_over: &AtomicBool,
) {
    let mut connection = Connection::open(server, PATIENCE).unwrap();
    while !is_over.load(Ordering::Relaxed) {
        let asked = Instant::now();
        connection.send(&request.to_bytes(server)).unwrap();
        let answer = connection.answer("GET").unwrap();
        let answered = Answered {
            status: answer.status,
            body: answer.json().unwrap_or_default(),
            took: asked.elapsed(),
        };
        answers.lock().unwrap_or_else(PoisonError::into_inner).push(answered);
        thread::sleep(PAUSE);
    }
}
