//! The process around the engine: HTTP front, routes, pages, settings, loading and command line.
//!
//! ```text
//! client ─▶ http::server ─▶ http::app ─▶ routes::matcher ─▶ engine ─▶ http::respond ─▶ client
//! ```
//!
//! The binary `qlio` is a thin shell around this library, so that the front can be tested without a
//! process.

#[expect(
    clippy::disallowed_methods,
    reason = "it has a thread of its own, and tells times and what the system says of the process"
)]
mod admin;
#[expect(clippy::disallowed_methods, reason = "it looks which files there are")]
mod app_folder;
#[expect(
    clippy::disallowed_methods,
    reason = "commands read what they are given, and the command line"
)]
mod cli;
pub mod config;
#[expect(clippy::disallowed_methods, reason = "it starts the heavy threads")]
pub mod heavy;
pub mod http;
#[expect(clippy::disallowed_methods, reason = "it reads the files of an app")]
pub mod load;
#[expect(clippy::disallowed_methods, reason = "upstreams for tests, made of files and delays")]
mod mock;
mod pages;
#[expect(clippy::disallowed_methods, reason = "it has threads of its own, and looks at files")]
mod reload;
#[expect(clippy::disallowed_methods, reason = "it reads and writes a route for the console")]
mod route_file;
mod routes;
#[expect(clippy::disallowed_methods, reason = "it reads tests, and measures them")]
mod suite;
#[expect(clippy::disallowed_methods, reason = "it reads certificates and keys")]
mod tls;

pub use admin::{FAMILIES, Family, Kind};
pub use app_folder::{AppFolder, TwoSettingsFiles};
pub use cli::main;
