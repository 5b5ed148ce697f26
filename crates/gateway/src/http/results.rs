//! Large results of scripts over WebSocket, kept until their client has fetched them over HTTP (WSK-15).
//!
//! In: the result of a script. Out: an address that nobody can guess, and once, within [`KEPT_FOR`], the text.
//! All workers share them, since the connection that fetches need not be with the worker that ran the script.
//! Their number is bounded, and their bytes count among the answers that wait to be taken.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use qlio_data::{Object, Value, codec::json};
use tokio::time::Instant;

use super::quota::Quota;

/// Smaller results are sent in the message itself, in bytes of JSON.
pub(super) const BYTES_MIN: usize = 256 << 10;

/// How long a result waits.
const KEPT_FOR: Duration = Duration::from_mins(1);

/// Results that wait at the same time.
const RESULTS_MAX: usize = 64;

/// Random bytes of an address.
const TOKEN_BYTES: usize = 16;

/// What addresses of results begin with, from the root of the server.
pub(super) const PREFIX: &str = "console/results/";

/// The results that wait.
#[derive(Debug)]
pub struct Results {
    quota: Arc<Quota>,
    kept: Mutex<VecDeque<Kept>>,
}

#[derive(Debug)]
struct Kept {
    token: String,
    text: Bytes,
    end: Instant,
}

impl Results {
    /// None, counted in this quota.
    pub fn new(quota: Arc<Quota>) -> Self {
        Self { quota, kept: Mutex::default() }
    }

    /// Keeps the `body` of the data of a result; answers the data with an address in its place. `None`: it is
    /// small, or there is no room.
    pub(super) fn keep(&self, data: &Value) -> Option<Value> {
        let Value::Object(members) = data else { return None };
        let mut text = Vec::new();
        json::encode(&data.member("body"), &mut text);
        if text.len() < BYTES_MIN {
            return None;
        }
        let text = Bytes::from(text);
        let bytes = text.len();
        let token = new_token()?;
        let mut kept = self.lock();
        self.forget_old(&mut kept);
        if kept.len() >= RESULTS_MAX || self.quota.is_full() {
            return None;
        }
        self.quota.add(bytes);
        let end = Instant::now() + KEPT_FOR;
        kept.push_back(Kept { token: token.clone(), text, end });
        drop(kept);
        let mut data: Object = members
            .iter()
            .filter(|(name, _)| **name != *"body")
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        data.insert("url", Value::from(format!("{PREFIX}{token}")));
        data.insert("bytes", Value::from(bytes as u64));
        Some(Value::object(data))
    }

    /// Gives a result out, once.
    pub(super) fn take(&self, token: &str) -> Option<Bytes> {
        let mut kept = self.lock();
        self.forget_old(&mut kept);
        let position = kept.iter().position(|one| one.token == token)?;
        let found = kept.remove(position)?;
        self.quota.give_back(found.text.len());
        Some(found.text)
    }

    fn forget_old(&self, kept: &mut VecDeque<Kept>) {
        let now = Instant::now();
        while kept.front().is_some_and(|one| one.end <= now) {
            if let Some(old) = kept.pop_front() {
                self.quota.give_back(old.text.len());
            }
        }
    }

    /// No code under this lock panics.
    fn lock(&self) -> MutexGuard<'_, VecDeque<Kept>> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An address that nobody can guess; `None` if the system has no randomness to give.
fn new_token() -> Option<String> {
    let mut bytes = [0; TOKEN_BYTES];
    getrandom::fill(&mut bytes).ok()?;
    Some(format!("{:032x}", u128::from_be_bytes(bytes)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(bytes: usize) -> Value {
        let body = Value::from("x".repeat(bytes));
        Value::object([("headers", Value::Null), ("body", body)].into_iter().collect())
    }

    fn token(data: &Value) -> String {
        let url = data.member("url");
        url.as_str().and_then(|url| url.strip_prefix(PREFIX)).expect("an address").to_owned()
    }

    #[tokio::test(start_paused = true)]
    async fn a_large_result_is_given_out_once_and_for_a_minute() {
        let quota = Arc::new(Quota::new(10 << 20));
        let results = Results::new(Arc::clone(&quota));
        assert!(results.keep(&result(100)).is_none(), "it is small");
        let data = results.keep(&result(BYTES_MIN)).expect("it is large");
        assert!(data.member("body").is_absent() && data.member("headers") == Value::Null);
        assert!(results.take("0").is_none());
        let text = results.take(&token(&data)).expect("it waits");
        assert_eq!(text.len(), BYTES_MIN + 2);
        assert!(results.take(&token(&data)).is_none(), "only once");
        let data = results.keep(&result(BYTES_MIN)).expect("it is large");
        tokio::time::advance(KEPT_FOR).await;
        assert!(results.take(&token(&data)).is_none(), "too late");
        assert!(quota.take(10 << 20).is_some(), "all of it is free");
    }

    #[tokio::test(start_paused = true)]
    async fn no_more_are_kept_than_there_is_room_for() {
        let results = Results::new(Arc::new(Quota::new(BYTES_MIN)));
        assert!(results.keep(&result(BYTES_MIN)).is_some());
        assert!(results.keep(&result(BYTES_MIN)).is_none(), "the quota");
        let results = Results::new(Arc::new(Quota::new(usize::MAX)));
        assert!((0..RESULTS_MAX).all(|_| results.keep(&result(BYTES_MIN)).is_some()));
        assert!(results.keep(&result(BYTES_MIN)).is_none(), "their number");
    }
}
