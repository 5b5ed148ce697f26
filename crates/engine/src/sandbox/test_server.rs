//! Servers that hooks of tests open: what they ask of whoever runs the tests, and their requests and answers.
//!
//! In: requests that somebody has accepted on a port which the hooks have opened. Out: what the hooks' handler
//! answers. Sockets are the caller's business; here is only what passes between them and the interpreter.

use std::{io, rc::Rc};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use qlio_data::{Object, Value};
use rquickjs::{Ctx, Exception, Function, Object as JsObject};

use super::{
    error::{ScriptError, ScriptErrorKind},
    instance::HostState,
    machine::Sandbox,
    test_module::TestModule,
};

/// Opens and closes the ports of servers of hooks.
pub trait TestServers {
    /// Opens a port on loopback, any free one for 0: the number of the server, and its port. One above 65535 is what
    /// old versions of Node took for it.
    ///
    /// # Errors
    /// Why it cannot be opened.
    fn open(&self, port: u32) -> io::Result<(u32, u16)>;

    /// Closes the port of a server; nothing happens if it is closed.
    fn close(&self, server: u32);
}

/// A request to a server of hooks.
#[derive(Debug, Clone)]
pub struct TestRequest {
    /// The method, in upper case.
    pub method: String,
    /// Path and query.
    pub target: String,
    /// The headers by lower-case name.
    pub headers: Object,
    /// The body.
    pub body: Bytes,
}

/// An answer of a server of hooks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TestAnswer {
    /// The status.
    pub status: u16,
    /// Names and values of headers, in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Bytes,
}

impl Sandbox {
    /// Hooks of tests may open servers from now on.
    pub fn set_test_servers(&self, servers: Rc<dyn TestServers>) {
        self.host().servers.replace(Some(servers));
    }
}

impl TestModule {
    /// Has a server that the hooks have opened answer a request. Timers may reach `deadline_ms` far.
    ///
    /// # Errors
    /// Its handler fails, never ends its answer, or answers with what is none.
    pub fn answer(
        &self,
        sandbox: &Sandbox,
        server: u32,
        request: &TestRequest,
        deadline_ms: u64,
    ) -> Result<TestAnswer, ScriptError> {
        let members = [
            ("method", Value::from(request.method.as_str())),
            ("url", Value::from(request.target.as_str())),
            ("headers", Value::object(request.headers.clone())),
            ("body", Value::from(STANDARD.encode(&request.body))),
        ];
        let request = Value::object(members.into_iter().collect());
        let answer =
            self.call(sandbox, "request", &[Value::from(i64::from(server)), request], deadline_ms)?;
        read_answer(&answer).ok_or_else(|| {
            let message = "the handler answered with something that is no answer of HTTP";
            ScriptError::new(ScriptErrorKind::Result, "request", message)
        })
    }
}

fn read_answer(answer: &Value) -> Option<TestAnswer> {
    let Value::Number(status) = answer.member("status") else { return None };
    let headers = answer.member("headers");
    let pair = |header: &Value| {
        let text = |at: usize| Some(header.elements()?.get(at)?.as_str()?.to_owned());
        Some((text(0)?, text(1)?))
    };
    Some(TestAnswer {
        status: status.as_i64().and_then(|status| u16::try_from(status).ok())?,
        headers: headers.elements()?.iter().map(pair).collect::<Option<_>>()?,
        body: STANDARD.decode(answer.member("body").as_str()?).ok()?.into(),
    })
}

/// Adds what the module `http` of hooks asks for.
pub(super) fn add<'js>(
    ctx: &Ctx<'js>,
    services: &JsObject<'js>,
    host: &Rc<HostState>,
) -> rquickjs::Result<()> {
    let state = Rc::clone(host);
    let listen = move |ctx: Ctx<'js>, port: u32| {
        let servers = state.servers.borrow().clone();
        let opened = match servers {
            Some(servers) => servers.open(port),
            None => Err(io::Error::other("only hooks of tests may have servers")),
        };
        let (server, port) =
            opened.map_err(|error| Exception::throw_message(&ctx, &error.to_string()))?;
        Ok::<_, rquickjs::Error>(vec![server, u32::from(port)])
    };
    services.set("listen", Function::new(ctx.clone(), listen)?)?;
    let state = Rc::clone(host);
    let close = move |server: u32| {
        let servers = state.servers.borrow().clone();
        if let Some(servers) = servers {
            servers.close(server);
        }
    };
    services.set("closeServer", Function::new(ctx.clone(), close)?)
}
