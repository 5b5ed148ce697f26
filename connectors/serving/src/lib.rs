//! The connector protocol of qlio, served: two requests over HTTP, and rows line by line.
//!
//! In: a [`Source`]. Out: a server in front of it, on a port or a Unix socket. What a source is made of is its own
//! business; what a request says is the source's to read.

mod rows;
mod server;

use std::{future::Future, sync::Arc};

use serde_json::Value;

pub use rows::{Gone, Sender};
pub use server::{Serving, serve};

/// What is served.
pub trait Source: Send + Sync + 'static {
    /// What can be asked.
    fn describe(&self) -> Value;

    /// Carries out one statement, the body of a request, and sends its rows, or why there are none.
    fn execute(self: Arc<Self>, body: Vec<u8>, sender: Sender) -> impl Future<Output = ()> + Send;
}

/// What cannot be done, for the one who asked.
#[derive(Debug)]
pub struct Refused {
    /// The status of HTTP that it stands for.
    pub status: u16,
    /// What is wrong.
    pub message: String,
    /// Where in the text behind `at`, in characters from 1 on.
    pub position: Option<usize>,
}

impl Refused {
    /// A refusal without a place.
    pub fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), position: None }
    }
}
