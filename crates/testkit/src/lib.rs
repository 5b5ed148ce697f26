//! What the other crates test themselves with: a dev-dependency only.
//!
//! ```text
//! spec/**/*.yaml ──case──▶ Case ──runner──▶ engine under test ──▶ Outcome ──check──▶ passed, or why not
//!                                   │              ▲
//!                                   └─▶ upstream ──┘ (scripted, on loopback)
//! ```
//!
//! - [`case`]: the model of the case files (`spec/README.md`), loading, comparing.
//! - [`upstream`]: a scripted upstream on a free port, with every fault a network offers.
//! - [`process`]: starts a real executable, reads where it listens, stops it by its handle.
//! - [`program`]: starts real servers, such as nginx or Redis, where they are installed.
//! - [`client`]: a plain HTTP/1.1 client that can also send what no good client would.
//! - [`websocket`]: a WebSocket client.
//! - [`runner`]: runs one case against an engine: the real binary, or one in this process.
//! - [`finding`]: the canned answers of the example of that name.
//! - [`reference`]: a naive interpreter of scripts that the engine is compared with.
//!
//! It promises: loopback only, free ports only, every wait has an end, nothing outlives its
//! handle. Only `reference` knows the language; what a case expects was written by hand.

pub mod case;
pub mod client;
pub mod finding;
mod headers;
pub mod layers;
pub mod process;
pub mod program;
pub mod reference;
pub mod runner;
pub mod upstream;
pub mod websocket;
