//! Rows on their way to qlio: lines of JSON, in pieces of some kilobytes, no more of them than fit the queue.

use bytes::{Bytes, BytesMut};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::Refused;

/// Bytes of a piece.
const PIECE_BYTES: usize = 32 * 1024;

/// Pieces that may wait for the client to take them.
pub(crate) const PIECES_MAX: usize = 8;

/// What is sent: lines, and at last how it has gone.
pub(crate) type Piece = Result<Bytes, Refused>;

/// Where rows are put.
#[derive(Debug)]
pub struct Sender {
    pieces: mpsc::Sender<Piece>,
    open: BytesMut,
}

/// The client has gone.
#[derive(Debug)]
pub struct Gone;

impl Sender {
    pub(crate) fn new(pieces: mpsc::Sender<Piece>) -> Self {
        Self { pieces, open: BytesMut::new() }
    }

    /// Adds a row that is JSON already; says whether the piece is full.
    pub fn add(&mut self, row: &str) -> bool {
        self.open.extend_from_slice(b"{\"row\":");
        self.open.extend_from_slice(row.as_bytes());
        self.open.extend_from_slice(b"}\n");
        self.open.len() >= PIECE_BYTES
    }

    /// Sends what there is, and waits until there is room for it.
    pub async fn flush(&mut self) -> Result<(), Gone> {
        let piece = self.open.split().freeze();
        self.pieces.send(Ok(piece)).await.map_err(|_| Gone)
    }

    /// The same on a thread that may block.
    pub fn flush_blocking(&mut self) -> Result<(), Gone> {
        let piece = self.open.split().freeze();
        self.pieces.blocking_send(Ok(piece)).map_err(|_| Gone)
    }

    /// The last rows, and that these were all.
    pub fn end(&mut self) {
        self.open.extend_from_slice(b"{\"end\":true}\n");
    }

    /// What a write has done.
    pub fn written(&mut self, rows: u64) {
        let line = json!({"row": {"rows": rows}});
        self.open.extend_from_slice(line.to_string().as_bytes());
        self.open.extend_from_slice(b"\n");
        self.end();
    }

    /// Why it ends early. Nothing may have been sent before, or something.
    pub async fn refuse(self, refused: Refused) {
        // If nobody waits any more, nobody misses it.
        let _ = self.pieces.send(Err(refused)).await;
    }

    /// The same on a thread that may block.
    pub fn refuse_blocking(self, refused: Refused) {
        let _ = self.pieces.blocking_send(Err(refused));
    }
}

/// An error as qlio reads it.
pub(crate) fn error_line(refused: &Refused) -> Value {
    let mut error = json!({"message": refused.message, "status": refused.status});
    if let Some(position) = refused.position {
        error["position"] = json!(position);
    }
    json!({"error": error})
}
