//! The interpreters of custom connectors: which of them an execution gets, and on which thread (CNC-12).
//!
//! An execution of a connector waits between its turns, so it has an interpreter for itself until it ends, and
//! all its turns are done by one thread, none of those that serve requests. What has done its work well is kept
//! for the next execution; what has failed, or was given up, is not.

mod fault;
mod load;
mod remote;

use std::{
    cell::{Cell, RefCell},
    collections::HashMap,
    sync::Arc,
};

use qlio_plan::catalog::{Connector, ScriptFile};
use tokio::sync::{Semaphore, SemaphorePermit};

pub use fault::{AnswerFault, AskError};
pub use load::{ConnectorProblem, load_connectors};
pub(crate) use remote::ACCEPT;
pub use remote::{RemoteClient, RemoteError, RemotePage, RemotePath};

use crate::{
    error::RunError,
    heavy::{Heavy, Wanted},
    sandbox::{ConnectorScript, Sandbox, SandboxLimits, with_own_sandbox},
};

/// Executions of connectors that one worker has under way at a time; others wait.
const EXECUTIONS_MAX: usize = 64;

/// Interpreters of one connector that are kept while they do nothing.
const IDLE_MAX: usize = 16;

/// The interpreters of one worker.
#[derive(Debug)]
pub(crate) struct ConnectorPool {
    idle: RefCell<HashMap<*const Connector, Idle>>,
    next_place: Cell<usize>,
    permits: Semaphore,
}

/// Those of one connector.
#[derive(Debug)]
struct Idle {
    scripts: Vec<Script>,
    /// Keeps the connector alive, whose address is the key.
    _connector: Arc<Connector>,
}

#[derive(Debug)]
struct Script {
    script: ConnectorScript,
    place: usize,
}

impl Default for ConnectorPool {
    fn default() -> Self {
        Self {
            idle: RefCell::default(),
            next_place: Cell::new(0),
            permits: Semaphore::new(EXECUTIONS_MAX),
        }
    }
}

/// An interpreter that one execution uses; dropped, it is used no more.
pub(crate) struct Lent<'p> {
    pool: &'p ConnectorPool,
    connector: Arc<Connector>,
    script: Script,
    _permit: SemaphorePermit<'p>,
}

impl ConnectorPool {
    /// An interpreter for an execution, once there is room for one more.
    ///
    /// # Errors
    /// None, but for a bug: nobody closes the pool.
    pub(crate) async fn lend(
        &self,
        connector: &Arc<Connector>,
        file: &ScriptFile,
    ) -> Result<Lent<'_>, RunError> {
        let permit = self.permits.acquire().await;
        let permit = permit.map_err(|_| RunError::internal("the connectors have ended"))?;
        let idle = self.idle.borrow_mut().get_mut(&Arc::as_ptr(connector)).and_then(Idle::take);
        let script = idle.unwrap_or_else(|| {
            let place = self.next_place.get();
            self.next_place.set(place.wrapping_add(1));
            Script { script: ConnectorScript::new(file, &connector.name), place }
        });
        Ok(Lent { pool: self, connector: Arc::clone(connector), script, _permit: permit })
    }
}

impl Idle {
    fn take(&mut self) -> Option<Script> {
        self.scripts.pop()
    }
}

impl Lent<'_> {
    /// Has the script take a turn; with the time of the processor that it took, in microseconds.
    ///
    /// # Errors
    /// As many turns wait for the thread as may.
    pub(crate) async fn take_turn<T: Send + 'static>(
        &self,
        heavy: &Heavy,
        limits: &SandboxLimits,
        turn: impl FnOnce(&ConnectorScript, &Sandbox) -> T + Send + 'static,
    ) -> Result<(T, std::time::Duration), RunError> {
        let (script, limits) = (self.script.script.clone(), limits.clone());
        let work = move |wanted: &Wanted| {
            with_own_sandbox(&limits, wanted.stop(), |sandbox| turn(&script, sandbox))
        };
        let done = heavy.run_at(self.script.place, work).await?;
        Ok((done.value, done.time))
    }

    /// Keeps the interpreter for the next execution.
    pub(crate) fn give_back(self) {
        let Self { pool, connector, script, .. } = self;
        let mut idle = pool.idle.borrow_mut();
        let known = idle
            .entry(Arc::as_ptr(&connector))
            .or_insert_with(|| Idle { scripts: Vec::new(), _connector: connector });
        if known.scripts.len() < IDLE_MAX {
            known.scripts.push(script);
        }
    }
}
