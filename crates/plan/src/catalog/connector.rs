//! Custom connectors: sources that a script of the operator, or a server of its own, reads and writes (CNC-1, PRO-1).
//!
//! In: what a loader has found in the folder of connectors. Out: connectors by name. They are run and asked by the
//! engine; here is only what tables need to know of them.

use std::{collections::BTreeMap, sync::Arc};

use super::{Remote, ScriptFile};

/// The connector that needs no script.
pub(super) const HTTP: &str = "http";

/// A connector that does not come with qlio.
#[derive(Debug)]
pub struct Connector {
    /// The name behind `via`.
    pub name: String,
    /// What carries its statements out.
    pub source: ConnectorSource,
    /// Why it cannot be used.
    pub broken: Option<String>,
}

/// What carries out the statements of a connector.
#[derive(Debug)]
pub enum ConnectorSource {
    /// A module.
    Script(ScriptFile),
    /// A server of its own.
    Remote(Box<Remote>),
}

/// The custom connectors of an app. Cheap to clone.
#[derive(Debug, Clone, Default)]
pub struct Connectors(Arc<BTreeMap<String, Arc<Connector>>>);

impl Connectors {
    /// These connectors; of two with one name the later.
    pub fn new(connectors: impl IntoIterator<Item = Connector>) -> Self {
        let by_name = |connector: Connector| (connector.name.clone(), Arc::new(connector));
        Self(Arc::new(connectors.into_iter().map(by_name).collect()))
    }

    /// The connector of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Connector>> {
        self.0.get(name)
    }

    /// All names, in order, `http` first.
    pub fn names(&self) -> impl Iterator<Item = &str> + Clone {
        std::iter::once(HTTP).chain(self.0.keys().map(String::as_str))
    }
}
