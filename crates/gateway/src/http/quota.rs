//! What clients make us keep, counted over the whole process, and how much of it there may be.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use super::results::Results;

/// How much clients may make us keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KeepLimits {
    /// Setting `maxBodiesMemory`: bytes of the bodies of all requests; default 256 MiB.
    pub bodies_bytes_max: usize,
    /// Setting `maxAnswersMemory`: bytes of all answers and messages that wait to be taken; default 256 MiB.
    pub answers_bytes_max: usize,
    /// Setting `maxUpstreamMemory`: bytes of the large answers of upstreams; default 256 MiB.
    pub upstream_bytes_max: usize,
    /// Setting `wsMaxConnections`: WebSocket connections; default 1024.
    pub sockets_max: usize,
    /// Setting `wsMaxSessions`: scripts that are run step by step; default 64.
    pub sessions_max: usize,
}

impl Default for KeepLimits {
    fn default() -> Self {
        Self {
            bodies_bytes_max: 256 << 20,
            answers_bytes_max: 256 << 20,
            upstream_bytes_max: 256 << 20,
            sockets_max: 1024,
            sessions_max: 64,
        }
    }
}

/// What clients make us keep, of the whole process.
#[derive(Debug)]
pub struct Quotas {
    /// Bytes of the bodies of requests.
    pub bodies: Quota,
    /// Bytes of answers and messages that wait to be taken; shared with the server.
    pub answers: Arc<Quota>,
    /// WebSocket connections.
    pub sockets: Quota,
    /// Scripts that are run step by step.
    pub sessions: Quota,
    /// Large results that wait to be fetched; counted among the answers.
    pub results: Results,
}

impl Quotas {
    /// Of which nothing is used.
    pub fn new(limits: &KeepLimits) -> Self {
        let answers = Arc::new(Quota::new(limits.answers_bytes_max));
        Self {
            bodies: Quota::new(limits.bodies_bytes_max),
            results: Results::new(Arc::clone(&answers)),
            answers,
            sockets: Quota::new(limits.sockets_max),
            sessions: Quota::new(limits.sessions_max),
        }
    }
}

/// How much there may be of something, and how much there is.
#[derive(Debug)]
pub struct Quota {
    most: usize,
    used: AtomicUsize,
}

impl Quota {
    /// One of which nothing is used.
    pub const fn new(most: usize) -> Self {
        Self { most, used: AtomicUsize::new(0) }
    }

    /// How much there may be.
    pub fn most(&self) -> usize {
        self.most
    }

    /// Whether there is more than there may be.
    pub fn is_exceeded(&self) -> bool {
        self.used.load(Ordering::Relaxed) > self.most
    }

    /// Whether there is as much as there may be.
    pub fn is_full(&self) -> bool {
        self.used.load(Ordering::Relaxed) >= self.most
    }

    /// Takes so much of it although it may be beyond the limit.
    pub fn exceed(&self, count: usize) -> Share<'_> {
        self.add(count);
        Share { quota: self, count }
    }

    /// Takes so much of it, which is given back with the share; `None` if so much is not left.
    pub fn take(&self, count: usize) -> Option<Share<'_>> {
        let mut share = Share { quota: self, count: 0 };
        share.resize(count).then_some(share)
    }

    /// Counts what is there already, beyond the limit, too. It has to be given back.
    pub fn add(&self, count: usize) {
        self.used.fetch_add(count, Ordering::Relaxed);
    }

    /// Gives back what was added.
    pub fn give_back(&self, count: usize) {
        self.used.fetch_sub(count, Ordering::Relaxed);
    }

    fn try_add(&self, count: usize) -> bool {
        let more = |used: usize| used.checked_add(count).filter(|sum| *sum <= self.most);
        self.used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
    }
}

/// A part of a quota, given back when it is dropped.
#[derive(Debug)]
pub struct Share<'q> {
    quota: &'q Quota,
    count: usize,
}

impl Share<'_> {
    /// Makes it so large; false, and as it was, if so much is not left.
    pub fn resize(&mut self, count: usize) -> bool {
        if count > self.count && !self.quota.try_add(count - self.count) {
            return false;
        }
        if count < self.count {
            self.quota.give_back(self.count - count);
        }
        self.count = count;
        true
    }

    /// Makes it at least so large; false, and as it was, if so much is not left.
    pub fn grow_to(&mut self, count: usize) -> bool {
        count <= self.count || self.resize(count)
    }
}

impl Drop for Share<'_> {
    fn drop(&mut self) {
        if self.count > 0 {
            self.quota.give_back(self.count);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_share_is_given_back() {
        let quota = Quota::new(10);
        let mut first = quota.take(6).expect("is left");
        assert!(quota.take(5).is_none());
        let second = quota.take(4).expect("is left");
        assert!(!first.grow_to(7));
        assert!(first.grow_to(3), "is larger already");
        drop(second);
        assert!(first.resize(10));
        assert!(quota.take(1).is_none());
        assert!(first.resize(0));
        assert!(quota.take(10).is_some());
        assert!(quota.take(usize::MAX).is_none());
        let beyond = quota.exceed(1);
        quota.add(10);
        assert!(quota.is_exceeded());
        drop(beyond);
        assert!(!quota.is_exceeded() && quota.is_full());
        quota.give_back(1);
        assert!(!quota.is_full());
    }

    proptest! {
        #[test]
        fn no_more_is_used_than_there_may_be(
            most in 0..100_usize,
            sizes in prop::collection::vec(0..60_usize, 0..20),
        ) {
            let quota = Quota::new(most);
            let mut shares: Vec<Share<'_>> = Vec::new();
            for size in sizes {
                let used: usize = shares.iter().map(|share| share.count).sum();
                let taken = quota.take(size);
                prop_assert_eq!(taken.is_some(), used + size <= most);
                shares.extend(taken);
                if size % 3 == 0 {
                    shares.pop();
                }
            }
            drop(shares);
            prop_assert!(quota.take(most).is_some());
        }
    }
}
