//! The other processes of a measurement: an upstream and a gateway, both the same executable as this
//! one, on loopback and free ports, and what they use of the machine.
//!
//! They are processes, not threads, so that processor time and memory of the gateway can be told from
//! those of the load, and so that a measured gateway is exactly the one that is deployed.

mod child;
mod gateway;
pub mod usage;

pub(crate) use self::gateway::start_upstream;
pub use self::{
    child::Child,
    gateway::{Gateway, GatewayOptions, Path},
};
