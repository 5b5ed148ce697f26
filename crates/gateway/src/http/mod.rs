//! The HTTP front: reading requests, choosing what answers them, writing answers.
//!
//! ```text
//! socket ─▶ server ─▶ query, body, negotiate ─▶ (routes, engine) ─▶ respond: failure, jsonp, compress
//! ```
//!
//! Small pure modules around one server. Statuses are decided in `failure` and `run_error`,
//! written in `respond`, and nowhere else.

pub mod app;
#[expect(clippy::disallowed_methods, reason = "a body that drips is measured")]
pub(crate) mod body;
pub(crate) mod busy;
pub mod compile_error;
pub(crate) mod compress;
pub mod disclosure;
#[expect(clippy::disallowed_methods, reason = "the health check tells the time")]
pub mod ecv;
pub(crate) mod failure;
pub(crate) mod forwarded;
pub(crate) mod gate;
pub(crate) mod incident;
pub(crate) mod jsonp;
#[expect(clippy::disallowed_methods, reason = "it writes files, by a thread of its own, and times")]
pub(crate) mod logs;
#[expect(clippy::disallowed_methods, reason = "what is counted for operators is measured")]
pub(crate) mod meter;
pub(crate) mod multipart;
pub(crate) mod negotiate;
pub(crate) mod pace;
pub mod packet;
pub(crate) mod query;
pub mod quota;
pub(crate) mod request_id;
pub mod respond;
pub(crate) mod results;
pub mod run_error;
pub(crate) mod sanitize;
#[expect(clippy::disallowed_methods, reason = "workers, connections and their timeouts")]
pub(crate) mod server;
pub(crate) mod spans;
#[expect(clippy::disallowed_methods, reason = "who asks for a trace is told times")]
pub(crate) mod trace;
pub(crate) mod websocket;
