//! qlio inside of another program: an app is loaded, and its scripts and routes run on threads of its own.
//!
//! ```text
//! host's threads ─▶ App ─▶ bounded queue ─▶ a thread with an engine ─▶ Outcome, events ─▶ host's function
//! ```
//!
//! In: the folder of an app, then scripts and requests. Out: answers as JSON text or bytes, and what happens
//! meanwhile. Promises: no call but [`App::open`] and those that say so waits; functions of the host are called once
//! each, on threads of the app, and never while a lock is held; a run that panics fails alone; dropping an [`App`]
//! gives up what still runs. What it leaves to others: files of an app are read, requests are matched and errors are
//! worded by `qlio_gateway`, as for `qlio serve`.
//!
//! The bindings for Node.js and Python are made of this, and know nothing beside it.

mod app;
mod description;
mod events;
mod failure;
mod options;
mod route;
mod run;
mod script;
mod slot;
mod thread;

pub use app::{App, OpenError};
pub use description::DescriptionError;
pub use events::EventText;
pub use failure::{Failure, FailureKind};
pub use options::{AppSettings, Options};
pub use route::{RouteAnswer, RouteCall};
pub use run::{Answer, RouteRun, Run, ScriptRun};
pub use script::{Script, Trust};
