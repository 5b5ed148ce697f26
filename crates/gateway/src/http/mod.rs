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
pub mod body;
pub mod busy;
pub mod compile_error;
pub mod compress;
pub mod disclosure;
#[expect(clippy::disallowed_methods, reason = "the health check tells the time")]
pub mod ecv;
pub mod failure;
pub mod forwarded;
pub mod gate;
pub mod incident;
pub mod jsonp;
#[expect(clippy::disallowed_methods, reason = "it writes files, by a thread of its own, and times")]
pub mod logs;
#[expect(clippy::disallowed_methods, reason = "what is counted for operators is measured")]
pub mod meter;
pub mod multipart;
pub mod negotiate;
pub mod pace;
pub mod packet;
pub mod query;
pub mod quota;
pub mod request_id;
pub mod respond;
pub mod results;
pub mod run_error;
pub mod sanitize;
#[expect(clippy::disallowed_methods, reason = "workers, connections and their timeouts")]
pub mod server;
pub mod spans;
#[expect(clippy::disallowed_methods, reason = "who asks for a trace is told times")]
pub mod trace;
pub mod websocket;
