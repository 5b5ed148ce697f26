//! How much memory the body of an answer may take: its own limit, and what the caller has for all of its
//! exchanges together.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::error::{ErrorKind, Fault};

/// How much more of a body is taken from the room at a time, in bytes: small bodies never ask.
const STEP_BYTES: usize = 64 * 1024;

/// Memory that several exchanges and their caller share, all on one thread. Clones are of the same memory.
#[derive(Debug, Clone)]
pub struct Room {
    used: Arc<AtomicU64>,
    bytes_max: u64,
}

impl Room {
    /// Room for so many bytes, of which none are used.
    pub fn new(bytes_max: u64) -> Self {
        Self { used: Arc::default(), bytes_max }
    }

    /// Bytes that are in use.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Bytes that may be in use.
    pub fn bytes_max(&self) -> u64 {
        self.bytes_max
    }

    /// Bytes that are free.
    pub fn left(&self) -> usize {
        usize::try_from(self.bytes_max.saturating_sub(self.used())).unwrap_or(usize::MAX)
    }

    /// Uses more bytes, whether there is room for them or not; how many are in use then.
    pub fn take(&self, bytes: u64) -> u64 {
        let used = self.used().saturating_add(bytes);
        self.used.store(used, Ordering::Relaxed);
        used
    }

    fn give_back(&self, bytes: u64) {
        self.used.store(self.used().saturating_sub(bytes), Ordering::Relaxed);
    }
}

/// What one body may take while it arrives. What it has taken of the room is given back in the end; whoever
/// keeps the body takes for it.
#[derive(Debug)]
pub(super) struct Allowance<'r> {
    limit: usize,
    room: Option<&'r Room>,
    taken: usize,
}

impl<'r> Allowance<'r> {
    pub(super) fn new(limit: usize, room: Option<&'r Room>) -> Self {
        Self { limit, room, taken: 0 }
    }

    /// Most bytes of the body itself.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// So many bytes of the body have come.
    ///
    /// # Errors
    /// There is no room for them.
    pub(super) fn admit(&mut self, arrived: usize) -> Result<(), Fault> {
        let Some(room) = self.room else { return Ok(()) };
        if arrived < self.taken + STEP_BYTES {
            return Ok(());
        }
        let more = arrived - self.taken;
        if more > room.left() {
            return Err(ErrorKind::NoRoom.into());
        }
        room.take(more as u64);
        self.taken = arrived;
        Ok(())
    }
}

impl Drop for Allowance<'_> {
    fn drop(&mut self) {
        if let Some(room) = self.room {
            room.give_back(self.taken as u64);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_that_arrive_together_share_the_room() {
        let room = Room::new(300_000);
        let mut first = Allowance::new(usize::MAX, Some(&room));
        let mut second = Allowance::new(usize::MAX, Some(&room));
        first.admit(200_000).expect("room for the first");
        second.admit(10_000).expect("small bodies never ask");
        assert!(second.admit(100_001).is_err());
        second.admit(100_000).expect("just enough");
        assert_eq!(room.left(), 0);
        drop(first);
        second.admit(300_000).expect("the first has given back what it had");
        drop(second);
        assert_eq!(room.used(), 0);
    }
}
