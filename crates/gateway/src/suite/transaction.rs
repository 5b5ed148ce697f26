//! The transaction check: whatever begins in a run must end in it (`docs/guide/testing.md`).
//!
//! In go the events of a run, out come the lines of the statements that began and never ended. Only
//! runs that went well are judged: a failing one drops what is still under way.

use std::{cell::RefCell, collections::BTreeMap};

use qlio_engine::event::{Event, EventKind, Subscription};

/// Statements under way, by line.
#[derive(Debug, Default)]
pub(super) struct Transactions {
    open: RefCell<BTreeMap<Option<u32>, usize>>,
}

impl Transactions {
    /// The events that have to be told.
    pub(super) fn subscription() -> Subscription {
        let kinds = [EventKind::InFlight, EventKind::Success, EventKind::Error];
        Subscription::of_names(kinds.map(EventKind::name))
    }

    /// Takes note of an event.
    pub(super) fn note(&self, event: &Event<'_>) {
        let mut open = self.open.borrow_mut();
        match event {
            Event::Started { place, .. } => *open.entry(place.line).or_default() += 1,
            Event::Ended { place, is_cancelled: false, .. } => {
                if let Some(count) = open.get_mut(&place.line) {
                    *count = count.saturating_sub(1);
                }
            }
            _ => {}
        }
    }

    /// The lines of statements that have not ended.
    pub(super) fn find_unended(&self) -> Vec<Option<u32>> {
        let open = self.open.borrow();
        open.iter().filter(|(_, count)| **count > 0).map(|(line, _)| *line).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use qlio_engine::event::Place;

    use super::*;

    #[test]
    fn what_began_and_did_not_end_is_named() {
        let transactions = Transactions::default();
        let started = |line| {
            let place = Place { line, statement: 0, catch: None };
            transactions.note(&Event::Started { place, verb: "select" });
        };
        let ended = |line| {
            let place = Place { line, statement: 0, catch: None };
            transactions.note(&Event::Ended {
                place,
                is_success: true,
                is_cancelled: false,
                elapsed: Duration::ZERO,
                value: None,
            });
        };
        for line in [Some(1), Some(2), Some(2), None] {
            started(line);
        }
        for line in [None, Some(2), Some(1), Some(9)] {
            ended(line);
        }
        assert_eq!(transactions.find_unended(), [Some(2)]);
        ended(Some(2));
        assert_eq!(transactions.find_unended(), []);
    }
}
