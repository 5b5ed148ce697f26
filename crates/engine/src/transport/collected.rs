//! Pieces of a body on their way into one buffer. One that comes in one piece is passed on as it is; others
//! are copied once.

use bytes::{Bytes, BytesMut};

/// What has arrived so far: nothing, one piece, or a buffer with several.
#[derive(Debug, Default)]
pub(super) struct Collected {
    first: Bytes,
    buffer: BytesMut,
}

impl Collected {
    pub(super) fn len(&self) -> usize {
        if self.buffer.is_empty() { self.first.len() } else { self.buffer.len() }
    }

    pub(super) fn push(&mut self, data: Bytes) {
        if self.buffer.is_empty() {
            if self.first.is_empty() {
                self.first = data;
                return;
            }
            self.buffer.reserve(2 * (self.first.len() + data.len()));
            self.buffer.extend_from_slice(&std::mem::take(&mut self.first));
        }
        self.buffer.extend_from_slice(&data);
    }

    pub(super) fn into_bytes(self) -> Bytes {
        if self.buffer.is_empty() { self.first } else { self.buffer.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_piece_is_not_copied() {
        let piece = Bytes::from(vec![7; 100]);
        let mut collected = Collected::default();
        collected.push(piece.clone());
        assert_eq!(collected.into_bytes().as_ptr(), piece.as_ptr());
    }

    #[test]
    fn pieces_keep_their_order() {
        let mut collected = Collected::default();
        let mut expected = Vec::new();
        for n in 0..100_u8 {
            let piece = vec![n; 30_000];
            expected.extend_from_slice(&piece);
            collected.push(piece.into());
            assert_eq!(collected.len(), expected.len());
        }
        assert_eq!(collected.into_bytes(), expected);
    }
}
