//! The hooks of a test, in a sandbox of their own, and the servers that they open.
//!
//! A server of hooks is a real listener on loopback. Each request is read whole, answered by the hooks' handler
//! between two turns of the run, and written whole; a handler that fails is a problem of its test. All of it
//! ends with the test, whether the hooks close their servers or not.

use std::{
    cell::{Cell, RefCell},
    collections::{BTreeMap, BTreeSet, HashMap},
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    path::Path,
    rc::Rc,
    sync::Arc,
};

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full, Limited};
use hyper::{
    HeaderMap, Request, Response, StatusCode,
    body::Incoming,
    header::{HeaderName, HeaderValue},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use qlio_data::{Object, Value};
use qlio_engine::{
    sandbox::{
        Sandbox, SandboxLimits, ScriptError, TestAnswer, TestModule, TestRequest, TestServers,
    },
    transport::OldPorts,
};
use tokio::{
    net::{TcpListener, TcpSocket, TcpStream},
    sync::{Mutex, OwnedMutexGuard},
    task::{AbortHandle, JoinSet},
};

use super::{
    Problem, TestCase,
    app::{Ran, Snapshot},
};
use crate::mock::accept_all;

/// How far timers of hooks may reach, in milliseconds; nobody waits for them.
const HOOK_TIMERS_MS: u64 = 60_000;

/// How many servers the hooks of one test may have open.
const SERVERS_MAX: usize = 16;

/// How many connections wait for a server of hooks that is busy.
const BACKLOG: u32 = 128;

/// How much of a request's body is read for a handler, which has it in memory as a whole.
const REQUEST_BYTES_MAX: usize = 4 << 20;

/// How many failures of handlers one test tells.
const PROBLEMS_MAX: usize = 20;

/// A lock for each port that tests name outright: one test at a time uses it.
pub(super) type PortLocks = Rc<RefCell<HashMap<u16, Arc<Mutex<()>>>>>;

/// The lock of a port.
pub(super) fn port_lock(locks: &PortLocks, port: u16) -> Arc<Mutex<()>> {
    Arc::clone(locks.borrow_mut().entry(port).or_default())
}

/// The hooks of a test.
pub(super) struct Hooks {
    answering: Rc<Answering>,
    servers: Rc<Servers>,
}

/// What answers requests to servers of hooks.
struct Answering {
    file: String,
    sandbox: Sandbox,
    module: TestModule,
    problems: RefCell<Vec<Problem>>,
}

/// The servers that the hooks of one test have open.
pub(super) struct Servers {
    locks: PortLocks,
    old_ports: Arc<OldPorts>,
    /// The file of the hooks.
    file: String,
    /// Ports that the test has locked before it began.
    own: BTreeSet<u16>,
    /// Ports that the hooks wanted while another test had them.
    taken: RefCell<BTreeSet<u16>>,
    open: RefCell<BTreeMap<u32, Server>>,
    last: Cell<u32>,
}

enum Server {
    /// Bound; nobody accepts yet.
    Bound(Listener),
    Served(AbortHandle),
}

/// A listener, and the lock of its port, which outlives it.
struct Listener {
    listener: TcpListener,
    _lock: Option<OwnedMutexGuard<()>>,
}

impl Servers {
    /// No servers yet, for a test that has locked `own`.
    pub(super) fn new(
        case: &TestCase,
        (locks, old_ports): (&PortLocks, &Arc<OldPorts>),
        own: BTreeSet<u16>,
    ) -> Rc<Self> {
        let file = case.hooks.as_ref().map_or_else(String::new, |file| file.display().to_string());
        Rc::new(Self {
            locks: Rc::clone(locks),
            old_ports: Arc::clone(old_ports),
            file,
            own,
            taken: RefCell::default(),
            open: RefCell::default(),
            last: Cell::new(0),
        })
    }

    /// The ports that hooks wanted while another test had them; a test that was refused one begins again when it
    /// has locked them.
    pub(super) fn take_taken(&self) -> BTreeSet<u16> {
        self.taken.take()
    }

    fn lock(&self, port: u16) -> io::Result<Option<OwnedMutexGuard<()>>> {
        if port == 0 || self.own.contains(&port) {
            return Ok(None);
        }
        port_lock(&self.locks, port).try_lock_owned().map(Some).map_err(|_| {
            self.taken.borrow_mut().insert(port);
            let reason = format!("another test has the port {port}");
            io::Error::new(io::ErrorKind::AddrInUse, reason)
        })
    }
}

impl TestServers for Servers {
    fn open(&self, port: u32) -> io::Result<(u32, u16)> {
        if self.open.borrow().len() >= SERVERS_MAX {
            let reason = format!("hooks of a test have at most {SERVERS_MAX} servers");
            return Err(io::Error::other(reason));
        }
        let port = self.old_ports.find(port, || self.file.clone());
        let lock = self.lock(port)?;
        let listener = bind(port).map_err(|error| {
            io::Error::new(error.kind(), format!("can not listen on {port}: {error}"))
        })?;
        let bound = listener.local_addr()?.port();
        let server = self.last.get() + 1;
        self.last.set(server);
        let listener = Listener { listener, _lock: lock };
        self.open.borrow_mut().insert(server, Server::Bound(listener));
        Ok((server, bound))
    }

    fn close(&self, server: u32) {
        if let Some(Server::Served(task)) = self.open.borrow_mut().remove(&server) {
            task.abort();
        }
    }
}

fn bind(port: u16) -> io::Result<TcpListener> {
    let socket = TcpSocket::new_v4()?;
    socket.set_reuseaddr(true)?;
    socket.bind(SocketAddr::from((Ipv4Addr::LOCALHOST, port)))?;
    socket.listen(BACKLOG)
}

impl Hooks {
    /// Loads the hooks of a file.
    pub(super) fn load(
        file: &Path,
        snapshot: &Snapshot,
        servers: &Rc<Servers>,
    ) -> Result<Self, Problem> {
        let sandbox = Sandbox::new(SandboxLimits::default());
        sandbox.set_test_servers(Rc::clone(servers) as Rc<dyn TestServers>);
        let name = file.display().to_string();
        let (tests, sources) = snapshot.tests();
        let below = file.strip_prefix(tests).unwrap_or(file);
        let module =
            TestModule::load(&sandbox, sources, below).map_err(|error| problem(&name, &error))?;
        let answering = Answering { file: name, sandbox, module, problems: RefCell::default() };
        Ok(Self { answering: Rc::new(answering), servers: Rc::clone(servers) })
    }

    /// Whether there is a hook that judges the run.
    pub(super) fn judges(&self) -> bool {
        self.answering.module.has_test()
    }

    /// Calls `setup`, and has the servers that it has opened accept in `tasks`.
    pub(super) fn set_up(&self, tasks: &mut JoinSet<()>) -> Result<(), Problem> {
        let Answering { file, sandbox, module, .. } = &*self.answering;
        module.set_up(sandbox, HOOK_TIMERS_MS).map_err(|error| problem(file, &error))?;
        let mut open = self.servers.open.borrow_mut();
        for (number, server) in std::mem::take(&mut *open) {
            let served = match server {
                Server::Bound(listener) => {
                    let answering = Rc::clone(&self.answering);
                    Server::Served(tasks.spawn_local(serve(number, listener, answering)))
                }
                served @ Server::Served(_) => served,
            };
            open.insert(number, served);
        }
        Ok(())
    }

    /// Calls `tearDown`.
    pub(super) fn tear_down(&self) -> Result<(), Problem> {
        let Answering { file, sandbox, module, .. } = &*self.answering;
        module.tear_down(sandbox, HOOK_TIMERS_MS).map_err(|error| problem(file, &error))
    }

    /// Calls `test`, after the problems that its servers had.
    pub(super) fn test(&self, ran: &Ran, problems: &mut Vec<Problem>) {
        let Answering { file, sandbox, module, problems: of_servers } = &*self.answering;
        problems.append(&mut of_servers.borrow_mut());
        let Ran { subject, .. } = ran;
        match module.test(sandbox, subject.is_failed, &subject.root, HOOK_TIMERS_MS) {
            Ok(failures) => {
                let failures = failures.into_iter();
                problems.extend(failures.map(|(line, why)| Problem::at(file, line, why)));
            }
            Err(error) => problems.push(problem(file, &error)),
        }
    }
}

fn problem(file: &str, error: &ScriptError) -> Problem {
    Problem::at(file, error.line, error.message.clone())
}

/// Answers connections for ever; they end with this future, and the port is free then.
async fn serve(number: u32, listener: Listener, answering: Rc<Answering>) {
    accept_all(&listener.listener, |connections, stream, _| {
        connections.spawn_local(connection(number, stream, Rc::clone(&answering)));
    })
    .await;
}

async fn connection(number: u32, stream: TcpStream, answering: Rc<Answering>) {
    let service = service_fn(|request: Request<Incoming>| {
        let answering = Rc::clone(&answering);
        async move { Ok::<_, Infallible>(answering.answer(number, request).await) }
    });
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new());
    // The client went away or sent no HTTP: hyper has answered what could be answered.
    let _ended = protocol.serve_connection(TokioIo::new(stream), service).await;
}

