//! The process around the engine: HTTP front, routes, pages, settings, loading and command line.
//!
//! ```text
//! client ─▶ http::server ─▶ http::app ─▶ routes::matcher ─▶ engine ─▶ http::respond ─▶ client
//! ```
//!
//! The binary `qlio` is a thin shell around this library, so that the front can be tested without a
//! process.

pub mod app_folder;
pub mod cli;
pub mod config;
pub mod http;
pub mod load;
pub mod mock;
pub mod pages;
pub mod routes;
pub mod suite;
