//! The HTTP front: reading requests, choosing what answers them, writing answers.
//!
//! ```text
//! socket ─▶ server ─▶ query, body, negotiate ─▶ (routes, engine) ─▶ respond: failure, jsonp, compress
//! ```
//!
//! Small pure modules around one server. Statuses are decided in `failure` and `run_error`,
//! written in `respond`, and nowhere else.

pub mod app;
pub mod body;
pub mod busy;
pub mod compile_error;
pub mod compress;
pub mod disclosure;
pub mod ecv;
pub mod failure;
pub mod incident;
pub mod jsonp;
pub mod logs;
pub mod multipart;
pub mod negotiate;
pub mod pace;
mod packet;
pub mod query;
pub mod quota;
pub mod request_id;
pub mod respond;
pub mod run_error;
pub mod sanitize;
pub mod server;
pub mod trace;
pub mod websocket;