impl Answering {
    async fn answer(&self, number: u32, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (head, body) = request.into_parts();
        let Ok(body) = Limited::new(body, REQUEST_BYTES_MAX).collect().await else {
            let limit = format!("a server of hooks reads at most {REQUEST_BYTES_MAX} bytes");
            return self.fail(StatusCode::PAYLOAD_TOO_LARGE, Problem::at(&self.file, None, limit));
        };
        let asked = TestRequest {
            method: head.method.as_str().to_owned(),
            target: head.uri.to_string(),
            headers: texts(&head.headers),
            body: body.to_bytes(),
        };
        let answer = self.module.answer(&self.sandbox, number, &asked, HOOK_TIMERS_MS);
        let answer = answer.map_err(|error| problem(&self.file, &error));
        answer
            .and_then(|answer| response(answer).map_err(|why| Problem::at(&self.file, None, why)))
            .unwrap_or_else(|problem| self.fail(StatusCode::INTERNAL_SERVER_ERROR, problem))
    }

    /// The answer to a request that the hooks could not answer; the test fails for it, too.
    fn fail(&self, status: StatusCode, problem: Problem) -> Response<Full<Bytes>> {
        let mut response = Response::new(Full::from(problem.message.clone()));
        *response.status_mut() = status;
        let mut problems = self.problems.borrow_mut();
        if problems.len() < PROBLEMS_MAX {
            problems.push(problem);
        }
        response
    }
}

