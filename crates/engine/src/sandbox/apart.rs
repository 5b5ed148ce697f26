//! Calls that another thread does: what they need goes there as values, and what they give comes back as such.
//!
//! In: an execution of a statement and the arguments of a hook, with everything that a script may ask for made
//! now. Out: the same call in the interpreter of the thread that does it. Promises: what the script writes into
//! `params` is seen by the hooks after it, as if it had run where they run; names that others have written
//! meanwhile stay.

use std::{cell::RefCell, rc::Rc};

use bytes::Bytes;
use qlio_data::{Object, Text, Value, codec::Stop};

use super::{
    error::Thrown,
    hooks::{Hook, HookArgs, Payload},
    instance::Decode,
    lazy::Lazy,
    limits::SandboxLimits,
    machine::Sandbox,
    realm::Realm,
    session::HookSession,
};

thread_local! {
    /// The interpreter of a thread that does calls for others.
    static OWN: RefCell<Option<Sandbox>> = const { RefCell::new(None) };
}

/// Does `work` in the interpreter of this thread, where a call has all of its time, until `stop` is asked for. The
/// interpreter is kept for the next, unless `work` panics or the limits are others.
pub fn with_own_sandbox<R>(
    limits: &SandboxLimits,
    stop: Stop,
    work: impl FnOnce(&Sandbox) -> R,
) -> R {
    let limits = SandboxLimits { slice: None, ..limits.clone() };
    let kept = OWN.take().filter(|kept| *kept.limits() == limits);
    let sandbox = kept.unwrap_or_else(|| Sandbox::new(limits));
    sandbox.end_at(stop);
    let outcome = work(&sandbox);
    sandbox.end_at(Stop::default());
    OWN.set(Some(sandbox));
    outcome
}

/// An execution of a statement on its way to another thread.
pub struct SessionApart {
    realm: Realm,
    lower: Value,
    statement: Value,
    written: Object,
    decoded: Option<Result<Value, Thrown>>,
}

impl SessionApart {
    /// Makes everything that a script of the session may ask for.
    pub fn of(session: &HookSession, decode: Option<&Decode>) -> Self {
        let (realm, lower, statement) = session.parts();
        Self {
            realm: realm.clone(),
            lower: lower.clone(),
            statement: statement.get().clone(),
            written: session.overlay().clone(),
            decoded: decode.map(|decode| decode()),
        }
    }

    /// Calls a script here; with what it has written.
    pub fn run<R>(self, sandbox: &Sandbox, call: impl FnOnce(&HookSession) -> R) -> (R, Changes) {
        let Self { realm, lower, statement, written, decoded } = self;
        let before = written.clone();
        let session = HookSession::restored(sandbox, &realm, lower, statement.into(), written);
        sandbox.set_decoder(decoded.map(|decoded| Rc::new(move || decoded.clone()) as Decode));
        let outcome = call(&session);
        sandbox.set_decoder(None);
        let changes = Changes::between(&before, &session.overlay());
        (outcome, changes)
    }
}

/// The names that a script has written into `params`, and those that it has taken out.
#[derive(Debug, Default)]
pub struct Changes {
    pub(super) written: Vec<(Text, Value)>,
    pub(super) removed: Vec<Text>,
}

impl Changes {
    fn between(before: &Object, after: &Object) -> Self {
        let is_new = |(name, value): &(&Text, &Value)| before.get(name) != Some(*value);
        let is_gone = |name: &&Text| after.get(name).is_none();
        let owned = |(name, value): (&Text, &Value)| (name.clone(), value.clone());
        Self {
            written: after.iter().filter(is_new).map(owned).collect(),
            removed: before.iter().map(|(name, _)| name).filter(is_gone).cloned().collect(),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.written.is_empty() && self.removed.is_empty()
    }
}

/// The arguments of a hook on their way to another thread.
pub struct ArgsApart {
    hook: Hook,
    uri: String,
    status: u16,
    headers: Value,
    body: Value,
    bytes: Bytes,
    payload: Payload,
    params: Object,
    table: String,
    method: String,
    text: Option<String>,
    request_id_name: String,
}

impl ArgsApart {
    fn empty(hook: Hook) -> Self {
        Self {
            hook,
            uri: String::new(),
            status: 0,
            headers: Value::Absent,
            body: Value::Absent,
            bytes: Bytes::new(),
            payload: Payload::default(),
            params: Object::new(),
            table: String::new(),
            method: String::new(),
            text: None,
            request_id_name: String::new(),
        }
    }

    /// Makes all arguments that the hook may look at.
    pub fn of(args: &HookArgs<'_>) -> Self {
        let empty = Self::empty(args.hook());
        match *args {
            HookArgs::ValidateParam { params } => Self { params: params.clone(), ..empty },
            HookArgs::PatchUri { uri } => Self { uri: uri.to_owned(), ..empty },
            HookArgs::PatchHeaders { uri, headers } | HookArgs::BodyTemplate { uri, headers } => {
                Self { uri: uri.to_owned(), headers: headers.get().clone(), ..empty }
            }
            HookArgs::PatchBody { uri, headers, body } => Self {
                uri: uri.to_owned(),
                headers: headers.get().clone(),
                payload: body.clone(),
                ..empty
            },
            HookArgs::ComputeKey { table, method, uri, body, headers, request_id_name } => Self {
                uri: uri.to_owned(),
                headers: headers.get().clone(),
                table: table.to_owned(),
                method: method.to_owned(),
                text: body.map(str::to_owned),
                request_id_name: request_id_name.to_owned(),
                ..empty
            },
            HookArgs::ParseResponse { uri, status, headers, body } => Self {
                uri: uri.to_owned(),
                status,
                headers: headers.get().clone(),
                bytes: body.clone(),
                ..empty
            },
            HookArgs::PatchMediaType { uri, status, headers, body }
            | HookArgs::PatchStatus { uri, status, headers, body }
            | HookArgs::PatchResponse { uri, status, headers, body } => Self {
                uri: uri.to_owned(),
                status,
                headers: headers.get().clone(),
                body: body.get().clone(),
                ..empty
            },
        }
    }

    /// Lends them as what the hook gets.
    pub fn lend<R>(&self, call: impl FnOnce(HookArgs<'_>) -> R) -> R {
        let Self { uri, status, params, .. } = self;
        let headers = &Lazy::from(self.headers.clone());
        let body = || Lazy::from(self.body.clone());
        let status = *status;
        match self.hook {
            Hook::ValidateParam => call(HookArgs::ValidateParam { params }),
            Hook::PatchUri => call(HookArgs::PatchUri { uri }),
            Hook::PatchHeaders => call(HookArgs::PatchHeaders { uri, headers }),
            Hook::BodyTemplate => call(HookArgs::BodyTemplate { uri, headers }),
            Hook::PatchBody => call(HookArgs::PatchBody { uri, headers, body: &self.payload }),
            Hook::ComputeKey => call(HookArgs::ComputeKey {
                table: &self.table,
                method: &self.method,
                uri,
                body: self.text.as_deref(),
                headers,
                request_id_name: &self.request_id_name,
            }),
            Hook::ParseResponse => {
                call(HookArgs::ParseResponse { uri, status, headers, body: &self.bytes })
            }
            Hook::PatchMediaType => {
                call(HookArgs::PatchMediaType { uri, status, headers, body: &body() })
            }
            Hook::PatchStatus => {
                call(HookArgs::PatchStatus { uri, status, headers, body: &body() })
            }
            Hook::PatchResponse => {
                call(HookArgs::PatchResponse { uri, status, headers, body: &body() })
            }
        }
    }
}
