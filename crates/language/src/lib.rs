//! A language service: what editors ask about scripts, tables and routes, in the messages of the
//! Language Server Protocol.
//!
//! ```text
//! one message ──▶ Server::handle ──▶ the messages that answer it
//!                     │ Host: loads the app's files
//!                     └ syntax (tokens, completions, problems), plan (catalog, rounds)
//! ```
//!
//! Hosts that have a text and no protocol, such as the prompt of a shell, ask [`paint`], [`suggest`] and
//! [`describe_table`].
//!
//! In: the text of one message at a time, and an [`App`] whenever the [`Host`] is asked for one. Out: the
//! texts of messages. The crate opens no file and no socket and has no clock, so the same messages
//! always give the same answers. It is total on whatever a client sends: a bad position is moved to the
//! nearest one, a bad message is answered with an error, a fault of ours is answered as one.

mod action;
mod app;
mod completion;
mod diagnostics;
mod document;
mod hover;
mod inlay;
mod json;
mod lens;
mod link;
mod message;
mod names;
mod navigation;
mod position;
mod rename;
mod selection;
mod semantic;
mod server;
mod signature;
mod symbols;
pub mod textmate;
mod uri;

pub use app::{App, AppFile, Host};
pub use completion::{Suggestion, suggest};
pub use document::TEXT_BYTES_MAX;
pub use hover::describe_table;
pub use semantic::{Painted, paint};
pub use server::{Ending, Server};
pub use uri::path_of;