/// Headers by name, those that come more than once as one text.
fn texts(headers: &HeaderMap) -> Object {
    let joined = headers.keys().map(|name| {
        let values = headers.get_all(name).iter().map(HeaderValue::as_bytes);
        let values: Vec<_> = values.map(String::from_utf8_lossy).collect();
        (name.as_str(), Value::from(values.join(", ")))
    });
    joined.collect()
}

/// Why what a handler answers can not be sent.
#[derive(Debug, thiserror::Error)]
enum AnswerError {
    #[error("a handler can not answer with the status {0}")]
    Status(u16),
    #[error("`{0}: {1}` is no header")]
    Header(String, String),
}

/// The answer of a handler; how long it is, and how it is sent, is not the handler's to say.
fn response(answer: TestAnswer) -> Result<Response<Full<Bytes>>, AnswerError> {
    let TestAnswer { status, headers, body } = answer;
    let mut response = Response::new(Full::from(body));
    *response.status_mut() = StatusCode::from_u16(status)
        .ok()
        .filter(|status| !status.is_informational())
        .ok_or(AnswerError::Status(status))?;
    for (name, value) in headers {
        let parsed = name.parse::<HeaderName>().ok().zip(value.parse::<HeaderValue>().ok());
        let (field, text) = parsed.ok_or(AnswerError::Header(name, value))?;
        if !matches!(field.as_str(), "content-length" | "transfer-encoding" | "connection") {
            response.headers_mut().append(field, text);
        }
    }
    Ok(response)
}
