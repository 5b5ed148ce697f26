//! Tokens that upstreams ask for, kept per thread. Fetching them is the connector's business.

use std::{cell::RefCell, collections::HashMap, rc::Rc, time::Duration};

use http::HeaderValue;
use tokio::time::Instant;

use crate::transport::{ErrorKind, TransportError};

/// Credentials whose tokens are kept per thread; those nobody waits for go when there are more.
const CREDENTIALS_MAX: usize = 256;

/// The tokens of one thread.
#[derive(Default)]
pub(crate) struct Tokens {
    slots: RefCell<HashMap<Credentials, Rc<Slot>>>,
}

/// What a token was given for. The secret is part of it: who does not know it must not be served
/// with the token of somebody who does.
#[derive(PartialEq, Eq, Hash, Clone)]
pub(crate) struct Credentials {
    pub(crate) token_uri: String,
    pub(crate) client: String,
    pub(crate) secret: String,
    pub(crate) scope: Option<String>,
}

/// The token of some credentials. Whoever holds the lock fetches; the others wait.
#[derive(Default)]
pub(crate) struct Slot {
    pub(crate) state: tokio::sync::Mutex<State>,
}

#[derive(Default)]
pub(crate) struct State {
    pub(crate) token: Option<Token>,
    pub(crate) failure: Option<Failure>,
}

#[derive(Clone)]
pub(crate) struct Token {
    /// `Bearer …`, marked as sensitive.
    pub(crate) header: HeaderValue,
    pub(crate) fetched: Instant,
    pub(crate) good_until: Instant,
}

/// The last fetch, when it gave no token.
pub(crate) struct Failure {
    pub(crate) reason: Reason,
    pub(crate) at: Instant,
    /// How patient the fetch was.
    pub(crate) timeout: Duration,
}

/// Why there is no token.
#[derive(Clone)]
pub(crate) enum Reason {
    /// The endpoint could not be asked.
    Transport(TransportError),
    /// The endpoint answered something else than a token.
    Refused(String),
}

impl Tokens {
    pub(crate) fn slot(&self, credentials: &Credentials) -> Rc<Slot> {
        let mut slots = self.slots.borrow_mut();
        if let Some(slot) = slots.get(credentials) {
            return Rc::clone(slot);
        }
        if slots.len() >= CREDENTIALS_MAX {
            slots.retain(|_, slot| Rc::strong_count(slot) > 1);
        }
        let slot = Rc::<Slot>::default();
        slots.insert(credentials.clone(), Rc::clone(&slot));
        slot
    }
}

impl State {
    /// Drops a token that an upstream did not take, unless it has been replaced already.
    pub(crate) fn forget(&mut self, rejected: &Token) {
        if self.token.as_ref().is_some_and(|token| token.fetched == rejected.fetched) {
            self.token = None;
        }
    }

    /// What is known without asking: a good token, or the outcome of a fetch that ran while this
    /// statement waited for it.
    pub(crate) fn known(&self, asked: Instant, timeout: Duration) -> Option<Result<Token, Reason>> {
        if let Some(token) = &self.token
            && (Instant::now() < token.good_until || token.fetched >= asked)
        {
            return Some(Ok(token.clone()));
        }
        let failure = self.failure.as_ref()?;
        // A fetch that was less patient says nothing about what this statement would get.
        let is_shared = failure.at >= asked
            && match &failure.reason {
                Reason::Transport(error) => match error.kind {
                    ErrorKind::Deadline => false,
                    ErrorKind::Timeout { .. } | ErrorKind::QueueTimeout { .. } => {
                        failure.timeout >= timeout
                    }
                    _ => true,
                },
                Reason::Refused(_) => true,
            };
        is_shared.then(|| Err(failure.reason.clone()))
    }
}
