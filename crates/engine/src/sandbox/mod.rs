//! JavaScript of operators: patches, auth modules, transformers, connectors, UDFs and ejs templates.
//!
//! Plain values go in and come out; this module knows nothing of plans, tables or requests. One
//! [`Sandbox`] per thread holds an interpreter, which is made lazily; a [`Realm`] is the set of
//! script files of one table (or one UDF module) and is shared between threads. Each realm has a
//! context of its own on each thread, so tables can't see each other's globals.
//!
//! Promised: every call ends within its time, heap and stack limits or fails with an error that
//! names what ran (HOK-10); a realm that ran over a limit is built anew; errors carry
//! the author's file, line and column; no script reaches the network, processes, the environment
//! or files outside its root.
//!
//! Deliberately not here: which hook runs when, and what becomes of the results; that is the
//! connector's business. Operators are trusted: the limits guard against mistakes.
//!
//! Read on in `machine` (the way in), then `session` for hooks, `view` for what they look into, and `function`
//! for UDFs.

mod apart;
mod arguments;
mod bundled;
mod coding;
mod connector;
mod convert;
mod error;
mod function;
mod hooks;
mod imports;
mod instance;
mod lazy;
mod limits;
mod log;
mod machine;
mod place;
mod realm;
mod services;
mod session;
mod slow;
mod test_module;
mod test_server;
#[cfg(test)]
mod tests;
mod transformer;
mod uri;
mod view;

pub use self::{
    apart::{ArgsApart, Changes, SessionApart, with_own_sandbox},
    bundled::is_bundled,
    connector::{ConnectorScript, Described, Outcome, Refusal, Request, Response, Task, Turn},
    error::{ScriptError, ScriptErrorKind},
    function::{FunctionModule, RowArgument, RowCall, Rows, Scope},
    hooks::{Content, HeaderChange, Hook, HookArgs, HookResult, Parsed, Payload},
    lazy::Lazy,
    limits::SandboxLimits,
    log::{LogLine, Severity},
    machine::Sandbox,
    realm::Realm,
    session::{AuthModule, EjsTemplate, HookSession, Patch},
    slow::Script,
    test_module::{FailedAssertion, TestModule},
    test_server::{TestAnswer, TestRequest, TestServers},
    transformer::Transformer,
};
pub(crate) use self::{error::Thrown, instance::Decode};
