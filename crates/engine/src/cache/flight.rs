//! One fetch for all who miss the same key at the same time, across threads.
//!
//! ```text
//! first to join ─▶ leads: fetches in its own task ─▶ lands an entry ─▶ all followers have it
//! others        ─▶ follow: wait for their turn      ├▶ fails         ─▶ one follower leads
//!                                                   └▶ is dropped    ─▶ one follower leads
//! ```
//!
//! The turn is a semaphore with one permit: whoever holds it leads, and dropping it in any way passes
//! it on, so a cancelled leader or follower cannot lose a wake-up. Closing the semaphore wakes
//! everybody. After [`FAILURES_MAX`] failed leaders the flight breaks up and each follower fetches
//! for itself: waiting for one's turn behind a failing upstream would be slower than no cache.
//! Waiting is bounded by the caller's timeout, not here.

use std::{
    collections::{HashMap, hash_map::RandomState},
    hash::BuildHasher,
    sync::{
        Arc, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::{entry::Entry, key::CacheKey};

/// Failed leaders after which the others stop waiting for each other.
const FAILURES_MAX: u32 = 2;

/// Maps with a lock each.
const PARTS: usize = 16;

#[derive(Debug)]
struct Flight {
    turn: Arc<Semaphore>,
    entry: OnceLock<Entry>,
    failures: AtomicU32,
}

/// A flight and the number of tickets out for it; at zero it is forgotten.
#[derive(Debug)]
struct Counted {
    flight: Arc<Flight>,
    tickets: usize,
}

type Part = Mutex<HashMap<CacheKey, Counted>>;

/// All flights of a cache.
#[derive(Debug, Default)]
pub(super) struct Flights {
    parts: [Part; PARTS],
    hasher: RandomState,
}

/// A place in a flight. Dropping it leaves the flight.
#[derive(Debug)]
pub(super) struct Ticket {
    flights: Arc<Flights>,
    key: CacheKey,
    flight: Arc<Flight>,
    /// The flight is over when this ticket goes.
    is_last: bool,
}

/// What a ticket's holder is to do.
#[derive(Debug)]
pub(super) enum Turn {
    /// Fetch, for all.
    Lead(Lead),
    /// Use the entry that the leader has fetched.
    Landed(Entry),
    /// Fetch for yourself.
    BrokenUp,
}

/// The duty to fetch. Dropping it passes the duty on.
#[derive(Debug)]
pub(super) struct Lead {
    flight: Arc<Flight>,
    /// Held until the outcome is known to all.
    _permit: OwnedSemaphorePermit,
}

impl Flights {
    /// Joins the flight for `key`, or begins one.
    pub(super) fn join(self: &Arc<Self>, key: &CacheKey) -> Ticket {
        let mut part = self.part(key);
        let counted = part.entry(key.clone()).or_insert_with(|| Counted {
            flight: Arc::new(Flight {
                turn: Arc::new(Semaphore::new(1)),
                entry: OnceLock::new(),
                failures: AtomicU32::new(0),
            }),
            tickets: 0,
        });
        counted.tickets += 1;
        let flight = Arc::clone(&counted.flight);
        drop(part);
        Ticket { flights: Arc::clone(self), key: key.clone(), flight, is_last: false }
    }

    fn part(&self, key: &CacheKey) -> MutexGuard<'_, HashMap<CacheKey, Counted>> {
        let at = self.hasher.hash_one(key) as usize % PARTS;
        // Each change is one call on the map; a panic elsewhere cannot leave it half done.
        self.parts[at].lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        self.parts.iter().map(|part| part.lock().expect("lock").len()).sum()
    }
}

impl Ticket {
    /// Waits until there is something to do.
    pub(super) async fn turn(&self) -> Turn {
        match Arc::clone(&self.flight.turn).acquire_owned().await {
            Ok(permit) => Turn::Lead(Lead { flight: Arc::clone(&self.flight), _permit: permit }),
            Err(_closed) => self.flight.entry.get().cloned().map_or(Turn::BrokenUp, Turn::Landed),
        }
    }

    /// From now on the flight ends with this ticket: who comes later looks into the tiers again.
    /// Until then the landed entry serves those who come.
    pub(super) fn ends_the_flight(mut self) -> Self {
        self.is_last = true;
        self
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        let is_broken_up = self.flight.turn.is_closed() && self.flight.entry.get().is_none();
        let mut part = self.flights.part(&self.key);
        let Some(counted) = part.get_mut(&self.key) else { return };
        if !Arc::ptr_eq(&counted.flight, &self.flight) {
            return;
        }
        counted.tickets -= 1;
        if counted.tickets == 0 || self.is_last || is_broken_up {
            part.remove(&self.key);
        }
    }
}

impl Lead {
    /// Gives the entry to all.
    pub(super) fn land(self, entry: Entry) {
        // Only one leads at a time and landing ends the turns, so nobody has set it before.
        let _ = self.flight.entry.set(entry);
        self.flight.turn.close();
    }

    /// There is nothing to give; the next one may try.
    pub(super) fn fail(self) {
        // The permit orders this among leaders.
        if self.flight.failures.fetch_add(1, Ordering::Relaxed) + 1 >= FAILURES_MAX {
            self.flight.turn.close();
        }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use futures_util::{FutureExt, future::join_all};
    use http::StatusCode;

    use super::{super::entry::Form, *};

    fn key() -> CacheKey {
        CacheKey::computed("k").expect("key")
    }

    fn entry(body: &'static str) -> Entry {
        Entry {
            status: StatusCode::OK,
            headers: Arc::default(),
            form: Form::Received,
            body: Bytes::from_static(body.as_bytes()),
        }
    }

    fn lead(ticket: &Ticket) -> Lead {
        match ticket.turn().now_or_never() {
            Some(Turn::Lead(lead)) => lead,
            other => panic!("not to lead but {other:?}"),
        }
    }

    #[test]
    fn the_first_leads_and_the_others_have_what_it_lands() {
        let flights = Arc::new(Flights::default());
        let leader = flights.join(&key());
        let followers = [flights.join(&key()), flights.join(&key())];
        let duty = lead(&leader);
        let mut waiting: Vec<_> = followers.iter().map(|ticket| Box::pin(ticket.turn())).collect();
        for turn in &mut waiting {
            assert!(turn.as_mut().now_or_never().is_none());
        }
        duty.land(entry("a"));
        for turn in waiting {
            assert!(
                matches!(turn.now_or_never(), Some(Turn::Landed(landed)) if landed == entry("a"))
            );
        }
        drop(leader);
        assert_eq!(flights.len(), 1);
        drop(followers);
        assert_eq!(flights.len(), 0);
    }

    #[test]
    fn a_dropped_leader_passes_its_duty_on() {
        let flights = Arc::new(Flights::default());
        let (leader, follower) = (flights.join(&key()), flights.join(&key()));
        let duty = lead(&leader);
        let mut turn = Box::pin(follower.turn());
        assert!(turn.as_mut().now_or_never().is_none());
        drop(duty);
        assert!(matches!(turn.now_or_never(), Some(Turn::Lead(_))));
    }

    #[test]
    fn a_follower_dropped_at_its_turn_passes_it_on() {
        let flights = Arc::new(Flights::default());
        let tickets = [flights.join(&key()), flights.join(&key()), flights.join(&key())];
        let duty = lead(&tickets[0]);
        let mut second = Box::pin(tickets[1].turn());
        let mut third = Box::pin(tickets[2].turn());
        assert!(second.as_mut().now_or_never().is_none());
        assert!(third.as_mut().now_or_never().is_none());
        drop(duty);
        drop(second);
        assert!(matches!(third.now_or_never(), Some(Turn::Lead(_))));
    }

    #[test]
    fn after_one_failure_another_leads_and_after_two_all_go_alone() {
        let flights = Arc::new(Flights::default());
        let tickets: Vec<_> = (0..5).map(|_| flights.join(&key())).collect();
        lead(&tickets[0]).fail();
        lead(&tickets[1]).fail();
        let turns = join_all(tickets[2..].iter().map(Ticket::turn)).now_or_never().expect("ready");
        assert!(turns.iter().all(|turn| matches!(turn, Turn::BrokenUp)));
        drop(turns);
        drop(tickets);
        assert_eq!(flights.len(), 0);
    }

    #[test]
    fn who_comes_after_the_last_ticket_begins_a_new_flight() {
        let flights = Arc::new(Flights::default());
        let leader = flights.join(&key());
        lead(&leader).land(entry("old"));
        let late = flights.join(&key());
        assert!(matches!(late.turn().now_or_never(), Some(Turn::Landed(_))));
        drop(leader.ends_the_flight());
        let next = flights.join(&key());
        drop(late);
        assert!(matches!(next.turn().now_or_never(), Some(Turn::Lead(_))));
        assert_eq!(flights.len(), 1);
    }
}
