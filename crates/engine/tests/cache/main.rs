//! The response cache against real servers, dead ones and ones that talk nonsense.

mod faults;
mod layers;
mod memcached;
mod redis;
mod secure;
mod sharing;
mod support;
