//! Who is told how an exchange goes on while it is under way.

/// Follows one exchange. Nothing is told unless the methods are written.
pub trait Watcher {
    /// An attempt begins, the first one being 1. Nothing that was shown of a body before belongs to the
    /// reply.
    fn on_attempt(&mut self, _number: u32) {}

    /// Whether the body of the answer, of so many bytes, should be shown while it arrives. Asked once at
    /// most in an attempt, and only of a body that will be part of the reply just as it comes.
    fn wants_body(&mut self, _bytes: u64) -> bool {
        false
    }

    /// The body as far as it has come: each time the same bytes, and more. It is not shown once more when
    /// it is complete.
    fn on_body(&mut self, _beginning: &[u8]) {}
}

/// Nobody.
impl Watcher for () {}
