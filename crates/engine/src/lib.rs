//! Runs plans: the only crate that waits for anything.
//!
//! ```text
//! ClientRequest ─▶ [executor] nodes as their edges allow
//!                      ├─ [http] prepare ─▶ [transport] exchange ─▶ decode with projection
//!                      ├─ [operator] filter, project, join, gather, shape
//!                      └─ [function] ─▶ [sandbox] JavaScript
//!                  ─▶ Answer or RunError
//! ```
//!
//! One [`Engine`] lives on each thread and serves all runs of that thread; a run stays on its thread
//! and on its task. Dropping a run drops everything it started. Nothing here listens, reads
//! catalog files or prints.

mod body;
mod budget;
pub mod cache;
mod clock;
mod connectors;
mod deadline;
mod engine;
mod error;
mod evaluate;
pub mod event;
mod executor;
mod function;
pub mod heavy;
mod hops;
mod http;
mod lookups;
pub mod meter;
mod operator;
mod own;
mod request;
mod run;
pub mod sandbox;
mod scope;
mod services;
mod settings;
mod slice;
mod tokens;
pub mod trace;
pub mod transport;
pub mod turnstile;
mod verb_scripts;

pub use connectors::{
    AnswerFault, AskError, ConnectorProblem, RemoteClient, RemoteError, RemotePage, RemotePath,
    load_connectors,
};
pub use engine::{Engine, StartError};
pub use error::{Fact, Origin, RunError};
pub use hops::{EXCEEDED as HOPS_EXCEEDED, HOPS_NAME};
pub use request::{Answer, Caller, ClientRequest, GivenAnswer, Part};
pub use services::{DescribeError, EngineOptions};
pub use settings::{ClientParams, HookSettings, Limits, Settings};
pub use verb_scripts::{ScriptProblem, check_scripts};
