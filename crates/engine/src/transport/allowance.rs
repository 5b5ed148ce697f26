//! How much memory the body of an answer may take: its own limit, what the caller has for all of its
//! exchanges together, and what all callers of the process have (SAF-44).

use std::sync::{
    Arc,
    atomic::{AtomicU64, AtomicUsize, Ordering},
};

use bytes::Bytes;

use super::error::{ErrorKind, Fault};

/// How much more of a body is taken from the room at a time, in bytes: small bodies never ask.
const STEP_BYTES: usize = 64 * 1024;

/// Memory that the large bodies of all threads share, for as long as anybody holds any part of them. Clones are
/// of the same memory.
#[derive(Debug, Clone)]
pub struct BodyMemory(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    used: AtomicUsize,
    bytes_max: usize,
}

impl Default for BodyMemory {
    /// Without a limit.
    fn default() -> Self {
        Self::new(usize::MAX)
    }
}

impl BodyMemory {
    /// Memory for so many bytes, of which none are used.
    pub fn new(bytes_max: usize) -> Self {
        Self(Arc::new(Shared { used: AtomicUsize::new(0), bytes_max }))
    }

    fn share(&self) -> Share {
        Share { memory: self.clone(), bytes: 0 }
    }

    /// A body that counts until the last part of it is dropped; a small one does not.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn keep(&self, body: Bytes) -> Result<Bytes, Fault> {
        let mut share = self.share();
        share.grow_to(body.len())?;
        Ok(share.keep(body))
    }
}

/// What one body takes of the memory of all; given back when it is dropped.
#[derive(Debug)]
struct Share {
    memory: BodyMemory,
    bytes: usize,
}

impl Share {
    fn grow_to(&mut self, bytes: usize) -> Result<(), Fault> {
        if bytes < STEP_BYTES || bytes <= self.bytes {
            return Ok(());
        }
        let Shared { used, bytes_max } = &*self.memory.0;
        let add = |used: usize| used.checked_add(bytes - self.bytes).filter(|sum| sum <= bytes_max);
        if used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, add).is_err() {
            return Err(ErrorKind::NoMemory { limit: *bytes_max }.into());
        }
        self.bytes = bytes;
        Ok(())
    }

    fn keep(self, body: Bytes) -> Bytes {
        if self.bytes == 0 { body } else { Bytes::from_owner(Kept { body, _share: self }) }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.memory.0.used.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// A body with its share.
struct Kept {
    body: Bytes,
    _share: Share,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.body
    }
}

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
    share: Share,
}

impl<'r> Allowance<'r> {
    pub(super) fn new(limit: usize, room: Option<&'r Room>, memory: &BodyMemory) -> Self {
        Self { limit, room, taken: 0, share: memory.share() }
    }

    /// Most bytes of the body itself.
    pub(super) fn limit(&self) -> usize {
        self.limit
    }

    /// The body will be so long: there is memory for all of it, or none of it is received.
    ///
    /// # Errors
    /// There is no memory for it.
    pub(super) fn expect(&mut self, bytes: u64) -> Result<(), Fault> {
        self.share.grow_to(usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    /// So many bytes of the body have come.
    ///
    /// # Errors
    /// There is no room for them.
    pub(super) fn admit(&mut self, arrived: usize) -> Result<(), Fault> {
        if arrived >= self.share.bytes + STEP_BYTES {
            self.share.grow_to(arrived)?;
        }
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

    /// The body, which counts in the memory of all from now on.
    ///
    /// # Errors
    /// There is no memory for the last of it.
    pub(super) fn keep(&mut self, body: Bytes) -> Result<Bytes, Fault> {
        self.share.grow_to(body.len())?;
        let rest = self.share.memory.share();
        Ok(std::mem::replace(&mut self.share, rest).keep(body))
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
        let memory = BodyMemory::default();
        let mut first = Allowance::new(usize::MAX, Some(&room), &memory);
        let mut second = Allowance::new(usize::MAX, Some(&room), &memory);
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
    #[test]
    fn large_bodies_of_all_callers_share_their_memory_until_the_last_part_is_dropped() {
        let memory = BodyMemory::new(300_000);
        let used = || memory.0.used.load(Ordering::Relaxed);
        let mut first = Allowance::new(usize::MAX, None, &memory);
        first.expect(200_000).expect("room for the first");
        let mut second = Allowance::new(usize::MAX, None, &memory);
        let refused = second.expect(100_001).expect_err("more than is left");
        assert_eq!(refused.kind, ErrorKind::NoMemory { limit: 300_000 });
        // It comes in pieces whose number nobody knows.
        second.admit(99_999).expect("within");
        second.admit(170_000).expect_err("more than is left");
        drop(second);
        first.admit(200_000).expect("as it was said");
        let body = first.keep(Bytes::from(vec![7; 200_000])).expect("as it was said");
        drop(first);
        let part = body.slice(199_999..);
        drop(body);
        assert_eq!(used(), 200_000, "a part of it is still held");
        assert_eq!(part[..], [7]);
        drop(part);
        assert_eq!(used(), 0);
        let small = memory.keep(vec![0; STEP_BYTES - 1].into()).expect("small");
        assert_eq!((small.len(), used()), (STEP_BYTES - 1, 0));
        memory.keep(Bytes::from(vec![0; 300_001])).expect_err("more than there is");
        assert_eq!(used(), 0);
    }
}
