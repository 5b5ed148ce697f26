//! The response cache against real servers, dead ones and ones that talk nonsense.

#![expect(clippy::disallowed_methods, reason = "tests measure, and make files and threads")]

mod faults;
mod layers;
mod memcached;
mod redis;
mod secure;
mod sharing;
mod support;
