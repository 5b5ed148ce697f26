//! Ports above 65535, which old versions of Node took modulo 65536 wherever one listened and wherever one was called.
//!
//! Tests of that time name such ports. In: one of them, and where it stands. Out: the port that it was, and for whoever
//! runs the tests, which ones were met. Nobody else lets them pass.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

/// So many ports are remembered; of further ones nobody is told.
const MET_MAX: usize = 1000;

/// How many ports there are, and that is where the count began again.
const PORTS: u32 = 1 << 16;

/// The ports of that kind that were met.
#[derive(Debug, Default)]
pub struct OldPorts {
    met: Mutex<BTreeMap<u32, String>>,
}

/// A port that was met, and what was taken for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OldPort {
    /// What was written.
    pub written: u32,
    /// What it was.
    pub port: u16,
    /// Where it stands that was met first.
    pub place: String,
}

impl OldPorts {
    /// The port that was meant; `place` says where it stands.
    pub fn find(&self, written: u32, place: impl FnOnce() -> String) -> u16 {
        if written >= PORTS {
            // No code under this lock panics; should it ever, what was met was met.
            let mut met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
            if met.len() < MET_MAX {
                met.entry(written).or_insert_with(place);
            }
        }
        port_of(written)
    }

    /// Those that were met so far, in ascending order.
    pub fn met(&self) -> Vec<OldPort> {
        let met = self.met.lock().unwrap_or_else(PoisonError::into_inner);
        let told = met.iter().map(|(written, place)| OldPort {
            written: *written,
            port: port_of(*written),
            place: place.clone(),
        });
        told.collect()
    }
}

fn port_of(written: u32) -> u16 {
    (written % PORTS) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_port_is_told_once() {
        let ports = OldPorts::default();
        assert_eq!(ports.find(65_535, || panic!("it is a port")), 65_535);
        assert_eq!(ports.find(80_126, || "a.js".to_owned()), 14_590);
        assert_eq!(ports.find(80_126, || "b.js".to_owned()), 14_590);
        let met = OldPort { written: 80_126, port: 14_590, place: "a.js".to_owned() };
        assert_eq!(ports.met(), [met]);
    }
}
